//! Conditions as alternatives of facts, and what follows from facts.

use partita_core::expression::{Comparator, Condition, Operand, Path};

use super::item::{CALLER, Item, literal};
use crate::design::Rule;
use crate::expression::Predicate;

/// Alternatives that are held against each other. A condition with more is not judged.
const ALTERNATIVES_MAX: usize = 256;

/// Something that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    /// Two things are the same.
    Equal(String, String),
    /// Anything else, as it is spelled.
    Other(String),
}

impl Fact {
    pub(super) fn equal(one: String, two: String) -> Fact {
        Fact::Equal(one, two)
    }
}

/// Sets of facts of which one holds.
#[derive(Clone, Debug)]
pub(super) struct Alternatives(Option<Vec<Vec<Fact>>>);

/// How it is spelled that something is there, or is not.
const EXISTS: &str = "exists ";
const MISSING: &str = "missing ";

/// Conditions whose first operand is there wherever they hold, as they are spelled.
const PRESENT_ONLY: [&str; 9] = [
    "<", "<=", ">", ">=", "between", "in", "begins", "contains", "type",
];

/// That somebody calls.
const SIGNED_IN: &str = "signed-in";

impl Alternatives {
    /// What holds where a rule over an item allows something.
    pub(super) fn of(rule: &Rule, item: &Item<'_>) -> Alternatives {
        Alternatives(match rule {
            Rule::Public => Some(vec![Vec::new()]),
            Rule::SignedIn => Some(vec![vec![Fact::Other(SIGNED_IN.to_owned())]]),
            Rule::Never => Some(Vec::new()),
            Rule::When(rule) => Spelling { rule, item }.alternatives(&rule.tree),
        })
    }

    /// The same, where these facts hold too.
    pub(super) fn knowing(mut self, facts: &[Fact]) -> Alternatives {
        for alternative in self.0.iter_mut().flatten() {
            alternative.extend(facts.iter().cloned());
        }
        self
    }

    /// Whether one of the others holds, whichever of these does.
    pub(super) fn imply(&self, others: &Alternatives) -> bool {
        let (Some(these), Some(others)) = (&self.0, &others.0) else {
            return false;
        };
        these
            .iter()
            .filter(|known| is_possible(known))
            .all(|known| {
                let follows = |facts: &Vec<Fact>| facts.iter().all(|fact| follows(fact, known));
                others.iter().any(follows)
            })
    }
}

/// Whether facts can hold together: nothing is there and missing.
fn is_possible(facts: &[Fact]) -> bool {
    let is_told = |text: String| facts.contains(&Fact::Other(text));
    !facts.iter().any(|fact| match fact {
        Fact::Other(text) => match text.strip_prefix(EXISTS) {
            Some(path) => is_told(format!("{MISSING}{path}")),
            None => false,
        },
        Fact::Equal(..) => false,
    })
}

/// Whether a fact follows from others.
fn follows(fact: &Fact, known: &[Fact]) -> bool {
    match fact {
        Fact::Equal(one, two) => same_as(one, known).contains(&two.as_str()),
        Fact::Other(text) if text == SIGNED_IN => known.iter().any(|fact| match fact {
            Fact::Equal(one, two) => is_callers(one) || is_callers(two),
            Fact::Other(text) => text == SIGNED_IN || text.contains(CALLER),
        }),
        Fact::Other(text) => {
            let is_there = |path: &str| known.iter().any(|fact| shows(fact, path));
            known.contains(fact) || text.strip_prefix(EXISTS).is_some_and(is_there)
        }
    }
}

/// Whether a fact holds only where something is there, because nothing is equal to what is missing.
/// An attribute that is the caller is missing where nobody calls.
fn shows(fact: &Fact, path: &str) -> bool {
    match fact {
        Fact::Equal(one, two) => (one == path && two != CALLER) || (two == path && one != CALLER),
        Fact::Other(text) => {
            let (name, operands) = text.split_once('(').unwrap_or((text, ""));
            let first = operands.strip_prefix(path);
            PRESENT_ONLY.contains(&name) && first.is_some_and(|rest| rest.starts_with(", "))
        }
    }
}

fn is_callers(text: &str) -> bool {
    // A record of the caller's own is spelled with what it is found by: `Member(orgId, caller).role`.
    let mut words = text.split(['(', ')', ',', '.', ' ']);
    words.any(|word| word == CALLER)
}

