//! DescribeEndpoints: where clients that discover endpoints go on. They found this server, so it
//! is the host that they have just asked; the answer is good for a day, as the service's is.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::json;
use crate::refusal::Refusal;

const CACHE_PERIOD_MINUTES: u32 = 1440;

#[derive(Deserialize)]
struct Input {}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    endpoints: [Endpoint; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Endpoint {
    address: String,
    cache_period_in_minutes: u32,
}

pub(crate) fn run(host: Option<&str>, body: &[u8]) -> Result<Bytes, Refusal> {
    let Input {} = json::read(body)?;
    Ok(json::write(&Output {
        endpoints: [Endpoint {
            address: host.unwrap_or("localhost").to_owned(),
            cache_period_in_minutes: CACHE_PERIOD_MINUTES,
        }],
    }))
}
