//! Patterns that find mostly what their readers may not see.
//!
//! Rules are decided on every row that is found. Where a rule shows each caller only rows of their
//! own, and the keys of a pattern do not say whose rows are meant, nearly everything that is read
//! is dropped again: a page takes many reads, and may be empty though there are rows further on.
//!
//! A rule that also lets some callers see everything, such as administrators, has its readers.

use partita_core::expression::{Comparator, Condition, Operand};
use partita_core::wording::one;

use crate::check::compile::pattern::one::placed;
use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::pattern::TEXTS;
use crate::design::record::SOURCE;
use crate::design::{Access, Design, EachOver, Pattern, Read, Record, Ref, Rule, SortRange, View};
use crate::expression::{Origin, Predicate, Reading};

pub(crate) fn check(symbols: &Symbols, design: &Design) {
    let scope = Scope { symbols, design };
    for pattern in &design.patterns {
        // A read of one item finds it, or it does not.
        if pattern.one || matches!(pattern.read, Read::Get(_)) {
            continue;
        }
        for record in &pattern.returns {
            scope.judge(pattern, &design[*record]);
        }
    }
}

struct Scope<'w> {
    symbols: &'w Symbols,
    design: &'w Design,
}

/// What a reader gets: the record, and the attributes that are the same in all of its rows.
struct Rows<'w> {
    record: &'w Record,
    bound: Vec<String>,
}

impl<'w> Scope<'w> {
    fn judge(&self, pattern: &Pattern, record: &'w Record) {
        let found = Rows {
            record,
            bound: self.bound(pattern, record),
        };
        let rows = match pattern.followed(record) {
            Some(reference) => self.followed(found, reference),
            None => Some(found),
        };
        let Some(rows) = rows else { return };
        let rules = &rows.record.rules;
        // That there are no rules is reported as such.
        if rules.by_access.is_empty() {
            return;
        }
        let rule = rules.get(Access::Read);
        let title = &rows.record.name;
        let (message, help) = match rule {
            Rule::Public | Rule::SignedIn => return,
            Rule::Never => (
                format!(
                    "nobody may read {}, so nobody sees what this finds",
                    one(title)
                ),
                format!(
                    "write `read = \"…\"` in `[{}.allow]`",
                    self.symbols[rows.record.id].place
                ),
            ),
            Rule::When(rule) => {
                let Some(owner) = self.only_owners(&rule.tree, rule, &rows) else {
                    return;
                };
                (
                    format!(
                        "this finds the `{title}` of everybody, and callers see only their own: `{}`",
                        rule.text
                    ),
                    format!("ask for one `{owner}` in the key, or let a rule allow others to read"),
                )
            }
        };
        let (_, span) = self.symbols[pattern.id];
        self.symbols
            .report(Code::UnseenRows, span, message)
            .help(help)
            .acceptable(vec![vec![format!("pattern.{}", pattern.name)]]);
    }

    /// The attributes of a record that have one value in all the rows of a pattern.
    fn bound(&self, pattern: &Pattern, record: &Record) -> Vec<String> {
        let mut bound = Vec::new();
        if let Read::Query(query) = &pattern.read {
            let record = &self.symbols[record.id];
            let keys = match query.index {
                None => Some((record.keys.partition.as_ref(), record.keys.sort.as_ref())),
                Some(index) => {
                    let keys = record.indexes.iter().find(|keys| keys.index == index);
                    keys.map(|keys| (Some(&keys.partition), keys.sort.as_ref()))
                }
            };
            let (partition, sort) = keys.unwrap_or_default();
            let sort_asked = match &query.sort {
                SortRange::Equals(one) | SortRange::BeginsWith(one) => Some(&one.value),
                _ => None,
            };
            let asked = [
                (partition, Some(&query.partition.value)),
                (sort, sort_asked),
            ];
            for (key, asked) in asked {
                let case = key.and_then(|key| key.only());
                bound.extend(placed(case.map(|case| &case.template), asked));
            }
        }
        if let Some(filter) = &pattern.filter {
            equal(&filter.tree, &mut bound);
        }
        if let Some(view) = &record.view {
            bound_in_source(record, view, &mut bound);
        }
        bound
    }

