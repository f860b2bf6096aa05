//! What concerns PartiQL beyond its grammar.

pub(crate) const DUPLICATE_ITEM: &str = "Duplicate primary key exists in table";
pub(crate) const DUPLICATE_KEYS: &str = "Provided list of item keys contains duplicates";
pub(crate) const INVALID_STATEMENT_TABLE: &str = "Table name should be within the length [3, 255] and only contain 'a-z', 'A-Z', '0-9', '-', '_', '.'.";
pub(crate) const NO_KEY_EQUALITY: &str =
    "Where clause does not contain a mandatory equality on all key attributes";
pub(crate) const WRITE_OF_INDEX: &str = "This operation is not supported on an index";
pub(crate) const EXISTS_ALONE: &str =
    "EXISTS can only be used in ExecuteTransaction write requests.";
pub(crate) const EXISTS_WITHOUT_CONDITION: &str =
    "EXISTS() must contain a single item read with additional condition";
pub(crate) const MIXED_BATCH: &str =
    "Read and write requests together in the same batch is not supported.";
pub(crate) const MIXED_TRANSACTION: &str =
    "ExecuteTransaction API does not support both read and write operations in the same request.";
pub(crate) const BATCH_SELECT_WITHOUT_KEY: &str = "Select statements within BatchExecuteStatement must specify the primary key in the where clause.";
pub(crate) const TRANSACTION_SELECT_WITHOUT_KEY: &str =
    "Select statements within ExecuteTransaction must specify the primary key in the where clause.";
pub(crate) const INDEX_IN_TRANSACTION: &str =
    "Reads on indices are not supported within transactions.";
pub(crate) const RETURNING_IN_TRANSACTION: &str =
    "RETURNING clause is not supported in ExecuteTransaction.";
pub(crate) const ORDER_WITHOUT_WHERE: &str =
    "Must have WHERE clause in the statement when using ORDER BY clause.";
pub(crate) const ORDER_WITHOUT_PARTITION: &str = "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.";
/// Ours: what the service does here is not known.
pub(crate) const ORDER_OF_SEVERAL_PARTITIONS: &str =
    "ORDER BY of a sort key over several partitions must name the partition key too";

pub(crate) const CONSISTENT_GLOBAL_INDEX: &str =
    "Strongly consistent read is not supported on Global Secondary Indexes";
pub(crate) const NO_SUCH_INDEX: &str = "The table does not have the specified index";
pub(crate) const FOREIGN_NEXT_TOKEN: &str = "NextToken does not match request";

pub(crate) fn in_statement(number: usize, message: &str) -> String {
    format!("Validation failed in TransactStatements[{number}]: {message}")
}

pub(crate) fn wrong_key_type(name: &str) -> String {
    format!("Key attribute's data type should match its data type in table's schema: Key {name}")
}

pub(crate) fn missing_key(name: &str) -> String {
    format!("Key attribute should be present in the item: Key {name}")
}

pub(crate) fn returning_of_delete(clause: &str) -> String {
    format!(
        "Invalid returning clause: {clause}. Only RETURNING ALL OLD * is allowed in DELETE statements."
    )
}

pub(crate) fn order_of_no_key(name: &str) -> String {
    format!("Variable reference {name} in ORDER BY clause must be part of the primary key")
}

pub(crate) fn not_projected(index: &str, attributes: &[&str]) -> String {
    format!(
        "One or more parameter values were invalid: Global secondary index {index} does not project [{}]",
        attributes.join(", ")
    )
}

pub(crate) fn too_many_partitions(count: usize) -> String {
    format!("The IN operator is provided with too many operands; number of operands: {count}")
}
