//! Writing several items, all or none.

use std::collections::HashSet;

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{self, TransactWriteItem};
use partita_core::expression::Renderer;
use partita_store::capacity::Metered;
use partita_store::request::{
    ConditionCheck, DeleteItem, PutItem, TransactAction, TransactWriteItems, UpdateItem,
};
use partita_store::write::check_shape;
use partita_store::{StoreError, StoreResult};

use crate::cancellation;
use crate::capacity::{BY_INDEX, Kind, metered};
use crate::connect::Clients;
use crate::convert::{on_failure, to_attributes};
use crate::error::Call;
use crate::expressions::{self, Placeholders};
use crate::tables::first_missing;

/// Writes several items, all or none.
///
/// Without a token the SDK makes one up; as writes are never retried, it has no effect.
pub(crate) async fn transact_write_items(
    clients: &Clients,
    request: TransactWriteItems,
) -> StoreResult<Metered<()>> {
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
        .return_consumed_capacity(BY_INDEX)
        .customize()
        .interceptor(call.interceptor())
        .send()
        .await;
    let error = match answer {
        Ok(answer) => {
            let consumed = answer.consumed_capacity.unwrap_or_default();
            return Ok(metered((), Kind::Write, consumed));
        }
        Err(error) => error,
    };
    match cancellation::error(&call, &error, actions.len()) {
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
