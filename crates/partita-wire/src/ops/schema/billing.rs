//! Billing mode and provisioned throughput. Nothing is charged and nothing limited here; it is
//! remembered for the tools that compare a table with what they asked for.

use partita_store::settings::Throughput;
use serde::Deserialize;

use crate::constraints::{Choice, Constraints};
use crate::messages;
use crate::refusal::Refusal;

/// More is out of bounds, whatever an account may provision.
const UNITS_MAX: i64 = 1_000_000_000_000;

/// ProvisionedThroughput.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::ops) struct Units {
    read_capacity_units: Option<i64>,
    write_capacity_units: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ops) enum BillingMode {
    Provisioned,
    PayPerRequest,
}

impl Choice for BillingMode {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("PROVISIONED", BillingMode::Provisioned),
        ("PAY_PER_REQUEST", BillingMode::PayPerRequest),
    ];
}

impl Units {
    /// Both numbers, if they are there and as they must be.
    pub(in crate::ops) fn check(
        constraints: &mut Constraints,
        at: &str,
        units: Option<&Units>,
    ) -> Option<Throughput> {
        let units = units?;
        let mut unit = |name: &str, value: Option<i64>| {
            let at = format!("{at}.{name}");
            constraints.required(&at, &value);
            constraints.at_least(&at, value, 1);
            value.and_then(|value| u64::try_from(value).ok())
        };
        let write = unit("writeCapacityUnits", units.write_capacity_units);
        let read = unit("readCapacityUnits", units.read_capacity_units);
        let (read, write) = (read?, write?);
        Some(Throughput { read, write })
    }

    /// What is checked after all constraints hold.
    pub(in crate::ops) fn check_bounds(units: Option<&Units>) -> Result<(), Refusal> {
        let Some(units) = units else { return Ok(()) };
        let units = [
            ("ReadCapacityUnits", units.read_capacity_units),
            ("WriteCapacityUnits", units.write_capacity_units),
        ];
        for (name, value) in units {
            if let Some(value) = value.filter(|value| *value > UNITS_MAX) {
                let message = messages::units_out_of_bounds(value, name);
                return Err(Refusal::validation(message));
            }
        }
        Ok(())
    }
}
