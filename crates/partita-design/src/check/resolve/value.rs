//! Values: names resolved, types compared, texts with placeholders.
//!
//! | what | written as |
//! |---|---|
//! | the value of an attribute's line | `parent.depth + 1 \| 0` |
//! | a value in an effect, or `is` in a case | a TOML value; a string is a template |
//!
//! A template that is one placeholder and nothing else keeps the type of its value.

use partita_core::Value;
use partita_core::expression::Span;

use crate::check::resolve::condition;
use crate::check::resolve::names::Names;
use crate::codes::Code;
use crate::document::{Content, Node, Section, Text};
use crate::expression::{Case, Expr, Formula, Function, Reading};
use crate::syntax::template::{self, Piece, RawFormat, RawHole};
use crate::syntax::value::{Raw, RawPath};
use crate::template::{Format, Hole, Part, Template};
use crate::time::TimeForm;
use crate::types::AttributeType;

/// A value whose names are resolved.
pub(crate) struct Typed {
    pub(crate) expr: Expr,
    pub(crate) sort: Sort,
    /// Whether it may be missing.
    pub(crate) optional: bool,
}

/// What is known of a value.
#[derive(Clone, Debug)]
pub(crate) enum Sort {
    Kind(AttributeType),
    /// A span of time.
    Span,
    Unknown,
}

impl Sort {
    /// The type, where it is one of attributes.
    pub(crate) fn kind(&self) -> Option<&AttributeType> {
        match self {
            Sort::Kind(kind) => Some(kind),
            Sort::Span | Sort::Unknown => None,
        }
    }

    fn noun(&self) -> &'static str {
        match self {
            Sort::Kind(kind) => kind.noun(),
            Sort::Span => "a span of time",
            Sort::Unknown => "a value",
        }
    }

    fn is_numeric(&self) -> bool {
        match self {
            Sort::Kind(kind) => kind.is_numeric() || matches!(kind, AttributeType::Any),
            Sort::Span => false,
            Sort::Unknown => true,
        }
    }

    fn time_form(&self) -> Option<TimeForm> {
        match self {
            Sort::Kind(kind) => kind.time_form(),
            _ => None,
        }
    }
}

/// Resolves values, and collects what they read.
pub(crate) struct Values<'v, 'w> {
    pub(crate) names: &'v Names<'w>,
    pub(crate) reads: Vec<Reading>,
}

impl<'v, 'w> Values<'v, 'w> {
    pub(crate) fn new(names: &'v Names<'w>) -> Self {
        let reads = Vec::new();
        Values { names, reads }
    }

    /// Resolves a value; `None` after a report, also one elsewhere.
    pub(crate) fn resolve(&mut self, raw: &Raw) -> Option<Typed> {
        match raw {
            Raw::Literal(value, _) => Some(Typed {
                expr: Expr::Literal(value.clone()),
                sort: literal_sort(value),
                optional: false,
            }),
            Raw::Path(path) => self.path(path),
            Raw::Negative(inner, span) => {
                let inner = self.resolve(inner)?;
                number(&inner, *span, self.names)?;
                Some(Typed {
                    expr: Expr::Negative(Box::new(inner.expr)),
                    ..inner
                })
            }
            Raw::Plus(left, right) => self.sum(left, right, Expr::Plus),
            Raw::Minus(left, right) => self.sum(left, right, Expr::Minus),
            Raw::Call(function, arguments, span) => self.call(*function, arguments, *span),
            Raw::First(choices) => self.first(choices),
        }
    }

    pub(crate) fn path(&mut self, path: &RawPath) -> Option<Typed> {
        let reading = self.names.resolve(&path.path(), path.span)?;
        let typed = Typed {
            expr: Expr::Path(reading.path.clone()),
            sort: match &reading.kind {
                AttributeType::Any => Sort::Unknown,
                kind => Sort::Kind(kind.clone()),
            },
            optional: reading.optional,
        };
        if !self.reads.contains(&reading) {
            self.reads.push(reading);
        }
        Some(typed)
    }

