//! Values that no two items share: an item of its own guards each of them.
//!
//! A guard names its owner, and expires with it. It can be taken while it is missing or expired,
//! and changed or given back only by its owner. Guards that version 0.1.0 wrote say nothing of
//! when their owner expires; they are as good until their owner is written or repaired.

use partita_core::expression::{Comparator, Condition, Operand};
use partita_core::{Item, Map, Value};
use partita_design::design::record::UNIQUE_SORT;
use partita_design::design::{Record, Unique, UniqueId};
use partita_design::kernel::Reaction;
use partita_design::nested;
use partita_design::template::dotted;
use partita_store::request::{ConditionCheck, DeleteItem, PutItem, TransactAction};

use crate::commit::Step;
use crate::draft::{EntryId, Refusal};
use crate::error::{Fault, FaultRule, PlanError};
use crate::evaluate::Known;
use crate::place::{Address, Place};
use crate::planner::Planner;

/// What a write does with the guard of a value.
pub(crate) struct UniqueChange<'a> {
    /// The item that has the value before or after the write.
    at: EntryId,
    record: &'a Record,
    guard: &'a Unique,
    /// The partition of the guard.
    key: String,
    /// The identity of the item that has the value before the write.
    from: Option<Map>,
    /// What the guard holds for the item that has the value after it: its identity and, where it
    /// expires, when.
    to: Option<Map>,
    /// The identity of an item that has the value and not its guard, which is being filled in.
    not_of: Option<Map>,
}

impl<'a> Planner<'a> {
    /// Takes, changes or gives back the guard of a value of an item.
    pub(super) fn guard_unique(
        &mut self,
        at: EntryId,
        reaction: &'a Reaction,
        unique: UniqueId,
    ) -> Result<(), PlanError> {
        let entry = self.entry(at);
        let record = entry.record;
        let guard = &self.context.blueprint.design[(record.id, unique)];
        let (old, new) = (entry.old().cloned(), entry.after.clone());
        let held = |item: Option<&Map>| item.map(|item| self.held(record, item));
        let (had, has) = (held(old.as_deref()), held(new.as_deref()));
        let mut was = self.guard_key(at, guard, old.as_deref(), true)?;
        let is = self.guard_key(at, guard, new.as_deref(), false)?;
        let mut lacked = None;
        if self.context.blueprint.is_filled_by(reaction) {
            let owner = old.as_deref().and_then(|old| record.identity_of(old));
            if let (Some(key), Some(owner)) = (&was, owner)
                && !self.has_guard(record, key, Some(&owner))
            {
                lacked = was.take().map(|key| (key, owner));
            }
        }
        let lacked = lacked.filter(|(key, _)| is.as_ref() != Some(key));
        if let Some((key, owner)) = lacked {
            self.unique.push(UniqueChange {
                at,
                record,
                guard,
                key,
                from: None,
                to: None,
                not_of: Some(owner),
            });
        }
        if was == is && had == has {
            return Ok(());
        }
        // A guard is put with the time that was read of its owner.
        if let (Some(expiry), Some(_)) = (self.context.blueprint.expiry(record), &is) {
            self.entry_mut(at).guard_unless_replaced(&expiry.name);
        }
        let from = old.as_deref().and_then(|old| record.identity_of(old));
        let change = |key, from, to| UniqueChange {
            at,
            record,
            guard,
            key,
            from,
            to,
            not_of: None,
        };
        match (was, is) {
            (Some(was), Some(is)) if was == is => self.unique.push(change(is, from, has)),
            (was, is) => {
                let given_back = was.map(|key| change(key, from, None));
                let taken = is.map(|key| change(key, None, has));
                self.unique.extend(given_back.into_iter().chain(taken));
            }
        }
        Ok(())
    }

    /// Whether an item has the guard of its value. It may lack it while guards are being filled.
    fn has_guard(&self, record: &Record, key: &str, owner: Option<&Map>) -> bool {
        let found = self.context.item(&self.guard_address(record, key));
        match (found, owner) {
            (Known::Found(guard), Some(owner)) => {
                let mut parts = record.identity.iter().map(|part| part.attribute.as_str());
                parts.all(|part| nested::get(guard, part) == nested::get(owner, part))
            }
            _ => false,
        }
    }

    /// Takes back what was done to the guards of an item.
    pub(super) fn retract_unique(&mut self, at: EntryId) {
        self.unique.retain(|change| change.at != at);
    }

