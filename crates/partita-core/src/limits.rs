//! The numbers that DynamoDB sets. One place, because every store and every front door checks them.

/// Bytes of an item, names included.
pub const ITEM_BYTES_MAX: usize = 409_600;
/// Bytes of a partition key's value.
pub const PARTITION_KEY_BYTES_MAX: usize = 2_048;
/// Bytes of a sort key's value.
pub const SORT_KEY_BYTES_MAX: usize = 1_024;
/// Levels of lists and maps. An item is a map itself, so an attribute has one level less.
pub const NESTING_MAX: usize = 32;
/// Bytes of an attribute's name.
pub const ATTRIBUTE_NAME_BYTES_MAX: usize = 65_535;
/// Bytes of one expression.
pub const EXPRESSION_BYTES_MAX: usize = 4_096;
/// Bytes of a placeholder, its `#` or `:` included.
pub const EXPRESSION_PLACEHOLDER_BYTES_MAX: usize = 255;
/// Bytes of all values of a request's placeholders, the placeholders included.
pub const EXPRESSION_VALUES_BYTES_MAX: usize = 2_097_152;
/// Operators and functions of one expression.
pub const EXPRESSION_OPERATORS_MAX: usize = 300;
/// Operands on the right of `IN`.
pub const IN_OPERANDS_MAX: usize = 100;
/// Bytes that one page of a query or scan reads, before filters.
pub const PAGE_BYTES_MAX: usize = 1_048_576;
/// Keys of one batch get.
pub const BATCH_GET_KEYS_MAX: usize = 100;
/// Bytes that one batch get answers.
pub const BATCH_GET_BYTES_MAX: usize = 16 * 1_048_576;
/// Items of one batch write.
pub const BATCH_WRITE_ITEMS_MAX: usize = 25;
/// Actions of one transaction.
pub const TRANSACTION_ACTIONS_MAX: usize = 100;
/// Bytes of all items of one transaction.
pub const TRANSACTION_BYTES_MAX: usize = 4 * 1_048_576;
/// Characters of a client request token.
pub const CLIENT_REQUEST_TOKEN_CHARS_MAX: usize = 36;
/// How long a client request token is remembered.
pub const CLIENT_REQUEST_TOKEN_SECONDS: u64 = 600;
