//! The types of attributes and what they accept.
//!
//! | module | what it holds |
//! |---|---|
//! | [`bounds`] | ranges of numbers |
//! | `plain` | values as plain JSON spells them |
//! | [`text`] | what a string may look like |
//! | [`shape`] | maps with named fields |

pub mod bounds;
mod plain;
pub mod shape;
pub mod text;

use partita_core::{Number, Type, Value};

pub use bounds::Bounds;
pub use shape::{Field, Shape};
pub use text::{TextFormat, TextPattern};

use crate::time::{self, TimeForm};

/// What an attribute may hold.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeType {
    /// Text.
    String(StringType),
    /// One of a few words.
    Enum(Vec<String>),
    /// One of a few words, with the steps that are allowed between them.
    State(States),
    /// A ULID: 26 characters that sort by their time.
    Ulid,
    /// A UUID: 36 characters, lower-case.
    Uuid,
    /// A UUID or a ULID, where items of both kinds are met.
    Id,
    /// A time or a day, in one of the forms of [`time`].
    Time(TimeForm),
    /// The time after which the item counts as missing, in seconds since 1970.
    Expiry,
    /// True or false.
    Bool,
    /// A number of the range.
    Number(Bounds),
    /// A whole number of the range.
    Int(Bounds),
    /// A number that changes only by additions.
    Counter,
    /// A number that rises with every write, for optimistic locking.
    Version,
    /// A list of so many elements of one type.
    List {
        /// What every element is.
        element: Box<AttributeType>,
        /// How many elements there may be.
        count: Count,
    },
    /// A set of strings, numbers or bytes.
    Set(SetOf),
    /// Bytes.
    Binary,
    /// The hash of a password. Nobody gives it, and nobody is shown it.
    Password,
    /// A map of anything.
    Map,
    /// A map with named fields.
    Shape(Shape),
    /// Anything.
    Any,
}

/// What a string may be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StringType {
    /// How many characters it may have.
    pub length: Count,
    /// The regular expression that it matches.
    pub pattern: Option<TextPattern>,
    /// The form that it has.
    pub format: Option<TextFormat>,
}

/// How many characters or elements there may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// At least this many.
    pub min: usize,
    /// At most this many, if there is a bound.
    pub max: Option<usize>,
}

/// The words of a state, and the steps between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct States {
    /// The words; the first is the initial state.
    pub names: Vec<String>,
    /// The allowed steps, as positions in `names`.
    pub steps: Vec<(usize, usize)>,
}

/// What a set holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOf {
    /// Strings.
    Strings,
    /// Numbers.
    Numbers,
    /// Bytes.
    Binaries,
}

impl Count {
    fn accepts(self, count: usize) -> bool {
        self.min <= count && self.max.is_none_or(|max| count <= max)
    }

    fn words(self, of: &str) -> Option<String> {
        match (self.min, self.max) {
            (0, None) => None,
            (min, None) => Some(format!("at least {min} {of}")),
            (0, Some(max)) => Some(format!("at most {max} {of}")),
            (min, Some(max)) => Some(format!("{min} to {max} {of}")),
        }
    }
}

impl States {
    /// Whether one state may follow the other; staying is no step.
    pub fn allows(&self, from: &str, to: &str) -> bool {
        let place = |name: &str| self.names.iter().position(|known| known == name);
        match (place(from), place(to)) {
            (Some(from), Some(to)) => from == to || self.steps.contains(&(from, to)),
            _ => false,
        }
    }
}

impl AttributeType {
    /// A string without constraints.
    pub fn string() -> AttributeType {
        AttributeType::String(StringType::default())
    }

    /// A timestamp.
    pub fn timestamp() -> AttributeType {
        AttributeType::Time(TimeForm::Timestamp)
    }

