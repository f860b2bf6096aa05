//! Counts and sums: the numbers that other items keep of an item.
//!
//! A number moves by what an item counted before and counts now. It is added to whatever it is,
//! so that two votes never wait for each other.

use std::rc::Rc;

use partita_core::expression::Condition;
use partita_core::{Map, Number};
use partita_design::Design;
use partita_design::design::{Attribute, Record, Ref, Source};
use partita_design::kernel::{Does, Reaction};
use partita_design::nested;
use partita_design::template::dotted;

use super::{Transition, holds};
use crate::draft::{Before, EntryId, Refusal, out_of_range};
use crate::error::{Fault, FaultRule, PlanError};
use crate::evaluate::{Resolved, Target};
use crate::place::Address;
use crate::planner::Planner;

/// Digits before and after the decimal point that an amount may have which is summed. A number has 38
/// digits, so a hundred million such amounts can be added exactly. One caller's `1e-100` would leave
/// no room for anybody's `100`.
const AMOUNT_DIGITS: (u8, u8) = (18, 12);

/// A number that a reaction adds to.
#[derive(Clone, Copy)]
pub(crate) struct Total<'a> {
    pub(crate) reaction: &'a Reaction,
    /// The entity whose number it is.
    pub(crate) entity: &'a Record,
    pub(crate) attribute: &'a Attribute,
    /// The ref from counted items to those that count them.
    pub(crate) by: &'a Ref,
    /// The attribute of counted items that is summed; `None` counts.
    pub(crate) sum: Option<&'a str>,
}

/// Where an item counts, and how much.
struct Share<'a> {
    targets: Vec<Target<'a>>,
    amount: Number,
}

impl<'a> Planner<'a> {
    /// Moves a number over an item that changed.
    pub(super) fn move_number(
        &mut self,
        at: EntryId,
        reaction: &'a Reaction,
        change: &Transition<'_>,
    ) -> Result<(), PlanError> {
        let Some(total) = Total::of(&self.context.blueprint.design, reaction) else {
            return Ok(());
        };
        let is_uncounted = self.is_uncounted(at, total);
        let from = change.from.filter(|_| !is_uncounted);
        let is = self.share(at, total, change.to, false)?;
        if let (Some(old), Some(new)) = (from, change.to)
            && self.is_only_amount(at, total, old, new)
        {
            let Some(is) = is else { return Ok(()) };
            let was = total.amount(self.entry(at).record, old);
            if is.amount != was {
                self.check_amount(at, total, &is)?;
            }
            return self.adjust(at, is, was, total);
        }
        let was = self.share(at, total, from, true)?;
        let (was, is) = match (was, is) {
            (Some(was), Some(is)) if was.is_beside(&is) => {
                if is.amount != was.amount {
                    self.check_amount(at, total, &is)?;
                }
                return self.adjust(at, is, was.amount, total);
            }
            shares => shares,
        };
        // An item begins or ceases to count with its whole amount, which must not change meanwhile.
        if let Some(sum) = total.sum
            && (was.is_some() || is.is_some())
        {
            self.guard_stored(at, sum);
        }
        if let Some(share) = was {
            let amount = minus(Number::ZERO, share.amount, total)?;
            for target in share.targets {
                self.add_to(target, total, amount, false)?;
            }
        }
        if let Some(share) = is {
            self.check_amount(at, total, &share)?;
            // An item that was there before it counted may have lost its target since.
            let is_set_now = !is_uncounted || self.entry(at).is_new();
            for target in share.targets {
                self.add_to(target, total, share.amount, is_set_now)?;
            }
        }
        Ok(())
    }

