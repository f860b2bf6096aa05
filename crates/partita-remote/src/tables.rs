//! Creating, describing, listing and deleting tables.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{self, TableStatus};
use partita_store::request::{CreateTable, ListTables, TableDescription, TableNames};
use partita_store::table::TableName;
use partita_store::{StoreError, StoreResult};

use crate::connect::Clients;
use crate::error::{Call, send};
use crate::schema::{TableDefinition, schema_of};
use crate::{keeping, settings, tags};

/// How often a table that comes or goes is looked at.
const POLL: Duration = Duration::from_millis(500);

/// Creates a table, and waits until it can be used.
pub(crate) async fn create_table(
    clients: &Clients,
    patience: Duration,
    request: CreateTable,
) -> StoreResult<TableDescription> {
    let CreateTable {
        table,
        schema,
        settings,
        keeping,
        tags,
    } = request;
    // The service checks this too, but DynamoDB Local breaks at an index of which nothing is
    // provisioned.
    settings.check(&schema)?;
    let built = |error: BuildError| StoreError::validation(error.to_string());
    let throughput = settings::throughput(&settings.billing).map_err(built)?;
    let definition = TableDefinition::of(&schema, &throughput.indexes).map_err(built)?;
    let call = Call::write(&table);
    let sent = clients
        .writes
        .create_table()
        .table_name(table.as_str())
        .billing_mode(settings::billing_mode(&settings.billing))
        .set_provisioned_throughput(throughput.table)
        .set_attribute_definitions(Some(definition.attributes))
        .set_key_schema(Some(definition.key))
        .set_global_secondary_indexes(definition.global)
        .set_local_secondary_indexes(definition.local)
        .set_stream_specification(
            settings
                .stream
                .map(settings::beginning)
                .transpose()
                .map_err(built)?,
        )
        // Left out rather than false, because some services do not know it.
        .set_deletion_protection_enabled(settings.is_protected.then_some(true))
        .set_sse_specification(keeping::encryption(&keeping.encryption))
        .set_tags(tags::to_tags(tags).map_err(built)?);
    let created = send!(call, sent).map_err(|error| match error.as_service_error() {
        Some(service) if service.is_resource_in_use_exception() => StoreError::TableExists {
            table: table.clone(),
        },
        _ => call.error(&error),
    })?;
    let described = match created.table_description.filter(is_active) {
        Some(described) => described,
        None => until(patience, &table, active(clients, &table)).await?,
    };
    if keeping.has_recovery {
        keeping::begin_recovery(clients, patience, &table).await?;
    }
    // In the order of the request: the service describes indexes in any order.
    Ok(settings::description(table, schema, &described))
}

/// Removes a table with everything in it, and waits until it is gone.
pub(crate) async fn delete_table(
    clients: &Clients,
    patience: Duration,
    table: &TableName,
) -> StoreResult<TableDescription> {
    let described = describe_table(clients, table).await?;
    let call = Call::write(table);
    let sent = clients.writes.delete_table().table_name(table.as_str());
    send!(call, sent).map_err(|error| call.error(&error))?;
    until(patience, table, gone(clients, table)).await?;
    Ok(described)
}

/// Waits for what was accepted, and happens whatever becomes of our questions about it.
async fn until<T>(
    patience: Duration,
    table: &TableName,
    done: impl Future<Output = StoreResult<T>>,
) -> StoreResult<T> {
    let message = match tokio::time::timeout(patience, done).await {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(error)) => format!("the request about `{table}` was accepted, then: {error}"),
        Err(_) => format!("the table `{table}` is not ready after {patience:?}"),
    };
    Err(StoreError::OutcomeUnknown { message })
}

async fn active(clients: &Clients, table: &TableName) -> StoreResult<types::TableDescription> {
    loop {
        match describe(clients, table).await {
            Ok(described) if is_active(&described) => return Ok(described),
            // A table that was just accepted may not be known everywhere yet.
            Ok(_) | Err(StoreError::TableNotFound { .. }) => tokio::time::sleep(POLL).await,
            Err(error) => return Err(error),
        }
    }
}

