//! A TOML file as a tree in which everything knows its place.
//!
//! | module | what it holds |
//! |---|---|
//! | [`text`] | [`Text`]: a string whose every byte knows its place in the file |
//! | [`section`] | [`Section`]: a table, read key by key until none is left over |

pub(crate) mod section;
pub(crate) mod text;

use std::collections::BTreeMap;
use std::ops::Range;

use partita_core::expression::Span;
use serde_json::{Value as Json, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::codes::Code;
use crate::diagnostic::{Added, Report};
use crate::origin::Place;
pub(crate) use section::{Field, Section};
pub(crate) use text::Text;

/// A key and its place.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
    /// Where its mistakes are reported.
    pub(crate) report: Report,
}

impl Name {
    /// Reports a mistake in it.
    pub(crate) fn report(&self, code: Code, message: impl Into<String>) -> Added<'_> {
        self.report.add(code, self.span, message)
    }
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) content: Content,
    pub(crate) span: Span,
    /// Where its mistakes are reported.
    pub(crate) report: Report,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Text(Text),
    /// `None` is a number that 64 bits do not hold.
    Integer(Option<i64>),
    Bool(bool),
    List(Vec<Node>),
    Table(Table),
    /// A number with a fraction, as it is written.
    Float(String),
    /// A time, which no key of a design takes.
    Other(&'static str),
    /// Something that is not TOML, which was reported.
    Broken,
}

/// A table, in the order of the file.
pub(crate) type Table = Vec<(Name, Node)>;

impl Content {
    /// What it is, with its article.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Content::Text(_) => "a string",
            Content::Integer(_) => "an integer",
            Content::Float(_) => "a float",
            Content::Bool(_) => "a boolean",
            Content::List(_) => "a list",
            Content::Table(_) => "a table",
            Content::Other(what) => what,
            Content::Broken => "nothing",
        }
    }
}

/// Reads a file; what is not TOML is reported, and what can be read beside it is returned.
pub(crate) fn read(source: &str, report: &Report) -> Table {
    let (root, errors) = DeTable::parse_recoverable(source);
    let mut damage = Damage::default();
    for error in errors {
        let span = error.span().unwrap_or(source.len()..source.len());
        let span = within(source, Span::from(span));
        // After its first error in a place the parser guesses, and what it guesses is noise.
        if !damage.covers(source, span) {
            damage.add(source, span);
            report_toml(source, error.message(), span, report);
        }
    }
    table(source, root.get_ref(), report)
}

/// The lines that cannot be trusted, because TOML's parser stumbled over them.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    lines: Vec<Range<usize>>,
}

impl Damage {
    /// Notes a mistake. In the header of a section it makes all lines of the section doubtful,
    /// because it is unknown where they belong.
    pub(crate) fn add(&mut self, source: &str, span: Span) {
        let is_header = |line: &&str| line.trim_start().starts_with('[');
        let first = line_of(source, span.start);
        let mut rest = source.lines().skip(first);
        let length = match rest.next().filter(is_header) {
            Some(_) => 1 + rest.take_while(|line| !is_header(line)).count(),
            None => 1,
        };
        self.lines.push(first..first + length);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(crate) fn covers(&self, source: &str, span: Span) -> bool {
        let line = line_of(source, span.start);
        self.lines.iter().any(|lines| lines.contains(&line))
    }
}

/// Where the lines of a file end.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    newlines: Vec<usize>,
}

impl Lines {
    pub(crate) fn new(source: &str) -> Lines {
        Lines {
            newlines: source.match_indices('\n').map(|(at, _)| at).collect(),
        }
    }

    /// The line that something begins in, from 1.
    pub(crate) fn of(&self, span: Span) -> usize {
        self.newlines.partition_point(|at| *at < span.start) + 1
    }
}

/// The place of every key, by its path.
pub(crate) fn places(source: &str, file: &Table, lines: &Lines) -> BTreeMap<String, Place> {
    let mut places = BTreeMap::new();
    visit("", file, &mut |path, name, node| {
        let is_table = matches!(node.content, Content::Table(_));
        let end = if is_table { name.span } else { node.span }.end;
        let written = source.get(name.span.start..end).unwrap_or_default();
        let length = written.find('\n').unwrap_or(written.len());
        let place = Place {
            path: path.to_owned(),
            line: lines.of(name.span),
            span: Span::new(name.span.start, name.span.start + length),
        };
        places.insert(path.to_owned(), place);
    });
    places
}

/// Calls `see` with every key of a table and of those inside it, and its path.
fn visit(path: &str, table: &Table, see: &mut dyn FnMut(&str, &Name, &Node)) {
    for (name, node) in table {
        let path = match path {
            "" => name.text.clone(),
            path => format!("{path}.{}", name.text),
        };
        if let Content::Table(inner) = &node.content {
            visit(&path, inner, see);
        }
        see(&path, name, node);
    }
}

