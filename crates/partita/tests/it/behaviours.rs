//! Every behaviour of the pages has a scenario that says so: the comment above a scenario names
//! what it is about.
//!
//! What a scenario cannot show is tried elsewhere, by the test that is named here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use partita_design::shipped;

use crate::stage::folder;

/// Behaviours that no scenario shows, and a test that does: its file below `tests/it`, and its name.
const ELSEWHERE: [(&str, &str, &str); 7] = [
    // What a table is created with, and what it is called.
    (
        "B001-01",
        "export.rs",
        "fn tables_and_buckets_are_as_the_pages_say",
    ),
    (
        "B003-01",
        "export.rs",
        "fn tables_and_buckets_are_as_the_pages_say",
    ),
    // An item of more than 400 KB is refused, and the attribute named.
    (
        "B001-20",
        "rest/problems.rs",
        "fn what_is_too_large_is_named",
    ),
    // Writes to one partition, and to many.
    ("B001-21", "scaling.rs", "fn one_key_takes_less_than_many"),
    // Every change goes out with both images.
    (
        "B001-22",
        "outbox/drain.rs",
        "fn everything_arrives_in_order_while_all_are_killed",
    ),
    // Links that are mailed are good once, and until their time.
    ("B002-24", "accounts/life.rs", "fn expire"),
    (
        "B004-14",
        "files.rs",
        "fn the_lifetime_of_urls_is_a_setting",
    ),
];

/// Rows of an older layout than a page's: what becomes of them is for migrations, which refuse it.
const OLDER_ROWS: [&str; 1] = ["B002-43"];

/// The behaviours that the scenarios of a design name, each with how many do.
fn named(design: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let scenarios = std::fs::read_dir(folder(design).join("scenarios")).unwrap();
    for file in scenarios.map(|entry| entry.unwrap().path()) {
        if file
            .extension()
            .is_none_or(|extension| extension != "scenario")
        {
            continue;
        }
        let mut above = BTreeSet::new();
        for line in std::fs::read_to_string(file).unwrap().lines() {
            if line.starts_with("scenario ") {
                for id in std::mem::take(&mut above) {
                    *found.entry(id).or_insert(0) += 1;
                }
            } else if let Some(comment) = line.strip_prefix('#') {
                above.extend(ids(comment));
            }
        }
    }
    found
}

/// `B002-05` and the like in a text.
fn ids(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|letter: char| !(letter.is_alphanumeric() || letter == '-'));
    let is_id = |word: &&str| word.len() == 7 && word.starts_with("B00") && word[4..5] == *"-";
    words.filter(is_id).map(str::to_owned)
}

/// All behaviours, with their designs.
fn all() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = root.join("../partita-design/tests/spec/behaviours.txt");
    let list = std::fs::read_to_string(list).unwrap();
    let rows = list.lines().filter(|line| line.starts_with('B'));
    let cells = rows.map(|row| row.split(" | ").collect::<Vec<_>>());
    cells
        .map(|row| (row[0].to_owned(), row[1].to_owned()))
        .collect()
}

#[test]
fn every_behaviour_has_its_scenario() {
    let all = all();
    assert_eq!(all.len(), 117);
    let shown: BTreeMap<&str, _> = shipped::all()
        .iter()
        .map(|design| (design.name, named(design.name)))
        .collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let mut wrong = Vec::new();
    for (id, design) in &all {
        let is_shown = shown[design.as_str()].contains_key(id);
        let elsewhere = ELSEWHERE.iter().find(|(one, _, _)| one == id);
        match elsewhere {
            Some((_, file, test)) => {
                let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
                if !text.contains(test) {
                    wrong.push(format!("{id}: there is no `{test}` in {file}"));
                }
            }
            None if OLDER_ROWS.contains(&id.as_str()) => {}
            None if !is_shown => wrong.push(format!("{id} of {design} has no scenario")),
            None => {}
        }
    }
    for (design, ids) in &shown {
        for id in ids
            .keys()
            .filter(|id| all.get(*id).is_none_or(|of| of != design))
        {
            wrong.push(format!("{id} is no behaviour of {design}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
