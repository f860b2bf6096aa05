//! Numbers and values that follow other items: whether they can, and whether they end.

use std::collections::{BTreeMap, BTreeSet};

use super::finder;
use super::world::{Record, World};
use crate::codes::Code;
use crate::design::{
    Action, ActionOn, Effect, EffectKind, Entity, EventKind, Finder, OnDelete, RecordName, Ref,
    Source, Trigger,
};
use crate::diagnostic::Report;
use crate::expression::Formula;
use crate::types::AttributeType;

pub(crate) fn check(
    world: &World,
    entities: &[Option<Entity>],
    refs: &[Vec<Ref>],
    triggers: &[Option<Trigger>],
    report: &mut Report,
) {
    let refs_of = refs;
    for (entity, refs) in entities.iter().zip(refs) {
        let Some(entity) = entity else { continue };
        let Some((_, record)) = world.find(&entity.name) else {
            continue;
        };
        ways_back(world, record, entity, refs, report);
        expiring(world, record, entity, report);
        kept(record, entity, entities, refs_of, report);
    }
    aggregate_cycles(world, entities, report);
    trigger_cycles(world, triggers, report);
}

/// A cascade, a cleared attribute and a copy go from the target to the items that refer to it.
fn ways_back(world: &World, record: &Record, entity: &Entity, refs: &[Ref], report: &mut Report) {
    for (declared, reference) in record.refs.iter().zip(refs) {
        for target in &reference.targets {
            let what = match &target.on_delete {
                OnDelete::Cascade => "`on delete cascade`",
                OnDelete::Clear(_) => "`on delete clear`",
                OnDelete::Keep | OnDelete::Refuse { .. } => continue,
            };
            if target.finder.is_some() {
                continue;
            }
            let by = declared.by.as_ref();
            match finder::find_some(record, by, target, world) {
                Some(some) => half_a_way_back(entity, &some, what, declared.span, report),
                None => no_way_back(record, reference, what, declared.span, report),
            }
        }
    }
    for attribute in &entity.attributes {
        let Source::Copy(reading) = &attribute.source else {
            continue;
        };
        let Some(hop) = reading.hops.first() else {
            continue;
        };
        let found = refs.iter().find(|one| one.name == hop.reference);
        let Some(reference) = found else { continue };
        if reference
            .targets
            .iter()
            .any(|target| target.finder.is_none())
        {
            let declared = record.find(&attribute.name);
            let span = declared.map_or(record.span, |one| one.span);
            no_way_back(record, reference, "`copy`", span, report);
        }
    }
}

/// There is a key, and not every item has it.
fn half_a_way_back(
    entity: &Entity,
    some: &Finder,
    what: &str,
    span: partita_core::expression::Span,
    report: &mut Report,
) {
    let title = &entity.name;
    let others = match &entity.soft_delete {
        Some(_) => ", soft-deleted ones too",
        None => "",
    };
    let key = match (&some.record, &some.index) {
        (RecordName::Entity(name), Some(index)) => format!("the key of `{name}` in `{index}`"),
        (RecordName::Entity(name), None) => format!("the key of `{name}`"),
        (RecordName::View(name), _) => format!("the view `{name}`"),
    };
    let message =
        format!("{what} has to find every `{title}` of a target{others}, and {key} has only some");
    report
        .add(Code::NoWayBack, span, message)
        .help("let every item have that key, or add an index or a view for all of them");
}

fn no_way_back(
    record: &Record,
    reference: &Ref,
    what: &str,
    span: partita_core::expression::Span,
    report: &mut Report,
) {
    let arguments: Vec<&str> = reference
        .targets
        .iter()
        .flat_map(|target| &target.arguments)
        .map(|argument| argument.path.as_str())
        .collect();
    let holes = arguments.join("}#{");
    let title = record.title();
    let message = format!(
        "{what} has to find every `{title}` of a target, and no key begins with what `{}` holds",
        reference.name
    );
    let mut arguments = reference
        .targets
        .iter()
        .flat_map(|target| &target.arguments);
    let help = match arguments.find(|argument| argument.many) {
        Some(list) => format!(
            "add a view of `{title}` with `each = \"{} in {}\"`, whose partition key holds the element",
            list.part, list.path
        ),
        None => format!(
            "add an index with the partition key `{}#{{{holes}}}`, on `{title}` or on a view of it",
            reference.name.to_uppercase()
        ),
    };
    report.add(Code::NoWayBack, span, message).help(help);
}

