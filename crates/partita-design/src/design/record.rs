//! Records: what the items of a table can be.

use partita_core::expression::Condition;
use partita_core::{Map, Value};

use super::{
    Attribute, Each, Earlier, Fill, KeyTemplates, PathTemplate, RecordId, RecordIndex, Ref, RefId,
    ReferrerId, Rules, Source, TableId,
};
use crate::expression::{Formula, Predicate};
use crate::template::{Template, dotted};
use crate::types::AttributeType;

/// What an item can be: an item of an entity, or a record that a view keeps for one.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The position in [`Design::records`](super::Design::records).
    pub id: RecordId,
    /// The name in the design.
    pub name: String,
    /// What it is about.
    pub about: Option<String>,
    /// The path of an item in URLs, beside the one that follows from its name.
    pub path: Option<PathTemplate>,
    /// The table that it lives in; a view's is that of its source.
    pub table: TableId,
    /// Its primary key. A view's is over the attributes of its source and its own.
    pub key: KeyTemplates,
    /// Its keys in the indexes.
    pub indexes: Vec<RecordIndex>,
    /// The value of the table's discriminator.
    pub discriminator: Option<String>,
    /// Another value that stored items may have there: a migration is giving them another one.
    pub also_marked: Option<String>,
    /// What identifies an item: the placeholders of the primary key, in order.
    pub identity: Vec<IdentityPart>,
    /// Its attributes, key-only and virtual ones too. A view has those that it declares, those
    /// that it keeps, those of its key, and the virtual ones of its source.
    pub attributes: Vec<Attribute>,
    /// Its references. A view has the one to its source, and those of its source.
    pub refs: Vec<Ref>,
    /// Who may do what. A view without rules of its own has those of its source.
    pub rules: Rules,
    /// Whether it keeps attributes that are not listed.
    pub open: bool,
    /// What a delete does instead of removing the item.
    pub soft_delete: Option<SoftDelete>,
    /// So many days after a soft delete the item is removed for good, if the design says so.
    pub purge_after_days: Option<u32>,
    /// What always holds of an item.
    pub require: Option<Predicate>,
    /// What happens when an item is created that is there already.
    pub repeat: Repeat,
    /// The values that no two items share.
    pub unique: Vec<Unique>,
    /// What it was in earlier designs.
    pub was: Vec<Earlier>,
    /// What stored items get that lack an attribute, or have a value that does not fit.
    pub fill: Vec<Fill>,
    /// What makes it a view; `None` for an entity.
    pub view: Option<View>,
}

/// How a view's records follow from the items of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The entity that it is derived from.
    pub of: RecordId,
    /// Whether it keeps the states that were replaced, instead of the current one.
    pub history: bool,
    /// It exists while this holds of the source. The soft delete of the source is in it.
    pub when: Option<Predicate>,
    /// There is one record for every element of this.
    pub each: Option<Each>,
    /// Of elements with the same value only the first has a record.
    pub distinct: Option<Formula>,
    /// Whether it has rules of its own for reading its records and using its actions.
    pub has_rules: bool,
    /// What marks a soft-deleted source, where that hides the record.
    pub hidden_by: Option<SoftDelete>,
}

/// The name of the ref that leads from a view's record to its source.
pub const SOURCE: &str = "source";

/// One part of a record's identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityPart {
    /// Its name in templates and URLs: `storyId`.
    pub name: String,
    /// The attribute that holds it: `id`.
    pub attribute: String,
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

/// What marks an item as soft-deleted.
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
            // Data that others wrote may have null for a missing time.
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

impl Record {
    /// The ref of that name.
    pub fn find_ref(&self, name: &str) -> Option<RefId> {
        let position = self.refs.iter().position(|one| one.name == name);
        position.map(RefId::new)
    }

    /// Whether it is an entity, and not a view.
    pub fn is_entity(&self) -> bool {
        self.view.is_none()
    }

    /// The attributes of a view's records that are their own: kept while a record lives, and
    /// changed by actions and effects.
    pub fn own(&self) -> impl Iterator<Item = &Attribute> {
        let attributes = self.attributes.iter();
        attributes.filter(|one| one.is_declared() && one.derived().is_none())
    }

    /// The attributes that a view repeats from its source.
    pub fn kept(&self) -> impl Iterator<Item = &Attribute> {
        self.attributes.iter().filter(|attribute| attribute.kept)
    }

    /// The attributes that a view computes from its source.
    pub fn derived(&self) -> impl Iterator<Item = (&Attribute, &Formula)> {
        let attributes = self.attributes.iter();
        attributes.filter_map(|attribute| Some((attribute, attribute.derived()?)))
    }

    /// The attribute that is stored under a name.
    pub fn stored(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|one| one.name == name)
    }

    /// The attribute of that name or alias.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.stored(name).or_else(|| {
            let mut attributes = self.attributes.iter();
            attributes.find(|attribute| attribute.alias.as_deref() == Some(name))
        })
    }

    /// Whether the attribute of that name is a part of its identity.
    pub fn is_identified_by(&self, name: &str) -> bool {
        self.identity.iter().any(|part| part.attribute == name)
    }

    /// The attributes that are parts of its identity, as far as it has them: a view's record may be
    /// identified by what only its source has.
    pub fn identity_attributes(&self) -> impl Iterator<Item = &Attribute> {
        let parts = self.identity.iter();
        parts.filter_map(|part| self.attribute(&part.attribute))
    }

    /// The part of its identity that callers may change, if there is one.
    pub fn movable_part(&self) -> Option<&Attribute> {
        self.identity_attributes().find(|one| one.movable)
    }

    /// A target of one of its references, by the name of that, as stored data give it.
    pub fn referrer(&self, reference: &str, target: usize) -> Option<ReferrerId> {
        let at = self.refs.iter().position(|one| one.name == reference)?;
        self.refs[at].targets.get(target)?;
        Some(ReferrerId {
            record: self.id,
            reference: RefId::new(at),
            target,
        })
    }

    /// The attribute that locks it optimistically.
    pub fn version(&self) -> Option<&Attribute> {
        let mut attributes = self.attributes.iter();
        attributes.find(|attribute| attribute.kind == AttributeType::Version)
    }

    /// Whether callers can say which item a new one is to be: nothing of its identity is computed.
    pub fn takes_identity(&self) -> bool {
        self.identity_attributes()
            .all(|one| matches!(one.source, Source::Given { .. } | Source::Generated))
    }

    /// The attribute that says when an item expires.
    pub fn expiry(&self) -> Option<&Attribute> {
        let mut attributes = self.attributes.iter();
        attributes.find(|attribute| matches!(attribute.kind, AttributeType::Expiry))
    }
}
