//! Values that no two items share: an item of its own guards each of them.

use partita_core::expression::Condition;
use partita_core::{Item, Map, Value};
use partita_design::design::entity::UNIQUE_SORT;
use partita_design::design::{Entity, Unique};
use partita_store::request::{DeleteItem, PutItem, TransactAction};

use super::{Planner, Step};
use crate::draft::{Before, Refusal};
use crate::error::{Fault, FaultRule, PlanError};
use crate::place::{Address, Place};
use crate::reads::Known;
use crate::scene::Trace;
use crate::shape::{Shape, identity_of};

impl<'a> Planner<'a> {
    /// The guards that a write to an item takes and gives back.
    pub(super) fn unique(&mut self, at: usize) -> Result<Vec<Step>, PlanError> {
        let entry = self.entry(at);
        let shape = entry.shape;
        let Shape::Entity(entity) = shape else {
            return Ok(Vec::new());
        };
        if matches!(entry.before, Before::Unread) && entry.after.is_none() {
            return Ok(Vec::new());
        }
        let (old, new) = (entry.old().cloned(), entry.after.clone());
        let is_moved = entry.destination().is_some();
        let mut steps = Vec::new();
        for guard in &entity.unique {
            let was = self.guard_key(at, guard, old.as_deref(), true)?;
            let is = self.guard_key(at, guard, new.as_deref(), false)?;
            if was == is {
                if let (true, Some(key), Some(item)) = (is_moved, is, &new) {
                    let owner = identity_of(shape, item).unwrap_or_default();
                    steps.push(self.hand_over(shape, key, owner));
                }
                continue;
            }
            steps.extend(was.map(|key| self.give_back(shape, key)));
            if let (Some(key), Some(item)) = (is, &new) {
                self.check_free(shape, guard, &key);
                let owner = identity_of(shape, item).unwrap_or_default();
                steps.push(self.take(shape, guard, key, owner));
            }
        }
        Ok(steps)
    }

    /// The partition of the guard; none while a part of the value is missing.
    fn guard_key(
        &mut self,
        at: usize,
        guard: &'a Unique,
        item: Option<&Map>,
        is_old: bool,
    ) -> Result<Option<String>, PlanError> {
        let Some(item) = item else {
            return Ok(None);
        };
        let trace = Trace::default();
        let shape = self.entry(at).shape;
        let scene = match is_old {
            true => self.scene_before(shape, item, &trace),
            false => self.scene(shape, item, None, &trace),
        };
        let key = guard.partition.key(&scene)?;
        let mut seen = trace.into_seen();
        if is_old {
            seen.old.append(&mut seen.own);
        }
        self.remember(Some(at), seen)?;
        Ok(key)
    }

    /// Finds values of an item that somebody else has. Mostly the store says so; but where something
    /// else is wrong it is not asked.
    pub(super) fn look_for_owners(
        &mut self,
        entity: &'a Entity,
        old: Option<&Map>,
        new: Option<&Map>,
    ) {
        let shape = Shape::Entity(entity);
        for guard in &entity.unique {
            let unwatched = Trace::default();
            let key = |item: Option<&Map>| {
                let scene = self.scene(shape, item?, None, &unwatched);
                // What cannot be a part of a key is told already.
                guard.partition.key(&scene).ok()?
            };
            let (was, is) = (key(old), key(new));
            if let Some(key) = is.filter(|is| was.as_ref() != Some(is)) {
                let address = self.guard_address(shape, &key);
                if let Known::Found(_) = self.context.item(&address) {
                    self.faults.extend(taken(shape, guard));
                }
            }
        }
    }

    /// That somebody has the value is mostly heard from the store. But an attempt before this one, or
    /// an operation before it in a batch, may have found the guard.
    fn check_free(&mut self, shape: Shape<'_>, guard: &Unique, key: &str) {
        let address = self.guard_address(shape, key);
        if let Known::Found(_) = self.context.peek(&address) {
            self.faults.extend(taken(shape, guard));
        }
    }

    fn take(&self, shape: Shape<'_>, guard: &Unique, key: String, owner: Map) -> Step {
        let blueprint = self.context.blueprint;
        let mut item = self.guard_item(shape, key);
        item.extend(owner);
        let put = PutItem {
            condition: Some(Condition::NotExists(blueprint.partition(shape))),
            ..PutItem::new(blueprint.table_of(shape).1.clone(), item)
        };
        Step {
            action: TransactAction::Put(put),
            refusal: Refusal::last(PlanError::Invalid {
                faults: taken(shape, guard).collect(),
            }),
        }
    }

    /// A guard says whose value it is, also when its owner moves.
    fn hand_over(&self, shape: Shape<'_>, key: String, owner: Map) -> Step {
        let blueprint = self.context.blueprint;
        let mut item = self.guard_item(shape, key);
        item.extend(owner);
        let put = PutItem {
            condition: Some(Condition::Exists(blueprint.partition(shape))),
            ..PutItem::new(blueprint.table_of(shape).1.clone(), item)
        };
        Step {
            action: TransactAction::Put(put),
            refusal: Refusal::Stale,
        }
    }

    fn give_back(&self, shape: Shape<'_>, key: String) -> Step {
        let blueprint = self.context.blueprint;
        Step {
            action: TransactAction::Delete(DeleteItem {
                table: blueprint.table_of(shape).1.clone(),
                key: self.guard_item(shape, key),
                condition: Some(Condition::Exists(blueprint.partition(shape))),
                return_item_on_failure: false,
            }),
            refusal: Refusal::Stale,
        }
    }

    fn guard_address(&self, shape: Shape<'_>, key: &str) -> Address {
        let (_, table) = self.context.blueprint.table_of(shape);
        Place::address(table, key.to_owned(), UNIQUE_SORT.to_owned())
    }

    /// A guard is in the table of the items that it guards.
    fn guard_item(&self, shape: Shape<'_>, key: String) -> Item {
        let (table, _) = self.context.blueprint.table_of(shape);
        Item::from([
            (table.partition.clone(), Value::S(key)),
            (table.sort.clone(), Value::from(UNIQUE_SORT)),
        ])
    }
}

fn taken(shape: Shape<'_>, guard: &Unique) -> impl Iterator<Item = Fault> {
    let names = guard.attributes.iter();
    names.map(move |name| Fault::of(shape.name(), name, FaultRule::Unique, "is taken"))
}