/// What every key that is no table says, by its path; nothing of how it is written.
pub(crate) fn contents(source: &str) -> BTreeMap<String, Json> {
    fn plain(node: &Node) -> Json {
        match &node.content {
            Content::Text(text) => json!(text.as_str()),
            Content::Integer(number) => json!(number),
            Content::Bool(truth) => json!(truth),
            Content::List(nodes) => nodes.iter().map(plain).collect(),
            Content::Table(table) => {
                let entries = table.iter();
                let entries = entries.map(|(name, node)| (name.text.clone(), plain(node)));
                Json::Object(entries.collect())
            }
            Content::Float(text) => json!(["float", text]),
            Content::Other(what) => json!(["other", what]),
            Content::Broken => Json::Null,
        }
    }
    let file = read(source, &Report::default());
    let mut contents = BTreeMap::new();
    visit("", &file, &mut |path, _, node| {
        if !matches!(node.content, Content::Table(_)) {
            contents.insert(path.to_owned(), plain(node));
        }
    });
    contents
}

/// The number of the line, from 0.
fn line_of(source: &str, offset: usize) -> usize {
    let before = source.as_bytes().iter().take(offset);
    before.filter(|byte| **byte == b'\n').count()
}

fn report_toml(source: &str, message: &str, span: Span, report: &Report) {
    if message == "duplicate key" {
        let written = source.get(span.start..span.end).unwrap_or_default();
        let twice = format!("`{written}` is written twice");
        report
            .add(Code::DuplicateName, span, twice)
            .help("keep one of the two");
        return;
    }
    let mut letters = message.chars();
    let sentence = match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    };
    report.add(Code::Toml, span, sentence);
}

/// The span, moved into the text and onto the borders of characters.
fn within(source: &str, span: Span) -> Span {
    let start = source.floor_char_boundary(span.start.min(source.len()));
    let end = source.ceil_char_boundary(span.end.clamp(start, source.len()));
    Span::new(start, end)
}

fn table(source: &str, entries: &DeTable<'_>, report: &Report) -> Table {
    let entries = entries.iter().map(|(key, value)| {
        let name = Name {
            text: key.get_ref().to_string(),
            span: within(source, key.span().into()),
            report: report.clone(),
        };
        (name, node(source, value, report))
    });
    entries.collect()
}

fn node(source: &str, value: &Spanned<DeValue<'_>>, report: &Report) -> Node {
    let span = within(source, value.span().into());
    let content = match value.get_ref() {
        // Every value has a key before it. The parser puts what it could not read at the start.
        _ if span.end == 0 => Content::Broken,
        DeValue::String(text) => {
            let (text, newer) = Text::new(source, span, text, report);
            for escape in newer {
                report
                    .add(
                        Code::TomlVersion,
                        escape,
                        "this escape came with TOML 1.1, and designs are TOML 1.0",
                    )
                    .help("write `\\u00` and two digits");
            }
            Content::Text(text)
        }
        DeValue::Integer(number) => {
            Content::Integer(i64::from_str_radix(number.as_str(), number.radix()).ok())
        }
        DeValue::Boolean(truth) => Content::Bool(*truth),
        DeValue::Float(number) => Content::Float(number.as_str().replace('_', "")),
        DeValue::Datetime(_) => Content::Other("a time"),
        DeValue::Array(list) => {
            let elements = list.iter().map(|element| node(source, element, report));
            Content::List(elements.collect())
        }
        DeValue::Table(entries) => {
            let entries = table(source, entries, report);
            refuse_newer_inline_table(source, span, &entries, report);
            Content::Table(entries)
        }
    };
    Node {
        content,
        span,
        report: report.clone(),
    }
}

/// TOML 1.0 writes an inline table on one line and without a comma after the last value.
///
/// Only keys, signs and comments are between the values of such a table, so the gaps decide.
fn refuse_newer_inline_table(source: &str, span: Span, entries: &Table, report: &Report) {
    if !source[span.start..span.end].starts_with('{') {
        return;
    }
    let mut values = Vec::new();
    leaves(entries, &mut values);
    let mut from = span.start;
    let mut newline = None;
    for value in &values {
        newline = newline.or_else(|| find(source, from, value.start, '\n'));
        from = from.max(value.end);
    }
    let newline = newline.or_else(|| find(source, from, span.end, '\n'));
    let comma = find(source, from, span.end, ',').filter(|_| !values.is_empty());
    let (at, what) = match (newline, comma) {
        (Some(_), _) => (span, "an inline table over several lines"),
        (None, Some(at)) => (
            Span::new(at, at + 1),
            "a comma after the last value of an inline table",
        ),
        (None, None) => return,
    };
    report.add(
        Code::TomlVersion,
        at,
        format!("{what} came with TOML 1.1, and designs are TOML 1.0"),
    );
}

/// The places of the values, also of those with dotted keys, in the order of the file.
fn leaves(entries: &Table, values: &mut Vec<Span>) {
    for (_, node) in entries {
        match &node.content {
            // A table that only a dotted key made has the place of that key.
            Content::Table(inner) if !inner.is_empty() => {
                leaves(inner, values);
                values.push(node.span);
            }
            _ => values.push(node.span),
        }
    }
    values.sort_by_key(|span| span.start);
}

fn find(source: &str, start: usize, end: usize, wanted: char) -> Option<usize> {
    let gap = source.get(start..end)?;
    gap.find(wanted).map(|at| start + at)
}

#[cfg(test)]
mod tests;
