//! Why a transaction was cancelled, in the store's words.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::transact_get_items::TransactGetItemsError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types;
use aws_sdk_dynamodb::types::error::TransactionCanceledException;
use partita_store::error::{CancellationReason, Exhausted};
use partita_store::{StoreError, StoreResult};

use crate::convert;
use crate::error::Call;

/// Errors that may have a reason for each action.
pub(crate) trait MayCancel: ProvideErrorMetadata + std::error::Error + 'static {
    fn cancelled(&self) -> Option<&TransactionCanceledException>;
}

macro_rules! may_cancel {
    ($($error:ident),*) => {$(
        impl MayCancel for $error {
            fn cancelled(&self) -> Option<&TransactionCanceledException> {
                match self {
                    $error::TransactionCanceledException(cancelled) => Some(cancelled),
                    _ => None,
                }
            }
        }
    )*};
}

may_cancel!(TransactGetItemsError, TransactWriteItemsError);

/// The error of a transaction of so many actions.
pub(crate) fn error<E: MayCancel>(call: &Call, error: &SdkError<E>, actions: usize) -> StoreError {
    let Some(cancelled) = error.as_service_error().and_then(E::cancelled) else {
        return call.error(error);
    };
    if cancelled.cancellation_reasons().is_empty() {
        // DynamoDB Local says so of keys that do not fit.
        return StoreError::validation(cancelled.message().unwrap_or_default());
    }
    let reasons: StoreResult<Vec<_>> = cancelled
        .cancellation_reasons()
        .iter()
        .map(reason)
        .collect();
    match reasons {
        Ok(reasons) if reasons.len() == actions => StoreError::TransactionCanceled { reasons },
        Ok(reasons) => misfit(reasons, actions),
        Err(unreadable) => unreadable,
    }
}

/// DynamoDB Local gives a single reason where Amazon gives one for each action. Callers rely on
/// one for each, so this is an error of the request.
fn misfit(reasons: Vec<CancellationReason>, actions: usize) -> StoreError {
    let count = reasons.len();
    let faults = reasons.into_iter().filter_map(|reason| match reason {
        CancellationReason::Validation { message } => Some(message),
        _ => None,
    });
    faults
        .map(StoreError::validation)
        .next()
        .unwrap_or_else(|| StoreError::Unavailable {
            message: format!("{count} reasons came for {actions} actions"),
        })
}

/// Reasons of transactions have no ARN. The sentence says whether it is an index that has no
/// capacity, and not which.
fn throttled(message: &str) -> CancellationReason {
    if message.contains("global secondary index") {
        let reason = "IndexWriteThroughputExceeded".to_owned();
        let index = None;
        return CancellationReason::Exhausted(Exhausted { reason, index });
    }
    CancellationReason::Throttled
}

fn reason(reason: &types::CancellationReason) -> StoreResult<CancellationReason> {
    let message = || reason.message().unwrap_or_default().to_owned();
    Ok(match reason.code().unwrap_or("None") {
        "None" => CancellationReason::None,
        "ConditionalCheckFailed" => CancellationReason::ConditionalCheckFailed {
            item: convert::read(reason.item().cloned())?,
        },
        "TransactionConflict" => CancellationReason::TransactionConflict,
        "ThrottlingError" | "ProvisionedThroughputExceeded" | "RequestLimitExceeded" => {
            throttled(&message())
        }
        "ValidationError" => CancellationReason::Validation { message: message() },
        // A full item collection, and what may come later: nothing that trying again mends.
        code => CancellationReason::Validation {
            message: format!("{code}: {}", message()),
        },
    })
}
