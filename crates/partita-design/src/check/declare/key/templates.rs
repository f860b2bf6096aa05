//! From the text of a key to its cases: names resolved, types that can be part of a key.

use partita_core::expression::Span;

use super::{Case, Key, Placeholder};
use crate::check::declare::key_shape::KeyShape;
use crate::check::resolve::condition;
use crate::check::resolve::names::Names;
use crate::check::resolve::value::{self, Sort, Values};
use crate::codes::Code;
use crate::document::{Content, Node, Text};
use crate::expression::Predicate;
use crate::syntax::template;

/// Whether a key may have cases.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cases {
    Allowed,
    /// A primary key is what it is: an item whose key changed with its values would be lost.
    Refused,
}

/// Reads a key; `None` after a report, or without names.
pub(super) fn read(
    name: &str,
    node: &Node,
    names: Option<&Names<'_>>,
    cases: Cases,
) -> Option<Key> {
    let list = match &node.content {
        Content::Text(text) => {
            let case = one(None, text, names)?;
            return Some(Key {
                cases: vec![case],
                native: false,
                written: text.as_str().to_owned(),
                span: text.span(),
            });
        }
        Content::List(list) if cases == Cases::Allowed => list,
        _ => {
            let expected = match cases {
                Cases::Allowed => "a string or a list of cases",
                Cases::Refused => "a string",
            };
            node.refuse(name, expected);
            return None;
        }
    };
    let mut read = Vec::new();
    let mut is_good = true;
    let mut written = String::new();
    for (when, is) in value::open_cases(name, list)? {
        let condition = when.zip(names);
        let when = condition.and_then(|(when, names)| condition::check(when, names));
        is_good &= condition.is_none() || when.is_some();
        let Some(text) = is.text("is") else {
            is_good = false;
            continue;
        };
        written = text.as_str().to_owned();
        match one(when, text, names) {
            Some(case) => read.push(case),
            None => is_good = false,
        }
    }
    (is_good && !read.is_empty()).then_some(Key {
        cases: read,
        native: false,
        written,
        span: node.span,
    })
}

fn one(when: Option<Predicate>, text: &Text, names: Option<&Names<'_>>) -> Option<Case> {
    if text.as_str().is_empty() {
        text.report_here(Code::TemplateSyntax, "a key may not be empty");
        return None;
    }
    let pieces = template::parse(text)?;
    let is_separated = template::is_separated(&pieces, text);
    let mut values = Values::new(names?);
    let (template, typed) = values.template(&pieces)?;
    if !is_separated {
        return None;
    }
    let raw = pieces.iter().filter_map(|piece| match piece {
        template::Piece::Hole(hole) => Some(hole),
        template::Piece::Text(_) => None,
    });
    let mut holes = Vec::new();
    let mut is_good = true;
    for ((raw, typed), hole) in raw.zip(&typed).zip(template.holes()) {
        let kind = typed.sort.kind().cloned();
        is_good &= is_part(text, &raw.written, &typed.sort, raw.span);
        holes.push(Placeholder {
            written: raw.written.clone(),
            attribute: hole.name(),
            span: raw.span,
            kind,
            optional: typed.optional,
            format: hole.format.clone(),
        });
    }
    let mut kinds = holes.iter();
    let shape = KeyShape::new(&template, |_| {
        kinds.next().and_then(|hole| hole.kind.clone())
    });
    is_good.then_some(Case {
        when,
        shape,
        template,
        holes,
        reads: values.reads,
    })
}

/// Whether values of this type can be part of a key.
fn is_part(text: &Text, name: &str, sort: &Sort, span: Span) -> bool {
    let what = match sort {
        Sort::Kind(kind) if kind.is_key_part() => return true,
        Sort::Kind(kind) => kind.noun(),
        Sort::Span => "a span of time",
        Sort::Unknown => "a value of any type",
    };
    let message = format!("`{name}` is {what} and cannot stand in a key");
    text.report(Code::KeyPartType, span, message)
        .help("use a `string`, `ulid`, `uuid`, `timestamp`, `number`, `enum` or `bool`");
    false
}