/// Everything that is known to be the same as something.
fn same_as<'f>(one: &'f str, known: &'f [Fact]) -> Vec<&'f str> {
    let mut same = vec![one];
    let mut at = 0;
    while at < same.len() {
        for fact in known {
            let Fact::Equal(left, right) = fact else {
                continue;
            };
            for (from, to) in [(left, right), (right, left)] {
                if from == same[at] && !same.contains(&to.as_str()) {
                    same.push(to);
                }
            }
        }
        at += 1;
    }
    same
}

/// The facts that hold wherever a condition does.
pub(super) fn certain(tree: &Condition, rule: &Predicate, item: &Item<'_>) -> Vec<Fact> {
    let spelling = Spelling { rule, item };
    match tree {
        Condition::All(parts) => {
            let parts = parts.iter();
            parts.flat_map(|part| certain(part, rule, item)).collect()
        }
        Condition::Any(_) => Vec::new(),
        single => vec![spelling.fact(single)],
    }
}

/// How a condition over an item is spelled in terms of the item that is written.
struct Spelling<'s, 'd> {
    rule: &'s Predicate,
    item: &'s Item<'d>,
}

impl Spelling<'_, '_> {
    fn alternatives(&self, tree: &Condition) -> Option<Vec<Vec<Fact>>> {
        let found = match tree {
            Condition::Any(parts) => {
                let parts = parts.iter().map(|part| self.alternatives(part));
                parts
                    .collect::<Option<Vec<_>>>()?
                    .into_iter()
                    .flatten()
                    .collect()
            }
            Condition::All(parts) => {
                let mut all = vec![Vec::new()];
                for part in parts {
                    let part = self.alternatives(part)?;
                    let joined = all.iter().flat_map(|facts: &Vec<Fact>| {
                        part.iter().map(|more| [facts.as_slice(), more].concat())
                    });
                    all = joined.collect();
                    if all.len() > ALTERNATIVES_MAX {
                        return None;
                    }
                }
                all
            }
            Condition::In(one, others) => {
                let others = others.iter();
                let facts = others.map(|other| self.equal(one, other));
                facts.map(|fact| vec![fact]).collect()
            }
            single => vec![vec![self.fact(single)]],
        };
        (found.len() <= ALTERNATIVES_MAX).then_some(found)
    }

    fn equal(&self, one: &Operand, two: &Operand) -> Fact {
        Fact::equal(self.operand(one), self.operand(two))
    }

    fn fact(&self, single: &Condition) -> Fact {
        match single {
            Condition::Compare(one, Comparator::Equal, two) => self.equal(one, two),
            other => Fact::Other(self.text(other)),
        }
    }

    fn text(&self, tree: &Condition) -> String {
        let operands = |parts: &[&Operand]| -> String {
            let parts: Vec<String> = parts.iter().map(|part| self.operand(part)).collect();
            parts.join(", ")
        };
        let all = |parts: &[Condition]| -> String {
            let parts: Vec<String> = parts.iter().map(|part| self.text(part)).collect();
            parts.join(", ")
        };
        match tree {
            Condition::All(parts) => format!("all({})", all(parts)),
            Condition::Any(parts) => format!("any({})", all(parts)),
            Condition::Not(inner) => format!("not({})", self.text(inner)),
            Condition::Compare(one, comparator, two) => {
                format!("{}({})", comparator.symbol(), operands(&[one, two]))
            }
            Condition::Between(one, low, high) => {
                format!("between({})", operands(&[one, low, high]))
            }
            Condition::In(one, others) => {
                let others: Vec<&Operand> = std::iter::once(one).chain(others).collect();
                format!("in({})", operands(&others))
            }
            Condition::Exists(path) => format!("{EXISTS}{}", self.path(path)),
            Condition::NotExists(path) => format!("{MISSING}{}", self.path(path)),
            Condition::HasType(path, kind) => {
                format!("type({}, {})", self.path(path), kind.letters())
            }
            Condition::BeginsWith(one, two) => format!("begins({})", operands(&[one, two])),
            Condition::Contains(one, two) => format!("contains({})", operands(&[one, two])),
        }
    }

    fn operand(&self, operand: &Operand) -> String {
        match operand {
            Operand::Path(path) => self.path(path),
            Operand::Size(path) => format!("size({})", self.path(path)),
            Operand::Value(value, _) => literal(value),
        }
    }

    fn path(&self, path: &Path) -> String {
        let reading = self.rule.reads.iter().find(|one| one.path == *path);
        match reading {
            Some(reading) => self.item.reading(reading),
            None => path.to_string(),
        }
    }
}
