//! The JSON that people write: `"text"`, `12`, `[true]`.
//!
//! JSON has fewer types than DynamoDB. Reading gives strings, numbers, booleans, nulls, lists
//! and maps; writing turns sets into arrays and binaries into base64, and numbers keep every
//! digit. The other types can be read back where the type of the attribute is known.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::Value as Json;

use crate::{Map, Number, NumberError, Value};

/// Reads a value; the only thing that can be wrong with one is a number out of range.
pub fn from_json(json: Json) -> Result<Value, NumberError> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(truth),
        Json::Number(number) => Value::N(number.as_str().parse()?),
        Json::String(text) => Value::S(text),
        Json::Array(list) => Value::L(list.into_iter().map(from_json).collect::<Result<_, _>>()?),
        Json::Object(entries) => Value::M(map_from_json(entries)?),
    })
}

/// Reads the entries of an object.
pub fn map_from_json(entries: serde_json::Map<String, Json>) -> Result<Map, NumberError> {
    entries
        .into_iter()
        .map(|(name, json)| Ok((name, from_json(json)?)))
        .collect()
}

/// Reads bytes as [`to_json`] writes them.
pub fn bytes_from_text(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok()
}

/// Writes a value.
pub fn to_json(value: &Value) -> Json {
    match value {
        Value::S(text) => Json::String(text.clone()),
        Value::N(number) => number_to_json(number),
        Value::B(bytes) => Json::String(BASE64.encode(bytes)),
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Null => Json::Null,
        Value::L(list) => list.iter().map(to_json).collect(),
        Value::M(map) => Json::Object(map_to_json(map)),
        Value::Ss(set) => set.iter().map(String::as_str).collect(),
        Value::Ns(set) => set.iter().map(number_to_json).collect(),
        Value::Bs(set) => set.iter().map(|bytes| BASE64.encode(bytes)).collect(),
    }
}

/// Writes the entries of a map.
pub fn map_to_json(map: &Map) -> serde_json::Map<String, Json> {
    map.iter()
        .map(|(name, value)| (name.to_string(), to_json(value)))
        .collect()
}

fn number_to_json(number: &Number) -> Json {
    let digits = number.to_string();
    Json::Number(
        serde_json::from_str(&digits).expect("a number's decimal digits are a JSON number"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_survive() {
        let text = r#"{"a":[12345678901234567890123456789012345678,0.1,null,true],"b":"x"}"#;
        let value = from_json(serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(to_json(&value).to_string(), text);
    }

    #[test]
    fn a_number_out_of_range_is_refused() {
        assert!(from_json(serde_json::from_str("1e200").unwrap()).is_err());
    }
}
