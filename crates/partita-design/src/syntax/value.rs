//! Values: `min(user.plan, request.length) | 0`.
//!
//! ```text
//! value = sum { "|" sum }
//! sum   = term { ( "+" | "-" ) term }
//! term  = [ "-" ] ( path | literal | function "(" value { "," value } ")" )
//! path  = name { "." name }
//! ```

use partita_core::expression::{Path, Span};
use partita_core::{Number, Value};

use super::lexer::{Cursor, Token};
use crate::codes::Code;
use crate::expression::Function;
use crate::template::dotted;

/// Far beyond any real design, far below what the stack holds.
const DEPTH_MAX: usize = 16;
/// Sums nest to the left, one level a term.
const TERMS_MAX: usize = 100;

/// A value as it is written.
#[derive(Clone, Debug)]
pub(crate) enum Raw {
    Literal(Value, Span),
    Path(RawPath),
    Negative(Box<Raw>, Span),
    Plus(Box<Raw>, Box<Raw>),
    Minus(Box<Raw>, Box<Raw>),
    Call(Function, Vec<Raw>, Span),
    First(Vec<Raw>),
}

/// Names with dots between them.
#[derive(Clone, Debug)]
pub(crate) struct RawPath {
    pub(crate) names: Vec<String>,
    pub(crate) span: Span,
}

impl RawPath {
    /// The names as a path of the file.
    pub(crate) fn path(&self) -> Path {
        Path {
            span: self.span,
            ..dotted(&self.names.join("."))
        }
    }
}

impl Raw {
    pub(crate) fn span(&self) -> Span {
        match self {
            Raw::Literal(_, span) | Raw::Negative(_, span) | Raw::Call(_, _, span) => *span,
            Raw::Path(path) => path.span,
            Raw::Plus(left, right) | Raw::Minus(left, right) => left.span().to(right.span()),
            Raw::First(choices) => match (choices.first(), choices.last()) {
                (Some(first), Some(last)) => first.span().to(last.span()),
                _ => Span::default(),
            },
        }
    }
}

/// Reads a value; `None` after a report.
pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Option<Raw> {
    let mut parser = Parser {
        cursor,
        depth: 0,
        terms: 0,
    };
    parser.value()
}

/// Reads names with dots between them; `None` after a report.
pub(crate) fn path(cursor: &mut Cursor<'_>) -> Option<RawPath> {
    let start = cursor.range().start;
    let mut names = Vec::new();
    loop {
        match cursor.word() {
            Some((name, _)) => names.push(name.to_owned()),
            None => {
                cursor.expected("a name");
                return None;
            }
        }
        if !cursor.take(".") {
            let span = cursor.since(start);
            return Some(RawPath { names, span });
        }
    }
}

/// Reads a literal such as `'text'`, `-1`, `true` or `[]`; `None` after a report.
pub(crate) fn literal(cursor: &mut Cursor<'_>) -> Option<Value> {
    let range = cursor.range();
    let value = match cursor.peek() {
        Some(Token::Word("true")) => Value::Bool(true),
        Some(Token::Word("false")) => Value::Bool(false),
        Some(Token::Quoted(_)) => Value::from(cursor.text.unquote(range).as_str()),
        Some(Token::Symbol("[")) => return list_literal(cursor),
        Some(Token::Digits(_) | Token::Symbol("-")) => {
            return number(cursor).map(Value::N);
        }
        next => {
            let word = match next {
                Some(Token::Word(word)) => Some(*word),
                _ => None,
            };
            let what = "a value such as `'text'`, `1`, `true` or `[]`";
            let finding = cursor.expected(what);
            match word {
                Some(word @ ("now" | "caller")) => {
                    finding.help(format!(
                        "what is computed is written as a case: `[\"… default\", {{ is = \"{{{word}}}\" }}]`"
                    ));
                }
                Some(word) => {
                    finding.help(format!("a text stands in quotes: write `'{word}'`"));
                }
                None => {}
            }
            return None;
        }
    };
    cursor.next();
    Some(value)
}

/// Reads a number, perhaps with a sign; `None` after a report.
pub(crate) fn number(cursor: &mut Cursor<'_>) -> Option<Number> {
    let sign = if cursor.take("-") { "-" } else { "" };
    let Some(Token::Digits(digits)) = cursor.peek().cloned() else {
        cursor.expected("a number");
        return None;
    };
    let span = cursor.here();
    cursor.next();
    match format!("{sign}{digits}").parse::<Number>() {
        Ok(number) => Some(number),
        Err(error) => {
            cursor.report(cursor.code, span, error.to_string());
            None
        }
    }
}

