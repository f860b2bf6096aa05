//! Attribute definitions and key schemas.

use std::collections::HashSet;

use partita_core::key::KeyType;
use partita_store::index::IndexSchema;
use partita_store::table::{KeyAttribute, KeySchema, TableSchema};
use serde::Deserialize;

use crate::constraints::{Choice, Constraints};
use crate::messages;
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::ops) struct Definition {
    attribute_name: Option<String>,
    attribute_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::ops) struct KeyElement {
    attribute_name: Option<String>,
    key_type: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::ops) enum KeyRole {
    Hash,
    Range,
}

impl Choice for KeyRole {
    const NAMES: &'static [(&'static str, Self)] =
        &[("HASH", KeyRole::Hash), ("RANGE", KeyRole::Range)];
}

/// A key type, as a choice of this crate.
#[derive(Clone, Copy)]
struct KeyChoice(KeyType);

impl Choice for KeyChoice {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("B", KeyChoice(KeyType::B)),
        ("N", KeyChoice(KeyType::N)),
        ("S", KeyChoice(KeyType::S)),
    ];
}

/// The types of attributes, by name.
pub(in crate::ops) type Definitions<'a> = [(&'a str, KeyType)];
/// A key schema whose parts are there.
pub(in crate::ops) type Elements<'a> = [(&'a str, KeyRole)];

/// The defined attributes; `None` if one of them is not whole.
pub(in crate::ops) fn definitions<'a>(
    constraints: &mut Constraints,
    list: &'a Option<Vec<Definition>>,
) -> Option<Vec<(&'a str, KeyType)>> {
    constraints.required("attributeDefinitions", list);
    let mut found = Vec::new();
    for (index, definition) in list.as_ref()?.iter().enumerate() {
        let at = |name| format!("attributeDefinitions.{}.member.{name}", index + 1);
        constraints.required(&at("attributeName"), &definition.attribute_name);
        constraints.required(&at("attributeType"), &definition.attribute_type);
        let kind = constraints.choice(&at("attributeType"), &definition.attribute_type);
        let name = definition.attribute_name.as_deref();
        found.push(name.zip(kind.map(|KeyChoice(kind)| kind)));
    }
    found.into_iter().collect()
}

/// The elements of a key schema; `None` if one of them is not whole.
pub(in crate::ops) fn elements<'a>(
    constraints: &mut Constraints,
    at: &str,
    list: &'a Option<Vec<KeyElement>>,
    length_max: usize,
) -> Option<Vec<(&'a str, KeyRole)>> {
    constraints.required(at, list);
    let list = list.as_ref()?;
    constraints.length(at, list.len(), 1..=length_max, || shown(list));
    let mut found = Vec::new();
    for (index, element) in list.iter().enumerate() {
        let at = |name| format!("{at}.{}.member.{name}", index + 1);
        constraints.required(&at("attributeName"), &element.attribute_name);
        constraints.required(&at("keyType"), &element.key_type);
        let role = constraints.choice(&at("keyType"), &element.key_type);
        found.push(element.attribute_name.as_deref().zip(role));
    }
    found.into_iter().collect()
}

/// A key schema as the service's Java prints it.
fn shown(list: &[KeyElement]) -> String {
    let element = |element: &KeyElement| {
        let name = element.attribute_name.as_deref().unwrap_or("null");
        let role = element.key_type.as_deref().unwrap_or("null");
        format!("KeySchemaElement(attributeName={name}, keyType={role})")
    };
    let elements: Vec<_> = list.iter().map(element).collect();
    format!("[{}]", elements.join(", "))
}

/// Refuses an attribute that is defined twice.
pub(in crate::ops) fn check_once(definitions: &Definitions<'_>) -> Result<(), Refusal> {
    let mut seen = HashSet::new();
    match definitions.iter().find(|(name, _)| !seen.insert(*name)) {
        Some((name, _)) => Err(Refusal::validation(messages::defined_twice(name))),
        None => Ok(()),
    }
}