    fn sum(
        &mut self,
        left: &Raw,
        right: &Raw,
        make: fn(Box<Expr>, Box<Expr>) -> Expr,
    ) -> Option<Typed> {
        let (one, two) = (self.resolve(left), self.resolve(right));
        let (one, two) = (one?, two?);
        let optional = one.optional || two.optional;
        // A time and a span of time.
        if let (Some(form), Sort::Span) = (one.sort.time_form(), &two.sort) {
            let time = match form {
                TimeForm::Epoch | TimeForm::EpochMillis => Expr::Time(Box::new(one.expr), form),
                TimeForm::Timestamp | TimeForm::Date => one.expr,
            };
            return Some(Typed {
                expr: make(Box::new(time), Box::new(two.expr)),
                sort: Sort::Kind(AttributeType::timestamp()),
                optional,
            });
        }
        number(&one, left.span(), self.names)?;
        number(&two, right.span(), self.names)?;
        Some(Typed {
            expr: make(Box::new(one.expr), Box::new(two.expr)),
            sort: Sort::Kind(AttributeType::Number(Default::default())),
            optional,
        })
    }

    fn call(&mut self, function: Function, arguments: &[Raw], span: Span) -> Option<Typed> {
        let typed: Vec<_> = arguments
            .iter()
            .map(|argument| self.resolve(argument))
            .collect();
        let typed: Vec<Typed> = typed.into_iter().collect::<Option<_>>()?;
        let word = function.word();
        let is_many = matches!(function, Function::Min | Function::Max);
        if !is_many && typed.len() != 1 {
            let message = format!("`{word}` takes one value, not {}", typed.len());
            self.names.report(Code::ValueType, span, message);
            return None;
        }
        for (one, raw) in typed.iter().zip(arguments) {
            let fits = match function {
                Function::Lower | Function::Trim => match &one.sort {
                    Sort::Kind(kind) => kind.stored_as() == Some(partita_core::Type::S),
                    Sort::Span => false,
                    Sort::Unknown => true,
                },
                Function::Time => {
                    matches!(one.sort, Sort::Kind(AttributeType::Ulid) | Sort::Unknown)
                }
                Function::Size => !one.sort.is_numeric() || matches!(one.sort, Sort::Unknown),
                _ => one.sort.is_numeric(),
            };
            if !fits {
                let message = format!("`{word}` cannot be taken of {}", one.sort.noun());
                self.names.report(Code::ValueType, raw.span(), message);
                return None;
            }
        }
        let sort = match function {
            Function::Lower | Function::Trim => Sort::Kind(AttributeType::string()),
            Function::Time => Sort::Kind(AttributeType::timestamp()),
            Function::Days | Function::Hours | Function::Minutes => Sort::Span,
            _ => Sort::Kind(AttributeType::Number(Default::default())),
        };
        let optional = typed.iter().any(|one| one.optional);
        let arguments = typed.into_iter().map(|one| one.expr).collect();
        let expr = Expr::Call(function, arguments);
        Some(Typed {
            expr,
            sort,
            optional,
        })
    }

    fn first(&mut self, choices: &[Raw]) -> Option<Typed> {
        let typed: Vec<_> = choices.iter().map(|choice| self.resolve(choice)).collect();
        let mut typed: Vec<Typed> = typed.into_iter().collect::<Option<_>>()?;
        let optional = typed.last().is_none_or(|last| last.optional);
        let sort = typed
            .first()
            .map_or(Sort::Unknown, |first| first.sort.clone());
        let exprs = typed.drain(..).map(|one| one.expr).collect();
        Some(Typed {
            expr: Expr::First(exprs),
            sort,
            optional,
        })
    }

