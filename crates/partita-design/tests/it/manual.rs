//! `docs/diagnostics.md`: every code, and examples that do what the page says.

use std::fs;
use std::path::Path;

use partita_design::{Code, check};

use crate::lines;

/// A fenced block: what follows the fence, and the text.
pub(crate) type Block<'p> = (&'p str, String);

pub(crate) fn blocks(part: &str) -> Vec<Block<'_>> {
    let mut found: Vec<Block<'_>> = Vec::new();
    let mut is_open = false;
    for line in part.lines() {
        if let Some(info) = line.strip_prefix("```") {
            is_open = !is_open;
            if is_open {
                found.push((info, String::new()));
            }
        } else if is_open {
            let (_, text) = found.last_mut().unwrap();
            text.push_str(line);
            text.push('\n');
        }
    }
    found
}

/// An example is a whole design, or lines that are read behind the page's common ones.
pub(crate) fn whole(common: &str, example: &str) -> String {
    if example.starts_with("design") {
        example.to_owned()
    } else {
        format!("{common}{example}")
    }
}

#[test]
fn examples_do_what_the_page_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/diagnostics.md");
    let page = fs::read_to_string(path).unwrap();
    let mut parts = page.split("\n### ");
    let introduction = parts.next().unwrap();
    let (_, common) = blocks(introduction).pop().unwrap();
    assert_eq!(reported(&common), Vec::<String>::new());

    let mut described = Vec::new();
    let mut wrong = Vec::new();
    for part in parts {
        let code = part.lines().next().unwrap().trim_matches('`').to_owned();
        let code = Code::find(&code).unwrap_or_else(|| panic!("no code `{code}`"));
        described.push(code);
        assert!(
            part.contains(code.meaning()),
            "`{code}` is not described as \"{}\"",
            code.meaning()
        );
        let blocks = blocks(part);
        let [(failing_info, failing), (mended_info, mended)] = blocks.as_slice() else {
            panic!("`{code}` needs two examples");
        };
        assert_eq!((*failing_info, *mended_info), ("toml", "toml"), "{code}");
        let failing = whole(&common, failing);
        let (_, diagnostics) = check(&failing, &|_| None);
        let codes: Vec<_> = diagnostics
            .iter()
            .map(|diagnostic| diagnostic.code)
            .collect();
        if codes != [code] {
            wrong.push(format!(
                "{code} fails with {:#?}",
                lines(&failing, &diagnostics)
            ));
        }
        let left = reported(&whole(&common, mended));
        if !left.is_empty() {
            wrong.push(format!("{code} mended has {left:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(described, Code::ALL);
}

fn reported(source: &str) -> Vec<String> {
    let (_, diagnostics) = check(source, &|_| None);
    lines(source, &diagnostics)
}
