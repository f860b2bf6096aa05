//! How many actions the transaction of a write takes at most.
//!
//! A transaction has one action for each item, so that what matters is which items a write touches.
//! They are named by the way to them from the item that is written: the same ref leads to the same
//! item, whatever follows it. What a caused write changes is known, and only what follows from
//! those attributes is touched in turn.

mod change;
mod files;
mod views;

use std::collections::{BTreeMap, BTreeSet};

use super::{Cause, Does, Reaction, Times, reactions};
use crate::Design;
use crate::design::{
    Access, Action, ActionId, Aggregate, EachOver, Effect, EffectKind, EffectTarget, OnDelete,
    Record, RecordId, Ref,
};
use crate::expression::{Origin, Predicate, Reading};
use change::{Change, moves};
use views::{moved, records};

/// The largest transaction of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// The write.
    pub write: Write,
    /// How many actions it takes at most.
    pub actions: usize,
    /// Whether some of what it causes becomes a job.
    pub has_jobs: bool,
    /// What the actions are for, the largest part first.
    pub parts: Vec<Part>,
}

/// A write that a caller can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// To an item of an entity.
    Access(Access, RecordId),
    /// An action.
    Action(ActionId),
}

/// Some of the actions of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The part of the design that asks for them, such as `view.AlbumTag`.
    pub cause: String,
    /// How many there are.
    pub actions: usize,
}

/// Effects that cause effects are followed this far.
const DEPTH_MAX: usize = 8;
/// Changes that are followed for one write. Far beyond what fits into a transaction.
const CHANGES_MAX: usize = 10_000;

/// The largest transaction of every write of every entity, and of every action.
///
/// What has no bound becomes a job and does not count.
pub fn sizes(design: &Design) -> Vec<Size> {
    let reactions = reactions(design);
    let count = |write: Write, tally: Tally| {
        let mut parts: BTreeMap<String, usize> = BTreeMap::new();
        for (cause, actions) in tally.items.into_values() {
            *parts.entry(cause).or_default() += actions;
        }
        let parts = parts.into_iter().filter(|(_, actions)| *actions > 0);
        let parts = parts.map(|(cause, actions)| Part { cause, actions });
        let mut parts: Vec<Part> = parts.collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.actions));
        Size {
            write,
            actions: parts.iter().map(|part| part.actions).sum(),
            has_jobs: tally.has_jobs,
            parts,
        }
    };
    let mut sizes = Vec::new();
    for entity in design.entities() {
        for access in [Access::Create, Access::Update, Access::Delete] {
            let mut counter = Counter::new(design, &reactions);
            let change = Change::of_caller(entity, access);
            let cause = format!("entity.{}", entity.name);
            counter.touch("", 1, &cause);
            counter.item(entity, &change, &Place::root());
            let write = Write::Access(access, entity.id);
            sizes.push(count(write, counter.finish()));
        }
    }
    for action in &design.actions {
        let largest = action.on.records().iter().map(|record| {
            let mut counter = Counter::new(design, &reactions);
            counter.action(action, &design[*record]);
            count(Write::Action(action.id), counter.finish())
        });
        sizes.extend(largest.max_by_key(|size| size.actions));
    }
    sizes
}

/// The way to an item, and how many there are of it.
#[derive(Clone)]
struct Place {
    way: String,
    times: usize,
    depth: usize,
}

impl Place {
    fn root() -> Place {
        Place {
            way: String::new(),
            times: 1,
            depth: 0,
        }
    }

    fn by(&self, step: &str) -> Place {
        Place {
            way: format!("{}.{step}", self.way),
            times: self.times,
            depth: self.depth + 1,
        }
    }
}

/// The items that are touched: by which way, for what, and how many actions.
#[derive(Default)]
struct Tally {
    items: BTreeMap<String, (String, usize)>,
    has_jobs: bool,
}

struct Counter<'d> {
    design: &'d Design,
    reactions: &'d [Reaction<'d>],
    tally: Tally,
    /// Records of views that are changed by their identity: they may be touched already.
    members: Vec<(String, usize, String)>,
    /// How many changes were followed.
    changes: usize,
}

