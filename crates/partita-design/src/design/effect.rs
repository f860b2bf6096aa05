//! Actions and triggers: what one write causes.

use partita_core::Value;

use super::{Access, ActionId, Parameter, PatternId, RecordId, Ref, TriggerId};
use crate::expression::{Expr, Formula, Predicate, Reading};

/// Something that callers can do to an item by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// The position in [`Design::actions`](super::Design::actions).
    pub id: ActionId,
    /// The word in `[action.X]` and in URLs.
    pub name: String,
    /// What it is about.
    pub about: Option<String>,
    /// What it is done to.
    pub on: ActionOn,
    /// The attributes that the caller gives.
    pub input: Vec<String>,
    /// Other things that the caller gives.
    pub parameters: Vec<Parameter>,
    /// References over the parameters.
    pub refs: Vec<Ref>,
    /// What must hold, or the action is refused.
    pub require: Option<Predicate>,
    /// What becomes of the item's attributes.
    pub changes: Assignments,
    /// Whether the item is deleted.
    pub delete: bool,
    /// What happens besides.
    pub then: Vec<Effect>,
}

/// What an action is done to.
#[derive(Clone, Debug, PartialEq)]
pub enum ActionOn {
    /// An item of one of these, named by its identity.
    Items(Vec<RecordId>),
    /// The item that a pattern of one finds.
    Found {
        /// The pattern.
        pattern: PatternId,
        /// What it finds.
        record: RecordId,
    },
    /// Every item that a pattern finds, by another action.
    Every(Box<Application>),
}

impl ActionOn {
    /// What the item is that it is done to. One on every item of a pattern is done by another.
    pub fn records(&self) -> &[RecordId] {
        match self {
            ActionOn::Items(records) => records,
            ActionOn::Found { record, .. } => std::slice::from_ref(record),
            ActionOn::Every(_) => &[],
        }
    }

    /// What the items are that it is done to, directly or by another action.
    pub fn all_records(&self) -> &[RecordId] {
        match self {
            ActionOn::Every(application) => std::slice::from_ref(&application.record),
            _ => self.records(),
        }
    }
}

/// An action that is applied to every item of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Application {
    /// The items.
    pub each: Each,
    /// Only those for which this holds.
    pub when: Option<Predicate>,
    /// The action.
    pub apply: ActionId,
    /// What the items are.
    pub record: RecordId,
}

/// What a write causes.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// The position in [`Design::triggers`](super::Design::triggers).
    pub id: TriggerId,
    /// Its name, which identifies jobs and generated ids.
    pub name: String,
    /// What it is about.
    pub about: Option<String>,
    /// The write.
    pub on: Event,
    /// Only when this holds now and did not before.
    pub turns: Option<Predicate>,
    /// What it causes.
    pub effect: Effect,
}

/// A kind of write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Of which items.
    pub of: RecordId,
    /// Which writes.
    pub kind: EventKind,
}

/// Which writes cause something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// The item is created.
    Create,
    /// It is changed.
    Update,
    /// It is created or changed.
    Write,
    /// It is deleted.
    Delete,
}

impl EventKind {
    /// The kinds and their words.
    pub const WORDS: [(EventKind, &'static str); 4] = [
        (EventKind::Create, "create"),
        (EventKind::Update, "update"),
        (EventKind::Write, "write"),
        (EventKind::Delete, "delete"),
    ];

    /// Whether this kind of access is such a write.
    pub fn includes(self, access: Access) -> bool {
        match access {
            Access::Create => matches!(self, EventKind::Create | EventKind::Write),
            Access::Update | Access::Restore => {
                matches!(self, EventKind::Update | EventKind::Write)
            }
            Access::Delete => self == EventKind::Delete,
            // Triggers have seen the soft delete.
            Access::Read | Access::Purge => false,
        }
    }
}

/// An operation on an item, caused by another.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// What is done.
    pub kind: EffectKind,
    /// To which item.
    pub target: EffectTarget,
    /// Once for every element of this.
    pub each: Option<Each>,
    /// Of elements with the same value only the first counts.
    pub distinct: Option<Formula>,
    /// The effect is left out unless this holds.
    pub when: Option<Predicate>,
    /// The whole write is refused unless this holds.
    pub require: Option<Predicate>,
    /// What becomes of the target's attributes.
    pub changes: Assignments,
}

