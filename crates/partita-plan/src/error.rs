//! Refusals: what is wrong, where, and what to do.

use partita_core::limits::TRANSACTION_ACTIONS_MAX;
use partita_core::wording::one;
use partita_core::{Value, excerpt};
use partita_design::design::Record;
use partita_design::template::PartError;
use partita_design::types::AttributeType;
use partita_store::{ErrorKind, StoreError};

use crate::files::ObjectsError;
use crate::hot::HotSpot;
use crate::live::DesignError;
use crate::migration::MigrationError;
use crate::pattern::ReadBound;

/// How many operations a batch has at most. Each takes at least one action of a transaction.
pub const BATCH_OPERATIONS_MAX: usize = TRANSACTION_ACTIONS_MAX;

/// How many faults a refusal names. Where there are more, it says so.
pub const FAULTS_MAX: usize = 100;

/// Characters of what is said of one fault: it may list the words that an attribute takes.
const MESSAGE_CHARS_MAX: usize = 500;

/// Characters of a sentence about everything that is wrong.
const SENTENCES_CHARS_MAX: usize = 4_000;

/// Why an operation was not carried out. Except where the outcome is unknown, nothing changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// What was planned belongs to a stage of a migration that is over. Nothing was written.
    #[error("the design has changed meanwhile; try again")]
    Superseded,
    /// There is no feed of this.
    #[error("there is no feed here: {why}")]
    NoFeed {
        /// What is in the way, and what to do.
        why: String,
    },
    /// A migration does not begin or go on.
    #[error(transparent)]
    Migration(#[from] MigrationError),
    /// The design has no such entity.
    #[error("there is no entity `{name}`")]
    UnknownEntity {
        /// What was asked for.
        name: String,
    },
    /// The design has no such pattern.
    #[error("there is no pattern `{name}`")]
    UnknownPattern {
        /// What was asked for.
        name: String,
    },
    /// The design has no such action, or not for this entity.
    #[error("there is no action `{name}` here")]
    UnknownAction {
        /// What was asked for.
        name: String,
    },
    /// The design has no such prefix of a bucket.
    #[error("there is no prefix `{name}` for files")]
    UnknownPrefix {
        /// What was asked for.
        name: String,
    },
    /// What was given does not fit the design.
    #[error("{}", sentences(.faults))]
    Invalid {
        /// Everything that is wrong, not only the first; [`FAULTS_MAX`] at most, and one more that
        /// stands for the rest.
        faults: Vec<Fault>,
    },
    /// Only somebody with a token may do this.
    #[error("{access} `{entity}` needs a token")]
    Unauthenticated {
        /// What was asked, as a rule names it.
        access: String,
        /// The entity.
        entity: String,
    },
    /// This caller may not do this.
    #[error(
        "the rule `{rule}` does not let you {} this `{entity}`{}",
        accessed(.access), if *.afterwards { " so: it must hold after the change, too" } else { "" }
    )]
    Forbidden {
        /// What was asked, as a rule names it.
        access: String,
        /// The entity.
        entity: String,
        /// The rule that decided.
        rule: String,
        /// Whether it allows the change of the item as it was, and not of the item as it would be.
        afterwards: bool,
    },
    /// There is no such item, or it is hidden.
    #[error("there is no `{entity}` with this identity{}", hint(*.deleted))]
    NotFound {
        /// The entity.
        entity: String,
        /// Whether it is there, but deleted.
        deleted: bool,
    },
    /// There is such an item already.
    #[error("{} with this identity exists already", one(.entity))]
    Exists {
        /// The entity.
        entity: String,
    },
    /// Another item has a value that no two may have.
    #[error("{}", sentences(.faults))]
    Taken {
        /// What is taken, and nothing else that is wrong.
        faults: Vec<Fault>,
    },
    /// The item was changed since the caller saw it.
    #[error("this `{entity}` has another version by now; read it again")]
    StaleVersion {
        /// The entity.
        entity: String,
    },
    /// What an action or an effect requires is not so.
    #[error("`{name}` requires `{rule}`, and that is not so")]
    Requires {
        /// The action or the trigger.
        name: String,
        /// What it requires.
        rule: String,
    },
    /// Others refer to the item.
    #[error("this `{entity}` cannot be deleted: {count} `{by}` refer to it")]
    InUse {
        /// The entity.
        entity: String,
        /// Whose items refer to it.
        by: String,
        /// How many.
        count: String,
    },
    /// Something of this identity was deleted or moved, and what belonged to it still has to go.
    #[error(
        "{} with this identity was deleted or moved, and what belonged to it is still being removed; try again later", one(.entity)
    )]
    StillRemoved {
        /// The entity.
        entity: String,
    },
    /// The idempotency key belongs to another request.
    #[error(
        "this idempotency key was used for another request; every request needs one of its own"
    )]
    KeyReused,
    /// As much as may be was kept of this caller's writes under idempotency keys.
    #[error(
        "you have made too many writes under idempotency keys within an hour; try again in {wait_seconds} seconds, or without a key"
    )]
    TooManyKeys {
        /// When there is room again.
        wait_seconds: u64,
    },
    /// The write touches more items than one transaction can.
    #[error(
        "this write is too large for one transaction, which has room for {TRANSACTION_ACTIONS_MAX} items: {what}"
    )]
    TooMuch {
        /// What does not fit.
        what: String,
    },
    /// Operations of a batch are refused, so that none of it was carried out.
    #[error("{}", listed(.refusals))]
    Batch {
        /// Everything that is refused, in the order of the operations.
        refusals: Vec<Refused>,
    },
    /// The operations of a batch do not fit into one transaction.
    #[error(
        "together these operations take {actions} actions, and one transaction has room for {TRANSACTION_ACTIONS_MAX}; a batch leaves nothing to a job, so give them in several batches"
    )]
    BatchTooLarge {
        /// How many actions it would be.
        actions: usize,
    },
    /// A batch has no operation, or too many.
    #[error("a batch has 1 to {BATCH_OPERATIONS_MAX} operations, and these are {count}")]
    BatchSize {
        /// How many were given.
        count: usize,
    },
    /// A batch only writes.
    #[error("a batch only writes; read by itself")]
    ReadInBatch,
    /// The caller has done this as often as a limit allows.
    #[error(
        "`{limit}` allows this {count} times in {window_seconds} seconds; try again in {wait_seconds}"
    )]
    LimitReached {
        /// The limit.
        limit: String,
        /// How often it allows it.
        count: u64,
        /// In which time.
        window_seconds: u64,
        /// When the window ends.
        wait_seconds: u64,
    },
    /// The caller has as many uploads as one may have that no item has taken over.
    #[error(
        "you have {open} uploads that no item has taken over: name them in items, or wait until they are removed"
    )]
    TooManyUploads {
        /// How many one may have.
        open: usize,
        /// When the first of them is removed.
        wait_seconds: u64,
    },
    /// The write depends on items behind items behind items.
    #[error("this write depends on too many items, one behind the other")]
    TooDeep,
    /// Only what is deleted can be restored or purged.
    #[error("this `{entity}` is not deleted")]
    NotDeleted {
        /// The entity.
        entity: String,
    },
    /// The entity's items are removed for good.
    #[error("`{entity}` has no soft delete, so nothing can be restored")]
    NotRestorable {
        /// The entity.
        entity: String,
    },
    /// A pattern would have to read more than it may, to order its rows or to find one of them.
    #[error("`{pattern}` reads at most {bound}, and there is more to read")]
    TooLarge {
        /// The pattern.
        pattern: String,
        /// The bound that it meets.
        bound: ReadBound,
    },
    /// What is read or made takes more memory than one request may have.
    #[error("this takes more than {megabytes} MB of memory; ask for less at once")]
    TooMuchMemory {
        /// How much one may have.
        megabytes: usize,
    },
    /// The cursor is not one of ours for this caller, pattern and parameters, or it is too old.
    #[error("the cursor does not belong to this query; start without one")]
    BadCursor,
    /// The design has no accounts, or not this part of them.
    #[error("the design has no such part of `[accounts]`")]
    NoAccounts,
    /// Somebody whom another issuer knows cannot have an account here.
    #[error("there is no account for this token, and none can be made of it: {reason}")]
    NotProvisioned {
        /// Why.
        reason: String,
        /// What is wrong with the values that it would have.
        faults: Vec<Fault>,
    },
    /// What was decided on an account is not so any more.
    #[error("the account was changed meanwhile; try again")]
    Outdated,
    /// Something that is derived is not as the design says, so that the write would make it worse
    /// or cannot be carried out at all.
    #[error(
        "`{attribute}` of this `{entity}` {what}; try again, and if that stays so, `partita verify` shows what is wrong and `partita repair` mends it"
    )]
    Drift {
        /// The entity.
        entity: String,
        /// What is derived: a count, or the value that a guard is of.
        attribute: String,
        /// What is wrong with it.
        what: String,
    },
    /// Others kept writing to the same items.
    #[error("others are writing to the same items; try again")]
    Conflict,
    /// Too much is asked of one key at once.
    #[error("{0}")]
    Hot(Box<HotSpot>),
    /// Nobody can say whether the write was carried out.
    #[error("the outcome is unknown; read before you repeat this")]
    OutcomeUnknown,
    /// Objects cannot be reached; nothing was written.
    #[error(transparent)]
    Objects(ObjectsError),
    /// The stored data follow another design.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// The store does not answer as it should.
    #[error(transparent)]
    Store(StoreError),
}

