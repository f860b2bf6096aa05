//! Writing one item.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use partita_core::Item;
use partita_core::expression::Renderer;
use partita_store::capacity::Metered;
use partita_store::request::{DeleteItem, PutItem, ReturnValues, UpdateItem};
use partita_store::table::TableName;
use partita_store::{StoreError, StoreResult};

use crate::capacity::{BY_INDEX, CapacityKind, metered};
use crate::connect::Clients;
use crate::convert::{self, Attributes, to_attributes, to_return_value};
use crate::error::{Call, send};
use crate::expressions::{self, conditional};

/// Sends a write of one item, with what all three kinds have.
macro_rules! write {
    ($builder:expr, $renderer:expr, $request:expr, $returns:expr) => {{
        let request = $request;
        let call = Call::write(&request.table);
        let condition = request.condition.as_ref();
        let sent = conditional!($builder, $renderer, request, condition)
            .return_values(to_return_value($returns))
            .return_consumed_capacity(BY_INDEX);
        let answer = send!(call, sent);
        let answer = answer.map_err(|error| write_error(&call, &request.table, error))?;
        let item = convert::returned(answer.attributes)?;
        Ok(metered(item, CapacityKind::Write, answer.consumed_capacity))
    }};
}

/// Writes a whole item.
pub(crate) async fn put_item(
    clients: &Clients,
    request: PutItem,
    returns: ReturnValues,
) -> StoreResult<Metered<Option<Item>>> {
    let item = to_attributes(&request.item);
    let put = clients.writes.put_item().set_item(Some(item));
    write!(put, Renderer::default(), request, returns)
}

/// Changes some attributes of an item, or creates it.
pub(crate) async fn update_item(
    clients: &Clients,
    request: UpdateItem,
    returns: ReturnValues,
) -> StoreResult<Metered<Option<Item>>> {
    let mut renderer = Renderer::default();
    let update = expressions::update(&mut renderer, &request.update);
    let key = to_attributes(&request.key);
    let changed = clients.writes.update_item().set_key(Some(key));
    let changed = changed.set_update_expression(update);
    write!(changed, renderer, request, returns)
}

/// Removes an item.
pub(crate) async fn delete_item(
    clients: &Clients,
    request: DeleteItem,
    returns: ReturnValues,
) -> StoreResult<Metered<Option<Item>>> {
    let key = to_attributes(&request.key);
    let delete = clients.writes.delete_item().set_key(Some(key));
    write!(delete, Renderer::default(), request, returns)
}

/// Errors that may bring the item whose condition failed.
trait BringsItem: ProvideErrorMetadata + std::error::Error + 'static {
    fn item(&self) -> Option<&Attributes>;
}

macro_rules! brings_item {
    ($($error:ident),*) => {$(
        impl BringsItem for $error {
            fn item(&self) -> Option<&Attributes> {
                match self {
                    $error::ConditionalCheckFailedException(failed) => failed.item(),
                    _ => None,
                }
            }
        }
    )*};
}

brings_item!(PutItemError, UpdateItemError, DeleteItemError);

fn write_error<E: BringsItem>(call: &Call, table: &TableName, error: SdkError<E>) -> StoreError {
    let item = error.as_service_error().and_then(E::item).cloned();
    match call.error(&error) {
        StoreError::ConditionFailed { .. } => match convert::read(item) {
            Ok(item) => StoreError::ConditionFailed {
                table: table.clone(),
                item: item.map(Box::new),
            },
            Err(unreadable) => unreadable,
        },
        other => other,
    }
}
