//! Conditions: comparisons and functions, joined by AND, OR and NOT.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::parser::Parsed;
use super::{Bindings, Path, Span};
use crate::{Map, Number, Type, Value};

/// A condition over one item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// All of them hold; so does an empty list.
    All(Vec<Condition>),
    /// At least one of them holds.
    Any(Vec<Condition>),
    /// The opposite.
    Not(Box<Condition>),
    /// `a < b`.
    Compare(Operand, Comparator, Operand),
    /// `a BETWEEN low AND high`, both included.
    Between(Operand, Operand, Operand),
    /// `a IN (b, c)`.
    In(Operand, Vec<Operand>),
    /// `attribute_exists(path)`.
    Exists(Path),
    /// `attribute_not_exists(path)`.
    NotExists(Path),
    /// `attribute_type(path, 'S')`.
    HasType(Path, Type),
    /// `begins_with(a, prefix)`.
    BeginsWith(Operand, Operand),
    /// `contains(a, part)`.
    Contains(Operand, Operand),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparator {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparator {
    pub(super) const SYMBOLS: [(&'static str, Comparator); 6] = [
        ("=", Comparator::Equal),
        ("<>", Comparator::NotEqual),
        ("<", Comparator::Less),
        ("<=", Comparator::LessOrEqual),
        (">", Comparator::Greater),
        (">=", Comparator::GreaterOrEqual),
    ];

    /// The comparator as it is written.
    pub fn symbol(self) -> &'static str {
        Self::SYMBOLS[self as usize].0
    }

    /// The comparator that holds with the sides exchanged.
    pub(super) fn mirrored(self) -> Comparator {
        match self {
            Comparator::Less => Comparator::Greater,
            Comparator::LessOrEqual => Comparator::GreaterOrEqual,
            Comparator::Greater => Comparator::Less,
            Comparator::GreaterOrEqual => Comparator::LessOrEqual,
            Comparator::Equal | Comparator::NotEqual => self,
        }
    }

    fn accepts(self, order: Ordering) -> bool {
        match self {
            Comparator::Equal => order.is_eq(),
            Comparator::NotEqual => order.is_ne(),
            Comparator::Less => order.is_lt(),
            Comparator::LessOrEqual => order.is_le(),
            Comparator::Greater => order.is_gt(),
            Comparator::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The value at a path.
    Path(Path),
    /// A value, and where it was written.
    Value(Value, Span),
    /// `size(path)`.
    Size(Path),
}

impl Operand {
    /// A value without a place in a text.
    pub fn value(value: impl Into<Value>) -> Self {
        Operand::Value(value.into(), Span::default())
    }
}

/// What a scope knows of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum Found<'a> {
    /// The value.
    Value(Cow<'a, Value>),
    /// There is certainly no value.
    Missing,
    /// Not known here: the item was not read yet, or there is no caller.
    Unknown,
}

/// What a condition is read from.
pub trait Scope {
    /// Looks a path up.
    fn find(&self, path: &Path) -> Found<'_>;
}

impl Scope for Map {
    fn find(&self, path: &Path) -> Found<'_> {
        match path.find(self) {
            Some(value) => Found::Value(Cow::Borrowed(value)),
            None => Found::Missing,
        }
    }
}

/// Yes, no, or not known yet (`None`).
pub type Truth = Option<bool>;

impl Condition {
    /// Reads a condition.
    pub fn parse(text: &str, bindings: &Bindings<'_>) -> Parsed<Condition> {
        bindings.condition(text)
    }

    /// `path = value`.
    pub fn equals(path: Path, value: impl Into<Value>) -> Condition {
        Condition::Compare(
            Operand::Path(path),
            Comparator::Equal,
            Operand::value(value),
        )
    }

    /// Both conditions, flattened.
    #[must_use]
    pub fn and(self, other: Condition) -> Condition {
        let mut parts = Vec::new();
        for side in [self, other] {
            match side {
                Condition::All(inner) => parts.extend(inner),
                one => parts.push(one),
            }
        }
        match parts.len() {
            1 => parts.remove(0),
            _ => Condition::All(parts),
        }
    }

    /// Whether the condition certainly holds.
    pub fn holds(&self, scope: &impl Scope) -> bool {
        self.decide(scope) == Some(true)
    }

    /// Whether the condition holds, as far as the scope knows.
    ///
    /// AND and OR decide as soon as one side does, so `public = true OR owner = caller` is
    /// decided for a public item without a caller.
    pub fn decide(&self, scope: &impl Scope) -> Truth {
        match self {
            Condition::All(parts) => join(parts, scope, false),
            Condition::Any(parts) => join(parts, scope, true),
            Condition::Not(inner) => inner.decide(scope).map(|truth| !truth),
            _ => self.decide_alone(scope),
        }
    }

    /// As [`Condition::decide`], for a condition without others inside. It is apart, so that the
    /// stack holds many of the other.
    fn decide_alone(&self, scope: &impl Scope) -> Truth {
        match self {
            Condition::All(_) | Condition::Any(_) | Condition::Not(_) => self.decide(scope),
            Condition::Compare(left, comparator, right) => {
                let (left, right) = (resolve(left, scope)?, resolve(right, scope)?);
                Some(compare(left.as_deref(), *comparator, right.as_deref()))
            }
            Condition::Between(value, low, high) => {
                let value = resolve(value, scope)?;
                let (low, high) = (resolve(low, scope)?, resolve(high, scope)?);
                Some(
                    compare(value.as_deref(), Comparator::GreaterOrEqual, low.as_deref())
                        && compare(value.as_deref(), Comparator::LessOrEqual, high.as_deref()),
                )
            }
            Condition::In(value, list) => {
                let value = resolve(value, scope)?;
                let mut truth = Some(false);
                for candidate in list {
                    match resolve(candidate, scope) {
                        None => truth = None,
                        Some(candidate) => {
                            if compare(value.as_deref(), Comparator::Equal, candidate.as_deref()) {
                                return Some(true);
                            }
                        }
                    }
                }
                truth
            }
            Condition::Exists(path) => known(path, scope).map(|value| value.is_some()),
            Condition::NotExists(path) => known(path, scope).map(|value| value.is_none()),
            Condition::HasType(path, kind) => {
                known(path, scope).map(|value| value.is_some_and(|value| value.kind() == *kind))
            }
            Condition::BeginsWith(value, prefix) => {
                let (value, prefix) = (resolve(value, scope)?, resolve(prefix, scope)?);
                Some(begins_with(value.as_deref(), prefix.as_deref()))
            }
            Condition::Contains(value, part) => {
                let (value, part) = (resolve(value, scope)?, resolve(part, scope)?);
                Some(contains(value.as_deref(), part.as_deref()))
            }
        }
    }

    /// Calls `visit` with every path that the condition reads.
    pub fn visit_paths<'a>(&'a self, visit: &mut impl FnMut(&'a Path)) {
        let operand = |operand: &'a Operand, visit: &mut dyn FnMut(&'a Path)| match operand {
            Operand::Path(path) | Operand::Size(path) => visit(path),
            Operand::Value(..) => {}
        };
        match self {
            Condition::All(parts) | Condition::Any(parts) => {
                parts.iter().for_each(|part| part.visit_paths(visit));
            }
            Condition::Not(inner) => inner.visit_paths(visit),
            Condition::Compare(left, _, right)
            | Condition::BeginsWith(left, right)
            | Condition::Contains(left, right) => {
                operand(left, visit);
                operand(right, visit);
            }
            Condition::Between(value, low, high) => {
                for side in [value, low, high] {
                    operand(side, visit);
                }
            }
            Condition::In(value, list) => {
                operand(value, visit);
                list.iter().for_each(|side| operand(side, visit));
            }
            Condition::Exists(path) | Condition::NotExists(path) | Condition::HasType(path, _) => {
                visit(path);
            }
        }
    }
}

/// AND stops at the first false, OR at the first true; otherwise one unknown leaves it open.
fn join(parts: &[Condition], scope: &impl Scope, stop: bool) -> Truth {
    let mut truth = Some(!stop);
    for part in parts {
        match part.decide(scope) {
            Some(decided) if decided == stop => return Some(stop),
            Some(_) => {}
            None => truth = None,
        }
    }
    truth
}

/// The value at a path: `None` when unknown, `Some(None)` when missing.
fn known<'a>(path: &Path, scope: &'a impl Scope) -> Option<Option<Cow<'a, Value>>> {
    match scope.find(path) {
        Found::Value(value) => Some(Some(value)),
        Found::Missing => Some(None),
        Found::Unknown => None,
    }
}

