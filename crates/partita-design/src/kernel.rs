//! Everything that a write causes, in one form.
//!
//! > **on** an event of a source item, **when** a condition over it holds (before, after, or
//! > turning), **for each** element of a list or pattern, **put, update or delete** a target item
//! > whose key and values are computed from it.
//!
//! Counters, copies, views, history, guards, cascades and triggers are other ways to write this
//! down. [`reactions`] lowers a design to it; whoever plans, verifies or explains writes needs to
//! know this form only. Nothing here is text: every expression is resolved, and says what it reads.

use crate::Design;
use crate::design::{
    Access, Aggregate, Each, EachOver, Effect, EffectKind, EffectTarget, Entity, Event, EventKind,
    Finder, OnDelete, RecordName, Ref, Source, Trigger, Unique, View,
};
use crate::expression::{Predicate, Reading};

/// One thing that a write causes.
#[derive(Clone, Debug, PartialEq)]
pub struct Reaction<'d> {
    /// What made it.
    pub cause: Cause<'d>,
    /// The write.
    pub on: Event,
    /// When it happens.
    pub when: When<'d>,
    /// How often.
    pub each: Times<'d>,
    /// What is done.
    pub does: Does<'d>,
}

/// The part of a design that says so.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause<'d> {
    /// An attribute that counts or sums: its entity and its name.
    Aggregate(&'d str, &'d str),
    /// An attribute that follows another: its entity and its name.
    Copy(&'d str, &'d str),
    /// A view.
    View(&'d str),
    /// A history.
    History(&'d str),
    /// A guard: its entity and its name.
    Unique(&'d str, &'d str),
    /// The `on delete` of a ref: its entity and its name.
    OnDelete(&'d str, &'d str),
    /// A trigger.
    Trigger(&'d str),
    /// An effect of an action.
    Action(&'d str),
}

/// When a reaction happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When<'d> {
    /// With every such write.
    Always,
    /// While this holds; the target is there exactly then.
    While(&'d Predicate),
    /// If this holds of the item as it will be.
    If(&'d Predicate),
    /// If the first holds now and did not before, and the second holds now.
    Turns(&'d Predicate, Option<&'d Predicate>),
}

/// How often a reaction happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Times<'d> {
    /// Once.
    Once,
    /// For every element.
    Each(&'d Each),
    /// For every item that refers to the one that is written.
    Found(&'d Finder),
    /// For every item that refers to it, however they are found.
    Referring,
}

/// What is done to the target.
#[derive(Clone, Debug, PartialEq)]
pub enum Does<'d> {
    /// A number of the target follows: by how much the item counts now, less what it did before.
    Add {
        /// The ref from the item to the target.
        by: &'d str,
        /// What is counted.
        aggregate: &'d Aggregate,
    },
    /// An attribute of the target is set to the item's.
    Follow {
        /// The attribute of the item that is written.
        from: &'d Reading,
        /// The attribute of the target.
        to: &'d str,
    },
    /// A record is put, moved or deleted, so that it is there and right.
    Keep(&'d View),
    /// A record with the state that is replaced is put.
    Archive(&'d View),
    /// A guard is put, moved or deleted; one that is there refuses the write.
    Guard(&'d Unique),
    /// What `on delete` says is done to the items that refer.
    Release(&'d OnDelete),
    /// An operation on another item.
    Operate(&'d Effect),
}

impl Reaction<'_> {
    /// How many actions it adds to the transaction at most; `None` when it becomes a job.
    pub fn actions_max(&self) -> Option<usize> {
        let times = match &self.each {
            Times::Once => 1,
            Times::Each(each) => match &each.over {
                EachOver::List { max, .. } => (*max)?,
                EachOver::Pattern { .. } => return None,
            },
            Times::Found(_) | Times::Referring => return None,
        };
        // A record or a guard whose key changes is deleted and put.
        let each = match &self.does {
            Does::Keep(_) | Does::Guard(_) if self.on.kind != EventKind::Create => 2,
            _ => 1,
        };
        Some(times * each)
    }
}

/// Everything that writes cause, in the order of the design.
pub fn reactions(design: &Design) -> Vec<Reaction<'_>> {
    let mut found = Vec::new();
    for entity in &design.entities {
        followers(entity, &mut found);
        guards(entity, &mut found);
        for reference in &entity.refs {
            releases(entity, reference, &mut found);
        }
    }
    found.extend(design.views.iter().map(view));
    found.extend(design.triggers.iter().map(trigger));
    for action in &design.actions {
        for effect in &action.then {
            let records = match &action.on {
                crate::design::ActionOn::Items(records) => records.clone(),
                crate::design::ActionOn::Found { record, .. } => vec![record.clone()],
                crate::design::ActionOn::Every(_) => Vec::new(),
            };
            found.extend(records.into_iter().map(|of| Reaction {
                cause: Cause::Action(&action.name),
                on: event(of, EventKind::Update),
                when: effect.when.as_ref().map_or(When::Always, When::If),
                each: effect.each.as_ref().map_or(Times::Once, Times::Each),
                does: Does::Operate(effect),
            }));
        }
    }
    found
}

fn event(of: RecordName, kind: EventKind) -> Event {
    Event { of, kind }
}

fn named(entity: &Entity) -> RecordName {
    RecordName::Entity(entity.name.clone())
}

/// Counts, sums and copies. They are declared where they are stored, and caused elsewhere.
fn followers<'d>(entity: &'d Entity, found: &mut Vec<Reaction<'d>>) {
    for attribute in &entity.attributes {
        match &attribute.source {
            Source::Aggregate(aggregate) => found.push(Reaction {
                cause: Cause::Aggregate(&entity.name, &attribute.name),
                on: event(aggregate.of.clone(), EventKind::Write),
                when: aggregate.only.as_ref().map_or(When::Always, When::While),
                each: Times::Once,
                does: Does::Add {
                    by: &aggregate.by,
                    aggregate,
                },
            }),
            Source::Copy(reading) => {
                let hop = reading.hops.first();
                let reference = hop.and_then(|hop| entity.reference(&hop.reference));
                let Some(reference) = reference else { continue };
                for target in &reference.targets {
                    let crate::design::TargetName::Record(of) = &target.to else {
                        continue;
                    };
                    found.push(Reaction {
                        cause: Cause::Copy(&entity.name, &attribute.name),
                        on: event(of.clone(), EventKind::Update),
                        when: When::Always,
                        each: target
                            .finder
                            .as_ref()
                            .map_or(Times::Referring, Times::Found),
                        does: Does::Follow {
                            from: reading,
                            to: &attribute.name,
                        },
                    });
                }
            }
            _ => {}
        }
    }
}

fn guards<'d>(entity: &'d Entity, found: &mut Vec<Reaction<'d>>) {
    found.extend(entity.unique.iter().map(|unique| Reaction {
        cause: Cause::Unique(&entity.name, &unique.name),
        on: event(named(entity), EventKind::Write),
        when: When::Always,
        each: Times::Once,
        does: Does::Guard(unique),
    }));
}

fn releases<'d>(entity: &'d Entity, reference: &'d Ref, found: &mut Vec<Reaction<'d>>) {
    for target in &reference.targets {
        let crate::design::TargetName::Record(of) = &target.to else {
            continue;
        };
        if target.on_delete == OnDelete::Keep {
            continue;
        }
        found.push(Reaction {
            cause: Cause::OnDelete(&entity.name, &reference.name),
            on: event(of.clone(), EventKind::Delete),
            when: When::Always,
            each: target
                .finder
                .as_ref()
                .map_or(Times::Referring, Times::Found),
            does: Does::Release(&target.on_delete),
        });
    }
}

fn view(view: &View) -> Reaction<'_> {
    let of = RecordName::Entity(view.of.clone());
    let (cause, kind, does) = match view.history {
        true => (
            Cause::History(&view.name),
            EventKind::Update,
            Does::Archive(view),
        ),
        false => (Cause::View(&view.name), EventKind::Write, Does::Keep(view)),
    };
    Reaction {
        cause,
        on: event(of, kind),
        when: match (&view.when, view.history) {
            (None, _) => When::Always,
            (Some(when), true) => When::If(when),
            (Some(when), false) => When::While(when),
        },
        each: view.each.as_ref().map_or(Times::Once, Times::Each),
        does,
    }
}

fn trigger(trigger: &Trigger) -> Reaction<'_> {
    let effect = &trigger.effect;
    let when = effect.when.as_ref();
    Reaction {
        cause: Cause::Trigger(&trigger.name),
        on: trigger.on.clone(),
        when: match &trigger.turns {
            Some(turns) => When::Turns(turns, when),
            None => when.map_or(When::Always, When::If),
        },
        each: effect.each.as_ref().map_or(Times::Once, Times::Each),
        does: Does::Operate(effect),
    }
}

/// The largest transaction of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// The entity.
    pub entity: String,
    /// The write.
    pub access: Access,
    /// How many actions it takes at most.
    pub actions: usize,
    /// Whether some of what it causes becomes a job.
    pub has_jobs: bool,
}

/// Effects that cause effects are followed this far.
const DEPTH_MAX: usize = 8;

/// The largest transaction of every write of every entity.
///
/// One action for the item, one for every ref whose target must exist or is changed, and what the
/// reactions add. What leads to one item by one ref is one action.
pub fn sizes(design: &Design) -> Vec<Size> {
    let reactions = reactions(design);
    let writes = [Access::Create, Access::Update, Access::Delete];
    let mut sizes = Vec::new();
    for entity in &design.entities {
        for access in writes {
            let (actions, has_jobs) = size(design, &reactions, entity, access, 0);
            sizes.push(Size {
                entity: entity.name.clone(),
                access,
                actions,
                has_jobs,
            });
        }
    }
    sizes
}

fn size(
    design: &Design,
    reactions: &[Reaction<'_>],
    entity: &Entity,
    access: Access,
    depth: usize,
) -> (usize, bool) {
    let name = named(entity);
    let checked = entity
        .refs
        .iter()
        .filter(|one| !one.unchecked && !one.is_many());
    let checked = checked.filter(|_| access == Access::Create);
    let mut touched: Vec<&str> = checked.map(|reference| reference.name.as_str()).collect();
    let mut actions = 1;
    let mut has_jobs = false;
    for reaction in reactions.iter().filter(|one| one.on.of == name) {
        let is_caused = match &reaction.does {
            // What is kept in step with an item goes with it.
            Does::Add { .. } | Does::Keep(_) | Does::Guard(_) => true,
            _ => reaction.on.kind.includes(access),
        };
        if !is_caused || matches!(reaction.cause, Cause::Action(_)) {
            continue;
        }
        match &reaction.does {
            Does::Add { by, .. } => touched.push(by),
            Does::Operate(effect) => {
                let (more, jobs) = operated(design, reactions, effect, &mut touched, depth);
                let times = reaction.actions_max();
                actions += times.map_or(0, |times| times * more);
                has_jobs |= jobs || times.is_none();
            }
            _ => {
                let more = reaction.actions_max();
                // Created or deleted, a record is written once.
                let is_half = access != Access::Update && reaction.on.kind != EventKind::Create;
                let is_moved = matches!(reaction.does, Does::Keep(_) | Does::Guard(_));
                let more_once = more.map(|more| if is_half && is_moved { more / 2 } else { more });
                actions += more_once.unwrap_or(0);
                has_jobs |= more.is_none();
            }
        }
    }
    touched.sort_unstable();
    touched.dedup();
    (actions + touched.len(), has_jobs)
}

/// What an effect adds besides the refs that it touches.
fn operated<'d>(
    design: &Design,
    reactions: &[Reaction<'_>],
    effect: &'d Effect,
    touched: &mut Vec<&'d str>,
    depth: usize,
) -> (usize, bool) {
    let access = match effect.kind {
        EffectKind::Create => Access::Create,
        EffectKind::Upsert | EffectKind::Update => Access::Update,
        EffectKind::Delete => Access::Delete,
    };
    let own = match &effect.target {
        EffectTarget::Ref { name, .. } => {
            touched.push(name);
            0
        }
        _ => 1,
    };
    let targets = effect.target.records();
    let entities = targets
        .iter()
        .filter_map(|record| design.entity(record.as_str()));
    // INVARIANT: recursion ends here; cycles of triggers are reported besides.
    let inner = entities.filter(|_| depth < DEPTH_MAX).map(|entity| {
        let (actions, has_jobs) = size(design, reactions, entity, access, depth + 1);
        (actions - 1, has_jobs)
    });
    let (more, has_jobs) = inner.max().unwrap_or((0, false));
    (own + more, has_jobs)
}
