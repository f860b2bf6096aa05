//! From an item back to those that refer to it: copies that follow, and what a deletion takes
//! along.

use std::rc::Rc;

use partita_core::{Item, Map, Number, Value};
use partita_design::design::{Access, Finder, KeyValue, OnDelete, Record, Ref, RefTarget};

use super::chunk::clearing;
use super::{By, Planner};
use crate::blueprint::Blueprint;
use crate::error::PlanError;
use crate::evaluate::{Listing, Resolved, keys};
use crate::job::{Referrers, TaskKind};
use crate::kernel::Count;
use crate::place::Address;
use partita_design::nested;

impl<'a> Planner<'a> {
    /// Refreshes the copies of what changed, and of what is new where items may refer to it already.
    pub(super) fn follow_copies(&mut self, at: usize) -> Result<(), PlanError> {
        let blueprint = self.context.blueprint;
        let entry = self.entry(at);
        let (old, Some(new)) = (entry.told.clone(), entry.after.clone()) else {
            return Ok(());
        };
        // Whoever refers to an item by its key does not follow it where it moves.
        if entry.destination().is_some() {
            return Ok(());
        }
        let source = entry.shape;
        for follower in blueprint.kernel.followers(&blueprint.design, source.id) {
            let value = source.read(&new, follower.followed);
            let is_followed = match &old {
                Some(old) => source.read(old, follower.followed) != value,
                None => follower.reference.may_precede(follower.target, source),
            };
            if !is_followed {
                continue;
            }
            let who = Referrers {
                source,
                entity: follower.entity,
                reference: follower.reference,
                target: follower.target,
            };
            if self.is_left(TaskKind::Follow, at, who) {
                continue;
            }
            let items = self.referring(at, who)?;
            // Nobody begins to refer to a new item between the listing and the commit.
            if old.is_some() || !items.is_empty() {
                self.look_again(TaskKind::Follow, at, who);
            }
            for item in items {
                let entry = self.entry_mut(item);
                if let Some(after) = &mut entry.after {
                    let after = Rc::make_mut(after);
                    match value.as_deref() {
                        Some(value) => nested::set(after, &follower.attribute.name, value.clone()),
                        None => nested::remove(after, &follower.attribute.name),
                    }
                }
                self.draft.enqueue(item);
            }
        }
        Ok(())
    }

