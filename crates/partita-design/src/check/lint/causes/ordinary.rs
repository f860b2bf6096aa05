//! Callers who are no administrators.

use std::borrow::Cow;

use partita_core::Value;
use partita_core::expression::{self, Condition, Found, Operand, Path, Step};

use crate::design::reference::CALLER;
use crate::design::{CallerSource, Callers, Design, Rule, Source};
use crate::expression::Formula;
use crate::types::AttributeType;

/// The id of a caller, as good as any.
const ID: &str = "a caller";

/// Everybody of whom `administrators` does not hold. Where a design has no administrators, those who
/// have no role, or that of a new account.
pub(super) struct Ordinary<'d> {
    callers: &'d Callers,
    /// The roles that there are.
    roles: Vec<String>,
    /// The role of a new account.
    first: Option<String>,
}

impl<'d> Ordinary<'d> {
    pub(super) fn of(design: &'d Design) -> Ordinary<'d> {
        let callers = &design.callers;
        let role = match (&callers.role, callers.entity) {
            (CallerSource::Attribute(name), Some(entity)) => design[entity].stored(name),
            _ => None,
        };
        let default = role.and_then(|role| match &role.source {
            Source::Given { default } => default.as_ref().and_then(Formula::literal),
            _ => None,
        });
        let default = default.and_then(Value::as_str).map(str::to_owned);
        let given = design.accounts.as_ref().and_then(|one| one.role.clone());
        let mut roles = callers.roles.clone();
        if let Some(AttributeType::Enum(words)) = role.map(|role| &role.kind) {
            roles.extend(words.iter().cloned());
        }
        Ordinary {
            callers,
            roles,
            first: given.or(default),
        }
    }

    pub(super) fn may_hold(&self, rule: &Rule) -> bool {
        let Rule::When(rule) = rule else {
            return *rule != Rule::Never;
        };
        let Rule::When(administrators) = &self.callers.administrators else {
            let mut roles = [None, self.first.as_deref()].into_iter();
            return roles.any(|role| rule.tree.decide(&Somebody::of(role)) != Some(false));
        };
        let trees = [&rule.tree, &administrators.tree];
        let mut words = self.roles.clone();
        words.extend(self.first.clone());
        trees.iter().for_each(|tree| texts(tree, &mut words));
        words.sort_unstable();
        words.dedup();
        let is_administrator =
            |somebody: &Somebody<'_>| administrators.tree.decide(somebody) == Some(true);
        let mut groups = vec![Vec::new()];
        if trees.iter().any(|tree| asks_for(tree, "groups")) {
            groups.extend(words.iter().map(|word| vec![word.as_str()]));
            // Somebody is in all of them that make no administrator.
            let alone = groups
                .iter()
                .filter(|groups| !is_administrator(&Somebody { role: None, groups }));
            let together = alone.flatten().copied().collect();
            groups.push(together);
        }
        let mut roles = vec![None];
        if trees.iter().any(|tree| asks_for(tree, "role")) {
            roles.extend(words.iter().map(|word| Some(word.as_str())));
        }
        let mut callers = roles.iter().flat_map(|role| {
            groups.iter().map(|groups| Somebody {
                role: *role,
                groups,
            })
        });
        callers.any(|one| !is_administrator(&one) && rule.tree.decide(&one) != Some(false))
    }
}

/// Whether a condition names `caller.role` or `caller.groups`.
fn asks_for(condition: &Condition, word: &str) -> bool {
    let mut is_asked = false;
    condition.visit_paths(&mut |path| {
        let is_such = matches!(&path.steps[..], [Step::Field(name), ..] if *name == *word);
        is_asked |= path.root == CALLER && is_such;
    });
    is_asked
}

/// The texts that a condition compares something with.
fn texts(condition: &Condition, found: &mut Vec<String>) {
    let mut add = |operand: &Operand| {
        if let Operand::Value(Value::S(text), _) = operand {
            found.push(text.clone());
        }
    };
    match condition {
        Condition::All(parts) | Condition::Any(parts) => {
            parts.iter().for_each(|part| texts(part, found));
        }
        Condition::Not(inner) => texts(inner, found),
        Condition::Compare(one, _, two)
        | Condition::BeginsWith(one, two)
        | Condition::Contains(one, two) => [one, two].into_iter().for_each(add),
        Condition::Between(one, low, high) => [one, low, high].into_iter().for_each(add),
        Condition::In(one, others) => {
            add(one);
            others.iter().for_each(add);
        }
        Condition::Exists(_) | Condition::NotExists(_) | Condition::HasType(..) => {}
    }
}

/// What is known of a caller, and of any item.
struct Somebody<'w> {
    role: Option<&'w str>,
    groups: &'w [&'w str],
}

impl<'w> Somebody<'w> {
    fn of(role: Option<&'w str>) -> Somebody<'w> {
        Somebody { role, groups: &[] }
    }
}

impl expression::Scope for Somebody<'_> {
    fn find(&self, path: &Path) -> Found<'_> {
        if path.root != CALLER {
            return Found::Unknown;
        }
        let value = match &path.steps[..] {
            [] => Some(Value::from(ID)),
            [Step::Field(name)] if *name == *"role" => self.role.map(Value::from),
            [Step::Field(name)] if *name == *"groups" => {
                let groups = self.groups.iter().map(|group| Value::from(*group));
                (!self.groups.is_empty()).then(|| Value::L(groups.collect()))
            }
            _ => None,
        };
        value.map_or(Found::Missing, |value| Found::Value(Cow::Owned(value)))
    }
}
