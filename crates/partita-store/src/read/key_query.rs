//! What a query asks of the keys: a prefix of a place's values, and a range of the next one.

use std::collections::HashSet;

use partita_core::Value;
use partita_core::expression::{KeyCondition, KeyRange};
use partita_core::key::KeyValue;
use partita_core::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};

use super::ReadSource;
use crate::error::{StoreError, StoreResult};
use crate::table::{KeyAttribute, is_empty};

/// A prefix of a place's values, and a range of the next one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyQuery {
    /// What the values begin with; a scan's is empty.
    pub prefix: Vec<KeyValue>,
    /// The range of the value behind it.
    pub range: Option<SortRange>,
}

/// A range of sort keys.
#[derive(Clone, Debug, PartialEq)]
pub enum SortRange {
    /// Those below.
    Less(KeyValue),
    /// Those below, and this one.
    LessOrEqual(KeyValue),
    /// Those above.
    Greater(KeyValue),
    /// Those above, and this one.
    GreaterOrEqual(KeyValue),
    /// From the one to the other, both included.
    Between(KeyValue, KeyValue),
    /// Those that begin with it.
    BeginsWith(KeyValue),
}

impl KeyQuery {
    /// Whether the values have the prefix and are in the range.
    pub fn contains(&self, values: &[KeyValue]) -> bool {
        let Some(rest) = values.strip_prefix(self.prefix.as_slice()) else {
            return false;
        };
        let in_range = |range: &SortRange| rest.first().is_some_and(|next| range.contains(next));
        self.range.as_ref().is_none_or(in_range)
    }
}

impl SortRange {
    /// Whether the range holds a sort key.
    pub fn contains(&self, sort: &KeyValue) -> bool {
        match self {
            SortRange::Less(value) => sort < value,
            SortRange::LessOrEqual(value) => sort <= value,
            SortRange::Greater(value) => sort > value,
            SortRange::GreaterOrEqual(value) => sort >= value,
            SortRange::Between(low, high) => low <= sort && sort <= high,
            SortRange::BeginsWith(prefix) => match (sort, prefix) {
                (KeyValue::S(sort), KeyValue::S(prefix)) => sort.starts_with(prefix.as_str()),
                (KeyValue::B(sort), KeyValue::B(prefix)) => sort.starts_with(prefix),
                _ => false,
            },
        }
    }
}

const NOT_SUPPORTED: &str = "Query key condition not supported";

impl ReadSource<'_> {
    /// Holds a key condition against the keys.
    pub fn resolve(&self, keys: &KeyCondition) -> StoreResult<KeyQuery> {
        check_once(keys)?;
        let equal = |attribute: &KeyAttribute| {
            let found = keys.equals.iter().find(|(name, _)| *name == attribute.name);
            found.map(|(_, value)| value)
        };
        let mut prefix = Vec::new();
        for attribute in self.partition() {
            let value = equal(attribute).ok_or_else(|| self.missed(attribute, keys))?;
            prefix.push(self.typed(attribute, value, PARTITION_KEY_BYTES_MAX)?);
        }
        let mut rest = self.sort();
        while let [attribute, behind @ ..] = rest
            && let Some(value) = equal(attribute)
        {
            prefix.push(self.typed(attribute, value, SORT_KEY_BYTES_MAX)?);
            rest = behind;
        }
        let range = match (&keys.range, rest) {
            (None, _) => None,
            (Some((name, range)), [next, ..]) if next.name == *name => {
                Some(self.sort_range(next, range)?)
            }
            (Some((name, _)), _) => return Err(not_next(name, rest)),
        };
        // An equality behind a gap, or on no key at all, was not used.
        let is_used = |name: &str| self.has_key(name) && rest.iter().all(|key| key.name != name);
        match keys.equals.iter().find(|(name, _)| !is_used(name)) {
            Some((name, _)) => Err(not_next(name, rest)),
            None => Ok(KeyQuery { prefix, range }),
        }
    }

    fn missed(&self, attribute: &KeyAttribute, keys: &KeyCondition) -> StoreError {
        let name = &attribute.name;
        let is_range = keys.range.as_ref().is_some_and(|(range, _)| range == name);
        StoreError::validation(match self.partition() {
            [_] if is_range => NOT_SUPPORTED.to_owned(),
            [_] => missed(name),
            _ => format!(
                "HASH key attributes {name} must have equality conditions specified in the query"
            ),
        })
    }

    fn typed(
        &self,
        attribute: &KeyAttribute,
        value: &Value,
        bytes_max: usize,
    ) -> StoreResult<KeyValue> {
        let Some(key) = KeyValue::from_value(value).filter(|key| key.kind() == attribute.kind)
        else {
            return Err(StoreError::validation(
                "One or more parameter values were invalid: Condition parameter type does not match schema type",
            ));
        };
        match self.index {
            Some(index) if is_empty(&key) => return Err(index.empty(attribute)),
            _ => attribute.check_size(&key, bytes_max)?,
        }
        Ok(key)
    }

    /// The bounds of a range, and prefixes too, are held to what a sort key may be.
    fn sort_range(&self, attribute: &KeyAttribute, range: &KeyRange) -> StoreResult<SortRange> {
        let typed = |value| self.typed(attribute, value, SORT_KEY_BYTES_MAX);
        Ok(match range {
            KeyRange::Less(value) => SortRange::Less(typed(value)?),
            KeyRange::LessOrEqual(value) => SortRange::LessOrEqual(typed(value)?),
            KeyRange::Greater(value) => SortRange::Greater(typed(value)?),
            KeyRange::GreaterOrEqual(value) => SortRange::GreaterOrEqual(typed(value)?),
            KeyRange::Between(low, high) => {
                let (low, high) = (typed(low)?, typed(high)?);
                if low > high {
                    return Err(StoreError::validation(
                        "The BETWEEN operator requires upper bound to be greater than or equal to lower bound",
                    ));
                }
                SortRange::Between(low, high)
            }
            KeyRange::BeginsWith(prefix) => match typed(prefix)? {
                KeyValue::N(_) => {
                    return Err(StoreError::validation(
                        "begins_with cannot be asked of a number",
                    ));
                }
                prefix => SortRange::BeginsWith(prefix),
            },
        })
    }
}

fn check_once(keys: &KeyCondition) -> StoreResult<()> {
    let equals = keys.equals.iter().map(|(name, _)| name);
    let mut names = equals.chain(keys.range.iter().map(|(name, _)| name));
    let mut seen = HashSet::new();
    if names.all(|name| seen.insert(name)) {
        Ok(())
    } else {
        Err(StoreError::validation(
            "KeyConditionExpressions must only contain one condition per key",
        ))
    }
}

fn missed(name: &str) -> String {
    format!("Query condition missed key schema element: {name}")
}

/// A condition on something else than the first of the keys that have none yet.
fn not_next(name: &str, rest: &[KeyAttribute]) -> StoreError {
    let Some(position) = rest.iter().position(|key| key.name == name) else {
        return StoreError::validation(match rest {
            [next] => missed(&next.name),
            _ => NOT_SUPPORTED.to_owned(),
        });
    };
    let skipped: Vec<&str> = rest[..position]
        .iter()
        .map(|key| key.name.as_str())
        .collect();
    StoreError::validation(format!(
        "RANGE key attributes {} must have equality conditions specified in the query because a condition is present on key attribute {name}",
        skipped.join(", ")
    ))
}

#[cfg(test)]
mod tests;
