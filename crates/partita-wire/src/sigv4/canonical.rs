//! The canonical form of a request: the same bytes on both sides, whatever happened to spaces,
//! order and escapes on the way.

use std::fmt::Write as _;

use http::request::Parts;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::invalid;
use crate::messages;
use crate::refusal::Refusal;

/// What AWS leaves as it is: letters, digits and `-._~`.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
const ESCAPED_IN_PATH: &AsciiSet = &ESCAPED.remove(b'/');

/// The text whose hash is signed.
pub(super) fn canonical_request(
    head: &Parts,
    signed_headers: &[&str],
    body_hash: &str,
) -> Result<String, Refusal> {
    let mut text = format!(
        "{}\n{}\n{}\n",
        head.method,
        canonical_path(head.uri.path()),
        canonical_query(head.uri.query().unwrap_or(""))
    );
    for name in signed_headers {
        text.push_str(name);
        text.push(':');
        push_values(&mut text, head, name)?;
        text.push('\n');
    }
    text.push('\n');
    text.push_str(&signed_headers.join(";"));
    text.push('\n');
    text.push_str(body_hash);
    Ok(text)
}

/// Without `.`, `..` and doubled slashes. What was escaped for the URL is escaped once more.
fn canonical_path(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            segment => segments.push(segment),
        }
    }
    let ends_with_slash = path.ends_with('/') && !segments.is_empty();
    let mut normal = format!("/{}", segments.join("/"));
    if ends_with_slash {
        normal.push('/');
    }
    utf8_percent_encode(&normal, ESCAPED_IN_PATH).to_string()
}

/// Sorted, each name and value escaped in one way only.
fn canonical_query(query: &str) -> String {
    let escaped = |text: &str| {
        let bytes: Vec<u8> = percent_decode_str(text).collect();
        percent_encoding::percent_encode(&bytes, ESCAPED).to_string()
    };
    let mut pairs: Vec<_> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (escaped(name), escaped(value)))
        .collect();
    pairs.sort();
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join("&")
}

/// All values of a header, joined by commas, with single spaces.
fn push_values(text: &mut String, head: &Parts, name: &str) -> Result<(), Refusal> {
    let mut values = head.headers.get_all(name).iter().peekable();
    if values.peek().is_none() {
        return Err(invalid(messages::SIGNATURE_DOES_NOT_MATCH));
    }
    for (index, value) in values.enumerate() {
        // Values beyond UTF-8 cannot have been signed by a client that speaks AWS's protocol.
        let value = std::str::from_utf8(value.as_bytes())
            .map_err(|_| invalid(messages::SIGNATURE_DOES_NOT_MATCH))?;
        if index > 0 {
            text.push(',');
        }
        for (index, word) in value
            .split([' ', '\t'])
            .filter(|it| !it.is_empty())
            .enumerate()
        {
            if index > 0 {
                text.push(' ');
            }
            text.push_str(word);
        }
    }
    Ok(())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            write!(text, "{byte:02x}").expect("writing to a string cannot fail");
            text
        })
}
