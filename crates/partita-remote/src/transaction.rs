//! Writing several items, all or none.

use std::collections::HashSet;

use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{self, TransactWriteItem};
use partita_core::expression::Renderer;
use partita_store::error::CancellationReason;
use partita_store::request::{
    ConditionCheck, DeleteItem, PutItem, TransactAction, TransactWriteItems, UpdateItem,
};
use partita_store::write::check_shape;
use partita_store::{StoreError, StoreResult};

use crate::connect::Clients;
use crate::convert::{self, on_failure, to_attributes};
use crate::error::Call;
use crate::expressions::{self, Placeholders};
use crate::tables::first_missing;

/// Writes several items, all or none.
///
/// Without a token the SDK makes one up; as writes are never retried, it has no effect.
pub(crate) async fn transact_write_items(
    clients: &Clients,
    request: TransactWriteItems,
) -> StoreResult<()> {
    // The service checks this too, but DynamoDB Local answers with an error of its own making,
    // after which nobody could know that nothing was written.
    check_shape(&request)?;
    let TransactWriteItems { actions, token } = request;
    let items = actions
        .iter()
        .map(to_item)
        .collect::<Result<_, _>>()
        // Something that DynamoDB requires is missing, as an update's expression.
        .map_err(|error| StoreError::validation(error.to_string()))?;
    let call = Call::write(actions[0].table());
    let answer = clients
        .writes
        .transact_write_items()
        .set_transact_items(Some(items))
        .set_client_request_token(token)
        .customize()
        .interceptor(call.interceptor())
        .send()
        .await;
    let error = match answer {
        Ok(_) => return Ok(()),
        Err(error) => error,
    };
    match transaction_error(&call, &error, actions.len()) {
        StoreError::TableNotFound { table } => {
            let tables: HashSet<_> = actions.iter().map(TransactAction::table).collect();
            let table = first_missing(clients, tables).await.unwrap_or(table);
            Err(StoreError::TableNotFound { table })
        }
        error => Err(error),
    }
}

fn to_item(action: &TransactAction) -> Result<TransactWriteItem, BuildError> {
    let item = TransactWriteItem::builder();
    Ok(match action {
        TransactAction::Put(put) => item.put(to_put(put)?),
        TransactAction::Update(update) => item.update(to_update(update)?),
        TransactAction::Delete(delete) => item.delete(to_delete(delete)?),
        TransactAction::Check(check) => item.condition_check(to_check(check)?),
    }
    .build())
}

fn to_put(put: &PutItem) -> Result<types::Put, BuildError> {
    let mut renderer = Renderer::default();
    let condition = expressions::condition(&mut renderer, put.condition.as_ref());
    let Placeholders { names, values } = renderer.into();
    types::Put::builder()
        .table_name(put.table.as_str())
        .set_item(Some(to_attributes(&put.item)))
        .set_condition_expression(condition)
        .set_expression_attribute_names(names)
        .set_expression_attribute_values(values)
        .return_values_on_condition_check_failure(on_failure(put.return_item_on_failure))
        .build()
}

fn to_update(update: &UpdateItem) -> Result<types::Update, BuildError> {
    let mut renderer = Renderer::default();
    let text = expressions::update(&mut renderer, &update.update);
    let condition = expressions::condition(&mut renderer, update.condition.as_ref());
    let Placeholders { names, values } = renderer.into();
    types::Update::builder()
        .table_name(update.table.as_str())
        .set_key(Some(to_attributes(&update.key)))
        .set_update_expression(text)
        .set_condition_expression(condition)
        .set_expression_attribute_names(names)
        .set_expression_attribute_values(values)
        .return_values_on_condition_check_failure(on_failure(update.return_item_on_failure))
        .build()
}

fn to_delete(delete: &DeleteItem) -> Result<types::Delete, BuildError> {
    let mut renderer = Renderer::default();
    let condition = expressions::condition(&mut renderer, delete.condition.as_ref());
    let Placeholders { names, values } = renderer.into();
    types::Delete::builder()
        .table_name(delete.table.as_str())
        .set_key(Some(to_attributes(&delete.key)))
        .set_condition_expression(condition)
        .set_expression_attribute_names(names)
        .set_expression_attribute_values(values)
        .return_values_on_condition_check_failure(on_failure(delete.return_item_on_failure))
        .build()
}

fn to_check(check: &ConditionCheck) -> Result<types::ConditionCheck, BuildError> {
    let mut renderer = Renderer::default();
    let condition = expressions::condition(&mut renderer, Some(&check.condition));
    let Placeholders { names, values } = renderer.into();
    types::ConditionCheck::builder()
        .table_name(check.table.as_str())
        .set_key(Some(to_attributes(&check.key)))
        .set_condition_expression(condition)
        .set_expression_attribute_names(names)
        .set_expression_attribute_values(values)
        .return_values_on_condition_check_failure(on_failure(check.return_item_on_failure))
        .build()
}

fn transaction_error(
    call: &Call,
    error: &SdkError<TransactWriteItemsError>,
    actions: usize,
) -> StoreError {
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) =
        error.as_service_error()
    else {
        return call.error(error);
    };
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

/// DynamoDB Local gives one reason alone for what Amazon says of the action. Callers rely on one
/// for each, so this is told of the request.
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

fn reason(reason: &types::CancellationReason) -> StoreResult<CancellationReason> {
    let message = || reason.message().unwrap_or_default().to_owned();
    Ok(match reason.code().unwrap_or("None") {
        "None" => CancellationReason::None,
        "ConditionalCheckFailed" => CancellationReason::ConditionalCheckFailed {
            item: convert::read(reason.item().cloned())?,
        },
        "TransactionConflict" => CancellationReason::TransactionConflict,
        "ThrottlingError" | "ProvisionedThroughputExceeded" | "RequestLimitExceeded" => {
            CancellationReason::Throttled
        }
        "ValidationError" => CancellationReason::Validation { message: message() },
        // A full item collection, and what may come later: nothing that trying again mends.
        code => CancellationReason::Validation {
            message: format!("{code}: {}", message()),
        },
    })
}
