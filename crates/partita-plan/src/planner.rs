//! A write, evaluated: operations on items, and everything that follows from them.
//!
//! | module | what it adds to the draft |
//! |---|---|
//! | `planner::item` | an item created, changed or deleted |
//! | `planner::values` | what is computed from the item and its refs |
//! | `planner::files` | that the files that it names are where they belong |
//! | `planner::owners` | whose files are whose |
//! | `planner::expiring` | that the files of items that expire are looked at |
//! | `planner::relocate` | an item whose identity changes, and what goes with it |
//! | `planner::refs` | that the targets of refs are there |
//! | `planner::aggregate` | counts and sums on other items |
//! | `planner::kept` | counts and sums of items that are not there |
//! | `planner::views` | the records derived from items |
//! | `planner::history` | the states that were replaced |
//! | `planner::unique` | the guards of values that no two items share |
//! | `planner::follow` | copies that follow, and what a deletion takes along |
//! | `planner::later` | what is left for a job |
//! | `planner::every` | what is done for every item of a pattern, by a job |
//! | `planner::chunk` | a part of a job |
//! | `planner::effects` | what triggers and actions cause |
//! | `planner::emit` | the transaction |
//!
//! Planning is pure: it runs over what was read, and may run several times before everything is
//! known.

mod aggregate;
pub(crate) mod chunk;
pub(crate) mod effects;
mod emit;
mod every;
mod expiring;
mod files;
pub(crate) mod follow;
mod history;
pub(crate) mod item;
mod kept;
pub(crate) mod later;
mod owners;
pub(crate) mod refs;
mod relocate;
mod unique;
mod values;
mod views;

use std::rc::Rc;

use partita_core::Value;
use partita_design::design::Record;
use partita_design::types::AttributeType;
use partita_store::request::TransactAction;
use ulid::Ulid;

use crate::draft::{Before, Draft, Entry, Refusal};
use crate::error::{Fault, FaultRule, PlanError};
use crate::evaluate::{Context, Known, Named};
use crate::files::Placement;
use crate::job::Job;
use crate::operation::Answer;
use crate::place::Address;
use crate::request::input::refuse;
use crate::request::limits::Window;
use files::FileChanges;
use kept::Kept;
use later::Later;

/// How many items' consequences are looked at in one write. The checker excludes cycles; this
/// keeps a mistake of ours from running on.
const STEPS_MAX: usize = 10_000;

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
    /// Buckets and names of objects that are not needed once they are.
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
    /// An action whose condition fails only if the item was written meanwhile.
    pub(crate) fn or_stale(action: TransactAction) -> Step {
        Step {
            action,
            refusal: Refusal::Stale,
        }
    }
}

/// What is drawn once for an attempt, so that every evaluation of it comes to the same.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) now: Value,
    pub(crate) now_millis: i64,
    pub(crate) random: u128,
}

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// A caller, with an operation or an action on the item itself.
    Caller,
    /// Something that was caused by another write. It leaves version and time of change alone.
    Effect,
}