    /// Whether the value is of this type; the error says what is expected, as in
    /// "`title` must be …".
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let accepted = match (self, value) {
            (AttributeType::String(string), Value::S(text)) => string.accepts(text),
            (AttributeType::Enum(names), Value::S(text)) => names.contains(text),
            (AttributeType::State(states), Value::S(text)) => states.names.contains(text),
            (AttributeType::Ulid, Value::S(text)) => is_ulid(text),
            (AttributeType::Uuid, Value::S(text)) => is_uuid(text),
            (AttributeType::Id, Value::S(text)) => is_uuid(text) || is_ulid(text),
            (AttributeType::Time(form), value) => form.read(value).is_some(),
            (AttributeType::Expiry, value) => TimeForm::Epoch.read(value).is_some(),
            (AttributeType::Number(bounds), Value::N(number)) => bounds.accepts(number),
            (
                AttributeType::Int(_) | AttributeType::Counter | AttributeType::Version,
                Value::N(number),
            ) if number.is_integer() && !has_a_next(*number) => {
                return Err("a whole number of at most 38 digits".to_owned());
            }
            (AttributeType::Int(bounds), Value::N(number)) => {
                number.is_integer() && bounds.accepts(number)
            }
            (AttributeType::Counter | AttributeType::Version, Value::N(number)) => {
                number.is_integer()
            }
            (AttributeType::Bool, Value::Bool(_))
            | (AttributeType::Binary, Value::B(_))
            | (AttributeType::Password, Value::S(_))
            | (AttributeType::Map, Value::M(_))
            | (AttributeType::Set(SetOf::Strings), Value::Ss(_))
            | (AttributeType::Set(SetOf::Numbers), Value::Ns(_))
            | (AttributeType::Set(SetOf::Binaries), Value::Bs(_))
            | (AttributeType::Any, _) => true,
            (AttributeType::Shape(shape), Value::M(map)) => return shape.check(map),
            (AttributeType::List { element, count }, Value::L(list)) => {
                let faulty = list.iter().enumerate().find_map(|(index, value)| {
                    element.check(value).err().map(|expected| (index, expected))
                });
                if let Some((index, expected)) = faulty {
                    return Err(format!("a list in which element {index} is {expected}"));
                }
                count.accepts(list.len())
            }
            _ => false,
        };
        if accepted {
            Ok(())
        } else {
            Err(self.describe())
        }
    }

    /// The value that a key or a URL spells as text.
    pub fn from_text(&self, text: &str) -> Result<Value, String> {
        let value = match self.stored_as() {
            Some(Type::Bool) => match text {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                _ => return Err(self.describe()),
            },
            Some(Type::N) => Value::N(text.parse::<Number>().map_err(|_| self.describe())?),
            _ => Value::from(text),
        };
        self.check(&value)?;
        Ok(value)
    }

    /// The DynamoDB type of its values; `None` when it may be any.
    pub fn stored_as(&self) -> Option<Type> {
        Some(match self {
            AttributeType::String(_)
            | AttributeType::Enum(_)
            | AttributeType::State(_)
            | AttributeType::Ulid
            | AttributeType::Uuid
            | AttributeType::Id
            | AttributeType::Password => Type::S,
            AttributeType::Time(form) => form.stored_as(),
            AttributeType::Expiry
            | AttributeType::Number(_)
            | AttributeType::Int(_)
            | AttributeType::Counter
            | AttributeType::Version => Type::N,
            AttributeType::Bool => Type::Bool,
            AttributeType::List { .. } => Type::L,
            AttributeType::Set(SetOf::Strings) => Type::Ss,
            AttributeType::Set(SetOf::Numbers) => Type::Ns,
            AttributeType::Set(SetOf::Binaries) => Type::Bs,
            AttributeType::Binary => Type::B,
            AttributeType::Map | AttributeType::Shape(_) => Type::M,
            AttributeType::Any => return None,
        })
    }

    /// The form of its times, if its values are times.
    pub fn time_form(&self) -> Option<TimeForm> {
        match self {
            AttributeType::Time(form) => Some(*form),
            AttributeType::Expiry => Some(TimeForm::Epoch),
            _ => None,
        }
    }

    /// Whether its values are numbers that can be added; times are not.
    pub fn is_numeric(&self) -> bool {
        matches!(
            self,
            AttributeType::Number(_)
                | AttributeType::Int(_)
                | AttributeType::Counter
                | AttributeType::Version
        )
    }

    /// Whether its values can be part of a key.
    pub fn is_key_part(&self) -> bool {
        matches!(self.stored_as(), Some(Type::S | Type::N | Type::Bool))
    }

    /// The words that it may be, if they are few.
    pub fn words(&self) -> Option<Vec<String>> {
        match self {
            AttributeType::Enum(names) => Some(names.clone()),
            AttributeType::State(states) => Some(states.names.clone()),
            AttributeType::Bool => Some(vec!["true".to_owned(), "false".to_owned()]),
            _ => None,
        }
    }

    /// What is expected, with its article.
    pub fn describe(&self) -> String {
        match self {
            AttributeType::String(string) => string.describe(),
            AttributeType::Enum(names) => one_of(names),
            AttributeType::State(states) => one_of(&states.names),
            AttributeType::Ulid => {
                "a ULID: 26 characters from 0-9 and A-Z without I, L, O and U".to_owned()
            }
            AttributeType::Uuid => {
                "a UUID such as 4b8c1f2e-9a01-4c5d-8e3f-0123456789ab, in lower case".to_owned()
            }
            AttributeType::Id => {
                "a UUID in lower case, or a ULID: 26 characters from 0-9 and A-Z without I, L, O and U"
                    .to_owned()
            }
            AttributeType::Time(form) => form.describe().to_owned(),
            AttributeType::Expiry => TimeForm::Epoch.describe().to_owned(),
            AttributeType::Bool => "true or false".to_owned(),
            AttributeType::Number(bounds) => format!("a number{}", bounds.words()),
            AttributeType::Int(bounds) => format!("a whole number{}", bounds.words()),
            AttributeType::Counter | AttributeType::Version => "a whole number".to_owned(),
            AttributeType::List { element, count } => {
                let count = count.words("elements").map(|words| format!(" of {words}"));
                let count = count.unwrap_or_default();
                match **element {
                    AttributeType::Any => format!("a list{count}"),
                    ref element => {
                        let element = element.describe();
                        format!("a list{count} in which every element is {element}")
                    }
                }
            }
            AttributeType::Set(SetOf::Strings) => {
                "a set of strings: at least one, and each once".to_owned()
            }
            AttributeType::Set(SetOf::Numbers) => {
                "a set of numbers: at least one, and each once".to_owned()
            }
            AttributeType::Set(SetOf::Binaries) => {
                "a set of binary values, in base64: at least one, and each once".to_owned()
            }
            AttributeType::Binary => "a binary value, in base64".to_owned(),
            AttributeType::Password => "a password".to_owned(),
            AttributeType::Map => "a map".to_owned(),
            AttributeType::Shape(shape) => format!("a map of the shape `{}`", shape.name),
            AttributeType::Any => "a value".to_owned(),
        }
    }

    /// What it is in a few words, with its article.
    pub fn noun(&self) -> &'static str {
        match self {
            AttributeType::String(_) => "a string",
            AttributeType::Enum(_) => "an enum",
            AttributeType::State(_) => "a state",
            AttributeType::Ulid => "a ulid",
            AttributeType::Uuid => "a uuid",
            AttributeType::Id => "an id",
            AttributeType::Time(form) => form.noun(),
            AttributeType::Expiry => "an expiry",
            AttributeType::Bool => "a boolean",
            AttributeType::Number(_) => "a number",
            AttributeType::Int(_) => "an int",
            AttributeType::Counter => "a counter",
            AttributeType::Version => "a version",
            AttributeType::List { .. } => "a list",
            AttributeType::Set(_) => "a set",
            AttributeType::Binary => "binary",
            AttributeType::Password => "a password",
            AttributeType::Map | AttributeType::Shape(_) => "a map",
            AttributeType::Any => "a value of any type",
        }
    }

    /// A value of another form of time in this type's form; any other value as it is.
    pub fn adopt(&self, value: Value) -> Value {
        // Reading a time is dear, and most are in their form already.
        let other = self
            .time_form()
            .filter(|form| form.read(&value).is_none())
            .and_then(|form| Some(form.write(time::read_any(&value)?)));
        other.unwrap_or(value)
    }
}

