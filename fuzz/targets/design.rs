//! A design file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_design::{Severity, check};

fuzz_target!(|source: &str| {
    let (design, diagnostics) = check(source, &|_| None);
    let has_errors = diagnostics.iter().any(|it| it.code.severity() == Severity::Error);
    assert_eq!(design.is_none(), has_errors, "{diagnostics:?}");
    for diagnostic in &diagnostics {
        let span = diagnostic.span;
        assert!(source.get(span.start..span.end).is_some(), "{diagnostic:?}");
    }
});
