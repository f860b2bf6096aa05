//! DescribeLimits: what an account may provision. Nothing is provisioned here, so the answer is
//! what the service grants by default.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::json;
use crate::refusal::Refusal;

#[derive(Deserialize)]
struct Input {}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    account_max_read_capacity_units: u32,
    account_max_write_capacity_units: u32,
    table_max_read_capacity_units: u32,
    table_max_write_capacity_units: u32,
}

pub(crate) fn run(body: &[u8]) -> Result<Bytes, Refusal> {
    let Input {} = json::read(body)?;
    Ok(json::write(&Output {
        account_max_read_capacity_units: 80_000,
        account_max_write_capacity_units: 80_000,
        table_max_read_capacity_units: 40_000,
        table_max_write_capacity_units: 40_000,
    }))
}