fn resolve<'a>(operand: &'a Operand, scope: &'a impl Scope) -> Option<Option<Cow<'a, Value>>> {
    match operand {
        Operand::Path(path) => known(path, scope),
        Operand::Value(value, _) => Some(Some(Cow::Borrowed(value))),
        Operand::Size(path) => Some(
            known(path, scope)?
                .and_then(|value| value.size())
                .map(|size| Value::N(Number::from(size as u64)))
                .map(Cow::Owned),
        ),
    }
}

/// A missing side makes every comparison false but `<>`, which DynamoDB takes as true; so it
/// does with values of different types.
fn compare(left: Option<&Value>, comparator: Comparator, right: Option<&Value>) -> bool {
    let (Some(left), Some(right)) = (left, right) else {
        return comparator == Comparator::NotEqual;
    };
    match comparator {
        Comparator::Equal => left == right,
        Comparator::NotEqual => left != right,
        _ => order(left, right).is_some_and(|order| comparator.accepts(order)),
    }
}

/// The order of two scalars of one type.
fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::S(left), Value::S(right)) => Some(left.cmp(right)),
        (Value::N(left), Value::N(right)) => Some(left.cmp(right)),
        (Value::B(left), Value::B(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

fn begins_with(value: Option<&Value>, prefix: Option<&Value>) -> bool {
    match (value, prefix) {
        (Some(Value::S(value)), Some(Value::S(prefix))) => value.starts_with(prefix.as_str()),
        (Some(Value::B(value)), Some(Value::B(prefix))) => value.starts_with(prefix),
        _ => false,
    }
}

fn contains(value: Option<&Value>, part: Option<&Value>) -> bool {
    match (value, part) {
        (Some(Value::S(value)), Some(Value::S(part))) => value.contains(part.as_str()),
        (Some(Value::B(value)), Some(Value::B(part))) => {
            part.is_empty()
                || value
                    .windows(part.len())
                    .any(|window| window == part.as_slice())
        }
        (Some(Value::L(list)), Some(part)) => list.contains(part),
        (Some(Value::Ss(set)), Some(Value::S(part))) => set.contains(part),
        (Some(Value::Ns(set)), Some(Value::N(part))) => set.contains(part),
        (Some(Value::Bs(set)), Some(Value::B(part))) => set.contains(part),
        _ => false,
    }
}
