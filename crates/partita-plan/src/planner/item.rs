//! An item that is there: changed, deleted, restored.

use std::collections::HashSet;
use std::rc::Rc;

use partita_core::expression::Path;
use partita_core::{Map, Number, Value};
use partita_design::design::{Access, Record, SoftDelete};
use partita_design::nested;
use partita_design::template::dotted;

use super::{By, Planner};
use crate::commit::emit::is_unchanged;
use crate::draft::{Entry, EntryId};
use crate::error::PlanError;
use crate::lapse::lapsed;
use crate::request::input::{Changes, Slot};
use crate::request::rules::Asked;

impl<'a> Planner<'a> {
    /// A change of an item that is there.
    pub(crate) fn change(
        &mut self,
        at: EntryId,
        changes: &Changes<'a>,
        by: By,
    ) -> Result<(), PlanError> {
        let now = self.moment.now_millis;
        let entry = self.entry_mut(at);
        if entry.after.is_none() {
            return Ok(());
        }
        entry.apply(changes, now)?;
        // Where there is a version, a caller's change is guarded by it.
        if by == By::Effect || entry.record.version().is_none() {
            entry.guard_settled(changes);
        }
        if matches!(entry.operation, None | Some(Access::Update)) {
            let states = entry.old().zip(entry.after.as_ref());
            let crossing = states.and_then(|(old, new)| entry.record.crossing(Some(old), new));
            entry.operation = Some(crossing.unwrap_or(Access::Update));
            if let (Some(_), Some(soft_delete)) = (crossing, &entry.record.soft_delete) {
                entry.guard(soft_delete.attribute());
            }
        }
        if entry.record.is_entity() {
            let entity = entry.record;
            if by == By::Caller {
                self.complete_keys(at, entity);
            }
            self.move_version(at, entity, by)?;
            self.recompute(at, entity, by)?;
            self.take_files_at(at, entity, &changes.lent)?;
            self.check_fixed(at, entity);
            self.check_refs(at)?;
            self.check_changed(at, entity);
            self.check_requirement(at, entity)?;
            self.relocate(at, entity)?;
            self.refuse_whole(at, entity)?;
        }
        self.draft.enqueue(at);
        Ok(())
    }

    /// Refuses an item for its faults, with those that otherwise only the store would find: where
    /// something is wrong it is not asked.
    pub(crate) fn refuse_whole(
        &mut self,
        at: EntryId,
        entity: &'a Record,
    ) -> Result<(), PlanError> {
        if !self.faults.is_empty() {
            let entry = self.entry(at);
            let (old, new) = (entry.old().cloned(), entry.after.clone());
            self.context.reads.need(entry.address.clone());
            self.look_for_targets(at);
            self.look_for_owners(entity, old.as_deref(), new.as_deref());
        }
        self.refuse()
    }

    /// A change that another write causes. One that leaves the deleted state is a restore, and
    /// needs the caller of the cause to be allowed it: the effect of one item is no way around the
    /// rule of another.
    pub(crate) fn change_caused(
        &mut self,
        at: EntryId,
        changes: &Changes<'a>,
    ) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let record = entry.record;
        let old = entry.old().cloned();
        let deleted = old.filter(|old| changes.crossing(record, old) == Some(Access::Restore));
        if let Some(deleted) = deleted {
            let restore = Asked::Access(Access::Restore);
            self.evaluate(at, &deleted, |scope| scope.demand(restore))??;
        }
        self.change(at, changes, By::Effect)
    }

    /// A deletion, soft where the entity has it so.
    pub(crate) fn delete(&mut self, at: EntryId, by: By) -> Result<(), PlanError> {
        let record = self.entry(at).record;
        if let Some(soft_delete) = &record.soft_delete {
            let value = match soft_delete {
                SoftDelete::Flag(_) => Value::Bool(true),
                SoftDelete::Time(name) => self.now_as(record, name),
                SoftDelete::Value { deleted, .. } => deleted.clone(),
            };
            self.flag(at, soft_delete, Some(value), Access::Delete, by)?;
            return Ok(());
        }
        self.remove(at);
        Ok(())
    }

    /// A deletion for good.
    pub(crate) fn remove(&mut self, at: EntryId) {
        let entry = self.entry_mut(at);
        entry.after = None;
        entry.operation = Some(Access::Delete);
        self.draft.enqueue(at);
    }

    /// The opposite of a soft delete.
    pub(crate) fn restore(&mut self, at: EntryId, by: By) -> Result<(), PlanError> {
        let entity = self.entry(at).record;
        let Some(soft_delete) = &entity.soft_delete else {
            return Err(PlanError::NotRestorable {
                entity: entity.name.clone(),
            });
        };
        let value = match soft_delete {
            SoftDelete::Flag(_) => Some(Value::Bool(false)),
            SoftDelete::Time(_) => None,
            SoftDelete::Value { restored, .. } => Some(restored.clone()),
        };
        self.flag(at, soft_delete, value, Access::Restore, by)
    }

    fn flag(
        &mut self,
        at: EntryId,
        soft_delete: &'a SoftDelete,
        value: Option<Value>,
        operation: Access,
        by: By,
    ) -> Result<(), PlanError> {
        let entry = self.entry_mut(at);
        entry.operation = Some(operation);
        let name = soft_delete.attribute();
        entry.guard(name);
        if let Some(after) = &mut entry.after {
            let after = Rc::make_mut(after);
            match value {
                Some(value) => nested::set(after, name, value),
                None => nested::remove(after, name),
            }
        }
        self.change(at, &Changes::default(), by)
    }
}

