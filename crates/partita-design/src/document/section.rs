//! A table that is read key by key.

use partita_core::expression::Span;

use super::{Content, Name, Node, Table, Text};
use crate::codes::Code;
use crate::diagnostic::Report;
use crate::spelling;

/// What a key holds.
#[derive(Clone, Debug)]
pub(crate) enum Field<T> {
    /// The key is not there.
    Absent,
    /// It is there with a mistake, which was reported: whoever needs the value stays silent.
    Broken,
    /// The value.
    Given(T),
}

impl<T> Field<T> {
    pub(crate) fn given(self) -> Option<T> {
        match self {
            Field::Given(value) => Some(value),
            Field::Absent | Field::Broken => None,
        }
    }

    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Field::Absent)
    }

    /// Reads on; `read` reports what it cannot read.
    pub(crate) fn and_then<U>(self, read: impl FnOnce(T) -> Option<U>) -> Field<U> {
        match self {
            Field::Absent => Field::Absent,
            Field::Broken => Field::Broken,
            Field::Given(value) => read(value).map_or(Field::Broken, Field::Given),
        }
    }
}

/// Whether a key that nobody asked for is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excuse {
    /// No.
    None,
    /// Yes, unless it looks like a key that was asked for.
    UnlessMisspelt,
}

/// A table of the file, and which of its keys were asked for.
///
/// Nothing is silently ignored: [`Section::finish`] reports every key that nobody asked for, and
/// the keys that were asked for are what it suggests instead.
#[derive(Debug)]
pub(crate) struct Section<'d> {
    /// Its name in messages and in `[[accept]]`, such as `entity.Story`; empty for the file.
    pub(crate) place: String,
    /// Where its name stands.
    pub(crate) span: Span,
    entries: &'d [(Name, Node)],
    asked: Vec<String>,
}

impl<'d> Section<'d> {
    pub(crate) fn new(place: impl Into<String>, span: Span, entries: &'d Table) -> Self {
        Section {
            place: place.into(),
            span,
            entries,
            asked: Vec::new(),
        }
    }

