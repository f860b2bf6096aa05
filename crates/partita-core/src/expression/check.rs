//! What is wrong with a condition, whatever item it meets.
//!
//! DynamoDB refuses such a condition before it reads anything, so a store must too: a condition
//! that merely failed would look like a conflict with another write.

use super::condition::{Comparator, Condition, Operand};
use super::messages::ExpressionFault;
use super::{ExpressionError, Span};
use crate::{Type, Value};

impl Condition {
    /// Checks the operands: their types as far as they are written down, and that none is
    /// compared with itself.
    pub fn check(&self) -> Result<(), ExpressionError> {
        match self {
            Condition::All(parts) | Condition::Any(parts) => {
                parts.iter().try_for_each(Condition::check)
            }
            Condition::Not(inner) => inner.check(),
            Condition::Compare(left, comparator, right) => {
                let name = comparator.symbol();
                distinct(name, left, [right])?;
                if matches!(comparator, Comparator::Equal | Comparator::NotEqual) {
                    return Ok(());
                }
                takes(name, &[Type::S, Type::N, Type::B], [left, right])
            }
            Condition::Between(value, low, high) => {
                check_between(value, low, high)?;
                ascending(low, high)
            }
            Condition::In(value, list) => distinct("IN", value, list),
            Condition::BeginsWith(value, prefix) => {
                distinct("begins_with", value, [prefix])?;
                takes("begins_with", &[Type::S, Type::B], [value, prefix])
            }
            Condition::Contains(value, part) => distinct("contains", value, [part]),
            Condition::Exists(_) | Condition::NotExists(_) | Condition::HasType(..) => Ok(()),
        }
    }
}

/// The operands of BETWEEN, but not the order of its bounds. Here the types come first.
pub(super) fn check_between(
    value: &Operand,
    low: &Operand,
    high: &Operand,
) -> Result<(), ExpressionError> {
    takes("BETWEEN", &[Type::S, Type::N, Type::B], [value, low, high])?;
    distinct("BETWEEN", value, [low, high])
}

/// The first operand may not be among the others. Values and sizes may: DynamoDB looks at
/// paths only.
fn distinct<'a>(
    operator: &'static str,
    first: &Operand,
    others: impl IntoIterator<Item = &'a Operand>,
) -> Result<(), ExpressionError> {
    let Operand::Path(path) = first else {
        return Ok(());
    };
    if others.into_iter().all(|other| other != first) {
        return Ok(());
    }
    let span = path.span;
    let path = path.clone();
    let fault = ExpressionFault::SameOperands { operator, path };
    Err(ExpressionError::fault(fault, span))
}

fn takes<const N: usize>(
    operator: &'static str,
    types: &[Type],
    operands: [&Operand; N],
) -> Result<(), ExpressionError> {
    for operand in operands {
        if let Some((kind, span)) = type_of(operand)
            && !types.contains(&kind)
        {
            let fault = ExpressionFault::OperandType { operator, kind };
            return Err(ExpressionError::fault(fault, span));
        }
    }
    Ok(())
}

/// The type of an operand that does not depend on the item.
fn type_of(operand: &Operand) -> Option<(Type, Span)> {
    match operand {
        Operand::Path(_) => None,
        Operand::Value(value, span) => Some((value.kind(), *span)),
        Operand::Size(path) => Some((Type::N, path.span)),
    }
}

fn ascending(low: &Operand, high: &Operand) -> Result<(), ExpressionError> {
    let (Operand::Value(low, _), Operand::Value(high, span)) = (low, high) else {
        return Ok(());
    };
    let in_order = match (low, high) {
        (Value::S(low), Value::S(high)) => low <= high,
        (Value::N(low), Value::N(high)) => low <= high,
        (Value::B(low), Value::B(high)) => low <= high,
        _ => {
            let (low, high) = (low.clone(), high.clone());
            return Err(ExpressionError::fault(
                ExpressionFault::BoundTypes { low, high },
                *span,
            ));
        }
    };
    if in_order {
        return Ok(());
    }
    let (low, high) = (low.clone(), high.clone());
    Err(ExpressionError::fault(
        ExpressionFault::BoundOrder { low, high },
        *span,
    ))
}