async fn gone(clients: &Clients, table: &TableName) -> StoreResult<()> {
    loop {
        match describe(clients, table).await {
            Ok(_) => tokio::time::sleep(POLL).await,
            Err(StoreError::TableNotFound { .. }) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

fn is_active(table: &types::TableDescription) -> bool {
    table.table_status() == Some(&TableStatus::Active)
}

/// Describes a table.
pub(crate) async fn describe_table(
    clients: &Clients,
    table: &TableName,
) -> StoreResult<TableDescription> {
    let described = describe(clients, table).await?;
    understood(table, &described)
}

/// Describes a table. One that another process is creating is waited for, because nothing can be
/// read or written before it is there.
pub(crate) async fn describe_created(
    clients: &Clients,
    patience: Duration,
    table: &TableName,
) -> StoreResult<TableDescription> {
    let mut described = describe(clients, table).await?;
    if described.table_status() == Some(&TableStatus::Creating) {
        let created = tokio::time::timeout(patience, active(clients, table)).await;
        described = created.map_err(|_| StoreError::Unavailable {
            message: format!("the table `{table}` is still being created after {patience:?}"),
        })??;
    }
    understood(table, &described)
}

/// Converts the SDK's description. Fails if this release does not support the table's schema.
pub(crate) fn understood(
    table: &TableName,
    described: &types::TableDescription,
) -> StoreResult<TableDescription> {
    let schema = schema_of(described).map_err(|reason| StoreError::Unavailable {
        message: format!("the table `{table}` cannot be used by this release: {reason}"),
    })?;
    Ok(settings::description(table.clone(), schema, described))
}

/// Reads one page of the names of tables.
pub(crate) async fn list_tables(clients: &Clients, request: ListTables) -> StoreResult<TableNames> {
    let call = Call::of_all_tables();
    let sent = clients
        .reads
        .list_tables()
        .set_exclusive_start_table_name(request.start_after.map(String::from))
        // A limit beyond what the protocol can say is beyond what is allowed.
        .set_limit(
            request
                .limit
                .map(|limit| i32::try_from(limit).unwrap_or(i32::MAX)),
        );
    let answer = send!(call, sent).map_err(|error| call.error(&error))?;
    let names = answer.table_names.unwrap_or_default().into_iter();
    let names = names.map(TableName::try_from).collect::<Result<_, _>>();
    let last = answer.last_evaluated_table_name;
    Ok(TableNames {
        names: names.map_err(unlistable)?,
        last: last
            .map(TableName::try_from)
            .transpose()
            .map_err(unlistable)?,
    })
}

fn unlistable(error: StoreError) -> StoreError {
    StoreError::Unavailable {
        message: format!("the list of tables cannot be read: {error}"),
    }
}

/// The error of a request over several tables. It is refused without a word about which of them
/// is missing, so they are looked at one after the other.
pub(crate) async fn with_missing<'a>(
    clients: &Clients,
    error: StoreError,
    tables: impl Iterator<Item = &'a TableName>,
) -> StoreError {
    if !matches!(error, StoreError::TableNotFound { .. }) {
        return error;
    }
    for table in tables.collect::<BTreeSet<_>>() {
        if let Err(missing @ StoreError::TableNotFound { .. }) = describe(clients, table).await {
            return missing;
        }
    }
    error
}

/// Describes a table in the service's words.
pub(crate) async fn describe(
    clients: &Clients,
    table: &TableName,
) -> StoreResult<types::TableDescription> {
    let call = Call::read(table);
    let sent = clients.reads.describe_table().table_name(table.as_str());
    let answer = send!(call, sent).map_err(|error| call.error(&error))?;
    answer.table.ok_or_else(|| StoreError::Unavailable {
        message: format!("the description of `{table}` is empty"),
    })
}
