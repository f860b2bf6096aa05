//! Reading one item, a partition, or a table.

use aws_sdk_dynamodb::types;
use partita_core::expression::{Projection, Renderer};
use partita_store::capacity::Metered;
use partita_store::request::{GetItem, Page, Query, Scan, Select};
use partita_store::{FoundItem, StoreResult};

use crate::capacity::{BY_INDEX, CapacityKind, metered};
use crate::connect::Clients;
use crate::convert::{self, Attributes, Unreadable, from_attributes, to_attributes};
use crate::error::{Call, send};
use crate::expressions::{self, Placeholders};

/// Reads one item.
pub(crate) async fn get_item(
    clients: &Clients,
    request: GetItem,
) -> StoreResult<Metered<Option<FoundItem>>> {
    let mut renderer = Renderer::default();
    let projection = expressions::projection(&mut renderer, request.projection.as_ref());
    let Placeholders { names, .. } = renderer.into();
    let call = Call::read(&request.table);
    let sent = clients
        .reads
        .get_item()
        .table_name(request.table.as_str())
        .set_key(Some(to_attributes(&request.key)))
        .set_projection_expression(projection)
        .set_expression_attribute_names(names)
        .consistent_read(request.consistent)
        .return_consumed_capacity(BY_INDEX);
    let answer = send!(call, sent).map_err(|error| call.error(&error))?;
    let item = convert::read_parts(answer.item)?.map(FoundItem::from);
    Ok(metered(item, CapacityKind::Read, answer.consumed_capacity))
}

/// Reads a page, with what a query and a scan both have.
macro_rules! read_page {
    ($builder:expr, $renderer:expr, $request:expr) => {{
        let (mut renderer, request) = ($renderer, $request);
        let filter = expressions::condition(&mut renderer, request.filter.as_ref());
        let projection = expressions::projection(&mut renderer, parts(&request.select));
        let Placeholders { names, values } = renderer.into();
        let call = Call::read(&request.table);
        let sent = $builder
            .table_name(request.table.as_str())
            .set_index_name(request.index)
            .set_filter_expression(filter)
            .set_projection_expression(projection)
            .set_select(to_select(&request.select))
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .set_limit(request.limit.map(to_limit))
            .set_exclusive_start_key(request.start_after.as_ref().map(to_attributes))
            .consistent_read(request.consistent)
            .return_consumed_capacity(BY_INDEX);
        let answer = send!(call, sent).map_err(|error| call.error(&error))?;
        let (count, scanned) = (answer.count, answer.scanned_count);
        let page = page(answer.items, count, scanned, answer.last_evaluated_key)?;
        Ok(metered(page, CapacityKind::Read, answer.consumed_capacity))
    }};
}

/// Reads one page of a partition.
pub(crate) async fn query(clients: &Clients, request: Query) -> StoreResult<Metered<Page>> {
    let mut renderer = Renderer::default();
    let keys = renderer.key_condition(&request.keys);
    let query = clients.reads.query().key_condition_expression(keys);
    let query = query.scan_index_forward(!request.descending);
    read_page!(query, renderer, request)
}

/// Reads one page of a table or index.
pub(crate) async fn scan(clients: &Clients, request: Scan) -> StoreResult<Metered<Page>> {
    let number = request.segment.map(|part| to_limit(part.number as usize));
    let total = request.segment.map(|part| to_limit(part.total as usize));
    let scan = clients.reads.scan().set_segment(number);
    read_page!(scan.set_total_segments(total), Renderer::default(), request)
}

fn parts(select: &Select) -> Option<&Projection> {
    match select {
        Select::Parts(projection) => Some(projection),
        Select::Projected | Select::All | Select::Count => None,
    }
}

/// What is there is answered without being asked for, and a projection speaks for itself.
fn to_select(select: &Select) -> Option<types::Select> {
    match select {
        Select::Projected | Select::Parts(_) => None,
        Select::All => Some(types::Select::AllAttributes),
        Select::Count => Some(types::Select::Count),
    }
}

/// A limit beyond what the protocol can say is beyond what a page can hold, and so are segments
/// beyond what is allowed.
fn to_limit(limit: usize) -> i32 {
    i32::try_from(limit).unwrap_or(i32::MAX)
}

fn page(
    items: Option<Vec<Attributes>>,
    count: i32,
    scanned: i32,
    last_key: Option<Attributes>,
) -> StoreResult<Page> {
    let items = items.unwrap_or_default().into_iter();
    let items = items.map(|item| from_attributes(item).map(FoundItem::from));
    Ok(Page {
        items: items
            .collect::<Result<_, _>>()
            .map_err(Unreadable::after_read)?,
        count: usize::try_from(count).unwrap_or_default(),
        scanned: usize::try_from(scanned).unwrap_or_default(),
        last_key: convert::read(last_key)?,
    })
}
