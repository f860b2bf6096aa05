//! Expressions that look into keys, which are scalars: nothing is inside them.

use partita_core::expression::{Condition, Path, Projection, Update};

use super::TableSchema;
use crate::error::{StoreError, StoreResult};

impl TableSchema {
    /// Refuses a projection of a part of a key.
    pub fn check_projection(&self, projection: Option<&Projection>) -> StoreResult<()> {
        let paths = projection.map(Projection::paths).into_iter().flatten();
        self.check_scalars(|visit| paths.for_each(visit))
    }

    /// Refuses a condition on a part of a key.
    pub(crate) fn check_condition(&self, condition: &Condition) -> StoreResult<()> {
        self.check_scalars(|mut visit| condition.visit_paths(&mut visit))
    }

    /// Refuses an update that reads or writes a part of a key.
    pub(crate) fn check_update(&self, update: &Update) -> StoreResult<()> {
        self.check_scalars(|mut visit| update.visit_paths(&mut visit))
    }

    fn check_scalars<'p>(
        &self,
        visit_all: impl FnOnce(&mut dyn FnMut(&'p Path)),
    ) -> StoreResult<()> {
        let mut checked = Ok(());
        visit_all(&mut |path: &'p Path| {
            if checked.is_ok() && !path.steps.is_empty() {
                checked = self.check_scalar(&path.root);
            }
        });
        checked
    }

    fn check_scalar(&self, name: &str) -> StoreResult<()> {
        let mut of_indexes = self.indexes.iter().flat_map(|index| index.attributes());
        let kind = if self.key.contains(name) {
            "Key"
        } else if of_indexes.any(|attribute| attribute.name == *name) {
            "IndexKey"
        } else {
            return Ok(());
        };
        Err(StoreError::validation(format!(
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: {kind}: {name}"
        )))
    }
}
