//! DynamoDB's sentences, as data: AWS rewords them now and then, and this is where we follow.
//!
//! What concerns expressions is in `partita-core`, what concerns items and keys in
//! `partita-store`.

mod legacy;
mod partiql;
mod signatures;
mod tables;

use partita_store::error::CancellationReason;
use partita_store::table::TableName;

pub(crate) use legacy::*;
pub(crate) use partiql::*;
pub(crate) use signatures::*;
pub(crate) use tables::*;

pub(crate) const ITEM_TOO_LARGE: &str = "Item size has exceeded the maximum allowed size";
pub(crate) const RESOURCE_NOT_FOUND: &str = "Requested resource not found";
pub(crate) const POLICY_NOT_FOUND: &str =
    "The operation tried to access a nonexistent resource-based policy.";
pub(crate) const CONDITION_FAILED: &str = "The conditional request failed";
pub(crate) const TRANSACTION_CONFLICT: &str = "Transaction is ongoing for the item";
pub(crate) const TRANSACTION_CONFLICT_REASON: &str = "Transaction is ongoing for the item";
pub(crate) const IDEMPOTENT_PARAMETER_MISMATCH: &str = "DynamoDB can't process the request because the client token was used with different parameters";
pub(crate) const THROTTLED: &str = "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API";
pub(crate) const BUSY: &str = "The server has no room for this request right now; try again";
// The service says nothing here, and DynamoDB Local says this. Clients show it to people.
pub(crate) const UNKNOWN_OPERATION: &str = "An unknown operation was requested.";
pub(crate) const INTERNAL: &str =
    "The request processing has failed because of an unknown error, exception or failure.";

pub(crate) const DISK_FULL: &str = "The server's disk is full, so that nothing was written. Reads go on, and writes are taken again once the operator has freed space.";

pub(crate) const INVALID_TABLE_NAME: &str = "Invalid table/index name.  Table/index names must be between 3 and 255 characters long, and may contain only the characters a-z, A-Z, 0-9, '_', '-', and '.'";
pub(crate) const RETURN_VALUES_OF_PUT: &str = "Return values set to invalid value";

pub(crate) fn table_exists(table: &TableName) -> String {
    format!("Table already exists: {table}")
}

pub(crate) fn transaction_canceled(reasons: &[CancellationReason]) -> String {
    let codes: Vec<_> = reasons.iter().map(CancellationReason::code).collect();
    format!(
        "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
        codes.join(", ")
    )
}

pub(crate) const NOT_NULL: &str = "Member must not be null";
pub(crate) const TABLE_NAME_PATTERN: &str = "[a-zA-Z0-9_.-]+";

pub(crate) fn constraint(value: Option<&str>, at: &str, constraint: &str) -> String {
    match value {
        Some(value) => {
            format!("Value '{value}' at '{at}' failed to satisfy constraint: {constraint}")
        }
        None => format!("Value null at '{at}' failed to satisfy constraint: {constraint}"),
    }
}

/// The younger of the service's two styles, without the value. It is moving from the one to the
/// other, parameter by parameter.
pub(crate) fn constraint_alone(at: &str, constraint: &str) -> String {
    format!("Value at '{at}' failed to satisfy constraint: {constraint}")
}

pub(crate) fn validation_errors(failures: &[String]) -> String {
    let plural = if failures.len() == 1 { "" } else { "s" };
    let count = failures.len();
    format!(
        "{count} validation error{plural} detected: {}",
        failures.join("; ")
    )
}

pub(crate) fn enum_value_set(names: &[&str]) -> String {
    format!("Member must satisfy enum value set: [{}]", names.join(", "))
}

pub(crate) fn pattern(pattern: &str) -> String {
    format!("Member must satisfy regular expression pattern: {pattern}")
}

pub(crate) fn at_least(least: i64) -> String {
    format!("Member must have value greater than or equal to {least}")
}

pub(crate) fn at_most(most: i64) -> String {
    format!("Member must have value less than or equal to {most}")
}

pub(crate) fn length_at_least(least: usize) -> String {
    format!("Member must have length greater than or equal to {least}")
}

pub(crate) fn length_at_most(most: usize) -> String {
    format!("Member must have length less than or equal to {most}")
}

pub(crate) const UNKNOWN_TRUTH: &str = "Unexpected token received from parser";
pub(crate) const UNEXPECTED_STRUCTURE: &str = "Start of structure or map found where not expected";
pub(crate) const UNEXPECTED_LIST: &str = "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>";
pub(crate) const UNEXPECTED_FIELD: &str = "Unexpected field type";

pub(crate) fn wrong_collection(java: &str) -> String {
    format!("Unrecognized collection type class java.lang.{java}")
}

pub(crate) fn wrong_type(kind: &str, java: &str) -> String {
    format!("{kind} cannot be converted to {java}")
}

/// Ours: the service knows every parameter of its own.
pub(crate) fn unsupported(name: &str) -> String {
    format!(
        "One or more parameter values were invalid: Partita does not support the parameter {name} yet"
    )
}

pub(crate) fn invalid_start_key(reason: &str) -> String {
    format!("The provided starting key is invalid: {reason}")
}

pub(crate) const NO_KEY_CONDITION: &str = "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.";
pub(crate) const NO_PROJECTION: &str = "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES";

pub(crate) fn projection_beside(parameter: &str, select: &str) -> String {
    format!("Cannot specify the {parameter} when choosing to get {select}")
}

pub(crate) const PROJECTED_WITHOUT_INDEX: &str =
    "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName";