impl PlanError {
    /// The refusal of what is wrong with what was given. Where that is only what others have, it
    /// may be given again when they no longer do.
    pub(crate) fn of_faults(faults: Vec<Fault>) -> PlanError {
        if faults.iter().all(|fault| fault.rule == FaultRule::Unique) {
            PlanError::Taken { faults }
        } else {
            PlanError::Invalid { faults }
        }
    }

    /// That something derived of an item is not as the design says.
    pub(crate) fn drift(record: &Record, attribute: &str, what: impl Into<String>) -> PlanError {
        PlanError::Drift {
            entity: record.name.clone(),
            attribute: attribute.to_owned(),
            what: what.into(),
        }
    }

    /// Whether what was read may not have fitted together, because others were writing: another
    /// attempt may come to something else.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, PlanError::Conflict | PlanError::Drift { .. })
    }

    /// Says where too much is asked at once, where that is why nothing was done.
    pub(crate) fn at(self, hot: Option<Box<HotSpot>>) -> PlanError {
        let is_pressed = match &self {
            PlanError::Conflict => true,
            PlanError::Store(error) => error.kind() == ErrorKind::Retry,
            _ => false,
        };
        match hot {
            Some(hot) if is_pressed => PlanError::Hot(hot),
            _ => self,
        }
    }

    /// Whether a job is still removing what belonged to an item of the same identity.
    pub(crate) fn is_still_removed(&self) -> bool {
        matches!(self, PlanError::StillRemoved { .. })
    }

    /// What is wrong with what was given.
    pub(crate) fn faults(&self) -> Option<&[Fault]> {
        match self {
            PlanError::Invalid { faults } | PlanError::Taken { faults } => Some(faults),
            _ => None,
        }
    }
}

