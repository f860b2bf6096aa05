//! DynamoDB JSON: `{"S": "text"}`, `{"N": "12"}`, `{"L": [{"BOOL": true}]}`.
//!
//! [`Value`] reads and writes this form through `serde` directly, without a tree in between.
//! Numbers travel as strings and keep all their digits.

use std::collections::BTreeSet;
use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use crate::limits::NESTING_MAX;
use crate::{Map, Number, Type, Value};

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

struct Text<'a>(&'a Number);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        OneValue { depth: 0 }.deserialize(deserializer)
    }
}

/// Reads one value that stands `depth` lists and maps deep.
#[derive(Clone, Copy)]
struct OneValue {
    depth: usize,
}

impl OneValue {
    // INVARIANT: recursion ends here, so hostile input cannot exhaust the stack.
    fn inside<E: de::Error>(self) -> Result<Self, E> {
        if self.depth == NESTING_MAX {
            return Err(E::custom(
                "Nesting Levels have exceeded supported limits: Attributes are nested too deeply",
            ));
        }
        Ok(OneValue {
            depth: self.depth + 1,
        })
    }
}

impl<'de> DeserializeSeed<'de> for OneValue {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OneValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an attribute value such as {\"S\": \"text\"}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let Some(letters) = entries.next_key::<String>()? else {
            return Err(de::Error::custom(
                "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
            ));
        };
        let Some(kind) = Type::from_letters(&letters) else {
            return Err(de::Error::custom(format!(
                "`{letters}` is not a type of DynamoDB; use S, N, B, BOOL, NULL, L, M, SS, NS or BS"
            )));
        };
        let value = read(self, kind, &mut entries)?;
        if entries.next_key::<String>()?.is_some() {
            return Err(de::Error::custom(
                "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes",
            ));
        }
        Ok(value)
    }
}

fn read<'de, A: MapAccess<'de>>(
    here: OneValue,
    kind: Type,
    entries: &mut A,
) -> Result<Value, A::Error> {
    Ok(match kind {
        Type::S => Value::S(entries.next_value()?),
        Type::N => Value::N(number(entries.next_value()?)?),
        Type::B => Value::B(bytes(entries.next_value()?)?),
        Type::Bool => Value::Bool(entries.next_value()?),
        Type::Null => match entries.next_value()? {
            true => Value::Null,
            false => {
                return Err(de::Error::custom(
                    "One or more parameter values were invalid: Null attribute value types must have the value of true",
                ));
            }
        },
        Type::L => Value::L(entries.next_value_seed(Elements(here.inside()?))?),
        Type::M => Value::M(entries.next_value_seed(Entries(here.inside()?))?),
        Type::Ss => Value::Ss(set(entries.next_value()?, Ok)?),
        Type::Ns => Value::Ns(set(entries.next_value()?, number)?),
        Type::Bs => Value::Bs(set(entries.next_value()?, bytes)?),
    })
}

fn number<E: de::Error>(text: String) -> Result<Number, E> {
    text.parse().map_err(E::custom)
}

fn bytes<E: de::Error>(text: String) -> Result<Vec<u8>, E> {
    BASE64
        .decode(&text)
        .map_err(|_| E::custom("a binary value must be base64"))
}

fn set<T: Ord, E: de::Error>(
    texts: Vec<String>,
    member: impl Fn(String) -> Result<T, E>,
) -> Result<BTreeSet<T>, E> {
    if texts.is_empty() {
        return Err(E::custom(
            "One or more parameter values were invalid: a set may not be empty",
        ));
    }
    let mut members = BTreeSet::new();
    for text in texts {
        if !members.insert(member(text)?) {
            return Err(E::custom(
                "One or more parameter values were invalid: Input collection contains duplicates",
            ));
        }
    }
    Ok(members)
}

struct Elements(OneValue);

impl<'de> DeserializeSeed<'de> for Elements {
    type Value = Vec<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Value>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Elements {
    type Value = Vec<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of attribute values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<Value>, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = elements.next_element_seed(self.0)? {
            list.push(value);
        }
        Ok(list)
    }
}

struct Entries(OneValue);

impl<'de> DeserializeSeed<'de> for Entries {
    type Value = Map;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Map, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Entries {
    type Value = Map;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of attribute values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Map, A::Error> {
        let mut map = Map::new();
        while let Some(name) = entries.next_key()? {
            map.insert(name, entries.next_value_seed(self.0)?);
        }
        Ok(map)
    }
}

#[cfg(test)]
mod tests;
