//! PutItem.

use bytes::Bytes;

use super::single_write::{self, WriteSubject};
use super::{Context, written};
use crate::refusal::Refusal;

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (write, returns, asked) = single_write::decode(body, context.cache, WriteSubject::Item)?;
    let old = context.store.put_item(write.into(), returns).await?;
    Ok(written::encode(context.store, asked, old).await)
}
