//! From the declarations of a design to its reactions.
//!
//! Numbers, copies and `on delete` are declared where they are stored, and set off elsewhere.

use super::own::Own;
use super::reads::{copied_by, counted_by, decided_by, guarded_by, kept_by};
use super::{Does, Occasion, Reaction, Reactions, Times, When};
use crate::Design;
use crate::design::{
    Action, Aggregate, Attribute, AttributeId, Each, Effect, EffectId, OnDelete, Record, RecordId,
    Ref, RefId, ReferrerId, Source, Trigger, UniqueId, View,
};
use crate::expression::{Origin, Predicate, Reading};
use crate::template::dotted;
use crate::types::AttributeType;

/// The table of everything that writes cause.
pub fn lower(design: &Design) -> Reactions {
    let mut all = Vec::new();
    for entity in design.entities() {
        for (at, attribute) in entity.attributes.iter().enumerate() {
            let to = (entity.id, AttributeId::new(at));
            match &attribute.source {
                Source::Aggregate(aggregate) => all.push(number(design, aggregate, to)),
                Source::Copy(reading) => all.extend(copies(design, reading, to)),
                _ => {}
            }
        }
        all.extend((0..entity.unique.len()).map(|at| guard(entity, UniqueId::new(at))));
        for (at, reference) in entity.refs.iter().enumerate() {
            all.extend(releases(entity.id, RefId::new(at), reference));
        }
    }
    all.extend(design.views().map(|(record, of)| view(design, record, of)));
    all.extend(design.triggers.iter().map(trigger));
    all.extend(design.actions.iter().flat_map(effects));
    // Of one kind, reactions run in the order of the design.
    all.sort_by_key(|one| (one.record, rank(&one.does)));
    let records = design.records.iter();
    Reactions {
        ends: records
            .clone()
            .map(|record| all.partition_point(|one| one.record <= record.id))
            .collect(),
        own: records.map(Own::of).collect(),
        all,
    }
}

/// Where reactions of a kind run among those of one item.
fn rank(does: &Does) -> usize {
    match does {
        Does::Add { .. } => 0,
        Does::Copy { .. } => 1,
        Does::Release => 2,
        Does::Operate(_) => 3,
        Does::Keep(_) | Does::Archive(_) => 4,
        Does::Guard(_) => 5,
    }
}

fn number(design: &Design, aggregate: &Aggregate, to: (RecordId, AttributeId)) -> Reaction {
    let counted = &design[aggregate.of];
    Reaction {
        record: aggregate.of,
        on: Occasion::Write,
        when: When::While(match (live(counted), &aggregate.only) {
            (Some(live), Some(only)) => Some(both(live, only)),
            (live, only) => live.or_else(|| only.clone()),
        }),
        each: Times::Once,
        does: Does::Add {
            by: aggregate.by,
            to,
        },
        reads: counted_by(design, aggregate),
    }
}

/// A copy follows every record that its ref can lead to.
fn copies(
    design: &Design,
    reading: &Reading,
    to: (RecordId, AttributeId),
) -> impl Iterator<Item = Reaction> {
    let hop = reading.hops.first();
    let reference = hop.and_then(|hop| hop.reference);
    let targets = reference.into_iter().flat_map(move |reference| {
        let targets = design[reference].targets.iter().enumerate();
        targets.filter_map(move |(at, target)| {
            let each = ReferrerId {
                record: to.0,
                reference: reference.1,
                target: at,
            };
            let record = target.record()?;
            let referrer = &design[to.0];
            let may_precede = design[reference].may_precede(target, &design[record], referrer);
            Some((record, each, may_precede))
        })
    });
    targets.map(move |(record, each, may_precede)| Reaction {
        record,
        on: if may_precede {
            Occasion::Write
        } else {
            Occasion::Change
        },
        when: When::While(None),
        each: Times::Referring(each),
        does: Does::Copy {
            from: reading.attribute.clone(),
            to,
        },
        reads: copied_by(&design[record], &reading.attribute),
    })
}

fn guard(entity: &Record, unique: UniqueId) -> Reaction {
    Reaction {
        record: entity.id,
        on: Occasion::Write,
        when: When::While(None),
        each: Times::Once,
        does: Does::Guard(unique),
        reads: guarded_by(entity, &entity.unique[unique.index()]),
    }
}

fn releases(record: RecordId, id: RefId, reference: &Ref) -> impl Iterator<Item = Reaction> {
    let targets = reference.targets.iter().enumerate();
    let targets = targets.filter(|(_, target)| target.on_delete != OnDelete::Keep);
    targets.filter_map(move |(at, target)| {
        Some(Reaction {
            record: target.record()?,
            on: Occasion::Removal,
            when: When::If(None),
            each: Times::Referring(ReferrerId {
                record,
                reference: id,
                target: at,
            }),
            does: Does::Release,
            reads: Vec::new(),
        })
    })
}

fn view(design: &Design, record: &Record, view: &View) -> Reaction {
    let when = view.when.clone();
    let (when, does) = if view.history {
        (When::If(when), Does::Archive(record.id))
    } else {
        (When::While(when), Does::Keep(record.id))
    };
    Reaction {
        record: view.of,
        on: Occasion::Write,
        when,
        each: times(view.each.as_ref()),
        does,
        reads: kept_by(design, record, view),
    }
}

fn trigger(trigger: &Trigger) -> Reaction {
    let when = trigger.effect.when.clone();
    operation(
        (trigger.on.of, Occasion::Operation(trigger.on.kind)),
        match &trigger.turns {
            Some(turns) => When::Turns(turns.clone(), when),
            None => When::If(when),
        },
        (EffectId::Trigger(trigger.id), &trigger.effect),
    )
}

fn effects(action: &Action) -> impl Iterator<Item = Reaction> {
    action.on.records().iter().flat_map(|record| {
        let effects = action.then.iter().enumerate();
        effects.map(|(at, effect)| {
            operation(
                (*record, Occasion::Action(action.id)),
                When::If(effect.when.clone()),
                (EffectId::Action(action.id, at), effect),
            )
        })
    })
}

fn operation(
    (record, on): (RecordId, Occasion),
    when: When,
    (id, effect): (EffectId, &Effect),
) -> Reaction {
    Reaction {
        record,
        on,
        reads: decided_by(&when),
        when,
        each: times(effect.each.as_ref()),
        does: Does::Operate(id),
    }
}

fn times(each: Option<&Each>) -> Times {
    each.cloned().map_or(Times::Once, Times::Each)
}

/// That an item is not soft-deleted; what is does not count.
fn live(record: &Record) -> Option<Predicate> {
    let soft_delete = record.soft_delete.as_ref()?;
    let name = soft_delete.attribute();
    let attribute: Option<&Attribute> = record.stored(name);
    let reading = Reading {
        path: dotted(name),
        origin: Origin::Item,
        hops: Vec::new(),
        attribute: name.to_owned(),
        kind: attribute.map_or(AttributeType::Any, |one| one.kind.clone()),
        optional: attribute.is_none_or(|one| one.optional),
        by_key: false,
        secret: false,
    };
    Some(Predicate {
        tree: soft_delete.live(),
        reads: vec![reading],
        text: String::new(),
    })
}

/// Two conditions as one. The second is not looked at where the first does not hold.
fn both(mut first: Predicate, second: &Predicate) -> Predicate {
    first.tree = first.tree.and(second.tree.clone());
    first.reads.extend(second.reads.iter().cloned());
    first.text.clone_from(&second.text);
    first
}
