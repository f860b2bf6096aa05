//! What a change is about.

use std::fmt;

use crate::check::SECTIONS;

/// An entity or a view, by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordName {
    /// The name in the design.
    pub name: String,
    /// Whether it is a view.
    pub is_view: bool,
}

impl fmt::Display for RecordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let section = if self.is_view { "view" } else { "entity" };
        write!(f, "{section}.{}", self.name)
    }
}

/// A declaration, and what of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A table. Its name in the design is empty where there is only one.
    Table(String, TableAspect),
    /// An index.
    Index(String),
    /// An entity as a whole.
    Entity(String),
    /// A view as a whole, or what it is of.
    View(String),
    /// A key of the table, of a record.
    PrimaryKey(RecordName, String),
    /// A key of an index, of a record.
    IndexKey(RecordName, String),
    /// The attribute that says which record an item is.
    Discriminator(RecordName, String),
    /// Whether an entity keeps attributes that are not listed.
    Open(String),
    /// What a delete does instead of removing an item of an entity.
    SoftDelete(String),
    /// What always holds of the items of an entity.
    Require(String),
    /// An attribute of a record.
    Attribute(RecordName, String, AttributeAspect),
    /// A ref of an entity.
    Ref(String, String, RefAspect),
    /// The guard of a unique value of an entity.
    Guard(String, String),
    /// While which condition a view has a record.
    When(String),
    /// For each element of what a view has a record.
    Each(String),
    /// Of which elements a view has a record.
    Distinct(String),
    /// What a view repeats of its source.
    Keep(String),
    /// A map with named fields.
    Shape(String),
    /// Values that are written in the design.
    Constants(String),
    /// The attribute that people sign in with.
    Login,
    /// A bucket.
    Bucket(String),
    /// A prefix of a bucket.
    Prefix(String, String),
    /// Rows of an older layout.
    Rows(String),
    /// Something that no stored data follow, by its path in the file.
    Unstored(Unstored, String),
}

/// What of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableAspect {
    /// All of it.
    Whole,
    /// Its name in the store.
    Name,
    /// The names of its keys.
    Keys,
    /// The attribute that says which record an item is.
    Discriminator,
    /// The attribute by which items expire.
    Ttl,
    /// Its stream.
    Stream,
}

/// What of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeAspect {
    /// All of it.
    Whole,
    /// The name that it is stored by.
    Name,
    /// Its type, and which values of that it may have.
    Values,
    /// Whether it may be missing.
    Presence,
    /// What is taken where a caller gives nothing.
    Default,
    /// Where its value comes from.
    Value,
    /// Whether it is stored, and where.
    Storage,
    /// Which files it names.
    File,
    /// When a counter starts again.
    Period,
}

/// What of a ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefAspect {
    /// All of it.
    Whole,
    /// Where it leads.
    Target,
    /// Whether the target must exist.
    Existence,
    /// What becomes of the item when the target is deleted.
    OnDelete,
    /// Whether a soft-deleted target hides the item.
    Live,
}

/// What no stored data follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unstored {
    /// The name of the design, and what things are about.
    Description,
    /// A path in URLs.
    Path,
    /// Who may do what, and who callers are.
    Rules,
    /// A pattern.
    Pattern,
    /// An action.
    Action,
    /// A trigger.
    Trigger,
    /// A schedule.
    Schedule,
    /// How often callers may do something.
    Limit,
    /// People who sign in.
    Accounts,
    /// Which files a bucket takes, and for how long.
    Files,
    /// How a table is created elsewhere.
    Settings,
    /// What may be done to an attribute, a ref, an entity or a view from now on.
    Clause,
    /// A warning that the author knows of.
    Accepted,
    /// What became of something that an earlier design had.
    Statement,
    /// The value of a variable.
    Variable,
}

