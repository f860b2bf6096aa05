//! The grammar of PartiQL statements, as Amazon documents it for DynamoDB.
//!
//! ```text
//! select    = SELECT ( "*" | path {, path} ) FROM source [WHERE condition] [ORDER BY key {, key}]
//! insert    = INSERT INTO source VALUE "{" … "}"
//! update    = UPDATE source { SET assignment {, assignment} | REMOVE path } [WHERE condition] [returning]
//! delete    = DELETE FROM source [WHERE condition] [returning]
//! exists    = EXISTS "(" select ")"
//! source    = name [ "." name ]
//! returning = RETURNING ( ALL | MODIFIED ) ( OLD | NEW ) "*"
//! ```
//!
//! Conditions and assignments are those of expressions, with literals and parameters in place of
//! placeholders.

mod literal;

use super::super::messages::ExpressionFault;
use super::super::syntax::{Call, Clause, Function, Node, RawName, RawPath, Term};
use super::super::token::{Token, TokenKind};
use super::super::{Comparator, ExpressionError, Returning, SelectSource, Span};
use super::{Dialect, Parsed, Parser, condition, update};
use crate::{Map, Value};

pub(super) use literal::{take_field, take_value, unquoted};

/// Words that structure a statement. As names they are written in double quotes.
pub(super) const KEYWORDS: [&str; 28] = [
    "SELECT",
    "FROM",
    "WHERE",
    "ORDER",
    "GROUP",
    "HAVING",
    "LIMIT",
    "BY",
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "IS",
    "LIKE",
    "INSERT",
    "INTO",
    "UPDATE",
    "DELETE",
    "SET",
    "REMOVE",
    "RETURNING",
    "AS",
    "JOIN",
    "NULL",
    "MISSING",
    "TRUE",
    "FALSE",
];

/// A statement whose conditions and updates are still to be bound.
#[derive(Debug)]
pub(in super::super) enum RawStatement {
    Select(RawSelect),
    Exists(RawSelect),
    Insert(SelectSource, Map),
    Update(SelectSource, Vec<Clause>, Option<Node>, Option<Returning>),
    Delete(SelectSource, Option<Node>, Option<Returning>),
}

#[derive(Debug)]
pub(in super::super) struct RawSelect {
    pub(in super::super) source: SelectSource,
    /// All attributes without.
    pub(in super::super) columns: Option<Vec<RawPath>>,
    pub(in super::super) condition: Option<Node>,
    /// Attributes, and whether each descends.
    pub(in super::super) order: Vec<(String, bool)>,
}

/// One statement, with the values of its parameters.
pub(in super::super) fn statement(
    parser: &mut Parser<'_>,
    mut parameters: Vec<Value>,
) -> Parsed<RawStatement> {
    parameters.reverse();
    parser.parameters = parameters;
    let statement = if parser.take_keyword("SELECT") {
        RawStatement::Select(select(parser)?)
    } else if parser.take_keyword("EXISTS") {
        parser.expect("(")?;
        parser.expect_keyword("SELECT")?;
        let select = select(parser)?;
        parser.expect(")")?;
        RawStatement::Exists(select)
    } else if parser.take_keyword("INSERT") {
        insert(parser)?
    } else if parser.take_keyword("UPDATE") {
        update_statement(parser)?
    } else if parser.take_keyword("DELETE") {
        parser.expect_keyword("FROM")?;
        let source = source(parser)?;
        let condition = where_clause(parser)?;
        RawStatement::Delete(source, condition, returning(parser)?)
    } else {
        return Err(no_manipulation(parser));
    };
    parser.take(";");
    Ok(statement)
}

fn select(parser: &mut Parser<'_>) -> Parsed<RawSelect> {
    let first = parser.peek();
    if parser.take_keyword("DISTINCT") {
        let message = "Unsupported token in expression: DISTINCT";
        return Err(ExpressionError::new(message, first.span));
    }
    let columns = if parser.take("*") {
        None
    } else {
        Some(parser.list(column)?)
    };
    parser.expect_keyword("FROM")?;
    let source = source(parser)?;
    refuse_clauses(parser)?;
    let condition = where_clause(parser)?;
    let mut order = Vec::new();
    if parser.take_keyword("ORDER") {
        parser.expect_keyword("BY")?;
        order = parser.list(sort_key)?;
    }
    refuse_clauses(parser)?;
    Ok(RawSelect {
        source,
        columns,
        condition,
        order,
    })
}

fn column(parser: &mut Parser<'_>) -> Parsed<RawPath> {
    let token = parser.peek();
    let next = parser.peek_at(parser.at + 1);
    let is_call =
        token.kind == TokenKind::Word && next.kind == TokenKind::Symbol && next.text == "(";
    let is_value = matches!(
        token.kind,
        TokenKind::Text | TokenKind::Digits | TokenKind::Parameter
    );
    if is_call || is_value {
        let message = format!("Unexpected path component at {}", place(parser, token));
        return Err(ExpressionError::new(message, token.span));
    }
    let path = parser.path()?;
    refuse_alias(parser)?;
    Ok(path)
}

