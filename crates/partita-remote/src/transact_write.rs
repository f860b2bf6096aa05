//! Writing several items, all or none.

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
use crate::capacity::{BY_INDEX, CapacityKind, metered};
use crate::connect::Clients;
use crate::convert::to_attributes;
use crate::error::{Call, send};
use crate::expressions::{self, conditional};
use crate::tables::with_missing;

/// Writes several items, all or none.
///
/// Without a token the SDK makes one up; as writes are never retried, it has no effect.
pub(crate) async fn transact_write_items(
    clients: &Clients,
    request: TransactWriteItems,
) -> StoreResult<Metered<()>> {
    // The service checks this too, but DynamoDB Local answers with an error of its own making,
    // after which it would be unknown whether something was written.
    check_shape(&request)?;
    let TransactWriteItems { actions, token } = request;
    let items = actions
        .iter()
        .map(to_item)
        .collect::<Result<_, _>>()
        // Something that DynamoDB requires is missing, as an update's expression.
        .map_err(|error| StoreError::validation(error.to_string()))?;
    let call = Call::write(actions[0].table());
    let sent = clients
        .writes
        .transact_write_items()
        .set_transact_items(Some(items))
        .set_client_request_token(token)
        .return_consumed_capacity(BY_INDEX);
    match send!(call, sent) {
        Ok(answer) => {
            let consumed = answer.consumed_capacity.unwrap_or_default();
            Ok(metered((), CapacityKind::Write, consumed))
        }
        Err(error) => {
            let error = cancellation::error(&call, &error, actions.len());
            let tables = actions.iter().map(TransactAction::table);
            Err(with_missing(clients, error, tables).await)
        }
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
    let builder = types::Put::builder().set_item(Some(to_attributes(&put.item)));
    conditional!(builder, Renderer::default(), put, put.condition.as_ref()).build()
}

fn to_update(update: &UpdateItem) -> Result<types::Update, BuildError> {
    let mut renderer = Renderer::default();
    let text = expressions::update(&mut renderer, &update.update);
    let builder = types::Update::builder()
        .set_key(Some(to_attributes(&update.key)))
        .set_update_expression(text);
    conditional!(builder, renderer, update, update.condition.as_ref()).build()
}

fn to_delete(delete: &DeleteItem) -> Result<types::Delete, BuildError> {
    let builder = types::Delete::builder().set_key(Some(to_attributes(&delete.key)));
    let condition = delete.condition.as_ref();
    conditional!(builder, Renderer::default(), delete, condition).build()
}

fn to_check(check: &ConditionCheck) -> Result<types::ConditionCheck, BuildError> {
    let builder = types::ConditionCheck::builder().set_key(Some(to_attributes(&check.key)));
    let condition = Some(&check.condition);
    conditional!(builder, Renderer::default(), check, condition).build()
}
