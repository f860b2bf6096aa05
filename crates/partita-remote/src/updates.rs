//! Changing tables.

use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::update_table::UpdateTableError;
use aws_sdk_dynamodb::operation::update_table::builders::UpdateTableFluentBuilder;
use aws_sdk_dynamodb::types::{
    DeleteGlobalSecondaryIndexAction, GlobalSecondaryIndexUpdate, UpdateGlobalSecondaryIndexAction,
};
use partita_store::index::IndexSchema;
use partita_store::request::{TableChange, TableDescription, UpdateTable};
use partita_store::settings::{Billing, Throughput};
use partita_store::{StoreError, StoreResult};

use crate::connect::Clients;
use crate::error::{Call, send};
use crate::{schema, settings, tables};

/// Changes a table. An index that it adds is built by the service, in its own time.
pub(crate) async fn update_table(
    clients: &Clients,
    request: UpdateTable,
) -> StoreResult<TableDescription> {
    let table = &request.table;
    let current = match request.billing() {
        Some(_) => Some(
            tables::describe_table(clients, table)
                .await?
                .settings
                .billing,
        ),
        None => None,
    };
    let update = clients.writes.update_table().table_name(table.as_str());
    let update = told(update, &request, current.as_ref())
        .map_err(|error| StoreError::validation(error.to_string()))?;
    let call = Call::write(table);
    let described = match send!(call, update) {
        Ok(answer) => answer.table_description,
        Err(error) => return Err(refusal(clients, &request, &call, &error).await),
    };
    let described = described.ok_or_else(|| StoreError::OutcomeUnknown {
        message: format!("the description of `{table}` is empty"),
    })?;
    tables::understood(table, &described)
}

/// An update in the form of UpdateTable.
fn told(
    mut update: UpdateTableFluentBuilder,
    request: &UpdateTable,
    current: Option<&Billing>,
) -> Result<UpdateTableFluentBuilder, BuildError> {
    for change in &request.changes {
        update = match change {
            TableChange::CreateIndex(index) => creating(update, index, request.billing())?,
            TableChange::DeleteIndex(name) => deleting(update, name)?,
            TableChange::Stream(Some(view)) => {
                update.stream_specification(settings::beginning(*view)?)
            }
            TableChange::Stream(None) => update.stream_specification(settings::ending()?),
            TableChange::Billing(billing) => billing_as(update, billing, current, request)?,
            TableChange::Protection(is_protected) => {
                update.deletion_protection_enabled(*is_protected)
            }
        };
    }
    Ok(update)
}

fn creating(
    update: UpdateTableFluentBuilder,
    index: &IndexSchema,
    billing: Option<&Billing>,
) -> Result<UpdateTableFluentBuilder, BuildError> {
    let units = match billing {
        Some(Billing::Provisioned { indexes, .. }) => indexes.get(&index.name),
        _ => None,
    };
    let units = units
        .map(|units| settings::to_throughput(*units))
        .transpose()?;
    let (definitions, action) = schema::creation(index, units)?;
    let action = GlobalSecondaryIndexUpdate::builder().create(action).build();
    Ok(update
        .set_attribute_definitions(Some(definitions))
        .global_secondary_index_updates(action))
}

fn deleting(
    update: UpdateTableFluentBuilder,
    name: &str,
) -> Result<UpdateTableFluentBuilder, BuildError> {
    let action = DeleteGlobalSecondaryIndexAction::builder()
        .index_name(name)
        .build()?;
    let action = GlobalSecondaryIndexUpdate::builder().delete(action).build();
    Ok(update.global_secondary_index_updates(action))
}

/// The service refuses to change what stays as it is, so only the difference is sent. Without a
/// difference the table's own throughput is sent, and the service decides.
fn billing_as(
    mut update: UpdateTableFluentBuilder,
    billing: &Billing,
    current: Option<&Billing>,
    request: &UpdateTable,
) -> Result<UpdateTableFluentBuilder, BuildError> {
    let Billing::Provisioned { table, indexes } = billing else {
        return Ok(update.billing_mode(settings::billing_mode(billing)));
    };
    let (table_now, indexes_now) = match current {
        Some(Billing::Provisioned { table, indexes }) => (Some(table), Some(indexes)),
        _ => (None, None),
    };
    let is_new = |name: &String, units: &Throughput| {
        indexes_now.and_then(|now| now.get(name)) != Some(units) && !request.creates(name)
    };
    let new: Vec<_> = indexes
        .iter()
        .filter(|(name, units)| is_new(name, units))
        .collect();
    if table_now != Some(table) || (new.is_empty() && request.changes.len() == 1) {
        update = update.provisioned_throughput(settings::to_throughput(*table)?);
    }
    if table_now.is_none() {
        update = update.billing_mode(settings::billing_mode(billing));
    }
    for (name, units) in new {
        let action = UpdateGlobalSecondaryIndexAction::builder()
            .index_name(name)
            .provisioned_throughput(settings::to_throughput(*units)?)
            .build()?;
        let action = GlobalSecondaryIndexUpdate::builder().update(action).build();
        update = update.global_secondary_index_updates(action);
    }
    Ok(update)
}

/// Why a table was not changed. "Not found" may be said of the table or of an index of it, and
/// a limit is one of the table here, not one of requests.
async fn refusal(
    clients: &Clients,
    request: &UpdateTable,
    call: &Call,
    error: &SdkError<UpdateTableError>,
) -> StoreError {
    if let Some(UpdateTableError::LimitExceededException(limit)) = error.as_service_error() {
        let message = limit.message().unwrap_or_default().to_owned();
        return StoreError::LimitExceeded { message };
    }
    let error = call.error(error);
    let deleted = request.changes.iter().find_map(|change| match change {
        TableChange::DeleteIndex(name) => Some(name),
        _ => None,
    });
    match (error, deleted) {
        (StoreError::TableNotFound { table }, Some(index))
            if tables::describe(clients, &table).await.is_ok() =>
        {
            let index = index.clone();
            StoreError::IndexNotFound { table, index }
        }
        (error, _) => error,
    }
}
