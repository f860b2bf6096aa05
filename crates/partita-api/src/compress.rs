//! Smaller answers for callers that take them.

use std::io::Write as _;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::intake::work_on;

/// Bodies that are smaller fit into a packet or two as they are.
const BYTES_MIN: u64 = 1024;

/// Larger bodies are streamed, and compressing them would hold them in memory as a whole.
const BYTES_MAX: u64 = 16 * 1_048_576;

/// Compresses a response with gzip if the caller takes that and it is worth it.
pub(crate) async fn compress(asked: &HeaderMap, mut response: Response) -> Response {
    if !is_text(response.headers()) || response.headers().contains_key(header::CONTENT_ENCODING) {
        return response;
    }
    // A cache must not give a compressed answer to somebody who does not take one.
    let vary = HeaderValue::from_static("accept-encoding");
    response.headers_mut().append(header::VARY, vary);
    let size = response.body().size_hint().exact();
    let is_worth_it = size.is_some_and(|size| (BYTES_MIN..=BYTES_MAX).contains(&size));
    if !is_worth_it || !takes_gzip(asked) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    // The body is in memory: reading it neither waits nor fails.
    let Ok(plain) = to_bytes(body, usize::MAX).await else {
        return Response::from_parts(head, Body::empty());
    };
    match work_on(plain.len(), || gzip(&plain)) {
        Ok(packed) => {
            let encoding = HeaderValue::from_static("gzip");
            head.headers.insert(header::CONTENT_ENCODING, encoding);
            head.headers.remove(header::CONTENT_LENGTH);
            Response::from_parts(head, Body::from(packed))
        }
        Err(_) => Response::from_parts(head, Body::from(plain)),
    }
}

/// At the fastest level: JSON shrinks to a fifth, and what more effort saves takes longer than to
/// send it.
fn gzip(plain: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 4), Compression::fast());
    encoder.write_all(plain)?;
    encoder.finish()
}

/// Whether the content is text. Everything else is compressed already, or has no type.
fn is_text(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
    let Some(text) = content_type.and_then(|value| value.to_str().ok()) else {
        return false;
    };
    let media_type = text.split(';').next().unwrap_or_default().trim();
    media_type.starts_with("text/")
        || media_type.ends_with("/json")
        || media_type.ends_with("+json")
        || media_type.ends_with("/javascript")
}

/// Whether `Accept-Encoding` names gzip, or everything, with a weight above zero.
fn takes_gzip(asked: &HeaderMap) -> bool {
    let values = asked.get_all(header::ACCEPT_ENCODING).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let (mut named, mut any) = (None, None);
    for coding in texts.flat_map(|text| text.split(',')) {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts.find_map(|part| part.strip_prefix("q="));
        let is_wanted = weight.is_none_or(|weight| weight.parse::<f32>().is_ok_and(|q| q > 0.0));
        match name.as_str() {
            "gzip" | "x-gzip" => named = Some(is_wanted),
            "*" => any = Some(is_wanted),
            _ => {}
        }
    }
    named.or(any).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_taken_when_it_is_named_with_a_weight() {
        for (text, expected) in [
            ("gzip", true),
            ("GZIP, br", true),
            ("br, gzip;q=0.5", true),
            ("*", true),
            ("gzip;q=0", false),
            ("gzip; q=0, *", false),
            ("gzip;q=none", false),
            ("br", false),
            ("", false),
        ] {
            let value = HeaderValue::from_static(text);
            let asked = HeaderMap::from_iter([(header::ACCEPT_ENCODING, value)]);
            assert_eq!(takes_gzip(&asked), expected, "{text}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
