//! Requests to the endpoint, one on each line: an operation and its body.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use partita_fuzz::{ask, endpoint};

/// More would only be slow.
const REQUESTS_MAX: usize = 8;

fuzz_target!(|bytes: &[u8]| {
    let endpoint = endpoint(None);
    for line in bytes.split(|byte| *byte == b'\n').take(REQUESTS_MAX) {
        let space = line.iter().position(|byte| *byte == b' ');
        let (operation, body) = line.split_at(space.unwrap_or(line.len()));
        ask(&endpoint, operation, Bytes::copy_from_slice(body));
    }
});
