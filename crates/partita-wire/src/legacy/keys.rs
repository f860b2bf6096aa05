//! KeyConditions.

use std::collections::BTreeMap;

use partita_core::expression::{KeyCondition, KeyRange};
use partita_store::request::TableDescription;

use super::comparison::{Comparisons, Operator};
use crate::messages;
use crate::refusal::Refusal;

/// What a query asks of the keys.
#[derive(Debug)]
pub(crate) enum LegacyKeys {
    Asked(KeyCondition),
    /// One of the operators can be asked of no key. What is wrong then depends on the table.
    Unindexable(Unindexable),
}

/// The operators by their attributes.
#[derive(Debug)]
pub(crate) struct Unindexable(BTreeMap<String, Operator>);

/// Reads KeyConditions.
pub(crate) fn key_conditions(comparisons: Comparisons) -> Result<LegacyKeys, Refusal> {
    let count = comparisons.len();
    let mut checked = BTreeMap::new();
    for (name, comparison) in comparisons {
        checked.insert(name, comparison.checked()?);
    }
    if !(1..=2).contains(&count) {
        return Err(Refusal::validation(messages::KEY_CONDITIONS_COUNT));
    }
    let mut keys = KeyCondition {
        equals: Vec::new(),
        range: None,
    };
    let operators = checked.iter();
    let operators = operators.map(|(name, checked)| (name.clone(), checked.operator));
    let operators: BTreeMap<_, _> = operators.collect();
    for (name, checked) in checked {
        let mut values = checked.values.into_iter();
        let Some(value) = values.next() else {
            return Ok(LegacyKeys::Unindexable(Unindexable(operators)));
        };
        let range = match (checked.operator, values.next()) {
            (Operator::Eq, _) => {
                keys.equals.push((name, value));
                continue;
            }
            (Operator::Lt, _) => KeyRange::Less(value),
            (Operator::Le, _) => KeyRange::LessOrEqual(value),
            (Operator::Gt, _) => KeyRange::Greater(value),
            (Operator::Ge, _) => KeyRange::GreaterOrEqual(value),
            (Operator::BeginsWith, _) => KeyRange::BeginsWith(value),
            (Operator::Between, Some(high)) => KeyRange::Between(value, high),
            _ => return Ok(LegacyKeys::Unindexable(Unindexable(operators))),
        };
        // One of two ranges is on a partition key, whichever attributes are the keys.
        if keys.range.replace((name, range)).is_some() {
            return Err(Refusal::validation(messages::KEYS_NOT_SUPPORTED));
        }
    }
    Ok(LegacyKeys::Asked(keys))
}

impl Operator {
    fn is_indexable(self) -> bool {
        !matches!(
            self,
            Operator::Null
                | Operator::NotNull
                | Operator::Ne
                | Operator::In
                | Operator::Contains
                | Operator::NotContains
        )
    }
}

impl Unindexable {
    /// The service goes through the keys of the table or index and refuses the first without a
    /// condition, or the first whose operator cannot be asked of a key.
    pub(crate) fn refusal(&self, table: &TableDescription, index: Option<&str>) -> Refusal {
        let Unindexable(operators) = self;
        let schema = &table.schema;
        let index = match index.map(|name| schema.index(name)).transpose() {
            Ok(index) => index,
            Err(error) => return error.into(),
        };
        let keys: Vec<_> = match index {
            Some(index) => index.attributes().collect(),
            None => schema.key.attributes().collect(),
        };
        for (number, key) in keys.iter().enumerate() {
            match operators.get(&key.name) {
                None if number == 0 || operators.len() > 1 => {
                    return Refusal::validation(messages::missed_key(&key.name));
                }
                Some(operator) if !operator.is_indexable() => {
                    return Refusal::validation(messages::NOT_INDEXABLE);
                }
                _ => {}
            }
        }
        Refusal::validation(messages::KEYS_NOT_SUPPORTED)
    }
}
