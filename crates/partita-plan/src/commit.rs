//! From a draft to a committed transaction.
//!
//! | module | what it does |
//! |---|---|
//! | `emit` | the draft becomes one transaction: an action for each item, guarded by what was read |
//! | `update` | the update that makes of an item what it will be |
//! | `deferred` | what no transaction can hold becomes a job, which the transaction records |
//! | `run` | what the store is asked, again while it lacks the capacity; what failed conditions mean |
//! | `diagnosis` | a write that fails is held against what is stored |
//! | `pressure` | which keys others write to and read, and what was counted there |
//! | `fence` | a transaction in doubt that was refused is not carried out any more |

pub(crate) mod deferred;
pub(crate) mod diagnosis;
pub(crate) mod emit;
mod fence;
mod pressure;
pub(crate) mod run;
pub(crate) mod update;

use partita_store::request::TransactAction;

use crate::draft::Refusal;
use crate::error::PlanError;
use crate::files::Placement;
use crate::hot::HotSpot;
use crate::job::Job;
use crate::operation::Answer;

/// A transaction, and the answers once it is committed, one to each operation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WritePlan {
    pub(crate) steps: Vec<Step>,
    pub(crate) answers: Vec<Answer>,
    /// Whether the steps only count, so that each is carried out by itself.
    pub(crate) is_tally: bool,
    /// The jobs that the steps record.
    pub(crate) left: Vec<Job>,
    /// Uploads that must be in their places before the steps are carried out.
    pub(crate) placements: Vec<Placement>,
    /// Buckets and names of objects that are not needed after that.
    pub(crate) released: Vec<(String, String)>,
}

impl WritePlan {
    /// Steps that have no answer.
    pub(crate) fn aside(steps: Vec<Step>) -> Self {
        WritePlan {
            steps,
            answers: vec![Answer::Done],
            is_tally: false,
            left: Vec::new(),
            placements: Vec::new(),
            released: Vec::new(),
        }
    }
}

/// One action, and what it means when its condition does not hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) action: TransactAction,
    pub(crate) refusal: Refusal,
}

impl Step {
    /// An action whose condition holds unless another write came first.
    pub(crate) fn or_stale(action: TransactAction) -> Step {
        Step {
            action,
            refusal: Refusal::Stale,
        }
    }
}

/// What became of a plan.
#[derive(Debug, PartialEq)]
pub(crate) enum Committed {
    /// It is done.
    Done,
    /// It is not done, and may be when it is planned again.
    NotYet {
        /// The answer if there is no other attempt.
        cause: PlanError,
        /// The actions whose conditions were not met.
        failed: Vec<usize>,
        /// Where it met others.
        hot: Option<Box<HotSpot>>,
    },
}

impl Committed {
    pub(crate) fn not_yet(cause: PlanError) -> Committed {
        Committed::NotYet {
            cause,
            failed: Vec::new(),
            hot: None,
        }
    }

    /// Says where others were met.
    pub(crate) fn at(mut self, met: Option<Box<HotSpot>>) -> Committed {
        if let Committed::NotYet { hot, .. } = &mut self {
            *hot = met;
        }
        self
    }
}