/// TTL removes items unseen, so that nothing can be counted of them.
fn expiring(world: &World, record: &Record, entity: &Entity, report: &mut Report) {
    for attribute in &entity.attributes {
        let Source::Aggregate(aggregate) = &attribute.source else {
            continue;
        };
        let Some((_, counted)) = world.find(aggregate.of.as_str()) else {
            continue;
        };
        let expiry = counted
            .attributes
            .iter()
            .find(|one| one.kind == Some(AttributeType::Expiry));
        let Some(expiry) = expiry else { continue };
        let declared = record.find(&attribute.name);
        let span = declared.map_or(record.span, |one| one.span);
        let message = format!(
            "`{}` expire unseen, so they cannot be counted",
            counted.title()
        );
        report
            .add(Code::ExpiringCount, span, message)
            .help("count something that stays, or remove items by an action")
            .related(expiry.span, "they expire here");
    }
}

/// What is counted may stay when the item that counts it is deleted. Its numbers are kept then, and
/// follow, for an item that comes back; so nobody may remove it unseen, and what is counted must
/// lead to its identity.
fn kept(
    record: &Record,
    entity: &Entity,
    entities: &[Option<Entity>],
    refs: &[Vec<Ref>],
    report: &mut Report,
) {
    let expiry = record
        .attributes
        .iter()
        .find(|one| one.kind == Some(AttributeType::Expiry));
    for attribute in &entity.attributes {
        let Source::Aggregate(aggregate) = &attribute.source else {
            continue;
        };
        let counted = entities.iter().zip(refs).find_map(|(counted, refs)| {
            let is_meant = matches!(&aggregate.of, RecordName::Entity(name)
                if counted.as_ref().is_some_and(|counted| counted.name == *name));
            let reference = refs.iter().find(|one| one.name == aggregate.by);
            reference.filter(|_| is_meant)
        });
        let Some(reference) = counted else { continue };
        let declared = record.find(&attribute.name);
        let span = declared.map_or(record.span, |one| one.span);
        let mut targets = reference.targets.iter();
        let is_lost = targets.any(|target| {
            target.via.is_some() && target.leads_to(&entity.name) && target.may_stay(entity)
        });
        if let Some(expiry) = expiry {
            let (title, of) = (record.title(), aggregate.of.as_str());
            let message = format!("`{title}` expire unseen, and the `{of}` that they count stay");
            report
                .add(Code::KeptCount, span, message)
                .help("count in an item that stays, or remove items by an action")
                .related(expiry.span, "they expire here");
        } else if is_lost {
            let (of, by) = (aggregate.of.as_str(), &reference.name);
            let message = format!(
                "`{by}` finds its target by a pattern, and not when it is gone: the `{of}` that stay would be lost to the number"
            );
            report.add(Code::KeptCount, span, message).help(format!(
                "write `on delete cascade` behind `{by}`, or name the identity"
            ));
        }
    }
}

/// A number: whose, and which.
type Place = (String, String);

