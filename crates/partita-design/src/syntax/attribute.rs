//! Attribute lines: `string 1..300 default 'untitled', as name`.
//!
//! ```text
//! line   = type [ "default" literal | "= now on" ( "create" | "write" ) ] { "," clause }
//! type   = word [ "?" ] [ "of" type ] [ range ]
//! range  = [ number ] ".." [ number ]
//! clause = "generated" | "key-only" | "as" name
//! ```

use partita_core::expression::Span;
use partita_core::{Number, Value};

use super::later;
use super::lexer::{Cursor, Token};
use crate::codes::Code;
use crate::design::Source;
use crate::diagnostic::{Finding, Report};
use crate::document::Text;
use crate::types::AttributeType;

const TYPES: [&str; 7] = [
    "string",
    "ulid",
    "timestamp",
    "bool",
    "number",
    "list",
    "any",
];
/// Far beyond what anybody writes, far below what the stack holds.
const DEPTH_MAX: usize = 16;
const CLAUSES: [&str; 3] = ["generated", "key-only", "as"];

/// An attribute line, as far as it could be read.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// `None` after a mistake in the type.
    pub(crate) kind: Option<AttributeType>,
    pub(crate) optional: bool,
    pub(crate) value: Option<(LineValue, Span)>,
    pub(crate) generated: Option<Span>,
    pub(crate) key_only: Option<Span>,
    pub(crate) alias: Option<(String, Span)>,
}

/// What a line says of the value.
#[derive(Debug)]
pub(crate) enum LineValue {
    Default(Value),
    NowOnCreate,
    NowOnWrite,
    /// Something with a mistake.
    Broken,
}

/// Reads a line.
pub(crate) fn parse(text: &Text, report: &mut Report) -> Line {
    let mut parser = Parser {
        cursor: Cursor::new(text),
        line: Line::default(),
        depth: 0,
        report,
    };
    parser.head();
    while parser.cursor.take(",") {
        parser.clause();
        parser.end_of_clause();
    }
    let mut line = parser.line;
    // A value with a mistake makes the whole line unreliable for those who rely on it.
    if !agree(&line, report) {
        line.kind = None;
    }
    line
}

impl Line {
    /// Where the value comes from.
    pub(crate) fn source(&self) -> Source {
        match &self.value {
            _ if self.generated.is_some() => Source::Generated,
            Some((LineValue::NowOnCreate, _)) => Source::NowOnCreate,
            Some((LineValue::NowOnWrite, _)) => Source::NowOnWrite,
            Some((LineValue::Default(value), _)) => Source::Given {
                default: Some(value.clone()),
            },
            Some((LineValue::Broken, _)) | None => Source::Given { default: None },
        }
    }
}

struct Parser<'t, 'r> {
    cursor: Cursor<'t>,
    line: Line,
    /// Lists around the type that is being read.
    depth: usize,
    report: &'r mut Report,
}

impl Parser<'_, '_> {
    fn head(&mut self) {
        let first = self.cursor.peek().cloned();
        if let Some(Token::Word(word @ ("copy" | "count" | "sum"))) = first {
            let span = self.cursor.here();
            self.report.not_supported(span, &format!("`{word}`"));
            // Their conditions may have commas, so nothing behind them can be told apart.
            return self.cursor.skip_all();
        }
        match self.kind() {
            Some(kind) => self.line.kind = Some(kind),
            None => return self.cursor.skip_clause(),
        }
        self.value();
        self.end_of_clause();
    }

    /// A type; `None` after a report.
    fn kind(&mut self) -> Option<AttributeType> {
        let Some((word, span)) = self.cursor.word() else {
            self.expected("a type such as `string`");
            return None;
        };
        let kind = match word {
            "string" => AttributeType::String { min: 0, max: None },
            "ulid" => AttributeType::Ulid,
            "timestamp" => AttributeType::Timestamp,
            "bool" => AttributeType::Bool,
            "number" => AttributeType::Number,
            "any" => AttributeType::Any,
            "list" => AttributeType::List(Box::new(AttributeType::Any)),
            _ => {
                self.unknown_type(word, span);
                return None;
            }
        };
        self.line.optional = self.cursor.take("?");
        match kind {
            AttributeType::List(_) => self.elements(),
            kind => self.constraint(kind),
        }
    }

    fn unknown_type(&mut self, word: &str, span: Span) {
        let is_shape = word.starts_with(|letter: char| letter.is_ascii_uppercase());
        let what = match word {
            _ if later::TYPES.contains(&word) => format!("the type `{word}`"),
            _ if is_shape => format!("a shape such as `{word}`"),
            _ => {
                self.report
                    .add(
                        Code::UnknownWord,
                        span,
                        format!("there is no type `{word}`"),
                    )
                    .suggest(word, TYPES);
                return;
            }
        };
        self.report.not_supported(span, &what);
    }

