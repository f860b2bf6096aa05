//! Key conditions: the few forms of a condition that a query can ask of keys.

use super::super::messages::KeyFault;
use super::super::syntax::{Function, Node, Term};
use super::super::{Comparator, ExpressionError, KeyCondition, KeyRange, Span};
use super::Binder;
use crate::Value;

type Keyed<T> = Result<T, ExpressionError>;

/// What one condition asks of one key.
enum KeyDemand {
    Equal(Value),
    Range(KeyRange),
}

/// What is asked of which key.
type AskedKeys = Vec<(String, KeyDemand)>;

/// The attribute of a condition, which operand it is, and the other operands.
struct ConditionParts {
    name: String,
    position: usize,
    values: Vec<Value>,
}

impl Binder<'_> {
    /// Restricts a condition that was bound before, so that every placeholder is known.
    pub(in super::super) fn keys(&mut self, node: &Node) -> Keyed<KeyCondition> {
        let mut asked = Vec::new();
        self.add_keys(node, &mut asked)?;
        let mut keys = KeyCondition {
            equals: Vec::new(),
            range: None,
        };
        for (name, asked) in asked {
            match asked {
                KeyDemand::Equal(value) => keys.equals.push((name, value)),
                // One of two ranges is on a partition key, whichever attributes are the keys.
                KeyDemand::Range(_) if keys.range.is_some() => {
                    return Err(fault(KeyFault::NotSupported));
                }
                KeyDemand::Range(range) => keys.range = Some((name, range)),
            }
        }
        Ok(keys)
    }

    fn add_keys(&mut self, node: &Node, keys: &mut AskedKeys) -> Keyed<()> {
        let refused = |operator| Err(fault(KeyFault::Operator { operator }));
        match node {
            Node::All(parts) => parts.iter().try_for_each(|part| self.add_keys(part, keys)),
            Node::Any(_) => refused("OR"),
            Node::Not(_) => refused("NOT"),
            Node::In(..) => refused("IN"),
            Node::Compare(_, Comparator::NotEqual, _) => refused(Comparator::NotEqual.symbol()),
            Node::Compare(left, comparator, right) => {
                let mut parts = self.parts(&[left, right])?;
                let value = parts.values.remove(0);
                let comparator = match parts.position {
                    0 => *comparator,
                    _ => comparator.mirrored(),
                };
                add(keys, parts.name, asked(comparator, value))
            }
            Node::Between(value, low, high) => {
                attribute_first("BETWEEN", value)?;
                let mut parts = self.parts(&[value, low, high])?;
                let (low, high) = (parts.values.remove(0), parts.values.remove(0));
                let range = KeyRange::Between(low, high);
                add(keys, parts.name, KeyDemand::Range(range))
            }
            Node::Call(call) if call.function == Function::BeginsWith => {
                let operands: Vec<_> = call.arguments.iter().collect();
                attribute_first(call.function.name(), operands[0])?;
                let mut parts = self.parts(&operands)?;
                let range = KeyRange::BeginsWith(parts.values.remove(0));
                add(keys, parts.name, KeyDemand::Range(range))
            }
            Node::Call(call) => refused(call.function.name()),
        }
    }

    /// Takes operands apart, of which exactly one must be an attribute.
    fn parts(&mut self, operands: &[&Term]) -> Keyed<ConditionParts> {
        let mut attribute = None;
        let mut values = Vec::with_capacity(operands.len());
        for (position, term) in operands.iter().enumerate() {
            match term {
                Term::Call(_) => return Err(fault(KeyFault::Nested)),
                Term::Path(_) if attribute.is_some() => {
                    return Err(fault(KeyFault::TwoAttributes));
                }
                Term::Path(path) if !path.steps.is_empty() => {
                    return Err(fault(KeyFault::NestedAttribute));
                }
                Term::Path(path) => attribute = Some((self.path(path)?.root, position)),
                Term::Placeholder(..) | Term::Literal(..) => {
                    values.extend(self.constant(term)?.map(|(value, _)| value));
                }
            }
        }
        let (name, position) = attribute.ok_or_else(|| fault(KeyFault::NoAttribute))?;
        Ok(ConditionParts {
            name: name.into(),
            position,
            values,
        })
    }
}

fn asked(comparator: Comparator, value: Value) -> KeyDemand {
    KeyDemand::Range(match comparator {
        Comparator::Less => KeyRange::Less(value),
        Comparator::LessOrEqual => KeyRange::LessOrEqual(value),
        Comparator::Greater => KeyRange::Greater(value),
        Comparator::GreaterOrEqual => KeyRange::GreaterOrEqual(value),
        Comparator::Equal | Comparator::NotEqual => return KeyDemand::Equal(value),
    })
}

fn attribute_first(operator: &'static str, term: &Term) -> Keyed<()> {
    match term {
        Term::Placeholder(..) | Term::Literal(..) => {
            Err(fault(KeyFault::AttributeFirst { operator }))
        }
        Term::Path(_) | Term::Call(_) => Ok(()),
    }
}

fn add(keys: &mut AskedKeys, name: String, asked: KeyDemand) -> Keyed<()> {
    if keys.iter().any(|(known, _)| *known == name) {
        return Err(fault(KeyFault::RepeatedKey));
    }
    keys.push((name, asked));
    Ok(())
}

fn fault(fault: KeyFault) -> ExpressionError {
    ExpressionError::new(fault.to_string(), Span::default())
}
