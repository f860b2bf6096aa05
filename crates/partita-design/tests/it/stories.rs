//! The shipped design `stories`.

use partita_design::{check, shipped};

#[test]
fn compiles() {
    let source = shipped::find("stories").unwrap().source;
    let (design, diagnostics) = check(source, &|_| None);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
    assert!(design.is_some());
}