    /// The key and its value.
    pub(crate) fn entry(&mut self, key: &str) -> Option<&'d (Name, Node)> {
        self.touch(&[key]);
        self.entries.iter().find(|(name, _)| name.text == key)
    }

    /// The value of a key.
    pub(crate) fn node(&mut self, key: &str) -> Option<&'d Node> {
        self.entry(key).map(|(_, node)| node)
    }

    /// Counts keys as asked for that were read in another way.
    pub(crate) fn touch(&mut self, keys: &[&str]) {
        for key in keys {
            if !self.asked.iter().any(|asked| asked == key) {
                self.asked.push((*key).to_owned());
            }
        }
    }

    /// The place of a key that is there.
    pub(crate) fn key_span(&self, key: &str) -> Option<Span> {
        let found = self.entries.iter().find(|(name, _)| name.text == key);
        found.map(|(name, _)| name.span)
    }

    /// The names and values, all of which count as asked for.
    pub(crate) fn all(&mut self) -> &'d [(Name, Node)] {
        let names = self.entries.iter().map(|(name, _)| name.text.clone());
        self.asked.extend(names);
        self.entries
    }

    pub(crate) fn text(&mut self, key: &str, report: &mut Report) -> Field<&'d Text> {
        self.read(key, "a string", report, |content| match content {
            Content::Text(text) => Some(text),
            _ => None,
        })
    }

    pub(crate) fn bool(&mut self, key: &str, report: &mut Report) -> Field<bool> {
        self.read(key, "`true` or `false`", report, |content| match content {
            Content::Bool(truth) => Some(*truth),
            _ => None,
        })
    }

    /// An integer of the range, and its place.
    pub(crate) fn integer(
        &mut self,
        key: &str,
        range: std::ops::RangeInclusive<usize>,
        report: &mut Report,
    ) -> Field<usize> {
        let number = self.read(key, "an integer", report, |content| match content {
            Content::Integer(number) => Some(*number),
            _ => None,
        });
        let span = self.value_span(key);
        number.and_then(|number| {
            let number = number.and_then(|number| usize::try_from(number).ok());
            let number = number.filter(|number| range.contains(number));
            if number.is_none() {
                let (least, most) = (range.start(), range.end());
                report
                    .add(
                        Code::OutOfRange,
                        span,
                        format!("`{key}` must be between {least} and {most}"),
                    )
                    .help(format!("write {most}, for example"));
            }
            number
        })
    }

    /// A list of strings; where `single` is set, one string is a list of one.
    pub(crate) fn texts(
        &mut self,
        key: &str,
        single: bool,
        report: &mut Report,
    ) -> Field<Vec<&'d Text>> {
        let expected = match single {
            true => "a string or a list of strings",
            false => "a list of strings",
        };
        let list = self.read(key, expected, report, |content| match content {
            Content::List(list) => Some(Err(list)),
            Content::Text(text) if single => Some(Ok(text)),
            _ => None,
        });
        list.and_then(|list| {
            let list = match list {
                Ok(text) => return Some(vec![text]),
                Err(list) => list,
            };
            let texts = list.iter().map(|node| match &node.content {
                Content::Text(text) => Some(text),
                other => {
                    report_type(report, node.span, key, "strings", other);
                    None
                }
            });
            // Every element is looked at, so that each wrong one is reported.
            let texts: Vec<_> = texts.collect();
            texts.into_iter().collect()
        })
    }

    /// A table inside this one, as a section of its own.
    pub(crate) fn section(&mut self, key: &str, report: &mut Report) -> Option<Section<'d>> {
        let place = match self.place.as_str() {
            "" => key.to_owned(),
            outer => format!("{outer}.{key}"),
        };
        let (name, node) = self.entry(key)?;
        open(place, name, node, report)
    }

    /// Reports every key that was not asked for.
    pub(crate) fn finish(&self, excuse: impl Fn(&str) -> Excuse, report: &mut Report) {
        let asked = || self.asked.iter().map(String::as_str);
        for (name, _) in self.entries {
            let is_excused = match excuse(&name.text) {
                Excuse::None => false,
                Excuse::UnlessMisspelt => spelling::nearest(&name.text, asked()).is_none(),
            };
            if self.asked.contains(&name.text) || is_excused {
                continue;
            }
            let message = format!("`{}` has no key `{}`", self.place, name.text);
            report
                .add(Code::UnknownKey, name.span, message)
                .suggest(&name.text, asked());
        }
    }

    /// The text of a key, which stays to be read; `None` if it is none.
    pub(crate) fn peek_text(&self, key: &str) -> Option<&'d str> {
        let (_, node) = self.entries.iter().find(|(name, _)| name.text == key)?;
        match &node.content {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// The strings of a list, without a look at what else is in it.
    pub(crate) fn peek_texts(&self, key: &str) -> Vec<&'d str> {
        let found = self.entries.iter().find(|(name, _)| name.text == key);
        let Some((
            _,
            Node {
                content: Content::List(list),
                ..
            },
        )) = found
        else {
            return Vec::new();
        };
        let texts = list.iter().filter_map(|node| match &node.content {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The names inside a table, without a look at what they are.
    pub(crate) fn peek_names(&self, key: &str) -> Vec<&'d str> {
        let found = self.entries.iter().find(|(name, _)| name.text == key);
        let Some((
            _,
            Node {
                content: Content::Table(inner),
                ..
            },
        )) = found
        else {
            return Vec::new();
        };
        inner.iter().map(|(name, _)| name.text.as_str()).collect()
    }

    /// Whether the key is there and is a string.
    pub(crate) fn is_text(&self, key: &str) -> bool {
        let found = self.entries.iter().find(|(name, _)| name.text == key);
        found.is_some_and(|(_, node)| matches!(node.content, Content::Text(_)))
    }

    /// Reports that a key is missing.
    pub(crate) fn missing(&self, key: &str, example: &str, report: &mut Report) {
        let message = match self.place.as_str() {
            "" => format!("a design needs the key `{key}`"),
            place => format!("`{place}` needs the key `{key}`"),
        };
        report
            .add(Code::MissingKey, self.span, message)
            .help(format!("write `{key} = {example}`"));
    }

    /// The text of a key that must be there.
    pub(crate) fn required_text(
        &mut self,
        key: &str,
        example: &str,
        report: &mut Report,
    ) -> Field<&'d Text> {
        let text = self.text(key, report);
        if text.is_absent() {
            self.missing(key, example, report);
        }
        text
    }

    fn value_span(&self, key: &str) -> Span {
        let found = self.entries.iter().find(|(name, _)| name.text == key);
        found.map_or(self.span, |(_, node)| node.span)
    }

    fn read<T>(
        &mut self,
        key: &str,
        expected: &str,
        report: &mut Report,
        read: impl FnOnce(&'d Content) -> Option<T>,
    ) -> Field<T> {
        let Some((_, node)) = self.entry(key) else {
            return Field::Absent;
        };
        match read(&node.content) {
            Some(value) => Field::Given(value),
            None => {
                report_type(report, node.span, key, expected, &node.content);
                Field::Broken
            }
        }
    }
}

/// A named value as a section; anything but a table is reported.
pub(crate) fn open<'d>(
    place: String,
    name: &Name,
    node: &'d Node,
    report: &mut Report,
) -> Option<Section<'d>> {
    match &node.content {
        Content::Table(entries) => Some(Section::new(place, name.span, entries)),
        other => {
            report_type(report, node.span, &place, "a table", other);
            None
        }
    }
}

/// Reports a value of the wrong type.
pub(crate) fn report_type(
    report: &mut Report,
    span: Span,
    key: &str,
    expected: &str,
    found: &Content,
) {
    if matches!(found, Content::Broken) {
        return;
    }
    let found = found.describe();
    report.add(
        Code::WrongType,
        span,
        format!("`{key}` takes {expected}, not {found}"),
    );
}
