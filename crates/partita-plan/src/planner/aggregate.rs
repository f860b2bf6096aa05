//! Counts and sums: the numbers that other items keep of an item.
//!
//! A number moves by what an item counted before and counts now. It is added to whatever it is,
//! so that two votes never wait for each other.

use partita_core::{Map, Number};
use partita_design::design::Record;
use partita_design::nested::{self, Difference};

use super::Planner;
use crate::draft::{Before, Refusal, out_of_range};
use crate::error::{Fault, PlanError};
use crate::evaluate::{Resolved, Target};
use crate::kernel::Count;
use crate::place::Address;

/// Where an item counts, and how much.
struct Share<'a> {
    targets: Vec<Target<'a>>,
    amount: Number,
}

impl<'a> Planner<'a> {
    /// Moves the numbers over an item that changed.
    pub(super) fn aggregate(&mut self, at: usize) -> Result<(), PlanError> {
        let context = self.context;
        let blueprint = context.blueprint;
        let entry = self.entry(at);
        let shape = entry.shape;
        let (old, new) = (entry.told.clone(), entry.after.clone());
        let difference = match (&old, &new) {
            (Some(old), Some(new)) => Some(Difference::between(old, new)),
            _ => None,
        };
        for count in blueprint.kernel.counts(&blueprint.design, shape.id) {
            let entry = self.entry(at);
            if matches!(entry.before, Before::Unread) && entry.after.is_none() {
                // Only a number was added to; whether that counts elsewhere is not known yet.
                let counts = |name: &&str| count.inputs.iter().any(|input| input == name);
                if entry.adds.keys().any(counts) {
                    context.reads.need(entry.address.clone());
                }
                continue;
            }
            let differs = match &difference {
                Some(difference) => count.inputs.iter().any(|name| difference.has(name)),
                None => old.is_some() != new.is_some(),
            };
            if differs {
                self.move_number(at, count, old.as_deref(), new.as_deref())?;
            }
        }
        Ok(())
    }

    fn move_number(
        &mut self,
        at: usize,
        count: Count<'a>,
        old: Option<&Map>,
        new: Option<&Map>,
    ) -> Result<(), PlanError> {
        let is = self.share(at, count, new, false)?;
        if let (Some(old), Some(new)) = (old, new)
            && self.is_only_amount(at, count, old, new)
        {
            let Some(is) = is else { return Ok(()) };
            let was = count.amount(self.entry(at).shape, old);
            return self.adjust(at, is, was, count);
        }
        let was = self.share(at, count, old, true)?;
        let (was, is) = match (was, is) {
            (Some(was), Some(is)) if was.is_beside(&is) => {
                return self.adjust(at, is, was.amount, count);
            }
            shares => shares,
        };
        // An item begins or ceases to count with its whole amount, which must not change meanwhile.
        if let Some(sum) = &count.aggregate.sum
            && (was.is_some() || is.is_some())
        {
            self.guard_stored(at, sum);
        }
        let zero = Number::from(0_i64);
        for share in was.into_iter() {
            let amount = minus(zero, share.amount, count)?;
            for target in share.targets {
                self.add_to(target, count, amount, false)?;
            }
        }
        for share in is.into_iter() {
            for target in share.targets {
                self.add_to(target, count, share.amount, true)?;
            }
        }
        Ok(())
    }

    /// Whether an item counts where it counted, and only how much has changed.
    fn is_only_amount(&self, at: usize, count: Count<'a>, old: &Map, new: &Map) -> bool {
        let entry = self.entry(at);
        let sum = count.aggregate.sum.as_ref();
        let mut others = count.inputs.iter().filter(|name| Some(*name) != sum);
        // Where a view's record counts, its key says too; and what is done to an item may change
        // where its refs lead.
        entry.shape.is_entity()
            && entry.operation.is_none()
            && others.all(|name| nested::get(old, name) == nested::get(new, name))
    }

    /// Adds what an item counts now and did not count before.
    fn adjust(
        &mut self,
        at: usize,
        is: Share<'a>,
        was: Number,
        count: Count<'a>,
    ) -> Result<(), PlanError> {
        // Two who replace an amount would both take the same one back. Two who add to it may meet.
        if let Some(sum) = &count.aggregate.sum
            && self.entry(at).is_written(sum)
        {
            self.guard_stored(at, sum);
        }
        let difference = minus(is.amount, was, count)?;
        for target in is.targets {
            self.add_to(target, count, difference, false)?;
        }
        Ok(())
    }

