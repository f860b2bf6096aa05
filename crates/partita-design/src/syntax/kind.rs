//! Types: `list? of string ..49`, `state open -> closed`, `int 5 | 8`.
//!
//! ```text
//! type       = word [ "?" ] [ "of" type ] [ constraint ]
//! constraint = range | "/" regex "/" | format | name { "|" name } | steps
//! range      = ">" number | [ number ] ".." [ number ] | number { "|" number }
//! steps      = chain { ";" chain }
//! chain      = names { "->" names }
//! names      = name { "|" name }
//! ```
//!
//! A constraint behind `list of string` is the list's; what every element must be is said by the
//! clause `each`.

use std::collections::HashSet;

use partita_core::Number;
use partita_core::expression::Span;

use super::lexer::{Cursor, Token};
use super::value::number;
use crate::codes::Code;
use crate::time::TimeForm;
use crate::types::{
    AttributeType, Bounds, Count, SetOf, Shape, States, StringType, TextFormat, TextPattern,
};

const CODE: Code = Code::AttributeSyntax;
/// Far beyond any real design, far below what the stack holds.
const DEPTH_MAX: usize = 16;
/// Names of an enum.
const NAMES_MAX: usize = 2_000;
/// Names of a state, and steps between them. Steps are compared with what actions set.
const STATES_MAX: usize = 200;
const STEPS_MAX: usize = 2_000;

const TYPES: [&str; 22] = [
    "string",
    "enum",
    "state",
    "ulid",
    "uuid",
    "id",
    "timestamp",
    "date",
    "epoch",
    "epoch-ms",
    "expiry",
    "bool",
    "number",
    "int",
    "counter",
    "version",
    "list",
    "set",
    "binary",
    "password",
    "map",
    "any",
];

/// A type, and whether a value may be missing.
pub(crate) struct Kind {
    pub(crate) kind: AttributeType,
    pub(crate) optional: bool,
}

/// Reads a type; `None` after a report.
pub(crate) fn parse(cursor: &mut Cursor<'_>, shapes: &[Shape]) -> Option<Kind> {
    let mut parser = Parser { cursor, shapes };
    parser.kind(0)
}

/// Reads the constraint of every element of a list, behind `each`; `None` after a report.
pub(crate) fn constrain(cursor: &mut Cursor<'_>, kind: AttributeType) -> Option<AttributeType> {
    let mut parser = Parser {
        cursor,
        shapes: &[],
    };
    let before = kind.clone();
    let start = parser.cursor.range();
    let constrained = parser.constraint(kind)?;
    if parser.cursor.range() == start && before == constrained {
        parser
            .cursor
            .expected("a constraint such as `1..80` or `/^[a-z]+$/`");
        return None;
    }
    Some(constrained)
}

struct Parser<'c, 't> {
    cursor: &'c mut Cursor<'t>,
    shapes: &'c [Shape],
}

impl Parser<'_, '_> {
    fn kind(&mut self, depth: usize) -> Option<Kind> {
        let Some((word, span)) = self.cursor.word() else {
            self.cursor.expected("a type such as `string`");
            return None;
        };
        let optional = self.cursor.take("?");
        let kind = match word {
            "list" | "set" => return self.elements(word, optional, depth),
            "enum" => AttributeType::Enum(self.names()?),
            "state" => AttributeType::State(self.steps()?),
            _ => self.plain(word, span)?,
        };
        // The range of `list of string ..49` is the list's.
        let kind = match depth {
            0 => self.constraint(kind)?,
            _ => kind,
        };
        Some(Kind { kind, optional })
    }

    fn plain(&mut self, word: &str, span: Span) -> Option<AttributeType> {
        Some(match word {
            "string" => AttributeType::string(),
            "ulid" => AttributeType::Ulid,
            "uuid" => AttributeType::Uuid,
            "id" => AttributeType::Id,
            "timestamp" => AttributeType::Time(TimeForm::Timestamp),
            "date" => AttributeType::Time(TimeForm::Date),
            "epoch" => AttributeType::Time(TimeForm::Epoch),
            "epoch-ms" => AttributeType::Time(TimeForm::EpochMillis),
            "expiry" => AttributeType::Expiry,
            "bool" => AttributeType::Bool,
            "number" => AttributeType::Number(Bounds::default()),
            "int" => AttributeType::Int(Bounds::default()),
            "counter" => AttributeType::Counter,
            "version" => AttributeType::Version,
            "binary" => AttributeType::Binary,
            "password" => AttributeType::Password,
            "map" => AttributeType::Map,
            "any" => AttributeType::Any,
            _ => {
                let mut shapes = self.shapes.iter();
                if let Some(shape) = shapes.find(|shape| shape.name == word) {
                    return Some(AttributeType::Shape(shape.clone()));
                }
                let shapes = self.shapes.iter().map(|shape| shape.name.as_str());
                let known = TYPES.into_iter().chain(shapes);
                self.cursor.unknown(span, "type", word, known);
                return None;
            }
        })
    }

