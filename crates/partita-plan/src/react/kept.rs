//! The numbers of an item that is deleted while items that it counts stay.
//!
//! Where a ref is kept when its target goes, the counts and sums over it are put into the sidecar
//! with the deletion. A write that removes or changes what they count adds to them there, as
//! to those of an item, and an item that comes back under the same identity begins with them. So
//! they are exact however many items are counted, and whatever races: the numbers are always
//! in one place, the item or the sidecar, and every transaction that uses them requires that place.
//! Nothing is kept of numbers that are all 0. Then a transaction requires that there is neither an
//! item nor a record: an item that was missing when it was read may have come and gone since, and
//! left a record.

use partita_core::expression::{Condition, Path, Step as PathStep, Update};
use partita_core::{Item, Map, Number, Value};
use partita_design::design::{Attribute, Record};
use partita_store::request::{ConditionCheck, DeleteItem, PutItem, TransactAction, UpdateItem};

use super::number::Total;
use crate::commit::Step;
use crate::commit::update::addition;
use crate::draft::{EntryId, Refusal, out_of_range};
use crate::error::PlanError;
use crate::evaluate::Known;
use crate::place::Address;
use crate::planner::Planner;
use crate::sidecar::{self, KEPT_ENTITY, KEPT_NUMBERS};

/// What a write does to numbers in the sidecar.
#[derive(Default)]
pub(crate) struct KeptNumbers<'a> {
    /// Places that an item comes to, which takes up what is kept for them.
    taken: Vec<Address>,
    /// What is added for items that are not there.
    adds: Vec<(Address, Total<'a>, Number)>,
}

impl<'a> Planner<'a> {
    /// Has an item that comes to a place begin with the numbers that are kept for it.
    pub(crate) fn take_up(&mut self, at: EntryId, place: &Address) -> Result<(), PlanError> {
        let entity = self.entry(at).record;
        let names: Vec<&'a str> = self.kept_numbers(entity).collect();
        if names.is_empty() || self.kept.taken.contains(place) {
            return Ok(());
        }
        self.kept.taken.push(place.clone());
        let found = self.kept_for(place);
        let numbers = names.iter().filter_map(|name| {
            let number = found.as_ref()?.get(name)?.as_number()?;
            Some((*name, *number))
        });
        let mut numbers: Vec<_> = numbers.collect();
        self.kept.adds.retain(|(owner, total, amount)| {
            let is_meant = owner == place;
            numbers.extend(is_meant.then_some((total.name(), *amount)));
            !is_meant
        });
        for (name, number) in numbers {
            self.entry_mut(at).add(name, number)?;
        }
        Ok(())
    }

    /// Adds to a number of an item that is not there.
    pub(super) fn add_to_missing(&mut self, at: EntryId, total: Total<'a>, amount: Number) {
        let owner = self.entry(at).address.clone();
        let is_same = |name: &str| name == total.name();
        let is_kept = self.kept_numbers(total.entity).any(is_same);
        let kept = if is_kept {
            self.context.item(&self.kept_address(&owner))
        } else {
            Known::Missing
        };
        // Numbers are kept only while there is no item; without them that must be asked.
        if let Known::Missing = kept {
            self.entry_mut(at).guards.require_absent(Refusal::Stale);
        }
        if is_kept {
            self.kept.adds.push((owner, total, amount));
        }
    }

    /// The actions on numbers in the sidecar: those of items that are deleted are put there, those
    /// of items that come are taken away, and the others are added to.
    pub(crate) fn kept_steps(&mut self) -> Result<Vec<Step>, PlanError> {
        let mut steps = Vec::new();
        for at in self.draft.ids() {
            let entry = self.entry(at);
            if entry.is_removed() && !entry.is_read_only() {
                steps.extend(self.keep_numbers(at)?);
            }
        }
        for place in std::mem::take(&mut self.kept.taken) {
            steps.push(self.taken_step(&place));
        }
        let mut adds = std::mem::take(&mut self.kept.adds);
        while let Some((owner, ..)) = adds.first().cloned() {
            let (these, rest) = adds.into_iter().partition(|(one, ..)| *one == owner);
            adds = rest;
            steps.extend(self.added_step(&owner, these)?);
        }
        Ok(steps)
    }

    /// Keeps the numbers of an item that is deleted, if they are not all 0.
    fn keep_numbers(&mut self, at: EntryId) -> Result<Option<Step>, PlanError> {
        let entity = self.entry(at).record;
        let names: Vec<&'a str> = self.kept_numbers(entity).collect();
        let mut numbers = Map::new();
        for name in names {
            let entry = self.entry_mut(at);
            // The counts must be the same at the commit.
            entry.guard(name);
            let record = entry.record;
            let now = entry.old().and_then(|old| record.number(old, name));
            let added = entry.added(name);
            let number = plus((entity, name), now.unwrap_or(Number::ZERO), added)?;
            if number != Number::ZERO {
                numbers.insert(name, Value::N(number));
            }
        }
        if numbers.is_empty() {
            return Ok(None);
        }
        // There are none yet: numbers are kept only while there is no item.
        let put = self.kept_record(&self.entry(at).address, entity, numbers);
        Ok(Some(Step::or_stale(TransactAction::Put(put))))
    }

    /// What is kept for a place is as it was read, and goes.
    fn taken_step(&self, place: &Address) -> Step {
        match self.kept_for(place) {
            Some(numbers) => self.forget_step(place, numbers),
            None => self.nothing_kept_step(place),
        }
    }

