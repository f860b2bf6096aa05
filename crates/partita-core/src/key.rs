//! Bytes that sort as their key values do.
//!
//! A storage layer compares bytes and nothing else, so a key value is written in a form whose
//! byte order is DynamoDB's order: strings and binaries by their bytes, numbers by magnitude.
//! Every encoding ends by itself, so that a partition key and a sort key stand one behind the
//! other and still sort first by the one and then by the other.

use crate::{Number, Type, Value};

/// Appends a key value's bytes to `out`; false when the value's type cannot be a key.
#[must_use]
pub fn write_key(value: &Value, out: &mut Vec<u8>) -> bool {
    match value {
        Value::S(text) => write_bytes(text.as_bytes(), out),
        Value::B(bytes) => write_bytes(bytes, out),
        Value::N(number) => number.write_ordered(out),
        _ => return false,
    }
    true
}

/// Appends the bytes that every string or binary key beginning with `prefix` begins with;
/// false when the type has no prefixes.
#[must_use]
pub fn write_prefix(prefix: &Value, out: &mut Vec<u8>) -> bool {
    match prefix {
        Value::S(text) => write_escaped(text.as_bytes(), out),
        Value::B(bytes) => write_escaped(bytes, out),
        _ => return false,
    }
    true
}

/// Reads one key value of the given type from the front of `bytes`, and says how many it took.
pub fn read_key(kind: Type, bytes: &[u8]) -> Option<(Value, usize)> {
    match kind {
        Type::N => Number::read_ordered(bytes).map(|(number, used)| (Value::N(number), used)),
        Type::S => {
            let (content, used) = read_bytes(bytes)?;
            Some((Value::S(String::from_utf8(content).ok()?), used))
        }
        Type::B => read_bytes(bytes).map(|(content, used)| (Value::B(content), used)),
        _ => None,
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
            ZERO if *bytes.get(at + 1)? == ESCAPED => {
                content.push(ZERO);
                at += 2;
            }
            ZERO => return Some((content, at + 2)),
            byte => {
                content.push(byte);
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests;
