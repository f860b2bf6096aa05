//! Whether those who list a view can be told from those who may not.
//!
//! Whoever lists a view sees its records only. So the rule for reading the source must be
//! decidable on them, unless the view has a rule of its own, or every pattern that finds its
//! records follows them to items that decide.

use super::world::{Record, World};
use crate::codes::Code;
use crate::design::{Access, Entity, Pattern, Rule, View, ViewAttribute};
use crate::diagnostic::Report;
use crate::expression::{Origin, Predicate, Reading};

pub(crate) fn check(
    world: &World,
    entities: &[Option<Entity>],
    views: &[Option<View>],
    patterns: &[Option<Pattern>],
    report: &mut Report,
) {
    for view in views.iter().flatten().filter(|view| view.rules.is_none()) {
        let is_listed = patterns.iter().flatten().any(|pattern| {
            let mut returns = pattern.returns.iter();
            returns.any(|record| record.as_str() == view.name) && pattern.follow.is_none()
        });
        let entity = entities
            .iter()
            .flatten()
            .find(|entity| entity.name == view.of);
        let rule = entity.map(|entity| entity.rules.get(Access::Read));
        if let (true, Some(Rule::When(rule))) = (is_listed, rule) {
            decidable(view, rule, world, report);
        }
    }
}

fn decidable(view: &View, rule: &Predicate, world: &World, report: &mut Report) {
    let found = world.find(&view.name).zip(world.find(&view.of));
    let Some(((_, record), (_, source))) = found else {
        return;
    };
    let Some(identity) = source.identity() else {
        return;
    };
    let derived: Vec<&str> = view
        .attributes
        .iter()
        .filter_map(ViewAttribute::copied)
        .collect();
    let mut missing: Vec<String> = Vec::new();
    for name in needed(rule, source, world) {
        let is_there = record.find(&name).is_some()
            || derived.contains(&name.as_str())
            // That the key lacks a part of the identity is reported as such.
            || identity.iter().any(|part| part.attribute == name);
        if !is_there && !missing.contains(&name) {
            missing.push(name);
        }
    }
    for name in missing {
        let message = format!(
            "who may read `{}` depends on `{name}`, which `{}` does not have",
            view.of, record.place
        );
        report
            .add(Code::UnreadableView, record.span, message)
            .help(format!(
                "add \"{name}\" to `keep`, or write `[{}.allow]`",
                record.place
            ));
    }
}

/// The own attributes that a rule is decided on.
fn needed(rule: &Predicate, source: &Record, world: &World) -> Vec<String> {
    let own = rule.reads.iter().filter(|one| one.origin == Origin::Item);
    own.flat_map(|reading| own_names(reading, source, world))
        .collect()
}

/// The own attributes that something is read from: the one that is named, or the arguments of the
/// ref that is followed.
pub(crate) fn own_names(reading: &Reading, source: &Record, world: &World) -> Vec<String> {
    match reading.hops.first() {
        None => vec![reading.attribute.clone()],
        Some(hop) => {
            let found = source.refs.iter().find(|one| one.name.0 == hop.reference);
            let arguments = found.map(|one| one.arguments(source, world));
            arguments.unwrap_or_default()
        }
    }
}
