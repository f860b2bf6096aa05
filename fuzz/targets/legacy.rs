//! Requests with the parameters that expressions have replaced: an operation and its body.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use partita_fuzz::{ask, endpoint_with_table};

const OPERATIONS: [&[u8]; 7] = [
    b"Scan",
    b"Query",
    b"GetItem",
    b"PutItem",
    b"UpdateItem",
    b"DeleteItem",
    b"BatchGetItem",
];

fuzz_target!(|bytes: &[u8]| {
    let space = bytes.iter().position(|byte| *byte == b' ');
    let (operation, body) = bytes.split_at(space.unwrap_or(bytes.len()));
    if OPERATIONS.contains(&operation) {
        let endpoint = endpoint_with_table("legacy");
        ask(&endpoint, operation, Bytes::copy_from_slice(body));
    }
});
