//! A write, evaluated: operations on items, and everything that follows from them.
//!
//! | module | what it adds to the draft |
//! |---|---|
//! | `planner::item` | an item changed, deleted or restored; a new one is the work of `request::create` |
//! | `planner::values` | what is computed from the item and its refs |
//! | `planner::purging` | an item removed for good after a soft delete |
//! | `planner::files` | that the files that it names are where they belong |
//! | `planner::owners` | whose files are whose |
//! | `planner::expiring` | that the files of items that expire are looked at |
//! | `planner::fill` | what a stored item lacks of another design |
//! | `planner::demand` | nothing: what the new design of a migration demands |
//! | `planner::relocate` | an item whose identity changes, and what goes with it |
//! | `planner::refs` | that the targets of refs are there |
//! | `planner::assignments` | nothing: the values that actions and effects assign |
//!
//! What follows from these is the work of [`react`](crate::react), and the transaction that of
//! [`commit`](crate::commit). Planning is pure: it runs over what was read, and may run several
//! times before everything is known.

pub(crate) mod assignments;
mod demand;
mod expiring;
mod files;
pub(crate) mod fill;
pub(crate) mod item;
mod owners;
pub(crate) mod purging;
pub(crate) mod refs;
pub(crate) mod relocate;
pub(crate) mod values;

use std::rc::Rc;

use partita_core::Value;
use partita_design::design::Record;
use partita_design::types::AttributeType;
use sha2::{Digest as _, Sha256};
use ulid::Ulid;

use crate::commit::deferred::Deferred;
use crate::draft::{Before, Draft, Entry, EntryId};
use crate::error::{Fault, FaultRule, PlanError};
use crate::evaluate::{Context, Known, Named};
use crate::outbox::posting::Posted;
use crate::place::Address;
use crate::react::effect::LeftOut;
use crate::react::kept::KeptNumbers;
use crate::react::mark::Marks;
use crate::react::unique::UniqueChange;
use crate::request::input::refuse;
use crate::request::limits::Window;
use files::FileChanges;

/// What is drawn once for an attempt, so that every evaluation of it comes to the same.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) now: Value,
    pub(crate) now_millis: i64,
    pub(crate) random: u128,
    /// The first id of an operation in a batch has this number, others have 0.
    pub(crate) first_id: u64,
}

/// Ids that one operation of a batch may draw before it would draw those of the next.
pub(crate) const IDS_EACH: u64 = 1 << 16;
/// Bits in which each ULID of a write is above the one before it, at random.
const ULID_STEP_BITS: u32 = 55;
/// Bits of the first one. With the steps of a whole batch it has room in the 80 of a ULID.
const ULID_START_BITS: u32 = 78;

impl Moment {
    /// Random bits of an id, by its number. They tell nothing of those of another: who is shown one
    /// id of a write cannot compute one that is hidden.
    fn bits(&self, number: u64) -> u128 {
        let digest = Sha256::new()
            .chain_update(self.random.to_be_bytes())
            .chain_update(number.to_be_bytes())
            .finalize();
        let first = digest.iter().take(16);
        first.fold(0, |bits, byte| bits << 8 | u128::from(*byte))
    }

    /// The random part of a ULID. It rises with the number.
    fn ulid_bits(&self, number: u64) -> u128 {
        let start = self.bits(u64::MAX) >> (u128::BITS - ULID_START_BITS);
        let step = self.bits(number) >> (u128::BITS - ULID_STEP_BITS);
        start + (u128::from(number) << ULID_STEP_BITS) + step
    }
}

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// A caller, with an operation or an action on the item itself.
    Caller,
    /// Something that was caused by another write. What is computed `on write` stays as it is.
    Effect,
}