    /// The actions on guards. One item may give a value back that another takes in the same write.
    pub(crate) fn unique_steps(&mut self) -> Vec<Step> {
        let mut changes = std::mem::take(&mut self.unique);
        changes.sort_by_key(|change| change.at);
        let mut joined: Vec<UniqueChange<'a>> = Vec::new();
        for change in changes {
            let table = |change: &UniqueChange<'a>| change.record.table;
            let mut known = joined.iter_mut();
            let same = known.find(|one| one.key == change.key && table(one) == table(&change));
            match same {
                None => joined.push(change),
                Some(known) if known.to.is_some() && change.to.is_some() => {
                    let taken = self.taken(change.record, change.guard);
                    self.faults.push(taken);
                }
                Some(known) => {
                    known.from = known.from.take().or(change.from);
                    known.to = known.to.take().or(change.to);
                }
            }
        }
        let steps = joined.into_iter().filter_map(|change| {
            let UniqueChange {
                record,
                guard,
                key,
                from,
                to,
                not_of,
                ..
            } = change;
            match (from, to) {
                (None, None) => not_of.map(|owner| self.is_not_taken(record, key, &owner)),
                (None, Some(to)) => {
                    self.check_free(record, guard, &key);
                    Some(self.take(record, guard, key, to))
                }
                (Some(from), Some(to)) => Some(self.hand_over(record, key, &from, to)),
                (Some(from), None) => Some(self.give_back(record, key, &from)),
            }
        });
        steps.collect()
    }

    /// What the guards of an item hold beside their keys.
    fn held(&self, record: &'a Record, item: &Map) -> Map {
        let mut held = record.identity_of(item).unwrap_or_default();
        if let Some(expiry) = self.context.blueprint.expiry(record)
            && let Some(until) = nested::get(item, &expiry.name)
        {
            nested::set(&mut held, &expiry.name, until.clone());
        }
        held
    }

    /// The partition of the guard; none while a part of the value is missing.
    fn guard_key(
        &mut self,
        at: EntryId,
        guard: &'a Unique,
        item: Option<&Map>,
        is_old: bool,
    ) -> Result<Option<String>, PlanError> {
        let Some(item) = item else {
            return Ok(None);
        };
        let key = self.evaluate(at, item, |scope| {
            let scope = if is_old {
                scope.before().of_old()
            } else {
                scope
            };
            guard.key(&scope)
        })??;
        Ok(key)
    }

    /// Finds values of an item that another item has. Mostly the store says so; but where something
    /// else is wrong it is not asked.
    pub(crate) fn look_for_owners(
        &mut self,
        entity: &'a Record,
        old: Option<&Map>,
        new: Option<&Map>,
    ) {
        let record = entity;
        for guard in &entity.unique {
            let key = |item: Option<&Map>| {
                // What cannot be a part of a key is reported already.
                guard.key(&self.unguarded(record, item?)).ok()?
            };
            let (was, is) = (key(old), key(new));
            if let Some(key) = is.filter(|is| was.as_ref() != Some(is)) {
                let address = self.guard_address(record, &key);
                if let Known::Found(_) = self.context.item(&address) {
                    self.report_taken(record, guard);
                }
            }
        }
    }

    /// Mostly the store refuses a value that another item has. But an attempt before this one, or an
    /// operation before it in a batch, may have found the guard.
    fn check_free(&mut self, record: &Record, guard: &Unique, key: &str) {
        let address = self.guard_address(record, key);
        if let Known::Found(_) = self.context.peek(&address) {
            self.report_taken(record, guard);
        }
    }

    /// Reports that another item has a value, once where both designs of a migration guard it.
    fn report_taken(&mut self, record: &Record, guard: &Unique) {
        let taken = self.taken(record, guard);
        if !self.faults.contains(&taken) {
            self.faults.push(taken);
        }
    }

    /// That another item has a value, or several together. A value that the served design guards
    /// too, under another name, is called by that.
    fn taken(&self, record: &Record, guard: &Unique) -> Fault {
        let guard = self.served_guard(record, guard).unwrap_or(guard);
        let message = match guard.attributes.len() {
            0 | 1 => "is taken",
            _ => "is a combination that is taken",
        };
        let names = guard.attributes.join("/");
        let mut fault = Fault::of(&record.name, names, FaultRule::Unique, message);
        let beside = self.context.blueprint.beside.as_ref();
        let aside = beside.map(|beside| beside.aside.unique(record));
        if aside.is_some_and(|aside| aside.contains(guard)) {
            let demanded = self.context.blueprint.demanded();
            fault.message.insert_str(0, &demanded);
        }
        fault
    }