/// What an effect does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EffectKind {
    /// Creates an item.
    Create,
    /// Creates an item, or changes the one that is there.
    Upsert,
    /// Changes an item.
    Update,
    /// Deletes an item.
    Delete,
    /// Mails somebody.
    Mail,
    /// Sends a receiver an event.
    Send,
}

impl EffectKind {
    /// The kinds and their words.
    pub const WORDS: [(EffectKind, &'static str); 6] = [
        (EffectKind::Create, "create"),
        (EffectKind::Upsert, "upsert"),
        (EffectKind::Update, "update"),
        (EffectKind::Delete, "delete"),
        (EffectKind::Mail, "mail"),
        (EffectKind::Send, "send"),
    ];

    /// Whether it leaves the system, instead of writing an item.
    pub fn is_outgoing(self) -> bool {
        matches!(self, EffectKind::Mail | EffectKind::Send)
    }
}

/// Which item an effect is done to.
#[derive(Clone, Debug, PartialEq)]
pub enum EffectTarget {
    /// A new item of this entity, or the one of the given identity.
    Entity(RecordId),
    /// The item that a ref leads to.
    Ref {
        /// The ref.
        name: String,
        /// What it can lead to.
        records: Vec<RecordId>,
    },
    /// The element of the effect's `each`.
    Element(RecordId),
    /// The item whose identity is computed.
    Identity {
        /// What it is.
        record: RecordId,
        /// For each part of its identity, in its order, where it comes from.
        parts: Vec<(String, Reading)>,
    },
    /// A mail.
    Mail(Box<MailForm>),
    /// An event for a receiver, whose address is a setting of the server.
    Receiver {
        /// The name of the receiver.
        name: String,
        /// What it is told; all of the item but its secrets, if nothing is named.
        with: Vec<(String, Formula)>,
    },
}

/// What a mail is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct MailForm {
    /// The address.
    pub to: Formula,
    /// The subject.
    pub subject: Formula,
    /// The text, which may have secrets in it.
    pub text: Formula,
}

impl EffectTarget {
    /// The values that leave the system.
    pub fn outgoing(&self) -> Vec<&Formula> {
        match self {
            EffectTarget::Mail(mail) => vec![&mail.to, &mail.subject, &mail.text],
            EffectTarget::Receiver { with, .. } => with.iter().map(|(_, value)| value).collect(),
            _ => Vec::new(),
        }
    }

    /// What the item can be.
    pub fn records(&self) -> &[RecordId] {
        match self {
            EffectTarget::Ref { records, .. } => records,
            EffectTarget::Entity(record)
            | EffectTarget::Element(record)
            | EffectTarget::Identity { record, .. } => std::slice::from_ref(record),
            EffectTarget::Mail(_) | EffectTarget::Receiver { .. } => &[],
        }
    }
}

/// What becomes of an item's attributes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assignments {
    /// New values.
    pub set: Vec<(String, Formula)>,
    /// Numbers that are added.
    pub add: Vec<(String, Formula)>,
    /// Attributes that are removed.
    pub remove: Vec<String>,
}

impl Assignments {
    /// The attributes that are written.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let set = self.set.iter().map(|(name, _)| name.as_str());
        let add = self.add.iter().map(|(name, _)| name.as_str());
        set.chain(add).chain(self.remove.iter().map(String::as_str))
    }

    /// The attributes that are removed, or become empty lists.
    pub fn emptied(&self) -> impl Iterator<Item = &str> {
        let is_empty = |value: &Formula| match value.cases.as_slice() {
            [case] => matches!(&case.is, Expr::Literal(Value::L(list)) if list.is_empty()),
            _ => false,
        };
        let set = self.set.iter().filter(move |(_, value)| is_empty(value));
        let removed = self.remove.iter().map(String::as_str);
        set.map(|(name, _)| name.as_str()).chain(removed)
    }
}

/// One after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Each {
    /// What the element is called.
    pub name: String,
    /// What it is an element of.
    pub over: EachOver,
}

/// What an `each` goes through.
#[derive(Clone, Debug, PartialEq)]
pub enum EachOver {
    /// A list.
    List {
        /// The list.
        reading: Box<Reading>,
        /// How many elements it has at most.
        max: Option<usize>,
    },
    /// The items of a pattern, whose parameters come from the item that is written.
    Pattern {
        /// The pattern.
        pattern: PatternId,
        /// Its parameters.
        parameters: Vec<(String, Reading)>,
    },
}