    /// Adds to what is kept for a place, or removes it if nothing is left to count.
    fn added_step(
        &self,
        owner: &Address,
        adds: Vec<(Address, Total<'a>, Number)>,
    ) -> Result<Option<Step>, PlanError> {
        let mut sums: Vec<(Total<'a>, Number)> = Vec::new();
        for (_, total, amount) in adds {
            let mut known = sums.iter_mut();
            match known.find(|(known, _)| known.name() == total.name()) {
                Some((_, sum)) => *sum = plus((total.entity, total.name()), *sum, amount)?,
                None => sums.push((total, amount)),
            }
        }
        sums.retain(|(_, sum)| *sum != Number::ZERO);
        let Some((Total { entity, .. }, _)) = sums.first().copied() else {
            return Ok(None);
        };
        let Some(before) = self.kept_for(owner) else {
            return Ok(Some(self.begun_step(owner, entity, sums)));
        };
        let mut after = before.clone();
        let mut update = Update::default();
        for (name, sum) in sums.iter().map(|(total, sum)| (total.name(), *sum)) {
            let now = after.get(name).and_then(Value::as_number).copied();
            let number = plus((entity, name), now.unwrap_or(Number::ZERO), sum)?;
            after.insert(name, Value::N(number));
            let mut path = Path::attribute(KEPT_NUMBERS);
            path.steps.push(PathStep::Field(name.into()));
            update.set.push(addition(path, Number::ZERO, sum));
        }
        if after.values().all(|value| *value == Value::N(Number::ZERO)) {
            return Ok(Some(self.forget_step(owner, before)));
        }
        let kept = self.kept_address(owner);
        Ok(Some(Step::or_stale(TransactAction::Update(UpdateItem {
            table: kept.table.clone(),
            key: sidecar::key_at(&kept),
            update,
            condition: Some(Condition::Not(Box::new(sidecar::is_missing()))),
            return_item_on_failure: false,
        }))))
    }

    /// Begins to keep numbers that were all 0.
    fn begun_step(&self, owner: &Address, entity: &Record, sums: Vec<(Total<'a>, Number)>) -> Step {
        // Before numbers were kept a target could go without them. What is left of its referrers
        // is not counted until a repair does, and no count begins below 0.
        let sums = sums.iter();
        let sums = sums.filter(|(total, sum)| total.sum.is_some() || *sum > Number::ZERO);
        let numbers = sums.map(|(total, sum)| (total.name(), Value::N(*sum)));
        let numbers: Map = numbers.collect();
        if numbers.is_empty() {
            return self.nothing_kept_step(owner);
        }
        Step::or_stale(TransactAction::Put(PutItem {
            condition: Some(sidecar::is_missing()),
            ..self.kept_record(owner, entity, numbers)
        }))
    }

    /// The record of the numbers that are kept for a place.
    fn kept_record(&self, owner: &Address, entity: &Record, numbers: Map) -> PutItem {
        let kept = self.kept_address(owner);
        let mut item = sidecar::key_at(&kept);
        item.insert(KEPT_ENTITY, Value::from(entity.name.as_str()));
        item.insert(KEPT_NUMBERS, Value::M(numbers));
        PutItem::new(kept.table.clone(), item)
    }

    /// Removes what is kept for a place, if it is as it was read.
    fn forget_step(&self, owner: &Address, numbers: Map) -> Step {
        let kept = self.kept_address(owner);
        Step::or_stale(TransactAction::Delete(DeleteItem {
            table: kept.table.clone(),
            key: sidecar::key_at(&kept),
            condition: Some(Condition::equals(
                Path::attribute(KEPT_NUMBERS),
                Value::M(numbers),
            )),
            return_item_on_failure: false,
        }))
    }

    /// Nothing is kept for a place.
    fn nothing_kept_step(&self, owner: &Address) -> Step {
        let kept = self.kept_address(owner);
        Step::or_stale(TransactAction::Check(ConditionCheck {
            table: kept.table.clone(),
            key: sidecar::key_at(&kept),
            condition: sidecar::is_missing(),
            return_item_on_failure: false,
        }))
    }

    /// The names of the numbers of an entity that outlive its items.
    fn kept_numbers(&self, entity: &'a Record) -> impl Iterator<Item = &'a str> {
        let design = &self.context.blueprint.design;
        let numbers = design.kept_numbers(entity);
        numbers.map(|attribute: &'a Attribute| attribute.name.as_str())
    }

    fn kept_address(&self, owner: &Address) -> Address {
        sidecar::kept(&self.context.blueprint.sidecar, owner)
    }

    /// The numbers that are kept for a place, as far as it was read.
    fn kept_for(&self, owner: &Address) -> Option<Map> {
        let found = self.context.peek(&self.kept_address(owner));
        match found {
            Known::Found(item) => Some(numbers_in(item)),
            Known::Missing | Known::Unread => None,
        }
    }
}

fn numbers_in(kept: &Item) -> Map {
    match kept.get(KEPT_NUMBERS) {
        Some(Value::M(numbers)) => numbers.clone(),
        _ => Map::new(),
    }
}

fn plus((entity, name): (&Record, &str), one: Number, two: Number) -> Result<Number, PlanError> {
    one.checked_add(two).map_err(|_| PlanError::Invalid {
        faults: vec![out_of_range(&entity.name, name)],
    })
}
