//! Operations on one table: how they name it, and how they describe it.

use std::slice;

use partita_core::key::KeyType;
use partita_store::StoreError;
use partita_store::index::{IndexKind, IndexProjection, IndexSchema};
use partita_store::request::{TableDescription, TableStatus};
use partita_store::settings::{self, Throughput};
use partita_store::stream::StreamView;
use partita_store::table::{KeyAttribute, KeySchema, TableName, TableSchema};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::schema::stream::view_name;
use super::stream;
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attribute_definitions: Vec<Definition>,
    table_name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    key_schema: Vec<KeyElement>,
    table_status: &'static str,
    /// Seconds, as everywhere in this protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    creation_date_time: Option<f64>,
    provisioned_throughput: Provisioned,
    table_size_bytes: u64,
    item_count: u64,
    table_arn: String,
    table_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    billing_mode_summary: Option<Billing>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    local_secondary_indexes: Vec<Index>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    global_secondary_indexes: Vec<Index>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_specification: Option<TableStream>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_stream_label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_stream_arn: Option<String>,
    deletion_protection_enabled: bool,
}

/// An index. Status and throughput are a global one's; a local one has those of its table.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Index {
    index_name: String,
    key_schema: Vec<KeyElement>,
    projection: ProjectionOutput,
    #[serde(skip_serializing_if = "Option::is_none")]
    index_status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backfilling: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provisioned_throughput: Option<Provisioned>,
    index_size_bytes: u64,
    item_count: u64,
    index_arn: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ProjectionOutput {
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
pub(super) struct KeyElement {
    attribute_name: String,
    key_type: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Provisioned {
    number_of_decreases_today: u32,
    read_capacity_units: u64,
    write_capacity_units: u64,
}

/// Only a table that is on demand or was once says so; the service is silent of one that was
/// always provisioned.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Billing {
    billing_mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_update_to_pay_per_request_date_time: Option<f64>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct TableStream {
    stream_enabled: bool,
    stream_view_type: &'static str,
}

impl From<TableDescription> for Described {
    fn from(description: TableDescription) -> Self {
        let of_kind = |kind| {
            let indexes = description.schema.indexes.iter();
            let indexes = indexes.filter(move |index| index.kind == kind);
            let indexes = indexes.map(|index| Index::new(index, &description));
            indexes.collect()
        };
        let (local_secondary_indexes, global_secondary_indexes) =
            (of_kind(IndexKind::Local), of_kind(IndexKind::Global));
        let TableDescription {
            table,
            status,
            schema,
            settings,
            latest_stream,
            ..
        } = description;
        let described = Described {
            attribute_definitions: definitions(&schema),
            key_schema: table_key(&schema.key),
            table_status: match status {
                TableStatus::Active => "ACTIVE",
                TableStatus::Creating => "CREATING",
                TableStatus::Updating => "UPDATING",
                TableStatus::Deleting => "DELETING",
            },
            creation_date_time: Some(seconds(description.created_millis)),
            provisioned_throughput: Provisioned::of_table(&settings.billing),
            table_size_bytes: description.totals.bytes,
            item_count: description.totals.items,
            table_arn: parameters::arn(&table),
            table_id: table_id(&table, description.created_millis),
            billing_mode_summary: Billing::new(&settings.billing, description.on_demand_millis),
            local_secondary_indexes,
            global_secondary_indexes,
            stream_specification: settings.stream.map(TableStream::new),
            latest_stream_arn: latest_stream.as_ref().map(stream::arn),
            latest_stream_label: latest_stream.map(|stream| stream.label),
            deletion_protection_enabled: settings.is_protected,
            table_name: table.into(),
        };
        match status {
            TableStatus::Deleting => described.deleting(),
            _ => described,
        }
    }
}

fn seconds(millis: i64) -> f64 {
    millis as f64 / 1000.0
}

/// A UUID that distinguishes a table from an earlier one of the same name.
fn table_id(table: &TableName, created_millis: i64) -> String {
    let mut hash = Sha256::new();
    hash.update(table.as_str());
    hash.update(created_millis.to_be_bytes());
    let mut hex: String = hash.finalize()[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    // Version 8 and the variant of a UUID whose bits have no meaning.
    hex.replace_range(12..13, "8");
    hex.replace_range(16..17, "8");
    for at in [20, 16, 12, 8] {
        hex.insert(at, '-');
    }
    hex
}

impl Described {
    /// The description of a table that is no more: the service says that it is about to go, and
    /// leaves out its keys, its indexes and when it was created.
    pub(super) fn deleting(mut self) -> Self {
        self.table_status = "DELETING";
        self.attribute_definitions.clear();
        self.key_schema.clear();
        self.creation_date_time = None;
        self.local_secondary_indexes.clear();
        self.global_secondary_indexes.clear();
        self
    }
}

impl Provisioned {
    fn new(throughput: Option<Throughput>) -> Self {
        let (read, write) = throughput.map_or((0, 0), |it| (it.read, it.write));
        Provisioned {
            number_of_decreases_today: 0,
            read_capacity_units: read,
            write_capacity_units: write,
        }
    }

    fn of_table(billing: &settings::Billing) -> Self {
        Provisioned::new(match billing {
            settings::Billing::OnDemand => None,
            settings::Billing::Provisioned { table, .. } => Some(*table),
        })
    }

    fn of_index(billing: &settings::Billing, name: &str) -> Self {
        Provisioned::new(match billing {
            settings::Billing::OnDemand => None,
            settings::Billing::Provisioned { indexes, .. } => indexes.get(name).copied(),
        })
    }
}

impl Billing {
    fn new(billing: &settings::Billing, on_demand_millis: Option<i64>) -> Option<Self> {
        let billing_mode = match billing {
            settings::Billing::OnDemand => "PAY_PER_REQUEST",
            settings::Billing::Provisioned { .. } if on_demand_millis.is_some() => "PROVISIONED",
            settings::Billing::Provisioned { .. } => return None,
        };
        Some(Billing {
            billing_mode,
            last_update_to_pay_per_request_date_time: on_demand_millis.map(seconds),
        })
    }
}

impl TableStream {
    fn new(view: StreamView) -> Self {
        TableStream {
            stream_enabled: true,
            stream_view_type: view_name(view),
        }
    }
}

impl Index {
    fn new(index: &IndexSchema, table: &TableDescription) -> Self {
        let is_global = index.kind == IndexKind::Global;
        let is_building = table.building.contains(&index.name);
        let is_new = table.status == TableStatus::Creating;
        let totals = table.index_totals.get(&index.name).copied();
        let totals = totals.unwrap_or_default();
        let throughput = || Provisioned::of_index(&table.settings.billing, &index.name);
        Index {
            index_name: index.name.clone(),
            key_schema: key_schema(&index.partition, &index.sort),
            projection: ProjectionOutput::new(&index.projection),
            index_status: is_global.then_some(if is_building || is_new {
                "CREATING"
            } else {
                "ACTIVE"
            }),
            backfilling: is_building.then_some(true),
            provisioned_throughput: is_global.then(throughput),
            index_size_bytes: totals.bytes,
            item_count: totals.items,
            index_arn: format!("{}/index/{}", parameters::arn(&table.table), index.name),
        }
    }
}

impl ProjectionOutput {
    fn new(projection: &IndexProjection) -> Self {
        let (projection_type, non_key_attributes) = match projection {
            IndexProjection::All => ("ALL", Vec::new()),
            IndexProjection::KeysOnly => ("KEYS_ONLY", Vec::new()),
            IndexProjection::Include(names) => ("INCLUDE", names.clone()),
        };
        ProjectionOutput {
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

/// The key schema of a table.
fn table_key(key: &KeySchema) -> Vec<KeyElement> {
    key_schema(slice::from_ref(&key.partition), key.sort.as_slice())
}

/// The key schema of a table of which only the names of its key attributes are known.
pub(super) fn key_of(names: Vec<String>) -> Vec<KeyElement> {
    let roles = ["HASH", "RANGE"].into_iter();
    let elements = names.into_iter().zip(roles);
    let element = |(attribute_name, key_type)| KeyElement {
        attribute_name,
        key_type,
    };
    elements.map(element).collect()
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
