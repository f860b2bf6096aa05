//! JSON to requests and answers to JSON, without a tree between.
//!
//! Two mistakes are distinguished here: text that is not JSON, an error without words, and JSON of
//! the wrong type, in the words of the service's Java. Both are a SerializationException. What
//! is read and then refused, such as an empty set, is a `Received` of `partita_core` and waits
//! for its turn.

use bytes::Bytes;
use partita_store::FoundItem;
use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use crate::messages;
use crate::refusal::{Fault, Refusal};

/// Reads the body of a request. How deep it may nest is bounded: by `serde_json` for everything,
/// by `partita_core` for attribute values.
pub(crate) fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Refusal> {
    // `serde` would also take a list of a structure's fields in their order.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(Refusal::silent(Fault::Serialization));
    }
    serde_json::from_slice(body).map_err(|error| match error.classify() {
        Category::Data => wrong_data(&error),
        _ => Refusal::silent(Fault::Serialization),
    })
}

/// Writes an answer.
pub(crate) fn write(answer: &impl Serialize) -> Bytes {
    serde_json::to_vec(answer)
        .expect("answers hold nothing that JSON cannot")
        .into()
}

/// Writes an answer member by member, so that stored items are copied into it. It has about so
/// many bytes.
pub(crate) fn answer(bytes: usize, write: impl FnOnce(&mut Object<'_>)) -> Bytes {
    let mut out = Vec::with_capacity(bytes);
    object(&mut out, write);
    out.into()
}

/// Writes an object.
pub(crate) fn object(out: &mut Vec<u8>, write: impl FnOnce(&mut Object<'_>)) {
    out.push(b'{');
    let is_empty = true;
    write(&mut Object { out, is_empty });
    out.push(b'}');
}

/// An object that is being written.
pub(crate) struct Object<'a> {
    out: &'a mut Vec<u8>,
    is_empty: bool,
}

impl Object<'_> {
    /// Adds a member.
    pub(crate) fn member(&mut self, name: &str, value: &impl Serialize) {
        self.written(name, |out| {
            serde_json::to_writer(out, value).expect("answers hold nothing that JSON cannot");
        });
    }

    /// Adds a member, if it has a value.
    pub(crate) fn optional(&mut self, name: &str, value: &Option<impl Serialize>) {
        if let Some(value) = value {
            self.member(name, value);
        }
    }

    /// Adds a member whose value writes itself.
    pub(crate) fn written(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) {
        if !self.is_empty {
            self.out.push(b',');
        }
        self.is_empty = false;
        serde_json::to_writer(&mut *self.out, name).expect("a string is always JSON");
        self.out.push(b':');
        write(self.out);
    }
}

/// About how many bytes an answer with this item has. DynamoDB does not count punctuation.
pub(crate) fn bytes_of(item: &FoundItem) -> usize {
    item.size() + item.size() / 4 + 128
}

/// Writes a list whose elements write themselves.
pub(crate) fn list<T>(
    out: &mut Vec<u8>,
    elements: impl IntoIterator<Item = T>,
    write: impl Fn(&mut Vec<u8>, T),
) {
    out.push(b'[');
    for (number, element) in elements.into_iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        write(out, element);
    }
    out.push(b']');
}

fn wrong_data(error: &serde_json::Error) -> Refusal {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    let Some((found, expected)) = text
        .strip_prefix("invalid type: ")
        .and_then(|rest| rest.rsplit_once(", expected "))
    else {
        let is_serdes = ["invalid ", "duplicate ", "missing ", "unknown "];
        return if is_serdes.iter().any(|words| text.starts_with(words)) {
            Refusal::silent(Fault::Serialization)
        } else {
            // The words of `partita_core::json`, which are the service's.
            serialization(text)
        };
    };
    match java_type(expected) {
        Some(java) => wrong_scalar(found, java),
        None => wrong_structure(found, expected),
    }
}

/// The service's name for a type that is neither list nor map.
fn java_type(expected: &str) -> Option<&'static str> {
    match expected {
        "a string" | "a borrowed string" => Some("String"),
        "a boolean" => Some("Boolean"),
        "i64" | "u64" | "i32" | "u32" => Some("Integer"),
        _ => None,
    }
}

fn wrong_scalar(found: &str, java: &str) -> Refusal {
    let kind = match found.split(' ').next().unwrap_or_default() {
        "sequence" => return serialization(messages::wrong_collection(java)),
        "map" => return serialization(messages::UNEXPECTED_STRUCTURE),
        "string" if java == "Boolean" => return serialization(messages::UNKNOWN_TRUTH),
        "string" => "STRING_VALUE",
        "boolean" if found.contains("true") => "TRUE_VALUE",
        "boolean" => "FALSE_VALUE",
        "floating" => "DECIMAL_VALUE",
        _ => "NUMBER_VALUE",
    };
    serialization(messages::wrong_type(kind, java))
}

fn wrong_structure(found: &str, expected: &str) -> Refusal {
    let is_list = expected.contains("sequence") || expected.contains("list");
    serialization(match found.split(' ').next().unwrap_or_default() {
        "map" => messages::UNEXPECTED_STRUCTURE,
        "sequence" if !is_list => messages::UNEXPECTED_LIST,
        _ => messages::UNEXPECTED_FIELD,
    })
}

fn serialization(message: impl Into<String>) -> Refusal {
    Refusal::new(Fault::Serialization, message)
}

#[cfg(test)]
mod tests;
