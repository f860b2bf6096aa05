//! A table that is read key by key.

use partita_core::expression::Span;
use partita_core::{Number, Value};

use super::{Content, Name, Node, Table, Text};
use crate::codes::Code;
use crate::diagnostic::{Added, Report};
use crate::spelling;

/// What a key holds.
#[derive(Clone, Debug, Default)]
pub(crate) enum Field<T> {
    /// The key is not there.
    #[default]
    Absent,
    /// It is there with a mistake, which was reported; readers of the value report nothing more.
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

    /// The value, if there is one; `None` after a mistake.
    pub(crate) fn optional(self) -> Option<Option<T>> {
        match self {
            Field::Absent => Some(None),
            Field::Broken => None,
            Field::Given(value) => Some(Some(value)),
        }
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

/// Whether a key that was not asked for is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excuse {
    /// No.
    None,
    /// Yes, unless it looks like a key that was asked for.
    UnlessMisspelt,
}

/// A table of the file, and which of its keys were asked for.
///
/// Nothing is silently ignored: [`Section::finish`] reports every key that was not asked for, and
/// the keys that were asked for are what it suggests instead.
#[derive(Debug)]
pub(crate) struct Section<'d> {
    /// Its name in messages and in `[[accept]]`, such as `entity.Story`; empty for the file.
    pub(crate) place: String,
    /// The place of its name.
    pub(crate) span: Span,
    entries: &'d [(Name, Node)],
    asked: Vec<String>,
    /// Where its mistakes are reported.
    pub(crate) report: Report,
}

impl<'d> Section<'d> {
    pub(crate) fn new(
        place: impl Into<String>,
        span: Span,
        entries: &'d Table,
        report: &Report,
    ) -> Self {
        Section {
            place: place.into(),
            span,
            entries,
            asked: Vec::new(),
            report: report.clone(),
        }
    }

