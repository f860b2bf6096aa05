//! The expressions of a request, with the names and values that their placeholders stand for.

use std::collections::BTreeMap;

use partita_core::Value;
use partita_core::expression::{Bindings, Condition, KeyCondition, Update};

use crate::refusal::Refusal;

/// ExpressionAttributeNames and ExpressionAttributeValues.
#[derive(Debug, Default)]
pub(crate) struct Placeholders {
    names: BTreeMap<String, String>,
    values: BTreeMap<String, Value>,
}

impl Placeholders {
    pub(crate) fn new(
        names: Option<BTreeMap<String, String>>,
        values: Option<BTreeMap<String, Value>>,
    ) -> Self {
        Placeholders {
            names: names.unwrap_or_default(),
            values: values.unwrap_or_default(),
        }
    }

    fn bindings(&self) -> Bindings<'_> {
        Bindings::Placeholders {
            names: &self.names,
            values: &self.values,
        }
    }

    /// A condition or filter.
    pub(crate) fn condition(&self, text: Option<&str>) -> Result<Option<Condition>, Refusal> {
        text.map(|text| self.condition_text(text)).transpose()
    }

    pub(crate) fn condition_text(&self, text: &str) -> Result<Condition, Refusal> {
        Ok(Condition::parse(text, &self.bindings())?)
    }

    /// What a query asks of the keys.
    pub(crate) fn keys(&self, text: &str) -> Result<KeyCondition, Refusal> {
        Ok(KeyCondition::parse(text, &self.bindings())?)
    }

    /// What an update changes; without a text nothing, which still creates the item.
    pub(crate) fn update(&self, text: Option<&str>) -> Result<Update, Refusal> {
        match text {
            None => Ok(Update::default()),
            Some(text) => Ok(Update::parse(text, &self.bindings())?),
        }
    }
}
