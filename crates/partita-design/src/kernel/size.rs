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

use super::{Does, Occasion, Reaction, Times, When};
use crate::Design;
use crate::design::{
    Access, Action, ActionId, EachOver, Effect, EffectKind, EffectTarget, OnDelete, Record,
    RecordId, Ref, ReferrerId, Unique,
};
use crate::expression::{Origin, Reading};
use change::{Change, moves};
use views::records;

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
    /// The items that the actions are on.
    pub items: Vec<Touched>,
}

/// Items that a transaction touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// What they are; none for guards, and for what is kept beside the design's tables.
    pub record: Option<RecordId>,
    /// How many of them.
    pub actions: usize,
    /// Whether they are written, and not only required to be as they were read.
    pub is_written: bool,
    /// For the attributes of its identity where it comes from, as far as that is known: an
    /// attribute of the item that is written, or a path from there. Items of which these are equal
    /// are in one partition.
    pub origins: Origins,
}

/// Attributes of an item, and what has their values.
pub type Origins = BTreeMap<String, String>;

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
    let mut sizes = Vec::new();
    for entity in design.entities() {
        let is_purged = entity.has_purge_rule() || entity.purge_after_days.is_some();
        let purge = is_purged.then_some(Access::Purge);
        let accesses = [Access::Create, Access::Update, Access::Delete];
        for access in accesses.into_iter().chain(purge) {
            let mut counter = Counter::new(design);
            let change = Change::of_caller(entity, access);
            let cause = format!("entity.{}", entity.name);
            let root = Way::root(entity);
            counter.write(&root, Some(entity.id), 1, &cause);
            counter.item(entity, &change, &root);
            counter.touch("^purged", usize::from(access == Access::Purge), &cause);
            sizes.push(counter.finish(Write::Access(access, entity.id)));
        }
    }
    for action in &design.actions {
        let largest = action.on.records().iter().map(|record| {
            let mut counter = Counter::new(design);
            counter.action(action, &design[*record]);
            counter.finish(Write::Action(action.id))
        });
        sizes.extend(largest.max_by_key(|size| size.actions));
    }
    sizes
}

/// The way to an item, and how many there are of it.
#[derive(Clone)]
struct Way {
    name: String,
    times: usize,
    depth: usize,
    origins: Origins,
}

impl Way {
    fn root(record: &Record) -> Way {
        let names = record.attributes.iter().map(|one| &one.name);
        Way {
            name: String::new(),
            times: 1,
            depth: 0,
            origins: names.map(|name| (name.clone(), name.clone())).collect(),
        }
    }

    fn by(&self, step: &str) -> Way {
        Way {
            name: format!("{}.{step}", self.name),
            times: self.times,
            depth: self.depth + 1,
            origins: Origins::new(),
        }
    }

    /// Over a ref, whose arguments say what has the values of its target's identity.
    fn over(&self, step: &str, reference: &Ref) -> Way {
        let arguments = reference.targets.iter().flat_map(|one| &one.arguments);
        let origins = arguments.map(|one| (one.part.clone(), self.origin(&one.path)));
        Way {
            origins: origins.collect(),
            ..self.by(step)
        }
    }

    /// What has the value at a path from here.
    fn origin(&self, path: &str) -> String {
        let known = self.origins.get(path).cloned();
        known.unwrap_or_else(|| format!("{}.{path}", self.name))
    }

    /// What has the value that an expression reads.
    fn origin_of(&self, reading: &Reading) -> Option<String> {
        if reading.origin != Origin::Item {
            return None;
        }
        let hops = reading.hops.iter().map(|hop| hop.name.as_str());
        let path: Vec<&str> = hops.chain([reading.attribute.as_str()]).collect();
        Some(self.origin(&path.join(".")))
    }
}

/// Counts the items that one write touches.
struct Counter<'d> {
    design: &'d Design,
    /// By which way, for what, and how many actions.
    items: BTreeMap<String, (String, Touched)>,
    has_jobs: bool,
    /// Records of views that are changed by their identity: they may be touched already.
    members: Vec<(String, usize, String)>,
    /// How many changes were followed.
    changes: usize,
}

