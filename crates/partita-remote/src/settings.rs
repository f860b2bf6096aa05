//! The settings of a table in the SDK's words and back.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{
    self, BillingMode, IndexStatus, ProvisionedThroughput, StreamSpecification, StreamViewType,
};
use partita_store::request::{TableDescription, TableStatus, Totals};
use partita_store::settings::{Billing, TableSettings, Throughput};
use partita_store::stream::{StreamName, StreamView};
use partita_store::table::{TableName, TableSchema};

use crate::schema::IndexThroughput;

pub(crate) fn billing_mode(billing: &Billing) -> BillingMode {
    match billing {
        Billing::OnDemand => BillingMode::PayPerRequest,
        Billing::Provisioned { .. } => BillingMode::Provisioned,
    }
}

/// What is provisioned of a table and its indexes.
#[derive(Default)]
pub(crate) struct Provisioned {
    pub(crate) table: Option<ProvisionedThroughput>,
    pub(crate) indexes: IndexThroughput,
}

pub(crate) fn throughput(billing: &Billing) -> Result<Provisioned, BuildError> {
    let Billing::Provisioned { table, indexes } = billing else {
        return Ok(Provisioned::default());
    };
    let mut provisioned = Provisioned {
        table: Some(to_throughput(*table)?),
        indexes: IndexThroughput::new(),
    };
    for (name, units) in indexes {
        let units = to_throughput(*units)?;
        provisioned.indexes.insert(name.clone(), units);
    }
    Ok(provisioned)
}

pub(crate) fn to_throughput(units: Throughput) -> Result<ProvisionedThroughput, BuildError> {
    // More than the protocol can say is more than there can be.
    let units_of = |units: u64| i64::try_from(units).unwrap_or(i64::MAX);
    ProvisionedThroughput::builder()
        .read_capacity_units(units_of(units.read))
        .write_capacity_units(units_of(units.write))
        .build()
}

/// What begins a stream.
pub(crate) fn beginning(view: StreamView) -> Result<StreamSpecification, BuildError> {
    StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(match view {
            StreamView::KeysOnly => StreamViewType::KeysOnly,
            StreamView::NewImage => StreamViewType::NewImage,
            StreamView::OldImage => StreamViewType::OldImage,
            StreamView::NewAndOldImages => StreamViewType::NewAndOldImages,
        })
        .build()
}

/// What ends a stream.
pub(crate) fn ending() -> Result<StreamSpecification, BuildError> {
    StreamSpecification::builder().stream_enabled(false).build()
}

/// A description of a table whose keys and indexes are known.
pub(crate) fn description(
    table: TableName,
    schema: TableSchema,
    described: &types::TableDescription,
) -> TableDescription {
    let created = described.creation_date_time();
    let created_millis = created.and_then(|time| time.to_millis().ok());
    let label = described.latest_stream_label();
    let billing = described.billing_mode_summary();
    let on_demand = billing.and_then(|mode| mode.last_update_to_pay_per_request_date_time());
    TableDescription {
        // It is waited for before it is described.
        status: TableStatus::Active,
        on_demand_millis: on_demand.and_then(|time| time.to_millis().ok()),
        settings: settings_of(described),
        created_millis: created_millis.unwrap_or_default(),
        building: building(described),
        latest_stream: label.map(|label| StreamName {
            table: table.clone(),
            label: label.to_owned(),
        }),
        totals: totals(described.item_count(), described.table_size_bytes()),
        index_totals: index_totals(described),
        table,
        schema,
    }
}

fn settings_of(described: &types::TableDescription) -> TableSettings {
    let stream = described.stream_specification();
    let stream = stream.filter(|stream| stream.stream_enabled());
    let view = stream.and_then(|stream| stream.stream_view_type());
    TableSettings {
        billing: billing_of(described),
        is_protected: described.deletion_protection_enabled().unwrap_or_default(),
        // A view that this release does not know is no reason to call the table unusable.
        stream: view.and_then(view_of),
    }
}

/// A table that says nothing of how it is billed is provisioned, as all tables once were.
fn billing_of(described: &types::TableDescription) -> Billing {
    let mode = described.billing_mode_summary();
    if mode.and_then(|mode| mode.billing_mode()) == Some(&BillingMode::PayPerRequest) {
        return Billing::OnDemand;
    }
    let indexes = described.global_secondary_indexes().iter();
    let indexes = indexes.filter(|index| index.index_status() != Some(&IndexStatus::Deleting));
    let of_index = indexes.filter_map(|index| {
        let name = index.index_name()?.to_owned();
        Some((name, from_throughput(index.provisioned_throughput())))
    });
    Billing::Provisioned {
        table: from_throughput(described.provisioned_throughput()),
        indexes: of_index.collect(),
    }
}

fn from_throughput(units: Option<&types::ProvisionedThroughputDescription>) -> Throughput {
    let units_of = |units: Option<i64>| units.and_then(|units| u64::try_from(units).ok());
    Throughput {
        read: units_of(units.and_then(|units| units.read_capacity_units())).unwrap_or_default(),
        write: units_of(units.and_then(|units| units.write_capacity_units())).unwrap_or_default(),
    }
}

fn view_of(view: &StreamViewType) -> Option<StreamView> {
    match view {
        StreamViewType::KeysOnly => Some(StreamView::KeysOnly),
        StreamViewType::NewImage => Some(StreamView::NewImage),
        StreamViewType::OldImage => Some(StreamView::OldImage),
        StreamViewType::NewAndOldImages => Some(StreamView::NewAndOldImages),
        _ => None,
    }
}

fn building(described: &types::TableDescription) -> Vec<String> {
    let indexes = described.global_secondary_indexes().iter();
    let building = indexes.filter(|index| index.index_status() == Some(&IndexStatus::Creating));
    building
        .filter_map(|index| index.index_name().map(str::to_owned))
        .collect()
}

fn index_totals(described: &types::TableDescription) -> BTreeMap<String, Totals> {
    let global = described.global_secondary_indexes().iter();
    let global = global.filter(|i| i.index_status() != Some(&IndexStatus::Deleting));
    let global = global.map(|i| (i.index_name(), i.item_count(), i.index_size_bytes()));
    let local = described.local_secondary_indexes().iter();
    let local = local.map(|i| (i.index_name(), i.item_count(), i.index_size_bytes()));
    let named =
        |(name, items, bytes): (Option<&str>, _, _)| Some((name?.to_owned(), totals(items, bytes)));
    global.chain(local).filter_map(named).collect()
}

fn totals(items: Option<i64>, bytes: Option<i64>) -> Totals {
    let count = |count: Option<i64>| count.and_then(|count| u64::try_from(count).ok());
    Totals {
        items: count(items).unwrap_or_default(),
        bytes: count(bytes).unwrap_or_default(),
    }
}
