//! The expressions of one request, with DynamoDB's checks and messages.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::bind::Binder;
use super::java_order::order_of_copy;
use super::messages::{ExpressionFault, RequestFault};
use super::parser::{self, Parser};
use super::syntax::Node;
use super::token::Dialect;
use super::{
    Condition, ExpressionCache, ExpressionError, KeyCondition, Path, Projection, Span, Update,
};
use crate::Value;
use crate::json::Received;
use crate::limits::{
    ATTRIBUTE_NAME_BYTES_MAX, EXPRESSION_BYTES_MAX, EXPRESSION_PLACEHOLDER_BYTES_MAX,
    EXPRESSION_VALUES_BYTES_MAX,
};
use crate::size::value_bytes;

/// The expressions of a request, under the names of their parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExpressionKind {
    /// ConditionExpression.
    Condition,
    /// FilterExpression.
    Filter,
    /// KeyConditionExpression.
    KeyCondition,
    /// UpdateExpression.
    Update,
    /// ProjectionExpression.
    Projection,
}

impl fmt::Display for ExpressionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ExpressionKind::Condition => "ConditionExpression",
            ExpressionKind::Filter => "FilterExpression",
            ExpressionKind::KeyCondition => "KeyConditionExpression",
            ExpressionKind::Update => "UpdateExpression",
            ExpressionKind::Projection => "ProjectionExpression",
        })
    }
}

/// A request's ExpressionAttributeNames.
pub type AttributeNames = BTreeMap<String, String>;
/// A request's ExpressionAttributeValues.
pub type AttributeValues = BTreeMap<String, Received<Value>>;

const NAMES: &str = "ExpressionAttributeNames";
const VALUES: &str = "ExpressionAttributeValues";

/// One request's names and values, and the expressions that use them.
///
/// Every error is a ValidationException whose message is the error's `message`, whole. DynamoDB
/// reports the first mistake it meets, so the order of calls matters: `new`, then the update
/// before the condition, the filter before the projection before the key condition, then
/// [`finish`](Self::finish).
///
/// ```
/// use partita_core::Value;
/// use partita_core::expression::{AttributeValues, ExpressionCache, RequestExpressions};
///
/// let cache = ExpressionCache::default();
/// let values = AttributeValues::from([(":one".to_owned(), Value::from(1).into())]);
/// let mut expressions = RequestExpressions::new(&cache, None, Some(&values))?;
/// let update = expressions.update("SET pages = pages + :one")?;
/// let error = expressions.condition("status = :one").unwrap_err();
/// assert_eq!(
///     error.message,
///     "Invalid ConditionExpression: Attribute name is a reserved keyword; reserved keyword: status"
/// );
/// expressions.finish()?;
/// # Ok::<(), partita_core::expression::ExpressionError>(())
/// ```
#[derive(Debug)]
pub struct RequestExpressions<'a> {
    cache: &'a ExpressionCache,
    binder: Binder<'a>,
    names: Option<&'a AttributeNames>,
    values: Option<&'a AttributeValues>,
}

impl<'a> RequestExpressions<'a> {
    /// Checks the names and values by themselves.
    ///
    /// # Errors
    ///
    /// Fails where a map is empty, or a key, a name or a value is not one.
    pub fn new(
        cache: &'a ExpressionCache,
        names: Option<&'a AttributeNames>,
        values: Option<&'a AttributeValues>,
    ) -> Result<Self, ExpressionError> {
        if let Some(names) = names {
            check_names(names)?;
        }
        if let Some(values) = values {
            check_values(values)?;
        }
        Ok(RequestExpressions {
            cache,
            binder: Binder::new(names, values),
            names,
            values,
        })
    }

    /// Whether names and values come with expressions that could use them.
    ///
    /// `expressions` are all that the operation has, and whether this request has them too;
    /// DynamoDB's message lists them in the order given (for a query the filter comes first).
    ///
    /// # Errors
    ///
    /// Fails where there are names but no expression, or values but none other than a projection.
    pub fn check_presence(
        names: Option<&AttributeNames>,
        values: Option<&AttributeValues>,
        expressions: &[(ExpressionKind, bool)],
    ) -> Result<(), ExpressionError> {
        if names.is_some_and(|names| !names.is_empty())
            && !expressions.iter().any(|(_, is_present)| *is_present)
        {
            return Err(refused(RequestFault::NamesAlone));
        }
        let with_values = || {
            let kinds = expressions.iter();
            kinds.filter(|(kind, _)| *kind != ExpressionKind::Projection)
        };
        // An operation that takes no values at all does not look at them.
        let could_use = with_values().next().is_some();
        if values.is_some_and(|values| !values.is_empty())
            && could_use
            && !with_values().any(|(_, is_present)| *is_present)
        {
            let missing = with_values().map(|(kind, _)| *kind).collect();
            return Err(refused(RequestFault::ValuesAlone { missing }));
        }
        Ok(())
    }

