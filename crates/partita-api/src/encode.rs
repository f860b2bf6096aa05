//! Answers and refusals to responses.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use partita_core::{Value, plain};
use partita_design::design::{PathTemplate, Segment};
use partita_design::{Design, design, keys};
use partita_plan::{Answer, Record};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value as Json;

use crate::decode::wish::Wish;
use crate::problem::{Problem, ProblemKind};
use crate::routes;
use crate::tag::Tag;

/// The jobs that do the rest of a write.
const PARTITA_JOB: HeaderName = HeaderName::from_static("partita-job");

const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// What stays as it is in a part of a path.
const PATH_PART: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// What an operation came to, before it is a response of its own or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Its status.
    pub status: StatusCode,
    /// Where the item is, if it is new or the write has moved it.
    pub location: Option<String>,
    /// The version of the item, as an entity tag.
    pub etag: Option<String>,
    /// What is shown, as the text of a JSON document.
    pub body: Option<Vec<u8>>,
    /// Whether less is shown than could be, because the caller asked for less.
    pub is_minimal: bool,
}

impl Outcome {
    /// What an operation came to, as the caller would like to see it. `named` is the identity that
    /// the operation names its item by.
    pub fn of(
        design: &Design,
        answer: &Answer,
        named: &[String],
        wish: &Wish,
    ) -> Result<Self, Problem> {
        let outcome = |status, body| Outcome {
            status,
            location: None,
            etag: None,
            body,
            is_minimal: false,
        };
        let record = match answer {
            Answer::Done => return Ok(outcome(StatusCode::NO_CONTENT, None)),
            Answer::Page { records, cursor } => {
                let mut page = Vec::from(b"{");
                if let Some(cursor) = cursor {
                    page.extend_from_slice(b"\"cursor\":");
                    plain::write_text(cursor, &mut page);
                    page.push(b',');
                }
                page.extend_from_slice(b"\"items\":");
                plain::write_list(records, &mut page, |record, page| {
                    write_shown(design, record, wish.with_keys, page);
                });
                page.push(b'}');
                return Ok(outcome(StatusCode::OK, Some(page)));
            }
            Answer::Record(record) | Answer::Created(record) => record,
        };
        let mut body = Vec::new();
        write_shown(design, record, wish.with_keys, &mut body);
        let tag = Tag::of(design, record, &body);
        let tag = tag.as_ref();
        let only_if = wish.only_if.as_ref();
        if only_if.is_some_and(|tags| !tags.have_version_of(tag)) {
            return Err(Problem::new(
                ProblemKind::StaleVersion,
                "the item has another version than `If-Match` says",
            ));
        }
        let etag = tag.map(ToString::to_string);
        let unless = wish.unless.as_ref();
        if unless.is_some_and(|tags| tags.include(tag)) {
            let unchanged = outcome(StatusCode::NOT_MODIFIED, None);
            return Ok(Outcome { etag, ..unchanged });
        }
        let is_new = matches!(answer, Answer::Created(_));
        let status = match (is_new, wish.minimal) {
            (true, _) => StatusCode::CREATED,
            (false, true) => StatusCode::NO_CONTENT,
            (false, false) => StatusCode::OK,
        };
        Ok(Outcome {
            status,
            location: if is_new {
                location(design, record)
            } else {
                moved_to(design, record, named)
            },
            etag,
            body: (!wish.minimal).then_some(body),
            is_minimal: wish.minimal,
        })
    }

    /// Appends the outcome as a part of another.
    pub(crate) fn write_part(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        if let Some(body) = &self.body {
            out.extend_from_slice(b"\"body\":");
            out.extend_from_slice(body);
            out.push(b',');
        }
        for (name, text) in [("etag", &self.etag), ("location", &self.location)] {
            if let Some(text) = text {
                plain::write_text(name, out);
                out.push(b':');
                plain::write_text(text, out);
                out.push(b',');
            }
        }
        out.extend_from_slice(format!("\"status\":{}}}", self.status.as_u16()).as_bytes());
    }

