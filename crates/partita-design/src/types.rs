//! The types of attributes and what they accept.

use partita_core::{Number, Value};
use ulid::Ulid;

use crate::time;

/// What an attribute may hold.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeType {
    /// Text of so many characters.
    String {
        /// At least this many.
        min: usize,
        /// At most this many, if there is a bound.
        max: Option<usize>,
    },
    /// A ULID: 26 characters that sort by their time.
    Ulid,
    /// A time in the one form of [`time`].
    Timestamp,
    /// True or false.
    Bool,
    /// Any number.
    Number,
    /// A list of elements of one type.
    List(Box<AttributeType>),
    /// Anything.
    Any,
}

impl AttributeType {
    /// Whether the value is of this type; the error says what is expected, as in
    /// "`title` must be …".
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let accepted = match (self, value) {
            (AttributeType::String { min, max }, Value::S(text)) => {
                let count = text.chars().count();
                *min <= count && max.is_none_or(|max| count <= max)
            }
            (AttributeType::Ulid, Value::S(text)) => is_ulid(text),
            (AttributeType::Timestamp, Value::S(text)) => time::parse_millis(text).is_some(),
            (AttributeType::Bool, Value::Bool(_))
            | (AttributeType::Number, Value::N(_))
            | (AttributeType::Any, _) => true,
            (AttributeType::List(element), Value::L(list)) => {
                let faulty = list.iter().enumerate().find_map(|(index, value)| {
                    element.check(value).err().map(|expected| (index, expected))
                });
                if let Some((index, expected)) = faulty {
                    return Err(format!("a list in which element {index} is {expected}"));
                }
                true
            }
            _ => false,
        };
        match accepted {
            true => Ok(()),
            false => Err(self.describe()),
        }
    }

    /// The value that a key or a URL spells as text.
    pub fn from_text(&self, text: &str) -> Result<Value, String> {
        let value = match self {
            AttributeType::Bool => match text {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                _ => return Err(self.describe()),
            },
            AttributeType::Number => Value::N(text.parse::<Number>().map_err(|_| self.describe())?),
            _ => Value::from(text),
        };
        self.check(&value)?;
        Ok(value)
    }

    /// What is expected, with its article.
    pub fn describe(&self) -> String {
        match self {
            AttributeType::String { min: 0, max: None } => "a string".to_owned(),
            AttributeType::String { min, max: None } => {
                format!("a string of at least {min} characters")
            }
            AttributeType::String {
                min,
                max: Some(max),
            } => format!("a string of {min} to {max} characters"),
            AttributeType::Ulid => {
                "a ULID: 26 characters from 0-9 and A-Z without I, L, O and U".to_owned()
            }
            AttributeType::Timestamp => "a time such as 2026-01-02T03:04:05.678Z".to_owned(),
            AttributeType::Bool => "true or false".to_owned(),
            AttributeType::Number => "a number".to_owned(),
            AttributeType::List(element) => match **element {
                AttributeType::Any => "a list".to_owned(),
                ref element => format!("a list in which every element is {}", element.describe()),
            },
            AttributeType::Any => "a value".to_owned(),
        }
    }
}

/// Only the canonical form counts: two spellings of one id would be two keys.
fn is_ulid(text: &str) -> bool {
    Ulid::from_string(text).is_ok_and(|ulid| ulid.to_string() == text)
}
