//! The table that a design lives in: created with everything that the design says of it, or
//! found as the design needs it.

use partita_store::request::{CreateTable, UpdateTimeToLive};
use partita_store::stream::StreamView;
use partita_store::table::TableName;
use partita_store::{Store, StoreError};

use crate::blueprint::Blueprint;
use crate::error::PlanError;
use crate::sidecar;

/// Creates the table if it is not there, and refuses one that is not the design's.
pub(crate) async fn prepare(blueprint: &Blueprint, store: &dyn Store) -> Result<(), PlanError> {
    let table = &blueprint.table;
    let mut request = CreateTable::new(table.clone(), blueprint.schema()?);
    request.settings.stream = stream_view(blueprint);
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
        let name = &blueprint.design.name;
        return refuse(format!("has other keys than the design `{name}`"));
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
    prepare_expiry(blueprint, store).await?;
    sidecar::prepare(&blueprint.sidecar, store).await
}

/// Lets items expire by the attribute that the design names.
async fn prepare_expiry(blueprint: &Blueprint, store: &dyn Store) -> Result<(), PlanError> {
    let table = &blueprint.table;
    let Some(attribute) = &blueprint.design.table.ttl else {
        return Ok(());
    };
    match store.describe_time_to_live(table).await? {
        Some(found) if found == *attribute => Ok(()),
        Some(found) => {
            let what = format!("lets items expire by `{found}`, not by `{attribute}`");
            Err(refusal(table, &what))
        }
        None => {
            let request = UpdateTimeToLive {
                table: table.clone(),
                attribute: attribute.clone(),
                is_enabled: true,
            };
            Ok(store.update_time_to_live(request).await?)
        }
    }
}

/// What the table's stream tells of a change, in the design's words.
fn stream_view(blueprint: &Blueprint) -> Option<StreamView> {
    match blueprint.design.table.settings.stream.as_deref()? {
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
