//! How large items are, by the types of their attributes.
//!
//! Names and keys are known to the byte. A text counts as half of what it may have, and as 100
//! bytes at most; one without a bound counts as 24.

use crate::Design;
use crate::design::{KeyValue, Record};
use crate::template::{Part, Template};
use crate::types::AttributeType;

const TEXT_BYTES: usize = 24;
const TEXT_BYTES_MAX: usize = 100;
const NUMBER_BYTES: usize = 5;
/// An Argon2id hash in its usual text form.
const PASSWORD_BYTES: usize = 97;
/// Elements of a list that has no bound, or a large one.
const ELEMENTS: usize = 3;

/// The bytes of an item of a record.
pub fn of(design: &Design, record: &Record) -> usize {
    let table = &design[record.table];
    let stored = record.attributes.iter();
    let stored = stored.filter(|one| !one.key_only && !one.is_virtual);
    let attributes: usize = stored.map(|one| one.name.len() + value(&one.kind)).sum();
    let own = table.partition.len()
        + table.sort.len()
        + key(record, &record.key.partition)
        + key(record, &record.key.sort);
    let marked = table.discriminator.as_ref().map_or(0, |name| {
        name.len() + record.discriminator.as_ref().map_or(0, String::len)
    });
    let in_indexes: usize = record
        .indexes
        .iter()
        .map(|keys| {
            let index = &table.indexes[keys.index.index()];
            let values = std::iter::once(&keys.partition).chain(&keys.sort);
            let bytes = index.keys().zip(values);
            bytes
                .map(|(name, value)| match value {
                    // It is an attribute, which is counted already.
                    KeyValue::Native(_) => 0,
                    KeyValue::Cases(cases) => {
                        let longest = cases.iter().map(|case| key(record, &case.is)).max();
                        name.name.len() + longest.unwrap_or(0)
                    }
                })
                .sum::<usize>()
        })
        .sum();
    attributes + own + marked + in_indexes
}

fn key(record: &Record, template: &Template) -> usize {
    let parts = template.parts.iter().map(|part| match part {
        Part::Text(text) => text.len(),
        Part::Value(hole) => {
            let name = hole.name().unwrap_or_default();
            let attribute = record.attribute(&name);
            attribute.map_or(TEXT_BYTES, |one| value(&one.kind))
        }
    });
    parts.sum()
}

fn value(kind: &AttributeType) -> usize {
    match kind {
        AttributeType::String(text) => match text.length.max {
            Some(most) => (most / 2).clamp(text.length.min.min(TEXT_BYTES_MAX), TEXT_BYTES_MAX),
            None => TEXT_BYTES.max(text.length.min.min(TEXT_BYTES_MAX)),
        },
        AttributeType::Enum(words) => longest(words),
        AttributeType::State(states) => longest(&states.names),
        AttributeType::Ulid => 26,
        AttributeType::Uuid | AttributeType::Id => 36,
        AttributeType::Time(_) => 24,
        AttributeType::Bool => 1,
        AttributeType::Password => PASSWORD_BYTES,
        AttributeType::Expiry
        | AttributeType::Number(_)
        | AttributeType::Int(_)
        | AttributeType::Counter
        | AttributeType::Version => NUMBER_BYTES,
        AttributeType::List { element, count } => {
            let elements = count
                .max
                .map_or(ELEMENTS, |most| most.div_ceil(2).min(ELEMENTS));
            3 + elements * (1 + value(element))
        }
        AttributeType::Shape(shape) => {
            let fields = shape.fields.iter();
            3 + fields
                .map(|one| one.name.len() + 1 + value(&one.kind))
                .sum::<usize>()
        }
        // Nothing is known of the size of the rest.
        _ => 3 * TEXT_BYTES,
    }
}

fn longest(words: &[String]) -> usize {
    words.iter().map(String::len).max().unwrap_or(0)
}
