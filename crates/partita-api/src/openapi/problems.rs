//! Problem documents: their schema, and the responses that carry them.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use super::parts;
use crate::problem::ProblemKind;

/// The components that [`refer`] speaks of: a response for every status.
pub(super) fn responses() -> Map<String, Json> {
    let mut responses = Map::new();
    for kind in ProblemKind::ALL {
        let status = kind.status().as_u16();
        let alike: Vec<ProblemKind> = of_status(status).collect();
        let name = component(status);
        responses
            .entry(name)
            .or_insert_with(|| response(status, &alike));
    }
    responses
}

/// The responses of an operation that may be refused with these statuses.
pub(super) fn refer(statuses: impl IntoIterator<Item = u16>) -> Map<String, Json> {
    let refer = |status: u16| {
        let target = format!("#/components/responses/{}", component(status));
        (status.to_string(), json!({ "$ref": target }))
    };
    statuses.into_iter().map(refer).collect()
}

/// A schema for the problem documents of each status: generators of clients cannot put one together
/// from what all have and what is different.
pub(super) fn schemas() -> impl Iterator<Item = (String, Json)> {
    let statuses: BTreeSet<u16> = ProblemKind::ALL
        .iter()
        .map(|kind| kind.status().as_u16())
        .collect();
    statuses
        .into_iter()
        .map(|status| (schema_name(status), schema(status)))
}

fn schema(status: u16) -> Json {
    let mut schema = members();
    let kinds = of_status(status).map(ProblemKind::uri);
    schema["required"] = json!(["type", "title", "status", "detail"]);
    schema["properties"]["type"] = json!({
        "type": "string",
        "description": "The kind of problem; stable, for programs.",
        "enum": kinds.collect::<Vec<_>>(),
    });
    schema["properties"]["status"] = json!({
        "type": "integer",
        "description": "The status of the response once more.",
        "const": status,
    });
    schema
}

/// What problem documents of every kind have, beside their kind and status.
pub(crate) fn members() -> Json {
    let text = |about: &str| json!({ "type": "string", "description": about });
    json!({
        "type": "object",
        "description": "A refusal, as RFC 9457 has it.",
        "required": ["title", "detail"],
        "additionalProperties": true,
        "properties": {
            "title": text("The kind in a few words."),
            "detail": text("What happened this time, for people."),
            "instance": text("The request, as it stands in the server's log."),
            "entity": text("The entity or view that the request was about."),
            "rule": text("The rule of the design that decided."),
            "wait": {
                "type": "integer",
                "description": "So many seconds later it may pass.",
            },
            "faults": {
                "type": "array",
                "description": "Everything that is wrong with what was given, not only the first.",
                "items": {
                    "type": "object",
                    "required": ["attribute", "detail"],
                    "properties": {
                        "attribute": text("The attribute or parameter."),
                        "rule": text("What the design asks of it."),
                        "detail": text("What is wrong."),
                    },
                },
            },
        },
    })
}

/// The response of a status, which some kinds of problems share.
fn response(status: u16, kinds: &[ProblemKind]) -> Json {
    let titles: Vec<&str> = kinds.iter().map(|kind| kind.title()).collect();
    let examples = kinds
        .iter()
        .map(|kind| (kind.name().to_owned(), example(*kind)));
    let mut response = json!({
        "description": format!("{}.", titles.join(". ")),
        "content": { "application/problem+json": {
            "schema": parts::refer(&schema_name(status)),
            "examples": examples.collect::<Map<_, _>>(),
        } },
    });
    let header = match status {
        401 => Some(("WWW-Authenticate", "^Bearer")),
        429 | 503 => Some(("Retry-After", "^[0-9]+$")),
        _ => None,
    };
    if let Some((name, pattern)) = header {
        let schema = json!({ "type": "string", "pattern": pattern });
        response["headers"] = json!({ name: { "schema": schema } });
    }
    response
}

fn example(kind: ProblemKind) -> Json {
    let mut value = json!({
        "type": kind.uri(),
        "title": kind.title(),
        "status": kind.status().as_u16(),
        "detail": kind.title(),
    });
    if kind == ProblemKind::Invalid {
        value["detail"] = "`title` is required".into();
        value["faults"] = json!([{
            "attribute": "title",
            "rule": "a string of 1 to 300 characters",
            "detail": "is required",
        }]);
    }
    if kind == ProblemKind::Taken {
        value["detail"] = "`email` of `User` is taken".into();
        value["faults"] = json!([{
            "attribute": "email",
            "entity": "User",
            "rule": "unique",
            "detail": "is taken",
        }]);
    }
    json!({ "summary": kind.title(), "description": kind.advice(), "value": value })
}

fn of_status(status: u16) -> impl Iterator<Item = ProblemKind> {
    let kinds = ProblemKind::ALL.iter().copied();
    kinds.filter(move |kind| kind.status().as_u16() == status)
}

/// The name of a schema among the components. Names of records have no hyphen.
fn schema_name(status: u16) -> String {
    format!("Partita-Problem-{status}")
}

fn component(status: u16) -> String {
    format!("Refused{status}")
}