pub(crate) const NO_TOTAL_SEGMENTS: &str = "The TotalSegments parameter is required but was not present in the request when Segment parameter is present";
pub(crate) const NO_SEGMENT: &str = "The Segment parameter is required but was not present in the request when parameter TotalSegments is present";

pub(crate) fn no_such_segment(number: u32, total: u32) -> String {
    format!(
        "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: {number} is not less than TotalSegments: {total}"
    )
}

pub(crate) const NO_REQUEST_ITEMS: &str = "The requestItems parameter is required for BatchGetItem";
pub(crate) const NO_WRITES: &str = "The requestItems parameter is required for BatchWriteItem";
pub(crate) const TOO_MANY_WRITES: &str = "Too many items requested for the BatchWriteItem call";
/// The service says so of none as well.
pub(crate) const NOT_ONE_WRITE: &str = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes";

pub(crate) fn too_many_writes_for(shown: &str) -> String {
    constraint(
        Some(shown),
        "requestItems",
        "Map value must satisfy constraint: [Member must have length less than or equal to 25, Member must have length greater than or equal to 1]",
    )
}

pub(crate) fn no_writes_for(table: &str) -> String {
    format!("The batch write request list for a table cannot be null or empty: {table}")
}

/// Ours: a name and an ARN can mean one table, and the answer has one place for it.
pub(crate) fn table_twice(table: &TableName) -> String {
    format!("One or more parameter values were invalid: the table {table} is named twice")
}

pub(crate) const TOO_MANY_KEYS: &str = "Too many items requested for the BatchGetItem call";

pub(crate) const NO_ACTION: &str =
    "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request";
pub(crate) const SEVERAL_ACTIONS: &str =
    "TransactItems can only contain one of Check, Put, Update or Delete";

pub(crate) const NO_TABLE_NAME: &str =
    "The parameter 'TableName' is required but was not present in the request";

pub(crate) fn table_not_found(table: &TableName) -> String {
    format!("Requested resource not found: Table: {table} not found")
}

pub(crate) fn no_such_table(table: &TableName) -> String {
    format!("Table not found: {table}")
}

/// What the service says of recovery, and what to do here.
pub(crate) const NO_BACKUP: &str = "Backups have not yet been enabled for this table: they are of the whole server, which is to be started with --backup TARGET";
pub(crate) const BACKUP_OF_THE_SERVER: &str = "The backup is of the whole server, and no table can be taken out of it: start the server without --backup to end it";

pub(crate) const NO_TAGS: &str = "Atleast one Tag needs to be provided as Input.";
pub(crate) const NO_TAG_KEYS: &str = "Atleast one Tag Key needs to be provided as Input.";
pub(crate) const NO_TAG_KEY: &str = "The Tag Key provided is invalid, Key: null";
pub(crate) const NO_TAG_VALUE: &str = "The Tag Value provided is invalid, Value: null";
/// Ours: the service seals its tokens, and says of others that they are invalid.
pub(crate) const INVALID_NEXT_TOKEN: &str = "Invalid NextToken";

pub(crate) fn duplicate_tag(key: &str) -> String {
    format!("Duplicate Tag Keys provided as input: Duplicate Tag Key found {key}")
}

pub(crate) fn no_arn(arn: &str) -> String {
    format!("One or more parameter values were invalid: ARNs must start with 'arn:': {arn}")
}

pub(crate) fn no_dynamodb_arn(arn: &str) -> String {
    format!(
        "One or more parameter values were invalid: Provided Arn is not a DynamoDB resource arn: {arn}"
    )
}

pub(crate) fn no_table_arn(arn: &str) -> String {
    format!(
        "One or more parameter values were invalid: Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {arn}"
    )
}

pub(crate) fn invalid_table_arn(arn: &str) -> String {
    format!("Invalid TableArn: Invalid ResourceArn provided as input {arn}")
}

/// The missing letter is the service's.
pub(crate) fn resource_not_found(arn: &str) -> String {
    format!("Requested resource not found: ResourcArn: {arn} not found")
}

pub(crate) const INVALID_STREAM_ARN: &str = "Invalid StreamArn";
pub(crate) const TOO_MANY_STREAMS: &str = "One or more parameter values were invalid: Limit cannot be greater than the maximum allowed size: 100";
pub(crate) const TOO_MANY_SHARDS: &str =
    "One or more parameter values were invalid: Limit cannot be greater than the maximum: 100";
/// Ours: what the service says here is not known.
pub(crate) const INCOMPLETE_SHARD_FILTER: &str =
    "One or more parameter values were invalid: ShardFilter needs both Type and ShardId";
pub(crate) const TOO_MANY_RECORDS: &str =
    "One or more parameter values were invalid: Limit should be less than or equal to 1000";
pub(crate) const INVALID_SEQUENCE_NUMBER: &str =
    "One or more parameter values were invalid: Invalid SequenceNumber";
pub(crate) const UNEXPECTED_SEQUENCE_NUMBER: &str = "One or more parameter values were invalid: SequenceNumber should not be passed for this iterator type";
pub(crate) const ITERATOR_EXPIRED: &str =
    "The shard iterator has expired and can no longer be used to retrieve stream records.";
pub(crate) const RECORDS_TRIMMED: &str =
    "The operation attempted to read past the oldest stream record in a shard.";

pub(crate) const STREAM_NOT_FOUND: &str = "Stream does not exist";
pub(crate) const SHARD_NOT_FOUND: &str = "Shard does not exist";

pub(crate) fn stream_not_found(arn: &str) -> String {
    format!("Requested resource not found: Stream: {arn} not found")
}
