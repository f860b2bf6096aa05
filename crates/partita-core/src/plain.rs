//! The JSON that people write: `"text"`, `12`, `[true]`.
//!
//! JSON has fewer types than DynamoDB. Reading gives strings, numbers, booleans, nulls, lists
//! and maps; writing turns sets into arrays and binaries into base64, and numbers keep every
//! digit. The other types can be read back where the type of the attribute is known.
//!
//! Answers are written as text at once ([`write_value`]): a document in between would cost several times
//! as much as the text. Where a document is needed there is [`to_json`], which prints the same.

use std::io::Write as _;

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

/// Appends a value as text.
pub fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::S(text) => write_text(text, out),
        Value::N(number) => write_number(number, out),
        Value::B(bytes) => write_text(&BASE64.encode(bytes), out),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Null => out.extend_from_slice(b"null"),
        Value::L(list) => write_list(list, out, write_value),
        Value::M(map) => write_map(map, out),
        Value::Ss(set) => write_list(set, out, |text, out| write_text(text, out)),
        Value::Ns(set) => write_list(set, out, write_number),
        Value::Bs(set) => write_list(set, out, |bytes, out| {
            write_text(&BASE64.encode(bytes), out);
        }),
    }
}

/// Appends a map as text.
pub fn write_map(map: &Map, out: &mut Vec<u8>) {
    out.push(b'{');
    for (at, (name, value)) in map.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_text(name, out);
        out.push(b':');
        write_value(value, out);
    }
    out.push(b'}');
}

/// Appends a list as text, each element by a function.
pub fn write_list<T>(
    list: impl IntoIterator<Item = T>,
    out: &mut Vec<u8>,
    write: impl Fn(T, &mut Vec<u8>),
) {
    out.push(b'[');
    for (at, element) in list.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(element, out);
    }
    out.push(b']');
}

/// Appends a text, quoted and escaped.
pub fn write_text(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("a text is always JSON, and a vector takes it");
}

fn write_number(number: &Number, out: &mut Vec<u8>) {
    write!(out, "{number}").expect("a vector takes everything");
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
    fn text_is_written_as_a_document_prints_it() {
        let bytes = Value::B(vec![0, 255, 7]);
        let set = |texts: [&str; 2]| texts.into_iter().map(str::to_owned).collect();
        let numbers = ["-0", "1E2", "9.9e125", "1e-130", "0.1", "-12.50"];
        let numbers = numbers.map(|digits| digits.parse::<Number>().unwrap());
        let value = Value::M(Map::from_iter([
            ("".to_owned(), Value::Null),
            ("a \"b\"\n\u{1}\u{2028}é😀".to_owned(), Value::Bool(false)),
            ("b".to_owned(), bytes.clone()),
            ("bs".to_owned(), Value::Bs([vec![1], vec![2, 3]].into())),
            (
                "l".to_owned(),
                Value::L(vec![Value::Bool(true), bytes, Value::L(Vec::new())]),
            ),
            ("m".to_owned(), Value::M(Map::new())),
            (
                "ns".to_owned(),
                Value::Ns(numbers.iter().cloned().collect()),
            ),
            ("nl".to_owned(), Value::L(numbers.map(Value::N).into())),
            ("ss".to_owned(), Value::Ss(set(["x\\", "\t"]))),
        ]));
        let mut text = Vec::new();
        write_value(&value, &mut text);
        assert_eq!(
            String::from_utf8(text).unwrap(),
            to_json(&value).to_string()
        );
    }

    #[test]
    fn a_number_out_of_range_is_refused() {
        assert!(from_json(serde_json::from_str("1e200").unwrap()).is_err());
    }
}