    /// The items that a ref finds for the rows. `None` where it has several targets.
    fn followed(&self, rows: Rows<'w>, reference: &Ref) -> Option<Rows<'w>> {
        let (record, target) = reference.single()?;
        if reference.name == SOURCE && rows.record.view.is_some() {
            return Some(Rows {
                record: &self.design[record],
                bound: rows.bound,
            });
        }
        let arguments = target.arguments.iter();
        let bound = arguments
            .filter(|argument| rows.bound.contains(&argument.path))
            .map(|argument| argument.part.clone());
        Some(Rows {
            record: &self.design[record],
            bound: bound.collect(),
        })
    }

    /// The attribute that ties every visible row to the caller; `None` where others see rows too,
    /// or where all rows are alike in it.
    fn only_owners(&self, tree: &Condition, rule: &Predicate, rows: &Rows<'_>) -> Option<String> {
        match tree {
            Condition::Any(parts) => {
                let mut owners = parts.iter().map(|part| self.only_owners(part, rule, rows));
                let first = owners.next()??;
                owners.all(|owner| owner.is_some()).then_some(first)
            }
            Condition::All(parts) => {
                let mut parts = parts.iter();
                parts.find_map(|part| self.only_owners(part, rule, rows))
            }
            Condition::Compare(one, Comparator::Equal, two) => {
                let sides = [(one, two), (two, one)];
                let mut owned = sides
                    .into_iter()
                    .filter(|(_, caller)| is_caller(caller, rule));
                owned.find_map(|(row, _)| self.owner(row, rule, rows))
            }
            Condition::Contains(list, caller) if is_caller(caller, rule) => {
                self.owner(list, rule, rows)
            }
            _ => None,
        }
    }

    /// The attribute behind one side of a comparison with the caller, unless it is bound.
    fn owner(&self, row: &Operand, rule: &Predicate, rows: &Rows<'_>) -> Option<String> {
        let reading = reading(row, rule)?;
        if reading.origin != Origin::Item {
            return None;
        }
        // A view has the rules of its source, and so its names.
        let record = self.design.ruling(rows.record);
        let names = self.symbols[record.id].names_read(reading, self.symbols);
        let is_one = record
            .identity
            .iter()
            .all(|part| rows.bound.contains(&part.attribute));
        let is_bound = names.iter().all(|name| rows.bound.contains(name));
        (!is_one && !is_bound)
            .then(|| names.first().cloned())
            .flatten()
    }
}

/// What a view repeats of its source, and the list whose element it is for.
fn bound_in_source(record: &Record, view: &View, bound: &mut Vec<String>) {
    for attribute in &record.attributes {
        if let Some(copied) = attribute.renames()
            && bound.contains(&attribute.name)
        {
            bound.push(copied.to_owned());
        }
    }
    if let Some(each) = &view.each
        && let EachOver::List { reading, .. } = &each.over
        && bound.contains(&each.name)
    {
        bound.push(reading.attribute.clone());
    }
}

fn reading<'p>(operand: &Operand, predicate: &'p Predicate) -> Option<&'p Reading> {
    match operand {
        Operand::Path(path) => predicate.reads.iter().find(|one| one.path == *path),
        Operand::Value(..) | Operand::Size(_) => None,
    }
}

/// Whether it is the caller's id; roles and groups have many members.
fn is_caller(operand: &Operand, predicate: &Predicate) -> bool {
    reading(operand, predicate)
        .is_some_and(|one| one.origin == Origin::Caller && one.attribute.is_empty())
}

/// The attributes that a filter compares with one value.
fn equal(filter: &Condition, bound: &mut Vec<String>) {
    match filter {
        Condition::All(parts) => parts.iter().for_each(|part| equal(part, bound)),
        Condition::Compare(Operand::Path(path), Comparator::Equal, other) => {
            let is_one = match other {
                Operand::Value(..) => true,
                Operand::Path(other) => other.root == TEXTS,
                Operand::Size(_) => false,
            };
            if is_one {
                bound.push(path.to_string());
            }
        }
        _ => {}
    }
}
