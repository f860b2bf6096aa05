//! The READMEs of the shipped designs: every behaviour has its place in the file.

use std::fs;
use std::path::Path;

use partita_design::shipped;

/// How many behaviours the page of each design has.
const BEHAVIOURS: [(&str, usize); 5] = [
    ("stories", 13),
    ("storyhub", 23),
    ("mediahub", 47),
    ("holdthatthought", 18),
    ("figureforge", 16),
];

fn readme(design: &str) -> String {
    let designs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../designs");
    fs::read_to_string(designs.join(design).join("README.md")).unwrap()
}

#[test]
fn every_behaviour_is_spoken_of() {
    for (page, (design, count)) in BEHAVIOURS.iter().enumerate() {
        let readme = readme(design);
        for number in 1..=*count {
            let id = format!("B{page:03}-{number:02}");
            assert!(readme.contains(&id), "{id} of {design}");
        }
    }
}

#[test]
fn sections_that_are_named_are_in_the_file() {
    for design in shipped::all() {
        let readme = readme(design.name);
        let rows = readme.lines().filter(|line| line.starts_with("| B00"));
        for row in rows {
            let place = row.rsplit('|').nth(1).unwrap();
            assert!(place.contains('`'), "{}: {row}", design.name);
            for code in place.split('`').skip(1).step_by(2) {
                let is_header = code.starts_with('[') && code.ends_with(']');
                let stands_there = design.source.lines().any(|line| line.starts_with(code));
                assert!(!is_header || stands_there, "{}: {code}", design.name);
            }
        }
    }
}
