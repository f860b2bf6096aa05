//! Expressions as their text alone gives them, with placeholders still in place.
//!
//! These trees depend on nothing but the text, so they are made once and kept; see
//! [`ExpressionCache`](super::ExpressionCache). Binding turns them into the public trees.

use super::{Comparator, Span};
use crate::Value;

/// A condition without parentheses: the tree has their meaning.
#[derive(Debug)]
pub(super) enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Compare(Term, Comparator, Term),
    Between(Term, Term, Term),
    In(Term, Vec<Term>),
    Call(Call),
}

/// One operand.
#[derive(Clone, Debug)]
pub(super) enum Term {
    Path(RawPath),
    Placeholder(String, Span),
    Literal(Value, Span),
    Call(Call),
}

impl Term {
    pub(super) fn span(&self) -> Span {
        match self {
            Term::Path(path) => path.span,
            Term::Placeholder(_, span) | Term::Literal(_, span) => *span,
            Term::Call(call) => call.span,
        }
    }
}

/// A function and its operands.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) function: Function,
    pub(super) arguments: Vec<Term>,
    pub(super) span: Span,
}

/// The functions that DynamoDB knows, and `changed`, which only designs have. Their names are
/// case-sensitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    AttributeExists,
    AttributeNotExists,
    AttributeType,
    BeginsWith,
    Contains,
    Size,
    IfNotExists,
    ListAppend,
    Changed,
}

impl Function {
    const NAMES: [(&'static str, Function); 9] = [
        ("attribute_exists", Function::AttributeExists),
        ("attribute_not_exists", Function::AttributeNotExists),
        ("attribute_type", Function::AttributeType),
        ("begins_with", Function::BeginsWith),
        ("contains", Function::Contains),
        ("size", Function::Size),
        ("if_not_exists", Function::IfNotExists),
        ("list_append", Function::ListAppend),
        ("changed", Function::Changed),
    ];

    pub(super) fn named(name: &str) -> Option<Function> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, function)| *function)
    }

    pub(super) fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    pub(super) fn is_for_updates(self) -> bool {
        matches!(self, Function::IfNotExists | Function::ListAppend)
    }

    pub(super) fn operands(self) -> usize {
        match self {
            Function::AttributeExists
            | Function::AttributeNotExists
            | Function::Size
            | Function::Changed => 1,
            _ => 2,
        }
    }
}

/// A document path whose names may be placeholders.
#[derive(Clone, Debug)]
pub(super) struct RawPath {
    pub(super) root: RawName,
    pub(super) steps: Vec<RawStep>,
    pub(super) span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RawName {
    Word(String),
    Placeholder(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RawStep {
    Field(RawName),
    Index(usize),
}

/// One clause of an update, in the order of the text.
#[derive(Debug)]
pub(super) enum Clause {
    Set(RawPath, RawSum),
    Remove(RawPath),
    Add(RawPath, Term),
    Delete(RawPath, Term),
}

impl Clause {
    pub(super) fn path(&self) -> &RawPath {
        match self {
            Clause::Set(path, _)
            | Clause::Remove(path)
            | Clause::Add(path, _)
            | Clause::Delete(path, _) => path,
        }
    }
}

/// The right side of an assignment.
#[derive(Debug)]
pub(super) enum RawSum {
    Is(Term),
    Plus(Term, Term),
    Minus(Term, Term),
}
