//! What cases assert about errors: the variant, never the text.

use std::fmt::Debug;

use partita_core::Item;

use partita_store::error::{CancellationReason, StoreError, StoreResult};
use partita_store::table::TableName;

/// The request is refused as wrong in itself.
#[track_caller]
pub(super) fn invalid<T: Debug>(result: StoreResult<T>) {
    assert!(
        matches!(result, Err(StoreError::Validation { .. })),
        "expected a validation error, got {result:?}"
    );
}

/// The table does not exist; gives its name.
#[track_caller]
pub(super) fn table_not_found<T: Debug>(result: StoreResult<T>) -> TableName {
    match result {
        Err(StoreError::TableNotFound { table }) => table,
        other => panic!("expected that there is no such table, got {other:?}"),
    }
}

/// The condition does not hold; gives the item that came with the error.
#[track_caller]
pub(super) fn condition_failed<T: Debug>(result: StoreResult<T>) -> Option<Item> {
    match result {
        Err(StoreError::ConditionFailed { item, .. }) => item.map(|item| *item),
        other => panic!("expected a failed condition, got {other:?}"),
    }
}

/// The transaction is cancelled; gives the reasons.
#[track_caller]
pub(super) fn cancelled(result: StoreResult<()>) -> Vec<CancellationReason> {
    match result {
        Err(StoreError::TransactionCanceled { reasons }) => reasons,
        other => panic!("expected a cancelled transaction, got {other:?}"),
    }
}

/// There would be more of something than there may be.
#[track_caller]
pub(super) fn limit_exceeded<T: Debug>(result: StoreResult<T>) {
    assert!(
        matches!(result, Err(StoreError::LimitExceeded { .. })),
        "expected that a limit is exceeded, got {result:?}"
    );
}

/// The stream does not exist.
#[track_caller]
pub(super) fn stream_not_found<T: Debug>(result: StoreResult<T>) {
    assert!(
        matches!(result, Err(StoreError::StreamNotFound { .. })),
        "expected that there is no such stream, got {result:?}"
    );
}