fn sort_key(parser: &mut Parser<'_>) -> Parsed<(String, bool)> {
    let name = name(parser)?;
    let descends = parser.take_keyword("DESC");
    if !descends {
        parser.take_keyword("ASC");
    }
    Ok((name, descends))
}

fn insert(parser: &mut Parser<'_>) -> Parsed<RawStatement> {
    parser.expect_keyword("INTO")?;
    let start = parser.peek().span;
    let source = source(parser)?;
    if source.index.is_some() {
        let message =
            "FROM clause may only contain a single table name in data manipulation statements";
        return Err(ExpressionError::new(message, start));
    }
    parser.expect_keyword("VALUE")?;
    let token = parser.peek();
    if !parser.is_next("{") {
        let message = format!(
            "Unsupported format in item expression. Please use struct format {{...}} to express item values for insert statement. at {}",
            place(parser, token)
        );
        return Err(ExpressionError::new(message, token.span));
    }
    let item = literal::tuple(parser, 1)?;
    if parser.take_keyword("RETURNING") {
        let message = "RETURNING is not supported in INSERT";
        return Err(ExpressionError::new(message, token.span));
    }
    Ok(RawStatement::Insert(source, item))
}

fn update_statement(parser: &mut Parser<'_>) -> Parsed<RawStatement> {
    let source = source(parser)?;
    let mut clauses = Vec::new();
    loop {
        if parser.take_keyword("SET") {
            clauses.append(&mut parser.list(update::assignment)?);
        } else if parser.take_keyword("REMOVE") {
            clauses.push(Clause::Remove(parser.path()?));
        } else if clauses.is_empty() {
            return Err(no_manipulation(parser));
        } else {
            break;
        }
    }
    let condition = where_clause(parser)?;
    let returning = returning(parser)?;
    Ok(RawStatement::Update(source, clauses, condition, returning))
}

fn where_clause(parser: &mut Parser<'_>) -> Parsed<Option<Node>> {
    let is_there = parser.take_keyword("WHERE");
    is_there.then(|| condition(parser)).transpose()
}

fn returning(parser: &mut Parser<'_>) -> Parsed<Option<Returning>> {
    if !parser.take_keyword("RETURNING") {
        return Ok(None);
    }
    let is_whole = parser.take_keyword("ALL");
    if !is_whole {
        parser.expect_keyword("MODIFIED")?;
    }
    let is_new = parser.take_keyword("NEW");
    if !is_new {
        parser.expect_keyword("OLD")?;
    }
    if !parser.take("*") {
        let message = "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause";
        return Err(ExpressionError::new(message, parser.peek().span));
    }
    Ok(Some(Returning { is_whole, is_new }))
}

/// A table, and perhaps one of its indexes.
fn source(parser: &mut Parser<'_>) -> Parsed<SelectSource> {
    let start = parser.peek().span;
    let table = name(parser)?;
    let index = parser.take(".").then(|| name(parser)).transpose()?;
    let refuse = |message: &str| Err(ExpressionError::new(message, start));
    if table.is_empty() || index.as_ref().is_some_and(String::is_empty) {
        return refuse("Path component cannot be an empty string");
    }
    if parser.is_next(".") {
        return refuse("A path may contain at most 2 components in the FROM clause");
    }
    refuse_alias(parser)?;
    Ok(SelectSource { table, index })
}

fn name(parser: &mut Parser<'_>) -> Parsed<String> {
    match parser.name()? {
        RawName::Word(name) | RawName::Placeholder(name) => Ok(name),
    }
}

fn refuse_alias(parser: &Parser<'_>) -> Parsed<()> {
    let token = parser.peek();
    let goes_on = [
        "FROM", "WHERE", "ORDER", "GROUP", "HAVING", "LIMIT", "JOIN", "SET", "REMOVE",
    ]
    .iter()
    .chain(&[
        "VALUE",
        "RETURNING",
        "CROSS",
        "INNER",
        "LEFT",
        "RIGHT",
        "OFFSET",
        "VALUES",
    ])
    .any(|keyword| token.text.eq_ignore_ascii_case(keyword));
    if goes_on || !matches!(token.kind, TokenKind::Word | TokenKind::Quoted) {
        return Ok(());
    }
    Err(ExpressionError::new(
        "Aliasing is not supported",
        token.span,
    ))
}

