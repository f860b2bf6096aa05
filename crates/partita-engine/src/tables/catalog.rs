//! The tables of now.

use std::sync::{Arc, PoisonError, RwLock};

use super::Tables;

/// The tables of now.
///
/// INVARIANT: these tables are on disk. Only the committer replaces them, and only after a
/// commit.
pub(crate) struct Catalog(RwLock<Arc<Tables>>);

impl Catalog {
    pub(crate) fn new(tables: Tables) -> Self {
        Catalog(RwLock::new(Arc::new(tables)))
    }

    /// The tables of now; they stay as they are, and what is created later is not among them.
    pub(crate) fn tables(&self) -> Arc<Tables> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Whether nothing was created, changed or deleted since.
    pub(crate) fn is_now(&self, tables: &Arc<Tables>) -> bool {
        Arc::ptr_eq(&self.tables(), tables)
    }

    /// Replaces the tables by what is on disk now.
    pub(crate) fn replace(&self, tables: Arc<Tables>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = tables;
    }
}