/// What changes can be about, each in the words of [`Subject::noun`].
pub fn nouns() -> impl Iterator<Item = &'static str> {
    let record = || RecordName {
        name: String::new(),
        is_view: false,
    };
    let text = String::new;
    let tables = [
        TableAspect::Whole,
        TableAspect::Name,
        TableAspect::Keys,
        TableAspect::Discriminator,
        TableAspect::Ttl,
        TableAspect::Stream,
    ];
    let attributes = [
        AttributeAspect::Whole,
        AttributeAspect::Values,
        AttributeAspect::Presence,
        AttributeAspect::Default,
        AttributeAspect::Value,
        AttributeAspect::Storage,
        AttributeAspect::File,
        AttributeAspect::Period,
    ];
    let refs = [
        RefAspect::Whole,
        RefAspect::Target,
        RefAspect::Existence,
        RefAspect::OnDelete,
        RefAspect::Live,
    ];
    let others = [
        Subject::Index(text()),
        Subject::Entity(text()),
        Subject::View(text()),
        Subject::PrimaryKey(record(), text()),
        Subject::IndexKey(record(), text()),
        Subject::Discriminator(record(), text()),
        Subject::Open(text()),
        Subject::SoftDelete(text()),
        Subject::Require(text()),
        Subject::Guard(text(), text()),
        Subject::When(text()),
        Subject::Each(text()),
        Subject::Distinct(text()),
        Subject::Keep(text()),
        Subject::Shape(text()),
        Subject::Constants(text()),
        Subject::Login,
        Subject::Bucket(text()),
        Subject::Prefix(text(), text()),
        Subject::Rows(text()),
    ];
    let tables = tables.map(|one| Subject::Table(text(), one).noun());
    let attributes = attributes.map(|one| Subject::Attribute(record(), text(), one).noun());
    let refs = refs.map(|one| Subject::Ref(text(), text(), one).noun());
    let others = others.map(|one| one.noun());
    let unstored = Unstored::ALL.map(Unstored::noun);
    let stored = tables.into_iter().chain(attributes).chain(refs);
    stored.chain(others).chain(unstored)
}

impl Subject {
    /// The path of the declaration in the file: `entity.Story.attributes.title`.
    pub fn path(&self) -> String {
        match self {
            Subject::Table(table, _) if table.is_empty() => "table".to_owned(),
            Subject::Table(table, _) => format!("table.{table}"),
            Subject::Index(index) => format!("index.{index}"),
            Subject::Entity(entity) => format!("entity.{entity}"),
            Subject::View(view) => format!("view.{view}"),
            Subject::PrimaryKey(record, name)
            | Subject::IndexKey(record, name)
            | Subject::Discriminator(record, name) => format!("{record}.{name}"),
            Subject::Open(entity) => format!("entity.{entity}.open"),
            Subject::SoftDelete(entity) => format!("entity.{entity}.soft-delete"),
            Subject::Require(entity) => format!("entity.{entity}.require"),
            Subject::Attribute(record, name, _) => format!("{record}.attributes.{name}"),
            Subject::Ref(entity, name, _) => format!("entity.{entity}.refs.{name}"),
            Subject::Guard(entity, name) => format!("entity.{entity}.unique.{name}"),
            Subject::When(view) => format!("view.{view}.when"),
            Subject::Each(view) => format!("view.{view}.each"),
            Subject::Distinct(view) => format!("view.{view}.distinct"),
            Subject::Keep(view) => format!("view.{view}.keep"),
            Subject::Shape(shape) => format!("shape.{shape}"),
            Subject::Constants(constants) => format!("constants.{constants}"),
            Subject::Login => "accounts.login".to_owned(),
            Subject::Bucket(bucket) => format!("bucket.{bucket}"),
            Subject::Prefix(bucket, prefix) => format!("bucket.{bucket}.prefix.{prefix}"),
            Subject::Rows(rows) => format!("rows.{rows}"),
            Subject::Unstored(_, path) => path.clone(),
        }
    }

    /// The path of the key that says it, which may be one of several of a declaration.
    pub(super) fn key_path(&self) -> String {
        let key = match self {
            Subject::Table(_, TableAspect::Name) => "name",
            Subject::Table(_, TableAspect::Keys) => "key",
            Subject::Table(_, TableAspect::Discriminator) => "discriminator",
            Subject::Table(_, TableAspect::Ttl) => "ttl",
            Subject::Table(_, TableAspect::Stream) => "stream",
            _ => return self.path(),
        };
        format!("{}.{key}", self.path())
    }

    /// The entity or view that it belongs to.
    pub fn record(&self) -> Option<RecordName> {
        let named = |name: &String, is_view| RecordName {
            name: name.clone(),
            is_view,
        };
        match self {
            Subject::Entity(name)
            | Subject::Open(name)
            | Subject::SoftDelete(name)
            | Subject::Require(name)
            | Subject::Ref(name, ..)
            | Subject::Guard(name, _) => Some(named(name, false)),
            Subject::View(name)
            | Subject::When(name)
            | Subject::Each(name)
            | Subject::Distinct(name)
            | Subject::Keep(name) => Some(named(name, true)),
            Subject::PrimaryKey(record, _)
            | Subject::IndexKey(record, _)
            | Subject::Discriminator(record, _)
            | Subject::Attribute(record, ..) => Some(record.clone()),
            Subject::Table(..)
            | Subject::Index(_)
            | Subject::Shape(_)
            | Subject::Constants(_)
            | Subject::Login
            | Subject::Bucket(_)
            | Subject::Prefix(..)
            | Subject::Rows(_)
            | Subject::Unstored(..) => None,
        }
    }

