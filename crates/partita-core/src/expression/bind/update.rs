//! Updates. DynamoDB goes through the clauses from the last to the first, and twice: for the
//! paths that are written, then for what is written there.

use super::super::messages::ExpressionFault;
use super::super::parser::Parsed;
use super::super::path_tree::PathTree;
use super::super::syntax::{Call, Clause, Function, RawSum, Term};
use super::super::{ExpressionError, SetOperand, SetValue, Update};
use super::Binder;
use crate::{Type, Value};

impl Binder<'_> {
    pub(in super::super) fn update(&mut self, clauses: &[Clause]) -> Parsed<Update> {
        let mut tree = PathTree::default();
        let mut paths = Vec::with_capacity(clauses.len());
        for clause in clauses.iter().rev() {
            let path = self.path(clause.path())?;
            tree.insert(&path)?;
            paths.push(path);
        }
        let mut update = Update::default();
        for (clause, path) in clauses.iter().rev().zip(paths) {
            match clause {
                Clause::Set(_, sum) => update.set.push((path, self.sum(sum)?)),
                Clause::Remove(_) => update.remove.push(path),
                Clause::Add(_, term) => {
                    let value = self.clause_value(term, "ADD", ADDABLE)?;
                    update.add.push((path, value));
                }
                Clause::Delete(_, term) => {
                    let value = self.clause_value(term, "DELETE", &ADDABLE[1..])?;
                    update.delete.push((path, value));
                }
            }
        }
        update.set.reverse();
        update.remove.reverse();
        update.add.reverse();
        update.delete.reverse();
        Ok(update)
    }

    fn clause_value(
        &mut self,
        term: &Term,
        operator: &'static str,
        types: &[Type],
    ) -> Parsed<Value> {
        let (value, span) = self.constant(term)?.expect("the grammar takes values only");
        let kind = value.kind();
        if types.contains(&kind) || !self.checks_operands {
            return Ok(value);
        }
        let fault = ExpressionFault::ClauseType { operator, kind };
        Err(ExpressionError::fault(fault, span))
    }

    fn sum(&mut self, sum: &RawSum) -> Parsed<SetValue> {
        match sum {
            RawSum::Is(term) => self.set_operand(term).map(SetValue::Is),
            RawSum::Plus(left, right) => {
                let (left, right) = self.numbers(left, "+", right)?;
                Ok(SetValue::Plus(left, right))
            }
            RawSum::Minus(left, right) => {
                let (left, right) = self.numbers(left, "-", right)?;
                Ok(SetValue::Minus(left, right))
            }
        }
    }

    fn numbers(
        &mut self,
        left: &Term,
        operator: &'static str,
        right: &Term,
    ) -> Parsed<(SetOperand, SetOperand)> {
        let operands = (self.set_operand(left)?, self.set_operand(right)?);
        self.check_types(
            operator,
            Type::N,
            [(&operands.0, left), (&operands.1, right)],
        )?;
        Ok(operands)
    }

    fn set_operand(&mut self, term: &Term) -> Parsed<SetOperand> {
        match term {
            Term::Path(path) => self.path(path).map(SetOperand::Path),
            Term::Call(call) => self.set_call(call),
            Term::Placeholder(..) | Term::Literal(..) => {
                let (value, _) = self.constant(term)?.expect("these two have a value");
                Ok(SetOperand::Value(value))
            }
        }
    }

    fn set_call(&mut self, call: &Call) -> Parsed<SetOperand> {
        let operands = call.arguments.iter().map(|term| self.set_operand(term));
        let operands: Vec<_> = operands.collect::<Parsed<_>>()?;
        let operator = call.function.name();
        let count = operands.len();
        let Ok([first, second]) = <[SetOperand; 2]>::try_from(operands) else {
            let operator = operator.to_owned();
            let fault = ExpressionFault::OperandCount { operator, count };
            return Err(ExpressionError::fault(fault, call.span));
        };
        if call.function == Function::IfNotExists {
            let SetOperand::Path(path) = first else {
                let fault = ExpressionFault::PathRequired { operator };
                return Err(ExpressionError::fault(fault, call.span));
            };
            if self.checks_operands && second == SetOperand::Path(path.clone()) {
                let fault = ExpressionFault::SameOperands { operator, path };
                return Err(ExpressionError::fault(fault, call.span));
            }
            return Ok(SetOperand::IfNotExists(path, Box::new(second)));
        }
        let terms = &call.arguments;
        self.check_types(
            operator,
            Type::L,
            [(&first, &terms[0]), (&second, &terms[1])],
        )?;
        Ok(SetOperand::ListAppend(Box::new(first), Box::new(second)))
    }

    /// Values of the request must have a type that the operator takes.
    fn check_types(
        &self,
        operator: &'static str,
        wanted: Type,
        operands: [(&SetOperand, &Term); 2],
    ) -> Parsed<()> {
        for (operand, term) in operands {
            if let SetOperand::Value(value) = operand
                && value.kind() != wanted
                && self.checks_operands
            {
                let kind = value.kind();
                let fault = ExpressionFault::OperandType { operator, kind };
                return Err(ExpressionError::fault(fault, term.span()));
            }
        }
        Ok(())
    }
}

/// What ADD takes; DELETE takes the sets only.
const ADDABLE: &[Type] = &[Type::N, Type::Ss, Type::Ns, Type::Bs];
