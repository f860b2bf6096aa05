//! Time to live.

use aws_sdk_dynamodb::types::{TimeToLiveSpecification, TimeToLiveStatus};
use partita_store::request::UpdateTimeToLive;
use partita_store::table::TableName;
use partita_store::{StoreError, StoreResult};

use crate::connect::Clients;
use crate::error::{Call, send};

/// Sets the attribute with the time at which a table's items expire.
pub(crate) async fn update_time_to_live(
    clients: &Clients,
    request: UpdateTimeToLive,
) -> StoreResult<()> {
    let specification = TimeToLiveSpecification::builder()
        .attribute_name(request.attribute)
        .enabled(request.is_enabled)
        .build()
        .map_err(|error| StoreError::validation(error.to_string()))?;
    let call = Call::write(&request.table);
    let sent = clients
        .writes
        .update_time_to_live()
        .table_name(request.table.as_str())
        .time_to_live_specification(specification);
    send!(call, sent).map_err(|error| call.error(&error))?;
    Ok(())
}

/// The attribute with the time at which a table's items expire, if there is one.
pub(crate) async fn describe_time_to_live(
    clients: &Clients,
    table: &TableName,
) -> StoreResult<Option<String>> {
    let call = Call::read(table);
    let sent = clients.reads.describe_time_to_live();
    let answer = send!(call, sent.table_name(table.as_str()));
    let answer = answer.map_err(|error| call.error(&error))?;
    let described = answer.time_to_live_description;
    let is_enabled = |status: &TimeToLiveStatus| {
        matches!(
            status,
            TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling
        )
    };
    let enabled = described.filter(|found| found.time_to_live_status().is_some_and(is_enabled));
    Ok(enabled.and_then(|found| found.attribute_name))
}
