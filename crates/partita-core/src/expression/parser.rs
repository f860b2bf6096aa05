//! What every grammar needs of the tokens: looking ahead, names, paths and operands.
//!
//! | module | what it reads |
//! |---|---|
//! | `condition` | conditions, filters and key conditions |
//! | `update` | SET, REMOVE, ADD and DELETE |
//! | `partiql` | statements and their literals |
//!
//! DynamoDB reports the first of these that applies: a token that fits nowhere or redundant
//! parentheses, whichever is met first; the leftmost mistake that the text alone shows
//! ([`Parser::blame`]); too many operators. All are known when the grammar is through, so they
//! are found here.

mod condition;
mod partiql;
mod update;

use super::messages::ExpressionFault;
use super::reserved::is_reserved;
use super::syntax::{Call, Function, RawName, RawPath, RawStep, Term};
use super::token::{Dialect, Token, TokenKind, tokens};
use super::{ExpressionError, Span};
use crate::Value;
use crate::limits::{EXPRESSION_BYTES_MAX, EXPRESSION_OPERATORS_MAX};

pub(super) use condition::condition;
pub(super) use partiql::{RawSelect, RawStatement, statement};
pub(super) use update::update;

/// Calls inside one another. DynamoDB takes some 240 `if_not_exists` in a row; programs need few,
/// and threads with small stacks hold these.
const CALL_DEPTH_MAX: usize = 64;
/// Parentheses and NOTs inside one another in a design. Far beyond any use.
const DESIGN_DEPTH_MAX: usize = 64;
/// The largest position in a list.
const INDEX_MAX: usize = i32::MAX as usize;
/// Words that are keywords of the grammar of requests in every position.
const KEYWORDS: [&str; 9] = [
    "AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE",
];

pub(super) type Parsed<T> = Result<T, ExpressionError>;

/// A position in an expression's tokens.
pub(super) struct Parser<'a> {
    text: &'a str,
    dialect: Dialect,
    tokens: Vec<Token<'a>>,
    at: usize,
    calls_open: usize,
    operators: usize,
    has_redundant_parentheses: bool,
    /// The leftmost mistake so far.
    blamed: Option<(ExpressionFault, Span)>,
    /// A section of an update that comes twice; reported only if nothing is blamed.
    repeated: Option<(ExpressionFault, Span)>,
    /// A sentence about the functions that the grammar knows.
    functions: &'static str,
    /// The parameters of a PartiQL statement, from the last to the next.
    parameters: Vec<Value>,
}

/// The paths of a projection.
pub(super) fn projection(parser: &mut Parser<'_>) -> Parsed<Vec<RawPath>> {
    parser.list(Parser::path)
}

