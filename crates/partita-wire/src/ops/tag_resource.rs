//! TagResource.

use bytes::Bytes;
use serde::Deserialize;

use super::Context;
use super::tags::{self, Tag};
use crate::constraints::Constraints;
use crate::json;
use crate::messages;
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    resource_arn: Option<String>,
    tags: Option<Vec<Tag>>,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    constraints.required("tags", &input.tags);
    let table = tags::resource(constraints, &input.resource_arn)?;
    let list = input.tags.unwrap_or_default();
    if list.is_empty() {
        return Err(Refusal::validation(messages::NO_TAGS));
    }
    let tagged = context.store.tag_resource(&table, tags::given(list)?).await;
    tagged.map_err(|error| tags::refusal(error, &input.resource_arn))?;
    Ok(Bytes::new())
}