impl StringType {
    fn accepts(&self, text: &str) -> bool {
        self.length.accepts(text.chars().count())
            && self
                .pattern
                .as_ref()
                .is_none_or(|pattern| pattern.accepts(text))
            && self.format.is_none_or(|format| format.accepts(text))
    }

    fn describe(&self) -> String {
        let mut description = match self.format {
            Some(format) => format.describe().to_owned(),
            None => "a string".to_owned(),
        };
        if let Some(words) = self.length.words("characters") {
            description.push_str(&format!(" of {words}"));
        }
        if let Some(pattern) = &self.pattern {
            description.push_str(&format!(" that matches /{}/", pattern.as_str()));
        }
        description
    }
}

fn one_of(names: &[String]) -> String {
    format!("one of {}", crate::spelling::list(names))
}

/// Whether a whole number differs from the next one: beyond 38 digits, adding one gives nothing
/// that a number can hold.
fn has_a_next(number: Number) -> bool {
    let zero = Number::from(0_i64);
    let absolute = if number < zero { -number } else { number };
    absolute.checked_add(Number::from(1_i64)).is_ok()
}

/// Only the canonical form counts: two spellings of one id would be two keys. It is Crockford's
/// base 32 in upper case, and 26 of its digits hold 2 bits more than an id has.
fn is_ulid(text: &str) -> bool {
    text.len() == 26
        && matches!(text.as_bytes()[0], b'0'..=b'7')
        && text.bytes().all(|byte| {
            byte.is_ascii_digit()
                || (byte.is_ascii_uppercase() && !matches!(byte, b'I' | b'L' | b'O' | b'U'))
        })
}

/// As with ULIDs, one form only: lower-case, with its four hyphens.
fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        })
}

#[cfg(test)]
mod tests;
