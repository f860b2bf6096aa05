//! Bodies as clients send them: plain or compressed, within bounds.

use std::io::Read as _;

use bytes::Bytes;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use http::header::CONTENT_ENCODING;
use http::request::Parts;

use crate::refusal::{Fault, Refusal};

/// The largest body, compressed or not. It is DynamoDB's bound for a request.
pub const BODY_BYTES_MAX: usize = 16 * 1_048_576;

/// Refuses a body that is too large, before it is hashed.
pub(crate) fn check_size(body: &Bytes) -> Result<(), Refusal> {
    if body.len() > BODY_BYTES_MAX {
        Err(Refusal::silent(Fault::RequestTooLarge))
    } else {
        Ok(())
    }
}

/// The body as it was before the client compressed it.
pub(crate) fn plain(head: &Parts, body: Bytes) -> Result<Bytes, Refusal> {
    let Some(encoding) = head.headers.get(CONTENT_ENCODING) else {
        return Ok(body);
    };
    match encoding.as_bytes() {
        b"" | b"identity" => Ok(body),
        b"gzip" => inflated(MultiGzDecoder::new(&*body)),
        b"deflate" => inflated(ZlibDecoder::new(&*body)),
        _ => Err(Refusal::silent(Fault::Serialization)),
    }
}

/// Stops reading one byte beyond the bound: a small body can unfold to gigabytes.
fn inflated(stream: impl std::io::Read) -> Result<Bytes, Refusal> {
    let mut plain = Vec::new();
    stream
        .take(BODY_BYTES_MAX as u64 + 1)
        .read_to_end(&mut plain)
        .map_err(|_| Refusal::silent(Fault::Serialization))?;
    let plain = plain.into();
    check_size(&plain)?;
    Ok(plain)
}

#[cfg(test)]
mod tests;
