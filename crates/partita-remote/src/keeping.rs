//! How Amazon keeps a table: the key that encrypts it, and recovery to any moment.

use std::time::Duration;

use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::types::{
    PointInTimeRecoverySpecification, PointInTimeRecoveryStatus, SseSpecification, SseStatus,
    SseType, TableDescription,
};
use partita_store::settings::{Encryption, Keeping};
use partita_store::table::TableName;
use partita_store::{StoreError, StoreResult};

use crate::connect::Clients;
use crate::error::{Call, send};
use crate::tables;

/// How often a table whose backups are not there yet is asked again.
const POLL: Duration = Duration::from_millis(500);

/// What encrypts a new table; nothing where it is what every table has.
pub(crate) fn encryption(encryption: &Encryption) -> Option<SseSpecification> {
    let key = match encryption {
        Encryption::Owned => return None,
        Encryption::Managed => None,
        Encryption::Key(key) => Some(key.clone()),
    };
    let specification = SseSpecification::builder()
        .enabled(true)
        .sse_type(SseType::Kms)
        .set_kms_master_key_id(key);
    Some(specification.build())
}

/// Has a table kept so that it can be brought back to any moment. A new table may have no backups
/// for a while, and is asked again until then.
pub(crate) async fn begin_recovery(
    clients: &Clients,
    patience: Duration,
    table: &TableName,
) -> StoreResult<()> {
    let begun = tokio::time::timeout(patience, async {
        loop {
            match request_recovery(clients, table).await {
                Err(Refused::NotYet) => tokio::time::sleep(POLL).await,
                Err(Refused::For(error)) => return Err(error),
                Ok(()) => return Ok(()),
            }
        }
    });
    begun.await.unwrap_or_else(|_| {
        let message = format!("the table `{table}` has no recovery after {patience:?}");
        Err(StoreError::OutcomeUnknown { message })
    })
}

enum Refused {
    NotYet,
    For(StoreError),
}

async fn request_recovery(clients: &Clients, table: &TableName) -> Result<(), Refused> {
    let specification = PointInTimeRecoverySpecification::builder()
        .point_in_time_recovery_enabled(true)
        .build()
        .map_err(|error| Refused::For(StoreError::validation(error.to_string())))?;
    let call = Call::write(table);
    let sent = clients
        .writes
        .update_continuous_backups()
        .table_name(table.as_str())
        .point_in_time_recovery_specification(specification);
    match send!(call, sent) {
        Ok(_) => Ok(()),
        Err(error) => match error.code() {
            Some("ContinuousBackupsUnavailableException") => Err(Refused::NotYet),
            // DynamoDB Local has no backups.
            Some(UNKNOWN) => Ok(()),
            _ => Err(Refused::For(call.error(&error))),
        },
    }
}

/// What a service says to an operation that it does not have.
const UNKNOWN: &str = "UnknownOperationException";

/// How a table is kept; nothing where the service has no backups, as DynamoDB Local.
pub(crate) async fn describe_keeping(
    clients: &Clients,
    table: &TableName,
) -> StoreResult<Option<Keeping>> {
    let described = tables::describe(clients, table).await?;
    let call = Call::read(table);
    let sent = clients.reads.describe_continuous_backups();
    let answer = match send!(call, sent.table_name(table.as_str())) {
        Err(error) if error.code() == Some(UNKNOWN) => return Ok(None),
        answer => answer.map_err(|error| call.error(&error))?,
    };
    let backups = answer.continuous_backups_description;
    let recovery = backups.and_then(|found| found.point_in_time_recovery_description);
    let status = recovery.and_then(|found| found.point_in_time_recovery_status);
    Ok(Some(Keeping {
        encryption: encryption_of(&described),
        has_recovery: status == Some(PointInTimeRecoveryStatus::Enabled),
    }))
}

/// The key of a table. Amazon names the account's own by its ARN, too.
fn encryption_of(described: &TableDescription) -> Encryption {
    let found = described.sse_description();
    let is_on = |status: &SseStatus| {
        matches!(
            status,
            SseStatus::Enabled | SseStatus::Enabling | SseStatus::Updating
        )
    };
    let found = found.filter(|found| found.status().is_some_and(is_on));
    match found.map(|found| found.kms_master_key_arn()) {
        None => Encryption::Owned,
        Some(None) => Encryption::Managed,
        Some(Some(key)) => Encryption::Key(key.to_owned()),
    }
}
