//! Query.

use bytes::Bytes;
use partita_core::expression::{ExpressionCache, ExpressionKind};
use partita_store::request::Query;

use super::Context;
use super::page::{self, Asked, Select};
use crate::constraints::Constraints;
use crate::expressions::Placeholders;
use crate::json;
use crate::messages;
use crate::parameters::{self, ReturnConsumedCapacity, Unread};
use crate::refusal::Refusal;

page::input! {
    key_condition_expression: Option<String>,
    scan_index_forward: Option<bool>,
    key_conditions: Unread,
    query_filter: Unread,
}

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let (request, asked) = decode(body, context.cache)?;
    let page = context.store.query(request).await?;
    Ok(page::encode(asked, page))
}

fn decode(body: &[u8], cache: &ExpressionCache) -> Result<(Query, Asked), Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let select = constraints.choice("select", &input.select);
    let table = parameters::table(&mut constraints, &input.table_name)?;
    parameters::check_index(&mut constraints, &input.index_name);
    let limit = page::limit_of_query(&mut constraints, input.limit);
    let capacity = ReturnConsumedCapacity::of(&mut constraints, &input.return_consumed_capacity);
    let table = constraints.finish(table)?;
    input.refuse()?;
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
    Select::check(select, projection.is_some(), input.index_name.is_some())?;
    let start_after = parameters::start_key(input.exclusive_start_key)?;
    let Some(keys) = keys else {
        return Err(Refusal::validation(messages::NO_KEY_CONDITION));
    };
    let (filter, projection, keys) = placeholders.query(cache, filter, projection, keys)?;
    let select = Select::resolve(select, projection);
    let asked = Asked::new(&select, capacity);
    let request = Query {
        table,
        index: input.index_name,
        keys,
        filter,
        select,
        descending: input.scan_index_forward == Some(false),
        limit,
        start_after,
        consistent: input.consistent_read.unwrap_or(false),
    };
    Ok((request, asked))
}

impl Input {
    fn refuse(&self) -> Result<(), Refusal> {
        parameters::refuse_legacy(
            &[
                ("AttributesToGet", &self.attributes_to_get),
                ("QueryFilter", &self.query_filter),
                ("ConditionalOperator", &self.conditional_operator),
                ("KeyConditions", &self.key_conditions),
            ],
            &[
                ("ProjectionExpression", &self.projection_expression),
                ("FilterExpression", &self.filter_expression),
                ("KeyConditionExpression", &self.key_condition_expression),
            ],
        )
    }
}
