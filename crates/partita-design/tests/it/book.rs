//! `docs/design-language.md`: every example is a design without a mistake.

use std::fs;
use std::path::Path;

use partita_design::check;

use crate::lines;
use crate::manual::{blocks, whole};

#[test]
fn every_example_is_a_design() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/design-language.md");
    let page = fs::read_to_string(path).unwrap();
    let examples = blocks(&page);
    assert!(examples.len() > 20, "{} examples", examples.len());
    let (_, common) = &examples[0];
    let mut wrong = Vec::new();
    for (info, example) in &examples {
        assert_eq!(*info, "toml");
        let source = whole(common, example);
        let (design, diagnostics) = check(&source, &|_| None);
        if design.is_none() || !diagnostics.is_empty() {
            wrong.push(format!("{example}{:#?}", lines(&source, &diagnostics)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
