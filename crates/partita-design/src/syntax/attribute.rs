//! Attribute lines: `string 1..300 default 'untitled', as name`.
//!
//! ```text
//! line    = derived | typed
//! derived = "copy" path
//!         | ( "count" [ "?" ] "of" Entity | "sum" [ "?" ] "of" path "of" Entity )
//!           [ "by" ref ] [ "where" condition ]
//! typed   = type [ "default" literal | "=" value [ timing ] ] { "," clause }
//! timing  = "on create" | "on write" | "once" condition
//! clause  = "generated" | "fixed" | "movable" | "key-only" | "secret" | "virtual" | "rising"
//!         | "deprecated" | "as" name | "each" constraint | "file in" prefix | "file at" name
//!         | "per" ( "day" | "month" ) "of" name | "was" path
//! ```
//!
//! A view may leave the type out: `= id`. Where the value has cases, the line ends with `default`
//! or `=`.

use partita_core::Value;
use partita_core::expression::Span;

use super::Word;
use super::kind;
use super::lexer::{Cursor, Token};
use super::value::{self, Raw, RawPath};
use crate::codes::Code;
use crate::design::Period;
use crate::diagnostic::Added;
use crate::document::{Node, Text};
use crate::types::{AttributeType, Shape};

const CODE: Code = Code::AttributeSyntax;
const CLAUSES: [&str; 13] = [
    "generated",
    "fixed",
    "movable",
    "key-only",
    "secret",
    "virtual",
    "rising",
    "deprecated",
    "as",
    "each",
    "file",
    "per",
    "was",
];

/// An attribute line, as far as it could be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// `None` after a mistake in it.
    pub(crate) head: Option<Head>,
    pub(crate) optional: bool,
    pub(crate) value: Option<(LineValue, Span)>,
    pub(crate) generated: Option<Span>,
    pub(crate) fixed: Option<Span>,
    pub(crate) movable: Option<Span>,
    pub(crate) key_only: Option<Span>,
    pub(crate) secret: Option<Span>,
    pub(crate) is_virtual: Option<Span>,
    pub(crate) rising: Option<Span>,
    pub(crate) deprecated: Option<Span>,
    pub(crate) alias: Option<Word>,
    /// Names in earlier designs.
    pub(crate) was: Vec<Word>,
    pub(crate) file_in: Option<Word>,
    /// Whether it may also be an address of the web.
    pub(crate) elsewhere: Option<Span>,
    pub(crate) file_at: Option<Word>,
    pub(crate) per: Option<(Period, Word)>,
}

/// What a line begins with.
#[derive(Clone, Debug)]
pub(crate) enum Head {
    Typed(AttributeType),
    /// Nothing: the value says it all.
    Untyped,
    Copy(RawPath),
    Aggregate(RawAggregate),
}

/// `count of Vote where …`, `sum of stats.reads of ChapterNode by author`.
#[derive(Clone, Debug)]
pub(crate) struct RawAggregate {
    pub(crate) sum: Option<RawPath>,
    pub(crate) of: Word,
    pub(crate) by: Option<Word>,
    pub(crate) only: Option<Text>,
    pub(crate) span: Span,
}

/// What a line says of the value.
#[derive(Clone, Debug)]
pub(crate) enum LineValue {
    Default(Value),
    Computed(Raw, RawTiming),
    /// `default`, and the cases behind the line.
    CasesDefault(Vec<Node>),
    /// `=`, and the cases behind the line.
    CasesComputed(Vec<Node>),
    /// Something with a mistake.
    Broken,
}

/// When a value is computed.
#[derive(Clone, Debug)]
pub(crate) enum RawTiming {
    Unsaid,
    Create,
    Write,
    Once(Text),
}

/// Reads a line that is followed by these cases.
pub(crate) fn parse(text: &Text, cases: &[Node], shapes: &[Shape]) -> Line {
    let mut parser = Parser {
        cursor: Cursor::new(text, CODE),
        line: Line::default(),
        cases,
        shapes,
    };
    parser.head();
    while parser.cursor.take(",") {
        parser.clause();
        parser.end_of_clause();
    }
    parser.missing_cases(text);
    parser.line
}

struct Parser<'t> {
    cursor: Cursor<'t>,
    line: Line,
    cases: &'t [Node],
    shapes: &'t [Shape],
}