    /// Refuses an amount that cannot be added to others exactly. One that is a number itself was
    /// checked when it was added to.
    fn check_amount(
        &self,
        at: EntryId,
        total: Total<'a>,
        share: &Share<'a>,
    ) -> Result<(), PlanError> {
        let Some(sum) = total.sum else { return Ok(()) };
        let record = self.entry(at).record;
        let (integers, decimals) = AMOUNT_DIGITS;
        let is_number = record
            .attribute(sum)
            .is_some_and(|summed| matches!(summed.source, Source::Aggregate(_)));
        if is_number || share.amount.fits(integers, decimals) {
            return Ok(());
        }
        let message = format!(
            "is added to `{}` of `{}`: it takes at most {integers} digits before the decimal point \
             and {decimals} after it",
            total.attribute.name, total.entity.name
        );
        Err(PlanError::Invalid {
            faults: vec![Fault::of(&record.name, sum, FaultRule::Value, message)],
        })
    }

    /// Whether an item counts where it counted, and only how much has changed.
    fn is_only_amount(&self, at: EntryId, total: Total<'a>, old: &Map, new: &Map) -> bool {
        let entry = self.entry(at);
        let reads = total.reaction.reads.iter().map(String::as_str);
        let mut others = reads.filter(|name| Some(*name) != total.sum);
        // Where a view's record counts, its key says too; and what is done to an item may change
        // where its refs lead.
        entry.record.is_entity()
            && entry.operation.is_none()
            && others.all(|name| nested::get(old, name) == nested::get(new, name))
    }

    /// Adds what an item counts now and did not count before.
    fn adjust(
        &mut self,
        at: EntryId,
        is: Share<'a>,
        was: Number,
        total: Total<'a>,
    ) -> Result<(), PlanError> {
        // Two who replace an amount would both take the same one back. Two who add to it may meet.
        if let Some(sum) = total.sum
            && self.entry(at).replaces(sum)
        {
            self.guard_stored(at, sum);
        }
        let difference = minus(is.amount, was, total)?;
        for target in is.targets {
            self.add_to(target, total, difference, false)?;
        }
        Ok(())
    }

    /// Where an item counts and how much; nowhere in states that do not count.
    fn share(
        &mut self,
        at: EntryId,
        total: Total<'a>,
        item: Option<&Map>,
        is_old: bool,
    ) -> Result<Option<Share<'a>>, PlanError> {
        let Some(item) = item else {
            return Ok(None);
        };
        let known = self.with_key_parts(at, item, is_old)?;
        let item = known.as_ref().unwrap_or(item);
        let entry = self.entry(at);
        let record = entry.record;
        // Before the first reaction the others are as they were, too.
        let is_first = match (entry.old(), &entry.reacted.to) {
            (Some(old), Some(state)) => Rc::ptr_eq(old, state),
            (old, state) => old.is_none() && state.is_none(),
        };
        let sees_before = is_old && is_first;
        let resolved = self.evaluate(at, item, |scope| {
            let scope = if sees_before { scope.before() } else { scope };
            let scope = if is_old { scope.of_old() } else { scope };
            if holds(total.reaction, &scope) {
                scope.resolve(total.by)
            } else {
                Resolved::Nowhere
            }
        })?;
        let Resolved::To(mut targets) = resolved else {
            return Ok(None);
        };
        // A ref with several targets counts only at the one that has this number.
        targets.retain(|target| target.record.id == total.entity.id);
        // A list may name one item several times; the item refers to it all the same once.
        let mut places: Vec<Address> = Vec::new();
        targets.retain(|target| {
            let is_first = !places.contains(&target.address);
            places.push(target.address.clone());
            is_first
        });
        let amount = total.amount(record, item);
        Ok(Some(Share { targets, amount }))
    }

    /// A view's record with what only its key says: whose record it is, perhaps.
    fn with_key_parts(
        &self,
        at: EntryId,
        item: &Map,
        is_old: bool,
    ) -> Result<Option<Map>, PlanError> {
        let blueprint = self.context.blueprint;
        let entry = self.entry(at);
        if entry.record.is_entity() {
            return Ok(None);
        }
        let place = entry.destination().filter(|_| !is_old);
        let place = place.unwrap_or(&entry.address);
        let stored = blueprint.stored(entry.record, place, item.clone());
        blueprint.attributes(entry.record, &stored).map(Some)
    }

    /// Adds to a number of another item. A ref that this write sets must lead somewhere; one that
    /// was set before may have lost its target, whose numbers are kept then.
    fn add_to(
        &mut self,
        target: Target<'a>,
        total: Total<'a>,
        amount: Number,
        is_set_now: bool,
    ) -> Result<(), PlanError> {
        if amount == Number::ZERO && !is_set_now {
            return Ok(());
        }
        let at = self.touch(target.record, target.address)?;
        let entry = self.entry_mut(at);
        match &entry.before {
            Before::Found(_) if entry.after.is_none() && is_set_now => {
                self.miss_total(total);
                return Ok(());
            }
            Before::Missing if entry.after.is_none() => {
                if is_set_now {
                    self.miss_total(total);
                } else {
                    self.add_to_missing(at, total, amount);
                }
                return Ok(());
            }
            _ => {}
        }
        if amount == Number::ZERO {
            return Ok(());
        }
        entry.add(&total.attribute.name, amount)?;
        if !entry.is_new() {
            entry.guards.require_present(Refusal::Stale);
        }
        if self.context.blueprint.is_filled_by(total.reaction) {
            self.make_room(at, total);
        }
        self.draft.enqueue(at);
        Ok(())
    }

    /// A number that is being filled may be inside a map that its item lacks. The first to add to it
    /// writes the map, and must be the first.
    fn make_room(&mut self, at: EntryId, total: Total<'a>) {
        let Some((outer, _)) = total.name().rsplit_once('.') else {
            return;
        };
        let entry = self.entry(at);
        if entry.is_unread() {
            self.context.reads.need(entry.address.clone());
        }
        let dots = outer.match_indices('.').map(|(dot, _)| &outer[..dot]);
        let mut maps = dots.chain([outer]);
        let missing = entry
            .old()
            .and_then(|old| maps.find(|map| nested::get(old, map).is_none()));
        if let Some(map) = missing {
            let is_missing = Condition::NotExists(dotted(map));
            self.entry_mut(at).guards.require(is_missing);
        }
    }

    /// Reports that an item counts at one that is not there, or that this write removes.
    fn miss_total(&mut self, total: Total<'a>) {
        let counted = &self.context.blueprint.design[total.reaction.record].name;
        self.miss_target(counted, total.by, total.entity);
    }
}

