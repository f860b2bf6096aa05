//! Values as text, as a design writes them.

use std::fmt;

use partita_core::Value;

use super::Expr;

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Literal(value) => literal(value, f),
            Expr::Path(path) => write!(f, "{path}"),
            Expr::Negative(inner) => write!(f, "-{inner}"),
            Expr::Plus(left, right) => write!(f, "{left} + {right}"),
            Expr::Minus(left, right) => write!(f, "{left} - {right}"),
            Expr::Call(function, arguments) => {
                write!(f, "{}(", function.word())?;
                joined(arguments, ", ", f)?;
                f.write_str(")")
            }
            Expr::First(choices) => joined(choices, " | ", f),
            Expr::Time(inner, _) => write!(f, "{inner}"),
            Expr::Text(template) => write!(f, "\"{template}\""),
        }
    }
}

fn joined(list: &[Expr], between: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, one) in list.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        write!(f, "{one}")?;
    }
    Ok(())
}

fn literal(value: &Value, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value {
        Value::S(text) => write!(f, "'{}'", text.replace('\'', "''")),
        Value::N(number) => write!(f, "{number}"),
        Value::Bool(truth) => write!(f, "{truth}"),
        Value::L(list) => {
            f.write_str("[")?;
            for (index, one) in list.iter().enumerate() {
                if index > 0 {
                    f.write_str(", ")?;
                }
                literal(one, f)?;
            }
            f.write_str("]")
        }
        other => write!(f, "{other:?}"),
    }
}
