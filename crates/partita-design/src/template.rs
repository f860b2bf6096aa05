//! Key templates such as `USER#{userId}#STORY#{storyId}`.
//!
//! A template is rendered from an item's values, and a key is read back into them: what is
//! stored only inside a key is not lost.

use std::borrow::Cow;
use std::fmt;

use partita_core::Value;

/// What separates the parts of a key.
pub const DELIMITER: char = '#';

/// A key template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Template {
    /// Texts and placeholders in turn; no two placeholders stand side by side.
    pub parts: Vec<Part>,
}

/// One part of a template.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Text that stands in every key.
    Text(String),
    /// The value of an attribute or parameter.
    Value(String),
}

/// Why a value cannot be part of a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` {problem}")]
pub struct PartError {
    /// The attribute or parameter.
    pub name: String,
    /// What is wrong with its value.
    pub problem: PartProblem,
}

/// What is wrong with a part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartProblem {
    /// It is the empty text.
    #[error("is part of a key and may not be empty")]
    Empty,
    /// It has the character that separates the parts of keys.
    #[error("is part of a key and may not contain `{DELIMITER}`")]
    Delimiter,
    /// It is `.` or `..`, which clients take out of paths.
    #[error("is part of a key and may not be `.` or `..`")]
    Dots,
    /// It is neither text nor a number.
    #[error("is part of a key and must be a string or a number")]
    Type,
}

impl Template {
    /// The names of the placeholders, in order, each as often as it stands there.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Value(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The key of these values; `None` when one is missing.
    pub fn render<'v>(
        &self,
        value_of: impl Fn(&str) -> Option<Cow<'v, Value>>,
    ) -> Result<Option<String>, PartError> {
        let mut key = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => key.push_str(text),
                Part::Value(name) => match value_of(name) {
                    Some(value) => key.push_str(&part_text(name, &value)?),
                    None => return Ok(None),
                },
            }
        }
        Ok(Some(key))
    }

    /// The values that a key was rendered from, as text; `None` when the key is not of this
    /// template.
    pub fn read<'t, 'k>(&'t self, key: &'k str) -> Option<Vec<(&'t str, &'k str)>> {
        let mut rest = key;
        let mut found: Vec<(&str, &str)> = Vec::new();
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Text(text) => rest = rest.strip_prefix(text.as_str())?,
                Part::Value(name) => {
                    let length = match parts.peek() {
                        Some(Part::Text(next)) => rest.find(next.as_str())?,
                        _ => rest.len(),
                    };
                    let (value, after) = rest.split_at(length);
                    let agrees = found
                        .iter()
                        .all(|(other, text)| other != name || *text == value);
                    if value.is_empty() || value.contains(DELIMITER) || !agrees {
                        return None;
                    }
                    found.push((name, value));
                    rest = after;
                }
            }
        }
        rest.is_empty().then_some(found)
    }
}

/// A value as it stands in a key.
pub fn part_text(name: &str, value: &Value) -> Result<String, PartError> {
    let refuse = |problem| PartError {
        name: name.to_owned(),
        problem,
    };
    let text = match value {
        Value::S(text) => text.clone(),
        Value::N(number) => number.to_string(),
        _ => return Err(refuse(PartProblem::Type)),
    };
    if text.is_empty() {
        return Err(refuse(PartProblem::Empty));
    }
    if text.contains(DELIMITER) {
        return Err(refuse(PartProblem::Delimiter));
    }
    if text == "." || text == ".." {
        return Err(refuse(PartProblem::Dots));
    }
    Ok(text)
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Value(name) => write!(f, "{{{name}}}"),
        })
    }
}

#[cfg(test)]
mod tests;
