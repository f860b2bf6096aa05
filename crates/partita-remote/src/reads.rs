//! Reading one item, a partition, or a table.

use aws_sdk_dynamodb::operation::query::QueryOutput;
use aws_sdk_dynamodb::operation::scan::ScanOutput;
use partita_core::Item;
use partita_core::expression::Renderer;
use partita_store::StoreResult;
use partita_store::request::{GetItem, Page, Query, Scan};

use crate::connect::Clients;
use crate::convert::{self, Attributes, Unreadable, from_attributes, to_attributes};
use crate::error::Call;
use crate::expressions::{self, Placeholders};

/// Reads one item.
pub(crate) async fn get_item(clients: &Clients, request: GetItem) -> StoreResult<Option<Item>> {
    let call = Call::read(&request.table);
    let answer = clients
        .reads
        .get_item()
        .table_name(request.table.as_str())
        .set_key(Some(to_attributes(&request.key)))
        .consistent_read(request.consistent)
        .customize()
        .interceptor(call.interceptor())
        .send()
        .await
        .map_err(|error| call.error(&error))?;
    convert::read(answer.item)
}

/// Reads one page of a partition.
pub(crate) async fn query(clients: &Clients, request: Query) -> StoreResult<Page> {
    let mut renderer = Renderer::default();
    let keys = renderer.key_condition(&request.keys);
    let filter = expressions::condition(&mut renderer, request.filter.as_ref());
    let Placeholders { names, values } = renderer.into();
    let call = Call::read(&request.table);
    let answer = clients
        .reads
        .query()
        .table_name(request.table.as_str())
        .key_condition_expression(keys)
        .set_filter_expression(filter)
        .set_expression_attribute_names(names)
        .set_expression_attribute_values(values)
        .scan_index_forward(!request.descending)
        .set_limit(request.limit.map(to_limit))
        .set_exclusive_start_key(request.start_after.as_ref().map(to_attributes))
        .consistent_read(request.consistent)
        .customize()
        .interceptor(call.interceptor())
        .send()
        .await
        .map_err(|error| call.error(&error))?;
    let QueryOutput {
        items,
        scanned_count,
        last_evaluated_key,
        ..
    } = answer;
    page(items, scanned_count, last_evaluated_key)
}

/// Reads one page of a table, and sees every acknowledged write: scans serve repairs and
/// exports, which must not miss what was just written.
pub(crate) async fn scan(clients: &Clients, request: Scan) -> StoreResult<Page> {
    let mut renderer = Renderer::default();
    let filter = expressions::condition(&mut renderer, request.filter.as_ref());
    let Placeholders { names, values } = renderer.into();
    let call = Call::read(&request.table);
    let answer = clients
        .reads
        .scan()
        .table_name(request.table.as_str())
        .set_filter_expression(filter)
        .set_expression_attribute_names(names)
        .set_expression_attribute_values(values)
        .set_limit(request.limit.map(to_limit))
        .set_exclusive_start_key(request.start_after.as_ref().map(to_attributes))
        .consistent_read(true)
        .customize()
        .interceptor(call.interceptor())
        .send()
        .await
        .map_err(|error| call.error(&error))?;
    let ScanOutput {
        items,
        scanned_count,
        last_evaluated_key,
        ..
    } = answer;
    page(items, scanned_count, last_evaluated_key)
}

/// A limit beyond what the protocol can say is beyond what a page can hold.
fn to_limit(limit: usize) -> i32 {
    i32::try_from(limit).unwrap_or(i32::MAX)
}

fn page(
    items: Option<Vec<Attributes>>,
    scanned: i32,
    last_key: Option<Attributes>,
) -> StoreResult<Page> {
    let items = items.unwrap_or_default().into_iter().map(from_attributes);
    Ok(Page {
        items: items
            .collect::<Result<_, _>>()
            .map_err(Unreadable::after_read)?,
        scanned: usize::try_from(scanned).unwrap_or_default(),
        last_key: convert::read(last_key)?,
    })
}
