//! The answer that PutItem, UpdateItem and DeleteItem share.

use bytes::Bytes;
use partita_core::Item;
use partita_core::expression::Projection;
use serde::Serialize;

use crate::json;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<Item>,
}

/// The attributes that ReturnValues asked for, if there are any; of an update perhaps only the
/// parts that it wrote to.
pub(super) fn encode(item: Option<Item>, parts: Option<&Projection>) -> Bytes {
    let attributes = match parts {
        Some(parts) => item
            .map(|item| parts.apply(&item))
            .filter(|parts| !parts.is_empty()),
        None => item,
    };
    json::write(&Output { attributes })
}
