//! Whether the rule of a view's source can be decided on the view's records.
//!
//! Whoever lists a view sees its records only. So the rule for reading the source must be
//! decidable on them, unless the view has a rule of its own, or every pattern that finds its
//! records follows them to items that decide.

use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::codes::Code;
use crate::design::{self, Access, Attribute, Design, Rule};
use crate::expression::{Origin, Predicate};

pub(crate) fn check(symbols: &Symbols, design: &Design) {
    for (record, view) in design.views().filter(|(_, view)| !view.has_rules) {
        let is_listed = design
            .patterns
            .iter()
            .any(|pattern| pattern.returns.contains(&record.id) && pattern.follow.is_none());
        let source = &design[view.of];
        if let (true, Rule::When(rule)) = (is_listed, source.rules.get(Access::Read)) {
            decidable((record, source), rule, symbols);
        }
    }
}

fn decidable(
    (view, source): (&design::Record, &design::Record),
    rule: &Predicate,
    symbols: &Symbols,
) {
    let identity = &source.identity;
    let derived: Vec<&str> = view
        .attributes
        .iter()
        .filter_map(Attribute::renames)
        .collect();
    let (record, source) = (&symbols[view.id], &symbols[source.id]);
    let mut missing: Vec<String> = Vec::new();
    for name in needed(rule, source, symbols) {
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
            source.title(),
            record.place
        );
        symbols
            .report(Code::UnreadableView, record.span, message)
            .help(format!(
                "add \"{name}\" to `keep`, or write `[{}.allow]`",
                record.place
            ));
    }
}

/// The own attributes that a rule is decided on.
fn needed(rule: &Predicate, source: &DeclaredRecord, symbols: &Symbols) -> Vec<String> {
    let own = rule.reads.iter().filter(|one| one.origin == Origin::Item);
    own.flat_map(|reading| source.names_read(reading, symbols))
        .collect()
}
