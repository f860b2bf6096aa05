//! What may be changed of a table after it was created, besides its indexes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::stream::StreamView;

/// The settings of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSettings {
    /// How Amazon charges for the table.
    pub billing: Billing,
    /// Whether the table can only be deleted after this is taken back.
    pub is_protected: bool,
    /// The view type of the table's stream; no stream without.
    pub stream: Option<StreamView>,
}

/// How a service keeps a table. The stores on one machine have neither of both: their files are
/// their operator's to encrypt and to back up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keeping {
    /// The key that the table is encrypted with.
    pub encryption: Encryption,
    /// Whether the table can be brought back to any moment of the last weeks.
    pub has_recovery: bool,
}

/// The key that Amazon encrypts a table with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    /// One of Amazon's own, which every table has.
    #[default]
    Owned,
    /// The one that KMS keeps for the account.
    Managed,
    /// This key of KMS: its id, ARN or alias.
    Key(String),
}

/// How Amazon charges for a table.
///
/// The stores on one machine charge nothing and limit nothing. They remember it, because tools
/// that set tables up compare what they find with what they asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Billing {
    /// By request.
    #[default]
    OnDemand,
    /// By what was provisioned.
    Provisioned {
        /// Of the table.
        table: Throughput,
        /// Of each global index.
        indexes: BTreeMap<String, Throughput>,
    },
}

impl Billing {
    /// When a table was last put on demand, given when that was before and how it was billed.
    pub fn on_demand_millis(
        &self,
        before: Option<&Billing>,
        last_millis: Option<i64>,
        now_millis: i64,
    ) -> Option<i64> {
        let begins = *self == Billing::OnDemand && before != Some(self);
        if begins {
            Some(now_millis)
        } else {
            last_millis
        }
    }
}

/// Units in a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throughput {
    /// Read units.
    pub read: u64,
    /// Write units.
    pub write: u64,
}
