//! Reading several items: asked by table, answered in the request's order.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::types::KeysAndAttributes;
use partita_core::Item;
use partita_store::read::check_batch;
use partita_store::request::{BatchGetItem, BatchGot, ItemAddress};
use partita_store::table::TableName;
use partita_store::{StoreError, StoreResult};

use crate::connect::Clients;
use crate::convert::{Attributes, Unreadable, from_attributes, to_attributes};
use crate::error::Call;
use crate::tables::first_missing;

/// Reads several items.
pub(crate) async fn batch_get_item(
    clients: &Clients,
    request: BatchGetItem,
) -> StoreResult<Vec<BatchGot>> {
    check_batch(&request)?;
    let by_table = by_table(&request)?;
    let call = Call::read(&request.addresses[0].table);
    let answer = clients
        .reads
        .batch_get_item()
        .set_request_items(Some(by_table))
        .customize()
        .interceptor(call.interceptor())
        .send()
        .await;
    let answer = match answer.map_err(|error| call.error(&error)) {
        Ok(answer) => answer,
        Err(StoreError::TableNotFound { table }) => {
            let tables: HashSet<_> = request.addresses.iter().map(|a| &a.table).collect();
            let table = first_missing(clients, tables).await.unwrap_or(table);
            return Err(StoreError::TableNotFound { table });
        }
        Err(error) => return Err(error),
    };
    let found = Answers::read(answer.responses.unwrap_or_default())?;
    let unprocessed = answer.unprocessed_keys.unwrap_or_default();
    let unprocessed = unprocessed
        .into_iter()
        .map(|(table, rest)| (table, rest.keys));
    let unprocessed = Answers::read(unprocessed.collect())?;
    Ok(request
        .addresses
        .into_iter()
        .map(|address| match found.at(&address) {
            Some(item) => BatchGot::Found(item.clone()),
            None if unprocessed.at(&address).is_some() => BatchGot::Unprocessed,
            None => BatchGot::Missing,
        })
        .collect())
}

fn by_table(request: &BatchGetItem) -> StoreResult<HashMap<String, KeysAndAttributes>> {
    let mut keys: HashMap<&TableName, Vec<Attributes>> = HashMap::new();
    for ItemAddress { table, key } in &request.addresses {
        keys.entry(table).or_default().push(to_attributes(key));
    }
    keys.into_iter()
        .map(|(table, keys)| {
            let keys = KeysAndAttributes::builder()
                .set_keys(Some(keys))
                .consistent_read(request.consistent)
                .build()
                .map_err(|error| StoreError::validation(error.to_string()))?;
            Ok((table.to_string(), keys))
        })
        .collect()
}

/// Items by table, to be found again by their keys.
struct Answers(HashMap<String, Vec<Item>>);

impl Answers {
    fn read(tables: HashMap<String, Vec<Attributes>>) -> StoreResult<Self> {
        let mut answers = HashMap::new();
        for (table, items) in tables {
            let items: Result<_, _> = items.into_iter().map(from_attributes).collect();
            answers.insert(table, items.map_err(Unreadable::after_read)?);
        }
        Ok(Answers(answers))
    }

    /// The item with this key. No schema is needed: the request's own key attributes tell which
    /// of an item's attributes to look at. A hundred items need no index.
    fn at(&self, address: &ItemAddress) -> Option<&Item> {
        let mut items = self.0.get(address.table.as_str())?.iter();
        items.find(|item| {
            let mut key = address.key.iter();
            key.all(|(name, value)| item.get(name) == Some(value))
        })
    }
}
