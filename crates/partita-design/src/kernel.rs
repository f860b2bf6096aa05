//! Everything that a write causes, in one form.
//!
//! > **on** an event of a source item, **when** a condition over it holds (before, after, or
//! > turning), **for each** element of a list or pattern, **put, update or delete** a target item
//! > whose key and values are computed from it.
//!
//! Counters, copies, views, history, guards, cascades and triggers are other ways to write this
//! down. [`reactions`] lowers a design to it; whoever plans, verifies or explains writes needs to
//! know this form only. Nothing here is text: every expression is resolved, and says what it reads.
//! [`sizes`] counts from it how many actions each write takes, and the planner finds from it what
//! follows from a write.

mod size;

use std::fmt;

use crate::Design;
use crate::design::{
    Action, Aggregate, Attribute, Each, Effect, Event, EventKind, Finder, OnDelete, Record,
    RecordId, Ref, Source, Trigger, Unique, View,
};
use crate::expression::{Predicate, Reading};

pub use size::{Part, Size, Write, sizes};

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
    /// An attribute that counts or sums, of this entity.
    Aggregate(&'d Record, &'d Attribute),
    /// An attribute that follows another, of this entity.
    Copy(&'d Record, &'d Attribute),
    /// A view.
    View(&'d Record),
    /// A history.
    History(&'d Record),
    /// A guard of this entity.
    Unique(&'d Record, &'d Unique),
    /// The `on delete` of a ref of this entity.
    OnDelete(&'d Record, &'d Ref),
    /// A trigger.
    Trigger(&'d Trigger),
    /// An effect of an action.
    Action(&'d Action),
}

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Aggregate(entity, attribute) | Cause::Copy(entity, attribute) => {
                write!(f, "entity.{}.attributes.{}", entity.name, attribute.name)
            }
            Cause::View(view) | Cause::History(view) => write!(f, "view.{}", view.name),
            Cause::Unique(entity, unique) => {
                write!(f, "entity.{}.unique.{}", entity.name, unique.name)
            }
            Cause::OnDelete(entity, reference) => {
                write!(f, "entity.{}.refs.{}", entity.name, reference.name)
            }
            Cause::Trigger(trigger) => write!(f, "trigger.{}", trigger.name),
            Cause::Action(action) => write!(f, "action.{}", action.name),
        }
    }
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
        by: &'d Ref,
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
    Keep(&'d Record, &'d View),
    /// A record with the state that is replaced is put.
    Archive(&'d Record, &'d View),
    /// A guard is put, moved or deleted; one that is there refuses the write.
    Guard(&'d Unique),
    /// What `on delete` says is done to the items that refer.
    Release(&'d OnDelete),
    /// An operation on another item.
    Operate(&'d Effect),
}

/// Everything that writes cause, in the order of the design.
pub fn reactions(design: &Design) -> Vec<Reaction<'_>> {
    let mut found = Vec::new();
    for entity in design.entities() {
        followers(design, entity, &mut found);
        guards(entity, &mut found);
        for reference in &entity.refs {
            releases(entity, reference, &mut found);
        }
    }
    found.extend(design.views().map(|(record, of)| view(record, of)));
    found.extend(design.triggers.iter().map(trigger));
    for action in &design.actions {
        for effect in &action.then {
            found.extend(action.on.records().iter().map(|of| Reaction {
                cause: Cause::Action(action),
                on: event(*of, EventKind::Update),
                when: effect.when.as_ref().map_or(When::Always, When::If),
                each: effect.each.as_ref().map_or(Times::Once, Times::Each),
                does: Does::Operate(effect),
            }));
        }
    }
    found
}

fn event(of: RecordId, kind: EventKind) -> Event {
    Event { of, kind }
}

/// Counts, sums and copies. They are declared where they are stored, and caused elsewhere.
fn followers<'d>(design: &'d Design, entity: &'d Record, found: &mut Vec<Reaction<'d>>) {
    for attribute in &entity.attributes {
        match &attribute.source {
            Source::Aggregate(aggregate) => found.push(Reaction {
                cause: Cause::Aggregate(entity, attribute),
                on: event(aggregate.of, EventKind::Write),
                when: aggregate.only.as_ref().map_or(When::Always, When::While),
                each: Times::Once,
                does: Does::Add {
                    by: &design[aggregate.of].refs[aggregate.by.index()],
                    aggregate,
                },
            }),
            Source::Copy(reading) => {
                let reference = reading.hops.first().and_then(|hop| design.reference(hop));
                for target in reference.into_iter().flat_map(|one| &one.targets) {
                    let Some(of) = target.record() else { continue };
                    found.push(Reaction {
                        cause: Cause::Copy(entity, attribute),
                        on: event(of, EventKind::Update),
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

fn guards<'d>(entity: &'d Record, found: &mut Vec<Reaction<'d>>) {
    found.extend(entity.unique.iter().map(|unique| Reaction {
        cause: Cause::Unique(entity, unique),
        on: event(entity.id, EventKind::Write),
        when: When::Always,
        each: Times::Once,
        does: Does::Guard(unique),
    }));
}

fn releases<'d>(entity: &'d Record, reference: &'d Ref, found: &mut Vec<Reaction<'d>>) {
    for target in &reference.targets {
        let Some(of) = target.record() else { continue };
        if target.on_delete == OnDelete::Keep {
            continue;
        }
        found.push(Reaction {
            cause: Cause::OnDelete(entity, reference),
            on: event(of, EventKind::Delete),
            when: When::Always,
            each: target
                .finder
                .as_ref()
                .map_or(Times::Referring, Times::Found),
            does: Does::Release(&target.on_delete),
        });
    }
}

fn view<'d>(record: &'d Record, view: &'d View) -> Reaction<'d> {
    let (cause, kind, does) = if view.history {
        let does = Does::Archive(record, view);
        (Cause::History(record), EventKind::Update, does)
    } else {
        let does = Does::Keep(record, view);
        (Cause::View(record), EventKind::Write, does)
    };
    Reaction {
        cause,
        on: event(view.of, kind),
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
        cause: Cause::Trigger(trigger),
        on: trigger.on.clone(),
        when: match &trigger.turns {
            Some(turns) => When::Turns(turns, when),
            None => when.map_or(When::Always, When::If),
        },
        each: effect.each.as_ref().map_or(Times::Once, Times::Each),
        does: Does::Operate(effect),
    }
}