    /// The guard of the served design that keeps the value which one of the other design keeps.
    fn served_guard<'r>(&self, record: &'r Record, guard: &Unique) -> Option<&'r Unique> {
        let beside = self.context.blueprint.beside.as_ref()?;
        let aside = beside.aside.unique(record);
        if !aside.contains(guard) {
            return None;
        }
        let was = |name: &str, earlier: &String| {
            let attribute = record.attribute(name);
            attribute.is_some_and(|one| one.was.contains(earlier))
        };
        let is_same =
            |(one, other): (&String, &String)| one == other || was(one, other) || was(other, one);
        let mut served = record.unique.iter().filter(|one| !aside.contains(one));
        served.find(|one| {
            one.attributes.len() == guard.attributes.len()
                && one.attributes.iter().zip(&guard.attributes).all(is_same)
        })
    }

    fn take(&self, record: &Record, guard: &Unique, key: String, held: Map) -> Step {
        let put = PutItem {
            condition: Some(self.is_free(record)),
            // Whoever has it may be the item itself, by the same request sent twice.
            return_item_on_failure: true,
            ..self.put_guard(record, key, held)
        };
        Step {
            action: TransactAction::Put(put),
            refusal: Refusal::of(PlanError::Taken {
                faults: vec![self.taken(record, guard)],
            }),
        }
    }

    /// A guard says whose value it is and until when, also when its owner moves or expires at
    /// another time, and when another item has the value from now on.
    fn hand_over(&self, record: &Record, key: String, from: &Map, held: Map) -> Step {
        let put = PutItem {
            condition: Some(self.is_owned(record, from)),
            ..self.put_guard(record, key, held)
        };
        Step::or_stale(TransactAction::Put(put))
    }

    fn give_back(&self, record: &Record, key: String, from: &Map) -> Step {
        Step::or_stale(TransactAction::Delete(DeleteItem {
            table: self.context.blueprint.table_of(record).1.clone(),
            key: self.guard_item(record, key),
            condition: Some(self.is_owned(record, from)),
            return_item_on_failure: false,
        }))
    }

    /// That an item has not got a guard: the backfill may take it before this write is committed.
    fn is_not_taken(&self, record: &Record, key: String, owner: &Map) -> Step {
        let parts = record.identity.iter().filter_map(|part| {
            let value = nested::get(owner, &part.attribute)?;
            Some(Condition::equals(dotted(&part.attribute), value.clone()))
        });
        let missing = Condition::NotExists(self.context.blueprint.partition(record));
        let condition = match parts.reduce(Condition::and) {
            Some(is_owner) => Condition::Any(vec![missing, Condition::Not(Box::new(is_owner))]),
            None => missing,
        };
        Step::or_stale(TransactAction::Check(ConditionCheck {
            table: self.context.blueprint.table_of(record).1.clone(),
            key: self.guard_item(record, key),
            condition,
            return_item_on_failure: false,
        }))
    }

    fn put_guard(&self, record: &Record, key: String, held: Map) -> PutItem {
        let mut item = self.guard_item(record, key);
        item.extend(held);
        PutItem::new(self.context.blueprint.table_of(record).1.clone(), item)
    }

    /// That no item has the value.
    fn is_free(&self, record: &Record) -> Condition {
        let missing = Condition::NotExists(self.context.blueprint.partition(record));
        match self.is_over(record) {
            Some(is_over) => Condition::Any(vec![missing, is_over]),
            None => missing,
        }
    }

    /// That the value is still that of an item. A guard that expires may be swept while its owner
    /// is not, by a store whose clock is ahead of ours.
    fn is_owned(&self, record: &Record, owner: &Map) -> Condition {
        let blueprint = self.context.blueprint;
        let partition = blueprint.partition(record);
        let is_owner = record.identity.iter().map(|part| {
            let path = dotted(&part.attribute);
            let same = nested::get(owner, &part.attribute).map(|value| {
                let value = Operand::value(value.clone());
                Condition::Compare(Operand::Path(path.clone()), Comparator::Equal, value)
            });
            // A guard without an owner's name belongs to the item that has the value.
            let unnamed = Condition::NotExists(path);
            Condition::Any(std::iter::once(unnamed).chain(same).collect())
        });
        let owned = is_owner.fold(Condition::Exists(partition.clone()), Condition::and);
        match blueprint.expiry(record) {
            Some(_) => Condition::Any(vec![Condition::NotExists(partition), owned]),
            None => owned,
        }
    }

    fn guard_address(&self, record: &Record, key: &str) -> Address {
        let (_, table) = self.context.blueprint.table_of(record);
        Place::address(table, key.to_owned(), UNIQUE_SORT.to_owned())
    }

    /// The guard item of a unique value. It has a key and nothing else.
    fn guard_item(&self, record: &Record, key: String) -> Item {
        let (table, _) = self.context.blueprint.table_of(record);
        Item::from([
            (table.partition.clone(), Value::S(key)),
            (table.sort.clone(), Value::from(UNIQUE_SORT)),
        ])
    }
}
