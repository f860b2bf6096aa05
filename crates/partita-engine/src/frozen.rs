//! Tables that take no writes, for as long as the process has the store open.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use partita_store::table::TableName;
use partita_store::{StoreError, StoreResult};

/// Why each of them takes none.
pub(crate) type Reasons = Arc<BTreeMap<TableName, String>>;

/// The tables that take no writes now.
#[derive(Default)]
pub(crate) struct Frozen(RwLock<Reasons>);

impl Frozen {
    /// The tables as they are now. The committer asks once for each commit.
    pub(crate) fn now(&self) -> Reasons {
        let reasons = self.0.read().unwrap_or_else(PoisonError::into_inner);
        reasons.clone()
    }

    /// Adds tables.
    pub(crate) fn add(&self, tables: &[TableName], reason: &str) {
        self.change(|all| {
            let reasons = tables
                .iter()
                .map(|table| (table.clone(), reason.to_owned()));
            all.extend(reasons);
        });
    }

    /// Takes tables away.
    pub(crate) fn remove(&self, tables: &[TableName]) {
        self.change(|all| all.retain(|table, _| !tables.contains(table)));
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<TableName, String>)) {
        let mut reasons = self.0.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut reasons));
    }
}

/// Refuses a write to a table that takes none.
pub(crate) fn demand_writable(reasons: &Reasons, table: &TableName) -> StoreResult<()> {
    match reasons.get(table) {
        None => Ok(()),
        Some(reason) => Err(StoreError::ReadOnly {
            message: reason.clone(),
        }),
    }
}