impl From<StoreError> for PlanError {
    fn from(error: StoreError) -> Self {
        match error.kind() {
            ErrorKind::OutcomeUnknown => PlanError::OutcomeUnknown,
            ErrorKind::Conflict => PlanError::Conflict,
            _ => PlanError::Store(error),
        }
    }
}

/// An operation of a batch that is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// Which one, counted from 0.
    pub position: usize,
    /// Why, with all that is wrong with it.
    pub error: PlanError,
}

impl Refused {
    pub(crate) fn new(position: usize, error: PlanError) -> Self {
        Refused { position, error }
    }
}

/// One thing that is wrong with what was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The entity or view; none where the request itself is at fault.
    pub entity: Option<String>,
    /// The attribute, reference or parameter. In an effect it stands behind what causes it, as in
    /// `upvoted.message`.
    pub attribute: String,
    /// Which rule it breaks.
    pub rule: FaultRule,
    /// A sentence that begins after its name: "must be a string".
    pub message: String,
}

/// The rules that what is given can break. Each has a word that does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultRule {
    /// The form of the request: a parameter, a number that is none, a name that is given twice.
    Request,
    /// The type of an attribute.
    Type,
    /// The values of its type that it may have: a range, a length, a pattern, some words.
    Value,
    /// It must be there.
    Required,
    /// The entity has no such attribute.
    Unknown,
    /// It is computed, counted or kept by Partita, and nobody can give it.
    NotGiven,
    /// What can be part of a key: not empty, without `#`, and not too long.
    KeyPart,
    /// The parts of an identity stay as they are.
    Identity,
    /// It never changes.
    Fixed,
    /// The steps from one state to another.
    State,
    /// A reference leads somewhere.
    Reference,
    /// No two items share the value.
    Unique,
    /// There is no other item of this identity.
    Exists,
    /// The item has the version that the caller saw.
    Version,
    /// What the entity requires always.
    Requirement,
    /// Where files belong, and what they may be.
    File,
}

impl FaultRule {
    /// The word for programs.
    pub fn word(self) -> &'static str {
        match self {
            FaultRule::Request => "request",
            FaultRule::Type => "type",
            FaultRule::Value => "value",
            FaultRule::Required => "required",
            FaultRule::Unknown => "unknown",
            FaultRule::NotGiven => "not-given",
            FaultRule::KeyPart => "key-part",
            FaultRule::Identity => "identity",
            FaultRule::Fixed => "fixed",
            FaultRule::State => "state",
            FaultRule::Reference => "reference",
            FaultRule::Unique => "unique",
            FaultRule::Exists => "exists",
            FaultRule::Version => "version",
            FaultRule::Requirement => "requirement",
            FaultRule::File => "file",
        }
    }
}

