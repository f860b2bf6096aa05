//! The words and signs of the lines inside a design's strings.

use std::ops::Range;

use partita_core::expression::Span;

use crate::codes::Code;
use crate::diagnostic::Added;
use crate::document::Text;

/// One word or sign.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token<'t> {
    /// A word; it may have hyphens inside, as in `key-only`.
    Word(&'t str),
    /// Digits, perhaps with a fraction.
    Digits(&'t str),
    /// `'text'`, with its quotes.
    Quoted(&'t str),
    /// The text between the slashes of `/regular expression/`.
    Regex(&'t str),
    /// A sign.
    Symbol(&'static str),
    /// A character that has no meaning here, or a quote that is never closed.
    Stray(&'t str),
}

// Longer signs come before their prefixes.
const SYMBOLS: [&str; 16] = [
    "->", "..", "?", ",", "=", "(", ")", "[", "]", "|", ".", "+", "-", ">", ";", ":",
];

/// A position in the tokens of a line.
pub(crate) struct Cursor<'t> {
    pub(crate) text: &'t Text,
    /// The code of the mistakes of the language that is read.
    pub(crate) code: Code,
    tokens: Vec<(Token<'t>, Range<usize>)>,
    at: usize,
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(text: &'t Text, code: Code) -> Self {
        Cursor {
            text,
            code,
            tokens: tokens(text.as_str()),
            at: 0,
        }
    }

    pub(crate) fn peek(&self) -> Option<&Token<'t>> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    /// The token behind the next.
    pub(crate) fn peek_second(&self) -> Option<&Token<'t>> {
        self.tokens.get(self.at + 1).map(|(token, _)| token)
    }

    pub(crate) fn next(&mut self) -> Option<Token<'t>> {
        let token = self.peek().cloned();
        self.at += usize::from(token.is_some());
        token
    }

    /// The range of the next token in the line, or of its end.
    pub(crate) fn range(&self) -> Range<usize> {
        let end = self.text.as_str().len();
        let next = self.tokens.get(self.at);
        next.map_or(end..end, |(_, range)| range.clone())
    }

    /// The place of the next token in the file, or of the end of the line.
    pub(crate) fn here(&self) -> Span {
        self.text.at(self.range())
    }

    /// Reports a mistake.
    pub(crate) fn report(&self, code: Code, span: Span, message: impl Into<String>) -> Added<'t> {
        self.text.report(code, span, message)
    }

    /// Reports that a word is none of those that are known here.
    pub(crate) fn unknown<'n>(
        &self,
        span: Span,
        what: &str,
        word: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) {
        let report = &self.text.report;
        report.unknown(Code::UnknownWord, span, what, word, known);
    }

    /// Reports a mistake in the next token.
    pub(crate) fn refuse(&self, message: impl Into<String>) -> Added<'t> {
        self.text.report(self.code, self.here(), message)
    }

    /// Reports that something else is expected here.
    pub(crate) fn expected(&self, what: &str) -> Added<'t> {
        self.refuse(format!("expected {what}, {}", self.found()))
    }

    /// Takes the sign if it comes next.
    pub(crate) fn take(&mut self, symbol: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Token::Symbol(next)) if *next == symbol);
        self.at += usize::from(is_next);
        is_next
    }

    /// Takes the word if it comes next.
    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Token::Word(next)) if *next == word);
        self.at += usize::from(is_next);
        is_next
    }

    /// Takes any word.
    pub(crate) fn word(&mut self) -> Option<(&'t str, Span)> {
        let span = self.here();
        match self.peek() {
            Some(Token::Word(word)) => {
                let word = *word;
                self.at += 1;
                Some((word, span))
            }
            _ => None,
        }
    }

    /// Goes to the next comma outside parentheses, or to the end.
    pub(crate) fn skip_clause(&mut self) {
        let mut depth = 0_usize;
        while let Some(token) = self.peek() {
            match token {
                Token::Symbol("(" | "[") => depth += 1,
                Token::Symbol(")" | "]") => depth = depth.saturating_sub(1),
                Token::Symbol(",") if depth == 0 => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Whether nothing is left.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.tokens.len()
    }

    /// Takes everything up to the next comma outside parentheses, as a text of its own.
    pub(crate) fn clause_text(&mut self) -> Text {
        let start = self.range().start;
        self.skip_clause();
        let written = &self.text.as_str()[start..self.range().start];
        self.text.slice(start..start + written.trim_end().len())
    }

    /// The place from a byte of the line up to the last token that was taken.
    pub(crate) fn since(&self, start: usize) -> Span {
        let last = self
            .at
            .checked_sub(1)
            .and_then(|last| self.tokens.get(last));
        let end = last.map_or(start, |(_, range)| range.end);
        self.text.at(start..end.max(start))
    }

    /// What comes next, for messages.
    pub(crate) fn found(&self) -> String {
        match self.tokens.get(self.at) {
            Some((_, range)) => format!("found `{}`", &self.text.as_str()[range.clone()]),
            None => "the line ends here".to_owned(),
        }
    }
}

fn tokens(line: &str) -> Vec<(Token<'_>, Range<usize>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = line[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = next(&line[at..], first);
        found.push((token, at..at + length));
        at += length;
    }
    found
}

fn next(rest: &str, first: char) -> (Token<'_>, usize) {
    let until = |stop: &dyn Fn(char) -> bool| rest.find(stop).unwrap_or(rest.len());
    if first.is_ascii_alphabetic() || first == '_' {
        let length = word_length(rest);
        return (Token::Word(&rest[..length]), length);
    }
    if first.is_ascii_digit() {
        let mut length = until(&|c| !c.is_ascii_digit());
        // The first dot of `1..300` belongs to the range, that of `1.5` to the number.
        let fraction = rest[length..].strip_prefix('.').unwrap_or("");
        let digits = fraction.len()
            - fraction
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .len();
        length += if digits > 0 { 1 + digits } else { 0 };
        return (Token::Digits(&rest[..length]), length);
    }
    if first == '\'' {
        return match quoted_length(rest) {
            Some(length) => (Token::Quoted(&rest[..length]), length),
            None => (Token::Stray(rest), rest.len()),
        };
    }
    if first == '/' {
        return match regex_length(rest) {
            Some(length) => (Token::Regex(&rest[1..length - 1]), length),
            None => (Token::Stray(rest), rest.len()),
        };
    }
    match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        Some(symbol) => (Token::Symbol(symbol), symbol.len()),
        None => (Token::Stray(&rest[..first.len_utf8()]), first.len_utf8()),
    }
}

/// The length of `/text/` with its slashes; a slash behind a backslash does not end it.
fn regex_length(rest: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (index, letter) in rest.char_indices().skip(1) {
        match letter {
            '/' if !is_escaped => return Some(index + 1),
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    None
}

/// Letters, digits and `_`; a hyphen only before another letter, so that `a ->b` and `a->b` are
/// not words.
fn word_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let is_letter = |index: usize| {
        bytes
            .get(index)
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    let mut length = 0;
    while is_letter(length) || (bytes.get(length) == Some(&b'-') && is_letter(length + 1)) {
        length += 1;
    }
    length
}

/// The length of `'text'` with its quotes; two quotes in a row mean one.
fn quoted_length(rest: &str) -> Option<usize> {
    let mut from = 1;
    loop {
        let quote = from + rest[from..].find('\'')?;
        if !rest[quote + 1..].starts_with('\'') {
            return Some(quote + 1);
        }
        from = quote + 2;
    }
}