    /// Deletes or changes the items that refer to one that is removed.
    pub(super) fn follow_deletion(&mut self, at: usize) -> Result<(), PlanError> {
        let blueprint = self.context.blueprint;
        let entry = self.entry(at);
        if !entry.is_removed() || entry.told.is_none() {
            return Ok(());
        }
        let source = entry.shape;
        for referrer in blueprint.kernel.referrers(&blueprint.design, source.id) {
            let who = Referrers {
                source,
                entity: referrer.entity,
                reference: referrer.reference,
                target: referrer.target,
            };
            if self.leaves_to_job() && who.target.on_delete == OnDelete::Cascade {
                self.refuse_undecided(who.entity)?;
            }
            match &who.target.on_delete {
                OnDelete::Keep | OnDelete::Refuse { .. } => {}
                _ if self.is_left(TaskKind::Release, at, who) => {}
                OnDelete::Cascade => {
                    for item in self.all_referring(at, who)? {
                        self.cascade(item);
                    }
                }
                OnDelete::Clear(names) => {
                    let changes = clearing(who.entity, names);
                    for item in self.all_referring(at, who)? {
                        self.change(item, &changes, By::Effect)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Refuses to leave a cascade to a job whose items may themselves be kept by others: the item
    /// would be gone before the first of them refuses.
    fn refuse_undecided(&self, entity: &'a Record) -> Result<(), PlanError> {
        let blueprint = self.context.blueprint;
        let mut going = vec![entity];
        let mut at = 0;
        while let Some(entity) = going.get(at).copied() {
            at += 1;
            for referrer in blueprint.kernel.referrers(&blueprint.design, entity.id) {
                match &referrer.target.on_delete {
                    OnDelete::Refuse { .. } => {
                        let (entity, by) = (&entity.name, &referrer.entity.name);
                        let what = format!(
                            "every `{entity}` goes with it, and a `{by}` may refuse that: delete \
                             the `{entity}` items first"
                        );
                        return Err(PlanError::TooMuch { what });
                    }
                    OnDelete::Cascade if !going.iter().any(|one| one.id == referrer.entity.id) => {
                        going.push(referrer.entity);
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Removes an item for good because the one that it refers to is removed: also where a delete
    /// would be soft, and where it was deleted softly before. Says whether it was there.
    pub(super) fn cascade(&mut self, at: usize) -> bool {
        let entry = self.entry_mut(at);
        let shape = entry.shape;
        let Some(old) = entry.old().cloned().filter(|_| entry.after.is_some()) else {
            return false;
        };
        entry.after = None;
        // Triggers on `delete` have seen the soft one.
        if !shape.is_deleted(&old) {
            entry.operation = Some(Access::Delete);
        }
        if let Some(soft_delete) = &shape.soft_delete {
            entry.guard(soft_delete.attribute());
        }
        self.draft.enqueue(at);
        true
    }

    /// The items that refer to one that is removed. None may be left behind: an index can lack one
    /// that was just written, and one can be written while this is planned. Where they are
    /// counted, the count decides at the end; otherwise a job looks again.
    fn all_referring(&mut self, at: usize, who: Referrers<'a>) -> Result<Vec<usize>, PlanError> {
        let items = self.referring(at, who)?;
        match self.count_of(who) {
            Some(count) => self.entry_mut(at).guard(&count.attribute.name),
            None => self.look_again(TaskKind::Release, at, who),
        }
        Ok(items)
    }

    /// The number of an item that counts every item that refers to it by a ref.
    pub(super) fn count_of(&self, who: Referrers<'a>) -> Option<Count<'a>> {
        let blueprint = self.context.blueprint;
        let mut counts = blueprint.kernel.counts(&blueprint.design, who.entity.id);
        let count = counts.find(|count| {
            let aggregate = count.aggregate;
            let is_whole = aggregate.only.is_none() && aggregate.sum.is_none();
            let by = &who.entity.refs[aggregate.by.index()].name;
            is_whole && *by == who.reference.name && count.entity.id == who.source.id
        });
        // What is soft-deleted is not counted, and refers all the same.
        count.filter(|_| who.entity.soft_delete.is_none())
    }

    /// Refuses to delete what others still refer to, those left aside that go with it. The numbers
    /// are final only here: an item may be released by one ref and removed by another.
    pub(super) fn check_deletions(&mut self) -> Result<(), PlanError> {
        let blueprint = self.context.blueprint;
        for at in 0..self.draft.entries.len() {
            let entry = self.entry(at);
            if !entry.is_removed() || entry.is_witness {
                continue;
            }
            let source = entry.shape;
            for referrer in blueprint.kernel.referrers(&blueprint.design, source.id) {
                let who = Referrers {
                    source,
                    entity: referrer.entity,
                    reference: referrer.reference,
                    target: referrer.target,
                };
                self.check_deletion(at, who)?;
            }
        }
        Ok(())
    }

    fn check_deletion(&mut self, at: usize, who: Referrers<'a>) -> Result<(), PlanError> {
        let count = match &who.target.on_delete {
            OnDelete::Keep => None,
            OnDelete::Refuse { count } => Some(count),
            OnDelete::Cascade | OnDelete::Clear(_) if self.leaves_to_job() => None,
            OnDelete::Cascade | OnDelete::Clear(_) => {
                self.count_of(who).map(|count| &count.attribute.name)
            }
        };
        let Some(count) = count else {
            return Ok(());
        };
        let entry = self.entry_mut(at);
        entry.guard(count);
        let left = entry.number_left(count);
        if left == Number::ZERO || !self.context.reads.is_complete() {
            return Ok(());
        }
        match &who.target.on_delete {
            OnDelete::Refuse { .. } if left > Number::ZERO => Err(PlanError::InUse {
                entity: who.source.name.clone(),
                by: who.entity.name.clone(),
                count: left.to_string(),
            }),
            OnDelete::Refuse { .. } => Ok(()),
            // The index lacks some of those that are counted.
            _ => Err(PlanError::Conflict),
        }
    }

    /// The items that refer to one by a ref, all of them read.
    fn referring(&mut self, at: usize, who: Referrers<'a>) -> Result<Vec<usize>, PlanError> {
        let blueprint = self.context.blueprint;
        let Referrers {
            source,
            entity,
            reference,
            target,
        } = who;
        let (Some(finder), Some(item)) = (&target.finder, self.entry(at).named().cloned()) else {
            return Ok(Vec::new());
        };
        let address = self.entry(at).address.clone();
        let mut found: Vec<Address> = Vec::new();
        for listing in listings(blueprint, source, reference, target, finder, &item)? {
            let Some(listed) = self.draft.list(&self.context, &listing) else {
                continue;
            };
            if listed.has_more {
                let (entity, reference) = (&entity.name, &reference.name);
                let what = format!("every `{entity}` whose `{reference}` leads there must follow");
                return Err(PlanError::TooMuch { what });
            }
            let listed = places(blueprint, finder, &listed.rows);
            found.extend(
                listed
                    .into_iter()
                    .filter(|place| !found.contains(place))
                    .collect::<Vec<_>>(),
            );
        }
        self.those_referring(entity, reference, &address, found)
    }

    /// Those of some items that refer to one, all of them read.
    pub(super) fn those_referring(
        &mut self,
        entity: &'a Record,
        reference: &'a Ref,
        address: &Address,
        found: Vec<Address>,
    ) -> Result<Vec<usize>, PlanError> {
        let mut items = Vec::new();
        for place in found {
            let item = self.look_up(entity, place)?;
            let Some(now) = self.entry(item).after.clone() else {
                continue;
            };
            // An index may be behind: only what the item itself says counts.
            let resolved = self.evaluate(item, &now, |scope| scope.resolve(reference))?;
            let refers = match resolved {
                Resolved::To(targets) => targets.iter().any(|target| target.address == *address),
                _ => false,
            };
            if refers {
                items.push(item);
            }
        }
        Ok(items)
    }
}

/// The attribute of its target that an argument of a ref stands for. A pattern asks for attributes
/// by their names, in any order; an identity has its own.
pub(super) fn argument_source<'a>(
    shape: &'a Record,
    target: &RefTarget,
    number: usize,
) -> Option<&'a str> {
    match &target.via {
        Some(_) => {
            let argument = target.arguments.get(number)?;
            let attribute = shape.attribute(&argument.part)?;
            Some(&attribute.name)
        }
        None => Some(&shape.identity.get(number)?.attribute),
    }
}

/// The queries that find the items that refer to one.
pub(crate) fn listings(
    blueprint: &Blueprint,
    shape: &Record,
    reference: &Ref,
    target: &RefTarget,
    finder: &Finder,
    item: &Map,
) -> Result<Vec<Listing>, PlanError> {
    let mut known = Map::new();
    for (number, argument) in target.arguments.iter().enumerate() {
        let name = argument_source(shape, target, number);
        if let Some(value) = name.and_then(|name| nested::get(item, name)) {
            nested::set(&mut known, &argument.path, value.clone());
        }
    }
    if let (Some(by), Some(when)) = (&reference.by, &target.when) {
        nested::set(&mut known, by, Value::from(when.as_str()));
    }
    let record = &blueprint.design[finder.record];
    let mut knowns = vec![known];
    for name in &finder.enumerate {
        let attribute = record.stored(name);
        let words = attribute.and_then(|one| one.kind.words());
        let words = words.unwrap_or_default();
        knowns = knowns
            .iter()
            .flat_map(|known| {
                words.iter().map(|word| {
                    let mut known = known.clone();
                    nested::set(&mut known, name, Value::from(word.as_str()));
                    known
                })
            })
            .collect();
    }
    let (table, table_name) = blueprint.table_of(record);
    let index = finder.index.map(|index| &table.indexes[index.index()]);
    let (partition, sort) = match index {
        Some(index) => (
            &index.partition.name,
            index.sort.as_ref().map(|sort| &sort.name),
        ),
        None => (&table.partition, Some(&table.sort)),
    };
    let mut listings = Vec::new();
    for known in knowns {
        let value = match &finder.partition {
            KeyValue::Native(name) => nested::get(&known, name).cloned(),
            KeyValue::Cases(cases) => match cases.first() {
                Some(case) => case.is.key(&known)?.map(Value::S),
                None => None,
            },
        };
        let prefix = match &finder.prefix {
            Some(prefix) => prefix.key(&known)?,
            None => None,
        };
        if let Some(value) = value {
            listings.push(Listing {
                table: table_name.clone(),
                index: index.map(|index| index.name.clone()),
                keys: keys(vec![(partition.clone(), value)], sort.cloned().zip(prefix)),
                last_only: false,
                rows_max: None,
            });
        }
    }
    Ok(listings)
}

/// Where the items are that the rows of a finder stand for, each once.
pub(super) fn places(blueprint: &Blueprint, finder: &Finder, rows: &[Item]) -> Vec<Address> {
    let mut found: Vec<Address> = Vec::new();
    for row in rows {
        let names = std::slice::from_ref(&finder.record);
        let Some((shape, record)) = blueprint.recognise(names, row) else {
            continue;
        };
        let place = match &shape.view {
            None => Some(blueprint.keys.place(blueprint.table_of(shape).1, row)),
            Some(view) => {
                let source = &blueprint.design[view.of];
                let identity = source.identity_of(&record);
                identity.and_then(|identity| blueprint.address(source, &identity).ok())
            }
        };
        found.extend(place.filter(|place| !found.contains(place)));
    }
    found
}