    /// `of T`, behind `list` or `set`.
    fn elements(&mut self, word: &str, optional: bool, depth: usize) -> Option<Kind> {
        if !self.cursor.take_word("of") {
            let what = format!("`of` and the type of the elements, such as `{word} of string`");
            self.cursor.expected(&what);
            return None;
        }
        // INVARIANT: recursion ends here, so hostile input cannot exhaust the stack.
        if depth == DEPTH_MAX {
            let message = format!("lists nest at most {DEPTH_MAX} deep");
            self.cursor.refuse(message);
            return None;
        }
        let start = self.cursor.range().start;
        let element = self.kind(depth + 1)?;
        let span = self.cursor.since(start);
        if element.optional {
            self.cursor
                .report(
                    CODE,
                    span,
                    format!("the elements of a {word} cannot be optional"),
                )
                .help(format!("write the `?` behind `{word}`"));
            return None;
        }
        let kind = match (word, &element.kind) {
            ("list", _) => AttributeType::List {
                element: Box::new(element.kind),
                count: Count::default(),
            },
            (_, AttributeType::String(_)) => AttributeType::Set(SetOf::Strings),
            (_, AttributeType::Number(_) | AttributeType::Int(_)) => {
                AttributeType::Set(SetOf::Numbers)
            }
            (_, AttributeType::Binary) => AttributeType::Set(SetOf::Binaries),
            _ => {
                self.cursor
                    .report(CODE, span, "DynamoDB has no sets of this type")
                    .help("write `set of string`, `set of number`, `set of binary`, or a list");
                return None;
            }
        };
        let kind = match depth {
            0 => self.constraint(kind)?,
            _ => kind,
        };
        Some(Kind { kind, optional })
    }

    /// The names of an enum.
    fn names(&mut self) -> Option<Vec<String>> {
        let mut names: Vec<String> = Vec::new();
        loop {
            let (name, span) = self.name()?;
            if names.contains(&name) {
                let message = format!("`{name}` stands here twice");
                self.cursor.report(CODE, span, message);
                return None;
            }
            if names.len() == NAMES_MAX {
                return self.too_large(span, format!("an enum has at most {NAMES_MAX} names"));
            }
            names.push(name);
            if !self.cursor.take("|") {
                return Some(names);
            }
        }
    }

    /// A name of an enum or a state: a word, or anything in quotes.
    fn name(&mut self) -> Option<(String, Span)> {
        let span = self.cursor.here();
        if let Some(Token::Quoted(_)) = self.cursor.peek() {
            let name = self.cursor.text.unquote(self.cursor.range());
            self.cursor.next();
            return Some((name.as_str().to_owned(), span));
        }
        match self.cursor.word() {
            Some((name, span)) => Some((name.to_owned(), span)),
            None => {
                self.cursor.expected("a name such as `active`");
                None
            }
        }
    }

    /// Says that there is more of something than a type has.
    fn too_large<T>(&mut self, span: Span, message: String) -> Option<T> {
        self.cursor.report(Code::TooLarge, span, message);
        None
    }

    fn steps(&mut self) -> Option<States> {
        let mut states = States {
            names: Vec::new(),
            steps: Vec::new(),
        };
        let mut known = HashSet::new();
        loop {
            let mut from = self.chain_names(&mut states)?;
            while self.cursor.take("->") {
                let span = self.cursor.here();
                let to = self.chain_names(&mut states)?;
                for step in from
                    .iter()
                    .flat_map(|from| to.iter().map(|to| (*from, *to)))
                {
                    if known.insert(step) {
                        states.steps.push(step);
                    }
                    if states.steps.len() > STEPS_MAX {
                        let message = format!("a state has at most {STEPS_MAX} steps");
                        return self.too_large(span, message);
                    }
                }
                from = to;
            }
            if !self.cursor.take(";") {
                return Some(states);
            }
        }
    }

