//! Downloads: whole, in ranges, or 304 where the client has the bytes.
//!
//! Uploaded bytes are not trusted: browsers must not guess another type than the declared one, and
//! a file that is opened as a page can run no scripts and load nothing.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use object_store::ObjectMeta;
use partita_plan::PlanError;

use super::objects::BucketStore;
use super::sign::Signed;
use crate::encode;
use crate::problem::Problem;
use crate::request::Request;

/// A page of its own, without scripts, forms, or anything from elsewhere.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// Sends an object, or the part of it that is asked for.
pub(super) async fn send(
    store: &BucketStore,
    signed: &Signed,
    name: &str,
    request: &Request<'_>,
    seconds_left: i64,
) -> Result<Response, Problem> {
    let headers = request.headers;
    let found = store.find(name).await.map_err(PlanError::from)?;
    let meta = found.ok_or_else(Problem::no_object)?;
    let tag = tag(&meta);
    if is_known(headers, &tag) {
        let mut response = encode::empty(StatusCode::NOT_MODIFIED);
        dress(&mut response, signed, name, &tag, seconds_left);
        return Ok(response);
    }
    let (status, range) = match wanted(headers, &tag, meta.size) {
        Wanted::All => (StatusCode::OK, 0..meta.size),
        Wanted::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        Wanted::Nothing => {
            let mut response = encode::empty(StatusCode::RANGE_NOT_SATISFIABLE);
            let range = format!("bytes */{}", meta.size);
            insert(&mut response, header::CONTENT_RANGE, &range);
            return Ok(response);
        }
    };
    let body = if *request.method == Method::HEAD || range.is_empty() {
        Body::empty()
    } else {
        let bytes = store.read(name, range.clone()).await;
        Body::from_stream(
            bytes
                .map_err(PlanError::from)?
                .ok_or_else(Problem::no_object)?,
        )
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    dress(&mut response, signed, name, &tag, seconds_left);
    let length = (range.end - range.start).to_string();
    insert(&mut response, header::CONTENT_LENGTH, &length);
    if status == StatusCode::PARTIAL_CONTENT {
        let last = range.end - 1;
        let range = format!("bytes {}-{last}/{}", range.start, meta.size);
        insert(&mut response, header::CONTENT_RANGE, &range);
    }
    Ok(response)
}

/// The headers that every answer about an object has.
fn dress(response: &mut Response, signed: &Signed, name: &str, tag: &str, seconds_left: i64) {
    let last = name.rsplit('/').next().unwrap_or_default();
    let is_safe = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    let last: String = last.chars().filter(|letter| is_safe(*letter)).collect();
    let how = if is_shown(&signed.media_type) {
        "inline"
    } else {
        "attachment"
    };
    let cache = format!("private, max-age={}", seconds_left.max(0));
    let headers = [
        (header::CONTENT_TYPE, signed.media_type.as_str()),
        (
            header::CONTENT_DISPOSITION,
            &format!("{how}; filename=\"{last}\""),
        ),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::ETAG, tag),
        (header::ACCEPT_RANGES, "bytes"),
        (header::CACHE_CONTROL, &cache),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    for (name, value) in headers {
        insert(response, name, value);
    }
}

fn insert(response: &mut Response, name: HeaderName, value: &str) {
    // Nothing that is put together here has a character that a header cannot have.
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// Whether browsers show files of this type instead of saving them. What can hold scripts is
/// saved, whatever the policy says about scripts.
pub(super) fn is_shown(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    let (family, kind) = essence.split_once('/').unwrap_or_default();
    match essence {
        // Browsers take these for documents, and run the scripts of SVG and XHTML in them.
        _ if kind == "xml" || kind.ends_with("+xml") => false,
        "application/pdf" | "text/plain" => true,
        _ => matches!(family, "image" | "video" | "audio"),
    }
}

/// The version of an object, in quotes.
fn tag(meta: &ObjectMeta) -> String {
    let tag = match &meta.e_tag {
        Some(tag) => tag.trim_matches('"').to_owned(),
        None => format!(
            "{:x}-{:x}",
            meta.last_modified.timestamp_micros(),
            meta.size
        ),
    };
    let is_plain = |letter: &char| letter.is_ascii_graphic() && *letter != '"';
    format!("\"{}\"", tag.chars().filter(is_plain).collect::<String>())
}

/// Whether the client has this version.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let given = headers.get(header::IF_NONE_MATCH);
    let given = given
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let mut tags = given.split(',').map(str::trim);
    tags.any(|given| given == "*" || given.trim_start_matches("W/") == tag)
}

/// What is asked for of an object.
#[derive(Debug, PartialEq)]
enum Wanted {
    All,
    Part(std::ops::Range<u64>),
    /// Something that it does not have.
    Nothing,
}

/// One range is served; of several, and of what is no range, all is sent, which is allowed.
fn wanted(headers: &HeaderMap, tag: &str, size: u64) -> Wanted {
    let text = |name| {
        headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    let is_same = text(header::IF_RANGE).is_none_or(|given| given == tag);
    let Some(range) = text(header::RANGE).filter(|_| is_same) else {
        return Wanted::All;
    };
    let Some((first, last)) = range
        .strip_prefix("bytes=")
        .and_then(|range| range.split_once('-'))
    else {
        return Wanted::All;
    };
    let part = match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) if first <= last => first..last.saturating_add(1).min(size),
        (Ok(first), Err(_)) if last.is_empty() => first..size,
        (Err(_), Ok(last)) if first.is_empty() => size.saturating_sub(last)..size,
        _ => return Wanted::All,
    };
    if part.is_empty() || part.start >= size {
        Wanted::Nothing
    } else {
        Wanted::Part(part)
    }
}

#[cfg(test)]
mod tests;
