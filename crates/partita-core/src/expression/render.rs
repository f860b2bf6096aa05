//! Trees back to the text of a request.
//!
//! Every name becomes a placeholder, so that no reserved word needs to be known here, and every
//! value too. All expressions of one request share one [`Renderer`], because DynamoDB takes the
//! names and values of a request once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{
    Condition, KeyCondition, KeyRange, Operand, Path, Projection, SetOperand, SetValue, Step,
    Update,
};
use crate::Value;

/// Collects the names and values of one request while its expressions are written.
#[derive(Debug, Default)]
pub struct Renderer {
    names: BTreeMap<String, String>,
    name_of: BTreeMap<String, String>,
    values: BTreeMap<String, Value>,
}

impl Renderer {
    /// The ExpressionAttributeNames and ExpressionAttributeValues of what was written so far.
    pub fn into_bindings(self) -> (BTreeMap<String, String>, BTreeMap<String, Value>) {
        (self.names, self.values)
    }

    /// The text of a condition or filter.
    pub fn condition(&mut self, condition: &Condition) -> String {
        match bare(condition) {
            Condition::All(parts) if parts.is_empty() => self.constant("="),
            Condition::Any(parts) if parts.is_empty() => self.constant("<>"),
            Condition::All(parts) => self.joined(parts, " AND "),
            Condition::Any(parts) => self.joined(parts, " OR "),
            Condition::Not(inner) => format!("NOT ({})", self.condition(inner)),
            Condition::Compare(left, comparator, right) => format!(
                "{} {} {}",
                self.operand(left),
                comparator.symbol(),
                self.operand(right)
            ),
            Condition::Between(value, low, high) => format!(
                "{} BETWEEN {} AND {}",
                self.operand(value),
                self.operand(low),
                self.operand(high)
            ),
            Condition::In(value, list) => {
                let list: Vec<_> = list.iter().map(|operand| self.operand(operand)).collect();
                format!("{} IN ({})", self.operand(value), list.join(", "))
            }
            Condition::Exists(path) => format!("attribute_exists({})", self.path(path)),
            Condition::NotExists(path) => format!("attribute_not_exists({})", self.path(path)),
            Condition::HasType(path, kind) => format!(
                "attribute_type({}, {})",
                self.path(path),
                self.value(&Value::from(kind.letters()))
            ),
            Condition::BeginsWith(value, prefix) => {
                format!(
                    "begins_with({}, {})",
                    self.operand(value),
                    self.operand(prefix)
                )
            }
            Condition::Contains(value, part) => {
                format!("contains({}, {})", self.operand(value), self.operand(part))
            }
        }
    }

