//! DynamoDB JSON: `{"S": "text"}`, `{"N": "12"}`, `{"L": [{"BOOL": true}]}`.
//!
//! [`Value`] reads and writes this form through `serde` directly, without a tree in between.
//! Numbers travel as strings and keep all their digits.
//!
//! Two things can be wrong with what a client sends. JSON of the wrong shape (`{"S": 1}`) is an
//! error of the deserializer, which DynamoDB calls a SerializationException. A value that it
//! understands and refuses (`{"SS": []}`) is read to its end and becomes a [`ValueError`] inside
//! [`Received`], because a request is judged as a whole and in DynamoDB's order. Where a plain
//! [`Value`] is asked for, both are errors of the deserializer.

mod decode;
mod messages;
mod scalar;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::{Map, Number, Value};

pub use decode::Received;
pub use messages::ValueError;

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entry = serializer.serialize_map(Some(1))?;
        let letters = self.kind().letters();
        match self {
            Value::S(text) => entry.serialize_entry(letters, text)?,
            Value::N(number) => entry.serialize_entry(letters, &Text(number))?,
            Value::B(bytes) => entry.serialize_entry(letters, &BASE64.encode(bytes))?,
            Value::Bool(truth) => entry.serialize_entry(letters, truth)?,
            Value::Null => entry.serialize_entry(letters, &true)?,
            Value::L(list) => entry.serialize_entry(letters, list)?,
            Value::M(map) => entry.serialize_entry(letters, map)?,
            Value::Ss(set) => entry.serialize_entry(letters, set)?,
            Value::Ns(set) => {
                entry.serialize_entry(letters, &set.iter().map(Text).collect::<Vec<_>>())?;
            }
            Value::Bs(set) => {
                let texts: Vec<_> = set.iter().map(|bytes| BASE64.encode(bytes)).collect();
                entry.serialize_entry(letters, &texts)?;
            }
        }
        entry.end()
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

struct Text<'a>(&'a Number);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

#[cfg(test)]
mod tests;
