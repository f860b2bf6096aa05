//! Conditions, updates and projections as a request's text and placeholders.
//!
//! All expressions of one request go through one [`Renderer`], because a request has its names
//! and values once.

use std::collections::HashMap;

use partita_core::expression::{Condition, Projection, Renderer, Update};

use crate::convert::{Attributes, to_attribute};

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