impl<'d> Counter<'d> {
    fn new(design: &'d Design, reactions: &'d [Reaction<'d>]) -> Self {
        Counter {
            design,
            reactions,
            tally: Tally::default(),
            members: Vec::new(),
            changes: 0,
        }
    }

    fn touch(&mut self, way: &str, times: usize, cause: &str) {
        let new = (cause.to_owned(), times);
        let item = self.tally.items.entry(way.to_owned()).or_insert(new);
        item.1 = item.1.max(times);
    }

    /// A record that a view's source moves anyway is one action, also when an effect changes it.
    fn finish(mut self) -> Tally {
        for (view, times, cause) in std::mem::take(&mut self.members) {
            let ending = format!("#{view}");
            let mut ways = self.tally.items.keys();
            let known = ways.find(|way| way.ends_with(&ending)).cloned();
            let way = known.unwrap_or(ending);
            self.touch(&way, times, &cause);
        }
        self.tally
    }

    fn action(&mut self, action: &Action, record: &Record) {
        let cause = format!("action.{}", action.name);
        self.touch("", 1, &cause);
        let names = action
            .changes
            .names()
            .chain(action.input.iter().map(String::as_str));
        if record.is_entity() {
            let access = if action.delete {
                Access::Delete
            } else {
                Access::Update
            };
            let changed = names.map(str::to_owned).collect();
            let change = Change::new(record, access, changed, true);
            let change = change.emptying(&action.changes);
            self.item(record, &change, &Place::root());
        }
        self.reads(
            action.require.iter().flat_map(|it| &it.reads),
            &Place::root(),
            &cause,
        );
        for effect in &action.then {
            self.effect(effect, &Place::root(), &cause);
        }
    }

    /// Everything that a change of an item touches besides the item.
    fn item(&mut self, entity: &Record, change: &Change, place: &Place) {
        // INVARIANT: recursion ends here; cycles of triggers are reported besides.
        self.changes += 1;
        if place.depth > DEPTH_MAX || self.changes > CHANGES_MAX {
            return;
        }
        self.targets(entity, change, place);
        for (name, files) in files::of(self.design, entity, change) {
            let cause = format!("entity.{}.attributes.{name}", entity.name);
            let way = format!("{}^{name}", place.way);
            self.touch(&way, place.times * files.records, &cause);
            // What is released in a write stands in one row.
            self.touch("^released", usize::from(files.is_released), &cause);
        }
        if files::is_noted(entity, change) {
            let cause = format!("entity.{}", entity.name);
            self.touch(&format!("{}^expiry", place.way), place.times, &cause);
        }
        // Numbers that are kept while an item is gone are a record of their own.
        if let Some(number) = self.design.kept_numbers(entity).next()
            && matches!(change.access, Access::Create | Access::Delete)
        {
            let cause = format!("entity.{}.attributes.{}", entity.name, number.name);
            self.touch(&format!("{}~", place.way), place.times, &cause);
        }
        let all = self.reactions;
        for reaction in all.iter().filter(|one| one.on.of == entity.id) {
            let cause = reaction.cause.to_string();
            match &reaction.does {
                Does::Add { by, aggregate } => {
                    self.aggregate(by, aggregate, change, reaction, place)
                }
                Does::Follow { from, .. } => {
                    self.tally.has_jobs |=
                        !change.is_whole() && change.touches([from.attribute.as_str()]);
                }
                Does::Keep(record, view) => {
                    let times = place.times * records(view) * moved(record, view, change);
                    self.touch(&format!("{}#{}", place.way, record.name), times, &cause);
                }
                Does::Archive(record, _) if reaction.on.kind.includes(change.access) => {
                    self.touch(
                        &format!("{}#{}", place.way, record.name),
                        place.times,
                        &cause,
                    );
                }
                Does::Guard(unique) => {
                    let names = unique.attributes.iter().map(String::as_str);
                    let expiry = entity.expiry().map(|one| one.name.as_str());
                    let each = match (change.is_whole(), change.touches(names)) {
                        (true, _) => 1,
                        (false, true) => 2,
                        // A guard expires with its owner.
                        (false, false) => usize::from(change.touches(expiry)),
                    };
                    self.touch(
                        &format!("{}!{}", place.way, unique.name),
                        place.times * each,
                        &cause,
                    );
                }
                Does::Release(on_delete) => {
                    let is_job = !matches!(on_delete, OnDelete::Refuse { .. });
                    self.tally.has_jobs |= change.access == Access::Delete && is_job;
                }
                Does::Operate(effect) if !matches!(reaction.cause, Cause::Action(_)) => {
                    if change.is_event(reaction) {
                        if let super::When::Turns(turns, _) = reaction.when {
                            self.reads(&turns.reads, place, &cause);
                        }
                        if matches!(reaction.each, Times::Referring | Times::Found(_)) {
                            self.tally.has_jobs = true;
                        }
                        self.effect(effect, place, &cause);
                    }
                }
                Does::Archive(..) | Does::Operate(_) => {}
            }
        }
    }

    /// The targets of refs that must be there.
    fn targets(&mut self, entity: &Record, change: &Change, place: &Place) {
        for reference in &entity.refs {
            let is_set = match change.access {
                Access::Create => true,
                Access::Update => moves(reference, &change.changed),
                _ => false,
            };
            let is_item = reference.records().next().is_some();
            if is_set && is_item && !reference.unchecked && !reference.is_many() {
                let cause = format!("entity.{}.refs.{}", entity.name, reference.name);
                self.touch(&place.by(&reference.name).way, place.times, &cause);
            }
        }
    }

    /// A number of another item, and the sums over it.
    fn aggregate(
        &mut self,
        reference: &Ref,
        aggregate: &Aggregate,
        change: &Change,
        reaction: &Reaction<'_>,
        place: &Place,
    ) {
        let by = &reference.name;
        let is_moved = !change.is_whole() && moves(reference, &change.changed);
        let only = aggregate.only.iter().flat_map(Predicate::own_attributes);
        let sum = aggregate.sum.as_deref();
        if !is_moved && !change.touches(only.chain(sum)) {
            return;
        }
        let Cause::Aggregate(target, attribute) = reaction.cause else {
            return;
        };
        let cause = reaction.cause.to_string();
        let there = place.by(by);
        // What it was counted for, and what it is counted for now.
        let was = is_moved.then(|| place.by(&format!("old.{by}")));
        for there in was.into_iter().chain([there]) {
            self.touch(&there.way, place.times, &cause);
            let mut kept = self.design.kept_numbers(target);
            // A new item needs its target; others add to what is kept where it is gone.
            if change.access != Access::Create && kept.any(|one| one.name == attribute.name) {
                self.touch(&format!("{}~", there.way), place.times, &cause);
            }
            let changed = BTreeSet::from([attribute.name.clone()]);
            let change = Change::new(target, Access::Update, changed, false);
            self.item(target, &change, &there);
        }
    }

    fn effect(&mut self, effect: &Effect, place: &Place, cause: &str) {
        let mut times = place.times;
        if let Some(each) = &effect.each {
            match &each.over {
                EachOver::List {
                    max: Some(max),
                    reading,
                } => {
                    self.reads([reading.as_ref()], place, cause);
                    times *= max;
                }
                EachOver::List { max: None, .. } | EachOver::Pattern { .. } => {
                    self.tally.has_jobs = true;
                    return;
                }
            }
        }
        let conditions = effect.when.iter().chain(&effect.require);
        self.reads(conditions.flat_map(|it| &it.reads), place, cause);
        let values = effect.changes.set.iter().chain(&effect.changes.add);
        self.reads(values.flat_map(|(_, value)| &value.reads), place, cause);
        let there = match &effect.target {
            EffectTarget::Ref { name, .. } => place.by(name),
            EffectTarget::Entity(_) | EffectTarget::Element(_) | EffectTarget::Identity { .. } => {
                Place {
                    times,
                    ..place.by(&format!("{cause}/{}", self.tally.items.len()))
                }
            }
        };
        for record in effect.target.records() {
            let record = &self.design[*record];
            let is_view = record.view.is_some();
            if let (true, EffectTarget::Identity { .. }) = (is_view, &effect.target) {
                let name = record.name.clone();
                self.members.push((name, times, cause.to_owned()));
                continue;
            }
            self.touch(&there.way, there.times, cause);
            if is_view {
                continue;
            }
            let accesses: &[Access] = match effect.kind {
                EffectKind::Create => &[Access::Create],
                EffectKind::Upsert => &[Access::Create, Access::Update],
                EffectKind::Update => &[Access::Update],
                EffectKind::Delete => &[Access::Delete],
            };
            for access in accesses {
                let changed = effect.changes.names().map(str::to_owned).collect();
                let change = Change::new(record, *access, changed, true);
                let change = change.emptying(&effect.changes);
                self.item(record, &change, &there);
            }
        }
    }

    /// What was read of other items must still be so.
    fn reads<'r>(
        &mut self,
        reads: impl IntoIterator<Item = &'r Reading>,
        place: &Place,
        cause: &str,
    ) {
        for reading in reads {
            if !matches!(reading.origin, Origin::Item | Origin::Old) {
                continue;
            }
            let known = usize::from(reading.by_key);
            let mut there = place.clone();
            for hop in reading
                .hops
                .iter()
                .take(reading.hops.len().saturating_sub(known))
            {
                there = there.by(&hop.name);
                let reference = self.design.reference(hop);
                let is_item = reference.is_none_or(|one| one.records().next().is_some());
                if is_item && reference.is_none_or(|one| !one.is_many()) {
                    self.touch(&there.way, place.times, cause);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