    /// `of T`, behind `list`.
    fn elements(&mut self) -> Option<AttributeType> {
        if !self.cursor.take_word("of") {
            self.expected("`of` and the type of the elements, such as `list of string`");
            return None;
        }
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let message = format!("lists nest at most {DEPTH_MAX} deep");
            let span = self.cursor.here();
            self.report.add(Code::AttributeSyntax, span, message);
            return None;
        }
        let optional = self.line.optional;
        let start = self.cursor.range().start;
        let element = self.kind()?;
        let written = start..self.cursor.range().start;
        if std::mem::replace(&mut self.line.optional, optional) && !optional {
            let span = self.trimmed(written);
            self.report
                .add(
                    Code::AttributeSyntax,
                    span,
                    "the elements of a list cannot be optional",
                )
                .help("write the `?` behind `list`");
            return None;
        }
        if matches!(&element, AttributeType::String { min, max } if *min > 0 || max.is_some()) {
            let span = self.trimmed(written);
            self.report.not_supported(span, "a range inside a list");
            return None;
        }
        Some(AttributeType::List(Box::new(element)))
    }

    /// The place of a range of the line without the spaces around it.
    fn trimmed(&self, range: std::ops::Range<usize>) -> Span {
        let written = &self.cursor.text.as_str()[range.clone()];
        self.cursor
            .text
            .at(range.start..range.start + written.trim_end().len())
    }

    /// A range such as `1..300`, which only strings have.
    fn constraint(&mut self, kind: AttributeType) -> Option<AttributeType> {
        let start = self.cursor.range().start;
        match self.cursor.peek() {
            Some(Token::Digits(_) | Token::Symbol(".." | ">") | Token::Regex) => {}
            Some(Token::Word(word)) if later::FORMATS.contains(word) => {
                let what = format!("the format `{word}`");
                self.report.not_supported(self.cursor.here(), &what);
                return None;
            }
            _ => return Some(kind),
        }
        let bounds = self.range();
        let span = self.trimmed(start..self.cursor.range().start.max(start + 1));
        match (bounds, kind) {
            (Some((min, max)), AttributeType::String { .. }) => {
                if max.is_some_and(|max| max < min) {
                    self.report.add(
                        Code::AttributeSyntax,
                        span,
                        "this range is empty: it ends before it begins",
                    );
                    return None;
                }
                Some(AttributeType::String { min, max })
            }
            _ => {
                self.report.not_supported(span, "this constraint");
                None
            }
        }
    }

    /// Two bounds, of which one may be left out; `None` for any other constraint.
    fn range(&mut self) -> Option<(usize, Option<usize>)> {
        let least = self.bound();
        if !self.cursor.take("..") {
            if least.is_none() {
                self.cursor.next();
            }
            return None;
        }
        let most = self.bound();
        match (least, most) {
            (None, None) => None,
            (least, most) => Some((least.unwrap_or(0), most)),
        }
    }

    /// A number of characters; what is no such number is more than any text has.
    fn bound(&mut self) -> Option<usize> {
        let Some(Token::Digits(digits)) = self.cursor.peek() else {
            return None;
        };
        let bound = digits.parse().unwrap_or(usize::MAX);
        self.cursor.next();
        Some(bound)
    }

    /// `default …` or `= …`.
    fn value(&mut self) {
        let start = self.cursor.range().start;
        let value = if self.cursor.take_word("default") {
            self.literal().map(LineValue::Default)
        } else if self.cursor.take("=") {
            self.computed()
        } else {
            return;
        };
        if value.is_none() {
            self.cursor.skip_clause();
        }
        let span = self.trimmed(start..self.cursor.range().start);
        self.line.value = Some((value.unwrap_or(LineValue::Broken), span));
    }

    fn literal(&mut self) -> Option<Value> {
        let range = self.cursor.range();
        let value = match self.cursor.peek() {
            Some(Token::Word("true")) => Value::Bool(true),
            Some(Token::Word("false")) => Value::Bool(false),
            Some(Token::Quoted(_)) => Value::from(self.cursor.text.unquote(range).as_str()),
            Some(Token::Symbol("[")) => return self.list_literal(),
            Some(Token::Digits(_) | Token::Symbol("-")) => return self.number_literal(),
            next => {
                let word = match next {
                    Some(Token::Word(word)) => Some(*word),
                    _ => None,
                };
                let finding = self.expected("a value such as `'text'`, `1`, `true` or `[]`");
                if let Some(word) = word {
                    finding.help(format!("write `'{word}'`"));
                }
                return None;
            }
        };
        self.cursor.next();
        Some(value)
    }

    fn number_literal(&mut self) -> Option<Value> {
        let sign = if self.cursor.take("-") { "-" } else { "" };
        let Some(Token::Digits(digits)) = self.cursor.peek().cloned() else {
            self.expected("a number");
            return None;
        };
        let span = self.cursor.here();
        self.cursor.next();
        match format!("{sign}{digits}").parse::<Number>() {
            Ok(number) => Some(Value::N(number)),
            Err(error) => {
                let message = error.to_string();
                self.report.add(Code::AttributeSyntax, span, message);
                None
            }
        }
    }

    fn list_literal(&mut self) -> Option<Value> {
        self.cursor.take("[");
        let mut elements = Vec::new();
        while !self.cursor.take("]") {
            if self.cursor.peek() == Some(&Token::Symbol("[")) {
                self.expected("a value that is not a list");
                return None;
            }
            elements.push(self.literal()?);
            if !self.cursor.take(",") && self.cursor.peek() != Some(&Token::Symbol("]")) {
                self.expected("`,` or `]`");
                return None;
            }
        }
        Some(Value::L(elements))
    }

    /// `now on create` or `now on write`, behind `=`.
    fn computed(&mut self) -> Option<LineValue> {
        let start = self.cursor.range().start;
        if !self.cursor.take_word("now") {
            let span = self.cursor.here();
            match self.cursor.peek() {
                Some(_) => self.report.not_supported(span, "this computed value"),
                None => {
                    self.expected("`now on create` or `now on write`");
                }
            }
            return None;
        }
        if self.cursor.take_word("on") {
            if self.cursor.take_word("create") {
                return Some(LineValue::NowOnCreate);
            }
            if self.cursor.take_word("write") {
                return Some(LineValue::NowOnWrite);
            }
            self.expected("`create` or `write`");
            return None;
        }
        let span = self.cursor.here();
        match self.cursor.peek() {
            Some(Token::Word("once")) => self.report.not_supported(span, "`once`"),
            Some(Token::Symbol("+" | "-" | "|")) => {
                let span = self.cursor.text.at(start..self.cursor.range().end);
                self.report.not_supported(span, "this computed value");
            }
            _ => {
                self.expected("`on create` or `on write`");
            }
        }
        None
    }

    fn clause(&mut self) {
        let Some((word, span)) = self.cursor.word() else {
            self.expected("a clause such as `generated`");
            return self.cursor.skip_clause();
        };
        let repeated = match word {
            "generated" => self.line.generated.replace(span).is_some(),
            "key-only" => self.line.key_only.replace(span).is_some(),
            "as" => match self.cursor.word() {
                Some((name, span)) => {
                    let alias = (name.to_owned(), span);
                    self.line.alias.replace(alias).is_some()
                }
                None => {
                    self.expected("the other name");
                    return self.cursor.skip_clause();
                }
            },
            _ => {
                self.unknown_clause(word, span);
                return self.cursor.skip_clause();
            }
        };
        if repeated {
            self.report.add(
                Code::AttributeSyntax,
                span,
                format!("`{word}` stands here twice"),
            );
        }
    }

    fn unknown_clause(&mut self, word: &str, span: Span) {
        if later::CLAUSES.contains(&word) {
            self.report
                .not_supported(span, &format!("the clause `{word}`"));
            return;
        }
        self.report
            .add(
                Code::UnknownWord,
                span,
                format!("there is no clause `{word}`"),
            )
            .suggest(word, CLAUSES);
    }

    /// Reports what stands between a clause and the next comma.
    fn end_of_clause(&mut self) {
        match self.cursor.peek() {
            None | Some(Token::Symbol(",")) => {}
            Some(Token::Symbol("[")) => {
                self.expected("`,` or the end of the line")
                    .help("write `list of any`, not `any[]`");
                self.cursor.skip_clause();
            }
            Some(_) => {
                self.expected("`,` or the end of the line");
                self.cursor.skip_clause();
            }
        }
    }

    fn expected(&mut self, what: &str) -> &mut Finding {
        let message = format!("expected {what}, {}", self.cursor.found());
        let span = self.cursor.here();
        self.report.add(Code::AttributeSyntax, span, message)
    }
}

