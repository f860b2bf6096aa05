//! Conditions, with the checks that DynamoDB makes of each operator before it reads an item.

use super::super::check::check_between;
use super::super::messages::ExpressionFault;
use super::super::parser::Parsed;
use super::super::syntax::{Call, Function, Node, Term};
use super::super::{Comparator, Condition, ExpressionError, Operand, Path, Span, Step};
use super::Binder;
use crate::limits::IN_OPERANDS_MAX;
use crate::{Number, Type, Value};

impl Binder<'_> {
    /// Binds a condition. The tree is at most as deep as an expression has operators, and this
    /// function is kept small, so that the stack holds it that often.
    pub(in super::super) fn condition(&mut self, node: &Node) -> Parsed<Condition> {
        match node {
            Node::All(parts) => self.conditions(parts).map(Condition::All),
            Node::Any(parts) => self.conditions(parts).map(Condition::Any),
            Node::Not(inner) => self.negation(inner),
            Node::Compare(..) | Node::Between(..) | Node::In(..) | Node::Call(_) => {
                self.comparison(node)
            }
        }
    }

    fn negation(&mut self, inner: &Node) -> Parsed<Condition> {
        Ok(Condition::Not(Box::new(self.condition(inner)?)))
    }

    fn conditions(&mut self, parts: &[Node]) -> Parsed<Vec<Condition>> {
        let mut conditions = Vec::with_capacity(parts.len());
        for part in parts {
            conditions.push(self.condition(part)?);
        }
        Ok(conditions)
    }

    /// A condition without others inside.
    fn comparison(&mut self, node: &Node) -> Parsed<Condition> {
        let condition = match node {
            Node::All(_) | Node::Any(_) | Node::Not(_) => return self.condition(node),
            Node::Compare(left, comparator, right) => {
                Condition::Compare(self.operand(left)?, *comparator, self.operand(right)?)
            }
            Node::Between(value, low, high) => Condition::Between(
                self.operand(value)?,
                self.operand(low)?,
                self.operand(high)?,
            ),
            Node::In(value, list) => {
                let value = self.operand(value)?;
                let list = list.iter().map(|term| self.operand(term));
                Condition::In(value, list.collect::<Parsed<_>>()?)
            }
            Node::Call(call) => self.call(call)?,
        };
        if self.checks_operands {
            check(node, &condition)?;
        }
        if let Condition::In(value, list) = &condition
            && list.len() > IN_OPERANDS_MAX
        {
            let count = list.len();
            let fault = ExpressionFault::TooManyInOperands { count };
            return Err(ExpressionError::fault(fault, span_of(value)));
        }
        Ok(condition)
    }

    fn operand(&mut self, term: &Term) -> Parsed<Operand> {
        match term {
            Term::Path(path) => self.path(path).map(Operand::Path),
            Term::Call(call) => self.size(call),
            Term::Placeholder(..) | Term::Literal(..) => {
                let (value, span) = self.constant(term)?.expect("these two have a value");
                Ok(Operand::Value(value, span))
            }
        }
    }

    /// `size(…)`. Of a value it is known already, so only the size of a path stays a size.
    fn size(&mut self, call: &Call) -> Parsed<Operand> {
        let mut operands = self.operands(call)?;
        let operator = call.function.name();
        let wrong = |kind| {
            let fault = ExpressionFault::OperandType { operator, kind };
            Err(ExpressionError::fault(fault, call.span))
        };
        match operands.swap_remove(0) {
            Operand::Path(path) => Ok(Operand::Size(path)),
            Operand::Size(_) => wrong(Type::N),
            Operand::Value(value, span) => match value.size() {
                Some(size) => Ok(Operand::Value(Value::N(Number::from(size as u64)), span)),
                None => wrong(value.kind()),
            },
        }
    }

    /// The operands of a call, as many as its function takes.
    fn operands(&mut self, call: &Call) -> Parsed<Vec<Operand>> {
        let operands = call.arguments.iter().map(|term| self.operand(term));
        let operands: Vec<_> = operands.collect::<Parsed<_>>()?;
        if operands.len() != call.function.operands() {
            let fault = ExpressionFault::OperandCount {
                operator: call.function.name().to_owned(),
                count: operands.len(),
            };
            return Err(ExpressionError::fault(fault, call.span));
        }
        Ok(operands)
    }

    fn call(&mut self, call: &Call) -> Parsed<Condition> {
        let mut operands = self.operands(call)?.into_iter();
        let mut operand = || operands.next().expect("they were counted");
        match call.function {
            Function::AttributeExists => whole_path(operand(), call).map(Condition::Exists),
            Function::AttributeNotExists => whole_path(operand(), call).map(Condition::NotExists),
            Function::AttributeType => has_type(operand(), operand(), call),
            Function::BeginsWith => Ok(Condition::BeginsWith(operand(), operand())),
            Function::Contains => Ok(Condition::Contains(operand(), operand())),
            Function::Changed => whole_path(operand(), call).map(changed),
            Function::Size | Function::IfNotExists | Function::ListAppend => {
                unreachable!("the parser refuses these as conditions")
            }
        }
    }
}

