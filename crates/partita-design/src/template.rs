//! Templates such as `USER#{userId}#STORY#{storyId}`.
//!
//! A template is rendered from an item's values, and a key is read back into them: what is
//! stored only inside a key is not lost.

use std::fmt;

use partita_core::expression::{Found, Path, Scope};
use partita_core::limits::ITEM_BYTES_MAX;
use partita_core::{Number, Value};

use crate::expression::Expr;
use crate::time::{self, TimeForm};

/// What separates the parts of a key.
pub const DELIMITER: char = '#';

/// A text with placeholders.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template {
    /// Texts and placeholders in turn. In a key a delimiter separates two placeholders.
    pub parts: Vec<Part>,
}

/// One part of a template.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Literal text.
    Text(String),
    /// A value.
    Value(Hole),
}

/// A placeholder.
#[derive(Clone, Debug, PartialEq)]
pub struct Hole {
    /// The value.
    pub value: Expr,
    /// How it is written.
    pub format: Format,
}

/// How a value is written into a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// As it is.
    #[default]
    Plain,
    /// `:010`, a whole number from zero on with zeros in front.
    Padded {
        /// How many characters it has.
        width: usize,
    },
    /// `:023.2`, a number from zero on with zeros in front and so many decimals.
    Decimal {
        /// How many characters it has, the dot included.
        width: usize,
        /// How many of them are behind the dot.
        decimals: usize,
    },
    /// `:%Y/%m/%d`, a time.
    Time {
        /// The form that is written.
        written: String,
        /// The form that the value has.
        stored: TimeForm,
    },
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
    /// It is neither text nor a number nor a boolean.
    #[error("is part of a key and must be a string, a number or a boolean")]
    Type,
    /// It does not fit the number of digits that the template gives it.
    #[error("is part of a key, and does not fit the digits that it has there")]
    Digits,
    /// The key that it is the longest part of is longer than a store takes.
    #[error("is part of a key that has more than {bytes_max} bytes with it")]
    Long {
        /// How many bytes the key may have.
        bytes_max: usize,
    },
}

impl Hole {
    /// A placeholder that is one attribute or parameter, written as it is.
    pub fn attribute(name: &str) -> Hole {
        Hole {
            value: Expr::Path(dotted(name)),
            format: Format::Plain,
        }
    }

    /// The attribute or parameter, with dots, if the value is one as it is stored.
    pub fn name(&self) -> Option<String> {
        self.value.as_path().map(ToString::to_string)
    }

    /// What to call it in a message.
    fn title(&self) -> String {
        let mut title = None;
        self.value.visit_paths(&mut |path| {
            title.get_or_insert_with(|| path.to_string());
        });
        title.unwrap_or_else(|| "a placeholder".to_owned())
    }

    /// Writes its value into a key; says whether there is one.
    fn write_key(&self, scope: &impl Scope, key: &mut String) -> Result<bool, PartError> {
        // Keys are rendered all the time: what most of them are made of is not copied on the way,
        // and the title is made for messages only.
        let written = match (&self.value, &self.format) {
            (Expr::Path(path), Format::Plain) => match scope.find(path) {
                Found::Value(value) => match &*value {
                    Value::S(text) => check_text(text).map(|()| key.push_str(text)),
                    value => self.write_part(value, key),
                },
                Found::Missing | Found::Unknown => return Ok(false),
            },
            (value, _) => match value.value(scope) {
                Some(value) => self.write_part(&value, key),
                None => return Ok(false),
            },
        };
        match written {
            Ok(()) => Ok(true),
            Err(problem) => {
                let name = self.title();
                Err(PartError { name, problem })
            }
        }
    }

    fn write_part(&self, value: &Value, key: &mut String) -> Result<(), PartProblem> {
        let text = self.format.text(value)?;
        check_text(&text)?;
        key.push_str(&text);
        Ok(())
    }

