//! Reading several items: asked by table, answered in the request's order.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::types::KeysAndAttributes;
use partita_core::expression::{Path, Projection, Renderer};
use partita_core::{Item, Name};
use partita_store::capacity::Metered;
use partita_store::read::check_batch;
use partita_store::request::{BatchGetItem, BatchGot, ItemAddress};
use partita_store::table::TableName;
use partita_store::{StoreError, StoreResult};

use crate::capacity::{BY_INDEX, CapacityKind, metered};
use crate::connect::Clients;
use crate::convert::{Attributes, Unreadable, from_attributes, to_attributes};
use crate::error::{Call, send};
use crate::expressions::Placeholders;
use crate::tables::with_missing;

/// Reads several items.
pub(crate) async fn batch_get_item(
    clients: &Clients,
    request: BatchGetItem,
) -> StoreResult<Metered<Vec<BatchGot>>> {
    check_batch(&request)?;
    let by_table = by_table(&request)?;
    let call = Call::read(&request.addresses[0].table);
    let sent = clients
        .reads
        .batch_get_item()
        .set_request_items(Some(by_table))
        .return_consumed_capacity(BY_INDEX);
    let answer = match send!(call, sent) {
        Ok(answer) => answer,
        Err(error) => {
            let tables = request.addresses.iter().map(|address| &address.table);
            return Err(with_missing(clients, call.error(&error), tables).await);
        }
    };
    let found = Answers::read(answer.responses.unwrap_or_default())?;
    let unprocessed = answer.unprocessed_keys.unwrap_or_default();
    let unprocessed = unprocessed
        .into_iter()
        .map(|(table, rest)| (table, rest.keys));
    let unprocessed = Answers::read(unprocessed.collect())?;
    let got = |address: &ItemAddress| match found.at(address) {
        Some(item) => BatchGot::Found(asked_for(&request, address, item.clone()).into()),
        None if unprocessed.at(address).is_some() => BatchGot::Unprocessed,
        None => BatchGot::Missing,
    };
    let answers = request.addresses.iter().map(got).collect();
    let consumed = answer.consumed_capacity.unwrap_or_default();
    Ok(metered(answers, CapacityKind::Read, consumed))
}

fn by_table(request: &BatchGetItem) -> StoreResult<HashMap<String, KeysAndAttributes>> {
    let mut keys: HashMap<&TableName, Vec<&Item>> = HashMap::new();
    for ItemAddress { table, key } in &request.addresses {
        keys.entry(table).or_default().push(key);
    }
    let asked = |(table, keys): (&TableName, Vec<&Item>)| {
        let mut renderer = Renderer::default();
        let projection = match request.projections.get(table) {
            Some(projection) => Some(renderer.projection(&with_keys(projection, &keys)?)),
            None => None,
        };
        let Placeholders { names, .. } = renderer.into();
        let keys = keys.into_iter().map(to_attributes).collect();
        let asked = KeysAndAttributes::builder()
            .set_keys(Some(keys))
            .set_projection_expression(projection)
            .set_expression_attribute_names(names)
            .consistent_read(!request.eventual.contains(table))
            .build()
            .map_err(|error| StoreError::validation(error.to_string()))?;
        Ok((table.to_string(), asked))
    };
    keys.into_iter().map(asked).collect()
}

/// The projection with the keys, by which the answers are assigned to requests. A path into a key
/// leads nowhere, and would overlap with that of the key.
fn with_keys(projection: &Projection, keys: &[&Item]) -> StoreResult<Projection> {
    let names = keys.iter().flat_map(|key| key.keys());
    let names: BTreeSet<&str> = names.map(Name::as_str).collect();
    let others = projection.paths().iter();
    let others = others
        .filter(|path| !names.contains(path.root.as_str()))
        .cloned();
    let keys = names.iter().map(|name| Path::attribute(*name));
    Ok(Projection::new(others.chain(keys).collect())?)
}

/// The item without the keys that only this crate asked for.
fn asked_for(request: &BatchGetItem, address: &ItemAddress, mut item: Item) -> Item {
    if let Some(projection) = request.projections.get(&address.table) {
        let is_asked_for = |name: &str| {
            let mut paths = projection.paths().iter();
            paths.any(|path| path.root == name && path.steps.is_empty())
        };
        item.retain(|name, _| !address.key.contains_key(name) || is_asked_for(name));
    }
    item
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

    /// The item with this key. No schema is needed: the key in the request names the attributes to
    /// compare. A hundred items need no index.
    fn at(&self, address: &ItemAddress) -> Option<&Item> {
        let mut items = self.0.get(address.table.as_str())?.iter();
        items.find(|item| {
            let mut key = address.key.iter();
            key.all(|(name, value)| item.get(name) == Some(value))
        })
    }
}