fn check(node: &Node, condition: &Condition) -> Parsed<()> {
    match (node, condition) {
        // The size of a value is a value in our tree, but DynamoDB orders only what was sent.
        (
            Node::Between(_, Term::Call(_), _) | Node::Between(_, _, Term::Call(_)),
            Condition::Between(value, low, high),
        ) => check_between(value, low, high),
        _ => condition.check(),
    }
}

fn whole_path(operand: Operand, call: &Call) -> Parsed<Path> {
    let Operand::Path(path) = operand else {
        let operator = call.function.name();
        let fault = ExpressionFault::PathRequired { operator };
        return Err(ExpressionError::fault(fault, call.span));
    };
    Ok(path)
}

/// `changed(a)` is short for `a <> old.a`, but not while both are missing: DynamoDB takes two
/// missing values as different.
fn changed(now: Path) -> Condition {
    let mut before = Path {
        root: "old".into(),
        steps: vec![Step::Field(now.root.clone())],
        span: now.span,
    };
    before.steps.extend(now.steps.iter().cloned());
    let differ = Condition::Compare(
        Operand::Path(now.clone()),
        Comparator::NotEqual,
        Operand::Path(before.clone()),
    );
    let exist = Condition::Any(vec![Condition::Exists(now), Condition::Exists(before)]);
    Condition::All(vec![differ, exist])
}

fn has_type(subject: Operand, letters: Operand, call: &Call) -> Parsed<Condition> {
    let operator = call.function.name();
    let refused = |fault| Err(ExpressionError::fault(fault, span_of(&letters)));
    let kind = match &letters {
        Operand::Path(path) if subject == letters => {
            let path = path.clone();
            return refused(ExpressionFault::SameOperands { operator, path });
        }
        Operand::Path(_) => return refused(ExpressionFault::OperandTypeOpen { operator }),
        Operand::Value(Value::S(letters), _) => match Type::from_letters(letters) {
            Some(kind) => kind,
            None => {
                let name = letters.clone();
                return refused(ExpressionFault::UnknownType { name });
            }
        },
        Operand::Value(value, _) => {
            let kind = value.kind();
            return refused(ExpressionFault::OperandType { operator, kind });
        }
        Operand::Size(_) => {
            let kind = Type::N;
            return refused(ExpressionFault::OperandType { operator, kind });
        }
    };
    Ok(match subject {
        Operand::Path(path) => Condition::HasType(path, kind),
        Operand::Value(value, _) => constant(value.kind() == kind),
        // A size is a number wherever there is one, and that is where it compares with zero.
        Operand::Size(_) if kind == Type::N => {
            Condition::Compare(subject, Comparator::GreaterOrEqual, Operand::value(0))
        }
        Operand::Size(_) => constant(false),
    })
}

/// All of nothing is true, any of nothing is false.
fn constant(truth: bool) -> Condition {
    if truth {
        Condition::All(Vec::new())
    } else {
        Condition::Any(Vec::new())
    }
}

fn span_of(operand: &Operand) -> Span {
    match operand {
        Operand::Path(path) | Operand::Size(path) => path.span,
        Operand::Value(_, span) => *span,
    }
}