    /// The text of a key condition.
    pub fn key_condition(&mut self, keys: &KeyCondition) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (name, value) in &keys.equals {
            parts.push(format!("{} = {}", self.name(name), self.value(value)));
        }
        if let Some((name, range)) = &keys.range {
            let name = self.name(name);
            parts.push(match range {
                KeyRange::Less(value) => format!("{name} < {}", self.value(value)),
                KeyRange::LessOrEqual(value) => format!("{name} <= {}", self.value(value)),
                KeyRange::Greater(value) => format!("{name} > {}", self.value(value)),
                KeyRange::GreaterOrEqual(value) => format!("{name} >= {}", self.value(value)),
                KeyRange::Between(low, high) => {
                    format!(
                        "{name} BETWEEN {} AND {}",
                        self.value(low),
                        self.value(high)
                    )
                }
                KeyRange::BeginsWith(prefix) => {
                    format!("begins_with({name}, {})", self.value(prefix))
                }
            });
        }
        parts.join(" AND ")
    }

    /// The text of a projection.
    pub fn projection(&mut self, projection: &Projection) -> String {
        let paths: Vec<_> = projection
            .paths()
            .iter()
            .map(|path| self.path(path))
            .collect();
        paths.join(", ")
    }

    /// The text of an update.
    pub fn update(&mut self, update: &Update) -> String {
        let mut text = String::new();
        let mut clause = |keyword: &str, parts: Vec<String>| {
            if !parts.is_empty() {
                let space = if text.is_empty() { "" } else { " " };
                write!(text, "{space}{keyword} {}", parts.join(", "))
                    .expect("writing to a string cannot fail");
            }
        };
        let set = update.set.iter();
        clause(
            "SET",
            set.map(|(path, value)| format!("{} = {}", self.path(path), self.set_value(value)))
                .collect(),
        );
        let remove = update.remove.iter();
        clause("REMOVE", remove.map(|path| self.path(path)).collect());
        for (keyword, entries) in [("ADD", &update.add), ("DELETE", &update.delete)] {
            let entries = entries.iter();
            clause(
                keyword,
                entries
                    .map(|(path, value)| format!("{} {}", self.path(path), self.value(value)))
                    .collect(),
            );
        }
        text
    }

    fn joined(&mut self, parts: &[Condition], word: &str) -> String {
        let texts: Vec<_> = parts
            .iter()
            .map(|part| match bare(part) {
                // DynamoDB refuses redundant parentheses, so only these two get them.
                Condition::All(parts) | Condition::Any(parts) if !parts.is_empty() => {
                    format!("({})", self.condition(part))
                }
                _ => self.condition(part),
            })
            .collect();
        texts.join(word)
    }

    /// A value and itself. DynamoDB has no words for true and false, but it compares values.
    fn constant(&mut self, comparator: &str) -> String {
        let value = self.value(&Value::Bool(true));
        format!("{value} {comparator} {value}")
    }

    fn operand(&mut self, operand: &Operand) -> String {
        match operand {
            Operand::Path(path) => self.path(path),
            Operand::Value(value, _) => self.value(value),
            Operand::Size(path) => format!("size({})", self.path(path)),
        }
    }

    fn set_value(&mut self, value: &SetValue) -> String {
        match value {
            SetValue::Is(operand) => self.set_operand(operand),
            SetValue::Plus(left, right) => {
                format!("{} + {}", self.set_operand(left), self.set_operand(right))
            }
            SetValue::Minus(left, right) => {
                format!("{} - {}", self.set_operand(left), self.set_operand(right))
            }
        }
    }

    fn set_operand(&mut self, operand: &SetOperand) -> String {
        match operand {
            SetOperand::Path(path) => self.path(path),
            SetOperand::Value(value) => self.value(value),
            SetOperand::IfNotExists(path, otherwise) => {
                format!(
                    "if_not_exists({}, {})",
                    self.path(path),
                    self.set_operand(otherwise)
                )
            }
            SetOperand::ListAppend(front, back) => {
                format!(
                    "list_append({}, {})",
                    self.set_operand(front),
                    self.set_operand(back)
                )
            }
        }
    }

    fn path(&mut self, path: &Path) -> String {
        let mut text = self.name(&path.root);
        for step in &path.steps {
            match step {
                Step::Field(name) => {
                    text.push('.');
                    text.push_str(&self.name(name));
                }
                Step::Index(index) => {
                    write!(text, "[{index}]").expect("writing to a string cannot fail");
                }
            }
        }
        text
    }

    fn name(&mut self, name: &str) -> String {
        if let Some(placeholder) = self.name_of.get(name) {
            return placeholder.clone();
        }
        let placeholder = format!("#n{}", self.names.len());
        self.names.insert(placeholder.clone(), name.to_owned());
        self.name_of.insert(name.to_owned(), placeholder.clone());
        placeholder
    }

    fn value(&mut self, value: &Value) -> String {
        let placeholder = format!(":v{}", self.values.len());
        self.values.insert(placeholder.clone(), value.clone());
        placeholder
    }
}

/// The condition without lists of one around it; they would become redundant parentheses.
fn bare(condition: &Condition) -> &Condition {
    match condition {
        Condition::All(parts) | Condition::Any(parts) if parts.len() == 1 => bare(&parts[0]),
        _ => condition,
    }
}
