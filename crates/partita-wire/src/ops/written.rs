//! The answer that PutItem, UpdateItem and DeleteItem share.

use bytes::Bytes;
use partita_core::Item;
use partita_store::Store;
use partita_store::capacity::Metered;
use serde::Serialize;

use super::collections::{ItemCollectionMetrics, Touched};
use super::consumed::ConsumedCapacity;
use crate::json;
use crate::parameters::ReturnConsumedCapacity;

/// What the answer contains besides the attributes.
pub(super) struct ReturnWish {
    pub(super) capacity: ReturnConsumedCapacity,
    pub(super) touched: Touched,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumed_capacity: Option<ConsumedCapacity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item_collection_metrics: Option<ItemCollectionMetrics>,
}

/// The attributes that ReturnValues asked for, if there are any.
pub(super) async fn encode(
    store: &dyn Store,
    asked: ReturnWish,
    written: Metered<Option<Item>>,
) -> Bytes {
    let Metered { answer, consumed } = written;
    json::write(&Output {
        attributes: answer,
        consumed_capacity: asked.capacity.of_one(&consumed),
        item_collection_metrics: asked.touched.measure_one(store).await,
    })
}