impl Share<'_> {
    /// Whether another counts at the same items.
    fn is_beside(&self, other: &Share<'_>) -> bool {
        let places = self.targets.iter().map(|target| &target.address);
        places.eq(other.targets.iter().map(|target| &target.address))
    }
}

impl<'a> Total<'a> {
    /// The number that a reaction adds to, if it adds to one.
    pub(crate) fn of(design: &'a Design, reaction: &'a Reaction) -> Option<Self> {
        let Does::Add { by, to } = reaction.does else {
            return None;
        };
        let attribute = &design[to];
        let Source::Aggregate(aggregate) = &attribute.source else {
            return None;
        };
        Some(Total {
            reaction,
            entity: &design[to.0],
            attribute,
            by: &design[(reaction.record, by)],
            sum: aggregate.sum.as_deref(),
        })
    }

    /// Whether it is the same as another.
    pub(super) fn is(self, other: Total<'_>) -> bool {
        self.entity.id == other.entity.id && self.name() == other.name()
    }

    /// What the mark of an item that counts for it is called.
    pub(super) fn mark(self) -> String {
        format!("{}.{}", self.entity.name, self.name())
    }

    /// The name of the number.
    pub(super) fn name(&self) -> &'a str {
        &self.attribute.name
    }

    /// How much an item counts.
    fn amount(&self, record: &Record, item: &Map) -> Number {
        match self.sum {
            None => Number::from(1_i64),
            Some(sum) => record.number(item, sum).unwrap_or(Number::ZERO),
        }
    }
}

fn minus(one: Number, two: Number, total: Total<'_>) -> Result<Number, PlanError> {
    one.checked_sub(two).map_err(|_| PlanError::Invalid {
        faults: vec![out_of_range(&total.entity.name, &total.attribute.name)],
    })
}
