//! Malformed and malicious requests: each is answered with a refusal or a result.

use std::sync::Arc;

use bytes::Bytes;
use partita_store::ModelStore;
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_wire::Endpoint;
use proptest::prelude::*;
use serde_json::Value as Json;

use crate::case::{self, Case};
use crate::corpus;

fn endpoint() -> Endpoint {
    let clock = Arc::new(ManualClock::at(0));
    let store = Arc::new(ModelStore::new(clock.clone()));
    Endpoint::new(store, None, clock, Arc::new(SeededEntropy::new(1)))
}

fn cases() -> Vec<Case> {
    let texts = case::files().into_iter().map(std::fs::read_to_string);
    texts.flat_map(|text| case::parse(&text.unwrap())).collect()
}

fn check(endpoint: &Endpoint, case: &Case, body: Bytes) {
    let (head, _) = corpus::request(case).into_parts();
    let response = futures::executor::block_on(endpoint.answer(&head, body.clone()));
    let status = response.status().as_u16();
    let json: Json = if response.body().is_empty() {
        Json::Null
    } else {
        serde_json::from_slice(response.body()).unwrap()
    };
    let is_refused = status == 400 && json["__type"].is_string();
    assert!(status == 200 || is_refused, "{status} {json} for {body:?}");
}

/// What a byte is replaced by: more often than not something that JSON cares for.
fn bytes() -> impl Strategy<Value = u8> {
    prop_oneof![
        prop::sample::select(&b"{}[]\",:0-9eE.#\\ntf"[..]),
        any::<u8>()
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn mutated_requests_are_answered(
        case: prop::sample::Index,
        changes in prop::collection::vec((any::<prop::sample::Index>(), bytes()), 1..8),
        cut: Option<prop::sample::Index>,
    ) {
        let cases = cases();
        let case = case.get(&cases);
        let mut body = case.body.clone().into_bytes();
        for (at, byte) in changes {
            let at = at.index(body.len());
            body[at] = byte;
        }
        if let Some(cut) = cut {
            body.truncate(cut.index(body.len()));
        }
        check(&endpoint(), case, body.into());
    }
}

#[test]
fn deep_and_long_requests_are_answered() {
    let endpoint = endpoint();
    let setup = cases()
        .into_iter()
        .find(|case| case.body.contains("\"put\""))
        .unwrap();
    check(&endpoint, &setup, setup.body.clone().into());
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(1000), close.repeat(1000));
    let long = "a".repeat(100_000);
    let item = |value: &str| {
        format!(r#"{{"TableName":"put","Item":{{"pk":{{"S":"a"}},"sk":{{"N":"1"}},"x":{value}}}}}"#)
    };
    let condition = |text: &str| {
        let text = text.replace('"', "");
        format!(
            r#"{{"TableName":"put","Item":{{"pk":{{"S":"a"}},"sk":{{"N":"1"}}}},"ConditionExpression":"{text}"}}"#
        )
    };
    for body in [
        item(&deep(r#"{"L":["#, "]}")),
        item(&deep(r#"{"M":{"a":"#, "}}")),
        item(r#"{"N":"1e999999999"}"#),
        item(&format!(r#"{{"N":"{}"}}"#, "9".repeat(100_000))),
        item(&format!(r#"{{"S":"{}"}}"#, "a".repeat(500_000))),
        condition(&deep("(", ")")),
        condition(&"NOT ".repeat(1000)),
        condition(&format!("a{}", ".a".repeat(2000))),
        condition(&long),
        condition("a = :\u{1F600}"),
        format!(r#"{{"TableName":"{long}"}}"#),
        format!(r#"{{"TableName":"put","Unknown":{}}}"#, deep("[", "]")),
        deep("[", "]"),
        deep("{\"a\":", "}"),
    ] {
        check(&endpoint, &setup_as_put(&setup), body.into());
    }
}

fn setup_as_put(case: &Case) -> Case {
    Case {
        operation: "PutItem".to_owned(),
        ..case.clone()
    }
}
