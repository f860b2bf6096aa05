//! The query that a pattern is, once its parameters are known.

use partita_core::Map;
use partita_design::design::Pattern;

use crate::blueprint::Blueprint;
use crate::error::PlanError;
use crate::evaluate::Listing;
use crate::pattern::rows_max;

impl Blueprint {
    /// The query that a pattern is with these parameters; none while one is missing. Nothing that
    /// is written goes through a whole table.
    pub(crate) fn listing(
        &self,
        pattern: &Pattern,
        values: &Map,
    ) -> Result<Option<Listing>, PlanError> {
        let (table, name) = self.table(pattern.table);
        let index = pattern.read.index();
        let keys = pattern.keys(table, values)?;
        Ok(keys.map(|keys| Listing {
            table: name.clone(),
            index: index.map(|index| table.indexes[index.index()].name.clone()),
            keys,
            last_only: false,
            rows_max: pattern.one.then(|| rows_max(pattern)),
        }))
    }
}
