//! The tables of a design as a template of AWS CloudFormation, for `partita export cloudformation`.
//!
//! What the template makes is what Partita makes when it creates the tables itself, so a server finds
//! them as it needs them. Removing a table from the template, or the stack, leaves the table.

use std::collections::BTreeMap;

use partita_core::Type;
use serde_json::{Map, Value as Json, json};

use crate::design::{Design, Encryption, Index, IndexKey, Projection, Settings, Table};
use crate::sidecar;

/// Units of a table and of an index that are provisioned until somebody says more.
pub const PROVISIONED_UNITS: u64 = 5;

/// Why there is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The key that encrypts a table is not known.
    #[error(
        "the table `{table}` is encrypted with `{encryption}`: give the variable with --set NAME=VALUE"
    )]
    Encryption {
        /// The table.
        table: String,
        /// What the design says.
        encryption: String,
    },
}

/// The template.
pub fn template(design: &Design) -> Result<Json, TemplateError> {
    let mut resources = Map::new();
    for (number, one) in design.tables.iter().enumerate() {
        let name = logical(
            if one.id.is_empty() { "Table" } else { &one.id },
            &resources,
        );
        resources.insert(name, table(one)?);
        if number == 0 {
            let name = logical("PartitaTable", &resources);
            resources.insert(name, beside(design, one)?);
        }
    }
    let outputs = resources.keys().map(|name| {
        let output = json!({ "Value": { "Ref": name } });
        (format!("{name}Name"), output)
    });
    let outputs: Map<String, Json> = outputs.collect();
    Ok(json!({
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": format!("The tables of {}", design.name),
        "Resources": resources,
        "Outputs": outputs,
    }))
}

/// A name that the template can have, and has not yet.
fn logical(id: &str, taken: &Map<String, Json>) -> String {
    let letters: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
    let mut letters = letters.chars();
    let first = letters
        .next()
        .map_or('T', |first| first.to_ascii_uppercase());
    let name: String = std::iter::once(first).chain(letters).collect();
    let mut number = 2;
    let mut free = name.clone();
    while taken.contains_key(&free) {
        free = format!("{name}{number}");
        number += 1;
    }
    free
}

fn table(table: &Table) -> Result<Json, TemplateError> {
    let mut properties = common(table, &table.name)?;
    let keys = [&table.partition, &table.sort];
    let own = keys.map(|name| (name.as_str(), Type::S));
    let of_indexes = table.indexes.iter().flat_map(index_keys);
    let of_indexes = of_indexes.map(|key| (key.name.as_str(), key.kind));
    let attributes: BTreeMap<&str, Type> = own.into_iter().chain(of_indexes).collect();
    let attributes = attributes
        .into_iter()
        .map(|(name, kind)| json!({ "AttributeName": name, "AttributeType": kind.to_string() }));
    properties.insert("AttributeDefinitions".to_owned(), attributes.collect());
    properties.insert(
        "KeySchema".to_owned(),
        key_schema(&table.partition, Some(&table.sort)),
    );
    if !table.indexes.is_empty() {
        let indexes = table.indexes.iter().map(|one| index(one, &table.settings));
        properties.insert("GlobalSecondaryIndexes".to_owned(), indexes.collect());
    }
    if let Some(attribute) = &table.ttl {
        properties.insert("TimeToLiveSpecification".to_owned(), expiry(attribute));
    }
    if let Some(stream) = &table.settings.stream {
        let view = stream.replace('-', "_").to_uppercase();
        let stream = json!({ "StreamViewType": view });
        properties.insert("StreamSpecification".to_owned(), stream);
    }
    Ok(resource(properties))
}

/// The table of what is Partita's own. It is kept as safe as the one that it is beside.
fn beside(design: &Design, first: &Table) -> Result<Json, TemplateError> {
    let name = sidecar::name(design);
    let mut properties = common(first, &name)?;
    let keys = [sidecar::PARTITION, sidecar::SORT];
    let attributes = keys.map(|name| json!({ "AttributeName": name, "AttributeType": "S" }));
    properties.insert(
        "AttributeDefinitions".to_owned(),
        attributes.into_iter().collect(),
    );
    let schema = key_schema(sidecar::PARTITION, Some(sidecar::SORT));
    properties.insert("KeySchema".to_owned(), schema);
    properties.insert(
        "TimeToLiveSpecification".to_owned(),
        expiry(sidecar::EXPIRES),
    );
    Ok(resource(properties))
}

fn resource(properties: Map<String, Json>) -> Json {
    json!({
        "Type": "AWS::DynamoDB::Table",
        "DeletionPolicy": "Retain",
        "UpdateReplacePolicy": "Retain",
        "Properties": properties,
    })
}

/// What both kinds of tables have alike.
fn common(table: &Table, name: &str) -> Result<Map<String, Json>, TemplateError> {
    let settings = &table.settings;
    let mut properties = Map::new();
    let mut put = |name: &str, value: Json| drop(properties.insert(name.to_owned(), value));
    put("TableName", name.into());
    if settings.pay_per_request {
        put("BillingMode", "PAY_PER_REQUEST".into());
    } else {
        put("BillingMode", "PROVISIONED".into());
        put("ProvisionedThroughput", provisioned());
    }
    match &settings.encryption {
        Encryption::Owned => {}
        Encryption::Managed => put("SSESpecification", json!({ "SSEEnabled": true })),
        Encryption::Key(key) => put(
            "SSESpecification",
            json!({ "SSEEnabled": true, "SSEType": "KMS", "KMSMasterKeyId": key }),
        ),
        Encryption::Unset(encryption) => {
            return Err(TemplateError::Encryption {
                table: table.name.clone(),
                encryption: encryption.clone(),
            });
        }
    }
    if settings.point_in_time_recovery {
        let recovery = json!({ "PointInTimeRecoveryEnabled": true });
        put("PointInTimeRecoverySpecification", recovery);
    }
    if settings.deletion_protection {
        put("DeletionProtectionEnabled", true.into());
    }
    if !settings.tags.is_empty() {
        let tags = settings.tags.iter();
        let tags = tags.map(|(key, value)| json!({ "Key": key, "Value": value }));
        put("Tags", tags.collect());
    }
    Ok(properties)
}

fn index(index: &Index, settings: &Settings) -> Json {
    let sort = index.sort.as_ref().map(|key| key.name.as_str());
    let projection = match &index.projection {
        Projection::All => json!({ "ProjectionType": "ALL" }),
        Projection::KeysOnly => json!({ "ProjectionType": "KEYS_ONLY" }),
        Projection::Include(names) => {
            json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": names })
        }
    };
    let mut index = json!({
        "IndexName": index.name,
        "KeySchema": key_schema(&index.partition.name, sort),
        "Projection": projection,
    });
    if !settings.pay_per_request {
        index["ProvisionedThroughput"] = provisioned();
    }
    index
}

fn index_keys(index: &Index) -> impl Iterator<Item = &IndexKey> {
    std::iter::once(&index.partition).chain(&index.sort)
}

fn key_schema(partition: &str, sort: Option<&str>) -> Json {
    let partition = json!({ "AttributeName": partition, "KeyType": "HASH" });
    let sort = sort.map(|name| json!({ "AttributeName": name, "KeyType": "RANGE" }));
    std::iter::once(partition).chain(sort).collect()
}

fn expiry(attribute: &str) -> Json {
    json!({ "AttributeName": attribute, "Enabled": true })
}

fn provisioned() -> Json {
    let units = PROVISIONED_UNITS;
    json!({ "ReadCapacityUnits": units, "WriteCapacityUnits": units })
}
