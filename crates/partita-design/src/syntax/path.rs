//! Paths of URLs: words and placeholders between slashes.
//!
//! ```text
//! path = word { "/" ( word | "{" name "}" ) }
//! ```

use partita_core::expression::Span;

use super::Word;
use crate::codes::Code;
use crate::design::{PathTemplate, Segment};
use crate::document::Text;

/// A path as it is written.
#[derive(Clone, Debug)]
pub(crate) struct WrittenPath {
    pub(crate) template: PathTemplate,
    /// Its first word.
    pub(crate) first: Word,
    /// Its placeholders, in their order.
    pub(crate) placeholders: Vec<Word>,
    /// All of it.
    pub(crate) span: Span,
}

/// Reads a path such as `stories/{storyId}/chapters`; `None` after a report.
pub(crate) fn parse(text: &Text) -> Option<WrittenPath> {
    let mut segments = Vec::new();
    let mut placeholders: Vec<Word> = Vec::new();
    let mut at = 0;
    for part in text.as_str().split('/') {
        let span = text.at(at..at + part.len());
        let segment = match segment(part) {
            Ok(segment) => segment,
            Err((message, help)) => {
                let span = if part.is_empty() { text.span() } else { span };
                text.report(Code::PathSyntax, span, message).help(help);
                return None;
            }
        };
        if let Segment::Parameter(name) = &segment {
            if placeholders.iter().any(|(known, _)| known == name) {
                let message = format!("`{{{name}}}` stands in this path twice");
                text.report(Code::PathSyntax, span, message);
                return None;
            }
            placeholders.push((name.clone(), span));
        }
        segments.push(segment);
        at += part.len() + 1;
    }
    let first = match &segments[0] {
        Segment::Literal(word) => (word.clone(), text.at(0..word.len())),
        Segment::Parameter(name) => {
            let message = format!("this path begins with `{{{name}}}`, which could be anything");
            text.report_here(Code::PathSyntax, message)
                .help(format!("begin with a word: `things/{{{name}}}`"));
            return None;
        }
    };
    Some(WrittenPath {
        template: PathTemplate { segments },
        first,
        placeholders,
        span: text.span(),
    })
}

/// One part of a path, or what is wrong with it and what to write.
fn segment(part: &str) -> Result<Segment, (String, &'static str)> {
    let inside = part
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    if let Some(name) = inside.map(str::trim)
        && !name.is_empty()
        && !name.contains(['{', '}'])
    {
        return Ok(Segment::Parameter(name.to_owned()));
    }
    // A URL has these as they are, without encoding.
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.~".contains(letter);
    match part {
        "" => Err((
            "a part of this path is empty".to_owned(),
            "write `stories/{storyId}`, without a slash before it or behind it",
        )),
        "." | ".." => Err((
            format!("`{part}` does not stay in a path"),
            "write the path from the design on, without dots",
        )),
        _ if part.contains(['{', '}']) => Err((
            format!("`{part}` is neither a word nor a placeholder"),
            "a placeholder is a whole part of a path: `stories/{storyId}`",
        )),
        _ if part.chars().all(is_letter) => Ok(Segment::Literal(part.to_owned())),
        _ => Err((
            format!("`{part}` cannot stand in a URL as it is"),
            "use letters, digits, `-`, `_`, `.` and `~`",
        )),
    }
}
