//! Scan.

use bytes::Bytes;
use partita_core::expression::{ExpressionCache, ExpressionKind};
use partita_store::request::{Scan, Segment};

use super::Context;
use super::page::{self, PageWish, SelectInput};
use crate::constraints::Constraints;
use crate::expressions::Placeholders;
use crate::json;
use crate::legacy::{self, Comparisons, ConditionalOperator};
use crate::messages;
use crate::parameters::{self, ReturnConsumedCapacity};
use crate::refusal::Refusal;

/// Parts of one scan at most.
const SEGMENTS_MAX: i64 = 1_000_000;

page::input! {
    segment: Option<i64>,
    total_segments: Option<i64>,
    scan_filter: Option<Comparisons>,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, asked) = decode(body, context.cache)?;
    let page = context.store.scan(request).await?;
    Ok(page::encode(asked, page))
}

fn decode(body: &[u8], cache: &ExpressionCache) -> Result<(Scan, PageWish), Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let select = constraints.choice("select", &input.select);
    let capacity = ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    let table = parameters::table(&mut constraints, &input.table_name)?;
    parameters::check_index(&mut constraints, &input.index_name);
    let limit = page::limit_of_scan(&mut constraints, input.limit);
    input.check_segments(&mut constraints);
    let operator = input.check_legacy(&mut constraints);
    let table = constraints.finish(table)?;
    input.check_unmixed()?;
    let (filter, projection) = (&input.filter_expression, &input.projection_expression);
    let placeholders = Placeholders::new(
        input.expression_attribute_names,
        input.expression_attribute_values,
        &[
            (ExpressionKind::Filter, filter),
            (ExpressionKind::Projection, projection),
        ],
    )?;
    let projecting = SelectInput::projecting(&input.attributes_to_get, projection);
    SelectInput::check(select, projecting, input.index_name.is_some())?;
    let attributes = legacy::projection(&input.attributes_to_get)?;
    let scan_filter = legacy::filter(input.scan_filter, operator)?;
    let start_after = parameters::start_key(input.exclusive_start_key)?;
    let (filter, projection) = placeholders.scan(cache, filter, projection)?;
    let segment = segment(input.segment, input.total_segments)?;
    let select = SelectInput::resolve(select, projection.or(attributes));
    let asked = PageWish::new(&select, capacity);
    let request = Scan {
        table,
        index: input.index_name,
        filter: filter.or(scan_filter),
        select,
        limit,
        start_after,
        consistent: input.consistent_read.unwrap_or(false),
        segment,
    };
    Ok((request, asked))
}

impl Input {
    fn check_legacy(&self, constraints: &mut Constraints) -> Option<ConditionalOperator> {
        let operator = ConditionalOperator::of(constraints, &self.conditional_operator);
        legacy::check_comparisons(constraints, "scanFilter", &self.scan_filter);
        legacy::check_attributes(constraints, "attributesToGet", &self.attributes_to_get);
        operator
    }

    fn check_unmixed(&self) -> Result<(), Refusal> {
        legacy::check_unmixed(
            &[
                ("AttributesToGet", self.attributes_to_get.is_some()),
                ("ScanFilter", self.scan_filter.is_some()),
                ("ConditionalOperator", self.conditional_operator.is_some()),
            ],
            &[
                ("ProjectionExpression", &self.projection_expression),
                ("FilterExpression", &self.filter_expression),
            ],
        )
    }

    fn check_segments(&self, constraints: &mut Constraints) {
        constraints.at_least("segment", self.segment, 0);
        constraints.at_most("segment", self.segment, SEGMENTS_MAX - 1);
        constraints.at_least("totalSegments", self.total_segments, 1);
        constraints.at_most("totalSegments", self.total_segments, SEGMENTS_MAX);
    }
}

/// The part of a parallel scan; both of its numbers are within bounds.
fn segment(number: Option<i64>, total: Option<i64>) -> Result<Option<Segment>, Refusal> {
    let small = |number: i64| u32::try_from(number).ok();
    match (number.and_then(small), total.and_then(small)) {
        (None, None) => Ok(None),
        (Some(number), Some(total)) if number < total => Ok(Some(Segment { number, total })),
        (Some(number), Some(total)) => Err(Refusal::validation(messages::no_such_segment(
            number, total,
        ))),
        (Some(_), None) => Err(Refusal::validation(messages::NO_TOTAL_SEGMENTS)),
        (None, Some(_)) => Err(Refusal::validation(messages::NO_SEGMENT)),
    }
}
