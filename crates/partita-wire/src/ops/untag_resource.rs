//! UntagResource.

use bytes::Bytes;
use serde::Deserialize;

use super::{Context, tags};
use crate::constraints::Constraints;
use crate::json;
use crate::messages;
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    resource_arn: Option<String>,
    tag_keys: Option<Vec<String>>,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    constraints.required("tagKeys", &input.tag_keys);
    let table = tags::resource(constraints, &input.resource_arn)?;
    let keys = input.tag_keys.unwrap_or_default();
    if keys.is_empty() {
        return Err(Refusal::validation(messages::NO_TAG_KEYS));
    }
    let untagged = context.store.untag_resource(&table, keys).await;
    untagged.map_err(|error| tags::refusal(error, &input.resource_arn))?;
    Ok(Bytes::new())
}
