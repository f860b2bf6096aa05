//! The expressions of a request, with the names and values of their placeholders.
//!
//! The rules and the words are `partita_core`'s; here is the order in which an operation looks
//! at its expressions, because the service reports the first mistake that it meets.

use partita_core::expression::{
    AttributeNames, AttributeValues, Condition, ExpressionCache, ExpressionKind, KeyCondition,
    PendingKeyCondition, Projection, RequestExpressions, Update,
};

use crate::refusal::Refusal;

/// ExpressionAttributeNames and ExpressionAttributeValues.
#[derive(Debug, Default)]
pub(crate) struct Placeholders {
    names: Option<AttributeNames>,
    values: Option<AttributeValues>,
}

/// The filter, the projection and the key condition of a query.
type OfQuery = (Option<Condition>, Option<Projection>, Option<KeyCondition>);

impl Placeholders {
    /// Refuses names and values that come without an expression. `expressions` are all that the
    /// operation has, in the order of the service's message.
    pub(crate) fn new(
        names: Option<AttributeNames>,
        values: Option<AttributeValues>,
        expressions: &[(ExpressionKind, &Option<String>)],
    ) -> Result<Self, Refusal> {
        let present = expressions
            .iter()
            .map(|(kind, text)| (*kind, text.is_some()));
        let present: Vec<_> = present.collect();
        RequestExpressions::check_presence(names.as_ref(), values.as_ref(), &present)?;
        Ok(Placeholders { names, values })
    }

    fn bind<'a>(&'a self, cache: &'a ExpressionCache) -> Result<RequestExpressions<'a>, Refusal> {
        let (names, values) = (self.names.as_ref(), self.values.as_ref());
        Ok(RequestExpressions::new(cache, names, values)?)
    }

    /// The expression of a put, a delete or a check.
    pub(crate) fn condition(
        &self,
        cache: &ExpressionCache,
        condition: &Option<String>,
    ) -> Result<Option<Condition>, Refusal> {
        let mut bound = self.bind(cache)?;
        let condition = optional(condition, |text| bound.condition(text))?;
        bound.finish()?;
        Ok(condition)
    }

    /// The expressions of an update. One without a text changes nothing, but creates the item.
    pub(crate) fn update(
        &self,
        cache: &ExpressionCache,
        update: &Option<String>,
        condition: &Option<String>,
    ) -> Result<(Update, Option<Condition>), Refusal> {
        let mut bound = self.bind(cache)?;
        let update = optional(update, |text| bound.update(text))?.unwrap_or_default();
        let condition = optional(condition, |text| bound.condition(text))?;
        bound.finish()?;
        Ok((update, condition))
    }

    /// The expression of a read by key.
    pub(crate) fn projection(
        &self,
        cache: &ExpressionCache,
        projection: &Option<String>,
    ) -> Result<Option<Projection>, Refusal> {
        let mut bound = self.bind(cache)?;
        let projection = optional(projection, |text| bound.projection(text))?;
        bound.finish()?;
        Ok(projection)
    }

    /// The expressions of a scan.
    pub(crate) fn scan(
        &self,
        cache: &ExpressionCache,
        filter: &Option<String>,
        projection: &Option<String>,
    ) -> Result<(Option<Condition>, Option<Projection>), Refusal> {
        let mut bound = self.bind(cache)?;
        let filter = optional(filter, |text| bound.filter(text))?;
        let projection = optional(projection, |text| bound.projection(text))?;
        bound.finish()?;
        Ok((filter, projection))
    }

    /// The expressions of a query.
    pub(crate) fn query(
        &self,
        cache: &ExpressionCache,
        filter: &Option<String>,
        projection: &Option<String>,
        keys: &Option<String>,
    ) -> Result<OfQuery, Refusal> {
        let mut bound = self.bind(cache)?;
        let filter = optional(filter, |text| bound.filter(text))?;
        let projection = optional(projection, |text| bound.projection(text))?;
        let keys = optional(keys, |text| bound.key_condition(text))?;
        bound.finish()?;
        let keys = keys.map(PendingKeyCondition::resolve).transpose()?;
        Ok((filter, projection, keys))
    }
}

fn optional<T, E>(
    text: &Option<String>,
    read: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, E> {
    text.as_deref().map(read).transpose()
}
