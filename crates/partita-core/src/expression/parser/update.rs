//! The grammar of updates.

use super::super::ExpressionError;
use super::super::messages::ExpressionFault;
use super::super::syntax::{Call, Clause, Function, RawPath, RawSum, Term};
use super::{Dialect, Parsed, Parser, TokenKind, partiql};

const SECTIONS: [&str; 4] = ["SET", "REMOVE", "ADD", "DELETE"];

pub(in super::super) fn update(parser: &mut Parser<'_>) -> Parsed<Vec<Clause>> {
    parser.functions = "updates know if_not_exists and list_append";
    let mut clauses = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    while parser.peek().kind != TokenKind::End || seen.is_empty() {
        let span = parser.peek().span;
        let Some(section) = SECTIONS
            .into_iter()
            .find(|section| parser.take_keyword(section))
        else {
            return Err(parser.unexpected("`SET`, `REMOVE`, `ADD` or `DELETE`"));
        };
        if seen.contains(&section) {
            let fault = ExpressionFault::RepeatedSection { section };
            parser.repeated.get_or_insert((fault, span));
        }
        seen.push(section);
        clauses.append(&mut match section {
            "SET" => parser.list(assignment)?,
            "REMOVE" => parser.list(|parser| parser.path().map(Clause::Remove))?,
            "ADD" => parser.list(|parser| with_value(parser, Clause::Add))?,
            _ => parser.list(|parser| with_value(parser, Clause::Delete))?,
        });
    }
    Ok(clauses)
}

pub(super) fn assignment(parser: &mut Parser<'_>) -> Parsed<Clause> {
    let path = parser.path()?;
    parser.expect("=")?;
    let path = match partiql::change_of_set(parser, path)? {
        Ok(change) => return Ok(change),
        Err(path) => path,
    };
    Ok(Clause::Set(path, sum(parser)?))
}

fn with_value(parser: &mut Parser<'_>, clause: fn(RawPath, Term) -> Clause) -> Parsed<Clause> {
    let path = parser.path()?;
    let token = parser.peek();
    if token.kind == TokenKind::Value || parser.dialect == Dialect::Literals {
        let term = parser.term()?;
        if matches!(term, Term::Placeholder(..) | Term::Literal(..)) {
            return Ok(clause(path, term));
        }
        return Err(ExpressionError::new("expected a value", token.span));
    }
    Err(parser.unexpected("a value"))
}

/// An operand or two, and parentheses around each of them or around the whole.
fn sum(parser: &mut Parser<'_>) -> Parsed<RawSum> {
    let mut open = 0_usize;
    while parser.take("(") {
        open += 1;
    }
    let left = parser.term()?;
    let mut around_left = 0;
    while around_left < open && parser.take(")") {
        around_left += 1;
    }
    parser.has_redundant_parentheses |= around_left > 1;
    parser.settle()?;
    let make = if parser.take("+") {
        RawSum::Plus
    } else if parser.take("-") {
        RawSum::Minus
    } else if around_left == open {
        operand(parser, &left, true);
        return Ok(RawSum::Is(left));
    } else {
        return Err(parser.unexpected("`)`"));
    };
    parser.operator();
    let right = parser.settled_operand()?;
    operand(parser, &left, false);
    operand(parser, &right, false);
    for _ in around_left..open {
        parser.expect(")")?;
    }
    parser.has_redundant_parentheses |= open - around_left > 1;
    parser.settle()?;
    Ok(make(left, right))
}

/// `list_append` is never an operand of another; `if_not_exists` may be.
fn operand(parser: &mut Parser<'_>, term: &Term, is_alone: bool) {
    let Term::Call(call) = term else {
        return;
    };
    foreign(parser, call);
    if call.function == Function::ListAppend && !is_alone {
        parser.misused(call);
    }
    for argument in &call.arguments {
        operand(parser, argument, false);
    }
}

fn foreign(parser: &mut Parser<'_>, call: &Call) {
    if !call.function.is_for_updates() {
        let fault = ExpressionFault::ForeignFunction {
            name: call.function.name().to_owned(),
            place: "an update",
        };
        parser.blame(call.span, fault);
    }
}
