//! Pieces that operations are put together from: answers, bodies, headers.

use partita_design::Design;
use partita_design::design::{Record, rules::LimitOf};
use serde_json::{Map, Value as Json, json};

use super::operation::Described;
use crate::feed::EVENT_STREAM;

pub(super) fn answer(means: &str, schema: Json, example: Option<Json>) -> Json {
    let mut media = json!({ "schema": schema });
    if let Some(example) = example {
        media["example"] = example;
    }
    json!({
        "description": means,
        "headers": { "ETag": { "$ref": "#/components/headers/ETag" } },
        "content": { "application/json": media },
    })
}

/// The header that names the jobs of a write.
pub(super) const PARTITA_JOB: &str = "Partita-Job";

/// Lets the answers to a write have a header.
pub(super) fn add_header(answers: &mut Map<String, Json>, name: &str) {
    for answer in answers.values_mut() {
        let described = &mut answer["headers"][name];
        if described.is_null() {
            *described = json!({ "$ref": format!("#/components/headers/{name}") });
        }
    }
}

/// Lets a read be followed as well, or says why it cannot be.
pub(super) fn add_feed(described: &mut Described, why_not: Option<String>) {
    described.refusals.push(501);
    if let Some(why) = why_not {
        let about = described.about.take().map(|about| about + "\n\n");
        let about = about.unwrap_or_default() + "It has no feed: " + &why + ".";
        described.about = Some(about);
        return;
    }
    if let Some(found) = described.answers.get_mut("200") {
        found["content"][EVENT_STREAM] = json!({
            "schema": {
                "type": "string",
                "description": "Server-sent events: `enter` for each row, `ready`, then `enter`, `change`, `leave` and `refetch`.",
            },
        });
    }
    described.parameters.push(header("Last-Event-ID"));
}

/// The answer that shows nothing.
pub(super) fn silent() -> Json {
    json!({ "description": "It is done, and not shown: `Prefer: return=minimal` asks for that, or the caller may not read the item." })
}

pub(super) fn body(schema: Json, example: Option<Json>, is_required: bool) -> Json {
    let mut media = json!({ "schema": schema });
    if let Some(example) = example {
        media["example"] = example;
    }
    json!({ "required": is_required, "content": { "application/json": media } })
}

pub(super) fn one(status: &str, response: Json) -> Map<String, Json> {
    Map::from_iter([(status.to_owned(), response)])
}

pub(super) fn refer(schema: &str) -> Json {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

pub(super) fn header(name: &str) -> Json {
    json!({ "$ref": format!("#/components/parameters/{name}") })
}

pub(super) fn query_parameter(name: &str) -> Json {
    super::query_parameter(name)
}

pub(super) fn version_header(entity: &Record) -> Option<Json> {
    entity.version().map(|_| header("If-Match"))
}

pub(super) fn with_limit(design: &Design, of: &LimitOf, mut refusals: Vec<u16>) -> Vec<u16> {
    if design.limits.iter().any(|limit| limit.of == *of) {
        refusals.push(429);
    }
    refusals
}