/// A sum that is part of what it sums would never come to rest.
fn aggregate_cycles(world: &World, entities: &[Option<Entity>], report: &mut Report) {
    let mut edges: Vec<(Place, Place)> = Vec::new();
    for entity in entities.iter().flatten() {
        for attribute in &entity.attributes {
            let to = (entity.name.clone(), attribute.name.clone());
            match &attribute.source {
                Source::Aggregate(aggregate) => {
                    if let Some(sum) = &aggregate.sum {
                        let from = (aggregate.of.as_str().to_owned(), sum.clone());
                        edges.push((from, to));
                    }
                }
                Source::Copy(reading) => {
                    if let Some(target) = target_of(world, &entity.name, reading) {
                        edges.push(((target, reading.attribute.clone()), to));
                    }
                }
                Source::Computed(computed) => {
                    edges.extend(own_edges(entity, &computed.value, &to));
                }
                // An item that lacks it is read as having the default.
                Source::Given {
                    default: Some(default),
                } => edges.extend(own_edges(entity, default, &to)),
                Source::Given { default: None } | Source::Generated => {}
            }
        }
    }
    if let Some((entity, attribute)) = cycle(&edges) {
        let record = world.find(&entity).map(|(_, record)| record);
        let declared = record.and_then(|record| record.find(&attribute));
        let span = declared.map_or(Default::default(), |one| one.span);
        let message = format!("`{attribute}` of `{entity}` follows from itself");
        report.add(Code::AggregateCycle, span, message);
    }
}

/// From what a value reads of its own item to the attribute that it is for.
fn own_edges(entity: &Entity, value: &Formula, to: &Place) -> Vec<(Place, Place)> {
    let names = value.own_attributes();
    let edges = names.map(|name| ((entity.name.clone(), name.to_owned()), to.clone()));
    edges.collect()
}

fn target_of(world: &World, entity: &str, reading: &crate::expression::Reading) -> Option<String> {
    let (_, record) = world.find(entity)?;
    let hop = reading.hops.first()?;
    let reference = record.refs.iter().find(|one| one.name.0 == hop.reference)?;
    reference.targets.iter().find_map(|target| match target {
        super::reference::DeclaredTarget::Record { record, .. } => {
            Some(world.records[*record].title().to_owned())
        }
        _ => None,
    })
}

/// A node from which the edges lead back to it: what is left when nodes that nothing leads to are
/// taken away, again and again, has a cycle before it or in it.
fn cycle<N: Clone + Ord>(edges: &[(N, N)]) -> Option<N> {
    let mut next: BTreeMap<&N, Vec<&N>> = BTreeMap::new();
    let mut leading: BTreeMap<&N, usize> = BTreeMap::new();
    for (from, to) in edges {
        next.entry(from).or_default().push(to);
        *leading.entry(to).or_default() += 1;
        leading.entry(from).or_default();
    }
    let mut free: Vec<&N> = Vec::new();
    free.extend(
        leading
            .iter()
            .filter(|(_, count)| **count == 0)
            .map(|(node, _)| *node),
    );
    while let Some(node) = free.pop() {
        leading.remove(node);
        for to in next.get(node).into_iter().flatten() {
            if let Some(count) = leading.get_mut(to) {
                *count -= 1;
                if *count == 0 {
                    free.push(to);
                }
            }
        }
    }
    // Going on from any node that is left ends in a cycle.
    let mut node = *leading.keys().next()?;
    let mut seen = BTreeSet::new();
    while seen.insert(node) {
        let mut ahead = next.get(node).into_iter().flatten();
        node = match ahead.find(|to| leading.contains_key(**to)) {
            Some(to) => to,
            // A node that only hangs on a cycle: look for one that is in it.
            None => {
                return edges
                    .iter()
                    .map(|(from, _)| from)
                    .find(|from| leading.contains_key(from))
                    .cloned();
            }
        };
    }
    Some(node.clone())
}

/// Triggers that cause each other would never end.
fn trigger_cycles(world: &World, triggers: &[Option<Trigger>], report: &mut Report) {
    let triggers: Vec<&Trigger> = triggers.iter().flatten().collect();
    let mut edges: Vec<(&str, &str)> = Vec::new();
    for one in &triggers {
        for two in &triggers {
            if causes(&one.effect, two) {
                edges.push((&one.name, &two.name));
            }
        }
    }
    if let Some(name) = cycle(&edges) {
        let message = format!("`{name}` can cause itself, without end");
        let span = world_span(world, name);
        report
            .add(Code::TriggerCycle, span, message)
            .help("let one of the triggers wait for a change that the others do not make");
    }
}

