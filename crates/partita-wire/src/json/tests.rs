use std::collections::BTreeMap;

use partita_core::Item;
use partita_core::json::Received;

use super::*;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[expect(dead_code, reason = "only whether it can be read matters")]
struct Input {
    text: Option<String>,
    truth: Option<bool>,
    number: Option<i64>,
    names: Option<BTreeMap<String, String>>,
    list: Option<Vec<String>>,
    item: Option<Received<Item>>,
}

fn check(body: &str, fault: Fault, message: Option<&str>) {
    let refused = read::<Input>(body.as_bytes()).unwrap_err();
    let found = (refused.fault, refused.message.as_deref());
    assert_eq!(found, (fault, message), "{body}");
}

#[test]
fn text_that_is_no_request_has_no_words() {
    for body in [
        "",
        "{",
        "[]",
        "1",
        "null",
        "{\"Text\":\"a\"} x",
        "{\"Text\":\"\u{1}\"}",
        "{\"Text\":\"a\",\"Text\":\"b\"}",
    ] {
        check(body, Fault::Serialization, None);
    }
}

#[test]
fn wrong_types_are_named_as_the_service_names_them() {
    for (body, message) in [
        (
            r#"{"Text":1}"#,
            "NUMBER_VALUE cannot be converted to String",
        ),
        (
            r#"{"Text":true}"#,
            "TRUE_VALUE cannot be converted to String",
        ),
        (
            r#"{"Text":false}"#,
            "FALSE_VALUE cannot be converted to String",
        ),
        (
            r#"{"Text":[]}"#,
            "Unrecognized collection type class java.lang.String",
        ),
        (
            r#"{"Text":{}}"#,
            "Start of structure or map found where not expected",
        ),
        (r#"{"Truth":"x"}"#, "Unexpected token received from parser"),
        (
            r#"{"Number":"1"}"#,
            "STRING_VALUE cannot be converted to Integer",
        ),
        (r#"{"Names":1}"#, "Unexpected field type"),
        (r#"{"Names":"a"}"#, "Unexpected field type"),
        (r#"{"List":"a"}"#, "Unexpected field type"),
        (
            r#"{"List":{}}"#,
            "Start of structure or map found where not expected",
        ),
        (r#"{"Item":{"a":1}}"#, "Unexpected value type in payload"),
    ] {
        check(body, Fault::Serialization, Some(message));
    }
}

#[test]
fn values_that_no_item_may_hold_are_read_and_wait() {
    let input: Input = read(br#"{"Item":{"a":{"SS":[]}},"Text":"b"}"#).unwrap();
    assert!(input.item.unwrap().as_result().is_err());
    assert_eq!(input.text.as_deref(), Some("b"));
}

#[test]
fn deep_nesting_ends_early() {
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(1000), close.repeat(1000));
    let value = format!(r#"{{"Item":{{"a":{}}}}}"#, deep(r#"{"L":["#, "]}"));
    let input: Input = read(value.as_bytes()).unwrap();
    assert!(input.item.unwrap().as_result().is_err());
    // An unknown member is skipped without being read.
    let unknown = format!(r#"{{"Unknown":{}}}"#, deep("[", "]"));
    assert!(read::<Input>(unknown.as_bytes()).is_ok());
}

#[test]
fn null_is_as_good_as_nothing() {
    assert!(read::<Input>(br#" {"Text":null,"Item":null} "#).is_ok());
}
