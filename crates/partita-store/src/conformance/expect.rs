//! What cases assert about errors: the variant, never the text.

use std::fmt::Debug;

use partita_core::Item;

use crate::error::{CancellationReason, ErrorKind, StoreError, StoreResult};

/// The request is refused as wrong in itself.
#[track_caller]
pub(super) fn invalid<T: Debug>(result: StoreResult<T>) {
    match result {
        Err(error @ StoreError::Validation { .. }) => {
            assert_eq!(error.kind(), ErrorKind::FixRequest);
        }
        other => panic!("expected a validation error, got {other:?}"),
    }
}

/// The table does not exist.
#[track_caller]
pub(super) fn table_not_found<T: Debug>(result: StoreResult<T>) {
    match result {
        Err(error @ StoreError::TableNotFound { .. }) => {
            assert_eq!(error.kind(), ErrorKind::FixRequest);
        }
        other => panic!("expected that there is no such table, got {other:?}"),
    }
}

/// The condition does not hold; gives the item that came with the error.
#[track_caller]
pub(super) fn condition_failed<T: Debug>(result: StoreResult<T>) -> Option<Item> {
    match result {
        Err(error @ StoreError::ConditionFailed { .. }) => {
            assert_eq!(error.kind(), ErrorKind::ConditionFailed);
            let StoreError::ConditionFailed { item, .. } = error else {
                unreachable!("the arm's own pattern");
            };
            item.map(|item| *item)
        }
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
