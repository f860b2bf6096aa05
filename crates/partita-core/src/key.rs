//! Key values, and bytes that sort as they do.
//!
//! A storage layer compares bytes and nothing else, so a key value is written in a form whose
//! byte order is DynamoDB's order: strings and binaries by their bytes, numbers by magnitude.
//! Every encoding marks its own end, so that a sort key can be appended to a partition key, and
//! both together sort first by the one and then by the other.

use crate::{Number, Type, Value};

/// The types that a key may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyType {
    /// String.
    S,
    /// Number.
    N,
    /// Binary.
    B,
}

impl From<KeyType> for Type {
    fn from(kind: KeyType) -> Type {
        match kind {
            KeyType::S => Type::S,
            KeyType::N => Type::N,
            KeyType::B => Type::B,
        }
    }
}

/// The value of a partition or sort key. Its order is the order of a query.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyValue {
    /// A string.
    S(String),
    /// A number.
    N(Number),
    /// Bytes.
    B(Vec<u8>),
}

impl KeyValue {
    /// The key value of an attribute's value, if its type can be a key.
    pub fn from_value(value: &Value) -> Option<KeyValue> {
        match value {
            Value::S(text) => Some(KeyValue::S(text.clone())),
            Value::N(number) => Some(KeyValue::N(*number)),
            Value::B(bytes) => Some(KeyValue::B(bytes.clone())),
            _ => None,
        }
    }

    /// The type of this value.
    pub fn kind(&self) -> KeyType {
        match self {
            KeyValue::S(_) => KeyType::S,
            KeyValue::N(_) => KeyType::N,
            KeyValue::B(_) => KeyType::B,
        }
    }

    /// The bytes that DynamoDB counts against a key's limit.
    pub fn size_bytes(&self) -> usize {
        match self {
            KeyValue::S(text) => text.len(),
            KeyValue::N(number) => number.size_bytes(),
            KeyValue::B(bytes) => bytes.len(),
        }
    }

    /// Appends this value's bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            KeyValue::S(text) => write_bytes(text.as_bytes(), out),
            KeyValue::B(bytes) => write_bytes(bytes, out),
            KeyValue::N(number) => number.write_ordered(out),
        }
    }

    /// Appends the bytes that every key beginning with this value begins with.
    ///
    /// Numbers have no prefixes; the front doors refuse `begins_with` on them, and here a number
    /// begins with itself only.
    pub fn write_prefix(&self, out: &mut Vec<u8>) {
        match self {
            KeyValue::S(text) => write_escaped(text.as_bytes(), out),
            KeyValue::B(bytes) => write_escaped(bytes, out),
            KeyValue::N(number) => number.write_ordered(out),
        }
    }

    /// How many bytes a string or binary takes that was written at the front of `bytes`.
    pub fn text_end(bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            at += bytes[at..].iter().position(|&byte| byte == ZERO)? + 2;
            match *bytes.get(at - 1)? {
                ESCAPED => {}
                ZERO => return Some(at),
                _ => return None,
            }
        }
    }

    /// Reads one value of the given type from the front of `bytes`, and says how many it took.
    pub fn read(kind: KeyType, bytes: &[u8]) -> Option<(KeyValue, usize)> {
        match kind {
            KeyType::N => {
                Number::read_ordered(bytes).map(|(number, used)| (KeyValue::N(number), used))
            }
            KeyType::S => {
                let (content, used) = read_bytes(bytes)?;
                Some((KeyValue::S(String::from_utf8(content).ok()?), used))
            }
            KeyType::B => read_bytes(bytes).map(|(content, used)| (KeyValue::B(content), used)),
        }
    }
}

impl From<KeyValue> for Value {
    fn from(key: KeyValue) -> Value {
        match key {
            KeyValue::S(text) => Value::S(text),
            KeyValue::N(number) => Value::N(number),
            KeyValue::B(bytes) => Value::B(bytes),
        }
    }
}

// A zero byte inside is written as 00 FF, and 00 00 ends the value. A value that is a prefix of
// another so sorts before it, whatever follows either of them.
const ZERO: u8 = 0x00;
const ESCAPED: u8 = 0xFF;

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    write_escaped(bytes, out);
    out.extend([ZERO, ZERO]);
}

fn write_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        out.push(byte);
        if byte == ZERO {
            out.push(ESCAPED);
        }
    }
}

fn read_bytes(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut content = Vec::new();
    let mut at = 0;
    loop {
        match *bytes.get(at)? {
            ZERO => match *bytes.get(at + 1)? {
                ESCAPED => {
                    content.push(ZERO);
                    at += 2;
                }
                ZERO => return Some((content, at + 2)),
                _ => return None,
            },
            byte => {
                content.push(byte);
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests;
