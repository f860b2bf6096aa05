//! Effects against each other, and against the steps of a state.

use partita_core::expression::{Comparator, Condition, Operand, Span};

use super::world::World;
use crate::codes::Code;
use crate::design::{Action, ActionOn, Effect, EffectTarget, EventKind, RecordName, Trigger};
use crate::diagnostic::Report;
use crate::expression::Predicate;
use crate::syntax::Word;
use crate::types::AttributeType;

/// Reports two effects of one write that set one attribute, and steps that a state does not have.
pub(crate) fn check(
    world: &World,
    triggers: &[Option<Trigger>],
    actions: &[Option<Action>],
    report: &mut Report,
) {
    for action in actions.iter().flatten() {
        let span = span_of(&world.actions, &action.name);
        for (index, one) in action.then.iter().enumerate() {
            for two in &action.then[index + 1..] {
                if let Some(name) = clash(one, two) {
                    let message = format!(
                        "two effects of `{}` write `{name}` of one item",
                        action.name
                    );
                    report
                        .add(Code::TwoWrites, span, message)
                        .help("join them, or give each a `when` that excludes the other");
                }
            }
        }
        steps(world, action, span, report);
    }
    let triggers: Vec<&Trigger> = triggers.iter().flatten().collect();
    for (index, one) in triggers.iter().enumerate() {
        for two in &triggers[index + 1..] {
            let is_same_event = one.on.of == two.on.of && meet(one.on.kind, two.on.kind);
            let is_same_turn = text(&one.turns) == text(&two.turns);
            if !is_same_event || !is_same_turn {
                continue;
            }
            if let Some(name) = clash(&one.effect, &two.effect) {
                let message = format!(
                    "`{}` and `{}` both write `{name}` of one item",
                    one.name, two.name
                );
                report
                    .add(
                        Code::TwoWrites,
                        span_of(&world.triggers, &two.name),
                        message,
                    )
                    .help("join them, or give each a `when` that excludes the other")
                    .related(span_of(&world.triggers, &one.name), "the other trigger");
            }
        }
    }
}

fn span_of(words: &[Word], name: &str) -> Span {
    let found = words.iter().find(|(known, _)| known == name);
    found.map_or(Default::default(), |(_, span)| *span)
}

fn text(predicate: &Option<Predicate>) -> Option<&str> {
    predicate.as_ref().map(|predicate| predicate.text.as_str())
}

/// Whether some write is both.
fn meet(one: EventKind, two: EventKind) -> bool {
    let covers = |wide, narrow| {
        wide == EventKind::Write && matches!(narrow, EventKind::Create | EventKind::Update)
    };
    one == two || covers(one, two) || covers(two, one)
}

/// The attribute that both write, when both happen to the same item. Additions add up; effects
/// with different conditions are taken to exclude each other.
fn clash<'e>(one: &'e Effect, two: &Effect) -> Option<&'e str> {
    let is_same_item = match (&one.target, &two.target) {
        (EffectTarget::Ref { name: one, .. }, EffectTarget::Ref { name: two, .. }) => one == two,
        (
            one @ (EffectTarget::Identity { .. } | EffectTarget::Element(_)),
            two @ (EffectTarget::Identity { .. } | EffectTarget::Element(_)),
        ) => one == two,
        _ => false,
    };
    let is_same_case = text(&one.when) == text(&two.when) && one.each == two.each;
    if !is_same_item || !is_same_case {
        return None;
    }
    let adds = |effect: &Effect, name: &str| effect.changes.add.iter().any(|(it, _)| it == name);
    let is_twice = |name: &&str| {
        let mut others = two.changes.names();
        others.any(|other| other == *name) && !(adds(one, name) && adds(two, name))
    };
    one.changes.names().find(is_twice)
}

/// An action that requires one state and sets another needs a step between them.
fn steps(world: &World, action: &Action, span: Span, report: &mut Report) {
    let records: Vec<&RecordName> = match &action.on {
        ActionOn::Items(records) => records.iter().collect(),
        ActionOn::Found { record, .. } => vec![record],
        ActionOn::Every(_) => return,
    };
    let Some(require) = &action.require else {
        return;
    };
    for (name, value) in &action.changes.set {
        let Some(to) = value.literal().and_then(|value| value.as_str()) else {
            continue;
        };
        for record in &records {
            let found = world.find(record.as_str());
            let declared = found.and_then(|(_, record)| record.find(name));
            let Some(AttributeType::State(states)) = declared.and_then(|one| one.kind.as_ref())
            else {
                continue;
            };
            let required = required(&require.tree, name);
            let from = required.iter().find(|from| !states.allows(from, to));
            if let (Some(from), Some(declared)) = (from, declared) {
                let message = format!("no step leads from `{from}`, which is required, to `{to}`");
                report
                    .add(Code::NoSuchStep, span, message)
                    .help(format!(
                        "write `{from} -> {to}` among the steps, or require another state"
                    ))
                    .related(declared.span, "the steps");
                return;
            }
        }
    }
}

/// The values of an attribute that a condition leaves, where it names them.
fn required<'c>(condition: &'c Condition, name: &str) -> Vec<&'c str> {
    let is_it =
        |operand: &Operand| matches!(operand, Operand::Path(path) if path.to_string() == name);
    let value = |operand: &'c Operand| match operand {
        Operand::Value(value, _) => value.as_str(),
        _ => None,
    };
    match condition {
        Condition::All(parts) => {
            let mut found = parts.iter().map(|part| required(part, name));
            found.find(|values| !values.is_empty()).unwrap_or_default()
        }
        Condition::Any(parts) => {
            let found: Vec<_> = parts.iter().map(|part| required(part, name)).collect();
            match found.iter().any(Vec::is_empty) {
                true => Vec::new(),
                false => found.into_iter().flatten().collect(),
            }
        }
        Condition::Compare(left, Comparator::Equal, right) if is_it(left) => {
            value(right).into_iter().collect()
        }
        Condition::In(left, list) if is_it(left) => list.iter().filter_map(value).collect(),
        _ => Vec::new(),
    }
}
