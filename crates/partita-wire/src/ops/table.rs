//! Operations on one table: how they name it, and how they describe it.

use std::slice;

use partita_core::key::KeyType;
use partita_store::StoreError;
use partita_store::index::{IndexKind, IndexProjection, IndexSchema};
use partita_store::request::TableDescription;
use partita_store::table::{KeyAttribute, TableName, TableSchema};
use serde::{Deserialize, Serialize};

use crate::json;
use crate::messages;
use crate::parameters;
use crate::refusal::{Fault, Refusal};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    table_name: Option<String>,
}

/// The table of a request that names nothing else.
pub(super) fn decode(body: &[u8]) -> Result<TableName, Refusal> {
    let input: Input = json::read(body)?;
    match &input.table_name {
        Some(name) => parameters::named_table("tableName", name),
        None => Err(Refusal::validation(messages::NO_TABLE_NAME)),
    }
}

/// Here the service names a table that is not there, which data operations do not.
pub(super) fn refusal(error: StoreError) -> Refusal {
    match error {
        StoreError::TableNotFound { table } => {
            Refusal::new(Fault::ResourceNotFound, messages::table_not_found(&table))
        }
        error => error.into(),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Described {
    attribute_definitions: Vec<Definition>,
    table_name: String,
    key_schema: Vec<KeyElement>,
    table_status: &'static str,
    /// Seconds, as everywhere in this protocol.
    creation_date_time: f64,
    provisioned_throughput: Throughput,
    table_size_bytes: u64,
    item_count: u64,
    table_arn: String,
    billing_mode_summary: Billing,
    deletion_protection_enabled: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    local_secondary_indexes: Vec<Index>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    global_secondary_indexes: Vec<Index>,
}

/// An index. Status and throughput are a global one's; a local one has those of its table.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Index {
    index_name: String,
    key_schema: Vec<KeyElement>,
    projection: Projection,
    #[serde(skip_serializing_if = "Option::is_none")]
    index_status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provisioned_throughput: Option<Throughput>,
    index_size_bytes: u64,
    item_count: u64,
    index_arn: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Projection {
    projection_type: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    non_key_attributes: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Definition {
    attribute_name: String,
    attribute_type: &'static str,
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "PascalCase")]
struct KeyElement {
    attribute_name: String,
    key_type: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Throughput {
    number_of_decreases_today: u32,
    read_capacity_units: u32,
    write_capacity_units: u32,
}

const NOTHING_PROVISIONED: Throughput = Throughput {
    number_of_decreases_today: 0,
    read_capacity_units: 0,
    write_capacity_units: 0,
};

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Billing {
    billing_mode: &'static str,
}

impl From<TableDescription> for Described {
    fn from(description: TableDescription) -> Self {
        let TableDescription {
            table,
            schema,
            created_millis,
            ..
        } = description;
        let arn = parameters::arn(&table);
        let of_kind = |kind| {
            let indexes = schema.indexes.iter();
            let indexes = indexes.filter(move |index| index.kind == kind);
            indexes.map(|index| Index::new(index, &arn)).collect()
        };
        Described {
            attribute_definitions: definitions(&schema),
            table_name: table.into(),
            key_schema: key_schema(
                slice::from_ref(&schema.key.partition),
                schema.key.sort.as_slice(),
            ),
            // A store answers once a table can be used.
            table_status: "ACTIVE",
            creation_date_time: created_millis as f64 / 1000.0,
            provisioned_throughput: NOTHING_PROVISIONED,
            // The service counts every six hours or so; zero is what it says until then.
            table_size_bytes: 0,
            item_count: 0,
            local_secondary_indexes: of_kind(IndexKind::Local),
            global_secondary_indexes: of_kind(IndexKind::Global),
            table_arn: arn,
            // Nothing is provisioned here, whatever the table was created with.
            billing_mode_summary: Billing {
                billing_mode: "PAY_PER_REQUEST",
            },
            deletion_protection_enabled: false,
        }
    }
}

impl Described {
    /// The description of a table that is no more: the service says that it is about to go.
    pub(super) fn deleting(mut self) -> Self {
        self.table_status = "DELETING";
        self
    }
}

impl Index {
    fn new(index: &IndexSchema, table_arn: &str) -> Self {
        let is_global = index.kind == IndexKind::Global;
        Index {
            index_name: index.name.clone(),
            key_schema: key_schema(&index.partition, &index.sort),
            projection: Projection::new(&index.projection),
            index_status: is_global.then_some("ACTIVE"),
            provisioned_throughput: is_global.then_some(NOTHING_PROVISIONED),
            index_size_bytes: 0,
            item_count: 0,
            index_arn: format!("{table_arn}/index/{}", index.name),
        }
    }
}

impl Projection {
    fn new(projection: &IndexProjection) -> Self {
        let (projection_type, non_key_attributes) = match projection {
            IndexProjection::All => ("ALL", Vec::new()),
            IndexProjection::KeysOnly => ("KEYS_ONLY", Vec::new()),
            IndexProjection::Include(names) => ("INCLUDE", names.clone()),
        };
        Projection {
            projection_type,
            non_key_attributes,
        }
    }
}

/// The key attributes of the table and its indexes, each once.
fn definitions(schema: &TableSchema) -> Vec<Definition> {
    let mut definitions: Vec<Definition> = Vec::new();
    let of_indexes = schema.indexes.iter().flat_map(IndexSchema::attributes);
    for attribute in schema.key.attributes().chain(of_indexes) {
        let is_same = |known: &Definition| known.attribute_name == attribute.name;
        if definitions.iter().any(is_same) {
            continue;
        }
        definitions.push(Definition {
            attribute_name: attribute.name.clone(),
            attribute_type: match attribute.kind {
                KeyType::S => "S",
                KeyType::N => "N",
                KeyType::B => "B",
            },
        });
    }
    definitions
}

fn key_schema(partition: &[KeyAttribute], sort: &[KeyAttribute]) -> Vec<KeyElement> {
    let elements = |attributes: &[KeyAttribute], key_type| {
        let attributes = attributes.iter();
        let elements = attributes.map(|attribute| KeyElement {
            attribute_name: attribute.name.clone(),
            key_type,
        });
        elements.collect::<Vec<_>>()
    };
    [elements(partition, "HASH"), elements(sort, "RANGE")].concat()
}
