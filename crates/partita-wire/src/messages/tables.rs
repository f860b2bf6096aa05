//! What concerns tables: their keys, indexes, throughput and streams, and how they change.

use partita_store::index::IndexKind;
use partita_store::settings::Throughput;
use partita_store::table::KeyAttribute;

pub(crate) const NEITHER_UNIT: &str = "One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST";
pub(crate) const BOTH_UNITS: &str = "One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED";
pub(crate) const KEY_WITHOUT_DEFINITION: &str =
    "Invalid KeySchema: Some index key attribute have no definition";
pub(crate) const SAME_KEYS: &str =
    "Both the Hash Key and the Range Key element in the KeySchema have the same name";
pub(crate) const FIRST_KEY_NOT_HASH: &str =
    "Invalid KeySchema: The first KeySchemaElement is not a HASH key type";
pub(crate) const SECOND_KEY_NOT_RANGE: &str =
    "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type";
pub(crate) const UNUSED_DEFINITIONS: &str = "One or more parameter values were invalid: Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions";

pub(crate) fn defined_twice(attribute: &str) -> String {
    format!("Attribute Name is duplicated: {attribute}")
}

/// The service prints both schemas at length.
pub(crate) fn redefined(existing: &KeyAttribute, new: &KeyAttribute) -> String {
    let schema = |attribute: &KeyAttribute| {
        let KeyAttribute { name, kind } = attribute;
        format!("Schema:[SchemaElement: key{{{name}:{kind:?}:HASH}}]")
    };
    format!(
        "One or more parameter values were invalid: Attributes cannot be redefined. Please check that your attribute has the same type as previously defined. Existing schema: {} New schema: {}",
        schema(existing),
        schema(new)
    )
}

pub(crate) fn keys_not_defined(keys: &[&str], definitions: &[&str]) -> String {
    format!(
        "One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: [{}], AttributeDefinitions: [{}]",
        keys.join(", "),
        definitions.join(", ")
    )
}

pub(crate) fn unused_definitions(definitions: &[&str], used: &[&str]) -> String {
    format!(
        "One or more parameter values were invalid: Some AttributeDefinitions are not used. AttributeDefinitions: [{}], keys used: [{}]",
        definitions.join(", "),
        used.join(", ")
    )
}

pub(crate) const HASH_AFTER_RANGE: &str = "One or more parameter values were invalid: All HASH key attributes must precede RANGE key attributes in the KeySchema";
pub(crate) const NO_PROJECTION_TYPE: &str =
    "One or more parameter values were invalid: Unknown ProjectionType: null";
pub(crate) const INCLUDED_BESIDE_ALL: &str = "One or more parameter values were invalid: ProjectionType is ALL, but NonKeyAttributes is specified";
pub(crate) const INCLUDED_BESIDE_KEYS: &str = "One or more parameter values were invalid: ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified";
pub(crate) const NOTHING_INCLUDED: &str = "One or more parameter values were invalid: ProjectionType is INCLUDE, but NonKeyAttributes is not specified";
pub(crate) const NOTHING_SORTED: &str = "One or more parameter values were invalid: Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex";

pub(crate) fn no_indexes(kind: IndexKind) -> &'static str {
    match kind {
        IndexKind::Local => {
            "One or more parameter values were invalid: List of LocalSecondaryIndexes is empty"
        }
        IndexKind::Global => {
            "One or more parameter values were invalid: List of GlobalSecondaryIndexes is empty"
        }
    }
}

pub(crate) fn too_many_indexes(kind: IndexKind, most: usize) -> String {
    let detail = match kind {
        IndexKind::Local => "Number of LocalSecondaryIndexes exceeds per-table limit of",
        IndexKind::Global => "GlobalSecondaryIndex count exceeds the per-table limit of",
    };
    format!("One or more parameter values were invalid: {detail} {most}")
}

pub(crate) fn no_range_key(index: &str) -> String {
    format!(
        "One or more parameter values were invalid: Index KeySchema does not have a range key for index: {index}"
    )
}

pub(crate) fn other_hash_key(index: &str, own: &str, tables: &str) -> String {
    format!(
        "One or more parameter values were invalid: Index KeySchema does not have the same leading hash key as table KeySchema for index: {index}. index hash key: {own}, table hash key: {tables}"
    )
}

pub(crate) fn index_throughput(index: &str) -> String {
    format!(
        "One or more parameter values were invalid: ProvisionedThroughput should not be specified for index: {index} when BillingMode is PAY_PER_REQUEST"
    )
}