impl<'d> Counter<'d> {
    fn new(design: &'d Design) -> Self {
        Counter {
            design,
            items: BTreeMap::new(),
            has_jobs: false,
            members: Vec::new(),
            changes: 0,
        }
    }

    /// Counts what is kept beside the design's items.
    fn touch(&mut self, way: &str, times: usize, cause: &str) {
        let touched = Touched {
            record: None,
            actions: times,
            is_written: true,
            origins: Origins::new(),
        };
        self.count(way, touched, cause);
    }

    /// Counts items that are written.
    fn write(&mut self, way: &Way, record: Option<RecordId>, times: usize, cause: &str) {
        self.require(way, record, times, cause);
        if let Some((_, touched)) = self.items.get_mut(&way.name) {
            touched.is_written = true;
        }
    }

    /// Counts items that must be as they were read.
    fn require(&mut self, way: &Way, record: Option<RecordId>, times: usize, cause: &str) {
        let touched = Touched {
            record,
            actions: times,
            is_written: false,
            origins: way.origins.clone(),
        };
        self.count(&way.name, touched, cause);
    }

    fn count(&mut self, way: &str, new: Touched, cause: &str) {
        let times = new.actions;
        let item = self.items.entry(way.to_owned());
        let (_, item) = item.or_insert_with(|| (cause.to_owned(), new));
        item.actions = item.actions.max(times);
    }