fn world_span(world: &World, trigger: &str) -> partita_core::expression::Span {
    let found = world.triggers.iter().find(|(name, _)| name == trigger);
    found.map_or(Default::default(), |(_, span)| *span)
}

/// Whether an effect is an event of a trigger. An update counts only if it writes something that
/// the trigger looks at.
fn causes(effect: &Effect, trigger: &Trigger) -> bool {
    let is_same = effect.target.records().contains(&trigger.on.of);
    let is_event = match effect.kind {
        EffectKind::Create => matches!(trigger.on.kind, EventKind::Create | EventKind::Write),
        EffectKind::Upsert => trigger.on.kind != EventKind::Delete,
        EffectKind::Update => matches!(trigger.on.kind, EventKind::Update | EventKind::Write),
        EffectKind::Delete => trigger.on.kind == EventKind::Delete,
    };
    let looks_at: Vec<&str> = trigger
        .turns
        .iter()
        .chain(&trigger.effect.when)
        .flat_map(|predicate| predicate.own_attributes())
        .collect();
    let is_seen = effect.kind != EffectKind::Update
        || looks_at.is_empty()
        || effect.changes.names().any(|name| looks_at.contains(&name));
    is_same && is_event && is_seen
}

/// Warns of actions that no rule allows, and of rules for actions of other entities.
pub(crate) fn action_rules(
    world: &World,
    entities: &mut [Option<Entity>],
    actions: &[Option<Action>],
    report: &mut Report,
) {
    let is_known = actions.iter().all(Option::is_some);
    for entity in entities.iter_mut().flatten() {
        let name = RecordName::Entity(entity.name.clone());
        let is_of = |action: &str| {
            let mut found = actions.iter().flatten();
            let found = found.find(|one| one.name == action);
            found.is_none_or(|action| records_of(action).contains(&&name))
        };
        let span = world
            .find(&entity.name)
            .map_or(Default::default(), |(_, one)| one.span);
        let stray: Vec<String> = entity
            .rules
            .by_action
            .iter()
            .filter(|(action, _)| !is_of(action))
            .map(|(action, _)| action.clone())
            .collect();
        entity.rules.by_action.retain(|(action, _)| is_of(action));
        // `"*"` gave every action a rule, and those are not written.
        let is_written = entity.rules.by_access.len() < crate::design::Access::WORDS.len();
        for action in stray.iter().filter(|_| is_known && is_written) {
            let message = format!("`{action}` is no action of `{}`", entity.name);
            report
                .add(Code::NoSuchOperation, span, message)
                .help("leave this rule out");
        }
        let is_open = !entity.rules.by_access.is_empty();
        for action in actions.iter().flatten() {
            let has_rule = entity
                .rules
                .by_action
                .iter()
                .any(|(known, _)| *known == action.name);
            if is_open && records_of(action).contains(&&name) && !has_rule {
                closed(world, action, &entity.name, report);
            }
        }
    }
}

fn closed(world: &World, action: &Action, entity: &str, report: &mut Report) {
    let found = world.actions.iter().find(|(name, _)| *name == action.name);
    let span = found.map_or(Default::default(), |(_, span)| *span);
    let message = format!(
        "no rule of `{entity}` allows `{}`, so nobody may use it",
        action.name
    );
    report
        .add(Code::ClosedAction, span, message)
        .help(format!(
            "write `{} = \"…\"` in `[entity.{entity}.allow]`",
            action.name
        ))
        .acceptable(vec![vec![format!("action.{}", action.name)]]);
}

/// What an action is done to.
pub(crate) fn records_of(action: &Action) -> Vec<&RecordName> {
    match &action.on {
        ActionOn::Items(records) => records.iter().collect(),
        ActionOn::Found { record, .. } => vec![record],
        ActionOn::Every(application) => vec![&application.record],
    }
}
