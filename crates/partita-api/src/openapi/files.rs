//! Files in the document: asking for an upload, sending it, reading.

use partita_design::Design;
use partita_design::design::Prefix;
use serde_json::{Map, Value as Json, json};

use super::operation::Described;
use super::parts::{answer, body, one};
use crate::files::sign;

const TAG: &str = "files";

/// Asking for an upload to a prefix.
pub(super) fn ask_upload(design: &Design, name: &str) -> Described {
    let mut prefixes = design.buckets.iter().flat_map(|bucket| &bucket.prefixes);
    let prefix = prefixes.find(|prefix| prefix.name == name);
    let asked = json!({
        "type": "object",
        "additionalProperties": false,
        "anyOf": [{ "required": ["contentType"] }, { "required": ["fileName"] }],
        "properties": {
            "contentType": { "type": "string" },
            "size": {
                "type": "integer",
                "minimum": 0,
                "description": "How many bytes there will be; then there must be exactly so many.",
            },
            "fileName": {
                "type": "string",
                "description": "Its ending tells the type, where that is missing.",
            },
        },
    });
    let upload = json!({
        "type": "object",
        "required": ["method", "url", "headers", "size", "expires"],
        "properties": {
            "method": { "const": "PUT" },
            "url": { "type": "string" },
            "headers": { "type": "object" },
            "size": { "type": "integer" },
            "expires": { "type": "string", "format": "date-time" },
        },
    });
    let granted = json!({
        "type": "object",
        "required": ["name", "until", "upload"],
        "properties": {
            "name": { "type": "string" },
            "until": { "type": "string", "format": "date-time" },
            "upload": upload,
        },
    });
    let example = json!({ "contentType": accepted(prefix), "size": 1 });
    Described {
        summary: format!("Ask for an upload to {name}"),
        about: Some(
            "The bytes go to the URL of the answer; an item takes the upload over by its name."
                .to_owned(),
        ),
        tag: TAG.to_owned(),
        parameters: Vec::new(),
        body: Some(body(asked, Some(example), true)),
        answers: one(
            "201",
            answer(
                "A name for the item, and where to send the bytes.",
                granted,
                None,
            ),
        ),
        refusals: vec![413, 415, 422, 429],
    }
}

/// A type that a prefix takes.
fn accepted(prefix: Option<&Prefix>) -> String {
    let first = prefix.and_then(|prefix| prefix.accepts.first());
    match first.map(String::as_str) {
        None => "text/plain".to_owned(),
        Some("image/*") => "image/png".to_owned(),
        Some("video/*") => "video/mp4".to_owned(),
        Some(other) => other.replace('*', "plain"),
    }
}

/// Sending the bytes.
pub(super) fn send() -> Described {
    let named = json!({
        "type": "object",
        "required": ["name"],
        "properties": { "name": { "type": "string" } },
    });
    Described {
        summary: "Send the bytes of an upload".to_owned(),
        about: Some(
            "To the URL that was answered when the upload was asked for, whole.".to_owned(),
        ),
        tag: TAG.to_owned(),
        parameters: std::iter::once(name()).chain(signature(true)).collect(),
        body: Some(json!({
            "required": true,
            "description": "With the `Content-Type` that the upload was asked for.",
            "content": { "application/octet-stream": { "schema": bytes() } },
        })),
        answers: one("201", answer("The upload is whole.", named, None)),
        refusals: vec![404, 408, 409, 413, 415],
    }
}

/// Asking for a file, or reading it by a signed URL.
pub(super) fn read() -> Described {
    let url = json!({
        "type": "object",
        "required": ["url", "expires", "contentType"],
        "properties": {
            "url": { "type": "string" },
            "expires": { "type": "string", "format": "date-time" },
            "contentType": { "type": "string" },
        },
    });
    let mut found = answer("Where the file can be read for a while.", url, None);
    found["content"]["*/*"] = json!({ "schema": bytes() });
    let redirect = json!({
        "name": "redirect",
        "in": "query",
        "schema": { "type": "boolean" },
        "description": "Answers with the way to the file instead of its URL.",
    });
    let mut answers = Map::new();
    answers.insert("200".to_owned(), found);
    for (status, means) in [
        ("206", "A part of the file, by a signed URL."),
        ("304", "The caller has the file already."),
        ("307", "The way to the file."),
        ("416", "The file does not have that part."),
    ] {
        answers.insert(status.to_owned(), json!({ "description": means }));
    }
    Described {
        summary: "Ask for a file, or read it".to_owned(),
        about: Some(
            "Without a signature a URL is answered; with the signature of such a URL, the bytes."
                .to_owned(),
        ),
        tag: TAG.to_owned(),
        parameters: [name(), redirect]
            .into_iter()
            .chain(signature(false))
            .collect(),
        body: None,
        answers,
        refusals: vec![404],
    }
}

/// What generators of clients take for bytes.
fn bytes() -> Json {
    json!({ "type": "string", "format": "binary" })
}

/// The parameters of a signed URL.
fn signature(is_required: bool) -> impl Iterator<Item = Json> {
    sign::PARAMETERS.into_iter().map(move |name| {
        let schema = match name {
            "size" => json!({ "type": "string", "pattern": "^(\\.\\.)?[0-9]+$" }),
            "expires" => json!({ "type": "integer", "minimum": 0 }),
            _ => json!({ "type": "string" }),
        };
        json!({
            "name": name,
            "in": "query",
            "required": is_required,
            "schema": schema,
            "description": "Stands in a signed URL, and is taken from there.",
        })
    })
}

fn name() -> Json {
    json!({
        "name": "name",
        "in": "path",
        "required": true,
        "schema": { "type": "string" },
        "example": "messages/01JGZ3V8Q2Y7R4T5W6X9A0B1C2.txt",
        "description": "The name of the object; its slashes may stand as they are.",
    })
}
