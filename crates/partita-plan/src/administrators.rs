//! What belongs to no item and no rule of an entity speaks of: keys, and jobs.

use partita_core::Map;

use crate::error::PlanError;
use crate::evaluate::ItemScope;
use crate::operation::Caller;
use crate::partita::Partita;
use crate::request::rules::Verdict;

impl Partita {
    /// Whether a caller is an administrator of the design, as `administrators` in `[caller]` says.
    /// Where that asks for a role or groups that are in the caller's item, the item is read.
    pub async fn is_administrator(&self, caller: &Caller) -> Result<bool, PlanError> {
        let design = &self.blueprint.design;
        let rule = &design.callers.administrators;
        // The rule is of the caller alone, so that any record and no item will do.
        let Some(record) = design.records.first() else {
            return Ok(false);
        };
        let moment = self.moment();
        let mut reads = self.reads(&moment);
        let nothing = Map::new();
        let verdict = self.runner.settle(&mut reads, |reads| {
            let context = self.context(caller, reads, &moment);
            Ok(ItemScope::unguarded(context, record, &nothing).decide(rule))
        });
        Ok(verdict.await? == Verdict::Allowed)
    }
}
