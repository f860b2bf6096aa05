//! Other paths in the place of those that an expression has.

use partita_core::expression::{Condition, Operand, Path, Step};

use super::{Expr, Formula, Origin};
use crate::template::Part;

/// The name under which a `fill` reads the item as it is stored.
const OLD: &str = "old";

impl Formula {
    /// The same with the item itself in the place of `old`.
    pub(crate) fn over_stored(&self) -> Formula {
        let mut formula = self.clone();
        for case in &mut formula.cases {
            if let Some(when) = &mut case.when {
                in_condition(&mut when.tree);
            }
            in_value(&mut case.is);
        }
        let reads = formula.reads.iter_mut();
        let whens = formula
            .cases
            .iter_mut()
            .filter_map(|case| case.when.as_mut());
        for reading in reads.chain(whens.flat_map(|when| &mut when.reads)) {
            if reading.origin == Origin::Old {
                stored(&mut reading.path);
                reading.origin = Origin::Item;
                reading.attribute = reading.path.to_string();
            }
        }
        formula
    }
}

/// `old.title` as `title`.
fn stored(path: &mut Path) {
    if path.root == *OLD
        && let Some(Step::Field(name)) = path.steps.first().cloned()
    {
        path.root = name;
        path.steps.remove(0);
    }
}

fn in_value(value: &mut Expr) {
    match value {
        Expr::Literal(_) => {}
        Expr::Path(path) => stored(path),
        Expr::Negative(inner) | Expr::Time(inner, _) => in_value(inner),
        Expr::Plus(left, right) | Expr::Minus(left, right) => {
            in_value(left);
            in_value(right);
        }
        Expr::Call(_, inner) | Expr::First(inner) => inner.iter_mut().for_each(in_value),
        Expr::Text(template) => {
            for part in &mut template.parts {
                if let Part::Value(hole) = part {
                    in_value(&mut hole.value);
                }
            }
        }
    }
}

fn in_condition(condition: &mut Condition) {
    match condition {
        Condition::All(all) | Condition::Any(all) => all.iter_mut().for_each(in_condition),
        Condition::Not(inner) => in_condition(inner),
        Condition::Compare(one, _, two)
        | Condition::BeginsWith(one, two)
        | Condition::Contains(one, two) => [one, two].into_iter().for_each(in_operand),
        Condition::Between(one, low, high) => [one, low, high].into_iter().for_each(in_operand),
        Condition::In(one, others) => {
            in_operand(one);
            others.iter_mut().for_each(in_operand);
        }
        Condition::Exists(path) | Condition::NotExists(path) | Condition::HasType(path, _) => {
            stored(path);
        }
    }
}

fn in_operand(operand: &mut Operand) {
    match operand {
        Operand::Path(path) | Operand::Size(path) => stored(path),
        Operand::Value(..) => {}
    }
}