    fn chain_names(&mut self, states: &mut States) -> Option<Vec<usize>> {
        let mut places = Vec::new();
        loop {
            let (name, span) = self.name()?;
            let known = states.names.iter().position(|known| *known == name);
            let place = known.unwrap_or(states.names.len());
            if place == STATES_MAX {
                return self.too_large(span, format!("a state has at most {STATES_MAX} names"));
            }
            if known.is_none() {
                states.names.push(name);
            }
            if !places.contains(&place) {
                places.push(place);
            }
            if !self.cursor.take("|") {
                return Some(places);
            }
        }
    }

    /// What is said of a type behind its word.
    fn constraint(&mut self, kind: AttributeType) -> Option<AttributeType> {
        match kind {
            AttributeType::String(string) => self.string(string).map(AttributeType::String),
            AttributeType::Number(_) => self.bounds().map(AttributeType::Number),
            AttributeType::Int(_) => self.bounds().map(AttributeType::Int),
            AttributeType::List { element, count } => {
                let count = self.count(count)?;
                Some(AttributeType::List { element, count })
            }
            kind => match self.cursor.peek() {
                Some(Token::Digits(_) | Token::Symbol(".." | ">") | Token::Regex(_)) => {
                    let message = format!("{} has no range and no pattern", kind.noun());
                    self.cursor.refuse(message);
                    None
                }
                _ => Some(kind),
            },
        }
    }

    fn string(&mut self, mut string: StringType) -> Option<StringType> {
        loop {
            let span = self.cursor.here();
            match self.cursor.peek().cloned() {
                Some(Token::Digits(_) | Token::Symbol("..")) => {
                    string.length = self.count(string.length)?;
                }
                Some(Token::Regex(pattern)) => {
                    self.cursor.next();
                    string.pattern = match TextPattern::new(pattern) {
                        Ok(pattern) => Some(pattern),
                        Err(error) => {
                            let message = format!("this is no regular expression: {error}");
                            self.cursor.report(CODE, span, message);
                            return None;
                        }
                    };
                }
                Some(Token::Word(word)) if TextFormat::find(word).is_some() => {
                    self.cursor.next();
                    string.format = TextFormat::find(word);
                }
                _ => return Some(string),
            }
        }
    }

    /// A number of characters or elements.
    fn count(&mut self, count: Count) -> Option<Count> {
        let start = self.cursor.range().start;
        if !matches!(
            self.cursor.peek(),
            Some(Token::Digits(_) | Token::Symbol(".."))
        ) {
            return Some(count);
        }
        let bounds = self.bounds()?;
        let span = self.cursor.since(start);
        let whole = |number: &Number| number.to_i64().and_then(|one| usize::try_from(one).ok());
        let least = bounds.min.as_ref().map(whole);
        let most = bounds.max.as_ref().map(whole);
        match (least, most) {
            _ if !bounds.choices.is_empty() => {}
            (None | Some(Some(_)), None | Some(Some(_))) => {
                return Some(Count {
                    min: least.flatten().unwrap_or(0),
                    max: most.flatten(),
                });
            }
            _ => {}
        }
        self.cursor
            .report(CODE, span, "a length is a range of whole numbers")
            .help("write `1..300`, `1..` or `..300`");
        None
    }

    fn bounds(&mut self) -> Option<Bounds> {
        let start = self.cursor.range().start;
        let mut bounds = Bounds::default();
        if self.cursor.take(">") {
            bounds.min = Some(number(self.cursor)?);
            bounds.above_min = true;
            return Some(bounds);
        }
        let is_number = |parser: &Self| {
            matches!(
                parser.cursor.peek(),
                Some(Token::Digits(_) | Token::Symbol("-"))
            )
        };
        if is_number(self) {
            let first = number(self.cursor)?;
            match self.cursor.peek() {
                Some(Token::Symbol("..")) => bounds.min = Some(first),
                _ => {
                    bounds.choices.push(first);
                    while self.cursor.take("|") {
                        bounds.choices.push(number(self.cursor)?);
                    }
                    return Some(bounds);
                }
            }
        }
        if self.cursor.take("..") && is_number(self) {
            bounds.max = Some(number(self.cursor)?);
        }
        if bounds.is_empty() {
            let span = self.cursor.since(start);
            let message = "this range is empty: it ends before it begins";
            self.cursor.report(CODE, span, message);
            return None;
        }
        Some(bounds)
    }
}