/// Evaluates one write.
pub(crate) struct Planner<'a> {
    pub(crate) context: Context<'a>,
    pub(crate) moment: &'a Moment,
    pub(crate) draft: Draft<'a>,
    pub(crate) faults: Vec<Fault>,
    /// The trigger or action whose effect is being carried out.
    origin: Option<&'a str>,
    ids_drawn: u64,
    pub(crate) later: Later,
    pub(crate) left: Option<Job>,
    pub(crate) windows: Vec<Window<'a>>,
    /// Whether the write counts towards a limit, which is exact.
    pub(crate) is_limited: bool,
    pub(crate) files: FileChanges,
    kept: Kept<'a>,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(context: Context<'a>, moment: &'a Moment) -> Self {
        context.reads.show_all();
        Planner {
            context,
            moment,
            draft: Draft::new(),
            faults: Vec::new(),
            origin: None,
            ids_drawn: 0,
            later: Later::default(),
            left: None,
            windows: Vec::new(),
            is_limited: false,
            files: FileChanges::default(),
            kept: Kept::default(),
        }
    }

    /// The place of an item in the draft, as far as it was read.
    pub(crate) fn touch(
        &mut self,
        shape: &'a Record,
        address: Address,
    ) -> Result<usize, PlanError> {
        if let Some(at) = self.draft.find(&address) {
            return Ok(at);
        }
        let before = match self.context.peek(&address) {
            Known::Unread => Before::Unread,
            Known::Missing => Before::Missing,
            Known::Found(item) => {
                let attributes = self.context.blueprint.attributes(shape, item)?;
                Before::Found(Rc::new(attributes))
            }
        };
        Ok(self.draft.insert(shape, address, before))
    }

    /// The place of an item in the draft; it is read if it was not.
    pub(crate) fn look_up(
        &mut self,
        shape: &'a Record,
        address: Address,
    ) -> Result<usize, PlanError> {
        let at = self.touch(shape, address)?;
        let entry = &self.draft.entries[at];
        if matches!(entry.before, Before::Unread) && entry.after.is_none() {
            self.context.reads.need(entry.address.clone());
        }
        Ok(at)
    }

    pub(crate) fn entry(&self, at: usize) -> &Entry<'a> {
        &self.draft.entries[at]
    }

    pub(crate) fn entry_mut(&mut self, at: usize) -> &mut Entry<'a> {
        &mut self.draft.entries[at]
    }

    /// Looks at the consequences of everything in the draft, and at theirs, until there are no
    /// more.
    pub(crate) fn follow_through(&mut self) -> Result<(), PlanError> {
        let mut steps = 0;
        while let Some(at) = self.draft.next() {
            steps += 1;
            if steps > STEPS_MAX {
                let name = &self.entry(at).shape.name;
                let what = format!("one thing leads to another, at last to a `{name}`");
                return Err(PlanError::TooMuch { what });
            }
            self.refresh(at)?;
            let told = self.entry(at).after.clone();
            self.aggregate(at)?;
            self.follow_copies(at)?;
            self.follow_deletion(at)?;
            // What follows may change the item once more, and is looked at in its turn.
            self.entry_mut(at).told = told;
            self.trigger(at)?;
            self.derive(at)?;
        }
        self.check_deletions()?;
        self.refuse()
    }

    /// Computes again what is made of numbers that were added to. For that the item must be known.
    fn refresh(&mut self, at: usize) -> Result<(), PlanError> {
        let kernel = &self.context.blueprint.kernel;
        let entry = self.entry(at);
        let entity = entry.shape;
        let mut added = entry.adds.keys().chain(&entry.added_new);
        if !entity.is_entity() || !added.any(|name| kernel.is_feeding(entity.id, name)) {
            return Ok(());
        }
        match entry.before {
            _ if entry.is_new() => {
                self.entry_mut(at).added_new.clear();
                self.recompute(at, entity, By::Effect)
            }
            Before::Unread => {
                self.context.reads.need(entry.address.clone());
                Ok(())
            }
            Before::Missing => Ok(()),
            Before::Found(_) => self.recompute(at, entity, By::Effect),
        }
    }

    /// Refuses the write for its faults. While something is still to be read they may be none, and
    /// the evaluation goes on to find out what else it needs.
    pub(crate) fn refuse(&mut self) -> Result<(), PlanError> {
        let mut faults = std::mem::take(&mut self.faults);
        for fault in &mut faults {
            fault.attribute = self.named(&fault.attribute);
        }
        if !self.context.reads.is_complete() {
            return Ok(());
        }
        // What has an answer of its own gets it when it is alone.
        if let [fault] = faults.as_slice()
            && let Some(entity) = fault.entity.clone()
        {
            match fault.rule {
                FaultRule::Exists => return Err(PlanError::Exists { entity }),
                FaultRule::Version => return Err(PlanError::StaleVersion { entity }),
                _ => {}
            }
        }
        refuse(faults)
    }

    /// An attribute as a fault calls it: that of an effect with the name of what causes it.
    fn named(&self, attribute: &str) -> String {
        match self.origin {
            Some(origin) => format!("{origin}.{attribute}"),
            None => attribute.to_owned(),
        }
    }

    /// An id that no other item has. The ULIDs of one write rise.
    pub(crate) fn new_id(&mut self, kind: &AttributeType) -> String {
        let random = self.moment.random.wrapping_add(u128::from(self.ids_drawn));
        self.ids_drawn += 1;
        match kind {
            AttributeType::Uuid => uuid(random),
            _ => {
                let millis = u64::try_from(self.moment.now_millis).unwrap_or(0);
                Ulid::from_parts(millis, random).to_string()
            }
        }
    }

    /// The time of the write in the form of an attribute.
    pub(crate) fn now_as(&self, entity: &Record, name: &str) -> Value {
        let now = self.moment.now.clone();
        match entity.attribute(name) {
            Some(attribute) => attribute.kind.adopt(now),
            None => now,
        }
    }
}

/// A random UUID: version 4, variant 1.
fn uuid(random: u128) -> String {
    let bits = (random & !(0xf << 76) & !(0b11 << 62)) | (0x4 << 76) | (0b10 << 62);
    let hex = format!("{bits:032x}");
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-")
}

/// Elements and parameters that an expression can name.
pub(crate) type Names<'s, 'a> = Vec<(String, Named<'s, 'a>)>;

#[cfg(test)]
pub(crate) mod tests;
