//! Values and conditions of a compiled design.
//!
//! A value is an [`Expr`]: DynamoDB's SET arithmetic, `|` for what is taken when something is
//! missing, and a few functions. A condition is DynamoDB's own [`Condition`], read from the same
//! [`Scope`]. All names in both are resolved: an attribute has the name that it is stored
//! by, at every step of a path.
//!
//! | path | means |
//! |---|---|
//! | `title`, `stats.reads` | an attribute of the item that is being written |
//! | `old.title` | what the attribute was before |
//! | `story.authorId` | an attribute of the item that the ref `story` leads to |
//! | `now`, `caller`, `caller.role` | the time, and the one who calls |
//! | `tag`, `amount` | an element of an `each`, a parameter of an action |
//!
//! What an expression reads is listed beside it as [`Reading`]s.

mod print;
mod repath;

use std::borrow::Cow;

use partita_core::expression::{Condition, Found, Path, Scope};
use partita_core::{Number, Value};

use crate::design::{RecordId, RefId};
use crate::template::Template;
use crate::time::{self, TimeForm};
use crate::types::AttributeType;

/// A value, computed.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant of the design.
    Literal(Value),
    /// The value at a path.
    Path(Path),
    /// The number with the other sign.
    Negative(Box<Expr>),
    /// Two numbers added, or a time and a span of time.
    Plus(Box<Expr>, Box<Expr>),
    /// Two numbers subtracted, or a span of time from a time.
    Minus(Box<Expr>, Box<Expr>),
    /// A function.
    Call(Function, Vec<Expr>),
    /// The first that is there: `a | b`.
    First(Vec<Expr>),
    /// A time that is stored as a number, as a timestamp.
    Time(Box<Expr>, TimeForm),
    /// A text with placeholders.
    Text(Template),
}

/// The functions of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// The smallest of some numbers.
    Min,
    /// The largest of some numbers.
    Max,
    /// How many characters or elements there are.
    Size,
    /// The text in lower case.
    Lower,
    /// The text without spaces around it.
    Trim,
    /// The time that a ULID carries: when it was made.
    Time,
    /// So many days.
    Days,
    /// So many hours.
    Hours,
    /// So many minutes.
    Minutes,
}

impl Function {
    /// The functions and their names.
    pub const WORDS: [(Function, &'static str); 9] = [
        (Function::Min, "min"),
        (Function::Max, "max"),
        (Function::Size, "size"),
        (Function::Lower, "lower"),
        (Function::Trim, "trim"),
        (Function::Time, "time"),
        (Function::Days, "days"),
        (Function::Hours, "hours"),
        (Function::Minutes, "minutes"),
    ];

    /// The function of that name.
    pub fn find(word: &str) -> Option<Function> {
        let found = Self::WORDS.iter().find(|(_, known)| *known == word);
        found.map(|(function, _)| *function)
    }

    /// The word in expressions.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize].1
    }

    /// The milliseconds of one unit, where it makes a span of time.
    pub fn unit_millis(self) -> Option<i64> {
        match self {
            Function::Days => Some(86_400_000),
            Function::Hours => Some(3_600_000),
            Function::Minutes => Some(60_000),
            _ => None,
        }
    }
}

/// Something that an expression reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The path as the expression has it.
    pub path: Path,
    /// Where the path begins.
    pub origin: Origin,
    /// The refs that are followed from there.
    pub hops: Vec<Hop>,
    /// The attribute at the end, with dots; empty where the origin itself is the value.
    pub attribute: String,
    /// What it may be.
    pub kind: AttributeType,
    /// Whether it may be missing.
    pub optional: bool,
    /// Whether the attribute is a part of the last target's identity, and so is known without
    /// reading that target.
    pub by_key: bool,
    /// Whether the attribute is never shown.
    pub secret: bool,
}

