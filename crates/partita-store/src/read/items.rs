//! Items that are asked for by their keys: one, a batch, or several at one moment.

use std::collections::{BTreeMap, HashSet};

use partita_core::expression::Projection;
use partita_core::limits::{
    BATCH_GET_BYTES_MAX, BATCH_GET_KEYS_MAX, TRANSACTION_ACTIONS_MAX, TRANSACTION_BYTES_MAX,
};

use crate::capacity::{Consumed, Metered, Rate, read_units};
use crate::error::{CancellationReason, StoreError, StoreResult};
use crate::found::FoundItem;
use crate::request::{BatchGetItem, BatchGot, ItemAddress, TransactGetItems};
use crate::table::TableName;

/// Checks the number of keys of a batch get, and that each is there once.
pub fn check_batch(request: &BatchGetItem) -> StoreResult<()> {
    let count = request.addresses.len();
    if !(1..=BATCH_GET_KEYS_MAX).contains(&count) {
        return Err(StoreError::validation(format!(
            "a batch get has 1 to {BATCH_GET_KEYS_MAX} keys, not {count}"
        )));
    }
    let mut seen = HashSet::new();
    if !request.addresses.iter().all(|address| seen.insert(address)) {
        return Err(StoreError::validation(
            "Provided list of item keys contains duplicates",
        ));
    }
    Ok(())
}

/// Reads one item, as a store does it for itself.
pub trait Items {
    /// The item with these key attributes. The projection must fit its table; see
    /// [`TableSchema::check_projection`](crate::table::TableSchema::check_projection).
    fn item(
        &self,
        address: &ItemAddress,
        projection: Option<&Projection>,
    ) -> StoreResult<Option<FoundItem>>;
}

/// How much memory an item has for each byte that it counts in an answer. Most have less; lists of
/// empty texts have more, and then fewer of them are answered.
const MEMORY_PER_BYTE: usize = 16;

/// Answers a batch get from a store's items.
pub fn batch(request: &BatchGetItem, items: &impl Items) -> StoreResult<Metered<Vec<BatchGot>>> {
    check_batch(request)?;
    let mut metered = Metered::<Vec<BatchGot>>::default();
    let mut bytes = 0;
    for address in &request.addresses {
        let projection = request.projections.get(&address.table);
        let item = items.item(address, projection)?;
        if bytes >= BATCH_GET_BYTES_MAX {
            metered.answer.push(BatchGot::Unprocessed);
            continue;
        }
        let size = item.as_ref().map_or(0, FoundItem::size);
        let memory = item.as_ref().map_or(0, FoundItem::memory);
        bytes += size.max(memory / MEMORY_PER_BYTE);
        let rate = Rate::of_read(!request.eventual.contains(&address.table));
        let consumed = metered.consumed.entry(address.table.clone()).or_default();
        consumed.read += read_units(size, rate);
        let item = shown(item, projection)?;
        metered
            .answer
            .push(item.map_or(BatchGot::Missing, BatchGot::Found));
    }
    Ok(metered)
}

/// Checks the number of items of a transactional get, and that each is there once.
pub fn check_transaction(request: &TransactGetItems) -> StoreResult<()> {
    let count = request.gets.len();
    if !(1..=TRANSACTION_ACTIONS_MAX).contains(&count) {
        return Err(StoreError::validation(format!(
            "a transaction has 1 to {TRANSACTION_ACTIONS_MAX} actions, not {count}"
        )));
    }
    let mut seen = HashSet::new();
    if !request.gets.iter().all(|(address, _)| seen.insert(address)) {
        return Err(StoreError::validation(
            "Transaction request cannot include multiple operations on one item",
        ));
    }
    Ok(())
}

/// Answers a transactional get from a store's items at one moment. A key that does not fit its
/// table cancels the transaction.
pub fn transaction(
    request: &TransactGetItems,
    items: &impl Items,
) -> StoreResult<Metered<Vec<Option<FoundItem>>>> {
    check_transaction(request)?;
    let mut metered = Metered::<Vec<Option<FoundItem>>>::default();
    let mut reasons = Vec::with_capacity(request.gets.len());
    let mut bytes = 0;
    for (address, projection) in &request.gets {
        let item = match items.item(address, projection.as_ref()) {
            Ok(item) => item,
            Err(StoreError::Validation { message }) => {
                reasons.push(CancellationReason::Validation { message });
                continue;
            }
            Err(error) => return Err(error),
        };
        reasons.push(CancellationReason::None);
        let size = item.as_ref().map_or(0, FoundItem::size);
        bytes += size;
        let consumed = metered.consumed.entry(address.table.clone()).or_default();
        consumed.read += read_units(size, Rate::Transaction);
        metered.answer.push(shown(item, projection.as_ref())?);
    }
    if metered.answer.len() < reasons.len() {
        return Err(StoreError::TransactionCanceled { reasons });
    }
    if bytes > TRANSACTION_BYTES_MAX {
        Err(StoreError::validation(
            "The aggregate size of the items in the transaction cannot exceed 4 MB",
        ))
    } else {
        Ok(metered)
    }
}

/// Answers a get from a store's item.
pub fn one(
    table: &TableName,
    item: Option<FoundItem>,
    projection: Option<&Projection>,
    consistent: bool,
) -> StoreResult<Metered<Option<FoundItem>>> {
    let size = item.as_ref().map_or(0, FoundItem::size);
    let consumed = Consumed {
        read: read_units(size, Rate::of_read(consistent)),
        ..Consumed::default()
    };
    Ok(Metered {
        answer: shown(item, projection)?,
        consumed: BTreeMap::from([(table.clone(), consumed)]),
    })
}

/// What is answered of an item: one of which nothing was asked for is there even so.
fn shown(
    item: Option<FoundItem>,
    projection: Option<&Projection>,
) -> StoreResult<Option<FoundItem>> {
    Ok(match (item, projection) {
        (Some(item), Some(projection)) => Some(projection.apply(&item.into_item()?).into()),
        (item, _) => item,
    })
}
