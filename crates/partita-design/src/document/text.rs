//! Strings that know the places of their bytes in the file.

use std::ops::Range;

use partita_core::expression::Span;

use crate::codes::Code;
use crate::diagnostic::{Added, Report};

/// A string of the file, without its quotes and escapes.
///
/// Templates, conditions and attribute lines are small languages inside TOML's strings. A mistake
/// in them is shown under the very letters, also behind an escape such as `\u0055`.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    value: String,
    /// For every byte of the value: the bytes of the file that spell its character.
    places: Vec<Span>,
    /// All of it, with the quotes.
    whole: Span,
    /// Where it ends, before the closing quotes.
    end: usize,
    /// Where its mistakes are reported.
    pub(crate) report: Report,
}

impl Text {
    /// The text of the TOML string at `whole`, which TOML decodes to `value`; and the places of
    /// escapes that only TOML 1.1 has.
    pub(crate) fn new(
        source: &str,
        whole: Span,
        value: &str,
        report: &Report,
    ) -> (Text, Vec<Span>) {
        let written = &source[whole.start..whole.end];
        let mut decoder = Decoder::new(written, whole.start);
        decoder.run();
        let mut text = decoder.text(whole, report);
        // A string that is not TOML was reported already; all its letters get one place.
        if text.value != value {
            text.places = vec![whole; value.len()];
            text.value = value.to_owned();
        }
        (text, decoder.newer)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.value
    }

    /// The place of the whole string, with its quotes.
    pub(crate) fn span(&self) -> Span {
        self.whole
    }

    /// Reports a mistake in it.
    pub(crate) fn report(&self, code: Code, span: Span, message: impl Into<String>) -> Added<'_> {
        self.report.add(code, span, message)
    }

    /// Reports that all of it is a mistake.
    pub(crate) fn report_here(&self, code: Code, message: impl Into<String>) -> Added<'_> {
        self.report.add(code, self.whole, message)
    }

    /// Reports that it is none of the words that are known here.
    pub(crate) fn unknown<'n>(
        &self,
        code: Code,
        what: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) {
        let report = &self.report;
        report.unknown(code, self.whole, what, &self.value, known);
    }

    /// The place of some bytes of the value.
    pub(crate) fn at(&self, range: Range<usize>) -> Span {
        let place = |index: usize| self.places.get(index);
        let start = place(range.start).map_or(self.end, |place| place.start);
        let last = range.end.checked_sub(1).filter(|last| *last >= range.start);
        match last {
            Some(last) => Span::new(start, place(last).map_or(self.end, |place| place.end)),
            None => Span::new(start, start),
        }
    }

    /// The place of a span inside the value.
    pub(crate) fn locate(&self, span: Span) -> Span {
        self.at(span.start..span.end)
    }

    /// A part of the value as a text of its own.
    pub(crate) fn slice(&self, range: Range<usize>) -> Text {
        let value = self.value.get(range.clone()).unwrap_or_default();
        let places = self.places.get(range.clone()).unwrap_or_default();
        let whole = self.at(range.clone());
        Text {
            value: value.to_owned(),
            places: places.to_vec(),
            whole,
            end: whole.end,
            report: self.report.clone(),
        }
    }

    /// The text between the quotes of a literal such as `'it''s'` at `range` of the value.
    pub(crate) fn unquote(&self, range: Range<usize>) -> Text {
        let whole = self.at(range.clone());
        let inside = range.start + 1..range.end.saturating_sub(1).max(range.start + 1);
        let end = self.at(inside.end..inside.end).start;
        let mut value = String::new();
        let mut places = Vec::new();
        let mut quoted = false;
        for (offset, letter) in self.value.get(inside.clone()).unwrap_or("").char_indices() {
            // Of two quotes in a row the second is left out.
            quoted = letter == '\'' && !quoted;
            if letter == '\'' && !quoted {
                continue;
            }
            value.push(letter);
            let from = inside.start + offset;
            places.extend(
                self.places
                    .get(from..from + letter.len_utf8())
                    .into_iter()
                    .flatten(),
            );
        }
        Text {
            value,
            places,
            whole,
            end,
            report: self.report.clone(),
        }
    }
}

/// Walks through a TOML string as it is written.
struct Decoder<'s> {
    rest: &'s str,
    at: usize,
    escapes: bool,
    multiline: bool,
    value: String,
    places: Vec<Span>,
    newer: Vec<Span>,
}

impl<'s> Decoder<'s> {
    fn new(written: &'s str, at: usize) -> Self {
        let multiline = written.starts_with("\"\"\"") || written.starts_with("'''");
        let width = if multiline { 3 } else { 1 };
        let inside = written.get(width..written.len().saturating_sub(width));
        let mut decoder = Decoder {
            rest: inside.unwrap_or(""),
            at: at + width,
            escapes: written.starts_with('"'),
            multiline,
            value: String::new(),
            places: Vec::new(),
            newer: Vec::new(),
        };
        if multiline {
            let newline = ["\r\n", "\n"]
                .into_iter()
                .find(|newline| decoder.rest.starts_with(newline));
            decoder.skip(newline.map_or(0, str::len));
        }
        decoder
    }

    fn run(&mut self) {
        while let Some(letter) = self.rest.chars().next() {
            match letter {
                '\\' if self.escapes => self.escape(),
                _ => self.push(letter, letter.len_utf8()),
            }
        }
    }

    fn text(&mut self, whole: Span, report: &Report) -> Text {
        Text {
            report: report.clone(),
            value: std::mem::take(&mut self.value),
            places: std::mem::take(&mut self.places),
            whole,
            end: self.at.min(whole.end),
        }
    }

    fn escape(&mut self) {
        let Some(kind) = self.rest[1..].chars().next() else {
            return self.skip(1);
        };
        let simple = |letter| (letter, 2);
        let (letter, length) = match kind {
            'b' => simple('\u{8}'),
            't' => simple('\t'),
            'n' => simple('\n'),
            'f' => simple('\u{c}'),
            'r' => simple('\r'),
            'e' => simple('\u{1b}'),
            '"' | '\\' => simple(kind),
            'x' => self.hexadecimal(2),
            'u' => self.hexadecimal(4),
            'U' => self.hexadecimal(8),
            _ if self.multiline && kind.is_ascii_whitespace() => {
                let after = self.rest[1..].trim_start_matches([' ', '\t', '\r', '\n']);
                return self.skip(self.rest.len() - after.len());
            }
            other => (other, 1 + other.len_utf8()),
        };
        if matches!(kind, 'e' | 'x') {
            self.newer.push(Span::new(self.at, self.at + length));
        }
        self.push(letter, length);
    }

    /// The character of so many digits behind `\u`, and the length of all that.
    fn hexadecimal(&self, digits: usize) -> (char, usize) {
        let number = self.rest.get(2..2 + digits);
        let number = number.and_then(|number| u32::from_str_radix(number, 16).ok());
        match number.and_then(char::from_u32) {
            Some(letter) => (letter, 2 + digits),
            None => (char::REPLACEMENT_CHARACTER, 2),
        }
    }

    fn push(&mut self, letter: char, length: usize) {
        let place = Span::new(self.at, self.at + length);
        self.value.push(letter);
        self.places
            .extend(std::iter::repeat_n(place, letter.len_utf8()));
        self.skip(length);
    }

    fn skip(&mut self, length: usize) {
        self.rest = &self.rest[length..];
        self.at += length;
    }
}