    /// Reads a ConditionExpression.
    ///
    /// # Errors
    ///
    /// Fails with DynamoDB's message.
    pub fn condition(&mut self, text: &str) -> Result<Condition, ExpressionError> {
        self.conditional(ExpressionKind::Condition, text)
    }

    /// Reads a FilterExpression.
    ///
    /// # Errors
    ///
    /// Fails with DynamoDB's message.
    pub fn filter(&mut self, text: &str) -> Result<Condition, ExpressionError> {
        self.conditional(ExpressionKind::Filter, text)
    }

    /// Reads a KeyConditionExpression. What may not be asked of keys comes to light only in
    /// [`PendingKeyCondition::resolve`], because DynamoDB reports unused values before it.
    ///
    /// # Errors
    ///
    /// Fails with DynamoDB's message.
    pub fn key_condition(&mut self, text: &str) -> Result<PendingKeyCondition, ExpressionError> {
        let kind = ExpressionKind::KeyCondition;
        let node = self.node(kind, text)?;
        let condition = self.binder.condition(&node);
        let condition = condition.map_err(|error| of(kind, error))?;
        let mut paths = Vec::new();
        condition.visit_paths(&mut |path| paths.push(path.clone()));
        Ok(PendingKeyCondition {
            paths,
            outcome: self.binder.keys(&node),
        })
    }

    /// Reads an UpdateExpression.
    ///
    /// # Errors
    ///
    /// Fails with DynamoDB's message.
    pub fn update(&mut self, text: &str) -> Result<Update, ExpressionError> {
        let kind = ExpressionKind::Update;
        let clauses = self
            .cache
            .updates
            .get_or_parse(text, || parse(kind, text, parser::update))
            .map_err(|error| of(kind, error))?;
        let update = self.binder.update(&clauses);
        update.map_err(|error| of(kind, error))
    }

    /// Reads a ProjectionExpression.
    ///
    /// # Errors
    ///
    /// Fails with DynamoDB's message.
    pub fn projection(&mut self, text: &str) -> Result<Projection, ExpressionError> {
        let kind = ExpressionKind::Projection;
        let paths = self
            .cache
            .projections
            .get_or_parse(text, || parse(kind, text, parser::projection))
            .map_err(|error| of(kind, error))?;
        let projection = self.binder.projection(&paths);
        projection.map_err(|error| of(kind, error))
    }

    /// Ends the request's expressions.
    ///
    /// # Errors
    ///
    /// Fails where a name or a value was not used by any of them.
    pub fn finish(self) -> Result<(), ExpressionError> {
        let (names, values) = (self.names, self.values);
        let Binder {
            used_names,
            used_values,
            ..
        } = self.binder;
        let unused = |map, keys: Vec<&str>| {
            let keys = order_of_copy(keys).into_iter().map(str::to_owned).collect();
            Err(refused(RequestFault::Unused { map, keys }))
        };
        if names.map_or(0, BTreeMap::len) > used_names.len() {
            let keys = names.into_iter().flatten().map(|(key, _)| key.as_str());
            return unused(
                NAMES,
                keys.filter(|key| !used_names.contains(key)).collect(),
            );
        }
        if values.map_or(0, BTreeMap::len) > used_values.len() {
            let keys = values.into_iter().flatten().map(|(key, _)| key.as_str());
            return unused(
                VALUES,
                keys.filter(|key| !used_values.contains(key)).collect(),
            );
        }
        Ok(())
    }

    fn conditional(
        &mut self,
        kind: ExpressionKind,
        text: &str,
    ) -> Result<Condition, ExpressionError> {
        let node = self.node(kind, text)?;
        let condition = self.binder.condition(&node);
        condition.map_err(|error| of(kind, error))
    }

    fn node(&self, kind: ExpressionKind, text: &str) -> Result<Arc<Node>, ExpressionError> {
        self.cache
            .conditions
            .get_or_parse(text, || parse(kind, text, parser::condition))
            .map_err(|error| of(kind, error))
    }
}