/// The message for the author of a design, who wrote no request.
fn in_a_design(fault: &ExpressionFault, functions: &str) -> String {
    match fault {
        ExpressionFault::UnknownFunction { name }
        | ExpressionFault::ForeignFunction { name, .. } => {
            format!("there is no function `{name}`; {functions}")
        }
        ExpressionFault::TooManyOperators { .. } => {
            format!("an expression has at most {EXPRESSION_OPERATORS_MAX} operators")
        }
        other => other.to_string(),
    }
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, dialect: Dialect) -> Self {
        Parser {
            text,
            dialect,
            tokens: tokens(text, dialect),
            at: 0,
            calls_open: 0,
            operators: 0,
            has_redundant_parentheses: false,
            blamed: None,
            repeated: None,
            functions: "conditions know attribute_exists, attribute_not_exists, attribute_type, begins_with, contains, size and changed",
            parameters: Vec::new(),
        }
    }

    /// Runs a whole grammar; text left over is a mistake.
    pub(super) fn finish<T>(mut self, grammar: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let whole = Span::new(0, self.text.len());
        // Requests are measured before they come here, because their messages differ by kind.
        if self.dialect == Dialect::Literals && self.text.len() > EXPRESSION_BYTES_MAX {
            let message = format!("an expression has at most {EXPRESSION_BYTES_MAX} bytes");
            return Err(ExpressionError::new(message, whole));
        }
        let tree = grammar(&mut self)?;
        if self.peek().kind != TokenKind::End {
            return Err(self.unexpected("the end"));
        }
        // DynamoDB stops counting where it stops reading.
        let count = EXPRESSION_OPERATORS_MAX + 1;
        let too_many = (self.operators >= count)
            .then_some((ExpressionFault::TooManyOperators { count }, whole));
        match self.blamed.or(self.repeated).or(too_many) {
            None => Ok(tree),
            Some((fault, span)) if self.dialect == Dialect::Literals => Err(ExpressionError::new(
                in_a_design(&fault, self.functions),
                span,
            )),
            Some((ExpressionFault::UnknownFunction { name }, span))
                if self.dialect == Dialect::PartiQl =>
            {
                let message = format!("Unrecognized function: {name}");
                Err(ExpressionError::new(message, span))
            }
            Some((fault, span)) => Err(ExpressionError::fault(fault, span)),
        }
    }

    /// Counts an operator or a function.
    fn operator(&mut self) {
        self.operators += 1;
    }

    /// Remembers a mistake that the text alone shows, unless one further left is known.
    fn blame(&mut self, span: Span, fault: ExpressionFault) {
        if self
            .blamed
            .as_ref()
            .is_none_or(|(_, known)| span.start < known.start)
        {
            self.blamed = Some((fault, span));
        }
    }

    fn peek(&self) -> Token<'a> {
        self.peek_at(self.at)
    }

    fn peek_at(&self, at: usize) -> Token<'a> {
        let end = self.text.len();
        self.tokens.get(at).copied().unwrap_or(Token {
            kind: TokenKind::End,
            text: "<EOF>",
            span: Span::new(end, end),
        })
    }

    /// The next token does not fit.
    fn unexpected(&self, expected: &str) -> ExpressionError {
        let token = self.peek();
        let message = match (self.dialect, token.kind) {
            (Dialect::Request, _) => ExpressionFault::Syntax {
                token: token.text.to_owned(),
                near: self.near().to_owned(),
            }
            .to_string(),
            (Dialect::PartiQl, _) => ExpressionFault::Malformed {
                detail: self.text.to_owned(),
            }
            .to_string(),
            (_, TokenKind::End) => format!("expected {expected}, the expression ends here"),
            (_, TokenKind::Unknown) => format!("`{}` has no meaning in an expression", token.text),
            (_, TokenKind::UnclosedText) => "this text has no closing `'`".to_owned(),
            _ => format!("expected {expected}, found `{}`", token.text),
        };
        ExpressionError::new(message, token.span)
    }

    /// The text from the token before the next one to the token after it.
    fn near(&self) -> &'a str {
        let before = self.at.checked_sub(1).map(|at| self.tokens[at].span.start);
        let after = self.tokens.get(self.at + 1).map(|token| token.span.end);
        &self.text[before.unwrap_or(0)..after.unwrap_or(self.text.len())]
    }

    fn is_next(&self, symbol: &str) -> bool {
        let token = self.peek();
        token.kind == TokenKind::Symbol && token.text == symbol
    }

    /// Takes the symbol if it comes next.
    fn take(&mut self, symbol: &str) -> bool {
        let is_next = self.is_next(symbol);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, symbol: &str) -> Parsed<()> {
        if self.take(symbol) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{symbol}`")))
    }

    /// Takes the keyword, in any case, if it comes next.
    fn take_keyword(&mut self, keyword: &str) -> bool {
        let token = self.peek();
        let is_next = token.kind == TokenKind::Word && token.text.eq_ignore_ascii_case(keyword);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect_keyword(&mut self, keyword: &str) -> Parsed<()> {
        if self.take_keyword(keyword) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{keyword}`")))
    }

    /// One or more, with commas between.
    fn list<T>(&mut self, element: impl Fn(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut elements = vec![element(self)?];
        while self.take(",") {
            elements.push(element(self)?);
        }
        Ok(elements)
    }

    /// Refuses redundant parentheses that were closed, where DynamoDB comes to look at them.
    fn settle(&self) -> Parsed<()> {
        if self.has_redundant_parentheses && self.dialect == Dialect::Request {
            let whole = Span::new(0, self.text.len());
            return Err(ExpressionError::fault(
                ExpressionFault::RedundantParentheses,
                whole,
            ));
        }
        Ok(())
    }

    /// An operand that nothing is decided by, perhaps in parentheses.
    fn settled_operand(&mut self) -> Parsed<Term> {
        let term = self.operand()?;
        self.settle()?;
        Ok(term)
    }

    /// An operand, perhaps in parentheses.
    fn operand(&mut self) -> Parsed<Term> {
        let mut open = 0;
        while self.take("(") {
            open += 1;
        }
        let term = self.term()?;
        for _ in 0..open {
            self.expect(")")?;
        }
        self.has_redundant_parentheses |= open > 1;
        Ok(term)
    }

    /// A value, a call or a path.
    fn term(&mut self) -> Parsed<Term> {
        let token = self.peek();
        if token.kind == TokenKind::Value && self.dialect == Dialect::Request {
            self.at += 1;
            return Ok(Term::Placeholder(token.text.to_owned(), token.span));
        }
        if let Some((value, span)) = self.take_literal()? {
            return Ok(Term::Literal(value, span));
        }
        let second = self.peek_at(self.at + 1);
        if token.kind == TokenKind::Word
            && !self.is_keyword(token)
            && second.kind == TokenKind::Symbol
            && second.text == "("
        {
            self.at += 2;
            return self.call(token).map(Term::Call);
        }
        self.path().map(Term::Path)
    }

    /// The operands of a call whose name was taken, and the closing parenthesis.
    fn call(&mut self, name: Token<'a>) -> Parsed<Call> {
        // INVARIANT: recursion ends here, so hostile input cannot exhaust the stack.
        if self.calls_open == CALL_DEPTH_MAX {
            let count = EXPRESSION_OPERATORS_MAX + 1;
            return Err(ExpressionError::fault(
                ExpressionFault::TooManyOperators { count },
                name.span,
            ));
        }
        self.operator();
        let known = match self.dialect {
            Dialect::PartiQl => Function::named(&name.text.to_ascii_lowercase()),
            Dialect::Literals | Dialect::Request => Function::named(name.text),
        };
        let known =
            known.filter(|known| *known != Function::Changed || self.dialect == Dialect::Literals);
        let function = known.unwrap_or_else(|| {
            let name_text = name.text.to_owned();
            self.blame(
                name.span,
                ExpressionFault::UnknownFunction { name: name_text },
            );
            // Any will do: the whole expression is refused.
            Function::Size
        });
        self.calls_open += 1;
        let arguments = self.list(Self::operand)?;
        self.calls_open -= 1;
        self.expect(")")?;
        Ok(Call {
            function,
            arguments,
            span: name.span,
        })
    }

    fn misused(&mut self, call: &Call) {
        let name = call.function.name().to_owned();
        self.blame(call.span, ExpressionFault::MisusedFunction { name });
    }

    /// Takes a literal of a design.
    fn take_literal(&mut self) -> Parsed<Option<(Value, Span)>> {
        match self.dialect {
            Dialect::Request => return Ok(None),
            Dialect::PartiQl => return partiql::take_value(self),
            Dialect::Literals => {}
        }
        let token = self.peek();
        let (value, length) = match token.kind {
            TokenKind::Text => {
                let inner = &token.text[1..token.text.len() - 1];
                (Value::S(inner.replace("''", "'")), 1)
            }
            TokenKind::Digits => (self.number("", token)?, 1),
            TokenKind::Symbol if token.text == "-" => match self.peek_at(self.at + 1) {
                digits if digits.kind == TokenKind::Digits => (self.number("-", digits)?, 2),
                _ => return Ok(None),
            },
            TokenKind::Word => match token.text {
                "true" => (Value::Bool(true), 1),
                "false" => (Value::Bool(false), 1),
                "null" => (Value::Null, 1),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        self.at += length;
        let last = self.tokens[self.at - 1].span;
        Ok(Some((value, token.span.to(last))))
    }

    fn number(&self, sign: &str, digits: Token<'_>) -> Parsed<Value> {
        let text = format!("{sign}{}", digits.text);
        let number = text.parse().map(Value::N);
        number.map_err(|error| ExpressionError::new(error.to_string(), digits.span))
    }

    /// A document path.
    fn path(&mut self) -> Parsed<RawPath> {
        let start = self.peek().span;
        let root = self.name()?;
        let mut steps = Vec::new();
        loop {
            if self.take(".") {
                steps.push(RawStep::Field(self.field()?));
            } else if self.take("[") {
                steps.push(match partiql::take_field(self) {
                    Some(name) => RawStep::Field(RawName::Word(name)),
                    None => RawStep::Index(self.index()?),
                });
                self.expect("]")?;
            } else {
                break;
            }
        }
        let end = self.tokens[self.at - 1].span;
        Ok(RawPath {
            root,
            steps,
            span: start.to(end),
        })
    }

    fn name(&mut self) -> Parsed<RawName> {
        let token = self.peek();
        let is_request = self.dialect == Dialect::Request;
        let name = match token.kind {
            TokenKind::Word if !self.is_keyword(token) => {
                if is_request && is_reserved(token.text) {
                    let word = token.text.to_owned();
                    self.blame(token.span, ExpressionFault::Reserved { word });
                }
                RawName::Word(token.text.to_owned())
            }
            TokenKind::Name if is_request => RawName::Placeholder(token.text.to_owned()),
            TokenKind::Quoted => RawName::Word(partiql::unquoted(token.text)),
            _ => return Err(self.unexpected("the name of an attribute")),
        };
        self.at += 1;
        Ok(name)
    }

    /// What follows a dot. DynamoDB takes `:value` for a name here, which then is not defined.
    fn field(&mut self) -> Parsed<RawName> {
        let token = self.peek();
        if token.kind == TokenKind::Value && self.dialect == Dialect::Request {
            self.at += 1;
            return Ok(RawName::Placeholder(token.text.to_owned()));
        }
        self.name()
    }

    fn index(&mut self) -> Parsed<usize> {
        let token = self.peek();
        if token.kind != TokenKind::Digits || token.text.contains('.') {
            return Err(self.unexpected("the position of an element"));
        }
        self.at += 1;
        let index = token.text.parse().ok().filter(|index| *index <= INDEX_MAX);
        Ok(index.unwrap_or_else(|| {
            let index = token.text.to_owned();
            self.blame(token.span, ExpressionFault::IndexOutOfRange { index });
            0
        }))
    }

    /// In a design an attribute may be called `set`; only requests keep such words to themselves.
    fn is_keyword(&self, word: Token<'_>) -> bool {
        let keywords = match self.dialect {
            Dialect::Literals => return false,
            Dialect::Request => &KEYWORDS[..],
            Dialect::PartiQl => &partiql::KEYWORDS[..],
        };
        let mut keywords = keywords.iter();
        keywords.any(|keyword| word.text.eq_ignore_ascii_case(keyword))
    }
}
