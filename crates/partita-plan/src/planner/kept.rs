//! The numbers of an item that is deleted while items that it counts stay.
//!
//! Where a ref is kept when its target goes, the counts and sums over it are put into the sidecar
//! with the deletion. Whoever removes or changes what they count meanwhile adds to them there, as
//! to those of an item, and an item that comes back under the same identity begins with them. So
//! they are exact however many items are counted, and whoever meets whom: the numbers are always
//! in one place, the item or the sidecar, and every transaction that uses them requires that place.

use partita_core::expression::{Condition, Path, Step as PathStep, Update};
use partita_core::{Item, Map, Number, Value};
use partita_design::design::{Attribute, Entity};
use partita_store::request::{ConditionCheck, DeleteItem, PutItem, TransactAction, UpdateItem};

use super::emit::addition;
use super::{Planner, Step};
use crate::draft::{Refusal, out_of_range};
use crate::error::PlanError;
use crate::kernel::Count;
use crate::place::Address;
use crate::reads::Known;
use crate::shape::Shape;
use crate::sidecar;

/// The attribute of a kept record that has the numbers, by their names.
const NUMBERS: &str = "numbers";
/// The attribute that says whose they are.
const ENTITY: &str = "entity";

/// What a write does to numbers in the sidecar.
#[derive(Default)]
pub(super) struct Kept<'a> {
    /// Places that an item comes to, which takes up what is kept for them.
    taken: Vec<Address>,
    /// What is added for items that are not there.
    adds: Vec<(Address, Of<'a>, Number)>,
}

/// A number of an entity.
#[derive(Clone, Copy)]
struct Of<'a> {
    entity: &'a Entity,
    name: &'a str,
}

impl<'a> Planner<'a> {
    /// Has an item that comes to a place begin with the numbers that are kept for it.
    pub(super) fn take_up(&mut self, at: usize, place: &Address) -> Result<(), PlanError> {
        let Shape::Entity(entity) = self.entry(at).shape else {
            return Ok(());
        };
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
        self.kept.adds.retain(|(owner, of, amount)| {
            let is_meant = owner == place;
            numbers.extend(is_meant.then_some((of.name, *amount)));
            !is_meant
        });
        for (name, number) in numbers {
            self.entry_mut(at).add(name, number)?;
        }
        Ok(())
    }

    /// Adds to a number that is kept for an item that is not there. Says whether one is.
    pub(super) fn add_to_kept(
        &mut self,
        owner: &Address,
        count: Count<'a>,
        amount: Number,
    ) -> bool {
        let name = count.attribute.name.as_str();
        if !self.kept_numbers(count.entity).any(|one| one == name) {
            return false;
        }
        let kept = sidecar::kept(&self.context.blueprint.sidecar, owner);
        match self.context.item(&kept) {
            Known::Found(_) => {
                let entity = count.entity;
                let add = (owner.clone(), Of { entity, name }, amount);
                self.kept.adds.push(add);
                true
            }
            // Until it is read nothing is decided.
            Known::Unread => true,
            Known::Missing => false,
        }
    }