    /// Reports a mistake in it.
    pub(crate) fn report(&self, code: Code, span: Span, message: impl Into<String>) -> Added<'_> {
        self.report.add(code, span, message)
    }

    /// The key and its value.
    pub(crate) fn entry(&mut self, key: &str) -> Option<&'d (Name, Node)> {
        self.touch(&[key]);
        self.peek(key)
    }

    /// The key and its value, which stay to be asked for.
    fn peek(&self, key: &str) -> Option<&'d (Name, Node)> {
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
        self.peek(key).map(|(name, _)| name.span)
    }

    /// The names and values, all of which count as asked for.
    pub(crate) fn all(&mut self) -> &'d [(Name, Node)] {
        let names = self.entries.iter().map(|(name, _)| name.text.clone());
        self.asked.extend(names);
        self.entries
    }

    pub(crate) fn text(&mut self, key: &str) -> Field<&'d Text> {
        self.read(key, "a string", |content| match content {
            Content::Text(text) => Some(text),
            _ => None,
        })
    }

    pub(crate) fn bool(&mut self, key: &str) -> Field<bool> {
        self.read(key, "`true` or `false`", |content| match content {
            Content::Bool(truth) => Some(*truth),
            _ => None,
        })
    }

    /// An integer of the range, and its place.
    pub(crate) fn integer(
        &mut self,
        key: &str,
        range: std::ops::RangeInclusive<usize>,
    ) -> Field<usize> {
        let number = self.read(key, "an integer", |content| match content {
            Content::Integer(number) => Some(*number),
            _ => None,
        });
        let span = self.value_span(key);
        number.and_then(|number| {
            let number = number.and_then(|number| usize::try_from(number).ok());
            let number = number.filter(|number| range.contains(number));
            if number.is_none() {
                let (least, most) = (range.start(), range.end());
                self.report(
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
    pub(crate) fn texts(&mut self, key: &str, single: bool) -> Field<Vec<&'d Text>> {
        let expected = if single {
            "a string or a list of strings"
        } else {
            "a list of strings"
        };
        let list = self.read(key, expected, |content| match content {
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
                _ => {
                    node.refuse(key, "strings");
                    None
                }
            });
            // Every element is looked at, so that each wrong one is reported.
            let texts: Vec<_> = texts.collect();
            texts.into_iter().collect()
        })
    }

    /// A table inside this one, as a section of its own.
    pub(crate) fn section(&mut self, key: &str) -> Option<Section<'d>> {
        let place = match self.place.as_str() {
            "" => key.to_owned(),
            outer => format!("{outer}.{key}"),
        };
        let (name, node) = self.entry(key)?;
        node.section(place, name.span)
    }

    /// Reports every key that was not asked for.
    pub(crate) fn finish(&self) {
        self.finish_unless(Excuse::None);
    }

    /// Reports every key that was not asked for, unless it is excused.
    pub(crate) fn finish_unless(&self, excuse: Excuse) {
        let asked = || self.asked.iter().map(String::as_str);
        for (name, _) in self.entries {
            let is_excused = match excuse {
                Excuse::None => false,
                Excuse::UnlessMisspelt => spelling::nearest(&name.text, asked()).is_none(),
            };
            if self.asked.contains(&name.text) || is_excused {
                continue;
            }
            let message = format!("`{}` has no key `{}`", self.place, name.text);
            self.report(Code::UnknownKey, name.span, message)
                .suggest(&name.text, asked());
        }
    }

    /// The text of a key, which stays to be read; `None` if it is none.
    pub(crate) fn peek_text(&self, key: &str) -> Option<&'d str> {
        match &self.peek(key)?.1.content {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// The strings of a list, without a look at what else is in it.
    pub(crate) fn peek_texts(&self, key: &str) -> Vec<&'d str> {
        let list = match self.peek(key).map(|(_, node)| &node.content) {
            Some(Content::List(list)) => list.as_slice(),
            _ => &[],
        };
        let texts = list.iter().filter_map(|node| match &node.content {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The names inside a table, without a look at what they are.
    pub(crate) fn peek_names(&self, key: &str) -> Vec<&'d str> {
        let inner = match self.peek(key).map(|(_, node)| &node.content) {
            Some(Content::Table(inner)) => inner.as_slice(),
            _ => &[],
        };
        inner.iter().map(|(name, _)| name.text.as_str()).collect()
    }

    /// Whether the key is there and is a string.
    pub(crate) fn is_text(&self, key: &str) -> bool {
        self.peek_text(key).is_some()
    }

    /// Reports that a key is missing.
    pub(crate) fn missing(&self, key: &str, example: &str) {
        let message = match self.place.as_str() {
            "" => format!("a design needs the key `{key}`"),
            place => format!("`{place}` needs the key `{key}`"),
        };
        self.report(Code::MissingKey, self.span, message)
            .help(format!("write `{key} = {example}`"));
    }

    /// The text of a key that must be there.
    pub(crate) fn required_text(&mut self, key: &str, example: &str) -> Field<&'d Text> {
        let text = self.text(key);
        if text.is_absent() {
            self.missing(key, example);
        }
        text
    }

    fn value_span(&self, key: &str) -> Span {
        self.peek(key).map_or(self.span, |(_, node)| node.span)
    }

    fn read<T>(
        &mut self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&'d Content) -> Option<T>,
    ) -> Field<T> {
        let Some((_, node)) = self.entry(key) else {
            return Field::Absent;
        };
        match read(&node.content) {
            Some(value) => Field::Given(value),
            None => {
                node.refuse(key, expected);
                Field::Broken
            }
        }
    }
}

impl Node {
    /// The value as a section under a name at `span`; anything but a table is reported.
    pub(crate) fn section(&self, place: String, span: Span) -> Option<Section<'_>> {
        match &self.content {
            Content::Table(entries) => Some(Section::new(place, span, entries, &self.report)),
            _ => {
                self.refuse(&place, "a table");
                None
            }
        }
    }

    /// The value as a text; anything else is reported.
    pub(crate) fn text(&self, key: &str) -> Option<&Text> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => {
                self.refuse(key, "a string");
                None
            }
        }
    }

    /// The value as a number or a boolean; anything else, but for a text, is reported.
    pub(crate) fn scalar(&self, key: &str) -> Option<Value> {
        match &self.content {
            Content::Bool(truth) => Some(Value::Bool(*truth)),
            Content::Integer(Some(number)) => Some(Value::N(Number::from(*number))),
            Content::Float(written) => match written.parse() {
                Ok(number) => Some(Value::N(number)),
                Err(_) => {
                    let message = format!("`{written}` is no number that DynamoDB knows");
                    self.report(Code::OutOfRange, self.span, message);
                    None
                }
            },
            _ => {
                self.refuse(key, "a string, a number or a boolean");
                None
            }
        }
    }

    /// Reports a value of the wrong type.
    pub(crate) fn refuse(&self, key: &str, expected: &str) {
        if !matches!(self.content, Content::Broken) {
            let found = self.content.describe();
            let message = format!("`{key}` takes {expected}, not {found}");
            self.report(Code::WrongType, self.span, message);
        }
    }

    /// Reports a mistake in it.
    pub(crate) fn report(&self, code: Code, span: Span, message: impl Into<String>) -> Added<'_> {
        self.report.add(code, span, message)
    }
}
