//! Attributes that a rule hides, and that another attribute shows or a pattern lets its readers find
//! out.
//!
//! A rule such as `"read email" = "userId = caller"` leaves an attribute out of what others see.
//! Where they may ask for rows by its value, or get them in its order, they can find it out by
//! asking often enough.

use partita_core::expression::{Condition, Path};
use partita_core::wording::one;

use super::clause::Alternatives;
use super::item::Item;
use crate::check::declare::key::Key;
use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::pattern::TEXTS;
use crate::design::{Access, Attribute, AttributeRule, Design, Pattern, Read, Record, RecordId};
use crate::expression::{Origin, Predicate};
use crate::stored::is_inside;
use crate::template::Template;

/// Warns of attributes that show what a rule hides, and of patterns whose readers can find it out.
pub(super) fn check(symbols: &Symbols, design: &Design) {
    for record in &design.records {
        let declared = record.attributes.iter().filter(|one| one.is_declared());
        for attribute in declared.filter(|one| !one.secret) {
            shown(symbols, design, record, attribute);
        }
    }
    for pattern in &design.patterns {
        let mut records = pattern.returns.iter();
        let found = records.find_map(|record| guessed(symbols, design, pattern, *record));
        let Some((name, rule)) = found else { continue };
        let (_, span) = symbols[pattern.id];
        let message = format!(
            "whoever reads these rows need not be allowed to read `{name}`, and this tells which have which: `{}`",
            rule.rule.text()
        );
        symbols
            .report(Code::RevealedSecret, span, message)
            .help(format!(
                "write `allow` with the rule that hides `{name}`, or ask for the rows by something else"
            ))
            .acceptable(vec![vec![format!("pattern.{}", pattern.name)]]);
    }
}

/// Warns of a value that is computed from what a rule hides, and is not hidden by that rule.
fn shown(symbols: &Symbols, design: &Design, record: &Record, attribute: &Attribute) {
    let row = Item::written(design, record.id);
    let rules = &row.record.rules;
    let mut readers = vec![Alternatives::of(rules.get(Access::Read), &row)];
    let own = reads_of(&rules.by_attribute, &attribute.name);
    readers.extend(own.map(|rule| Alternatives::of(&rule.rule, &row)));
    for reading in attribute.reads() {
        let from = match reading.hops.as_slice() {
            [] if reading.origin == Origin::Item => vec![row.clone()],
            [hop] => match design.reference(hop) {
                Some(reference) => row.through(&reference.name, &[]),
                None => continue,
            },
            _ => continue,
        };
        let found = from.iter().find_map(|item| {
            let mut hiding = reads_of(&item.record.rules.by_attribute, &reading.attribute);
            hiding.find(|rule| {
                let allowed = Alternatives::of(&rule.rule, item);
                !readers.iter().any(|reader| reader.imply(&allowed))
            })
        });
        let Some(rule) = found else { continue };
        let (declared, name) = (&symbols[record.id], &attribute.name);
        let message = format!(
            "whoever reads {} need not be allowed to read `{}`, and `{name}` shows it: `{}`",
            one(&record.name),
            reading.path,
            rule.rule.text()
        );
        symbols
            .report(Code::RevealedSecret, declared.span_of(name), message)
            .help(format!(
                "give `\"read {name}\"` the same rule, or make it `secret`"
            ))
            .acceptable(vec![vec![format!("{}.{name}", declared.place)]]);
        return;
    }
}

/// The rules for reading an attribute, or what it is inside of.
fn reads_of<'d>(
    rules: &'d [AttributeRule],
    name: &'d str,
) -> impl Iterator<Item = &'d AttributeRule> {
    let reads = rules.iter().filter(|rule| !rule.writes);
    reads.filter(move |rule| rule.attributes.iter().any(|one| is_inside(name, one)))
}

/// An attribute that a pattern lets some of its readers find out, and the rule that hides it.
fn guessed<'d>(
    symbols: &Symbols,
    design: &'d Design,
    pattern: &'d Pattern,
    record: RecordId,
) -> Option<(String, &'d AttributeRule)> {
    let row = Item::written(design, record);
    let shown = match &pattern.follow {
        Some(follow) => row.through(&follow.name, &[]),
        None => vec![row.clone()],
    };
    let readers: Vec<Alternatives> = shown
        .iter()
        .map(|item| Alternatives::of(item.record.rules.get(Access::Read), item))
        .collect();
    let found_by = pattern.rule(record);
    let found_by = found_by.map(|rule| Alternatives::of(rule, &row));
    let mut asked = keys(symbols, pattern, record);
    asked.extend(pattern.sort.iter().map(|order| order.attribute.clone()));
    if let Some(filter) = &pattern.filter {
        filtered(&filter.tree, filter, &mut asked);
    }
    asked.into_iter().find_map(|name| {
        let hides = |rule: &&AttributeRule| {
            let allowed = Alternatives::of(&rule.rule, &row);
            let is_meant = rule.attributes.iter().any(|one| is_inside(&name, one));
            let is_found = found_by.as_ref().is_some_and(|one| one.imply(&allowed));
            let is_read = readers.iter().all(|reader| reader.imply(&allowed));
            !rule.writes && is_meant && !is_found && !is_read
        };
        let rule = row.record.rules.by_attribute.iter().find(hides)?;
        Some((name, rule))
    })
}

/// The attributes in the keys of a record for which a pattern takes values.
fn keys(symbols: &Symbols, pattern: &Pattern, record: RecordId) -> Vec<String> {
    let record = &symbols[record];
    let (partition, sort) = (record.keys.partition.as_ref(), record.keys.sort.as_ref());
    match &pattern.read {
        Read::Scan { .. } => Vec::new(),
        Read::Get(keys) => {
            let sort = placed(sort, &keys.sort);
            placed(partition, &keys.partition).chain(sort).collect()
        }
        Read::Query(query) => {
            let (partition, sort) = match &query.index {
                None => (partition, sort),
                Some(index) => {
                    let keys = record.indexes.iter().find(|keys| keys.index == *index);
                    keys.map(|keys| (Some(&keys.partition), keys.sort.as_ref()))
                        .unwrap_or_default()
                }
            };
            let sorts = query.sort.templates();
            placed(partition, &query.partition.value)
                .chain(sorts.flat_map(|asked| placed(sort, asked)))
                .collect()
        }
    }
}

/// The parts of a key for which a pattern has parameters.
fn placed(key: Option<&Key>, asked: &Template) -> impl Iterator<Item = String> + use<> {
    let count = asked.holes().count();
    let mut names = Vec::new();
    for case in key.iter().flat_map(|key| &key.cases) {
        for hole in case.template.holes().take(count) {
            hole.value
                .visit_paths(&mut |path| names.push(path.to_string()));
        }
    }
    names.into_iter()
}

/// The attributes that a filter compares with a parameter.
fn filtered(tree: &Condition, filter: &Predicate, names: &mut Vec<String>) {
    match tree {
        Condition::All(parts) | Condition::Any(parts) => {
            for part in parts {
                filtered(part, filter, names);
            }
        }
        Condition::Not(inner) => filtered(inner, filter, names),
        single => {
            let mut paths: Vec<&Path> = Vec::new();
            single.visit_paths(&mut |path| paths.push(path));
            if paths.iter().any(|path| path.root == TEXTS) {
                let reads = filter.reads.iter();
                let own = reads.filter(|one| one.origin == Origin::Item);
                let compared = own.filter(|one| paths.contains(&&one.path));
                names.extend(compared.map(|one| one.attribute.clone()));
            }
        }
    }
}