impl<'a> Entry<'a> {
    /// Guards what a change finds as it leaves it. Nothing is written there, and another writer may
    /// change it before the transaction arrives.
    fn guard_settled(&mut self, changes: &Changes<'a>) {
        let set = changes.set.iter().map(|(slot, _)| slot);
        for slot in set.chain(&changes.remove) {
            match slot {
                // What only the key has does not change while the item is there.
                Slot::Declared(attribute) if attribute.key_only => {}
                Slot::Declared(attribute) => self.guard_unless_replaced(&attribute.name),
                Slot::Open(name) => self.require_settled(Path::attribute(name.as_str())),
                Slot::Inside(name) => self.require_settled(dotted(name)),
            }
        }
    }

    /// Requires what the design does not list to be as it was read, unless the write replaces it.
    fn require_settled(&mut self, path: Path) {
        let (Some(old), Some(new)) = (self.old(), &self.after) else {
            return;
        };
        let value = path.find(old);
        if value == path.find(new) {
            let condition = is_unchanged(path.clone(), value);
            self.guards.require(condition);
        }
    }

    /// Sets, removes and adds to attributes of an item that is there.
    fn apply(&mut self, changes: &Changes<'a>, now_millis: i64) -> Result<(), PlanError> {
        if let Some(after) = &mut self.after {
            let after = Rc::make_mut(after);
            for (slot, value) in &changes.set {
                put(after, slot, value.clone());
            }
            remove(after, &changes.remove);
        }
        let record = self.record;
        let added = changes.add.iter();
        for (attribute, amount) in added.filter(|(_, amount)| *amount != Number::ZERO) {
            let before = self.old();
            let lapsed = before.and_then(|old| lapsed(record, attribute, old, now_millis));
            match (lapsed, &mut self.after) {
                // The counter starts again with the period.
                (Some(time), Some(after)) => {
                    nested::set(Rc::make_mut(after), &attribute.name, Value::N(*amount));
                    self.guard(time);
                }
                _ => self.add(&attribute.name, *amount)?,
            }
        }
        Ok(())
    }
}

/// An item with what a change sets and removes, before anything is computed from it.
pub(crate) fn applied(item: &Map, changes: &Changes<'_>) -> Map {
    let mut item = item.clone();
    for (slot, value) in &changes.set {
        put(&mut item, slot, value.clone());
    }
    remove(&mut item, &changes.remove);
    item
}

/// Takes attributes away. Those that the design does not list may be many, and go at once.
fn remove(item: &mut Map, slots: &[Slot<'_>]) {
    let mut open = HashSet::new();
    for slot in slots {
        match slot {
            Slot::Declared(attribute) => nested::remove(item, &attribute.name),
            Slot::Inside(name) => nested::remove(item, name),
            Slot::Open(name) => {
                open.insert(name.as_str());
            }
        }
    }
    if !open.is_empty() {
        item.retain(|name, _| !open.contains(name.as_str()));
    }
}

/// Puts a value where it belongs.
pub(crate) fn put(item: &mut Map, slot: &Slot<'_>, value: Value) {
    match slot {
        Slot::Declared(attribute) => nested::set(item, &attribute.name, value),
        Slot::Inside(name) => nested::set(item, name, value),
        Slot::Open(name) => {
            item.insert(name.as_str(), value);
        }
    }
}
