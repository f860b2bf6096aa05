//! The tables themselves: created as they are in the source.

use partita_store::request::{
    CreateTable, Scan, TableChange, TableDescription, Tags, UpdateTable, UpdateTimeToLive,
};
use partita_store::table::TableName;
use partita_store::{Store, StoreError, StoreResult};

use super::Marks;
use crate::error::TransferError;

/// A table of the source.
pub(super) struct MovedTable {
    pub(super) name: TableName,
    pub(super) description: TableDescription,
    /// The attribute with the time at which items expire.
    pub(super) expiry: Option<String>,
    tags: Tags,
}

/// The tables as the source has them.
pub(super) async fn describe(
    source: &dyn Store,
    names: &[TableName],
) -> Result<Vec<MovedTable>, TransferError> {
    let mut tables = Vec::new();
    for name in names {
        let table = describe_one(source, name).await;
        tables.push(table.map_err(TransferError::Source)?);
    }
    Ok(tables)
}

async fn describe_one(source: &dyn Store, name: &TableName) -> StoreResult<MovedTable> {
    Ok(MovedTable {
        name: name.clone(),
        description: source.describe_table(name).await?,
        expiry: source.describe_time_to_live(name).await?,
        tags: source.list_tags_of_resource(name).await?,
    })
}

/// Creates a table in the target, or finds it there as it is in the source.
pub(super) async fn create(target: &dyn Store, table: &MovedTable) -> Result<(), TransferError> {
    let mut request = CreateTable::new(table.name.clone(), table.description.schema.clone());
    request.settings = table.description.settings.clone();
    // A stream of everything that is filled in would tell nobody anything.
    request.settings.stream = None;
    request.tags = table.tags.clone();
    let found = match target.describe_table(&table.name).await {
        Err(StoreError::TableNotFound { .. }) => target.create_table(request).await,
        found => found,
    };
    let found = found.map_err(TransferError::Target)?;
    let schema = &table.description.schema;
    let has_index = |index| found.schema.indexes.contains(index);
    if found.schema.key == schema.key && schema.indexes.iter().all(has_index) {
        return Ok(());
    }
    Err(TransferError::OtherTable {
        table: table.name.clone(),
    })
}

/// Whether a table of the target has an item besides the mark.
pub(super) async fn has_items(
    target: &dyn Store,
    table: &MovedTable,
    marks: &Marks,
) -> Result<bool, TransferError> {
    let mut scan = Scan::new(table.name.clone());
    // The mark may be one of them.
    scan.limit = Some(2);
    let page = target
        .scan(scan)
        .await
        .and_then(|page| page.answer.into_parts());
    let page = page.map_err(TransferError::Target)?;
    let key = &table.description.schema.key;
    Ok(page
        .items
        .iter()
        .any(|item| !marks.is_at(&table.name, key, item)))
}

/// Lets items of the target expire, and begins its streams, as in the source.
pub(super) async fn complete(
    target: &dyn Store,
    tables: &[MovedTable],
) -> Result<(), TransferError> {
    for table in tables {
        let done = async {
            complete_expiry(target, table).await?;
            complete_stream(target, table).await
        };
        done.await.map_err(TransferError::Target)?;
    }
    Ok(())
}

async fn complete_expiry(target: &dyn Store, table: &MovedTable) -> StoreResult<()> {
    let Some(attribute) = &table.expiry else {
        return Ok(());
    };
    if target.describe_time_to_live(&table.name).await?.as_ref() == Some(attribute) {
        return Ok(());
    }
    let request = UpdateTimeToLive {
        table: table.name.clone(),
        attribute: attribute.clone(),
        is_enabled: true,
    };
    target.update_time_to_live(request).await
}

async fn complete_stream(target: &dyn Store, table: &MovedTable) -> StoreResult<()> {
    let wanted = table.description.settings.stream;
    let found = target.describe_table(&table.name).await?;
    if wanted.is_none() || found.settings.stream == wanted {
        return Ok(());
    }
    let request = UpdateTable {
        table: table.name.clone(),
        changes: vec![TableChange::Stream(wanted)],
    };
    target.update_table(request).await.map(drop)
}
