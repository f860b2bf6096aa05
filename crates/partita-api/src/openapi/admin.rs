//! Commands for administrators: their requests, and the lines of their answers.

use serde_json::{Map, Value as Json, json};

use super::operation::Described;
use super::parts::{body, one};
use crate::admin::answer::NDJSON;
use crate::admin::{Allowed, Row};

pub(super) fn command(row: &Row) -> Described {
    let [request, event, outcome] = (row.schemas)();
    let failure = json!({
        "type": "object",
        "required": ["detail"],
        "properties": {
            "detail": { "type": "string" },
            "faults": { "type": "array", "items": {
                "type": "object",
                "required": ["attribute", "message"],
                "properties": { "attribute": { "type": "string" }, "message": { "type": "string" } },
            } },
        },
    });
    let mut lines = vec![("outcome", outcome), ("failure", failure)];
    if event != Json::Null {
        lines.insert(0, ("event", event));
    }
    let lines = lines.into_iter().map(|(name, schema)| {
        json!({
            "type": "object",
            "required": [name],
            "additionalProperties": false,
            "properties": { name: schema },
        })
    });
    let answer = json!({
        "description": "One JSON document a line: events, and at the end the outcome or a failure.",
        "content": { NDJSON: { "schema": { "anyOf": lines.collect::<Vec<_>>() } } },
    });
    let about = match row.allowed {
        Allowed::Administrators => "Work ends, between two steps, when the client hangs up.",
        Allowed::Operator => {
            "For the operator of the installation: the socket in the data directory, or a token \
             made with its secret."
        }
    };
    Described {
        summary: row.about.to_owned(),
        about: Some(about.to_owned()),
        tag: "administrators".to_owned(),
        parameters: Vec::new(),
        body: Some(body(request, Some((row.example)()), true)),
        answers: one("200", answer),
        refusals: vec![413, 415, 422, 429],
    }
}

pub(super) fn document() -> Described {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    let answer = json!({
        "description": "This document.",
        "content": { "application/json": { "schema": schema } },
    });
    Described {
        summary: "The commands for administrators, told to programs".to_owned(),
        about: None,
        tag: "administrators".to_owned(),
        parameters: Vec::new(),
        body: None,
        answers: one("200", answer),
        refusals: Vec::new(),
    }
}