/// Where a path begins.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The item as it will be.
    Item,
    /// The item as it was.
    Old,
    /// The time of the write.
    Now,
    /// The one who calls.
    Caller,
    /// A parameter of an action or a pattern.
    Parameter(String),
    /// The element of an `each`.
    Element(String),
}

/// One step through a ref.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hop {
    /// The name of the ref.
    pub name: String,
    /// Whose ref it is, and which; `None` for one over the parameters of an action.
    pub reference: Option<(RecordId, RefId)>,
}

/// A condition with what it reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicate {
    /// The condition.
    pub tree: Condition,
    /// What it reads.
    pub reads: Vec<Reading>,
    /// The condition as the file has it, for messages.
    pub text: String,
}

/// A value with what it reads; the first case that holds is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// The cases. A plain value is one case without a condition.
    pub cases: Vec<Case>,
    /// What values and conditions read.
    pub reads: Vec<Reading>,
}

/// One case of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The case is taken when this holds, or always.
    pub when: Option<Predicate>,
    /// The value.
    pub is: Expr,
}

impl Predicate {
    /// Whether the condition certainly holds.
    pub fn holds(&self, scope: &impl Scope) -> bool {
        self.tree.holds(scope)
    }

    /// The attributes of the item itself that it reads.
    pub fn own_attributes(&self) -> impl Iterator<Item = &str> {
        own_attributes(&self.reads)
    }
}

impl Formula {
    /// A plain value.
    pub fn plain(is: Expr, reads: Vec<Reading>) -> Formula {
        Formula {
            cases: vec![Case { when: None, is }],
            reads,
        }
    }

    /// The value; `None` when it is missing.
    pub fn value(&self, scope: &impl Scope) -> Option<Value> {
        let case = self.cases.iter().find(|case| {
            let when = case.when.as_ref();
            when.is_none_or(|when| when.holds(scope))
        });
        case?.is.value(scope)
    }

    /// The value if it is a constant.
    pub fn literal(&self) -> Option<&Value> {
        match self.cases.as_slice() {
            [
                Case {
                    when: None,
                    is: Expr::Literal(value),
                },
            ] => Some(value),
            _ => None,
        }
    }

    /// Whether it is the time of the write and nothing else.
    pub fn is_now(&self) -> bool {
        match self.cases.as_slice() {
            [
                Case {
                    when: None,
                    is: Expr::Path(path),
                },
            ] => path.root == "now",
            _ => false,
        }
    }

    /// The attributes of the item itself that it reads.
    pub fn own_attributes(&self) -> impl Iterator<Item = &str> {
        own_attributes(&self.reads)
    }
}

fn own_attributes(reads: &[Reading]) -> impl Iterator<Item = &str> {
    reads
        .iter()
        .filter(|reading| reading.origin == Origin::Item && reading.hops.is_empty())
        .map(|reading| reading.attribute.as_str())
}

impl Expr {
    /// The value; `None` when an operand is missing or has the wrong type.
    pub fn value(&self, scope: &impl Scope) -> Option<Value> {
        match self {
            Expr::Literal(value) => Some(value.clone()),
            Expr::Path(path) => match scope.find(path) {
                Found::Value(value) => Some(value.into_owned()),
                Found::Missing | Found::Unknown => None,
            },
            Expr::Negative(inner) => match inner.value(scope)? {
                Value::N(number) => Some(Value::N(-number)),
                _ => None,
            },
            Expr::Plus(left, right) => sum(left.value(scope)?, right.value(scope)?),
            Expr::Minus(left, right) => match right.value(scope)? {
                Value::N(number) => sum(left.value(scope)?, Value::N(-number)),
                _ => None,
            },
            Expr::Call(function, arguments) => {
                let values: Option<Vec<_>> = arguments.iter().map(|one| one.value(scope)).collect();
                call(*function, values?)
            }
            Expr::First(choices) => choices.iter().find_map(|choice| choice.value(scope)),
            Expr::Time(inner, form) => {
                let millis = form.read(&inner.value(scope)?)?;
                Some(TimeForm::Timestamp.write(millis))
            }
            Expr::Text(template) => template.text(scope).map(Value::S),
        }
    }