    /// Resolves the placeholders of a template; `None` after a report.
    pub(crate) fn template(&mut self, pieces: &[Piece]) -> Option<(Template, Vec<Typed>)> {
        let mut parts = Vec::new();
        let mut holes = Vec::new();
        let mut is_good = true;
        for piece in pieces {
            match piece {
                Piece::Text(text) => parts.push(Part::Text(text.clone())),
                Piece::Hole(hole) => match self.hole(hole) {
                    Some((typed, format)) => {
                        let value = typed.expr.clone();
                        parts.push(Part::Value(Hole { value, format }));
                        holes.push(typed);
                    }
                    None => is_good = false,
                },
            }
        }
        is_good.then_some((Template { parts }, holes))
    }

    fn hole(&mut self, hole: &RawHole) -> Option<(Typed, Format)> {
        let typed = self.resolve(&hole.value)?;
        let Some((format, span)) = &hole.format else {
            return Some((typed, Format::Plain));
        };
        let wrong = |what: &str| {
            let message = format!("`{}` is {}, not {what}", hole.written, typed.sort.noun());
            self.names.report(Code::FormatType, *span, message);
            None
        };
        let format = match format {
            RawFormat::Digits { width, decimals } if typed.sort.is_numeric() => {
                Format::digits(*width, *decimals)
            }
            RawFormat::Digits { .. } => return wrong("a number"),
            RawFormat::Time(written) => match typed.sort.time_form() {
                Some(stored) => Format::Time {
                    written: written.clone(),
                    stored,
                },
                None => return wrong("a time"),
            },
        };
        Some((typed, format))
    }

    /// Reads a TOML value, in which a string is a template; `None` after a report.
    pub(crate) fn node(&mut self, key: &str, node: &Node) -> Option<Typed> {
        let value = match &node.content {
            Content::Text(text) => return self.text(text),
            Content::List(list) if list.is_empty() => Value::L(Vec::new()),
            _ => node.scalar(key)?,
        };
        Some(Typed {
            sort: literal_sort(&value),
            expr: Expr::Literal(value),
            optional: false,
        })
    }

    /// A template outside of keys; one that is a single placeholder keeps its type.
    fn text(&mut self, text: &Text) -> Option<Typed> {
        let pieces = template::parse(text)?;
        if let [Piece::Hole(hole)] = pieces.as_slice()
            && hole.format.is_none()
        {
            return self.resolve(&hole.value);
        }
        let (template, holes) = self.template(&pieces)?;
        let expr = match template.constant() {
            Some(text) => Expr::Literal(Value::S(text)),
            None => Expr::Text(template),
        };
        Some(Typed {
            sort: match &expr {
                Expr::Literal(value) => literal_sort(value),
                _ => Sort::Kind(AttributeType::string()),
            },
            expr,
            optional: holes.iter().any(|hole| hole.optional),
        })
    }
}

/// A formula, and whether its value may be missing.
pub(crate) type Checked = (Formula, bool);

/// Reads a value in an effect: a TOML value, or a list of cases; `None` after a report.
pub(crate) fn formula(
    key: &str,
    node: &Node,
    target: Option<&AttributeType>,
    names: &Names<'_>,
) -> Option<Checked> {
    match &node.content {
        Content::List(list) if !list.is_empty() => cases(key, list, target, names),
        _ => {
            let mut values = Values::new(names);
            let typed = values.node(key, node)?;
            fits(target, &typed, node.span, names)?;
            Some((Formula::plain(typed.expr, values.reads), typed.optional))
        }
    }
}

