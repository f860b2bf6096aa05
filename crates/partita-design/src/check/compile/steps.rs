//! The steps of a state against what actions require and set.

use partita_core::expression::{Comparator, Condition, Operand, Span};

use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::Action;
use crate::types::AttributeType;

/// Reports an action that requires one state and sets another that no step leads to.
pub(crate) fn check(symbols: &Symbols, action: &Action, span: Span) {
    let Some(require) = &action.require else {
        return;
    };
    for (name, value) in &action.changes.set {
        let Some(to) = value.literal().and_then(|value| value.as_str()) else {
            continue;
        };
        for record in action.on.records() {
            let declared = symbols[*record].find(name);
            let Some(AttributeType::State(states)) = declared.and_then(|one| one.kind.as_ref())
            else {
                continue;
            };
            let required = required(&require.tree, name);
            let from = required.iter().find(|from| !states.allows(from, to));
            if let (Some(from), Some(declared)) = (from, declared) {
                let message = format!("no step leads from `{from}`, which is required, to `{to}`");
                symbols
                    .report(Code::NoSuchStep, span, message)
                    .help(format!(
                        "write `{from} -> {to}` among the steps, or require another state"
                    ))
                    .related(declared.span, "the steps");
                return;
            }
        }
    }
}

/// The values of an attribute that a condition leaves, where it names them.
fn required<'c>(condition: &'c Condition, name: &str) -> Vec<&'c str> {
    let is_it =
        |operand: &Operand| matches!(operand, Operand::Path(path) if path.to_string() == name);
    let value = |operand: &'c Operand| match operand {
        Operand::Value(value, _) => value.as_str(),
        _ => None,
    };
    match condition {
        Condition::All(parts) => {
            let mut found = parts.iter().map(|part| required(part, name));
            found.find(|values| !values.is_empty()).unwrap_or_default()
        }
        Condition::Any(parts) => {
            let found: Vec<_> = parts.iter().map(|part| required(part, name)).collect();
            if found.iter().any(Vec::is_empty) {
                Vec::new()
            } else {
                found.into_iter().flatten().collect()
            }
        }
        Condition::Compare(left, Comparator::Equal, right) if is_it(left) => {
            value(right).into_iter().collect()
        }
        Condition::In(left, list) if is_it(left) => list.iter().filter_map(value).collect(),
        _ => Vec::new(),
    }
}