/// The key of a table.
pub(in crate::ops) fn table_key(
    definitions: &Definitions<'_>,
    keys: &Elements<'_>,
) -> Result<KeySchema, Refusal> {
    if keys.len() > definitions.len() {
        return Err(Refusal::validation(messages::KEY_WITHOUT_DEFINITION));
    }
    check_defined(definitions, keys)?;
    let (hash, range) = match keys {
        [(hash, KeyRole::Hash)] => (*hash, None),
        [(hash, _), (range, _)] if hash == range => {
            return Err(Refusal::validation(messages::SAME_KEYS));
        }
        [(hash, KeyRole::Hash), (range, KeyRole::Range)] => (*hash, Some(*range)),
        [(_, KeyRole::Hash), _] => {
            return Err(Refusal::validation(messages::SECOND_KEY_NOT_RANGE));
        }
        _ => return Err(Refusal::validation(messages::FIRST_KEY_NOT_HASH)),
    };
    Ok(KeySchema {
        partition: attribute(definitions, hash)?,
        sort: range
            .map(|range| attribute(definitions, range))
            .transpose()?,
    })
}

/// Both sides of an index's key, of several attributes each perhaps.
pub(in crate::ops) fn index_key(
    definitions: &Definitions<'_>,
    keys: &Elements<'_>,
) -> Result<(Vec<KeyAttribute>, Vec<KeyAttribute>), Refusal> {
    check_defined(definitions, keys)?;
    let is_hash = |(_, role): &(&str, KeyRole)| *role == KeyRole::Hash;
    let hashes = keys.iter().take_while(|key| is_hash(key)).count();
    let (partition, sort) = keys.split_at(hashes);
    if partition.is_empty() {
        return Err(Refusal::validation(messages::FIRST_KEY_NOT_HASH));
    }
    if sort.iter().any(is_hash) {
        return Err(Refusal::validation(messages::HASH_AFTER_RANGE));
    }
    if let ([(hash, _)], [(range, _)]) = (partition, sort)
        && hash == range
    {
        return Err(Refusal::validation(messages::SAME_KEYS));
    }
    let attributes = |keys: &Elements<'_>| {
        let attributes = keys.iter().map(|(name, _)| attribute(definitions, name));
        attributes.collect::<Result<Vec<_>, _>>()
    };
    Ok((attributes(partition)?, attributes(sort)?))
}

/// Refuses a definition that no key uses. Of a table without indexes the service only counts.
pub(in crate::ops) fn check_used(
    definitions: &Definitions<'_>,
    schema: &TableSchema,
) -> Result<(), Refusal> {
    let of_indexes = schema.indexes.iter().flat_map(IndexSchema::attributes);
    let mut used: Vec<&str> = Vec::new();
    for KeyAttribute { name, .. } in schema.key.attributes().chain(of_indexes) {
        if !used.contains(&name.as_str()) {
            used.push(name);
        }
    }
    if definitions.len() == used.len() {
        return Ok(());
    }
    Err(Refusal::validation(if schema.indexes.is_empty() {
        messages::UNUSED_DEFINITIONS.to_owned()
    } else {
        messages::unused_definitions(&names(definitions), &used)
    }))
}

fn check_defined(definitions: &Definitions<'_>, keys: &Elements<'_>) -> Result<(), Refusal> {
    let (keys, defined) = (names(keys), names(definitions));
    if keys.iter().all(|name| defined.contains(name)) {
        Ok(())
    } else {
        Err(Refusal::validation(messages::keys_not_defined(
            &keys, &defined,
        )))
    }
}

fn names<'a, T>(pairs: &[(&'a str, T)]) -> Vec<&'a str> {
    pairs.iter().map(|(name, _)| *name).collect()
}

fn attribute(definitions: &Definitions<'_>, name: &str) -> Result<KeyAttribute, Refusal> {
    let definition = definitions.iter().find(|(defined, _)| *defined == name);
    let attribute = definition.map(|(name, kind)| KeyAttribute {
        name: (*name).to_owned(),
        kind: *kind,
    });
    attribute.ok_or_else(|| Refusal::validation(messages::KEY_WITHOUT_DEFINITION))
}
