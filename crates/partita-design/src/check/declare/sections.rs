//! The sections of a design file, and the names that they have.

use partita_core::expression::Span;

use crate::codes::Code;
use crate::design::path::{RESERVED_SEGMENTS, SERVER_PATHS};
use crate::diagnostic::Report;
use crate::difference::Unstored;
use crate::document::{Name, Node, Section, Text};
use crate::syntax::Word;
use crate::syntax::template::is_name;

/// The sections and keys of a design, each with what a change of it is about where no stored data
/// follow it.
pub(crate) const SECTIONS: [(&str, Unstored); 20] = [
    ("design", Unstored::Description),
    ("about", Unstored::Description),
    ("table", Unstored::Settings),
    ("index", Unstored::Settings),
    ("caller", Unstored::Rules),
    ("accounts", Unstored::Accounts),
    ("every", Unstored::Clause),
    ("shape", Unstored::Clause),
    ("constants", Unstored::Clause),
    ("entity", Unstored::Clause),
    ("view", Unstored::Clause),
    ("action", Unstored::Action),
    ("trigger", Unstored::Trigger),
    ("schedule", Unstored::Schedule),
    ("pattern", Unstored::Pattern),
    ("limit", Unstored::Limit),
    ("limits", Unstored::Limit),
    ("bucket", Unstored::Files),
    ("rows", Unstored::Statement),
    ("accept", Unstored::Accepted),
];

/// What callers can do to items without an action of that name.
const OPERATIONS: [&str; 7] = [
    "create", "get", "update", "upsert", "delete", "restore", "purge",
];

/// Reads what the design is called.
pub(crate) fn design_name(root: &mut Section<'_>) -> Option<String> {
    let name = root.required_text("design", "\"name\"").given()?;
    // The name is the first part of the design's URLs.
    let is_letter =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let text = name.as_str();
    let is_taken = SERVER_PATHS.contains(&text);
    if text.is_empty() || !text.chars().all(is_letter) || text.starts_with('-') || is_taken {
        root.report(
            Code::InvalidName,
            name.span(),
            format!("`{text}` cannot be the name of a design, because names stand in URLs"),
        )
        .help(if is_taken {
            "choose another name: the server answers there itself"
        } else {
            "use lower-case letters, digits and hyphens"
        });
        return None;
    }
    Some(text.to_owned())
}

/// Reads what something is about.
pub(crate) fn about(section: &mut Section<'_>) -> Option<String> {
    let text = section.text("about").given()?;
    Some(text.as_str().to_owned())
}

/// The sections of one kind, such as `[entity.Story]` and `[entity.Node]`.
pub(crate) fn named<'d>(root: &mut Section<'d>, kind: &str) -> Vec<(&'d Name, Section<'d>)> {
    let entries: &[(Name, Node)] = match root.entry(kind) {
        None => &[],
        Some((name, node)) => match node.section(kind.to_owned(), name.span) {
            Some(mut section) => section.all(),
            None => &[],
        },
    };
    let mut sections = Vec::new();
    for (name, node) in entries {
        check_name(&name.text, name.span, &root.report);
        check_url_name(kind, name);
        let opened = node.section(format!("{kind}.{}", name.text), name.span);
        sections.extend(opened.map(|section| (name, section)));
    }
    sections
}

/// Entities, views and actions are parts of URLs, beside words that have a meaning there.
fn check_url_name(kind: &str, name: &Name) {
    let taken: &[&str] = match kind {
        "entity" | "view" => &RESERVED_SEGMENTS,
        "action" => &OPERATIONS,
        _ => &[],
    };
    if taken.contains(&name.text.as_str()) {
        let message = match kind {
            "action" => format!("`{}` is what callers can do without an action", name.text),
            _ => format!("`{}` means something else in URLs", name.text),
        };
        name.report(Code::InvalidName, message)
            .help("choose another name");
    }
}

/// The names of some sections.
pub(crate) fn words(sections: &[(&Name, Section<'_>)]) -> Vec<Word> {
    let words = sections
        .iter()
        .map(|(name, _)| (name.text.clone(), name.span));
    words.collect()
}

/// Names of entities, attributes and the like are words of the condition language.
pub(crate) fn check_name(name: &str, span: Span, report: &Report) -> bool {
    let (problem, help) = match name {
        "caller" => (
            "`caller` means the one who calls, in rules".to_owned(),
            "choose another name",
        ),
        "now" | "old" => (
            format!("`{name}` means something else in expressions"),
            "choose another name",
        ),
        _ if is_name(name) => return true,
        _ => (
            format!("`{name}` is not a name"),
            "use letters, digits and `_`, and no digit first",
        ),
    };
    report.add(Code::InvalidName, span, problem).help(help);
    false
}

/// Reports keys at the top of the file that are no section of a design.
pub(crate) fn unknown_sections(root: &mut Section<'_>) {
    for (name, _) in root.all() {
        let text = name.text.as_str();
        if SECTIONS.iter().any(|(word, _)| *word == text) {
            continue;
        }
        root.report(
            Code::UnknownSection,
            name.span,
            format!("a design has no section or key `{text}`"),
        )
        .suggest(text, SECTIONS.map(|(word, _)| word));
    }
}

/// A text as an owned string with its place.
pub(crate) fn spot(text: &Text) -> (String, Span) {
    (text.as_str().to_owned(), text.span())
}
