//! The grammar of conditions.
//!
//! ```text
//! condition = all { OR all }
//! all       = not { AND not }
//! not       = NOT not | "(" condition ")" | call | comparison
//! ```
//!
//! Parentheses surround conditions as well as operands (`((a) = b)`), and which of the
//! two one opens is known only later. So the open ones are kept on a stack of our own; this also
//! means that hostile nesting costs memory and not the machine's stack.

use super::super::messages::ExpressionFault;
use super::super::syntax::{Call, Function, Node, Term};
use super::super::{Comparator, ExpressionError};
use super::{DESIGN_DEPTH_MAX, Dialect, Parsed, Parser, partiql};

/// What is read between two parentheses, or at the top.
#[derive(Default)]
struct ConditionGroup {
    /// Finished operands of OR.
    any: Vec<Node>,
    /// Finished operands of the AND that is being read.
    all: Vec<Node>,
    /// NOTs before the condition that comes next.
    nots: usize,
    /// Whether all that was read so far is one group in parentheses.
    is_only_group: bool,
}

impl ConditionGroup {
    fn is_untouched(&self) -> bool {
        self.any.is_empty() && self.all.is_empty() && self.nots == 0
    }
}

pub(in super::super) fn condition(parser: &mut Parser<'_>) -> Parsed<Node> {
    let mut groups = vec![ConditionGroup::default()];
    loop {
        open(parser, &mut groups)?;
        let node = comparison(parser, &mut groups)?;
        if let Some(whole) = close(parser, &mut groups, node)? {
            return Ok(whole);
        }
    }
}

/// Takes the NOTs and opening parentheses before a comparison.
fn open(parser: &mut Parser<'_>, groups: &mut Vec<ConditionGroup>) -> Parsed<()> {
    loop {
        let innermost = groups.len() - 1;
        if parser.take_keyword("NOT") {
            parser.operator();
            groups[innermost].nots += 1;
        } else if parser.take("(") {
            groups.push(ConditionGroup::default());
        } else {
            return Ok(());
        }
        if parser.dialect != Dialect::Request && depth(groups) > DESIGN_DEPTH_MAX {
            return Err(ExpressionError::new(
                format!("an expression nests at most {DESIGN_DEPTH_MAX} levels"),
                parser.peek().span,
            ));
        }
    }
}

fn depth(groups: &[ConditionGroup]) -> usize {
    groups.len() - 1 + groups.iter().map(|group| group.nots).sum::<usize>()
}

/// Ends what ends after a condition: negations, conjunctions, groups. Gives the whole condition,
/// unless AND or OR promises another one.
fn close(
    parser: &mut Parser<'_>,
    groups: &mut Vec<ConditionGroup>,
    node: Node,
) -> Parsed<Option<Node>> {
    let mut node = node;
    let mut is_group = false;
    loop {
        let is_top = groups.len() == 1;
        let group = groups.last_mut().expect("the top group stays");
        group.is_only_group = is_group && group.is_untouched();
        for _ in 0..std::mem::take(&mut group.nots) {
            node = Node::Not(Box::new(node));
        }
        group.all.push(node);
        if parser.take_keyword("AND") {
            parser.operator();
            return Ok(None);
        }
        let all = single_or(std::mem::take(&mut group.all), Node::All);
        group.any.push(all);
        if parser.take_keyword("OR") {
            parser.operator();
            return Ok(None);
        }
        node = single_or(std::mem::take(&mut group.any), Node::Any);
        if is_top {
            return Ok(Some(node));
        }
        parser.expect(")")?;
        parser.has_redundant_parentheses |= group.is_only_group;
        parser.settle()?;
        groups.pop();
        is_group = true;
    }
}

fn single_or(mut parts: Vec<Node>, many: fn(Vec<Node>) -> Node) -> Node {
    match parts.len() {
        1 => parts.remove(0),
        _ => many(parts),
    }
}

/// A call, or an operand and what it is compared with.
fn comparison(parser: &mut Parser<'_>, groups: &mut Vec<ConditionGroup>) -> Parsed<Node> {
    let left = parser.term()?;
    // The innermost parentheses turn out to hold no condition but an operand.
    let mut closed = 0;
    while groups.len() > 1
        && groups.last().is_some_and(ConditionGroup::is_untouched)
        && parser.take(")")
    {
        groups.pop();
        closed += 1;
    }
    parser.has_redundant_parentheses |= closed > 1;
    if parser.dialect == Dialect::PartiQl
        && let Some(node) = partiql::predicate(parser, &left)?
    {
        return Ok(node);
    }
    if parser.take_keyword("BETWEEN") {
        parser.operator();
        parser.settle()?;
        let low = parser.settled_operand()?;
        parser.expect_keyword("AND")?;
        let high = parser.settled_operand()?;
        operands(parser, [&left, &low, &high]);
        return Ok(Node::Between(left, low, high));
    }
    if parser.take_keyword("IN") {
        parser.operator();
        parser.settle()?;
        parser.expect("(")?;
        let list = parser.list(Parser::settled_operand)?;
        parser.expect(")")?;
        operands(parser, std::iter::once(&left).chain(&list));
        return Ok(Node::In(left, list));
    }
    if let Some(comparator) = take_comparator(parser) {
        parser.operator();
        parser.settle()?;
        let right = parser.settled_operand()?;
        partiql::refuse_arithmetic(parser)?;
        operands(parser, [&left, &right]);
        return Ok(Node::Compare(left, comparator, right));
    }
    match left {
        Term::Call(call) => {
            parser.settle()?;
            foreign(parser, &call);
            if call.function == Function::Size {
                parser.misused(&call);
            }
            operands(parser, &call.arguments);
            Ok(Node::Call(call))
        }
        _ if parser.dialect == Dialect::PartiQl => Err(partiql::no_truth(parser)),
        _ => Err(parser.unexpected("a comparison such as `=` or `<`")),
    }
}

fn take_comparator(parser: &mut Parser<'_>) -> Option<Comparator> {
    // Only PartiQL has this token.
    if parser.take("!=") {
        return Some(Comparator::NotEqual);
    }
    let found = Comparator::SYMBOLS
        .iter()
        .find(|(symbol, _)| parser.take(symbol))?;
    Some(found.1)
}

/// Only `size` gives something that can be an operand.
fn operands<'t>(parser: &mut Parser<'_>, terms: impl IntoIterator<Item = &'t Term>) {
    for term in terms {
        if let Term::Call(call) = term {
            foreign(parser, call);
            if call.function != Function::Size {
                parser.misused(call);
            }
            operands(parser, &call.arguments);
        }
    }
}

fn foreign(parser: &mut Parser<'_>, call: &Call) {
    if call.function.is_for_updates() {
        let fault = ExpressionFault::ForeignFunction {
            name: call.function.name().to_owned(),
            place: "a condition",
        };
        parser.blame(call.span, fault);
    }
}
