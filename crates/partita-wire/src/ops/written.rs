//! The answer that PutItem, UpdateItem and DeleteItem share.

use bytes::Bytes;
use partita_core::Item;
use partita_store::capacity::Metered;
use serde::Serialize;

use super::consumed::ConsumedCapacity;
use crate::json;
use crate::parameters::ReturnConsumedCapacity;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumed_capacity: Option<ConsumedCapacity>,
}

/// The attributes that ReturnValues asked for, if there are any.
pub(super) fn encode(capacity: ReturnConsumedCapacity, written: Metered<Option<Item>>) -> Bytes {
    let Metered { answer, consumed } = written;
    json::write(&Output {
        attributes: answer,
        consumed_capacity: capacity.of_one(&consumed),
    })
}