    /// Calls `visit` with every path that the expression reads.
    pub fn visit_paths<'e>(&'e self, visit: &mut dyn FnMut(&'e Path)) {
        match self {
            Expr::Literal(_) => {}
            Expr::Path(path) => visit(path),
            Expr::Negative(inner) | Expr::Time(inner, _) => inner.visit_paths(visit),
            Expr::Plus(left, right) | Expr::Minus(left, right) => {
                left.visit_paths(visit);
                right.visit_paths(visit);
            }
            Expr::Call(_, inner) | Expr::First(inner) => {
                inner.iter().for_each(|one| one.visit_paths(visit));
            }
            Expr::Text(template) => {
                template
                    .holes()
                    .for_each(|hole| hole.value.visit_paths(visit));
            }
        }
    }

    /// The path, if that is all there is.
    pub fn as_path(&self) -> Option<&Path> {
        match self {
            Expr::Path(path) => Some(path),
            _ => None,
        }
    }
}

/// Two numbers, or a time and a span in milliseconds.
fn sum(left: Value, right: Value) -> Option<Value> {
    match (left, right) {
        (Value::N(left), Value::N(right)) => left.checked_add(right).ok().map(Value::N),
        (time @ Value::S(_), Value::N(span)) => {
            let millis = time::read_any(&time)?.checked_add(span.to_i64()?)?;
            Some(TimeForm::Timestamp.write(millis))
        }
        _ => None,
    }
}

fn call(function: Function, values: Vec<Value>) -> Option<Value> {
    let numbers = || -> Option<Vec<Number>> {
        let numbers = values.iter().map(|value| match value {
            Value::N(number) => Some(*number),
            _ => None,
        });
        numbers.collect()
    };
    let text = || values.first().and_then(Value::as_str);
    match function {
        Function::Min => numbers()?.into_iter().min().map(Value::N),
        Function::Max => numbers()?.into_iter().max().map(Value::N),
        Function::Size => {
            let size = values.first()?.size()?;
            Some(Value::N(Number::from(size as u64)))
        }
        Function::Lower => Some(Value::S(text()?.to_lowercase())),
        Function::Trim => Some(Value::S(text()?.trim().to_owned())),
        Function::Time => {
            let millis = ulid_millis(text()?)?;
            Some(TimeForm::Timestamp.write(millis))
        }
        Function::Days | Function::Hours | Function::Minutes => {
            let count = numbers()?.first()?.to_i64()?;
            let span = count.checked_mul(function.unit_millis()?)?;
            Some(Value::N(Number::from(span)))
        }
    }
}

/// The digits of ULIDs, each five bits: Crockford's, without I, L, O and U.
const ULID_DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// The milliseconds since 1970 at the beginning of a ULID.
fn ulid_millis(text: &str) -> Option<i64> {
    let time = text.as_bytes().get(..10).filter(|_| text.len() == 26)?;
    time.iter().try_fold(0, |millis, byte| {
        let digit = ULID_DIGITS.iter().position(|digit| digit == byte)?;
        Some(millis << 5 | digit as i64)
    })
}

/// Values under names that are no attributes, in front of those of an item: an element of an
/// `each`, say.
#[derive(Clone, Copy, Debug)]
pub struct With<'s, S> {
    /// The name.
    pub name: &'s str,
    /// Its value.
    pub value: &'s Value,
    /// Everything else.
    pub rest: &'s S,
}

impl<S: Scope> Scope for With<'_, S> {
    fn find(&self, path: &Path) -> Found<'_> {
        if path.root == self.name && path.steps.is_empty() {
            return Found::Value(Cow::Borrowed(self.value));
        }
        self.rest.find(path)
    }
}

#[cfg(test)]
mod tests;
