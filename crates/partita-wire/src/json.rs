//! JSON to requests and answers to JSON, without a tree between.
//!
//! The service tells three mistakes apart: text that is not JSON (an error without words), JSON
//! of the wrong type (a SerializationException in the words of its Java), and attribute values
//! that no item may hold (a ValidationException). `serde` reports them all in one way, so that
//! the difference is made here, by its message.

use bytes::Bytes;
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

fn wrong_data(error: &serde_json::Error) -> Refusal {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    let Some((found, expected)) = text
        .strip_prefix("invalid type: ")
        .and_then(|rest| rest.rsplit_once(", expected "))
    else {
        let is_serdes = ["invalid ", "duplicate ", "missing ", "unknown "];
        return match is_serdes.iter().any(|words| text.starts_with(words)) {
            true => Refusal::silent(Fault::Serialization),
            // The words of `partita_core::json`, which are the service's.
            false => Refusal::validation(text),
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
        _ if expected.starts_with("an attribute value") => messages::UNEXPECTED_VALUE,
        _ => messages::UNEXPECTED_FIELD,
    })
}

fn serialization(message: impl Into<String>) -> Refusal {
    Refusal::new(Fault::Serialization, message)
}

#[cfg(test)]
mod tests;