impl Fault {
    /// A fault of the request itself. Long names are shortened.
    pub fn new(attribute: impl Into<String>, message: impl Into<String>) -> Self {
        Fault {
            entity: None,
            attribute: excerpt::of_owned(attribute.into(), excerpt::NAME_CHARS_MAX),
            rule: FaultRule::Request,
            message: excerpt::of_owned(message.into(), MESSAGE_CHARS_MAX),
        }
    }

    /// A fault of an attribute of a record.
    pub(crate) fn of(
        record: &str,
        attribute: impl Into<String>,
        rule: FaultRule,
        message: impl Into<String>,
    ) -> Self {
        Fault {
            entity: Some(record.to_owned()),
            rule,
            ..Fault::new(attribute, message)
        }
    }

    /// A ref whose target is not there.
    pub(crate) fn of_target(record: &str, reference: impl Into<String>, target: &str) -> Self {
        let message = format!("leads to no `{target}`");
        Fault::of(record, reference, FaultRule::Reference, message)
    }

    /// A value that an attribute does not take.
    pub(crate) fn of_value(
        record: &str,
        attribute: &str,
        kind: &AttributeType,
        value: &Value,
        expected: &str,
    ) -> Self {
        let is_of_type = kind.stored_as().is_none_or(|stored| stored == value.kind());
        let rule = if is_of_type {
            FaultRule::Value
        } else {
            FaultRule::Type
        };
        Fault::of(record, attribute, rule, format!("must be {expected}"))
    }

    /// A part of a key of a record that cannot be one.
    pub(crate) fn of_part(record: &str, error: PartError) -> Self {
        Fault {
            entity: Some(record.to_owned()),
            ..error.into()
        }
    }
}

impl From<PartError> for Fault {
    fn from(error: PartError) -> Self {
        Fault {
            rule: FaultRule::KeyPart,
            ..Fault::new(error.name, error.problem.to_string())
        }
    }
}

impl From<PartError> for PlanError {
    fn from(error: PartError) -> Self {
        PlanError::Invalid {
            faults: vec![error.into()],
        }
    }
}

/// Notes a fault down. Of those that no refusal names one is kept, because there are more.
pub(crate) fn note(faults: &mut Vec<Fault>, fault: impl FnOnce() -> Fault) {
    if faults.len() <= FAULTS_MAX {
        faults.push(fault());
    }
}

fn sentences(faults: &[Fault]) -> String {
    let mut sentences = String::new();
    for (at, fault) in faults.iter().enumerate() {
        let sentence = match &fault.entity {
            Some(entity) => format!("`{}` of `{entity}` {}", fault.attribute, fault.message),
            None => format!("`{}` {}", fault.attribute, fault.message),
        };
        let between = if at == 0 { "" } else { "; " };
        if at == FAULTS_MAX || sentences.len() + sentence.len() > SENTENCES_CHARS_MAX {
            let more = "and there is more that is wrong";
            return format!("{sentences}{between}{more}");
        }
        sentences.push_str(between);
        sentences.push_str(&sentence);
    }
    sentences
}

fn listed(refusals: &[Refused]) -> String {
    let refusals = refusals.iter();
    let sentences = refusals.map(|one| format!("operations[{}]: {}", one.position, one.error));
    sentences.collect::<Vec<_>>().join("; ")
}

/// What was asked, in a sentence: `write role` is about one attribute of the item.
fn accessed(access: &str) -> String {
    match access.strip_prefix("write ") {
        Some(attribute) => format!("write `{attribute}` of"),
        None => access.to_owned(),
    }
}

fn hint(deleted: bool) -> &'static str {
    if deleted {
        "; it is deleted, restore it first"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_attribute_or_the_operation() {
        for (access, said) in [
            ("write role", "write `role` of this `User`"),
            ("update", "update this `User`"),
        ] {
            let refusal = PlanError::Forbidden {
                access: access.to_owned(),
                entity: "User".to_owned(),
                rule: "never".to_owned(),
                afterwards: false,
            };
            let expected = format!("the rule `never` does not let you {said}");
            assert_eq!(refusal.to_string(), expected);
        }
        let entity = "Alert".to_owned();
        let exists = PlanError::Exists { entity }.to_string();
        assert_eq!(exists, "an `Alert` with this identity exists already");
    }
}