    /// The text of a value without its format, from its text in a key.
    fn bare<'k>(&self, text: &'k str) -> Option<&'k str> {
        match &self.format {
            Format::Plain => Some(text),
            Format::Padded { width } | Format::Decimal { width, .. } => {
                let bare = text.trim_start_matches('0');
                let is_whole = text.len() == *width;
                let bare = if bare.starts_with(|letter: char| letter.is_ascii_digit()) {
                    bare
                } else {
                    // `000.50` and `000` keep the zero before the dot.
                    text.get(text.len() - bare.len() - 1..)?
                };
                is_whole.then_some(bare)
            }
            Format::Time { .. } => None,
        }
    }
}

impl Format {
    /// So many characters, with so many decimals among them.
    pub(crate) fn digits(width: usize, decimals: usize) -> Format {
        match decimals {
            0 => Format::Padded { width },
            _ => Format::Decimal { width, decimals },
        }
    }

    /// A value as it is written.
    pub fn text(&self, value: &Value) -> Result<String, PartProblem> {
        match (self, value) {
            (Format::Plain, Value::S(text)) => Ok(text.clone()),
            (Format::Plain, Value::N(number)) => Ok(number.to_string()),
            (Format::Plain, Value::Bool(truth)) => Ok(truth.to_string()),
            (Format::Padded { width }, Value::N(number)) => digits(number, *width, 0),
            (Format::Decimal { width, decimals }, Value::N(number)) => {
                digits(number, *width, *decimals)
            }
            (Format::Time { written, stored }, value) => {
                let millis = stored.read(value).ok_or(PartProblem::Type)?;
                Ok(time::format_as(millis, written))
            }
            _ => Err(PartProblem::Type),
        }
    }
}

/// A number with zeros in front and exactly so many decimals.
///
/// INVARIANT: of two such texts of one width the smaller number's is the smaller. A number that
/// would break this (negative, too large, with more decimals) is refused.
fn digits(number: &Number, width: usize, decimals: usize) -> Result<String, PartProblem> {
    let text = number.to_string();
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    if !is_plain || fraction.len() > decimals {
        return Err(PartProblem::Digits);
    }
    let mut written = whole.to_owned();
    if decimals > 0 {
        written.push('.');
        written.push_str(fraction);
        written.extend(std::iter::repeat_n('0', decimals - fraction.len()));
    }
    match width.checked_sub(written.len()) {
        Some(zeros) => Ok("0".repeat(zeros) + &written),
        None => Err(PartProblem::Digits),
    }
}

impl Template {
    /// The placeholders, in order.
    pub fn holes(&self) -> impl Iterator<Item = &Hole> {
        self.parts.iter().filter_map(|part| match part {
            Part::Value(hole) => Some(hole),
            Part::Text(_) => None,
        })
    }