    /// The actions on numbers in the sidecar: those of items that are deleted are put there, those
    /// of items that come are taken away, and the others are added to.
    pub(super) fn kept_steps(&mut self) -> Result<Vec<Step>, PlanError> {
        let mut steps = Vec::new();
        for at in 0..self.draft.entries.len() {
            let entry = self.entry(at);
            if entry.is_removed() && !entry.is_witness {
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
    fn keep_numbers(&mut self, at: usize) -> Result<Option<Step>, PlanError> {
        let Shape::Entity(entity) = self.entry(at).shape else {
            return Ok(None);
        };
        let names: Vec<&'a str> = self.kept_numbers(entity).collect();
        let zero = Number::from(0_i64);
        let mut numbers = Map::new();
        for name in names {
            let entry = self.entry_mut(at);
            // Nobody may count more or less in between.
            entry.guard(name);
            let shape = entry.shape;
            let now = entry.old().and_then(|old| shape.number(old, name));
            let added = entry.adds.get(name).copied().unwrap_or(zero);
            let number = plus(Of { entity, name }, now.unwrap_or(zero), added)?;
            if number != zero {
                numbers.insert(name, Value::N(number));
            }
        }
        if numbers.is_empty() {
            return Ok(None);
        }
        let kept = self.kept_address(&self.entry(at).address);
        let mut item = sidecar::key_at(&kept);
        item.insert(ENTITY, Value::from(entity.name.as_str()));
        item.insert(NUMBERS, Value::M(numbers));
        // Numbers that are kept for an item that is there would be somebody's mistake.
        let put = PutItem::new(kept.table.clone(), item);
        Ok(Some(stale(TransactAction::Put(put))))
    }

    /// What is kept for a place is as it was read, and goes.
    fn taken_step(&self, place: &Address) -> Step {
        let kept = self.kept_address(place);
        let (table, key) = (kept.table.clone(), sidecar::key_at(&kept));
        stale(match self.kept_for(place) {
            Some(numbers) => TransactAction::Delete(DeleteItem {
                table,
                key,
                condition: Some(is_as_read(numbers)),
                return_item_on_failure: false,
            }),
            None => TransactAction::Check(ConditionCheck {
                table,
                key,
                condition: sidecar::is_missing(),
                return_item_on_failure: false,
            }),
        })
    }

    /// Adds to what is kept for a place, or removes it if nothing is left to count.
    fn added_step(
        &self,
        owner: &Address,
        adds: Vec<(Address, Of<'a>, Number)>,
    ) -> Result<Option<Step>, PlanError> {
        let Some(before) = self.kept_for(owner) else {
            return Ok(None);
        };
        let zero = Number::from(0_i64);
        let mut after = before.clone();
        let mut update = Update::default();
        let mut sums: Vec<(Of<'a>, Number)> = Vec::new();
        for (_, of, amount) in adds {
            match sums.iter_mut().find(|(known, _)| known.name == of.name) {
                Some((_, sum)) => *sum = plus(of, *sum, amount)?,
                None => sums.push((of, amount)),
            }
        }
        for (of, sum) in sums {
            let now = after.get(of.name).and_then(Value::as_number).copied();
            after.insert(of.name, Value::N(plus(of, now.unwrap_or(zero), sum)?));
            let mut path = Path::attribute(NUMBERS);
            path.steps.push(PathStep::Field(of.name.into()));
            update.set.push(addition(path, zero, sum));
        }
        let kept = self.kept_address(owner);
        let (table, key) = (kept.table.clone(), sidecar::key_at(&kept));
        let is_left = after.values().any(|value| *value != Value::N(zero));
        Ok(Some(stale(match is_left {
            true => TransactAction::Update(UpdateItem {
                table,
                key,
                update,
                condition: Some(Condition::Not(Box::new(sidecar::is_missing()))),
                return_item_on_failure: false,
            }),
            false => TransactAction::Delete(DeleteItem {
                table,
                key,
                condition: Some(is_as_read(before)),
                return_item_on_failure: false,
            }),
        })))
    }

    /// The names of the numbers of an entity that outlive its items.
    fn kept_numbers(&self, entity: &'a Entity) -> impl Iterator<Item = &'a str> {
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
    match kept.get(NUMBERS) {
        Some(Value::M(numbers)) => numbers.clone(),
        _ => Map::new(),
    }
}

fn is_as_read(numbers: Map) -> Condition {
    Condition::equals(Path::attribute(NUMBERS), Value::M(numbers))
}

fn plus(count: Of<'_>, one: Number, two: Number) -> Result<Number, PlanError> {
    one.checked_add(two).map_err(|_| PlanError::Invalid {
        faults: vec![out_of_range(&count.entity.name, count.name)],
    })
}

fn stale(action: TransactAction) -> Step {
    Step {
        action,
        refusal: Refusal::Stale,
    }
}
