//! ORDER BY.

use partita_core::Value;
use partita_core::key::KeyValue;

use super::partitions::SourceKeys;
use crate::messages;
use crate::refusal::Refusal;

/// The order in which a SELECT reads.
#[derive(Default)]
pub(super) struct Order {
    /// Whether the partitions descend; without it they are read as the statement names them.
    partitions_descend: Option<bool>,
    /// Whether sort keys descend; without it they ascend.
    sorts_descend: Option<bool>,
}

impl Order {
    pub(super) fn new(
        order: &[(String, bool)],
        has_condition: bool,
        keys: &SourceKeys<'_>,
    ) -> Result<Self, Refusal> {
        let mut read = Order::default();
        if !order.is_empty() && !has_condition {
            return Err(Refusal::validation(messages::ORDER_WITHOUT_WHERE));
        }
        for (name, descends) in order {
            if keys.partition.iter().any(|key| key.name == *name) {
                read.partitions_descend = Some(*descends);
            } else if keys.sort.iter().any(|key| key.name == *name) {
                read.sorts_descend = Some(*descends);
            } else {
                return Err(Refusal::validation(messages::order_of_no_key(name)));
            }
        }
        Ok(read)
    }

    /// Whether sort keys descend.
    pub(super) fn descends(&self) -> bool {
        self.sorts_descend == Some(true)
    }

    /// Puts the values of partitions in order; none are named where everything is read.
    pub(super) fn apply(&self, partitions: Option<&mut Vec<Vec<Value>>>) -> Result<(), Refusal> {
        let refuse = |message| Err(Refusal::validation(message));
        match (partitions, self.partitions_descend) {
            (None, None) if self.sorts_descend.is_none() => Ok(()),
            (None, _) => refuse(messages::ORDER_WITHOUT_PARTITION),
            (Some(values), None) if values.len() > 1 && self.sorts_descend.is_some() => {
                refuse(messages::ORDER_OF_SEVERAL_PARTITIONS)
            }
            (Some(_), None) => Ok(()),
            (Some(values), Some(descends)) => {
                values.sort_by_key(|values| key_values(values));
                if descends {
                    values.reverse();
                }
                Ok(())
            }
        }
    }
}

fn key_values(values: &[Value]) -> Vec<Option<KeyValue>> {
    values.iter().map(KeyValue::from_value).collect()
}
