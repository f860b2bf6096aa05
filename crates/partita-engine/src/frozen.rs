//! Tables that take no writes, or no requests at all, for as long as the process has the store open.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use partita_store::table::TableName;
use partita_store::{StoreError, StoreResult};

/// What is kept from callers, and why.
pub(crate) type Reasons = Arc<BTreeMap<TableName, Frost>>;

/// Why a table takes no writes.
#[derive(Clone, Debug)]
pub(crate) struct Frost {
    reason: String,
    /// Whether callers do not read it either.
    is_closed: bool,
    /// Whether somebody fills it now.
    is_held: bool,
}

impl Frost {
    fn refusal(&self) -> StoreError {
        let message = self.reason.clone();
        if self.is_closed {
            StoreError::Closed { message }
        } else {
            StoreError::ReadOnly { message }
        }
    }
}

/// The tables that callers do not write or do not reach now.
#[derive(Default)]
pub(crate) struct Frozen {
    /// How often a table was closed or opened again.
    turns: AtomicU64,
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    reasons: Reasons,
    /// The turn at which each table was last closed or opened again.
    turned: BTreeMap<TableName, u64>,
}

/// The moment before a read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look(u64);

impl Frozen {
    /// The tables as they are now. The committer asks once for each commit.
    pub(crate) fn now(&self) -> Reasons {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.reasons.clone()
    }

    /// Has callers write none of these tables.
    pub(crate) fn add(&self, tables: &[TableName], reason: &str) -> StoreResult<()> {
        let mut state = self.change();
        let held = tables.iter().find_map(|table| {
            let frost = state.reasons.get(table)?;
            (frost.is_closed || frost.is_held).then(|| frost.refusal())
        });
        if let Some(refusal) = held {
            return Err(refusal);
        }
        state.set(tables, |_| Frost {
            reason: reason.to_owned(),
            is_closed: false,
            is_held: false,
        });
        Ok(())
    }

    /// Takes back what [`Self::add`] did.
    pub(crate) fn remove(&self, tables: &[TableName]) {
        let mut state = self.change();
        let is_stayed = |frost: &Frost| frost.is_closed || frost.is_held;
        Arc::make_mut(&mut state.reasons)
            .retain(|table, frost| is_stayed(frost) || !tables.contains(table));
    }

    /// Has nobody write these tables but the one who fills them from now on. Those that are closed
    /// since an earlier attempt stay so.
    pub(crate) fn hold(&self, tables: &[TableName], reason: &str) -> StoreResult<()> {
        let mut state = self.change();
        let taken = tables.iter().find_map(|table| {
            let frost = state.reasons.get(table)?;
            (frost.is_held || !frost.is_closed).then(|| frost.refusal())
        });
        if let Some(refusal) = taken {
            return Err(refusal);
        }
        state.set(tables, |before| Frost {
            reason: reason.to_owned(),
            is_closed: before.is_some_and(|frost| frost.is_closed),
            is_held: true,
        });
        Ok(())
    }

    /// Has nobody read tables either that are held.
    pub(crate) fn close(&self, tables: &[TableName]) {
        let mut state = self.change();
        for frost in state.of(tables) {
            frost.is_closed = true;
        }
        self.turn(&mut state, tables);
    }

    /// Ends the hold of tables: those that are closed stay so, the others are as before.
    pub(crate) fn release(&self, tables: &[TableName]) {
        let mut state = self.change();
        for frost in state.of(tables) {
            frost.is_held = false;
        }
        Arc::make_mut(&mut state.reasons)
            .retain(|table, frost| frost.is_closed || !tables.contains(table));
    }

    /// Lets callers read and write tables again that were held.
    pub(crate) fn open(&self, tables: &[TableName]) {
        let mut state = self.change();
        Arc::make_mut(&mut state.reasons).retain(|table, _| !tables.contains(table));
        self.turn(&mut state, tables);
    }

    /// Notes the moment before a read, for [`Self::demand_open`] after it.
    pub(crate) fn look(&self) -> Look {
        Look(self.turns.load(Ordering::Acquire))
    }

    /// Refuses what was read of a table that is closed, or was at some time since the look.
    ///
    /// It is asked after the read: a table that was never closed from the look until then was open
    /// when the read took its view.
    pub(crate) fn demand_open(&self, look: Look, table: &TableName) -> StoreResult<()> {
        // Most processes never close a table.
        if self.turns.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        match state.unread(look, table) {
            None => Ok(()),
            Some(refusal) => Err(refusal),
        }
    }

    /// The tables of which a view that was taken since the look may have a part only.
    pub(crate) fn closed_since(&self, look: Look) -> BTreeMap<TableName, StoreError> {
        if self.turns.load(Ordering::Acquire) == 0 {
            return BTreeMap::new();
        }
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let tables = state.turned.keys();
        let closed = tables.filter_map(|table| Some((table.clone(), state.unread(look, table)?)));
        closed.collect()
    }

    fn change(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn turn(&self, state: &mut State, tables: &[TableName]) {
        let turn = self.turns.fetch_add(1, Ordering::AcqRel) + 1;
        let turned = tables.iter().map(|table| (table.clone(), turn));
        state.turned.extend(turned);
    }
}

impl State {
    fn set(&mut self, tables: &[TableName], make: impl Fn(Option<&Frost>) -> Frost) {
        let reasons = Arc::make_mut(&mut self.reasons);
        for table in tables {
            let frost = make(reasons.get(table));
            reasons.insert(table.clone(), frost);
        }
    }

    fn of(&mut self, tables: &[TableName]) -> impl Iterator<Item = &mut Frost> {
        let reasons = Arc::make_mut(&mut self.reasons).iter_mut();
        reasons.filter_map(|(table, frost)| tables.contains(table).then_some(frost))
    }

    /// Why what was read of a table since the look does not count.
    fn unread(&self, look: Look, table: &TableName) -> Option<StoreError> {
        let frost = self.reasons.get(table);
        if let Some(frost) = frost.filter(|frost| frost.is_closed) {
            return Some(frost.refusal());
        }
        let turned = *self.turned.get(table)?;
        (turned > look.0).then(|| StoreError::Closed {
            message: format!("the table `{table}` was filled while it was read: read it again"),
        })
    }
}

/// Refuses a write to a table that takes none.
pub(crate) fn demand_writable(reasons: &Reasons, table: &TableName) -> StoreResult<()> {
    match reasons.get(table) {
        None => Ok(()),
        Some(frost) => Err(frost.refusal()),
    }
}

/// Refuses to look at an item of a table that is closed, as a condition does.
pub(crate) fn demand_readable(reasons: &Reasons, table: &TableName) -> StoreResult<()> {
    match reasons.get(table) {
        Some(frost) if frost.is_closed => Err(frost.refusal()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
