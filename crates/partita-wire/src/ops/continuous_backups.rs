//! DescribeContinuousBackups and UpdateContinuousBackups. The backup is the server's, of all tables:
//! the flags of the server begin and end it.

use bytes::Bytes;
use partita_store::StoreError;
use partita_store::table::TableName;
use serde::{Deserialize, Serialize};

use super::{Context, table};
use crate::constraints::Constraints;
use crate::json;
use crate::messages;
use crate::parameters;
use crate::refusal::{Fault, Refusal};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    table_name: Option<String>,
    point_in_time_recovery_specification: Option<Specification>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Specification {
    point_in_time_recovery_enabled: Option<bool>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    continuous_backups_description: Description,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Description {
    continuous_backups_status: &'static str,
    point_in_time_recovery_description: PointInTime,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct PointInTime {
    point_in_time_recovery_status: &'static str,
    /// Seconds, as everywhere in this protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    earliest_restorable_date_time: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_restorable_date_time: Option<f64>,
}

pub(crate) async fn describe(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let table = table::decode(body)?;
    demand_table(context, table).await?;
    described(context).await
}

pub(crate) async fn update(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (table, is_enabled) = decode(body)?;
    demand_table(context, table).await?;
    match (is_enabled, context.recovery) {
        (true, None) => Err(Refusal::new(
            Fault::ContinuousBackupsUnavailable,
            messages::NO_BACKUP,
        )),
        (false, Some(_)) => Err(Refusal::validation(messages::BACKUP_OF_THE_SERVER)),
        _ => described(context).await,
    }
}

fn decode(body: &[u8]) -> Result<(TableName, bool), Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let table = parameters::table(&mut constraints, &input.table_name)?;
    let specification = input.point_in_time_recovery_specification;
    let at = "pointInTimeRecoverySpecification";
    constraints.required(at, &specification);
    let is_enabled = specification.and_then(|it| {
        let enabled = it.point_in_time_recovery_enabled;
        constraints.required(&format!("{at}.pointInTimeRecoveryEnabled"), &enabled);
        enabled
    });
    constraints.finish((table, is_enabled))
}

/// These operations have an error of their own for a table that is not there.
async fn demand_table(context: Context<'_>, table: TableName) -> Result<(), Refusal> {
    match context.store.describe_table(&table).await {
        Err(StoreError::TableNotFound { table }) => Err(Refusal::new(
            Fault::TableNotFound,
            messages::no_such_table(&table),
        )),
        described => Ok(described.map(drop)?),
    }
}

async fn described(context: Context<'_>) -> Result<Bytes, Refusal> {
    let moments = match context.recovery {
        None => None,
        Some(recovery) => {
            let looked = recovery.moments().await;
            looked.map_err(|reason| Refusal::new(Fault::InternalServerError, reason))?
        }
    };
    let seconds = |millis: i64| millis as f64 / 1000.0;
    Ok(json::write(&Output {
        continuous_backups_description: Description {
            continuous_backups_status: "ENABLED",
            point_in_time_recovery_description: PointInTime {
                point_in_time_recovery_status: match context.recovery {
                    Some(_) => "ENABLED",
                    None => "DISABLED",
                },
                earliest_restorable_date_time: moments.map(|(first, _)| seconds(first)),
                latest_restorable_date_time: moments.map(|(_, last)| seconds(last)),
            },
        },
    }))
}
