//! GetResourcePolicy. No resource has a policy here: there is one set of credentials, and it may
//! do everything.

use bytes::Bytes;
use serde::Deserialize;

use super::{Context, tags};
use crate::constraints::Constraints;
use crate::json;
use crate::messages;
use crate::refusal::{Fault, Refusal};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    resource_arn: Option<String>,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let input: Input = json::read(body)?;
    let table = tags::resource(Constraints::default(), &input.resource_arn)?;
    let described = context.store.describe_table(&table).await;
    described.map_err(|error| tags::refusal(error, &input.resource_arn))?;
    Err(Refusal::new(
        Fault::PolicyNotFound,
        messages::POLICY_NOT_FOUND,
    ))
}