fn list_literal(cursor: &mut Cursor<'_>) -> Option<Value> {
    cursor.take("[");
    let mut elements = Vec::new();
    while !cursor.take("]") {
        if cursor.peek() == Some(&Token::Symbol("[")) {
            cursor.expected("a value that is not a list");
            return None;
        }
        elements.push(literal(cursor)?);
        if !cursor.take(",") && cursor.peek() != Some(&Token::Symbol("]")) {
            cursor.expected("`,` or `]`");
            return None;
        }
    }
    Some(Value::L(elements))
}

struct Parser<'c, 't> {
    cursor: &'c mut Cursor<'t>,
    depth: usize,
    terms: usize,
}

impl Parser<'_, '_> {
    fn value(&mut self) -> Option<Raw> {
        let mut choices = vec![self.sum()?];
        while self.cursor.take("|") {
            choices.push(self.sum()?);
        }
        match choices.len() {
            1 => choices.pop(),
            _ => Some(Raw::First(choices)),
        }
    }

    fn sum(&mut self) -> Option<Raw> {
        let mut sum = self.term()?;
        loop {
            if self.cursor.take("+") {
                sum = Raw::Plus(Box::new(sum), Box::new(self.term()?));
            } else if self.cursor.take("-") {
                sum = Raw::Minus(Box::new(sum), Box::new(self.term()?));
            } else {
                return Some(sum);
            }
        }
    }

    fn term(&mut self) -> Option<Raw> {
        self.terms += 1;
        if self.terms > TERMS_MAX {
            let message = format!("a value has at most {TERMS_MAX} parts");
            self.cursor
                .report(Code::TooLarge, self.cursor.here(), message);
            return None;
        }
        let start = self.cursor.range().start;
        match self.cursor.peek().cloned() {
            Some(Token::Symbol("-")) if !self.is_number_next() => {
                self.cursor.take("-");
                let inner = self.term_in_depth()?;
                Some(Raw::Negative(Box::new(inner), self.cursor.since(start)))
            }
            Some(Token::Word(word)) if !matches!(word, "true" | "false") => self.named(word),
            Some(_) => {
                let value = literal(self.cursor)?;
                Some(Raw::Literal(value, self.cursor.since(start)))
            }
            None => {
                let what = "a value such as `name`, `'text'` or `1`";
                self.cursor.expected(what);
                None
            }
        }
    }

    fn is_number_next(&self) -> bool {
        matches!(self.cursor.peek_second(), Some(Token::Digits(_)))
    }

    /// A path or a call.
    fn named(&mut self, word: &str) -> Option<Raw> {
        if self.cursor.peek_second() != Some(&Token::Symbol("(")) {
            return path(self.cursor).map(Raw::Path);
        }
        let start = self.cursor.range().start;
        let span = self.cursor.here();
        self.cursor.next();
        self.cursor.next();
        let function = Function::find(word);
        if function.is_none() {
            let known = Function::WORDS.map(|(_, word)| word);
            self.cursor.unknown(span, "function", word, known);
        }
        let mut arguments = Vec::new();
        loop {
            arguments.push(self.value_in_depth()?);
            if self.cursor.take(")") {
                break;
            }
            if !self.cursor.take(",") {
                self.cursor.expected("`,` or `)`");
                return None;
            }
        }
        Some(Raw::Call(function?, arguments, self.cursor.since(start)))
    }

    // INVARIANT: recursion ends here, so hostile input cannot exhaust the stack.
    fn value_in_depth(&mut self) -> Option<Raw> {
        self.deeper()?;
        let value = self.value();
        self.depth -= 1;
        value
    }

    fn term_in_depth(&mut self) -> Option<Raw> {
        self.deeper()?;
        let term = self.term();
        self.depth -= 1;
        term
    }

    fn deeper(&mut self) -> Option<()> {
        if self.depth == DEPTH_MAX {
            let message = format!("a value nests at most {DEPTH_MAX} levels");
            self.cursor.refuse(message);
            return None;
        }
        self.depth += 1;
        Some(())
    }
}
