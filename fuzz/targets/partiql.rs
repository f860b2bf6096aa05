//! PartiQL statements, on their own and at the endpoint.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| partita_fuzz::endpoint::partiql(text));
