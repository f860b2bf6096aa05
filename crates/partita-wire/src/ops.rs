//! The operations, by name. Each has a file of its own with three parts: `decode` and `encode`,
//! which are pure, and `run`, which puts a store between them.
//!
//! To add one, add its file and its line in [`run`]. What has no line is an
//! UnknownOperationException: today PartiQL, backups, import and export, and what exists only in
//! Amazon's cloud.

mod batch_get_item;
mod create_table;
mod delete_item;
mod describe_endpoints;
mod describe_limits;
mod describe_table;
mod get_item;
mod page;
mod put_item;
mod query;
mod scan;
mod table;
mod transact_write_items;
mod update_item;
mod written;

use bytes::Bytes;
use partita_core::expression::ExpressionCache;
use partita_store::Store;

use crate::refusal::{Fault, Refusal};
use crate::sigv4::Verified;

/// What an operation may use.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) store: &'a dyn Store,
    /// The expressions that were read before.
    pub(crate) cache: &'a ExpressionCache,
    /// What the client calls this server.
    pub(crate) host: Option<&'a str>,
}

/// Runs the operation of a request that may be carried out.
pub(crate) async fn run(
    _: Verified,
    operation: &str,
    context: Context<'_>,
    body: &[u8],
) -> Result<Bytes, Refusal> {
    match operation {
        "BatchGetItem" => batch_get_item::run(context, body).await,
        "CreateTable" => create_table::run(context, body).await,
        "DeleteItem" => delete_item::run(context, body).await,
        "DescribeEndpoints" => describe_endpoints::run(context.host, body),
        "DescribeLimits" => describe_limits::run(body),
        "DescribeTable" => describe_table::run(context, body).await,
        "GetItem" => get_item::run(context, body).await,
        "PutItem" => put_item::run(context, body).await,
        "Query" => query::run(context, body).await,
        "Scan" => scan::run(context, body).await,
        "TransactWriteItems" => transact_write_items::run(context, body).await,
        "UpdateItem" => update_item::run(context, body).await,
        _ => Err(Refusal::silent(Fault::UnknownOperation)),
    }
}
