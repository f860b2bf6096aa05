//! DescribeTimeToLive.

use bytes::Bytes;
use serde::Serialize;

use super::{Context, table};
use crate::json;
use crate::refusal::Refusal;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    time_to_live_description: Description,
}

/// ENABLING and DISABLING are missing: what is asked for is so at once.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Description {
    time_to_live_status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    attribute_name: Option<String>,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let table = table::decode(body)?;
    let attribute = context.store.describe_time_to_live(&table).await;
    Ok(encode(attribute.map_err(table::refusal)?))
}

fn encode(attribute_name: Option<String>) -> Bytes {
    json::write(&Output {
        time_to_live_description: Description {
            time_to_live_status: match attribute_name {
                Some(_) => "ENABLED",
                None => "DISABLED",
            },
            attribute_name,
        },
    })
}
