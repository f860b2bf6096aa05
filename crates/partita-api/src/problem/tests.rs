use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::*;

/// The table of `docs/errors.md`, as this crate would write it.
fn table() -> String {
    let mut table = String::from("| type | status | title | what to do |\n|---|---|---|---|\n");
    for kind in ProblemKind::ALL {
        let status = kind.status().as_u16();
        let (uri, title, advice) = (kind.uri(), kind.title(), kind.advice());
        table += &format!("| `{uri}` | {status} | {title} | {advice} |\n");
    }
    table
}

#[test]
fn the_page_lists_every_kind() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors.md");
    let page = fs::read_to_string(&path).unwrap();
    let begin = page.find("| type |").unwrap();
    let end = page[begin..]
        .find("\n\n")
        .map_or(page.len(), |at| begin + at + 1);
    if std::env::var_os("UPDATE").is_some() {
        let page = format!("{}{}{}", &page[..begin], table(), &page[end..]);
        fs::write(&path, page).unwrap();
        return;
    }
    assert_eq!(page[begin..end], table(), "UPDATE=1 rewrites the table");
}

#[test]
fn names_are_of_one_kind_each() {
    let names: BTreeSet<_> = ProblemKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(names.len(), ProblemKind::ALL.len());
    for kind in ProblemKind::ALL {
        assert!(kind.status().is_client_error() || kind.status().is_server_error());
    }
}
