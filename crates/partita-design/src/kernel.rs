//! Everything that a write causes, in one form.
//!
//! > **on** a write to an item, **when** a condition over it holds, **for each** element of a list,
//! > item of a pattern or item that refers to it, something is **done** to a target.
//!
//! Counts, copies, views, histories, unique values, `on delete`, triggers and the effects of
//! actions are other ways to write this down. [`lower`] makes the table of a design's reactions,
//! and the checker keeps it in [`Design::reactions`]. The planner runs the reactions of what
//! changed, and [`sizes`] counts from them how many actions each write takes.
//!
//! A reaction names the parts of its design by ids, so that the table can be kept beside them. It
//! also says which attributes of the written item it reads, so that a change of other attributes
//! need not be looked at.

mod lower;
mod own;
mod reads;
mod size;

use crate::Design;
use crate::design::{
    ActionId, AttributeId, Each, EffectId, EventKind, RecordId, RefId, ReferrerId, UniqueId,
};
use crate::expression::Predicate;

pub use lower::lower;
pub use own::Own;
pub use reads::reference_inputs;
pub use size::{Origins, Part, Size, Touched, Write, sizes};

/// One thing that a write causes.
#[derive(Clone, Debug, PartialEq)]
pub struct Reaction {
    /// Whose items are written.
    pub record: RecordId,
    /// The writes that set it off.
    pub on: Occasion,
    /// The condition under which it happens.
    pub when: When,
    /// How often it happens.
    pub each: Times,
    /// What is done.
    pub does: Does,
    /// The attributes of the written item that it is decided on or made of, as far as they can
    /// change.
    pub reads: Vec<String>,
}

/// The writes to an item that set a reaction off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// The stored item is put, changed or removed.
    Write,
    /// The stored item changes: it is there before and after.
    Change,
    /// The stored item is removed for good.
    Removal,
    /// An operation on the item, soft deletes included. A number or a copy that follows another
    /// item changes this one without an operation.
    Operation(EventKind),
    /// A call of an action.
    Action(ActionId),
}

/// The condition under which a reaction happens.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a design has a few reactions, made once and read for every write"
)]
pub enum When {
    /// The target follows the state of the item, in every state or in those of which this holds:
    /// what the state before the write makes of the target becomes what the state after it does.
    /// A write that changes nothing that the reaction reads leaves the target as it is.
    While(Option<Predicate>),
    /// Something happens with every such write, or if this holds of the item after it.
    If(Option<Predicate>),
    /// Something happens if the first holds after the write and did not before it, and the second
    /// holds too.
    Turns(Predicate, Option<Predicate>),
}

/// How often a reaction happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Times {
    /// Once.
    Once,
    /// For every element of a list, or every item of a pattern.
    Each(Each),
    /// For every item that refers to the written one.
    Referring(ReferrerId),
}

/// What is done to the target.
#[derive(Clone, Debug, PartialEq)]
pub enum Does {
    /// Adds to a number of the item that a ref leads to: what the written item counts now, less
    /// what it counted before.
    Add {
        /// The ref from the written item to the target.
        by: RefId,
        /// The number.
        to: (RecordId, AttributeId),
    },
    /// Sets an attribute of the target to one of the written item.
    Copy {
        /// The attribute of the written item.
        from: String,
        /// The attribute of the target.
        to: (RecordId, AttributeId),
    },
    /// Does what the target's ref says `on delete`.
    Release,
    /// Creates, changes or deletes another item.
    Operate(EffectId),
    /// Puts, changes, moves or deletes the records of a view.
    Keep(RecordId),
    /// Puts a record of the state that is replaced, and lets earlier ones go where the item goes.
    Archive(RecordId),
    /// Puts, changes or deletes the guard of a unique value; one that is there refuses the write.
    Guard(UniqueId),
}

/// The reactions of a design, by the record that is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reactions {
    /// In the order of the records, and of each record in the order in which they run.
    all: Vec<Reaction>,
    /// For each record, where its reactions end.
    ends: Vec<usize>,
    /// For each record, what its items compute from themselves.
    own: Vec<Own>,
}

impl Reactions {
    /// What writes to the items of a record set off, in the order in which it runs: numbers,
    /// copies and deletions first, because effects and views see what they leave.
    pub fn of(&self, record: RecordId) -> &[Reaction] {
        let at = record.index();
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[start..self.ends[at]]
    }

    /// What the items of a record compute from themselves.
    pub fn own(&self, record: RecordId) -> &Own {
        &self.own[record.index()]
    }

    /// The reaction that an effect is done by, where items of a record are written.
    pub fn effect(&self, record: RecordId, effect: EffectId) -> Option<&Reaction> {
        let mut reactions = self.of(record).iter();
        reactions.find(|one| one.does == Does::Operate(effect))
    }
}

impl Does {
    /// Whether it keeps records of the written item, instead of changing other items. Such
    /// reactions run last, because they see what the others leave.
    pub fn keeps_records(&self) -> bool {
        matches!(self, Does::Keep(_) | Does::Archive(_) | Does::Guard(_))
    }
}

impl Reaction {
    /// Whether it happens in every state or with every such write.
    pub fn is_unconditional(&self) -> bool {
        matches!(self.when, When::While(None) | When::If(None))
    }

    /// Whether it sets an attribute of other items to one of the written item.
    pub fn is_copy(&self) -> bool {
        matches!(self.does, Does::Copy { .. })
    }

    /// Whether it reads one of some attributes.
    pub fn reads_any(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        self.reads.iter().any(|name| is_meant(name))
    }

    /// The part of the design that declares it, as `entity.Story.attributes.likes`.
    pub fn declared_at(&self, design: &Design) -> String {
        let name = |record: RecordId| &design[record].name;
        match (&self.does, &self.each) {
            (Does::Add { to, .. } | Does::Copy { to, .. }, _) => {
                format!("entity.{}.attributes.{}", name(to.0), design[*to].name)
            }
            (Does::Keep(view) | Does::Archive(view), _) => format!("view.{}", name(*view)),
            (Does::Guard(unique), _) => {
                let unique = &design[(self.record, *unique)].name;
                format!("entity.{}.unique.{unique}", name(self.record))
            }
            (Does::Operate(EffectId::Trigger(trigger)), _) => {
                format!("trigger.{}", design[*trigger].name)
            }
            (Does::Operate(EffectId::Action(action, _)), _) => {
                format!("action.{}", design[*action].name)
            }
            (
                Does::Release,
                Times::Referring(ReferrerId {
                    record, reference, ..
                }),
            ) => {
                let reference = &design[(*record, *reference)].name;
                format!("entity.{}.refs.{reference}", name(*record))
            }
            (Does::Release, _) => format!("entity.{}", name(self.record)),
        }
    }
}

#[cfg(test)]
mod tests;
