//! The order that a caller asks for.
//!
//! A list that is one query of a table or an index can be read from either end. A cursor belongs to
//! the order that it was made in.

use std::collections::BTreeMap;

use partita_design::design::{Pattern, Read};

use crate::error::{Fault, PlanError};

/// The parameter that asks for an order, unless the design has one of that name.
const ORDER: &str = "order";

/// The parameters of a pattern, and from which end its rows are asked for.
pub(super) struct Ordered {
    /// Those of the design.
    pub(super) parameters: BTreeMap<String, String>,
    /// What a cursor is bound to: the order too, where it is not the pattern's own.
    pub(super) bound: BTreeMap<String, String>,
    /// Whether it is the other order than the pattern's.
    pub(super) is_reversed: bool,
}

impl Ordered {
    /// Takes the order out of the parameters.
    pub(super) fn of(
        pattern: &Pattern,
        given: &BTreeMap<String, String>,
    ) -> Result<Ordered, PlanError> {
        let mut parameters = given.clone();
        let is_own = pattern.parameters.iter().any(|own| own.name == ORDER);
        let order = match is_own {
            true => None,
            false => parameters.remove(ORDER),
        };
        let is_reversed = match order {
            Some(order) => is_descending(pattern, &order)? != pattern.descending,
            None => false,
        };
        let bound = if is_reversed { given } else { &parameters };
        Ok(Ordered {
            bound: bound.clone(),
            parameters,
            is_reversed,
        })
    }
}

fn is_descending(pattern: &Pattern, order: &str) -> Result<bool, PlanError> {
    let refused = |message: String| PlanError::Invalid {
        faults: vec![Fault::new(ORDER, message)],
    };
    if let Some(why) = only_one(pattern) {
        let name = &pattern.name;
        return Err(refused(format!("cannot be chosen, because `{name}` {why}")));
    }
    match order {
        "asc" => Ok(false),
        "desc" => Ok(true),
        _ => Err(refused("must be `asc` or `desc`".to_owned())),
    }
}

/// Why a pattern has but one order.
fn only_one(pattern: &Pattern) -> Option<&'static str> {
    match &pattern.read {
        Read::Get(_) => Some("is one item"),
        Read::Query(_) if pattern.one => Some("is one item"),
        Read::Query(_) if !pattern.sort.is_empty() => Some("is sorted after it is read"),
        Read::Query(_) => None,
        Read::Scan { .. } => Some("goes through the whole table"),
    }
}
