//! Numbers and values that follow other items: whether they can, and whether they end.

use std::collections::{BTreeMap, BTreeSet};

use crate::check::compile::finder::{self, Extent};
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::codes::Code;
use crate::design::{
    self, Action, Design, Effect, EffectKind, EventKind, Finder, OnDelete, RecordId, Ref, Source,
    Trigger,
};
use crate::expression::Formula;
use crate::types::AttributeType;

pub(crate) fn check(symbols: &Symbols, design: &Design) {
    for entity in design.entities() {
        ways_back(symbols, design, entity);
        expiring(symbols, entity);
        kept(symbols, design, entity);
        closed_actions(symbols, design, entity);
    }
    aggregate_cycles(symbols, design);
    trigger_cycles(symbols, design);
}

/// A cascade, a cleared attribute and a copy go from the target to the items that refer to it.
fn ways_back(symbols: &Symbols, design: &Design, entity: &design::Record) {
    let record = &symbols[entity.id];
    for (declared, reference) in record.refs.iter().zip(&entity.refs) {
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
            match finder::find(record, by, target, symbols, Extent::Some) {
                Some(some) => {
                    half_a_way_back((design, entity), &some, what, declared.span, symbols)
                }
                None => no_way_back(record, reference, what, declared.span),
            }
        }
    }
    for attribute in &entity.attributes {
        let Source::Copy(reading) = &attribute.source else {
            continue;
        };
        let found = reading.hops.first().and_then(|hop| design.reference(hop));
        let Some(reference) = found else { continue };
        if reference
            .targets
            .iter()
            .any(|target| target.finder.is_none())
        {
            let span = record.span_of(&attribute.name);
            no_way_back(record, reference, "`copy`", span);
        }
    }
}

/// There is a key, and not every item has it.
fn half_a_way_back(
    (design, entity): (&Design, &design::Record),
    some: &Finder,
    what: &str,
    span: partita_core::expression::Span,
    symbols: &Symbols,
) {
    let title = &entity.name;
    let others = match &entity.soft_delete {
        Some(_) => ", soft-deleted ones too",
        None => "",
    };
    let holder = &design[some.record];
    let name = &holder.name;
    let key = match some.index.map(|index| &design.index_of(holder, index).name) {
        _ if holder.view.is_some() => format!("the view `{name}`"),
        Some(index) => format!("the key of `{name}` in `{index}`"),
        None => format!("the key of `{name}`"),
    };
    let message =
        format!("{what} has to find every `{title}` of a target{others}, and {key} has only some");
    symbols
        .report(Code::NoWayBack, span, message)
        .help("let every item have that key, or add an index or a view for all of them");
}

fn no_way_back(
    record: &DeclaredRecord,
    reference: &Ref,
    what: &str,
    span: partita_core::expression::Span,
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
    record.report(Code::NoWayBack, span, message).help(help);
}

/// TTL removes items unseen, so that nothing can be counted of them.
fn expiring(symbols: &Symbols, entity: &design::Record) {
    let record = &symbols[entity.id];
    for attribute in &entity.attributes {
        let Source::Aggregate(aggregate) = &attribute.source else {
            continue;
        };
        let counted = &symbols[aggregate.of];
        let expiry = counted
            .attributes
            .iter()
            .find(|one| one.kind == Some(AttributeType::Expiry));
        let Some(expiry) = expiry else { continue };
        let span = record.span_of(&attribute.name);
        let message = format!(
            "`{}` expire unseen, so they cannot be counted",
            counted.title()
        );
        symbols
            .report(Code::ExpiringCount, span, message)
            .help("count something that stays, or remove items by an action")
            .related(expiry.span, "they expire here");
    }
}

/// What is counted may stay when the item that counts it is deleted. Its numbers are kept then, and
/// follow, for an item that comes back; so it may not be removed unseen, and what is counted must
/// lead to its identity.
fn kept(symbols: &Symbols, design: &Design, entity: &design::Record) {
    let record = &symbols[entity.id];
    let expiry = record
        .attributes
        .iter()
        .find(|one| one.kind == Some(AttributeType::Expiry));
    for attribute in &entity.attributes {
        let Source::Aggregate(aggregate) = &attribute.source else {
            continue;
        };
        let counted = &design[aggregate.of];
        if !counted.is_entity() {
            continue;
        }
        let reference = &counted.refs[aggregate.by.index()];
        let span = record.span_of(&attribute.name);
        let mut targets = reference.targets.iter();
        let is_lost = targets.any(|target| {
            target.via.is_some() && target.record() == Some(entity.id) && target.may_stay(entity)
        });
        if let Some(expiry) = expiry {
            let (title, of) = (record.title(), &counted.name);
            let message = format!("`{title}` expire unseen, and the `{of}` that they count stay");
            symbols
                .report(Code::KeptCount, span, message)
                .help("count in an item that stays, or remove items by an action")
                .related(expiry.span, "they expire here");
        } else if is_lost {
            let (of, by) = (&counted.name, &reference.name);
            let message = format!(
                "`{by}` finds its target by a pattern, and not when it is gone: the `{of}` that stay would be lost to the number"
            );
            symbols.report(Code::KeptCount, span, message).help(format!(
                "write `on delete cascade` behind `{by}`, or name the identity"
            ));
        }
    }
}