/// Clauses of SQL that DynamoDB does not have, each in the service's words.
fn refuse_clauses(parser: &Parser<'_>) -> Parsed<()> {
    let token = parser.peek();
    let is =
        |keyword: &str| token.kind == TokenKind::Word && token.text.eq_ignore_ascii_case(keyword);
    let joins = ["JOIN", "CROSS", "INNER", "LEFT", "RIGHT"];
    let message = if parser.is_next(",") || joins.iter().any(|keyword| is(keyword)) {
        "Only select from a single table or index is supported.".to_owned()
    } else if is("GROUP") {
        "Unsupported clause: GROUP BY".to_owned()
    } else if let Some(clause) = ["LIMIT", "HAVING", "OFFSET"].iter().find(|it| is(it)) {
        let next = parser.peek_at(parser.at + 1);
        format!("Unsupported clause: {clause} at {}", place(parser, next))
    } else {
        return Ok(());
    };
    Err(ExpressionError::new(message, token.span))
}

/// Line, column and length of a token, as the service's messages have them.
fn place(parser: &Parser<'_>, token: Token<'_>) -> String {
    let before = &parser.text[..token.span.start];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    let length = token.text.chars().count();
    format!("{line}:{column}:{length}")
}

/// What may follow an operand in PartiQL alone: IS MISSING, IS NULL, and IN with brackets.
pub(super) fn predicate(parser: &mut Parser<'_>, left: &Term) -> Parsed<Option<Node>> {
    refuse_arithmetic(parser)?;
    let token = parser.peek();
    if parser.take_keyword("LIKE") {
        return Err(unsupported_operator("like", token.span));
    }
    if parser.take_keyword("IS") {
        parser.operator();
        let is_negated = parser.take_keyword("NOT");
        if parser.take_keyword("NULL") {
            let comparator = if is_negated {
                Comparator::NotEqual
            } else {
                Comparator::Equal
            };
            let null = Term::Literal(Value::Null, token.span);
            return Ok(Some(Node::Compare(left.clone(), comparator, null)));
        }
        parser.expect_keyword("MISSING")?;
        return Ok(Some(Node::Call(Call {
            function: if is_negated {
                Function::AttributeExists
            } else {
                Function::AttributeNotExists
            },
            arguments: vec![left.clone()],
            span: token.span,
        })));
    }
    let next = parser.peek_at(parser.at + 1);
    let is_bracket = next.kind == TokenKind::Symbol && next.text == "[";
    if !is_bracket || !parser.take_keyword("IN") {
        return Ok(None);
    }
    parser.operator();
    parser.expect("[")?;
    if parser.is_next("]") {
        let message = "IN operator must have a left hand argument of type Variable Reference and right hand argument of type Seq with at least one member";
        return Err(ExpressionError::new(message, next.span));
    }
    let list = parser.list(Parser::settled_operand)?;
    parser.expect("]")?;
    Ok(Some(Node::In(left.clone(), list)))
}

/// Conditions compare, and do not reckon.
pub(super) fn refuse_arithmetic(parser: &Parser<'_>) -> Parsed<()> {
    if parser.dialect != Dialect::PartiQl {
        return Ok(());
    }
    match ["+", "-"].iter().find(|symbol| parser.is_next(symbol)) {
        Some(symbol) => Err(unsupported_operator(symbol, parser.peek().span)),
        None => Ok(()),
    }
}

fn unsupported_operator(operator: &str, span: Span) -> ExpressionError {
    let message = format!("Unsupported operator in Condition Expression. Operator: {operator}");
    ExpressionError::new(message, span)
}

/// A condition that is an operand alone.
pub(super) fn no_truth(parser: &Parser<'_>) -> ExpressionError {
    let message = "WHERE clause must contain an expression that resolves to a boolean";
    ExpressionError::new(message, parser.peek().span)
}

/// `set_add(path, <<…>>)` and `set_delete(path, <<…>>)`, which are ADD and DELETE of an update
/// expression; otherwise the path that is assigned to.
pub(super) fn change_of_set(
    parser: &mut Parser<'_>,
    path: RawPath,
) -> Parsed<Result<Clause, RawPath>> {
    if parser.dialect != Dialect::PartiQl {
        return Ok(Err(path));
    }
    let make: fn(RawPath, Term) -> Clause = if parser.take_keyword("set_add") {
        Clause::Add
    } else if parser.take_keyword("set_delete") {
        Clause::Delete
    } else {
        return Ok(Err(path));
    };
    parser.operator();
    parser.expect("(")?;
    let start = parser.peek();
    let subject = parser.path()?;
    if subject.steps != path.steps || subject.root != path.root {
        return Err(malformed(parser, start.span));
    }
    parser.expect(",")?;
    let Some((value, span)) = parser.take_literal()? else {
        return Err(parser.unexpected("a set"));
    };
    parser.expect(")")?;
    Ok(Ok(make(path, Term::Literal(value, span))))
}

/// Neither a statement nor a change where one must be, in the service's words.
fn no_manipulation(parser: &Parser<'_>) -> ExpressionError {
    let detail = "Expected data manipulation".to_owned();
    ExpressionError::fault(ExpressionFault::Malformed { detail }, parser.peek().span)
}

fn malformed(parser: &Parser<'_>, span: Span) -> ExpressionError {
    let detail = parser.text.to_owned();
    ExpressionError::fault(ExpressionFault::Malformed { detail }, span)
}
