//! A rule, as far as it goes for one kind of caller.

use std::borrow::Cow;

use partita_core::Value;
use partita_core::expression::{Comparator, Condition, Found, Path, Scope, Step};
use partita_design::Design;
use partita_design::design::Rule;
use partita_design::expression::Predicate;

use super::{Outcome, Persona, print};

/// What is left of a condition once the caller is known.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Narrowed {
    /// It holds, or it does not.
    Decided(bool),
    /// The condition is on the caller, and there is none. Neither it nor its opposite allows
    /// anything.
    Unknown,
    /// The item decides.
    Open(Box<Condition>),
}

impl Narrowed {
    fn open(condition: Condition) -> Narrowed {
        Narrowed::Open(Box::new(condition))
    }
}

/// What is left of a rule.
pub(super) fn narrow(design: &Design, rule: &Rule, persona: Persona) -> Narrowed {
    match rule {
        Rule::Public => Narrowed::Decided(true),
        Rule::SignedIn => Narrowed::Decided(persona != Persona::Nobody),
        Rule::Never => Narrowed::Decided(false),
        Rule::When(rule) => {
            let narrowing = Narrowing {
                design,
                rule,
                persona,
            };
            narrowing.condition(&rule.tree)
        }
    }
}

/// What is said to a caller whom one of several sets of rules must let pass.
pub(super) fn outcome(ways: impl Iterator<Item = Vec<Narrowed>>) -> Outcome {
    match any(ways.map(|rules| all(rules.into_iter()))) {
        Narrowed::Decided(true) => Outcome::Yes,
        Narrowed::Decided(false) | Narrowed::Unknown => Outcome::No,
        Narrowed::Open(open) => Outcome::If(print::condition(&open)),
    }
}

/// A rule, and who calls.
struct Narrowing<'a> {
    design: &'a Design,
    rule: &'a Predicate,
    persona: Persona,
}

impl Narrowing<'_> {
    fn condition(&self, tree: &Condition) -> Narrowed {
        match tree {
            Condition::All(parts) => all(parts.iter().map(|part| self.condition(part))),
            Condition::Any(parts) => any(parts.iter().map(|part| self.condition(part))),
            Condition::Not(inner) => match self.condition(inner) {
                Narrowed::Decided(truth) => Narrowed::Decided(!truth),
                Narrowed::Unknown => Narrowed::Unknown,
                Narrowed::Open(open) => Narrowed::open(Condition::Not(open)),
            },
            alone => self.single(alone),
        }
    }

    /// A condition without others inside.
    fn single(&self, tree: &Condition) -> Narrowed {
        let (mut asks_caller, mut asks_record) = (false, false);
        tree.visit_paths(&mut |path| {
            let is_of_caller = self.rule.is_of_caller(self.design, path);
            asks_caller |= is_of_caller;
            asks_record |= is_of_caller && !is_caller(path);
        });
        if !asks_caller {
            return Narrowed::open(tree.clone());
        }
        if self.persona == Persona::Nobody {
            return Narrowed::Unknown;
        }
        // The owner has records there, and what they say decides; the others have none.
        let is_owner = self.persona == Persona::Owner;
        if asks_record && is_owner {
            return Narrowed::open(tree.clone());
        }
        if let Some(truth) = tree.decide(self) {
            return Narrowed::Decided(truth);
        }
        // The caller is compared with an attribute of the item. Only the owner is equal to it.
        match tree {
            Condition::Compare(_, Comparator::Equal, _)
            | Condition::In(..)
            | Condition::Contains(..) => Narrowed::Decided(is_owner),
            Condition::Compare(_, Comparator::NotEqual, _) => Narrowed::Decided(!is_owner),
            _ => Narrowed::open(tree.clone()),
        }
    }
}

fn all(parts: impl Iterator<Item = Narrowed>) -> Narrowed {
    let mut open = Vec::new();
    let mut is_unknown = false;
    for part in parts {
        match part {
            Narrowed::Decided(true) => {}
            Narrowed::Decided(false) => return Narrowed::Decided(false),
            Narrowed::Unknown => is_unknown = true,
            Narrowed::Open(part) => add(&mut open, *part),
        }
    }
    match open.len() {
        _ if is_unknown => Narrowed::Unknown,
        0 => Narrowed::Decided(true),
        1 => Narrowed::open(open.remove(0)),
        _ => Narrowed::open(Condition::All(open)),
    }
}

fn any(parts: impl Iterator<Item = Narrowed>) -> Narrowed {
    let mut open = Vec::new();
    let mut is_unknown = false;
    for part in parts {
        match part {
            Narrowed::Decided(true) => return Narrowed::Decided(true),
            Narrowed::Decided(false) => {}
            Narrowed::Unknown => is_unknown = true,
            Narrowed::Open(part) => add(&mut open, *part),
        }
    }
    match open.len() {
        0 if is_unknown => Narrowed::Unknown,
        0 => Narrowed::Decided(false),
        1 => Narrowed::open(open.remove(0)),
        _ => Narrowed::open(Condition::Any(open)),
    }
}

/// Two records of a pattern often have the same rule, in two places of the file.
fn add(open: &mut Vec<Condition>, part: Condition) {
    let text = print::condition(&part);
    if !open.iter().any(|known| print::condition(known) == text) {
        open.push(part);
    }
}

fn is_caller(path: &Path) -> bool {
    path.root == "caller"
}

/// What is known of a caller, and nothing else.
impl Scope for Narrowing<'_> {
    fn find(&self, path: &Path) -> Found<'_> {
        if !self.rule.is_of_caller(self.design, path) {
            return Found::Unknown;
        }
        if !is_caller(path) {
            return Found::Missing;
        }
        let admin = || Value::from("admin");
        match (path.steps.as_slice(), self.persona) {
            ([], _) => Found::Value(Cow::Owned(Value::from("caller"))),
            ([Step::Field(name)], Persona::Admin) if name == "role" => {
                Found::Value(Cow::Owned(admin()))
            }
            ([Step::Field(name)], persona) if name == "groups" => {
                let groups = match persona {
                    Persona::Admin => vec![admin()],
                    _ => Vec::new(),
                };
                Found::Value(Cow::Owned(Value::L(groups)))
            }
            _ => Found::Missing,
        }
    }
}