    /// Where an item counts and how much; nowhere while it is deleted or the condition is not met.
    fn share(
        &mut self,
        at: usize,
        count: Count<'a>,
        item: Option<&Map>,
        is_old: bool,
    ) -> Result<Option<Share<'a>>, PlanError> {
        let Some(item) = item else {
            return Ok(None);
        };
        let shape = self.entry(at).shape;
        if let Some(soft_delete) = &shape.soft_delete {
            self.entry_mut(at).guard(soft_delete.attribute());
            if soft_delete.is_deleted(item) {
                return Ok(None);
            }
        }
        let known = self.with_key_parts(at, item, is_old)?;
        let item = known.as_ref().unwrap_or(item);
        let sees_before = is_old && self.entry(at).is_first_told();
        let aggregate = count.aggregate;
        let resolved = self.evaluate(at, item, |scope| {
            let scope = if sees_before { scope.before() } else { scope };
            let scope = if is_old { scope.of_old() } else { scope };
            let only = aggregate.only.as_ref();
            if only.is_none_or(|only| only.holds(&scope)) {
                scope.resolve(&shape.refs[aggregate.by.index()])
            } else {
                Resolved::Nowhere
            }
        })?;
        let Resolved::To(mut targets) = resolved else {
            return Ok(None);
        };
        // A ref with several targets counts only at the one that has this number.
        targets.retain(|target| target.shape.id == count.entity.id);
        // A list may name one item several times; the item refers to it all the same once.
        let mut places: Vec<Address> = Vec::new();
        targets.retain(|target| {
            let is_first = !places.contains(&target.address);
            places.push(target.address.clone());
            is_first
        });
        let amount = count.amount(shape, item);
        Ok(Some(Share { targets, amount }))
    }

    /// A view's record with what only its key says: whose record it is, perhaps.
    fn with_key_parts(
        &self,
        at: usize,
        item: &Map,
        is_old: bool,
    ) -> Result<Option<Map>, PlanError> {
        let blueprint = self.context.blueprint;
        let entry = self.entry(at);
        if entry.shape.is_entity() {
            return Ok(None);
        }
        let place = entry.destination().filter(|_| !is_old);
        let place = place.unwrap_or(&entry.address);
        let stored = blueprint.stored(entry.shape, place, item.clone());
        blueprint.attributes(entry.shape, &stored).map(Some)
    }

    /// Adds to a number of another item. A ref that this write sets must lead somewhere; one that
    /// was set before may have lost its target, whose numbers are kept then.
    fn add_to(
        &mut self,
        target: Target<'a>,
        count: Count<'a>,
        amount: Number,
        is_set_now: bool,
    ) -> Result<(), PlanError> {
        if amount == Number::from(0_i64) && !is_set_now {
            return Ok(());
        }
        let at = self.touch(target.shape, target.address)?;
        let entry = self.entry_mut(at);
        match &entry.before {
            Before::Found(_) if entry.after.is_none() && is_set_now => {
                self.fault_of_target(count);
                return Ok(());
            }
            Before::Missing if entry.after.is_none() => {
                if is_set_now {
                    self.fault_of_target(count);
                } else {
                    self.add_to_missing(at, count, amount);
                }
                return Ok(());
            }
            _ => {}
        }
        if amount == Number::from(0_i64) {
            return Ok(());
        }
        entry.add(&count.attribute.name, amount)?;
        if !entry.is_new() {
            entry.must_be_present(Refusal::Stale);
        }
        self.draft.enqueue(at);
        Ok(())
    }

    /// That an item counts at one that is not there, or that this write removes.
    fn fault_of_target(&mut self, count: Count<'a>) {
        let counted = &self.context.blueprint.design[count.aggregate.of];
        let by = &counted.refs[count.aggregate.by.index()].name;
        let fault = Fault::of_target(&counted.name, by, &count.entity.name);
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }
}

impl Share<'_> {
    /// Whether another counts at the same items.
    fn is_beside(&self, other: &Share<'_>) -> bool {
        let places = self.targets.iter().map(|target| &target.address);
        places.eq(other.targets.iter().map(|target| &target.address))
    }
}

impl Count<'_> {
    /// How much an item counts.
    fn amount(&self, shape: &Record, item: &Map) -> Number {
        match &self.aggregate.sum {
            None => Number::from(1_i64),
            Some(sum) => shape
                .number(item, sum)
                .unwrap_or_else(|| Number::from(0_i64)),
        }
    }
}

fn minus(one: Number, two: Number, count: Count<'_>) -> Result<Number, PlanError> {
    one.checked_sub(two).map_err(|_| PlanError::Invalid {
        faults: vec![out_of_range(&count.entity.name, &count.attribute.name)],
    })
}
