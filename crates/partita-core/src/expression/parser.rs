//! What every grammar needs of the tokens: looking ahead, names, values and paths.

use super::token::{Token, tokens};
use super::{Bindings, ExpressionError, Path, Span, Step};
use crate::Value;
use crate::limits::EXPRESSION_OPERATORS_MAX;

/// Parentheses and NOTs inside one another. Far beyond what anybody writes, far below what the
/// stack holds.
const DEPTH_MAX: usize = 64;

/// A position in an expression's tokens.
pub(super) struct Parser<'a> {
    tokens: Vec<(Token, Span)>,
    at: usize,
    end: usize,
    bindings: Bindings<'a>,
    depth: usize,
    operators: usize,
}

pub(super) type Parsed<T> = Result<T, ExpressionError>;

impl<'a> Parser<'a> {
    pub(super) fn new(text: &str, bindings: &Bindings<'a>) -> Parsed<Self> {
        Ok(Parser {
            tokens: tokens(text)?,
            at: 0,
            end: text.len(),
            bindings: *bindings,
            depth: 0,
            operators: 0,
        })
    }

    /// Runs a whole grammar; text left over is a mistake.
    pub(super) fn finish<T>(mut self, grammar: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let tree = grammar(&mut self)?;
        match self.peek() {
            None => Ok(tree),
            Some(_) => Err(self.unexpected("the end")),
        }
    }

    /// Goes one level deeper while `grammar` runs.
    pub(super) fn nested<T>(&mut self, grammar: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEPTH_MAX {
            return Err(ExpressionError::new(
                format!("an expression nests at most {DEPTH_MAX} levels"),
                self.here(),
            ));
        }
        self.depth += 1;
        let tree = grammar(self);
        self.depth -= 1;
        tree
    }

    /// Counts an operator or a function.
    pub(super) fn operator(&mut self) -> Parsed<()> {
        self.operators += 1;
        if self.operators > EXPRESSION_OPERATORS_MAX {
            return Err(ExpressionError::new(
                format!("an expression has at most {EXPRESSION_OPERATORS_MAX} operators"),
                self.here(),
            ));
        }
        Ok(())
    }

    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn peek_second(&self) -> Option<&Token> {
        self.tokens.get(self.at + 1).map(|(token, _)| token)
    }

    /// The place of the next token, or of the end.
    pub(super) fn here(&self) -> Span {
        match self.tokens.get(self.at) {
            Some((_, span)) => *span,
            None => Span::new(self.end, self.end),
        }
    }

    pub(super) fn unexpected(&self, expected: &str) -> ExpressionError {
        let found = match self.peek() {
            Some(token) => format!("found {}", token.describe()),
            None => "the expression ends here".to_owned(),
        };
        ExpressionError::new(format!("expected {expected}, {found}"), self.here())
    }

    /// Takes the symbol if it comes next.
    pub(super) fn take(&mut self, symbol: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Token::Symbol(next)) if *next == symbol);
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn expect(&mut self, symbol: &str) -> Parsed<()> {
        if self.take(symbol) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{symbol}`")))
    }

    /// Takes the keyword, in any case, if it comes next.
    pub(super) fn take_keyword(&mut self, keyword: &str) -> bool {
        let is_next =
            matches!(self.peek(), Some(Token::Word(word)) if word.eq_ignore_ascii_case(keyword));
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn expect_keyword(&mut self, keyword: &str) -> Parsed<()> {
        if self.take_keyword(keyword) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{keyword}`")))
    }

    /// Takes the name of a function if a call comes next. Function names are case-sensitive.
    pub(super) fn take_function(&mut self) -> Option<(String, Span)> {
        let (Some(Token::Word(word)), Some(Token::Symbol("("))) = (self.peek(), self.peek_second())
        else {
            return None;
        };
        let function = (word.clone(), self.here());
        self.at += 2;
        Some(function)
    }

    /// Takes a value: a placeholder in a request, a literal in a design.
    pub(super) fn take_value(&mut self) -> Parsed<Option<(Value, Span)>> {
        let span = self.here();
        let value = match (self.peek(), &self.bindings) {
            (Some(Token::Value(name)), Bindings::Placeholders { values, .. }) => {
                let Some(value) = values.get(name) else {
                    return Err(ExpressionError::new(
                        format!(
                            "An expression attribute value used in expression is not defined; attribute value: {name}"
                        ),
                        span,
                    ));
                };
                value.clone()
            }
            (Some(Token::Text(text)), Bindings::Literals) => Value::S(text.clone()),
            (Some(Token::Digits(_)), Bindings::Literals) => self.digits("")?,
            (Some(Token::Symbol("-")), Bindings::Literals)
                if matches!(self.peek_second(), Some(Token::Digits(_))) =>
            {
                self.at += 1;
                self.digits("-")?
            }
            (Some(Token::Word(word)), Bindings::Literals) => match word.as_str() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                "null" => Value::Null,
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let span = span.to(self.here());
        self.at += 1;
        Ok(Some((value, span)))
    }

    fn digits(&self, sign: &str) -> Parsed<Value> {
        let Some(Token::Digits(digits)) = self.peek() else {
            return Err(self.unexpected("a number"));
        };
        format!("{sign}{digits}")
            .parse()
            .map(Value::N)
            .map_err(|error| ExpressionError::new(error.to_string(), self.here()))
    }

    /// Takes a document path.
    pub(super) fn path(&mut self) -> Parsed<Path> {
        let start = self.here();
        let root = self.name()?;
        let mut steps = Vec::new();
        loop {
            if self.take(".") {
                steps.push(Step::Field(self.name()?));
            } else if self.take("[") {
                steps.push(Step::Index(self.index()?));
                self.expect("]")?;
            } else {
                break;
            }
        }
        let end = self.tokens[self.at - 1].1;
        Ok(Path {
            root,
            steps,
            span: start.to(end),
        })
    }

    fn name(&mut self) -> Parsed<String> {
        let name = match (self.peek(), &self.bindings) {
            (Some(Token::Word(word)), _) => word.clone(),
            (Some(Token::Name(placeholder)), Bindings::Placeholders { names, .. }) => {
                let Some(name) = names.get(placeholder) else {
                    return Err(ExpressionError::new(
                        format!(
                            "An expression attribute name used in the document path is not defined; attribute name: {placeholder}"
                        ),
                        self.here(),
                    ));
                };
                name.clone()
            }
            _ => return Err(self.unexpected("the name of an attribute")),
        };
        self.at += 1;
        Ok(name)
    }

    fn index(&mut self) -> Parsed<usize> {
        let index = match self.peek() {
            Some(Token::Digits(digits)) => digits.parse().ok(),
            _ => None,
        };
        let index = index.ok_or_else(|| self.unexpected("the position of an element"))?;
        self.at += 1;
        Ok(index)
    }
}
