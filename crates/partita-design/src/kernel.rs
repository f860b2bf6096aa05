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
    Aggregate, Each, Effect, Entity, Event, EventKind, Finder, OnDelete, RecordName, Ref, Source,
    Trigger, Unique, View,
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

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Aggregate(entity, name) | Cause::Copy(entity, name) => {
                write!(f, "entity.{entity}.attributes.{name}")
            }
            Cause::View(name) | Cause::History(name) => write!(f, "view.{name}"),
            Cause::Unique(entity, name) => write!(f, "entity.{entity}.unique.{name}"),
            Cause::OnDelete(entity, name) => write!(f, "entity.{entity}.refs.{name}"),
            Cause::Trigger(name) => write!(f, "trigger.{name}"),
            Cause::Action(name) => write!(f, "action.{name}"),
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
