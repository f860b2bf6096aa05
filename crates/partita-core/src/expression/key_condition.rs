//! Key conditions: what a query asks of the keys.

use super::condition::{Comparator, Condition, Operand};
use super::{Bindings, ExpressionError, Path, Span};
use crate::Value;

/// Equalities on key attributes, and at most one range on the last of them.
///
/// Which attributes these are depends on the table or index; the store holds the two against
/// each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyCondition {
    /// `name = value`, for the partition key and perhaps the sort key.
    pub equals: Vec<(String, Value)>,
    /// A range of the sort key.
    pub range: Option<(String, KeyRange)>,
}

/// A range of a sort key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyRange {
    /// `<`
    Less(Value),
    /// `<=`
    LessOrEqual(Value),
    /// `>`
    Greater(Value),
    /// `>=`
    GreaterOrEqual(Value),
    /// `BETWEEN low AND high`, both included.
    Between(Value, Value),
    /// `begins_with(name, prefix)`.
    BeginsWith(Value),
}

impl KeyCondition {
    /// Reads a key condition.
    pub fn parse(text: &str, bindings: &Bindings<'_>) -> Result<KeyCondition, ExpressionError> {
        let condition = Condition::parse(text, bindings)?;
        let whole = Span::new(0, text.len());
        let parts = match condition {
            Condition::All(parts) => parts,
            one => vec![one],
        };
        let mut keys = KeyCondition {
            equals: Vec::new(),
            range: None,
        };
        for part in parts {
            keys.add(part, whole)?;
        }
        if keys.equals.is_empty() {
            return Err(ExpressionError::new(
                "a key condition needs the partition key: `name = value`",
                whole,
            ));
        }
        Ok(keys)
    }

    /// The condition that asks for one partition.
    pub fn partition(name: impl Into<String>, value: impl Into<Value>) -> Self {
        KeyCondition {
            equals: vec![(name.into(), value.into())],
            range: None,
        }
    }

    fn add(&mut self, part: Condition, whole: Span) -> Result<(), ExpressionError> {
        let (name, range) = match part {
            Condition::Compare(Operand::Path(path), comparator, Operand::Value(value, _)) => {
                let name = key_name(path)?;
                let range = match comparator {
                    Comparator::Equal => {
                        self.equals.push((name, value));
                        return Ok(());
                    }
                    Comparator::Less => KeyRange::Less(value),
                    Comparator::LessOrEqual => KeyRange::LessOrEqual(value),
                    Comparator::Greater => KeyRange::Greater(value),
                    Comparator::GreaterOrEqual => KeyRange::GreaterOrEqual(value),
                    Comparator::NotEqual => return Err(unsupported("`<>`", whole)),
                };
                (name, range)
            }
            Condition::Between(
                Operand::Path(path),
                Operand::Value(low, _),
                Operand::Value(high, _),
            ) => (key_name(path)?, KeyRange::Between(low, high)),
            Condition::BeginsWith(Operand::Path(path), Operand::Value(prefix, _)) => {
                (key_name(path)?, KeyRange::BeginsWith(prefix))
            }
            _ => return Err(unsupported("this", whole)),
        };
        match self.range.replace((name, range)) {
            None => Ok(()),
            Some(_) => Err(unsupported("a second range", whole)),
        }
    }
}

fn key_name(path: Path) -> Result<String, ExpressionError> {
    if path.steps.is_empty() {
        return Ok(path.root.into());
    }
    Err(ExpressionError::new(
        format!("`{path}` is inside an attribute; a key is a whole one"),
        path.span,
    ))
}

fn unsupported(what: &str, span: Span) -> ExpressionError {
    ExpressionError::new(
        format!(
            "{what} cannot be asked of keys; use `=` for the partition key, and `=`, `<`, `<=`, `>`, `>=`, BETWEEN or begins_with for the sort key, joined by AND"
        ),
        span,
    )
}
