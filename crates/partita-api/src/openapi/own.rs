//! What every design has, whatever is in it: batches, the document, the page.

use serde_json::json;

use super::operation::Described;
use super::parts::{answer, body, header, one};

pub(super) fn batch() -> Described {
    let text = || json!({ "type": "string" });
    let operation = json!({
        "type": "object",
        "required": ["method", "path"],
        "additionalProperties": false,
        "properties": {
            "method": { "type": "string", "enum": ["POST", "PUT", "PATCH", "DELETE"] },
            "path": { "type": "string", "description": "As it stands behind the design's name." },
            "body": { "type": ["object", "null"] },
            "ifMatch": text(),
            "ifNoneMatch": text(),
        },
    });
    let schema = json!({
        "type": "object",
        "required": ["operations"],
        "additionalProperties": false,
        "properties": { "operations": { "type": "array", "items": operation } },
    });
    let result = json!({
        "type": "object",
        "required": ["status"],
        "properties": {
            "status": { "type": "integer" },
            "etag": text(),
            "location": text(),
            "body": { "type": "object" },
        },
    });
    let results = json!({
        "type": "object",
        "required": ["results"],
        "properties": { "results": { "type": "array", "items": result } },
    });
    Described {
        summary: "Several writes, all or none".to_owned(),
        about: Some(
            "Each operation sees what the ones before it did; together they are one transaction."
                .to_owned(),
        ),
        tag: "partita".to_owned(),
        parameters: vec![header("Idempotency-Key"), header("Prefer")],
        body: Some(body(schema, Some(json!({ "operations": [] })), true)),
        answers: one("200", answer("What each came to.", results, None)),
        refusals: vec![404, 405, 409, 412, 413, 415, 422, 429],
    }
}

pub(super) fn document() -> Described {
    let mut answers = one(
        "200",
        answer("This document.", json!({ "type": "object" }), None),
    );
    answers.insert(
        "304".to_owned(),
        json!({ "description": "The caller has it already." }),
    );
    Described {
        summary: "The design, told to programs".to_owned(),
        about: None,
        tag: "partita".to_owned(),
        parameters: Vec::new(),
        body: None,
        answers,
        refusals: Vec::new(),
    }
}

pub(super) fn page_for_people() -> Described {
    let page = json!({
        "description": "A page.",
        "content": { "text/html; charset=utf-8": { "schema": { "type": "string" } } },
    });
    Described {
        summary: "The design, told to people".to_owned(),
        about: Some("A page that can send requests.".to_owned()),
        tag: "partita".to_owned(),
        parameters: Vec::new(),
        body: None,
        answers: one("200", page),
        refusals: Vec::new(),
    }
}
