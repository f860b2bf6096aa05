//! ListTagsOfResource. All fifty tags that a table may have fit on one page.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

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
    next_token: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    tags: Vec<Tag>,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let input: Input = json::read(body)?;
    let table = tags::resource(Constraints::default(), &input.resource_arn)?;
    // There is no second page, so this token is not one of ours.
    if input.next_token.is_some() {
        return Err(Refusal::validation(messages::INVALID_NEXT_TOKEN));
    }
    let tags = context.store.list_tags_of_resource(&table).await;
    let tags = tags.map_err(|error| tags::refusal(error, &input.resource_arn))?;
    Ok(json::write(&Output {
        tags: tags::listed(tags),
    }))
}
