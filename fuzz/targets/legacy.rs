//! Requests with the parameters that expressions have replaced: an operation and its body.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| partita_fuzz::endpoint::legacy(bytes));