    /// The response. These jobs do the rest of the write.
    pub fn into_response(self, jobs: &[String]) -> Response {
        let mut response = match self.body {
            Some(body) => json_text(self.status, body),
            None => respond(self.status, None, Body::empty()),
        };
        let headers = response.headers_mut();
        let texts = [
            (header::LOCATION, self.location),
            (header::ETAG, self.etag),
            (
                PREFERENCE_APPLIED,
                self.is_minimal.then(|| "return=minimal".to_owned()),
            ),
            (PARTITA_JOB, (!jobs.is_empty()).then(|| jobs.join(", "))),
        ];
        for (name, text) in texts {
            if let Some(Ok(value)) = text.map(|text| HeaderValue::from_str(&text)) {
                headers.insert(name, value);
            }
        }
        response
    }
}

/// The response to a request that was refused; the log has it under the id `request`.
pub fn problem(problem: &Problem, request: &str) -> Response {
    let media_type = "application/problem+json";
    let body = problem.to_json(request).to_string();
    let mut response = respond(problem.status(), Some(media_type), Body::from(body));
    let headers = response.headers_mut();
    if problem.status() == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if problem.kind.is_passing() {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    if let Some(seconds) = problem.members.get("wait").and_then(Json::as_u64) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    let allowed = problem.members.get("allow").and_then(Json::as_str);
    if let Some(Ok(allowed)) = allowed.map(HeaderValue::from_str) {
        headers.insert(header::ALLOW, allowed);
    }
    response
}

/// A response without a body.
pub fn empty(status: StatusCode) -> Response {
    respond(status, None, Body::empty())
}

/// A JSON document.
pub fn json_response(status: StatusCode, document: &Json) -> Response {
    json_text(status, document.to_string().into_bytes())
}

fn json_text(status: StatusCode, text: Vec<u8>) -> Response {
    respond(status, Some("application/json"), Body::from(text))
}

/// Appends a record as its readers are shown it.
pub(crate) fn write_shown(design: &Design, record: &Record, with_keys: bool, out: &mut Vec<u8>) {
    if !with_keys {
        return plain::write_map(&record.attributes, out);
    }
    // Made of what is shown: a key with a secret in it is not.
    let keys = keys::of_record(design, &record.name, &record.attributes);
    let mut shown = record.attributes.clone();
    for (name, key) in keys {
        shown.insert(name, key);
    }
    plain::write_map(&shown, out);
}

/// Where a record is.
fn location(design: &Design, record: &Record) -> Option<String> {
    let entity = design.find_entity(&record.name)?;
    let value = |part: usize| match record.attributes.get(&entity.identity[part].attribute)? {
        Value::S(text) => Some(text.clone()),
        Value::N(number) => Some(number.to_string()),
        _ => None,
    };
    path_of(design, entity, value)
}

/// Where a record is, if it is elsewhere than its request has named it.
fn moved_to(design: &Design, record: &Record, named: &[String]) -> Option<String> {
    let entity = design.find_entity(&record.name)?;
    let before = path_of(design, entity, |part| named.get(part).cloned())?;
    location(design, record).filter(|now| *now != before)
}

/// The path of an item with these values for the parts of its identity: the one that the design
/// gives, or the one that follows from the name of the entity.
fn path_of(
    design: &Design,
    entity: &design::Record,
    value: impl Fn(usize) -> Option<String>,
) -> Option<String> {
    let path = match &entity.path {
        Some(path) => path.clone(),
        None => routes::item_path(&entity.name, &entity.identity),
    };
    let named = |name: &str| {
        let mut parts = entity.identity.iter();
        value(parts.position(|part| part.name == name)?)
    };
    filled(&path, named).map(|path| format!("/{}{path}", design.name))
}

/// A path with its values; `None` if one is missing.
fn filled(path: &PathTemplate, value: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut filled = String::new();
    for segment in &path.segments {
        filled.push('/');
        match segment {
            Segment::Literal(text) => filled.push_str(text),
            Segment::Parameter(name) => {
                filled.extend(utf8_percent_encode(&value(name)?, PATH_PART));
            }
        }
    }
    Some(filled)
}

fn respond(status: StatusCode, media_type: Option<&'static str>, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if let Some(media_type) = media_type {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}