    /// What the placeholders read, in order, with dots, with repetitions.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let mut names = Vec::new();
        for hole in self.holes() {
            hole.value
                .visit_paths(&mut |path| names.push(path.to_string()));
        }
        names.into_iter()
    }

    /// The text that it always gives, if it has no placeholders.
    pub fn constant(&self) -> Option<String> {
        let texts = self.parts.iter().map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Value(_) => None,
        });
        texts.collect()
    }

    /// The key of these values; `None` when one is missing.
    pub fn key(&self, scope: &impl Scope) -> Result<Option<String>, PartError> {
        let mut key = String::with_capacity(self.length_guessed());
        for part in &self.parts {
            match part {
                Part::Text(text) => key.push_str(text),
                Part::Value(hole) if hole.write_key(scope, &mut key)? => {}
                Part::Value(_) => return Ok(None),
            }
        }
        Ok(Some(key))
    }

    /// The key of these values; refused where it is longer than a store takes, by the name of what
    /// makes it long.
    pub fn key_within(
        &self,
        scope: &impl Scope,
        bytes_max: usize,
    ) -> Result<Option<String>, PartError> {
        let key = self.key(scope)?;
        if key.as_ref().is_none_or(|key| key.len() <= bytes_max) {
            return Ok(key);
        }
        let bytes = |hole: &&Hole| {
            let mut text = String::new();
            hole.write_key(scope, &mut text).map_or(0, |_| text.len())
        };
        let longest = self.holes().max_by_key(bytes);
        Err(PartError {
            name: longest.map_or_else(String::new, Hole::title),
            problem: PartProblem::Long { bytes_max },
        })
    }

    /// Room for most of what it gives: ids and times have 24 to 26 characters.
    fn length_guessed(&self) -> usize {
        let lengths = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.len(),
            Part::Value(_) => 26,
        });
        lengths.sum()
    }

    /// The text of these values, outside of keys; `None` when one is missing.
    ///
    /// It ends where it exceeds the size of an item, and so does not fit into any.
    pub fn text(&self, scope: &impl Scope) -> Option<String> {
        let mut whole = String::with_capacity(self.length_guessed());
        for part in &self.parts {
            if whole.len() > ITEM_BYTES_MAX {
                break;
            }
            match part {
                Part::Text(text) => whole.push_str(text),
                Part::Value(hole) => {
                    let value = hole.value.value(scope)?;
                    whole.push_str(&hole.format.text(&value).ok()?);
                }
            }
        }
        Some(whole)
    }

    /// The attributes that a key was rendered from, as text; `None` when the key is not of this
    /// template. What a function or a fallback made of an attribute is left out.
    pub fn read<'k>(&self, key: &'k str) -> Option<Vec<(String, &'k str)>> {
        let mut rest = key;
        let mut found: Vec<(String, &str)> = Vec::new();
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Text(text) => rest = rest.strip_prefix(text.as_str())?,
                Part::Value(hole) => {
                    let length = match parts.peek() {
                        Some(Part::Text(next)) => rest.find(next.as_str())?,
                        _ => rest.len(),
                    };
                    let (value, after) = rest.split_at(length);
                    if value.is_empty() || value.contains(DELIMITER) {
                        return None;
                    }
                    rest = after;
                    let value = match &hole.format {
                        Format::Time { .. } => continue,
                        _ => hole.bare(value)?,
                    };
                    let Some(name) = hole.name() else {
                        continue;
                    };
                    let agrees = |(other, text): &(String, &str)| *other != name || *text == value;
                    if !found.iter().all(agrees) {
                        return None;
                    }
                    found.push((name, value));
                }
            }
        }
        rest.is_empty().then_some(found)
    }
}

/// Finds out whether a value can be part of a key as it is.
pub fn check_part(name: &str, value: &Value) -> Result<(), PartError> {
    let checked = match value {
        Value::S(text) => check_text(text),
        Value::N(_) | Value::Bool(_) => Ok(()),
        _ => Err(PartProblem::Type),
    };
    checked.map_err(|problem| PartError {
        name: name.to_owned(),
        problem,
    })
}

/// INVARIANT: a part of a key is never empty and never has the delimiter, so that keys of
/// different parts differ, and none can be forged.
fn check_text(text: &str) -> Result<(), PartProblem> {
    match text {
        "" => Err(PartProblem::Empty),
        "." | ".." => Err(PartProblem::Dots),
        // Parts are short and looked at all the time: quicker than a search for any character.
        _ if text.bytes().any(|byte| byte == DELIMITER as u8) => Err(PartProblem::Delimiter),
        _ => Ok(()),
    }
}

/// The path of an attribute whose name may have dots.
pub fn dotted(name: &str) -> Path {
    // Hardly any has.
    if !name.bytes().any(|byte| byte == b'.') {
        return Path::attribute(name);
    }
    let mut steps = name.split('.');
    let mut path = Path::attribute(steps.next().unwrap_or_default());
    let fields = steps.map(|step| partita_core::expression::Step::Field(step.into()));
    path.steps.extend(fields);
    path
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Value(hole) => write!(f, "{{{hole}}}"),
        })
    }
}

impl fmt::Display for Hole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value)?;
        match &self.format {
            Format::Plain => Ok(()),
            Format::Padded { width } => write!(f, ":0{width}"),
            Format::Decimal { width, decimals } => write!(f, ":0{width}.{decimals}"),
            Format::Time { written, .. } => write!(f, ":{written}"),
        }
    }
}

#[cfg(test)]
mod tests;
