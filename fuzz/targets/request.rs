//! Requests to the endpoint, one on each line: an operation and its body.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| partita_fuzz::endpoint::request(bytes));
