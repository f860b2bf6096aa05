//! UpdateTable.
//!
//! | module | what it holds |
//! |---|---|
//! | `indexes` | GlobalSecondaryIndexUpdates |
//! | `changes` | what a request changes, given how the table is |

mod changes;
mod indexes;

use bytes::Bytes;
use partita_core::key::KeyType;
use partita_store::request::TableDescription;
use partita_store::settings::Throughput;
use partita_store::stream::StreamView;
use partita_store::table::TableName;
use serde::{Deserialize, Serialize};

use self::indexes::{IndexAction, IndexUpdate};
use super::schema::billing::{BillingMode, Units};
use super::schema::keys::{self, Definition};
use super::schema::stream::StreamSpecification;
use super::table::Described;
use super::{Context, table};
use crate::constraints::Constraints;
use crate::json;
use crate::messages;
use crate::parameters::{self, Unread};
use crate::refusal::Refusal;

/// What Amazon alone can do is refused; what only says how it runs a table is taken and changes
/// nothing, as in CreateTable.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    table_name: Option<String>,
    attribute_definitions: Option<Vec<Definition>>,
    billing_mode: Option<String>,
    provisioned_throughput: Option<Units>,
    deletion_protection_enabled: Option<bool>,
    stream_specification: Option<StreamSpecification>,
    global_secondary_index_updates: Option<Vec<IndexUpdate>>,
    #[serde(rename = "SSESpecification")]
    sse_specification: Unread,
    table_class: Unread,
    on_demand_throughput: Unread,
    warm_throughput: Unread,
    replica_updates: Unread,
    multi_region_consistency: Unread,
    global_table_witness_updates: Unread,
    global_table_settings_replication_mode: Unread,
}

/// What a request asks for, whatever the table is like.
struct TableUpdate<'a> {
    table: TableName,
    definitions: Option<Vec<(&'a str, KeyType)>>,
    mode: Option<BillingMode>,
    throughput: Option<Throughput>,
    protection: Option<bool>,
    stream: Option<Option<StreamView>>,
    indexes: Vec<IndexAction<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    table_description: Described,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let input: Input = json::read(body)?;
    let asked = input.check()?;
    let now = context.store.describe_table(&asked.table).await;
    let now = now.map_err(table::refusal)?;
    let request = asked.request(&now)?;
    if request.changes.is_empty() {
        return Ok(encode(now));
    }
    // The store notices a concurrent change of the table, except for the remembered
    // throughput: there the later of two requests wins.
    let updated = context.store.update_table(request).await;
    Ok(encode(updated.map_err(table::refusal)?))
}

fn encode(description: TableDescription) -> Bytes {
    json::write(&Output {
        table_description: description.into(),
    })
}

impl Input {
    fn check(&self) -> Result<TableUpdate<'_>, Refusal> {
        let Some(name) = &self.table_name else {
            return Err(Refusal::validation(messages::NO_TABLE_NAME));
        };
        let table = parameters::named_table("tableName", name)?;
        let mut constraints = Constraints::default();
        let definitions = &self.attribute_definitions;
        let definitions = definitions
            .is_some()
            .then(|| keys::definitions(&mut constraints, definitions));
        let mode = constraints.choice("billingMode", &self.billing_mode);
        let units = self.provisioned_throughput.as_ref();
        let throughput = Units::check(&mut constraints, "provisionedThroughput", units);
        let stream = self.stream_specification.as_ref();
        let stream = StreamSpecification::check(&mut constraints, stream);
        let updates = self.global_secondary_index_updates.as_deref();
        let updates = updates.unwrap_or_default();
        let indexes = indexes::actions(&mut constraints, updates);
        constraints.finish(())?;
        self.refuse()?;
        Units::check_bounds(units)?;
        let stream = stream.map(|stream| {
            stream.resolve(messages::ENABLED_WITHOUT_VIEW, messages::DISABLED_WITH_VIEW)
        });
        Ok(TableUpdate {
            table,
            definitions: definitions.flatten(),
            mode,
            throughput,
            protection: self.deletion_protection_enabled,
            stream: stream.transpose()?,
            indexes: indexes.into_iter().collect::<Result<_, _>>()?,
        })
    }

    fn refuse(&self) -> Result<(), Refusal> {
        parameters::refuse(&[
            ("ReplicaUpdates", &self.replica_updates),
            ("MultiRegionConsistency", &self.multi_region_consistency),
            (
                "GlobalTableWitnessUpdates",
                &self.global_table_witness_updates,
            ),
            (
                "GlobalTableSettingsReplicationMode",
                &self.global_table_settings_replication_mode,
            ),
        ])?;
        let indexes = self.global_secondary_index_updates.as_deref();
        let given = [
            self.provisioned_throughput.is_some(),
            self.billing_mode.is_some(),
            self.stream_specification.is_some(),
            indexes.is_some_and(|indexes| !indexes.is_empty()),
            self.sse_specification.is_some(),
            self.deletion_protection_enabled.is_some(),
            self.on_demand_throughput.is_some(),
            self.warm_throughput.is_some(),
            self.table_class.is_some(),
        ];
        let count = given.iter().filter(|is_given| **is_given).count();
        match self.deletion_protection_enabled {
            _ if count == 0 => Err(Refusal::validation(messages::NOTHING_TO_UPDATE)),
            Some(_) if count > 1 => Err(Refusal::validation(messages::PROTECTION_ALONE)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
