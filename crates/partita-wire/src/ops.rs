//! The operations, by name. Each has a file of its own with three parts: `decode` and `encode`,
//! which are pure, and `run`, which puts a store between them.
//!
//! To add one, add its file, its line in [`run`] and its name in [`NAMES`]. What has no line is an
//! UnknownOperationException: backups on demand, import and export, and what exists only in
//! Amazon's cloud.

mod batch_execute_statement;
mod batch_get_item;
mod batch_write_item;
mod collections;
mod consumed;
mod continuous_backups;
mod create_table;
mod delete_item;
mod delete_table;
mod describe_endpoints;
mod describe_limits;
mod describe_stream;
mod describe_table;
mod describe_time_to_live;
mod execute_statement;
mod execute_transaction;
mod get_item;
mod get_records;
mod get_resource_policy;
mod get_shard_iterator;
mod list_streams;
mod list_tables;
mod list_tags_of_resource;
mod page;
mod put_item;
mod query;
mod scan;
mod schema;
mod single_write;
mod stream;
mod table;
mod tag_resource;
mod tags;
mod transact_get_items;
mod transact_write_items;
mod untag_resource;
mod update_item;
mod update_table;
mod update_time_to_live;
mod written;

use bytes::Bytes;
use partita_core::expression::ExpressionCache;
use partita_store::Store;

use crate::messages;
use crate::partiql::NextTokens;
use crate::recovery::Recovery;
use crate::refusal::{Fault, Refusal};
use crate::sigv4::Verified;

/// What an operation may use.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) store: &'a dyn Store,
    /// The expressions that were read before.
    pub(crate) cache: &'a ExpressionCache,
    /// What makes and reads the tokens of statements.
    pub(crate) next_tokens: &'a NextTokens,
    /// What the client calls this server.
    pub(crate) host: Option<&'a str>,
    /// The backup behind the server, if there is one.
    pub(crate) recovery: Option<&'a dyn Recovery>,
}

/// The version of the API that a target begins with.
const DYNAMODB: &str = "DynamoDB_20120810";
/// That of streams, which is an API of its own.
const STREAMS: &str = "DynamoDBStreams_20120810";

/// The names of the operations, for metrics.
pub(crate) const NAMES: [&str; 32] = [
    "BatchExecuteStatement",
    "BatchGetItem",
    "BatchWriteItem",
    "CreateTable",
    "DeleteItem",
    "DeleteTable",
    "DescribeContinuousBackups",
    "DescribeEndpoints",
    "DescribeLimits",
    "DescribeTable",
    "DescribeTimeToLive",
    "ExecuteStatement",
    "ExecuteTransaction",
    "GetItem",
    "GetResourcePolicy",
    "ListTables",
    "ListTagsOfResource",
    "PutItem",
    "Query",
    "Scan",
    "TagResource",
    "TransactGetItems",
    "TransactWriteItems",
    "UntagResource",
    "UpdateContinuousBackups",
    "UpdateItem",
    "UpdateTable",
    "UpdateTimeToLive",
    "DescribeStream",
    "GetRecords",
    "GetShardIterator",
    "ListStreams",
];

/// Runs the operation of a request that may be carried out.
pub(crate) async fn run(
    _: Verified,
    target: &str,
    context: Context<'_>,
    body: &[u8],
) -> Result<Bytes, Refusal> {
    match target.split_once('.').unwrap_or_default() {
        (DYNAMODB, "BatchExecuteStatement") => batch_execute_statement::run(context, body).await,
        (DYNAMODB, "BatchGetItem") => batch_get_item::run(context, body).await,
        (DYNAMODB, "BatchWriteItem") => batch_write_item::run(context, body).await,
        (DYNAMODB, "CreateTable") => create_table::run(context, body).await,
        (DYNAMODB, "DeleteItem") => delete_item::run(context, body).await,
        (DYNAMODB, "DeleteTable") => delete_table::run(context, body).await,
        (DYNAMODB, "DescribeContinuousBackups") => {
            continuous_backups::describe(context, body).await
        }
        (DYNAMODB, "DescribeEndpoints") => describe_endpoints::run(context.host, body),
        (DYNAMODB, "DescribeLimits") => describe_limits::run(body),
        (DYNAMODB, "DescribeTable") => describe_table::run(context, body).await,
        (DYNAMODB, "DescribeTimeToLive") => describe_time_to_live::run(context, body).await,
        (DYNAMODB, "ExecuteStatement") => execute_statement::run(context, body).await,
        (DYNAMODB, "ExecuteTransaction") => execute_transaction::run(context, body).await,
        (DYNAMODB, "GetItem") => get_item::run(context, body).await,
        (DYNAMODB, "GetResourcePolicy") => get_resource_policy::run(context, body).await,
        (DYNAMODB, "ListTables") => list_tables::run(context, body).await,
        (DYNAMODB, "ListTagsOfResource") => list_tags_of_resource::run(context, body).await,
        (DYNAMODB, "PutItem") => put_item::run(context, body).await,
        (DYNAMODB, "Query") => query::run(context, body).await,
        (DYNAMODB, "Scan") => scan::run(context, body).await,
        (DYNAMODB, "TagResource") => tag_resource::run(context, body).await,
        (DYNAMODB, "TransactGetItems") => transact_get_items::run(context, body).await,
        (DYNAMODB, "TransactWriteItems") => transact_write_items::run(context, body).await,
        (DYNAMODB, "UntagResource") => untag_resource::run(context, body).await,
        (DYNAMODB, "UpdateContinuousBackups") => continuous_backups::update(context, body).await,
        (DYNAMODB, "UpdateItem") => update_item::run(context, body).await,
        (DYNAMODB, "UpdateTable") => update_table::run(context, body).await,
        (DYNAMODB, "UpdateTimeToLive") => update_time_to_live::run(context, body).await,
        (STREAMS, "DescribeStream") => describe_stream::run(context, body).await,
        (STREAMS, "GetRecords") => get_records::run(context, body).await,
        (STREAMS, "GetShardIterator") => get_shard_iterator::run(context, body).await,
        (STREAMS, "ListStreams") => list_streams::run(context, body).await,
        _ => Err(unknown_operation()),
    }
}

pub(crate) fn unknown_operation() -> Refusal {
    Refusal::new(Fault::UnknownOperation, messages::UNKNOWN_OPERATION)
}

#[cfg(test)]
mod tests;