    fn finish(mut self, write: Write) -> Size {
        // A record that a view's source moves anyway is one action, also when an effect changes it.
        for (view, times, cause) in std::mem::take(&mut self.members) {
            let ending = format!("#{view}");
            let mut ways = self.items.keys();
            let known = ways.find(|way| way.ends_with(&ending)).cloned();
            let way = known.unwrap_or(ending);
            self.touch(&way, times, &cause);
        }
        let mut parts: BTreeMap<String, usize> = BTreeMap::new();
        let mut items = Vec::new();
        for (cause, touched) in self.items.into_values() {
            *parts.entry(cause).or_default() += touched.actions;
            items.push(touched);
        }
        items.retain(|touched| touched.actions > 0);
        let parts = parts.into_iter().filter(|(_, actions)| *actions > 0);
        let parts = parts.map(|(cause, actions)| Part { cause, actions });
        let mut parts: Vec<Part> = parts.collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.actions));
        Size {
            write,
            actions: parts.iter().map(|part| part.actions).sum(),
            has_jobs: self.has_jobs,
            parts,
            items,
        }
    }

    fn action(&mut self, action: &Action, record: &Record) {
        let cause = format!("action.{}", action.name);
        let root = Way::root(record);
        self.write(&root, Some(record.id), 1, &cause);
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
            self.item(record, &change, &root);
        }
        self.reads(
            action.require.iter().flat_map(|it| &it.reads),
            &root,
            &cause,
        );
        for reaction in self.design.reactions.of(record.id) {
            if let (Occasion::Action(id), Does::Operate(effect)) = (reaction.on, &reaction.does)
                && id == action.id
            {
                self.effect(&self.design[*effect], &root, &cause);
            }
        }
    }

    /// Everything that a change of an item touches besides the item.
    fn item(&mut self, entity: &Record, change: &Change, way: &Way) {
        // INVARIANT: recursion ends here; cycles of triggers are reported besides.
        self.changes += 1;
        if way.depth > DEPTH_MAX || self.changes > CHANGES_MAX {
            return;
        }
        self.targets(entity, change, way);
        for (name, files) in files::of(self.design, entity, change) {
            let cause = format!("entity.{}.attributes.{name}", entity.name);
            let there = format!("{}^{name}", way.name);
            self.touch(&there, way.times * files.records, &cause);
            // What is released in a write is one row.
            self.touch("^released", usize::from(files.is_released), &cause);
        }
        if files::is_noted(entity, change) {
            let cause = format!("entity.{}", entity.name);
            self.touch(&format!("{}^expiry", way.name), way.times, &cause);
        }
        // Numbers that are kept while an item is gone are a record of their own.
        if let Some(number) = self.design.kept_numbers(entity).next()
            && (change.access == Access::Create || change.access.removes())
        {
            let cause = format!("entity.{}.attributes.{}", entity.name, number.name);
            self.touch(&format!("{}~", way.name), way.times, &cause);
        }
        for reaction in self.design.reactions.of(entity.id) {
            self.reaction(reaction, change, way);
        }
    }

    /// What one reaction to a change of an item touches.
    fn reaction(&mut self, reaction: &Reaction, change: &Change, way: &Way) {
        let design = self.design;
        let cause = reaction.declared_at(design);
        match &reaction.does {
            // What is deleted softly is in no number.
            Does::Add { .. } if change.access == Access::Purge => {}
            Does::Add { .. } => self.number(reaction, change, way),
            Does::Copy { from, .. } => {
                self.has_jobs |= !change.is_whole() && change.touches([from.as_str()]);
            }
            Does::Release => {
                let Times::Referring(referrer) = reaction.each else {
                    return;
                };
                self.has_jobs |= change.access.removes() && is_job(design, referrer);
            }
            Does::Operate(effect) => {
                let is_event = matches!(reaction.on, Occasion::Operation(kind) if kind.includes(change.access));
                if is_event && change.fires(reaction) {
                    if let When::Turns(turns, _) = &reaction.when {
                        self.reads(&turns.reads, way, &cause);
                    }
                    self.effect(&design[*effect], way, &cause);
                }
            }
            Does::Keep(record) => {
                let record = &design[*record];
                let each = records(record, reaction, change);
                let there = Way {
                    name: format!("{}#{}", way.name, record.name),
                    ..way.clone()
                };
                self.write(&there, Some(record.id), way.times * each, &cause);
            }
            Does::Archive(record) if change.access == Access::Update => {
                let record = &design[*record];
                let there = Way {
                    name: format!("{}#{}", way.name, record.name),
                    ..way.clone()
                };
                self.write(&there, Some(record.id), way.times, &cause);
            }
            Does::Archive(_) => {}
            Does::Guard(unique) => {
                let unique = &design[(reaction.record, *unique)];
                let each = guards(unique, reaction, change);
                let there = format!("{}!{}", way.name, unique.name);
                self.touch(&there, way.times * each, &cause);
            }
        }
    }

    /// The targets of refs that must be there.
    fn targets(&mut self, entity: &Record, change: &Change, way: &Way) {
        for reference in &entity.refs {
            let is_set = match change.access {
                Access::Create => true,
                Access::Update => moves(reference, &change.changed),
                _ => false,
            };
            let is_item = reference.records().next().is_some();
            if is_set && is_item && !reference.unchecked && !reference.is_many() {
                let cause = format!("entity.{}.refs.{}", entity.name, reference.name);
                let there = way.over(&reference.name, reference);
                self.require(&there, reference.records().next(), way.times, &cause);
            }
        }
    }

    /// A number of another item, and the sums over it.
    fn number(&mut self, reaction: &Reaction, change: &Change, way: &Way) {
        let Does::Add { by, to } = reaction.does else {
            return;
        };
        let design = self.design;
        let reference = &design[(reaction.record, by)];
        let is_moved = !change.is_whole() && moves(reference, &change.changed);
        if !is_moved && !change.concerns(reaction) {
            return;
        }
        let (target, attribute) = (&design[to.0], &design[to]);
        let cause = reaction.declared_at(design);
        let there = way.over(&reference.name, reference);
        // What it was counted for, and what it is counted for now.
        let was = is_moved.then(|| way.by(&format!("old.{}", reference.name)));
        for there in was.into_iter().chain([there]) {
            self.write(&there, Some(target.id), way.times, &cause);
            let mut kept = design.kept_numbers(target);
            // A new item needs its target; others add to what is kept where it is gone.
            if change.access != Access::Create && kept.any(|one| one.name == attribute.name) {
                self.touch(&format!("{}~", there.name), way.times, &cause);
            }
            let changed = BTreeSet::from([attribute.name.clone()]);
            let change = Change::new(target, Access::Update, changed, false);
            self.item(target, &change, &there);
        }
    }

    fn effect(&mut self, effect: &Effect, way: &Way, cause: &str) {
        let mut times = way.times;
        if let Some(each) = &effect.each {
            match &each.over {
                EachOver::List {
                    max: Some(max),
                    reading,
                } => {
                    self.reads([reading.as_ref()], way, cause);
                    times *= max;
                }
                EachOver::List { max: None, .. } | EachOver::Pattern { .. } => {
                    self.has_jobs = true;
                    return;
                }
            }
        }
        let conditions = effect.when.iter().chain(&effect.require);
        self.reads(conditions.flat_map(|it| &it.reads), way, cause);
        let values = effect.changes.set.iter().chain(&effect.changes.add);
        self.reads(values.flat_map(|(_, value)| &value.reads), way, cause);
        if effect.kind.is_outgoing() {
            return self.outgoing(effect, way, times, cause);
        }
        let there = match &effect.target {
            EffectTarget::Mail(_) | EffectTarget::Receiver { .. } => return,
            EffectTarget::Ref { name, .. } => way.by(name),
            EffectTarget::Entity(_) | EffectTarget::Element(_) | EffectTarget::Identity { .. } => {
                let set = effect.changes.set.iter();
                let origins = set.filter_map(|(name, value)| match value.reads.as_slice() {
                    [reading] => Some((name.clone(), way.origin_of(reading)?)),
                    _ => None,
                });
                Way {
                    times,
                    origins: origins.collect(),
                    ..way.by(&format!("{cause}/{}", self.items.len()))
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
            self.write(&there, Some(record.id), there.times, cause);
            if is_view {
                continue;
            }
            let accesses: &[Access] = match effect.kind {
                EffectKind::Create => &[Access::Create],
                EffectKind::Upsert => &[Access::Create, Access::Update],
                EffectKind::Update => &[Access::Update],
                EffectKind::Delete => &[Access::Delete],
                EffectKind::Mail | EffectKind::Send => &[],
            };
            for access in accesses {
                let changed = effect.changes.names().map(str::to_owned).collect();
                let change = Change::new(record, *access, changed, true);
                let change = change.emptying(&effect.changes);
                self.item(record, &change, &there);
            }
        }
    }

    /// A row of the outbox for each message, and one that keeps those of the item in order.
    fn outgoing(&mut self, effect: &Effect, way: &Way, times: usize, cause: &str) {
        let values = effect.target.outgoing();
        self.reads(values.iter().flat_map(|one| &one.reads), way, cause);
        let row = format!("{}@{cause}/{}", way.name, self.items.len());
        self.touch(&row, times, cause);
        self.touch(&format!("{}@last", way.name), way.times, cause);
    }

    /// What was read of other items must still be so.
    fn reads<'r>(&mut self, reads: impl IntoIterator<Item = &'r Reading>, way: &Way, cause: &str) {
        for reading in reads {
            if !matches!(reading.origin, Origin::Item | Origin::Old) {
                continue;
            }
            let known = usize::from(reading.by_key);
            let mut there = way.clone();
            for hop in reading
                .hops
                .iter()
                .take(reading.hops.len().saturating_sub(known))
            {
                let reference = self.design.reference(hop);
                there = match reference {
                    Some(reference) => there.over(&hop.name, reference),
                    None => there.by(&hop.name),
                };
                let is_item = reference.is_none_or(|one| one.records().next().is_some());
                if is_item && reference.is_none_or(|one| !one.is_many()) {
                    let record = reference.and_then(|one| one.records().next());
                    self.require(&there, record, way.times, cause);
                }
            }
        }
    }
}

/// Whether something is done to the items that refer, which may be any number.
fn is_job(design: &Design, referrer: ReferrerId) -> bool {
    let reference = &design[(referrer.record, referrer.reference)];
    let on_delete = &reference.targets[referrer.target].on_delete;
    !matches!(on_delete, OnDelete::Refuse { .. })
}

/// How often a guard is written: once with its item, and where a value changes the old one is
/// given back and the new one taken. Where only its owner expires at another time, it is changed.
fn guards(unique: &Unique, reaction: &Reaction, change: &Change) -> usize {
    let names = unique.attributes.iter().map(String::as_str);
    match (change.is_whole(), change.touches(names)) {
        (true, _) => 1,
        (false, true) => 2,
        (false, false) => usize::from(change.concerns(reaction)),
    }
}

#[cfg(test)]
mod tests;
