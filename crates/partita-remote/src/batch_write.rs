//! Writing several items, each for itself.

use std::collections::HashMap;

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{DeleteRequest, PutRequest, WriteRequest};
use partita_store::capacity::Metered;
use partita_store::request::{BatchWrite, BatchWriteItem, ItemAddress};
use partita_store::table::TableName;
use partita_store::{StoreError, StoreResult};

use crate::capacity::{BY_INDEX, CapacityKind, metered};
use crate::connect::Clients;
use crate::convert::{Unreadable, from_attributes, to_attributes};
use crate::error::{Call, send};
use crate::tables::with_missing;

/// Writes several items; answers with those that there was no room for.
pub(crate) async fn batch_write_item(
    clients: &Clients,
    request: BatchWriteItem,
) -> StoreResult<Metered<Vec<BatchWrite>>> {
    let mut by_table: HashMap<String, Vec<WriteRequest>> = HashMap::new();
    for write in &request.writes {
        let built = to_request(write).map_err(|error| StoreError::validation(error.to_string()))?;
        let table = table_of(write).to_string();
        by_table.entry(table).or_default().push(built);
    }
    let call = match request.writes.first() {
        Some(write) => Call::write(table_of(write)),
        // Nothing to write is for the service to refuse.
        None => Call::of_all_tables(),
    };
    let sent = clients
        .writes
        .batch_write_item()
        .set_request_items(Some(by_table))
        .return_consumed_capacity(BY_INDEX);
    let answer = match send!(call, sent) {
        Ok(answer) => answer,
        Err(error) => {
            let tables = request.writes.iter().map(table_of);
            return Err(with_missing(clients, call.error(&error), tables).await);
        }
    };
    let rest = unprocessed(answer.unprocessed_items.unwrap_or_default())?;
    let consumed = answer.consumed_capacity.unwrap_or_default();
    Ok(metered(rest, CapacityKind::Write, consumed))
}

fn table_of(write: &BatchWrite) -> &TableName {
    match write {
        BatchWrite::Put { table, .. } | BatchWrite::Delete(ItemAddress { table, .. }) => table,
    }
}

fn to_request(write: &BatchWrite) -> Result<WriteRequest, BuildError> {
    let request = WriteRequest::builder();
    Ok(match write {
        BatchWrite::Put { item, .. } => {
            let put = PutRequest::builder().set_item(Some(to_attributes(item)));
            request.put_request(put.build()?)
        }
        BatchWrite::Delete(ItemAddress { key, .. }) => {
            let delete = DeleteRequest::builder().set_key(Some(to_attributes(key)));
            request.delete_request(delete.build()?)
        }
    }
    .build())
}

fn unprocessed(tables: HashMap<String, Vec<WriteRequest>>) -> StoreResult<Vec<BatchWrite>> {
    let mut writes = Vec::new();
    for (name, requests) in tables {
        let table: TableName = name.parse().map_err(unclear)?;
        for request in requests {
            if let Some(put) = request.put_request {
                let item = from_attributes(put.item).map_err(Unreadable::after_write)?;
                let table = table.clone();
                writes.push(BatchWrite::Put { table, item });
            }
            if let Some(delete) = request.delete_request {
                let key = from_attributes(delete.key).map_err(Unreadable::after_write)?;
                let table = table.clone();
                writes.push(BatchWrite::Delete(ItemAddress { table, key }));
            }
        }
    }
    Ok(writes)
}

/// Unprocessed items of a table that was not in the request: what was written is unknown.
fn unclear(error: StoreError) -> StoreError {
    StoreError::OutcomeUnknown {
        message: error.to_string(),
    }
}
