//! What is said when a ref that a write sets leads nowhere.
//!
//! Every such write carries the refusal, and hardly any shows it, so that all are made once.

use partita_design::Design;
use partita_design::design::RecordId;

use crate::draft::Refusal;
use crate::error::{Fault, PlanError};

/// For each record, what is said of its refs: the ref, what it should lead to, and the refusal.
pub(crate) struct MissingTargets(Vec<Vec<(String, RecordId, Refusal)>>);

impl MissingTargets {
    pub(crate) fn of(design: &Design) -> Self {
        let records = design.records.iter().map(|record| {
            let refs = record.refs.iter();
            let targets = refs.flat_map(|one| one.records().map(move |target| (&one.name, target)));
            let refusals = targets.map(|(name, target)| {
                let fault = Fault::of_target(&record.name, name, &design[target].name);
                let faults = vec![fault];
                let refusal = Refusal::of(PlanError::Invalid { faults });
                (name.clone(), target, refusal)
            });
            refusals.collect()
        });
        MissingTargets(records.collect())
    }

    /// The refusal for a ref of a record whose target is not there.
    pub(crate) fn find(&self, of: RecordId, reference: &str, target: RecordId) -> Option<&Refusal> {
        let mut refusals = self.0[of.index()].iter();
        let found = refusals.find(|(name, to, _)| name == reference && *to == target);
        found.map(|(_, _, refusal)| refusal)
    }
}