/// A key condition that was read, and is still to be held to what keys can be asked.
#[derive(Clone, Debug)]
pub struct PendingKeyCondition {
    paths: Vec<Path>,
    outcome: Result<KeyCondition, ExpressionError>,
}

impl PendingKeyCondition {
    /// Every path in it, for checks that need to know which attributes are keys.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// The key condition.
    ///
    /// # Errors
    ///
    /// Fails with DynamoDB's message where this cannot be asked of keys.
    pub fn resolve(self) -> Result<KeyCondition, ExpressionError> {
        self.outcome
    }
}

fn parse<'t, T>(
    kind: ExpressionKind,
    text: &'t str,
    grammar: impl FnOnce(&mut Parser<'t>) -> Result<T, ExpressionError>,
) -> Result<T, ExpressionError> {
    let whole = Span::new(0, text.len());
    if text.is_empty() {
        return Err(ExpressionError::fault(ExpressionFault::Empty, whole));
    }
    if text.len() > EXPRESSION_BYTES_MAX {
        // Updates and projections keep the size to themselves, at Amazon too.
        let is_told = !matches!(kind, ExpressionKind::Update | ExpressionKind::Projection);
        let size = is_told.then_some(text.len());
        return Err(ExpressionError::fault(
            ExpressionFault::TooLong { size },
            whole,
        ));
    }
    Parser::new(text, Dialect::Request).finish(grammar)
}

fn check_names(names: &AttributeNames) -> Result<(), ExpressionError> {
    if names.is_empty() {
        return Err(refused(RequestFault::EmptyMap { map: NAMES }));
    }
    check_keys(names.keys(), |key| {
        check_key(key, '#', NAMES)?;
        let size = key.len();
        if size > EXPRESSION_PLACEHOLDER_BYTES_MAX {
            Err(refused(RequestFault::LongNameKey { size }))
        } else {
            Ok(())
        }
    })?;
    for (key, name) in names {
        let key = || key.to_owned();
        if name.is_empty() {
            return Err(refused(RequestFault::EmptyName { key: key() }));
        }
        if name.len() > ATTRIBUTE_NAME_BYTES_MAX {
            return Err(refused(RequestFault::LongName { key: key() }));
        }
    }
    Ok(())
}

fn check_values(values: &AttributeValues) -> Result<(), ExpressionError> {
    if values.is_empty() {
        return Err(refused(RequestFault::EmptyMap { map: VALUES }));
    }
    check_keys(values.keys(), |key| {
        check_key(key, ':', VALUES)?;
        if key.len() > EXPRESSION_PLACEHOLDER_BYTES_MAX {
            Err(refused(RequestFault::LongValueKey))
        } else {
            Ok(())
        }
    })?;
    for (key, value) in values {
        if let Err(reason) = value.as_result() {
            return Err(refused(RequestFault::InvalidValue {
                fault: reason.to_string(),
                key: key.clone(),
            }));
        }
    }
    let sizes = values.iter().map(|(key, value)| {
        let value = value.as_result().map_or(0, value_bytes);
        key.len() + value
    });
    if sizes.sum::<usize>() > EXPRESSION_VALUES_BYTES_MAX {
        return Err(refused(RequestFault::LargeValues));
    }
    Ok(())
}

/// Checks all keys. Only where one is refused does it matter which of them comes first.
fn check_keys<'k>(
    keys: impl Iterator<Item = &'k String> + Clone,
    check: impl Fn(&str) -> Result<(), ExpressionError>,
) -> Result<(), ExpressionError> {
    if keys.clone().all(|key| check(key).is_ok()) {
        return Ok(());
    }
    let keys = keys.map(String::as_str).collect();
    order_of_copy(keys).into_iter().try_for_each(check)
}

fn check_key(key: &str, sign: char, map: &'static str) -> Result<(), ExpressionError> {
    if key.is_empty() {
        return Err(refused(RequestFault::EmptyKey { map }));
    }
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if key.strip_prefix(sign).is_some_and(is_word) {
        return Ok(());
    }
    let key = key.to_owned();
    Err(refused(RequestFault::InvalidKey { map, key }))
}

fn of(kind: ExpressionKind, error: ExpressionError) -> ExpressionError {
    let fault = error.message;
    let message = RequestFault::Expression { kind, fault }.to_string();
    ExpressionError::new(message, error.span)
}

fn refused(fault: RequestFault) -> ExpressionError {
    ExpressionError::new(fault.to_string(), Span::default())
}

#[cfg(test)]
mod tests;
