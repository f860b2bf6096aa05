//! How large a design may be. What is beyond is refused before anything else looks at it, so that a
//! file cannot keep a command busy for hours.

use partita_core::expression::Span;

use crate::codes::Code;
use crate::diagnostic::Report;
use crate::document::{Content, Node, Table};

/// Bytes of a file. The largest design that ships has 40 KB.
const FILE_BYTES_MAX: usize = 1_000_000;
/// Sections of one kind, such as entities.
const SECTIONS_MAX: usize = 1_000;
/// Values in one section, such as the attributes of an entity.
const VALUES_MAX: usize = 2_000;

/// Whether a file may be read at all; false after a report.
pub(super) fn is_readable(source: &str, report: &Report) -> bool {
    let is_readable = source.len() <= FILE_BYTES_MAX;
    if !is_readable {
        let message = format!("a design has at most {FILE_BYTES_MAX} bytes");
        report.add(Code::TooLarge, Span::new(0, 0), message);
    }
    is_readable
}

/// Whether a file may be checked; false after a report.
pub(super) fn is_checkable(file: &Table, report: &Report) -> bool {
    let before = report.len();
    for (kind, node) in file {
        let sections = match &node.content {
            Content::Table(sections) => sections,
            Content::List(sections) if sections.len() > SECTIONS_MAX => {
                let message = format!("a design has at most {SECTIONS_MAX} of `[[{}]]`", kind.text);
                kind.report(Code::TooLarge, message);
                continue;
            }
            _ => continue,
        };
        if sections.len() > SECTIONS_MAX {
            let message = format!("a design has at most {SECTIONS_MAX} of `[{}.…]`", kind.text);
            kind.report(Code::TooLarge, message);
        }
        for (name, node) in sections {
            if values(node) > VALUES_MAX {
                let message = format!("a section has at most {VALUES_MAX} values");
                name.report(Code::TooLarge, message)
                    .help("put what belongs together into a `map`, or into items of its own");
            }
        }
    }
    report.len() == before
}

/// The values inside a value. TOML's own parser bounds how deep they are.
fn values(node: &Node) -> usize {
    match &node.content {
        Content::Table(entries) => entries.iter().map(|(_, node)| values(node)).sum(),
        Content::List(nodes) => nodes.iter().map(values).sum(),
        _ => 1,
    }
}
