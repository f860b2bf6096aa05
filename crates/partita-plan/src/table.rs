//! The tables that a design lives in: created with everything that the design says of them, or
//! found as the design needs them.

use partita_design::design::Table;
use partita_store::request::{CreateTable, UpdateTimeToLive};
use partita_store::stream::StreamView;
use partita_store::table::TableName;
use partita_store::{Store, StoreError};

use crate::blueprint::{Blueprint, schema};
use crate::error::PlanError;
use crate::sidecar;

/// Creates the tables that are not there, and refuses those that are not the design's.
pub(crate) async fn prepare(blueprint: &Blueprint, store: &dyn Store) -> Result<(), PlanError> {
    let design = &blueprint.design.name;
    for (table, name) in blueprint.tables() {
        prepare_one(design, table, name, store).await?;
        prepare_expiry(table, name, store).await?;
    }
    sidecar::prepare(&blueprint.sidecar, store).await
}

async fn prepare_one(
    design: &str,
    designed: &Table,
    table: &TableName,
    store: &dyn Store,
) -> Result<(), PlanError> {
    let mut request = CreateTable::new(table.clone(), schema(designed)?);
    request.settings.stream = stream_view(designed);
    let expected = request.schema.clone();
    let found = match store.describe_table(table).await {
        // Another process may create it at the same moment.
        Err(StoreError::TableNotFound { .. }) => match store.create_table(request).await {
            Err(StoreError::TableExists { .. }) => store.describe_table(table).await?,
            created => created?,
        },
        described => described?,
    };
    let refuse = |what: String| Err(refusal(table, &what));
    if found.schema.key != expected.key {
        return refuse(format!("has other keys than the design `{design}`"));
    }
    // Indexes that somebody added are no business of the design's.
    for index in &expected.indexes {
        match found
            .schema
            .indexes
            .iter()
            .find(|one| one.name == index.name)
        {
            None => return refuse(format!("lacks the index `{}`", index.name)),
            Some(one) if one.partition != index.partition || one.sort != index.sort => {
                return refuse(format!("has other keys in its index `{}`", index.name));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Lets items expire by the attribute that the design names.
async fn prepare_expiry(
    designed: &Table,
    table: &TableName,
    store: &dyn Store,
) -> Result<(), PlanError> {
    let Some(attribute) = &designed.ttl else {
        return Ok(());
    };
    match store.describe_time_to_live(table).await? {
        Some(found) if found == *attribute => Ok(()),
        Some(found) => {
            let what = format!("lets items expire by `{found}`, not by `{attribute}`");
            Err(refusal(table, &what))
        }
        None => expire_by(attribute, table, store).await,
    }
}

/// Lets the items of a table expire by an attribute.
pub(crate) async fn expire_by(
    attribute: &str,
    table: &TableName,
    store: &dyn Store,
) -> Result<(), PlanError> {
    let request = UpdateTimeToLive {
        table: table.clone(),
        attribute: attribute.to_owned(),
        is_enabled: true,
    };
    let Err(error) = store.update_time_to_live(request).await else {
        return Ok(());
    };
    // Another process may have done it at the same moment.
    match store.describe_time_to_live(table).await? {
        Some(found) if found == attribute => Ok(()),
        _ => Err(error.into()),
    }
}

/// What the table's stream tells of a change, in the design's words.
fn stream_view(table: &Table) -> Option<StreamView> {
    match table.settings.stream.as_deref()? {
        "keys-only" => Some(StreamView::KeysOnly),
        "new-image" => Some(StreamView::NewImage),
        "old-image" => Some(StreamView::OldImage),
        _ => Some(StreamView::NewAndOldImages),
    }
}

fn refusal(table: &TableName, what: &str) -> PlanError {
    PlanError::Store(StoreError::validation(format!(
        "the table `{table}` {what}; name another table"
    )))
}
