//! Beside each shipped design stands its page, as `partita docs` writes it.
//!
//! `UPDATE=1 cargo test -p partita-design` rewrites the pages.

use std::fs;
use std::path::Path;

use partita_design::{check, page, shipped};

#[test]
fn every_page_is_fresh_and_linked() {
    let update = std::env::var_os("UPDATE").is_some();
    for design in shipped::all() {
        let name = design.name;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../designs/{name}"));
        let (compiled, _) = check(design.source, &|_| None);
        let fresh = page::page(&compiled.unwrap());
        let path = folder.join(format!("{name}.md"));
        if update {
            fs::write(&path, &fresh).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(committed, fresh, "{} is stale", path.display());
        let readme = fs::read_to_string(folder.join("README.md")).unwrap();
        assert!(readme.contains(&format!("({name}.md)")), "README of {name}");
    }
}
