//! Conditions as a design writes them.

use partita_core::Value;
use partita_core::expression::{Condition, Operand};

/// The text of a condition.
pub(super) fn condition(tree: &Condition) -> String {
    match tree {
        Condition::All(parts) => joined(parts, " AND "),
        Condition::Any(parts) => joined(parts, " OR "),
        Condition::Not(inner) => format!("NOT ({})", condition(inner)),
        Condition::Compare(left, comparator, right) => format!(
            "{} {} {}",
            operand(left),
            comparator.symbol(),
            operand(right)
        ),
        Condition::Between(value, low, high) => format!(
            "{} BETWEEN {} AND {}",
            operand(value),
            operand(low),
            operand(high)
        ),
        Condition::In(value, list) => {
            let list: Vec<String> = list.iter().map(operand).collect();
            format!("{} IN ({})", operand(value), list.join(", "))
        }
        Condition::Exists(path) => format!("attribute_exists({path})"),
        Condition::NotExists(path) => format!("attribute_not_exists({path})"),
        Condition::HasType(path, kind) => format!("attribute_type({path}, '{}')", kind.letters()),
        Condition::BeginsWith(value, prefix) => {
            format!("begins_with({}, {})", operand(value), operand(prefix))
        }
        Condition::Contains(value, part) => {
            format!("contains({}, {})", operand(value), operand(part))
        }
    }
}

fn joined(parts: &[Condition], between: &str) -> String {
    let parts: Vec<String> = parts
        .iter()
        .map(|part| match part {
            // Only an OR inside an AND needs parentheses, but a mixture without them is hard to
            // read.
            Condition::All(_) | Condition::Any(_) => format!("({})", condition(part)),
            _ => condition(part),
        })
        .collect();
    parts.join(between)
}

fn operand(operand: &Operand) -> String {
    match operand {
        Operand::Path(path) => path.to_string(),
        Operand::Size(path) => format!("size({path})"),
        Operand::Value(value, _) => literal(value),
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::S(text) => format!("'{}'", text.replace('\'', "''")),
        other => partita_core::plain::to_json(other).to_string(),
    }
}