/// Holds the parts of a line against each other, and says whether its value is good.
fn agree(line: &Line, report: &mut Report) -> bool {
    let Some(kind) = &line.kind else { return false };
    let mut is_good = true;
    if let Some((value, span)) = &line.value {
        let fits = match value {
            LineValue::Default(value) => kind.check(value),
            LineValue::NowOnCreate | LineValue::NowOnWrite => match kind {
                AttributeType::Timestamp => Ok(()),
                _ => Err("a `timestamp`, because `now` is a time".to_owned()),
            },
            LineValue::Broken => return false,
        };
        if let Err(expected) = fits {
            is_good = false;
            report.add(Code::ValueType, *span, format!("this must be {expected}"));
        }
    }
    let Some(generated) = line.generated else {
        return is_good;
    };
    if *kind != AttributeType::Ulid {
        report
            .add(
                Code::CannotGenerate,
                generated,
                "only a `ulid` can be generated",
            )
            .help(match kind {
                AttributeType::Timestamp => "write `timestamp = now on create`",
                _ => "write `ulid, generated`, or leave `generated` out",
            });
    } else if let Some((_, span)) = &line.value {
        report
            .add(
                Code::ConflictingClauses,
                generated,
                "a generated value has no default and is not computed",
            )
            .related(*span, "the other value");
    }
    is_good
}
