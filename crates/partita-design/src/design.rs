//! A compiled design: plain data, in the order of the file.
//!
//! All names are resolved. A placeholder, a condition's path or a `keep` list may call an
//! attribute by its alias in the file; here every one of them has the name under which the
//! attribute is stored.

use partita_core::Value;
use partita_core::expression::Condition;

use crate::template::Template;
use crate::types::AttributeType;

/// Items on a page when neither the pattern nor the caller names a number.
pub const LIMIT_DEFAULT: usize = 50;
/// Items on a page at most.
pub const LIMIT_MAX: usize = 100;
/// Items that are read at most to order a result after it was read.
pub const WHOLE_MAX: usize = 10_000;

/// A whole design.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// Its name, which is the first part of its URLs.
    pub name: String,
    /// What it is about.
    pub about: Option<String>,
    /// Its table.
    pub table: Table,
    /// Its entities.
    pub entities: Vec<Entity>,
    /// The records that are kept for its entities.
    pub views: Vec<View>,
    /// Its access patterns.
    pub patterns: Vec<Pattern>,
}

/// The table of a design.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name, variables replaced.
    pub name: String,
    /// The name of the partition key.
    pub partition: String,
    /// The name of the sort key.
    pub sort: String,
    /// The attribute that says which record an item is.
    pub discriminator: Option<String>,
}

/// The keys of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyTemplates {
    /// The partition key.
    pub partition: Template,
    /// The sort key.
    pub sort: Template,
}

/// One part of an entity's identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityPart {
    /// Its name in templates and URLs: `storyId`.
    pub name: String,
    /// The attribute that holds it: `id`.
    pub attribute: String,
}

/// An entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub about: Option<String>,
    /// Its primary key.
    pub key: KeyTemplates,
    /// The value of the table's discriminator.
    pub discriminator: Option<String>,
    /// What tells one item from another: the placeholders of the primary key, in order.
    pub identity: Vec<IdentityPart>,
    /// Its attributes, key-only ones too.
    pub attributes: Vec<Attribute>,
    /// Whether it keeps attributes that are not listed.
    pub open: bool,
    /// The flag that a delete sets instead of removing the item.
    pub soft_delete: Option<String>,
    /// Its references.
    pub refs: Vec<Ref>,
    /// Who may do what.
    pub rules: Rules,
}

/// An attribute of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The name under which it is stored.
    pub name: String,
    /// The name that templates and URLs call it by, where it is another one.
    pub alias: Option<String>,
    /// What it may hold.
    pub kind: AttributeType,
    /// Whether it may be missing.
    pub optional: bool,
    /// Whether it stands in the key only and is not stored beside it.
    pub key_only: bool,
    /// Where its value comes from.
    pub source: Source,
}

/// Where an attribute's value comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// The caller gives it, or the default is taken.
    Given {
        /// What is stored when the caller gives nothing.
        default: Option<Value>,
    },
    /// Made when the item is created, unless the caller gives one.
    Generated,
    /// The time of the item's creation; the caller may not give it.
    NowOnCreate,
    /// The time of the caller's last write; the caller may not give it.
    NowOnWrite,
}

/// A reference to another entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Ref {
    /// Its name.
    pub name: String,
    /// The entity that it leads to.
    pub target: String,
    /// For each part of the target's identity, in its order: the own attribute that holds it.
    pub arguments: Vec<String>,
    /// Whether a soft-deleted target counts as missing, and hides this item.
    pub live: bool,
}

/// What a caller does to an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    /// Create an item.
    Create,
    /// Read one, alone or in a list.
    Read,
    /// Change one.
    Update,
    /// Delete one.
    Delete,
    /// Restore a soft-deleted one.
    Restore,
}

impl Access {
    /// Every kind of access, with the word that rules use for it.
    pub const WORDS: [(Access, &'static str); 5] = [
        (Access::Create, "create"),
        (Access::Read, "read"),
        (Access::Update, "update"),
        (Access::Delete, "delete"),
        (Access::Restore, "restore"),
    ];

    /// The word that rules use.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize].1
    }
}

/// When a caller may do something.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// Anybody, also without a token.
    Public,
    /// Anybody with a token.
    SignedIn,
    /// Nobody.
    Never,
    /// Whoever this holds for; `caller` is the caller's id, `caller.role` the role.
    When {
        /// The condition.
        condition: Box<Condition>,
        /// The condition as the file has it, for messages.
        text: String,
    },
}

/// The rules of an entity. What no rule allows is refused.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// The rules in the order of the file; `"*"` stands here once for each kind of access.
    pub by_access: Vec<(Access, Rule)>,
}

impl Rules {
    /// The rule for a kind of access.
    pub fn get(&self, access: Access) -> &Rule {
        let found = self.by_access.iter().find(|(of, _)| *of == access);
        found.map_or(&Rule::Never, |(_, rule)| rule)
    }
}

/// A record that is kept for every item of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub about: Option<String>,
    /// The entity that it is derived from.
    pub of: String,
    /// It exists while this holds of the source.
    pub when: Option<Condition>,
    /// Its primary key, over the source's attributes.
    pub key: KeyTemplates,
    /// The value of the table's discriminator.
    pub discriminator: Option<String>,
    /// The attributes that it copies.
    pub keep: Vec<String>,
}

/// An access pattern: a named read.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub about: Option<String>,
    /// What a caller gives, in the order of the first use.
    pub parameters: Vec<Parameter>,
    /// What is read.
    pub read: Read,
    /// The records that can come back.
    pub returns: Vec<RecordName>,
    /// The attributes that order the result after it was read.
    pub sort: Vec<String>,
    /// How many items are read to have the whole result, where it is ordered afterwards.
    pub whole: Option<usize>,
    /// From the largest sort key to the smallest.
    pub descending: bool,
    /// Items on a page when the caller names no number.
    pub limit: usize,
}

/// A parameter of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What it may be.
    pub kind: AttributeType,
}

/// What a pattern reads. The templates' names are parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Read {
    /// One item.
    Get(KeyTemplates),
    /// Items of one partition.
    Query {
        /// The partition.
        partition: Template,
        /// The sort keys in it.
        sort: SortTemplate,
    },
}

/// Which sort keys a query takes.
#[derive(Clone, Debug, PartialEq)]
pub enum SortTemplate {
    /// All of them.
    All,
    /// Those that begin so.
    BeginsWith(Template),
}

/// The name of a record: an entity's or a view's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RecordName {
    /// An entity.
    Entity(String),
    /// A view.
    View(String),
}

impl Design {
    /// The entity of that name.
    pub fn entity(&self, name: &str) -> Option<&Entity> {
        self.entities.iter().find(|entity| entity.name == name)
    }

    /// The view of that name.
    pub fn view(&self, name: &str) -> Option<&View> {
        self.views.iter().find(|view| view.name == name)
    }

    /// The pattern of that name.
    pub fn pattern(&self, name: &str) -> Option<&Pattern> {
        self.patterns.iter().find(|pattern| pattern.name == name)
    }

    /// The views of an entity.
    pub fn views_of(&self, entity: &str) -> impl Iterator<Item = &View> {
        self.views.iter().filter(move |view| view.of == entity)
    }
}

impl Entity {
    /// The attribute of that name or alias.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        let named = self
            .attributes
            .iter()
            .find(|attribute| attribute.name == name);
        named.or_else(|| {
            let mut attributes = self.attributes.iter();
            attributes.find(|attribute| attribute.alias.as_deref() == Some(name))
        })
    }
}
