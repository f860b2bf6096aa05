//! CreateTable.

use bytes::Bytes;
use partita_core::key::KeyType;
use partita_store::request::{CreateTable, TableDescription};
use partita_store::table::{KeyAttribute, KeySchema};
use serde::{Deserialize, Serialize};

use super::Context;
use super::table::Described;
use crate::constraints::{Choice, Constraints};
use crate::json;
use crate::messages;
use crate::parameters::{self, Unread};
use crate::refusal::Refusal;

/// SSESpecification, TableClass, OnDemandThroughput and WarmThroughput are not here: they say
/// how Amazon runs a table, and mean nothing where one machine does.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    attribute_definitions: Option<Vec<Definition>>,
    table_name: Option<String>,
    key_schema: Option<Vec<KeyElement>>,
    billing_mode: Option<String>,
    provisioned_throughput: Option<Throughput>,
    deletion_protection_enabled: Option<bool>,
    local_secondary_indexes: Unread,
    global_secondary_indexes: Unread,
    stream_specification: Unread,
    tags: Unread,
    resource_policy: Unread,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Definition {
    attribute_name: Option<String>,
    attribute_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct KeyElement {
    attribute_name: Option<String>,
    key_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Throughput {
    read_capacity_units: Option<i64>,
    write_capacity_units: Option<i64>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    table_description: Described,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyRole {
    Hash,
    Range,
}

impl Choice for KeyRole {
    const NAMES: &'static [(&'static str, Self)] =
        &[("HASH", KeyRole::Hash), ("RANGE", KeyRole::Range)];
}

/// A key type, as a choice of this crate.
#[derive(Clone, Copy)]
struct Kind(KeyType);

impl Choice for Kind {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("B", Kind(KeyType::B)),
        ("N", Kind(KeyType::N)),
        ("S", Kind(KeyType::S)),
    ];
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BillingMode {
    Provisioned,
    PayPerRequest,
}

impl Choice for BillingMode {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("PROVISIONED", BillingMode::Provisioned),
        ("PAY_PER_REQUEST", BillingMode::PayPerRequest),
    ];
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let request = decode(body)?;
    let description = context.store.create_table(request).await?;
    Ok(encode(description))
}

fn encode(description: TableDescription) -> Bytes {
    json::write(&Output {
        table_description: description.into(),
    })
}

fn decode(body: &[u8]) -> Result<CreateTable, Refusal> {
    let input: Input = json::read(body)?;
    let Some(name) = &input.table_name else {
        return Err(Refusal::validation(messages::NO_TABLE_NAME));
    };
    let table = parameters::new_table("tableName", name)?;
    let mut constraints = Constraints::default();
    let definitions = definitions(&mut constraints, &input.attribute_definitions);
    let billing = constraints.choice("billingMode", &input.billing_mode);
    check_throughput(&mut constraints, input.provisioned_throughput.as_ref());
    let keys = key_elements(&mut constraints, &input.key_schema);
    let (definitions, keys) = constraints.finish((definitions, keys))?;
    check_billing(billing, input.provisioned_throughput.is_some())?;
    parameters::refuse(&[
        ("LocalSecondaryIndexes", &input.local_secondary_indexes),
        ("GlobalSecondaryIndexes", &input.global_secondary_indexes),
        ("StreamSpecification", &input.stream_specification),
        ("Tags", &input.tags),
        ("ResourcePolicy", &input.resource_policy),
    ])?;
    if input.deletion_protection_enabled == Some(true) {
        let message = messages::unsupported("DeletionProtectionEnabled");
        return Err(Refusal::validation(message));
    }
    let schema = schema(&definitions, &keys)?;
    Ok(CreateTable { table, schema })
}

/// The defined attributes; `None` if one of them is not whole.
fn definitions<'a>(
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
        found.push(name.zip(kind.map(|Kind(kind)| kind)));
    }
    found.into_iter().collect()
}

fn key_elements<'a>(
    constraints: &mut Constraints,
    list: &'a Option<Vec<KeyElement>>,
) -> Option<Vec<(&'a str, KeyRole)>> {
    constraints.required("keySchema", list);
    let list = list.as_ref()?;
    constraints.length("keySchema", list.len(), 1..=2, || shown(list));
    let mut found = Vec::new();
    for (index, element) in list.iter().enumerate() {
        let at = |name| format!("keySchema.{}.member.{name}", index + 1);
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

fn check_throughput(constraints: &mut Constraints, throughput: Option<&Throughput>) {
    let Some(throughput) = throughput else { return };
    let units = [
        ("writeCapacityUnits", throughput.write_capacity_units),
        ("readCapacityUnits", throughput.read_capacity_units),
    ];
    for (name, units) in units {
        let at = format!("provisionedThroughput.{name}");
        constraints.required(&at, &units);
        constraints.at_least(&at, units, 1);
    }
}

/// Nothing is provisioned here, but a request that Amazon would refuse is refused.
fn check_billing(billing: Option<BillingMode>, has_throughput: bool) -> Result<(), Refusal> {
    match (billing, has_throughput) {
        (Some(BillingMode::PayPerRequest), true) => {
            Err(Refusal::validation(messages::NEITHER_UNIT))
        }
        (None | Some(BillingMode::Provisioned), false) => {
            Err(Refusal::validation(messages::BOTH_UNITS))
        }
        _ => Ok(()),
    }
}

fn schema(definitions: &[(&str, KeyType)], keys: &[(&str, KeyRole)]) -> Result<KeySchema, Refusal> {
    let names: Vec<_> = keys.iter().map(|(name, _)| *name).collect();
    let defined: Vec<_> = definitions.iter().map(|(name, _)| *name).collect();
    if names.len() > defined.len() {
        return Err(Refusal::validation(messages::KEY_WITHOUT_DEFINITION));
    }
    if names.iter().any(|name| !defined.contains(name)) {
        let message = messages::keys_not_defined(&names, &defined);
        return Err(Refusal::validation(message));
    }
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
    if defined.len() != names.len() {
        return Err(Refusal::validation(messages::UNUSED_DEFINITIONS));
    }
    let attribute = |name: &str| {
        let definition = definitions.iter().find(|(defined, _)| *defined == name);
        definition.map(|(name, kind)| KeyAttribute {
            name: (*name).to_owned(),
            kind: *kind,
        })
    };
    let partition =
        attribute(hash).ok_or_else(|| Refusal::validation(messages::KEY_WITHOUT_DEFINITION))?;
    let sort = range.and_then(attribute);
    Ok(KeySchema { partition, sort })
}
