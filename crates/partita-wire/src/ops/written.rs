//! The answer that PutItem, UpdateItem and DeleteItem share.

use bytes::Bytes;
use partita_core::Item;
use serde::Serialize;

use crate::json;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<Item>,
}

/// The attributes that ReturnValues asked for, if there are any.
pub(super) fn encode(attributes: Option<Item>) -> Bytes {
    json::write(&Output { attributes })
}
