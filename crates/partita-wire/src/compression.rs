//! Smaller answers for clients that take them.
//!
//! The service compresses answers from 4 KB on, with gzip or deflate, whichever the client prefers;
//! ScyllaDB's test_compressed_response.py records how it reads `Accept-Encoding`. The checksum is
//! of the bytes that are sent, as AWS's SDKs verify it.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING};
use http::{HeaderMap, HeaderValue, Response};

/// Answers that are smaller are sent as they are.
const BYTES_MIN: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Gzip,
    Deflate,
}

impl Encoding {
    fn name(self) -> &'static str {
        match self {
            Encoding::Gzip => "gzip",
            Encoding::Deflate => "deflate",
        }
    }

    /// At the fastest level: what more effort saves takes longer than to send it.
    fn pack(self, plain: &[u8]) -> std::io::Result<Vec<u8>> {
        let packed = Vec::with_capacity(plain.len() / 4);
        match self {
            Encoding::Gzip => {
                let mut encoder = GzEncoder::new(packed, Compression::fast());
                encoder.write_all(plain)?;
                encoder.finish()
            }
            Encoding::Deflate => {
                let mut encoder = ZlibEncoder::new(packed, Compression::fast());
                encoder.write_all(plain)?;
                encoder.finish()
            }
        }
    }
}

/// The answer as the client wants it.
pub(crate) fn compressed(asked: &HeaderMap, plain: Bytes) -> (Bytes, Option<HeaderValue>) {
    let wanted = (plain.len() >= BYTES_MIN).then(|| preferred(asked));
    let Some(encoding) = wanted.flatten() else {
        return (plain, None);
    };
    match encoding.pack(&plain) {
        Ok(packed) => {
            let name = HeaderValue::from_static(encoding.name());
            (packed.into(), Some(name))
        }
        Err(_) => (plain, None),
    }
}

/// Puts the encoding of a body into the head of its response.
pub(crate) fn describe(response: &mut Response<Bytes>, encoding: Option<HeaderValue>) {
    if let Some(encoding) = encoding {
        response.headers_mut().insert(CONTENT_ENCODING, encoding);
    }
}

/// The encoding with the largest weight; among equals, an encoding that is named comes before one
/// that `*` includes, and then the one that is named first.
fn preferred(asked: &HeaderMap) -> Option<Encoding> {
    let values = asked.get_all(ACCEPT_ENCODING).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let codings: Vec<_> = texts.flat_map(|text| text.split(',')).map(coding).collect();
    let position = |name: &str| codings.iter().position(|(coding, _)| coding == name);
    let candidates = [Encoding::Gzip, Encoding::Deflate].into_iter();
    let candidates = candidates.filter_map(|encoding| {
        let named = position(encoding.name());
        let at = named.or_else(|| position("*"))?;
        let (_, weight) = codings[at];
        (weight > 0).then_some((encoding, weight, named.is_none(), at))
    });
    let best =
        candidates.min_by_key(|(_, weight, is_any, at)| (std::cmp::Reverse(*weight), *is_any, *at));
    best.map(|(encoding, ..)| encoding)
}

/// The name and the weight, in thousandths, of one coding; one that cannot be read weighs nothing.
fn coding(text: &str) -> (String, u32) {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let weight = parts.find_map(|part| {
        let (key, value) = part.split_once('=')?;
        key.trim().eq_ignore_ascii_case("q").then(|| value.trim())
    });
    let weight = weight.map_or(Ok(1.0), str::parse::<f32>);
    let weight = weight.unwrap_or(0.0).clamp(0.0, 1.0);
    (name, (weight * 1000.0) as u32)
}

#[cfg(test)]
mod tests;