/// Reads `[{ when = "…", is = … }, { is = … }]`; `None` after a report.
pub(crate) fn cases(
    key: &str,
    list: &[Node],
    target: Option<&AttributeType>,
    names: &Names<'_>,
) -> Option<Checked> {
    let mut reads: Vec<Reading> = Vec::new();
    let mut cases = Vec::new();
    let mut optional = false;
    let mut is_good = true;
    for (when, is) in open_cases(key, list)? {
        let when = match when {
            Some(text) => match condition::check(text, names) {
                Some(when) => Some(when),
                None => {
                    is_good = false;
                    continue;
                }
            },
            None => None,
        };
        let known = names.clone().given(&when);
        let mut values = Values::new(&known);
        let typed = values.node("is", is);
        let typed = typed.filter(|typed| fits(target, typed, is.span, names).is_some());
        let Some(typed) = typed else {
            is_good = false;
            continue;
        };
        optional |= typed.optional;
        let condition_reads = when.iter().flat_map(|when| when.reads.clone());
        for reading in values.reads.into_iter().chain(condition_reads) {
            if !reads.contains(&reading) {
                reads.push(reading);
            }
        }
        let is = typed.expr;
        cases.push(Case { when, is });
    }
    optional |= cases.last().is_none_or(|last| last.when.is_some());
    is_good.then_some((Formula { cases, reads }, optional))
}

/// The condition and the value of each case; `None` after a report.
pub(crate) fn open_cases<'d>(
    key: &str,
    list: &'d [Node],
) -> Option<Vec<(Option<&'d Text>, &'d Node)>> {
    let mut opened = Vec::new();
    let mut is_good = true;
    for (index, node) in list.iter().enumerate() {
        let Content::Table(entries) = &node.content else {
            let expected = "cases such as `{ when = \"…\", is = \"…\" }`";
            node.refuse(key, expected);
            is_good = false;
            continue;
        };
        let mut section = Section::new(key, node.span, entries, &node.report);
        let when = section.text("when");
        let is = section.entry("is");
        if is.is_none() {
            section.missing("is", "\"…\"");
        }
        if when.is_absent() && index + 1 < list.len() {
            let message = "no case behind this one is ever taken";
            node.report(Code::NeedlessKey, node.span, message)
                .help("write the case without `when` last");
            is_good = false;
        }
        section.finish();
        let is_broken = !when.is_absent() && when.clone().given().is_none();
        match is {
            Some((_, is)) if !is_broken => opened.push((when.given(), is)),
            _ => is_good = false,
        }
    }
    is_good.then_some(opened)
}

/// Reports a value that an attribute of this type can never have.
pub(crate) fn fits(
    target: Option<&AttributeType>,
    typed: &Typed,
    span: Span,
    names: &Names<'_>,
) -> Option<()> {
    let Some(target) = target else {
        return Some(());
    };
    let expected = match (&typed.expr, &typed.sort) {
        (Expr::Literal(value), _) => match target.check(&target.adopt(value.clone())) {
            Ok(()) => return Some(()),
            Err(expected) => expected,
        },
        (_, Sort::Unknown) => return Some(()),
        (_, Sort::Kind(kind)) if is_assignable(target, kind) => return Some(()),
        (_, sort) => format!("{}, and this is {}", target.noun(), sort.noun()),
    };
    names.report(Code::ValueType, span, format!("this must be {expected}"));
    None
}

fn is_assignable(target: &AttributeType, kind: &AttributeType) -> bool {
    match (target.time_form(), kind.time_form()) {
        // Times convert when they are assigned.
        (Some(_), Some(_)) => true,
        // Where a time is kept, the type says so.
        (None, Some(_)) => target.stored_as().is_none(),
        _ => match (target.stored_as(), kind.stored_as()) {
            (Some(one), Some(two)) => one == two,
            _ => true,
        },
    }
}

fn number(typed: &Typed, span: Span, names: &Names<'_>) -> Option<()> {
    if typed.sort.is_numeric() {
        return Some(());
    }
    let message = format!("only numbers are added, and this is {}", typed.sort.noun());
    let finding = names.report(Code::ValueType, span, message);
    if typed.sort.time_form().is_some() {
        finding.help("write `+ days(30)`, `+ hours(1)` or `+ minutes(5)`");
    }
    None
}

fn literal_sort(value: &Value) -> Sort {
    match value {
        Value::N(_) => Sort::Kind(AttributeType::Number(Default::default())),
        Value::S(_) => Sort::Kind(AttributeType::string()),
        Value::Bool(_) => Sort::Kind(AttributeType::Bool),
        _ => Sort::Unknown,
    }
}
