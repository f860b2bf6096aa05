//! Answers and refusals to responses.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use partita_core::{Value, plain};
use partita_design::{Design, time};
use partita_plan::{Answer, JobStatus, Record};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value as Json, json};

use crate::problem::Problem;

/// What stays as it is in a part of a path.
const PATH_PART: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The response to an operation that was carried out.
pub fn answer(design: &Design, answer: &Answer, created: bool) -> Response {
    match answer {
        Answer::Done => respond(StatusCode::NO_CONTENT, None, Body::empty()),
        Answer::Page { records, cursor } => {
            let items: Vec<Json> = records.iter().map(record).collect();
            let mut page = json!({ "items": items });
            if let Some(cursor) = cursor {
                page["cursor"] = cursor.as_str().into();
            }
            json_response(StatusCode::OK, &page)
        }
        Answer::Record(found) if created => {
            let mut response = json_response(StatusCode::CREATED, &record(found));
            if let Some(location) = location(design, found) {
                response.headers_mut().insert(header::LOCATION, location);
            }
            response
        }
        Answer::Record(found) => json_response(StatusCode::OK, &record(found)),
    }
}

/// A job as JSON.
pub fn job(job: &JobStatus) -> Json {
    json!({
        "id": job.id,
        "of": job.of,
        "tasks": job.tasks,
        "state": job.state.word(),
        "created": time::format_millis(job.created_millis),
        "done": job.done,
        "expected": job.expected,
        "refused": job.refused,
        "lastError": job.last_error,
    })
}

/// The response to an operation that was refused.
pub fn problem(problem: &Problem) -> Response {
    let media_type = "application/problem+json";
    let body = problem.to_json().to_string();
    let mut response = respond(problem.status, Some(media_type), Body::from(body));
    let headers = response.headers_mut();
    if problem.status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if problem.is_passing() {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    let allowed = problem.members.get("allow").and_then(Json::as_str);
    if let Some(Ok(allowed)) = allowed.map(HeaderValue::from_str) {
        headers.insert(header::ALLOW, allowed);
    }
    response
}

/// A JSON document.
pub fn json_response(status: StatusCode, document: &Json) -> Response {
    respond(
        status,
        Some("application/json"),
        Body::from(document.to_string()),
    )
}

fn record(record: &Record) -> Json {
    Json::Object(plain::map_to_json(&record.attributes))
}

fn location(design: &Design, record: &Record) -> Option<HeaderValue> {
    let entity = design.entity(&record.name)?;
    let mut path = format!("/{}/{}", design.name, entity.name);
    for part in &entity.identity {
        let text = match record.attributes.get(&part.attribute)? {
            Value::S(text) => text.clone(),
            Value::N(number) => number.to_string(),
            _ => return None,
        };
        path.push('/');
        path.extend(utf8_percent_encode(&text, PATH_PART));
    }
    HeaderValue::from_str(&path).ok()
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
