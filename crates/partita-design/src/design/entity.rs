//! Entities, their attributes and where values come from.

use partita_core::expression::{Condition, Path, Scope};
use partita_core::{Map, Number, Value};

use super::{KeyTemplates, PathTemplate, RecordIndex, RecordName, Ref, Rules};
use crate::expression::{Formula, Origin, Predicate, Reading};
use crate::template::{Template, dotted};
use crate::types::AttributeType;

/// An entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub about: Option<String>,
    /// The path of an item in URLs, beside the one that follows from its name.
    pub path: Option<PathTemplate>,
    /// The table that it lives in, if it is not the first.
    pub table: Option<String>,
    /// Its primary key.
    pub key: KeyTemplates,
    /// Its keys in the indexes.
    pub indexes: Vec<RecordIndex>,
    /// The value of the table's discriminator.
    pub discriminator: Option<String>,
    /// What tells one item from another: the placeholders of the primary key, in order.
    pub identity: Vec<IdentityPart>,
    /// Its attributes, key-only and virtual ones too.
    pub attributes: Vec<Attribute>,
    /// Whether it keeps attributes that are not listed.
    pub open: bool,
    /// What a delete does instead of removing the item.
    pub soft_delete: Option<SoftDelete>,
    /// What always holds of an item.
    pub require: Option<Predicate>,
    /// What happens when an item is created that is there already.
    pub repeat: Repeat,
    /// Its references.
    pub refs: Vec<Ref>,
    /// The values that no two items share.
    pub unique: Vec<Unique>,
    /// Who may do what.
    pub rules: Rules,
}

/// One part of an entity's identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityPart {
    /// Its name in templates and URLs: `storyId`.
    pub name: String,
    /// The attribute that holds it: `id`.
    pub attribute: String,
}

/// An attribute of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The name under which it is stored; with dots, inside a map.
    pub name: String,
    /// The name that templates and URLs call it by, where it is another one.
    pub alias: Option<String>,
    /// What it may hold.
    pub kind: AttributeType,
    /// Whether it may be missing. A number that is derived or a counter reads as 0 while it is.
    pub optional: bool,
    /// Where its value comes from.
    pub source: Source,
    /// Whether it stands in the key only and is not stored beside it.
    pub key_only: bool,
    /// Whether it never changes after the item is created.
    pub fixed: bool,
    /// Whether nothing ever changes it once its item is there, so that nobody has to guard it: it is
    /// fixed, a part of the identity, or stamped at the creation.
    pub lasting: bool,
    /// Whether it may change though it is part of the identity: the item moves.
    pub movable: bool,
    /// Whether it is never shown.
    pub secret: bool,
    /// Whether it is computed when it is needed, and not stored.
    pub is_virtual: bool,
    /// Whether every new value is later than the one before.
    pub rising: bool,
    /// Whether new items should not have it.
    pub deprecated: bool,
    /// The prefix of a bucket that it names an object of, or each of its elements does.
    pub file_in: Option<String>,
    /// The attribute that is the name of the object, where this one takes uploads for it.
    pub file_at: Option<String>,
    /// The period after which a counter starts again, and the attribute that has its last time.
    pub per: Option<(Period, String)>,
}

/// When a counter starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Period {
    /// With every day, in UTC.
    Day,
    /// With every month, in UTC.
    Month,
}

/// Where an attribute's value comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// The caller gives it, or the default is taken.
    Given {
        /// What is stored when the caller gives nothing.
        default: Option<Formula>,
    },
    /// Made when the item is created, unless the caller gives one.
    Generated,
    /// Computed; the caller may not give it.
    Computed(Computed),
    /// Counted or summed over items that refer to this one.
    Aggregate(Aggregate),
    /// The value of another item's attribute, which it follows.
    Copy(Reading),
}

/// A value that is computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Computed {
    /// The value.
    pub value: Formula,
    /// When it is computed.
    pub timing: Timing,
}

/// When a value is computed.
#[derive(Clone, Debug, PartialEq)]
pub enum Timing {
    /// Whenever something that it reads of its own item changes.
    Always,
    /// When the item is created, and when a ref that it reads through leads elsewhere.
    Ref,
    /// When the item is created.
    Create,
    /// With every write of a caller.
    Write,
    /// The first time that this becomes true.
    Once(Box<Predicate>),
}

/// A number over the items that refer to this one.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// The attribute that is summed; `None` counts.
    pub sum: Option<String>,
    /// Whose items.
    pub of: RecordName,
    /// The ref by which they lead here.
    pub by: String,
    /// Only those for which this holds; it reads the counted item.
    pub only: Option<Predicate>,
}

/// What happens when an item is created that is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Repeat {
    /// It is refused.
    #[default]
    Refuse,
    /// Nothing, and that is no error.
    Ignore,
    /// The item that is there is updated.
    Update,
}

