//! Patterns whose rules are decided on rows that may be old.
//!
//! A global index follows its table after a while, so a row of it shows an item as it was. A rule
//! that rests on a value which can be withdrawn may then show a row to somebody who must not see
//! it any more. A pattern that is `fresh` reads the items themselves.
//!
//! What a rule reads through a ref is read as it is now, and so is what `follow` leads to. A value
//! that never changes cannot be withdrawn; neither can a state out of which no step leads.
//!
//! The same is asked of a read of the table itself that may miss the last writes.

use partita_core::expression::{Condition, Path};
use partita_core::wording::one;
use partita_core::{Map, Value};

use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::{Access, Design, Pattern, Record, RefTo, Rule};
use crate::expression::{Origin, Predicate, Reading};
use crate::nested;
use crate::types::{AttributeType, States};

/// Warns of patterns over indexes that should be fresh.
pub(crate) fn check(symbols: &Symbols, design: &Design) {
    for pattern in &design.patterns {
        if pattern.fresh || pattern.read.index().is_none() {
            continue;
        }
        let Some((record, path)) = design.withdrawable(pattern) else {
            continue;
        };
        let message = format!(
            "whether {} may be read depends on `{path}`, and this reads it from an index, \
             which may be behind",
            one(&record.name)
        );
        let (_, span) = symbols[pattern.id];
        symbols
            .report(Code::StaleRows, span, message)
            .help("write `fresh = true`: the items are read as they are now, one by one")
            .acceptable(vec![vec![format!("pattern.{}", pattern.name)]]);
    }
}

impl Design {
    /// A value that decides whether a row of a pattern may be read, and can be withdrawn: a read
    /// that misses the last writes may show the row too long.
    pub fn withdrawable(&self, pattern: &Pattern) -> Option<(&Record, Path)> {
        let mut records = pattern.returns.iter().map(|record| &self[*record]);
        records.find_map(|record| withdrawn(self, pattern, record))
    }
}

/// What a row's reading depends on and an index may show too long.
fn withdrawn<'d>(
    design: &'d Design,
    pattern: &Pattern,
    record: &'d Record,
) -> Option<(&'d Record, Path)> {
    // What the row is replaced by decides instead of a view's record.
    if pattern.follow.is_some() && !record.is_entity() {
        return None;
    }
    let rows = Rows { design, record };
    let rules = &design.ruling(record).rules;
    let of_attributes = rules.by_attribute.iter().filter(|one| !one.writes);
    let of_attributes = of_attributes.map(|one| &one.rule);
    let rules = std::iter::once(rules.get(Access::Read)).chain(of_attributes);
    let rules = rules.chain(pattern.rule(record.id));
    let conditions = rules.filter_map(|rule| match rule {
        Rule::When(rule) => Some(rule),
        Rule::Public | Rule::SignedIn | Rule::Never => None,
    });
    // That a record is there is what its own rules rely on.
    let view = record.view.as_ref().filter(|view| view.has_rules);
    let existence = view.and_then(|view| view.when.as_ref());
    let mut all = conditions.map(|rule| &**rule).chain(existence);
    let path = all.find_map(|rule| rows.withdrawable(rule, &rule.tree, true))?;
    Some((record, path))
}

/// The rows of one record.
struct Rows<'d> {
    design: &'d Design,
    record: &'d Record,
}

impl Rows<'_> {
    /// A path of a condition whose value can change so that the condition ceases to hold.
    fn withdrawable(&self, rule: &Predicate, tree: &Condition, is_wanted: bool) -> Option<Path> {
        match tree {
            Condition::All(parts) | Condition::Any(parts) => {
                let mut parts = parts.iter();
                parts.find_map(|part| self.withdrawable(rule, part, is_wanted))
            }
            Condition::Not(inner) => self.withdrawable(rule, inner, !is_wanted),
            leaf => {
                let mut changing = None;
                leaf.visit_paths(&mut |path| {
                    let reading = rule.reads.iter().find(|one| one.path == *path);
                    let reading = reading.filter(|one| self.changes(one));
                    changing = changing.take().or(reading);
                });
                let reading = changing?;
                let is_final = is_final(leaf, reading, is_wanted);
                (!is_final).then(|| reading.path.clone())
            }
        }
    }

    /// Whether a row can show another value than the item has.
    fn changes(&self, reading: &Reading) -> bool {
        if reading.origin != Origin::Item {
            return false;
        }
        let Some(hop) = reading.hops.first() else {
            return self.is_changing(&reading.attribute);
        };
        let targets = self.design.reference(hop).into_iter();
        let targets = targets.flat_map(|reference| &reference.targets);
        let mut items = targets.filter(|target| matches!(target.to, RefTo::Record(_)));
        items.any(|target| {
            let mut arguments = target.arguments.iter().map(|one| &one.path);
            // One with dots leads through another item, which is read as it is now.
            arguments.any(|path| self.source().stored(path).is_some() && self.is_changing(path))
        })
    }

    fn is_changing(&self, name: &str) -> bool {
        let own = self.record.stored(name).and_then(|one| one.renames());
        let attribute = self.source().stored(own.unwrap_or(name));
        attribute.is_none_or(|one| !one.lasting || one.movable)
    }

    fn source(&self) -> &Record {
        self.design.source(self.record)
    }
}

/// Whether a condition on a state stays as it is wanted once it is so.
fn is_final(leaf: &Condition, reading: &Reading, is_wanted: bool) -> bool {
    let AttributeType::State(states) = &reading.kind else {
        return false;
    };
    let mut paths = 0;
    leaf.visit_paths(&mut |_| paths += 1);
    let holds = |state: &str| {
        let mut item = Map::new();
        nested::set(&mut item, &reading.attribute, Value::from(state));
        leaf.holds(&item) == is_wanted
    };
    paths == 1
        && reading.hops.is_empty()
        && !steps(states).any(|(from, to)| holds(from) && !holds(to))
}

fn steps(states: &States) -> impl Iterator<Item = (&str, &str)> {
    let name = |at: usize| states.names.get(at).map(String::as_str);
    let steps = states.steps.iter();
    steps.filter_map(move |(from, to)| name(*from).zip(name(*to)))
}
