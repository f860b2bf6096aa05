//! Conditions, updates and projections as a request's text and placeholders.
//!
//! All expressions of one request go through one [`Renderer`], because a request has its names
//! and values once.

use std::collections::HashMap;

use partita_core::expression::{Condition, Projection, Renderer, Update};

use crate::convert::{Attributes, to_attribute};

/// A write with its table, its condition, the placeholders of all its expressions, and whether a
/// condition that fails brings the item. The SDK's builders have the same methods and no trait
/// for them.
macro_rules! conditional {
    ($builder:expr, $renderer:expr, $write:expr, $condition:expr) => {{
        let mut renderer = $renderer;
        let condition = $crate::expressions::condition(&mut renderer, $condition);
        let $crate::expressions::Placeholders { names, values } = renderer.into();
        let on_failure = $crate::convert::on_failure($write.return_item_on_failure);
        $builder
            .table_name($write.table.as_str())
            .set_condition_expression(condition)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .return_values_on_condition_check_failure(on_failure)
    }};
}

pub(crate) use conditional;

/// A request's ExpressionAttributeNames and ExpressionAttributeValues. DynamoDB refuses either
/// if it is there and empty.
pub(crate) struct Placeholders {
    pub(crate) names: Option<HashMap<String, String>>,
    pub(crate) values: Option<Attributes>,
}

impl From<Renderer> for Placeholders {
    fn from(renderer: Renderer) -> Self {
        let (names, values) = renderer.into_bindings();
        let values = values
            .into_iter()
            .map(|(placeholder, value)| (placeholder, to_attribute(&value)));
        Placeholders {
            names: (!names.is_empty()).then(|| names.into_iter().collect()),
            values: (values.len() > 0).then(|| values.collect()),
        }
    }
}

/// The text of a condition or filter. The condition that always holds has no text, and is left
/// out of the request.
pub(crate) fn condition(renderer: &mut Renderer, condition: Option<&Condition>) -> Option<String> {
    let text = renderer.condition(condition?);
    (!text.is_empty()).then_some(text)
}

/// The text of an update. The update that changes nothing has no text either; it still creates
/// the item if there is none.
pub(crate) fn update(renderer: &mut Renderer, update: &Update) -> Option<String> {
    (!update.is_empty()).then(|| renderer.update(update))
}

/// The text of a projection.
pub(crate) fn projection(
    renderer: &mut Renderer,
    projection: Option<&Projection>,
) -> Option<String> {
    projection.map(|projection| renderer.projection(projection))
}
