//! Query.

use bytes::Bytes;
use partita_core::expression::{ExpressionCache, ExpressionKind, KeyCondition};
use partita_store::StoreError;
use partita_store::request::Query;

use super::Context;
use super::page::{self, PageWish, SelectInput};
use crate::constraints::Constraints;
use crate::expressions::Placeholders;
use crate::json;
use crate::legacy::{self, Comparisons, ConditionalOperator, LegacyKeys};
use crate::messages;
use crate::parameters::{self, ReturnConsumedCapacity};
use crate::refusal::Refusal;

page::input! {
    key_condition_expression: Option<String>,
    scan_index_forward: Option<bool>,
    key_conditions: Option<Comparisons>,
    query_filter: Option<Comparisons>,
}

/// A query but for its keys, and how its answer and its errors are worded.
struct DecodedQuery {
    query: Query,
    keys: LegacyKeys,
    asked: PageWish,
    has_query_filter: bool,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let DecodedQuery {
        mut query,
        keys,
        asked,
        has_query_filter,
    } = decode(body, context.cache)?;
    query.keys = match keys {
        LegacyKeys::Asked(keys) => keys,
        LegacyKeys::Unindexable(keys) => {
            let table = context.store.describe_table(&query.table).await?;
            return Err(keys.refusal(&table, query.index.as_deref()));
        }
    };
    let page = context.store.query(query).await;
    let page = page.map_err(|error| match error {
        StoreError::Validation { message } if has_query_filter => {
            Refusal::validation(messages::of_query_filter(&message))
        }
        error => error.into(),
    })?;
    Ok(page::encode(asked, page))
}

fn decode(body: &[u8], cache: &ExpressionCache) -> Result<DecodedQuery, Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let select = constraints.choice("select", &input.select);
    let table = parameters::table(&mut constraints, &input.table_name)?;
    parameters::check_index(&mut constraints, &input.index_name);
    let limit = page::limit_of_query(&mut constraints, input.limit);
    let capacity = ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    let operator = input.check_legacy(&mut constraints);
    let table = constraints.finish(table)?;
    input.check_unmixed()?;
    let has_query_filter = input.query_filter.is_some();
    let (filter, projection) = (&input.filter_expression, &input.projection_expression);
    let keys = &input.key_condition_expression;
    let placeholders = Placeholders::new(
        input.expression_attribute_names,
        input.expression_attribute_values,
        &[
            (ExpressionKind::Filter, filter),
            (ExpressionKind::Projection, projection),
            (ExpressionKind::KeyCondition, keys),
        ],
    )?;
    let projecting = SelectInput::projecting(&input.attributes_to_get, projection);
    SelectInput::check(select, projecting, input.index_name.is_some())?;
    let query_filter = legacy::filter(input.query_filter, operator)?;
    let attributes = legacy::projection(&input.attributes_to_get)?;
    let start_after = parameters::start_key(input.exclusive_start_key)?;
    if keys.is_none() && input.key_conditions.is_none() {
        return Err(Refusal::validation(messages::NO_KEY_CONDITION));
    }
    let (filter, projection, keys) = placeholders.query(cache, filter, projection, keys)?;
    let keys = match (keys, input.key_conditions) {
        (None, Some(conditions)) => legacy::key_conditions(conditions)?,
        (keys, _) => LegacyKeys::Asked(keys.unwrap_or(NO_KEYS)),
    };
    let select = SelectInput::resolve(select, projection.or(attributes));
    let asked = PageWish::new(&select, capacity);
    let query = Query {
        table,
        index: input.index_name,
        keys: NO_KEYS,
        filter: filter.or(query_filter),
        select,
        descending: input.scan_index_forward == Some(false),
        limit,
        start_after,
        consistent: input.consistent_read.unwrap_or(false),
    };
    Ok(DecodedQuery {
        query,
        keys,
        asked,
        has_query_filter,
    })
}

/// What a query holds until its keys are known.
const NO_KEYS: KeyCondition = KeyCondition {
    equals: Vec::new(),
    range: None,
};

impl Input {
    fn check_legacy(&self, constraints: &mut Constraints) -> Option<ConditionalOperator> {
        legacy::check_comparisons(constraints, "queryFilter", &self.query_filter);
        let operator = ConditionalOperator::of(constraints, &self.conditional_operator);
        legacy::check_attributes(constraints, "attributesToGet", &self.attributes_to_get);
        legacy::check_comparisons(constraints, "keyConditions", &self.key_conditions);
        operator
    }

    fn check_unmixed(&self) -> Result<(), Refusal> {
        // KeyConditions may be beside a filter or a projection.
        let is_mixed = self.key_conditions.is_some() && self.key_condition_expression.is_some();
        legacy::check_unmixed(
            &[
                ("AttributesToGet", self.attributes_to_get.is_some()),
                ("QueryFilter", self.query_filter.is_some()),
                ("ConditionalOperator", self.conditional_operator.is_some()),
                ("KeyConditions", is_mixed),
            ],
            &[
                ("ProjectionExpression", &self.projection_expression),
                ("FilterExpression", &self.filter_expression),
                ("KeyConditionExpression", &self.key_condition_expression),
            ],
        )
    }
}