/// Evaluates one write.
pub(crate) struct Planner<'a> {
    pub(crate) context: Context<'a>,
    pub(crate) moment: &'a Moment,
    pub(crate) draft: Draft<'a>,
    pub(crate) faults: Vec<Fault>,
    /// The trigger or action whose effect is being carried out.
    pub(crate) origin: Option<&'a str>,
    /// Effects that are left out.
    pub(crate) left_out: LeftOut,
    /// In a job, the item whose write it follows from, if that was there before it or after.
    pub(crate) shown_by_cause: Option<Address>,
    ids_drawn: u64,
    pub(crate) deferred: Deferred,
    pub(crate) windows: Vec<Window<'a>>,
    /// Whether the write counts towards a limit, which is exact.
    pub(crate) is_limited: bool,
    /// Whether the write removes an account that nobody confirmed, for a sign-up that wants its place.
    pub(crate) gives_way: bool,
    pub(crate) files: FileChanges,
    /// What becomes of the guards of unique values.
    pub(crate) unique: Vec<UniqueChange<'a>>,
    /// What becomes of the numbers of items that are not there.
    pub(crate) kept: KeptNumbers<'a>,
    /// Numbers that are being filled, and the items that count for them.
    pub(crate) marks: Marks<'a>,
    /// Mails and events that leave the system.
    pub(crate) posted: Vec<Posted>,
    /// What stands for the items that are purged.
    purged: Vec<String>,
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
            left_out: LeftOut::None,
            shown_by_cause: None,
            ids_drawn: 0,
            deferred: Deferred::default(),
            windows: Vec::new(),
            is_limited: false,
            gives_way: false,
            files: FileChanges::default(),
            unique: Vec::new(),
            kept: KeptNumbers::default(),
            marks: Marks::default(),
            posted: Vec::new(),
            purged: Vec::new(),
        }
    }

    /// The place of an item in the draft, as far as it was read.
    pub(crate) fn touch(
        &mut self,
        record: &'a Record,
        address: Address,
    ) -> Result<EntryId, PlanError> {
        if let Some(at) = self.draft.find(&address) {
            return Ok(at);
        }
        let before = match self.context.peek(&address) {
            Known::Unread => Before::Unread,
            Known::Missing => Before::Missing,
            Known::Found(item) => {
                let attributes = self.context.blueprint.attributes(record, item)?;
                Before::Found(Rc::new(attributes))
            }
        };
        Ok(self.draft.insert(record, address, before))
    }

    /// The place of an item in the draft; it is read if it was not.
    pub(crate) fn look_up(
        &mut self,
        record: &'a Record,
        address: Address,
    ) -> Result<EntryId, PlanError> {
        let at = self.touch(record, address)?;
        let entry = &self.draft[at];
        if entry.is_unread() {
            self.context.reads.need(entry.address.clone());
        }
        Ok(at)
    }

    pub(crate) fn entry(&self, at: EntryId) -> &Entry<'a> {
        &self.draft[at]
    }

    pub(crate) fn entry_mut(&mut self, at: EntryId) -> &mut Entry<'a> {
        &mut self.draft[at]
    }

    /// Refuses the write for its faults. While something is still to be read they may be none, and
    /// the evaluation goes on to find out what else it needs.
    pub(crate) fn refuse(&mut self) -> Result<(), PlanError> {
        let mut faults = std::mem::take(&mut self.faults);
        for fault in &mut faults {
            if self.is_demanded(fault) {
                let demanded = self.context.blueprint.demanded();
                fault.message.insert_str(0, &demanded);
            }
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
    pub(crate) fn named(&self, attribute: &str) -> String {
        match self.origin {
            Some(origin) => format!("{origin}.{attribute}"),
            None => attribute.to_owned(),
        }
    }

    /// Evaluates something whose ids are drawn again afterwards.
    pub(crate) fn without_ids<T>(&mut self, look: impl FnOnce(&mut Self) -> T) -> T {
        let drawn = self.ids_drawn;
        let made = look(self);
        self.ids_drawn = drawn;
        made
    }

    /// An id that no other item has. The ULIDs of one write rise.
    pub(crate) fn new_id(&mut self, kind: &AttributeType) -> String {
        let number = self.moment.first_id + self.ids_drawn;
        self.ids_drawn += 1;
        match kind {
            AttributeType::Uuid | AttributeType::Id => {
                let random = self.moment.bits(number).to_be_bytes();
                let id = uuid::Builder::from_random_bytes(random);
                id.into_uuid().to_string()
            }
            _ => {
                let millis = u64::try_from(self.moment.now_millis).unwrap_or(0);
                Ulid::from_parts(millis, self.moment.ulid_bits(number)).to_string()
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

/// Elements and parameters that an expression can name.
pub(crate) type Names<'s, 'a> = Vec<(String, Named<'s, 'a>)>;

#[cfg(test)]
pub(crate) mod tests;
