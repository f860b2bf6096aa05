//! What plain JSON has no words for: sets, which it spells as lists, and bytes, as base64.

use std::collections::BTreeSet;

use partita_core::{Value, plain};

use super::{AttributeType, SetOf};

impl AttributeType {
    /// A value that was spelled in plain JSON, as this type has it: a list that is to be a set, or
    /// text that is to be bytes, also inside lists and shapes. Every other value stays as it is, and
    /// so does a list with a repeated element.
    pub fn from_plain(&self, value: Value) -> Value {
        match (self, value) {
            (AttributeType::Binary, Value::S(text)) => match plain::bytes_from_text(&text) {
                Some(bytes) => Value::B(bytes),
                None => Value::S(text),
            },
            (AttributeType::Set(of), Value::L(list)) => of.of_list(&list).unwrap_or(Value::L(list)),
            (AttributeType::List { element, .. }, Value::L(list)) if element.is_spelled() => {
                let elements = list.into_iter().map(|value| element.from_plain(value));
                Value::L(elements.collect())
            }
            (AttributeType::Shape(shape), Value::M(mut map)) => {
                for field in shape.fields.iter().filter(|field| field.kind.is_spelled()) {
                    if let Some(value) = map.get_mut(&field.name) {
                        *value = field.kind.from_plain(std::mem::replace(value, Value::Null));
                    }
                }
                Value::M(map)
            }
            (_, value) => value,
        }
    }

    /// Whether plain JSON spells some of its values otherwise. Most lists need not be gone through.
    fn is_spelled(&self) -> bool {
        match self {
            AttributeType::Binary | AttributeType::Set(_) => true,
            AttributeType::List { element, .. } => element.is_spelled(),
            AttributeType::Shape(shape) => shape.fields.iter().any(|field| field.kind.is_spelled()),
            _ => false,
        }
    }
}

impl SetOf {
    /// The set of what a list has; none if something is twice in it, or is not of its kind.
    fn of_list(self, list: &[Value]) -> Option<Value> {
        let bytes = |value: &Value| plain::bytes_from_text(value.as_str()?);
        let text = |value: &Value| value.as_str().map(str::to_owned);
        match self {
            SetOf::Strings => distinct(list, text).map(Value::Ss),
            SetOf::Numbers => distinct(list, |value| value.as_number().cloned()).map(Value::Ns),
            SetOf::Binaries => distinct(list, bytes).map(Value::Bs),
        }
    }
}

/// What a list has, if there is something and nothing is twice in it.
fn distinct<T: Ord>(list: &[Value], read: impl Fn(&Value) -> Option<T>) -> Option<BTreeSet<T>> {
    let set: BTreeSet<T> = list.iter().map(read).collect::<Option<_>>()?;
    (!set.is_empty() && set.len() == list.len()).then_some(set)
}