impl Repeat {
    /// The kinds and their words.
    pub const WORDS: [(Repeat, &'static str); 3] = [
        (Repeat::Refuse, "refuse"),
        (Repeat::Ignore, "ignore"),
        (Repeat::Update, "update"),
    ];
}

/// How a soft-deleted item is told from a live one.
#[derive(Clone, Debug, PartialEq)]
pub enum SoftDelete {
    /// By a flag that is true.
    Flag(String),
    /// By a time that is there.
    Time(String),
    /// By an attribute that has a certain value.
    Value {
        /// The attribute.
        attribute: String,
        /// Its value while the item is deleted.
        deleted: Value,
        /// Its value after the item is restored.
        restored: Value,
    },
}

impl SoftDelete {
    /// The attribute that says so.
    pub fn attribute(&self) -> &str {
        match self {
            SoftDelete::Flag(name) | SoftDelete::Time(name) => name,
            SoftDelete::Value { attribute, .. } => attribute,
        }
    }

    /// The condition that an item is live.
    pub fn live(&self) -> Condition {
        let path = dotted(self.attribute());
        match self {
            // An item without the flag is live, too.
            SoftDelete::Flag(_) => Condition::Not(Box::new(Condition::equals(path, true))),
            // A null stands for a missing time in data that others wrote.
            SoftDelete::Time(_) => Condition::Any(vec![
                Condition::NotExists(path.clone()),
                Condition::equals(path, Value::Null),
            ]),
            SoftDelete::Value { deleted, .. } => {
                Condition::Not(Box::new(Condition::equals(path, deleted.clone())))
            }
        }
    }

    /// Whether an item is deleted.
    pub fn is_deleted(&self, item: &Map) -> bool {
        let found = dotted(self.attribute()).find(item).cloned();
        match (self, found) {
            (SoftDelete::Flag(_), found) => found == Some(Value::Bool(true)),
            (SoftDelete::Time(_), found) => found.is_some_and(|value| value != Value::Null),
            (SoftDelete::Value { deleted, .. }, found) => found.as_ref() == Some(deleted),
        }
    }
}

/// A value, or several together, that no two items share. An item of its own guards it.
#[derive(Clone, Debug, PartialEq)]
pub struct Unique {
    /// The name of the guard.
    pub name: String,
    /// The partition key of the guard; there is no guard while a part is missing.
    pub partition: Template,
    /// The attributes that it guards.
    pub attributes: Vec<String>,
}

/// The sort key of a guard.
pub const UNIQUE_SORT: &str = "UNIQUE";

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

    /// The reference of that name.
    pub fn reference(&self, name: &str) -> Option<&Ref> {
        self.refs.iter().find(|reference| reference.name == name)
    }

    /// The attribute that locks it optimistically.
    pub fn version(&self) -> Option<&Attribute> {
        let mut attributes = self.attributes.iter();
        attributes.find(|attribute| attribute.kind == AttributeType::Version)
    }

    /// Whether callers can say which item a new one is to be: nothing of its identity is computed.
    pub fn takes_identity(&self) -> bool {
        let mut parts = self.identity.iter();
        parts.all(|part| {
            let attribute = self.attribute(&part.attribute);
            attribute
                .is_none_or(|one| matches!(one.source, Source::Given { .. } | Source::Generated))
        })
    }

    /// The attribute that says when an item expires.
    pub fn expiry(&self) -> Option<&Attribute> {
        let mut attributes = self.attributes.iter();
        attributes.find(|attribute| matches!(attribute.kind, AttributeType::Expiry))
    }
}

impl Attribute {
    /// Where it stands in an item.
    pub fn path(&self) -> Path {
        dotted(&self.name)
    }

    /// What a stored item that lacks the attribute is read as having: 0 for a counter, a count or a
    /// sum, the default of any other. None where it has no default, and is missing.
    ///
    /// Planner, rules, filters, `verify`, `repair` and `keys` all ask here, so that they agree on
    /// items that are older than an attribute. A default that reads the time, the caller or another
    /// item was decided when its item came into being, and cannot be known afterwards.
    pub fn when_missing(&self, scope: &impl Scope) -> Option<Value> {
        if self.kind == AttributeType::Counter || matches!(self.source, Source::Aggregate(_)) {
            return Some(Value::N(Number::from(0_i64)));
        }
        let Source::Given {
            default: Some(default),
        } = &self.source
        else {
            return None;
        };
        let mut reads = default.reads.iter();
        let is_own = reads.all(|one| one.origin == Origin::Item && one.hops.is_empty());
        let value = is_own.then(|| default.value(scope)).flatten()?;
        Some(self.kind.adopt(value))
    }
}
