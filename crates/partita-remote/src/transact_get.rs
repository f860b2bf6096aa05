//! Reading several items as they are at one moment.

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{Get, TransactGetItem};
use partita_core::expression::{Projection, Renderer};
use partita_store::capacity::Metered;
use partita_store::read::check_transaction;
use partita_store::request::{ItemAddress, TransactGetItems};
use partita_store::{FoundItem, StoreError, StoreResult};

use crate::cancellation;
use crate::capacity::{BY_INDEX, CapacityKind, metered};
use crate::connect::Clients;
use crate::convert::{self, to_attributes};
use crate::error::{Call, send};
use crate::expressions::{self, Placeholders};
use crate::tables::with_missing;

/// Reads several items as they are at one moment.
pub(crate) async fn transact_get_items(
    clients: &Clients,
    request: TransactGetItems,
) -> StoreResult<Metered<Vec<Option<FoundItem>>>> {
    check_transaction(&request)?;
    let TransactGetItems { gets } = request;
    let items = gets
        .iter()
        .map(|(address, projection)| to_item(address, projection.as_ref()))
        .collect::<Result<_, _>>()
        .map_err(|error| StoreError::validation(error.to_string()))?;
    let call = Call::read(&gets[0].0.table);
    let sent = clients
        .reads
        .transact_get_items()
        .set_transact_items(Some(items))
        .return_consumed_capacity(BY_INDEX);
    let answer = match send!(call, sent) {
        Ok(answer) => answer,
        Err(error) => {
            let error = cancellation::error(&call, &error, gets.len());
            let tables = gets.iter().map(|(address, _)| &address.table);
            return Err(with_missing(clients, error, tables).await);
        }
    };
    let responses = answer.responses.unwrap_or_default();
    if responses.len() != gets.len() {
        return Err(StoreError::Unavailable {
            message: format!("{} items came for {} keys", responses.len(), gets.len()),
        });
    }
    let found = responses.into_iter().map(|response| {
        let item = convert::read_parts(response.item)?;
        Ok(item.map(FoundItem::from))
    });
    let found = found.collect::<StoreResult<_>>()?;
    let consumed = answer.consumed_capacity.unwrap_or_default();
    Ok(metered(found, CapacityKind::Read, consumed))
}

fn to_item(
    address: &ItemAddress,
    projection: Option<&Projection>,
) -> Result<TransactGetItem, BuildError> {
    let mut renderer = Renderer::default();
    let projection = expressions::projection(&mut renderer, projection);
    let Placeholders { names, .. } = renderer.into();
    let get = Get::builder()
        .table_name(address.table.as_str())
        .set_key(Some(to_attributes(&address.key)))
        .set_projection_expression(projection)
        .set_expression_attribute_names(names)
        .build()?;
    Ok(TransactGetItem::builder().get(get).build())
}