impl Parser<'_> {
    fn head(&mut self) {
        let start = self.cursor.range().start;
        self.line.head = match self.cursor.peek() {
            Some(Token::Word("copy")) => {
                self.cursor.next();
                self.path().map(Head::Copy)
            }
            Some(Token::Word(word @ ("count" | "sum"))) => {
                let is_sum = *word == "sum";
                self.cursor.next();
                self.aggregate(is_sum, start).map(Head::Aggregate)
            }
            Some(Token::Symbol("=")) => Some(Head::Untyped),
            _ => match kind::parse(&mut self.cursor, self.shapes) {
                Some(kind) => {
                    self.line.optional = kind.optional;
                    Some(Head::Typed(kind.kind))
                }
                None => None,
            },
        };
        if self.line.head.is_none() {
            return self.cursor.skip_clause();
        }
        self.value();
        self.end_of_clause();
    }

    fn path(&mut self) -> Option<RawPath> {
        value::path(&mut self.cursor)
    }

    fn aggregate(&mut self, is_sum: bool, start: usize) -> Option<RawAggregate> {
        self.line.optional = self.cursor.take("?");
        self.expect_word("of")?;
        let sum = if is_sum {
            let path = self.path()?;
            self.expect_word("of")?;
            Some(path)
        } else {
            None
        };
        let of = self.word("the name of an entity")?;
        let by = if self.cursor.take_word("by") {
            Some(self.word("the name of a ref")?)
        } else {
            None
        };
        let span = self.cursor.since(start);
        let only = self
            .cursor
            .take_word("where")
            .then(|| self.cursor.clause_text());
        Some(RawAggregate {
            sum,
            of,
            by,
            only,
            span,
        })
    }

    fn expect_word(&mut self, word: &str) -> Option<()> {
        if self.cursor.take_word(word) {
            return Some(());
        }
        self.expected(&format!("`{word}`"));
        None
    }

    fn word(&mut self, what: &str) -> Option<Word> {
        match self.cursor.word() {
            Some((word, span)) => Some((word.to_owned(), span)),
            None => {
                self.expected(what);
                None
            }
        }
    }

    /// `default …` or `= …`.
    fn value(&mut self) {
        let start = self.cursor.range().start;
        let value = if self.cursor.take_word("default") {
            if self.has_cases_next() {
                Some(LineValue::CasesDefault(self.cases.to_vec()))
            } else {
                self.default()
            }
        } else if self.cursor.take("=") {
            if self.has_cases_next() {
                Some(LineValue::CasesComputed(self.cases.to_vec()))
            } else {
                self.computed()
            }
        } else {
            return;
        };
        if value.is_none() {
            self.cursor.skip_clause();
        }
        let span = self.cursor.since(start);
        self.line.value = Some((value.unwrap_or(LineValue::Broken), span));
    }

    fn has_cases_next(&self) -> bool {
        !self.cases.is_empty() && self.cursor.is_at_end()
    }

    /// The names of an enum have no quotes in its line, also behind `default`; a text has.
    fn default(&mut self) -> Option<LineValue> {
        let has_names = matches!(
            self.line.head,
            Some(Head::Typed(
                AttributeType::Enum(_) | AttributeType::State(_)
            ))
        );
        if has_names && let Some((name, _)) = self.cursor.word() {
            return Some(LineValue::Default(Value::from(name)));
        }
        let value = value::literal(&mut self.cursor);
        value.map(LineValue::Default)
    }

    fn computed(&mut self) -> Option<LineValue> {
        let value = value::parse(&mut self.cursor)?;
        let timing = if self.cursor.take_word("on") {
            if self.cursor.take_word("create") {
                RawTiming::Create
            } else if self.cursor.take_word("write") {
                RawTiming::Write
            } else {
                self.expected("`create` or `write`");
                return None;
            }
        } else if self.cursor.take_word("once") {
            RawTiming::Once(self.cursor.clause_text())
        } else {
            RawTiming::Unsaid
        };
        Some(LineValue::Computed(value, timing))
    }

    fn clause(&mut self) {
        let start = self.cursor.range().start;
        let Some((word, span)) = self.cursor.word() else {
            self.expected("a clause such as `generated`");
            return self.cursor.skip_clause();
        };
        let read = match word {
            "as" => self
                .word("the other name")
                .map(|name| self.line.alias.replace(name).is_some()),
            "each" => self.each(),
            "file" => self.file(),
            "per" => self.per(),
            "was" => self.was(),
            _ => match self.flag(word) {
                Some(flag) => Some(flag.replace(span).is_some()),
                None => {
                    self.cursor.unknown(span, "clause", word, CLAUSES);
                    return self.cursor.skip_clause();
                }
            },
        };
        match read {
            None => self.cursor.skip_clause(),
            Some(false) => {}
            Some(true) => {
                let message = format!("`{word}` stands here twice");
                let span = self.cursor.since(start);
                self.cursor.report(CODE, span, message);
            }
        }
        // `string, virtual =` has its cases behind the line.
        if !self.cases.is_empty() && self.line.value.is_none() {
            self.value();
        }
    }

    fn flag(&mut self, word: &str) -> Option<&mut Option<Span>> {
        let line = &mut self.line;
        Some(match word {
            "generated" => &mut line.generated,
            "fixed" => &mut line.fixed,
            "movable" => &mut line.movable,
            "key-only" => &mut line.key_only,
            "secret" => &mut line.secret,
            "virtual" => &mut line.is_virtual,
            "rising" => &mut line.rising,
            "deprecated" => &mut line.deprecated,
            _ => return None,
        })
    }

    /// What every element of a list must be.
    fn each(&mut self) -> Option<bool> {
        if self.cursor.take_word("file") {
            return self.file();
        }
        let span = self.cursor.here();
        match self.line.head.take() {
            Some(Head::Typed(AttributeType::List { element, count })) => {
                let element = kind::constrain(&mut self.cursor, *element)?;
                let element = Box::new(element);
                self.line.head = Some(Head::Typed(AttributeType::List { element, count }));
                Some(false)
            }
            head => {
                self.line.head = head;
                let message = "only a list has elements";
                self.cursor
                    .report(CODE, span, message)
                    .help("leave `each` out");
                None
            }
        }
    }

    fn file(&mut self) -> Option<bool> {
        if self.cursor.take_word("at") {
            let name = self.word("the attribute with the name of the object")?;
            return Some(self.line.file_at.replace(name).is_some());
        }
        self.expect_word("in")?;
        let prefix = self.word("the name of a bucket's prefix")?;
        if self.cursor.take_word("or") {
            let span = self.cursor.here();
            self.expect_word("elsewhere")?;
            self.line.elsewhere = Some(span);
        }
        Some(self.line.file_in.replace(prefix).is_some())
    }

    fn per(&mut self) -> Option<bool> {
        let period = if self.cursor.take_word("day") {
            Period::Day
        } else if self.cursor.take_word("month") {
            Period::Month
        } else {
            self.expected("`day` or `month`");
            return None;
        };
        self.expect_word("of")?;
        let of = self.word("the attribute with the last time")?;
        Some(self.line.per.replace((period, of)).is_some())
    }

    /// An earlier name; there may be several.
    fn was(&mut self) -> Option<bool> {
        let path = self.path()?;
        self.line.was.push((path.names.join("."), path.span));
        Some(false)
    }

    /// Reports what is between a clause and the next comma.
    fn end_of_clause(&mut self) {
        let help = match self.cursor.peek() {
            None | Some(Token::Symbol(",")) => return,
            Some(Token::Symbol("[")) => Some("write `list of any`, not `any[]`"),
            Some(Token::Word("on" | "once")) => Some("a timing stands behind `= value`"),
            _ => None,
        };
        let finding = self.expected("`,` or the end of the line");
        if let Some(help) = help {
            finding.help(help);
        }
        self.cursor.skip_clause();
    }

    fn missing_cases(&mut self, text: &Text) {
        let has_cases = matches!(
            self.line.value,
            Some((
                LineValue::CasesDefault(_) | LineValue::CasesComputed(_) | LineValue::Broken,
                _
            ))
        );
        if !self.cases.is_empty() && !has_cases && self.line.head.is_some() {
            self.cursor
                .report(
                    CODE,
                    text.span(),
                    "a line with cases ends with `default` or `=`",
                )
                .help("write `\"enum image | video default\"`, for example");
            self.line.head = None;
        }
    }

    fn expected(&self, what: &str) -> Added<'_> {
        self.cursor.expected(what)
    }
}
