//! Refusals: what is wrong, where, and what to do.

use partita_core::limits::TRANSACTION_ACTIONS_MAX;
use partita_design::template::PartError;
use partita_store::{ErrorKind, StoreError};

/// Why an operation was not carried out. Except where the outcome is unknown, nothing changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
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
    /// What was given does not fit the design.
    #[error("{}", sentences(.faults))]
    Invalid {
        /// Everything that is wrong, not only the first.
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
    #[error("the rule `{rule}` does not let you {access} this `{entity}`")]
    Forbidden {
        /// What was asked, as a rule names it.
        access: String,
        /// The entity.
        entity: String,
        /// The rule that decided.
        rule: String,
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
    #[error("a `{entity}` with this identity exists already")]
    Exists {
        /// The entity.
        entity: String,
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
        "a `{entity}` with this identity was deleted or moved, and what belonged to it is still being removed; try again later"
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
    /// The write touches more items than one transaction can.
    #[error(
        "this write is too large for one transaction, which has room for {TRANSACTION_ACTIONS_MAX} items: {what}"
    )]
    TooMuch {
        /// What does not fit.
        what: String,
    },
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
    /// The write depends on items behind items behind items.
    #[error("this write depends on too many items, one behind the other")]
    TooDeep,
    /// Only what is deleted can be restored.
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
    /// The result is larger than what may be ordered at once.
    #[error("`{pattern}` orders at most {whole} items, and there are more")]
    TooLarge {
        /// The pattern.
        pattern: String,
        /// Its bound.
        whole: usize,
    },
    /// The cursor is not one of ours for this caller, pattern and parameters, or it is too old.
    #[error("the cursor does not belong to this query; start without one")]
    BadCursor,
    /// Others kept writing to the same items.
    #[error("others are writing to the same items; try again")]
    Conflict,
    /// Nobody can say whether the write was carried out.
    #[error("the outcome is unknown; read before you repeat this")]
    OutcomeUnknown,
    /// The store does not answer as it should.
    #[error(transparent)]
    Store(StoreError),
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

/// One thing that is wrong with what was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The attribute or parameter.
    pub attribute: String,
    /// A sentence that begins after its name: "must be a string".
    pub message: String,
}

impl Fault {
    /// A fault of an attribute.
    pub fn new(attribute: impl Into<String>, message: impl Into<String>) -> Self {
        Fault {
            attribute: attribute.into(),
            message: message.into(),
        }
    }
}

impl From<PartError> for Fault {
    fn from(error: PartError) -> Self {
        Fault::new(error.name, error.problem.to_string())
    }
}

impl From<PartError> for PlanError {
    fn from(error: PartError) -> Self {
        PlanError::Invalid {
            faults: vec![error.into()],
        }
    }
}

fn sentences(faults: &[Fault]) -> String {
    let sentences: Vec<_> = faults
        .iter()
        .map(|fault| format!("`{}` {}", fault.attribute, fault.message))
        .collect();
    sentences.join("; ")
}

fn hint(deleted: bool) -> &'static str {
    match deleted {
        true => "; it is deleted, restore it first",
        false => "",
    }
}
