//! `each = "tag in tags"`: one after the other.

use partita_core::expression::Span;

use crate::check::resolve::names::{Meaning, Names};
use crate::check::resolve::value::Values;
use crate::codes::Code;
use crate::design::{Each, EachOver, Pattern};
use crate::document::Text;
use crate::expression::{Formula, Origin, Reading};
use crate::syntax::lexer::Cursor;
use crate::syntax::value::{self, RawPath};
use crate::types::AttributeType;

const CODE: Code = Code::EachSyntax;

/// An `each`, and what its name means.
pub(crate) struct Element {
    pub(crate) each: Each,
    pub(crate) meaning: Meaning,
}

/// Reads an `each` over a list; gives the type of an element too; `None` after a report.
pub(crate) fn over_list(text: &Text, names: &Names<'_>) -> Option<(Each, AttributeType)> {
    let (name, path) = parse(text)?;
    let reading = names.resolve(&path.path(), path.span)?;
    list(name, reading, text, path.span)
}

fn list(name: String, reading: Reading, text: &Text, span: Span) -> Option<(Each, AttributeType)> {
    let (element, max) = match &reading.kind {
        AttributeType::List { element, count } => ((**element).clone(), count.max),
        AttributeType::Set(crate::types::SetOf::Strings) => (AttributeType::string(), None),
        AttributeType::Any => (AttributeType::Any, None),
        kind => {
            let message = format!("`{}` is {}, not a list", reading.path, kind.noun());
            text.report(Code::ValueType, span, message);
            return None;
        }
    };
    let reading = Box::new(reading);
    let over = EachOver::List { reading, max };
    Some((Each { name, over }, element))
}

/// Reads an `each` over a list or a pattern; `None` after a report.
///
/// The parameters of a pattern come from the item by their names; where there is no item, they
/// are left to the caller.
pub(crate) fn over_any(
    text: &Text,
    names: &Names<'_>,
    patterns: &[Option<Pattern>],
) -> Option<Element> {
    let (name, path) = parse(text)?;
    let is_pattern = match path.names.as_slice() {
        [one] => names
            .symbols
            .patterns
            .iter()
            .any(|(pattern, _)| pattern == one),
        _ => false,
    };
    let is_attribute = |one: &String| {
        let record = names.record;
        record.is_some_and(|record| record.find(one).is_some())
    };
    if is_pattern && !path.names.iter().any(is_attribute) {
        return over_pattern(name, &path, names, patterns);
    }
    let span = path.span;
    if names.record.is_none() {
        return names
            .symbols
            .known_pattern(&(path.names.join("."), span))
            .and(None);
    }
    let reading = names.resolve(&path.path(), span)?;
    let (each, kind) = list(name.clone(), reading, text, span)?;
    let meaning = Meaning::value(kind, Origin::Element(name));
    Some(Element { each, meaning })
}

fn over_pattern(
    name: String,
    path: &RawPath,
    names: &Names<'_>,
    patterns: &[Option<Pattern>],
) -> Option<Element> {
    let wanted = path.names.first()?;
    let id = names.symbols.pattern(wanted)?;
    let pattern = patterns[id.index()].as_ref()?;
    let [record] = pattern.returns.as_slice() else {
        let message = format!("`{wanted}` returns several kinds of items");
        names
            .report(Code::UnknownPattern, path.span, message)
            .help("use a pattern that returns one");
        return None;
    };
    let mut parameters = Vec::new();
    if names.record.is_some() {
        for parameter in &pattern.parameters {
            let written = crate::template::dotted(&parameter.name);
            let Some(reading) = names.find_silently(&written) else {
                let message = format!(
                    "nothing says which `{}` of the pattern `{wanted}` is meant",
                    parameter.name
                );
                names.report(Code::UnboundPart, path.span, message);
                return None;
            };
            parameters.push((parameter.name.clone(), reading));
        }
    }
    let each = Each {
        name: name.clone(),
        over: EachOver::Pattern {
            pattern: id,
            parameters,
        },
    };
    let meaning = Meaning::Item(*record, Origin::Element(name));
    Some(Element { each, meaning })
}

fn parse(text: &Text) -> Option<(String, RawPath)> {
    let mut cursor = Cursor::new(text, CODE);
    let name = cursor.word().map(|(name, _)| name.to_owned());
    let name = match name {
        Some(name) if cursor.take_word("in") => name,
        _ => {
            text.report_here(CODE, "an `each` is `name in list`")
                .help("write `each = \"tag in tags\"`");
            return None;
        }
    };
    let path = value::path(&mut cursor)?;
    if !cursor.is_at_end() {
        cursor.expected("the end");
        return None;
    }
    Some((name, path))
}

/// Reads what distinguishes elements; `None` after a report.
pub(crate) fn distinct(text: &Text, names: &Names<'_>) -> Option<Formula> {
    let mut cursor = Cursor::new(text, CODE);
    let raw = value::parse(&mut cursor)?;
    if !cursor.is_at_end() {
        cursor.expected("the end");
        return None;
    }
    let mut values = Values::new(names);
    let typed = values.resolve(&raw)?;
    Some(Formula::plain(typed.expr, values.reads))
}
