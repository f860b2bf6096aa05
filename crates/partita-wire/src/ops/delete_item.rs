//! DeleteItem.

use bytes::Bytes;
use partita_store::request::DeleteItem;

use super::single_write::{self, Decoded, Subject};
use super::{Context, written};
use crate::refusal::Refusal;

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let Decoded {
        table,
        subject: key,
        condition,
        return_item_on_failure,
        returns,
        asked,
    } = single_write::decode(body, context.cache, Subject::Key)?;
    let request = DeleteItem {
        table,
        key,
        condition,
        return_item_on_failure,
    };
    let old = context.store.delete_item(request, returns).await?;
    Ok(written::encode(context.store, asked, old).await)
}