pub(crate) fn no_index_throughput(index: &str) -> String {
    format!(
        "One or more parameter values were invalid: ProvisionedThroughput is not specified for index: {index}"
    )
}

pub(crate) fn units_out_of_bounds(value: i64, name: &str) -> String {
    format!("Given value {value} for {name} is out of bounds")
}

pub(crate) const CREATED_WITHOUT_VIEW: &str = "One or more parameter values were invalid: Table is being created with a stream enabled, UpdateViewType is required";
pub(crate) const CREATED_WITH_VIEW: &str = "One or more parameter values were invalid: Table is being created with a stream disabled, UpdateViewType should not be specified";
pub(crate) const ENABLED_WITHOUT_VIEW: &str = "One or more parameter values were invalid: If stream is being enabled then UpdateViewType is required";
pub(crate) const DISABLED_WITH_VIEW: &str = "One or more parameter values were invalid: If stream is being disabled, then UpdateViewType must not be specified";

pub(crate) const NOTHING_TO_UPDATE: &str = "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required";
pub(crate) const PROTECTION_ALONE: &str = "One or more parameter values were invalid: DeletionProtection modification must be the only operation in the request";
pub(crate) const STREAM_BESIDE_THROUGHPUT: &str = "One or more parameter values were invalid: You cannot modify stream status while updating table IOPS";
pub(crate) const INDEX_BESIDE_THROUGHPUT: &str = "One or more parameter values were invalid: You cannot create or delete index while updating table IOPS";
pub(crate) const INDEX_BESIDE_STREAM: &str = "One or more parameter values were invalid: You cannot create or delete index while changing stream status";
pub(crate) const ONE_INDEX_AT_A_TIME: &str = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table";
pub(crate) const NO_THROUGHPUT: &str = "One or more parameter values were invalid: ProvisionedThroughput must be specified when BillingMode is PROVISIONED";
pub(crate) const UNEXPECTED_THROUGHPUT: &str = "One or more parameter values were invalid: ProvisionedThroughput cannot be specified when BillingMode is PAY_PER_REQUEST";
pub(crate) const NO_INDEX_ACTION: &str = "One or more parameter values were invalid: One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null";
pub(crate) const SEVERAL_INDEX_ACTIONS: &str = "One or more parameter values were invalid: Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object";
pub(crate) const INDEX_EXISTS: &str = "Attempting to create an index which already exists";

pub(crate) fn index_twice(index: &str) -> String {
    format!(
        "One or more parameter values were invalid: Only one global secondary index update per index is allowed simultaneously. Index: {index}"
    )
}

pub(crate) fn not_global(verb: &str, index: &str) -> String {
    format!("Cannot {verb} an index that is not a GlobalSecondaryIndex: {index}")
}

pub(crate) fn no_definitions(index: &str) -> String {
    format!(
        "One or more parameter values were invalid: AttributeDefinitions is not specified for index: {index}"
    )
}

/// Ours: what the service says here is not known.
pub(crate) fn index_throughput_missing(index: &str) -> String {
    format!(
        "One or more parameter values were invalid: ProvisionedThroughput must be specified for index: {index}"
    )
}

pub(crate) fn index_units_missing(index: &str) -> String {
    format!(
        "One or more parameter values were invalid: Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: {index}"
    )
}

pub(crate) fn no_index_units(index: &str) -> String {
    format!(
        "One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: {index} when BillingMode is PAY_PER_REQUEST"
    )
}

pub(crate) fn index_is_on_demand(index: &str) -> String {
    format!(
        "One or more parameter values were invalid: The only Updates for index: {index} when TableThroughputMode is PAY_PER_REQUEST can be to OnDemandThroughput, WarmThroughput"
    )
}

pub(crate) fn same_throughput(throughput: Throughput) -> String {
    unchanged_throughput("table", "table", throughput)
}

pub(crate) fn same_index_throughput(index: &str, throughput: Throughput) -> String {
    unchanged_throughput(&format!("index {index}"), "index", throughput)
}

fn unchanged_throughput(what: &str, kind: &str, Throughput { read, write }: Throughput) -> String {
    format!(
        "The provisioned throughput for the {what} will not change. The requested value equals the current value. Current ReadCapacityUnits provisioned for the {kind}: {read}. Requested ReadCapacityUnits: {read}. Current WriteCapacityUnits provisioned for the {kind}: {write}. Requested WriteCapacityUnits: {write}. Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    )
}
