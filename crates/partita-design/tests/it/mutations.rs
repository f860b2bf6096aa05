//! Whatever the file is, the checker answers, and every place that it names is in the file.

use partita_design::{Colours, Severity, check, render, shipped};
use proptest::prelude::*;

/// Pieces that are likely to matter when they turn up in a wrong place.
const PIECES: [&str; 24] = [
    "\"", "'", "\"\"\"", "'''", "{", "}", "[", "]", "[[", "]]", "#", "=", ",", ".", "\\",
    "\\u0055", "?", "|", "\n", "\r\n", "é", "𝄞", " of ", " AND ",
];

#[derive(Clone, Debug)]
enum Edit {
    Insert(usize, &'static str),
    Delete(usize, usize),
    Copy(usize, usize, usize),
    Truncate(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = 0_usize..6000;
    prop_oneof![
        4 => (at.clone(), prop::sample::select(&PIECES[..])).prop_map(|(at, piece)| Edit::Insert(at, piece)),
        4 => (at.clone(), 1_usize..40).prop_map(|(at, length)| Edit::Delete(at, length)),
        2 => (at.clone(), at.clone(), 1_usize..60).prop_map(|(from, to, length)| Edit::Copy(from, to, length)),
        1 => at.prop_map(Edit::Truncate),
    ]
}

fn apply(source: &mut String, edit: &Edit) {
    let floor = |source: &String, at: usize| source.floor_char_boundary(at % (source.len() + 1));
    match edit {
        Edit::Insert(at, piece) => source.insert_str(floor(source, *at), piece),
        Edit::Delete(at, length) => {
            let start = floor(source, *at);
            let end = source.ceil_char_boundary((start + length).min(source.len()));
            source.replace_range(start..end, "");
        }
        Edit::Copy(from, to, length) => {
            let start = floor(source, *from);
            let end = source.ceil_char_boundary((start + length).min(source.len()));
            let piece = source[start..end].to_owned();
            source.insert_str(floor(source, *to), &piece);
        }
        Edit::Truncate(at) => source.truncate(floor(source, *at)),
    }
}

fn survives(source: &str) {
    let (design, diagnostics) = check(source, &|_| None);
    let mut errors = diagnostics.iter();
    let has_errors = errors.any(|one| one.severity == Severity::Error);
    assert_eq!(design.is_none(), has_errors, "{source}");
    let mut places = Vec::new();
    for diagnostic in &diagnostics {
        places.push(diagnostic.span);
        places.extend(diagnostic.related.iter().map(|related| related.span));
    }
    for place in places {
        assert!(
            source.get(place.start..place.end).is_some(),
            "{place:?} in {source}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn edited_designs_are_answered(edits in prop::collection::vec(edit(), 1..6)) {
        let mut source = shipped::find("stories").unwrap().source.to_owned();
        for edit in &edits {
            apply(&mut source, edit);
        }
        survives(&source);
        let (_, diagnostics) = check(&source, &|_| None);
        render("stories.toml", &source, &diagnostics, Colours::Off);
    }

    #[test]
    fn any_text_is_answered(source in "\\PC{0,60}") {
        survives(&source);
    }

    #[test]
    fn any_string_in_any_place_is_answered(
        text in "[-A-Za-z0-9 ?={}()\\[\\]'|.,:;/#<>+*$é]{0,40}",
        line in 0_usize..80,
    ) {
        let source = shipped::find("stories").unwrap().source;
        let replaced: Vec<String> = source
            .lines()
            .enumerate()
            .map(|(index, old)| match old.split_once(" = ") {
                Some((key, _)) if index == line => format!("{key} = \"{text}\""),
                _ => old.to_owned(),
            })
            .collect();
        survives(&replaced.join("\n"));
    }
}

#[test]
fn truncated_designs_are_answered() {
    let source = shipped::find("stories").unwrap().source;
    // A step of 3 meets every kind of place, and keeps the test short.
    for end in (0..source.len()).step_by(3) {
        survives(&source[..source.floor_char_boundary(end)]);
    }
}