/// A number: whose, and which.
type Place<'d> = (RecordId, &'d str);

/// A sum that is part of what it sums would never come to rest.
fn aggregate_cycles(symbols: &Symbols, design: &Design) {
    let mut edges: Vec<(Place<'_>, Place<'_>)> = Vec::new();
    for entity in design.entities() {
        for attribute in &entity.attributes {
            let to = (entity.id, attribute.name.as_str());
            match &attribute.source {
                Source::Aggregate(aggregate) => {
                    if let Some(sum) = &aggregate.sum {
                        edges.push(((aggregate.of, sum), to));
                    }
                }
                Source::Copy(reading) => {
                    let reference = reading.hops.first().and_then(|hop| design.reference(hop));
                    let targets = reference.into_iter().flat_map(Ref::records);
                    edges.extend(targets.map(|target| ((target, reading.attribute.as_str()), to)));
                }
                Source::Computed(computed) => {
                    edges.extend(own_edges(&computed.value, to));
                }
                // An item that lacks it is read as having the default.
                Source::Given {
                    default: Some(default),
                } => edges.extend(own_edges(default, to)),
                Source::Given { default: None } | Source::Generated | Source::Derived(_) => {}
            }
        }
    }
    if let Some((entity, attribute)) = cycle(&edges) {
        let record = &symbols[entity];
        let span = record.span_of(attribute);
        let message = format!("`{attribute}` of `{}` follows from itself", record.title());
        symbols.report(Code::AggregateCycle, span, message);
    }
}

/// From what a value reads of its own item to the attribute that it is for.
fn own_edges<'d>(
    value: &'d Formula,
    to: Place<'d>,
) -> impl Iterator<Item = (Place<'d>, Place<'d>)> {
    value.own_attributes().map(move |name| ((to.0, name), to))
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
fn trigger_cycles(symbols: &Symbols, design: &Design) {
    let triggers = &design.triggers;
    let node = |trigger: &Trigger| (trigger.name.clone(), trigger.id);
    let mut edges = Vec::new();
    for one in triggers {
        for two in triggers {
            if causes(&one.effect, two) {
                edges.push((node(one), node(two)));
            }
        }
    }
    if let Some((_, trigger)) = cycle(&edges) {
        let (name, span) = &symbols[trigger];
        let message = format!("`{name}` can cause itself, without end");
        symbols
            .report(Code::TriggerCycle, *span, message)
            .help("let one of the triggers wait for a change that the others do not make");
    }
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
        EffectKind::Mail | EffectKind::Send => false,
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

/// Warns of actions that no rule allows.
fn closed_actions(symbols: &Symbols, design: &Design, entity: &design::Record) {
    // That there are no rules at all is reported as such.
    if entity.rules.by_access.is_empty() {
        return;
    }
    for action in &design.actions {
        let mut rules = entity.rules.by_action.iter();
        let has_rule = rules.any(|(known, _)| *known == action.id);
        let mut schedules = design.schedules.iter();
        let is_scheduled = schedules.any(|schedule| schedule.action() == Some(action.id));
        if action.on.all_records().contains(&entity.id) && !has_rule && !is_scheduled {
            closed(symbols, action, &entity.name);
        }
    }
}

fn closed(symbols: &Symbols, action: &Action, entity: &str) {
    let (_, span) = symbols[action.id];
    let message = format!(
        "no rule of `{entity}` allows `{}`, so nobody may use it",
        action.name
    );
    symbols
        .report(Code::ClosedAction, span, message)
        .help(format!(
            "write `{} = \"…\"` in `[entity.{entity}.allow]`",
            action.name
        ))
        .acceptable(vec![vec![format!("action.{}", action.name)]]);
}