    /// What kind of thing it is, for readers and for JSON.
    pub fn noun(&self) -> &'static str {
        match self {
            Subject::Table(_, aspect) => match aspect {
                TableAspect::Whole => "table",
                TableAspect::Name => "name of the table",
                TableAspect::Keys => "keys of the table",
                TableAspect::Discriminator => "discriminator of the table",
                TableAspect::Ttl => "ttl of the table",
                TableAspect::Stream => "stream of the table",
            },
            Subject::Index(_) => "index",
            Subject::Entity(_) => "entity",
            Subject::View(_) => "view",
            Subject::PrimaryKey(..) => "primary key",
            Subject::IndexKey(..) => "key of an index",
            Subject::Discriminator(..) => "discriminator",
            Subject::Open(_) => "open",
            Subject::SoftDelete(_) => "soft delete",
            Subject::Require(_) => "condition",
            Subject::Attribute(_, _, aspect) => match aspect {
                AttributeAspect::Whole => "attribute",
                AttributeAspect::Name => "name",
                AttributeAspect::Values => "type",
                AttributeAspect::Presence => "presence",
                AttributeAspect::Default => "default",
                AttributeAspect::Value => "value",
                AttributeAspect::Storage => "storage",
                AttributeAspect::File => "file",
                AttributeAspect::Period => "period",
            },
            Subject::Ref(_, _, aspect) => match aspect {
                RefAspect::Whole => "ref",
                RefAspect::Target => "target of a ref",
                RefAspect::Existence => "existence of a target",
                RefAspect::OnDelete => "on delete",
                RefAspect::Live => "live",
            },
            Subject::Guard(..) => "guard",
            Subject::When(_) => "condition of a view",
            Subject::Each(_) => "elements of a view",
            Subject::Distinct(_) => "distinct elements of a view",
            Subject::Keep(_) => "what a view keeps",
            Subject::Shape(_) => "shape",
            Subject::Constants(_) => "constants",
            Subject::Login => "login",
            Subject::Bucket(_) => "bucket",
            Subject::Prefix(..) => "prefix",
            Subject::Rows(_) => "rows of an older layout",
            Subject::Unstored(what, _) => what.noun(),
        }
    }
}

impl Unstored {
    /// All of them.
    pub const ALL: [Unstored; 15] = [
        Unstored::Description,
        Unstored::Path,
        Unstored::Rules,
        Unstored::Pattern,
        Unstored::Action,
        Unstored::Trigger,
        Unstored::Schedule,
        Unstored::Limit,
        Unstored::Accounts,
        Unstored::Files,
        Unstored::Settings,
        Unstored::Clause,
        Unstored::Accepted,
        Unstored::Statement,
        Unstored::Variable,
    ];

    /// What it is, for readers and for JSON.
    pub fn noun(self) -> &'static str {
        match self {
            Unstored::Description => "description",
            Unstored::Path => "path",
            Unstored::Rules => "rules",
            Unstored::Pattern => "pattern",
            Unstored::Action => "action",
            Unstored::Trigger => "trigger",
            Unstored::Schedule => "schedule",
            Unstored::Limit => "limit",
            Unstored::Accounts => "accounts",
            Unstored::Files => "files",
            Unstored::Settings => "settings",
            Unstored::Clause => "clause",
            Unstored::Accepted => "accepted warning",
            Unstored::Statement => "statement",
            Unstored::Variable => "variable",
        }
    }

    /// What a place in the file says, where no stored data follow it; none for what is no section.
    pub(super) fn at(path: &str) -> Option<Unstored> {
        let mut steps = path.split('.');
        let section = steps.next()?;
        let (_, whole) = SECTIONS.into_iter().find(|(word, _)| *word == section)?;
        Some(match (section, steps.nth(1)) {
            ("table", _) if path.ends_with(".ignore") => Unstored::Statement,
            ("entity" | "view", Some("about")) => Unstored::Description,
            ("entity" | "view", Some("path")) => Unstored::Path,
            ("entity" | "view", Some("allow")) => Unstored::Rules,
            ("entity" | "view", Some("was" | "fill")) => Unstored::Statement,
            _ => whole,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_is_known() {
        for (section, _) in SECTIONS {
            assert!(Unstored::at(section).is_some(), "{section}");
        }
    }
}
