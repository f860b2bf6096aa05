//! What the first pass finds, until it is known which of it follows from the rest.

use std::collections::BTreeSet;

use partita_core::size::value_memory;

use crate::report::{Drift, Outcome};

/// Memory for what is kept. A pass that finds more is followed by another one.
const KEPT_BYTES: usize = 4 << 20;
/// What a drift takes beside its values, about.
const DRIFT_BYTES: usize = 500;

/// Something that looks wrong, and what would become of it.
#[derive(Debug)]
pub(crate) struct Suspect {
    pub(crate) drift: Drift,
    pub(crate) outcome: Outcome,
    /// The declaration that it is derived by, where a repair would mend it.
    pub(crate) derived_by: Option<String>,
}

/// Everything that looks wrong.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    /// The places of the design that have wrong values.
    pub(crate) wrong: BTreeSet<String>,
    kept: Vec<Suspect>,
    bytes: usize,
}

impl Suspects {
    /// Notes down what looks wrong; it is kept if it is asked for and there is room.
    pub(crate) fn add(&mut self, suspect: Suspect, is_asked: bool) {
        let Drift {
            stored, expected, ..
        } = &suspect.drift;
        if let Some(place) = &suspect.derived_by
            && !self.wrong.contains(place)
        {
            self.wrong.insert(place.clone());
        }
        if is_asked && self.bytes <= KEPT_BYTES {
            let values = [stored, expected].into_iter().flatten();
            self.bytes += DRIFT_BYTES + values.map(value_memory).sum::<usize>();
            self.kept.push(suspect);
        }
    }

    /// All that was found and asked for; none where that was more than there was room for.
    pub(crate) fn into_kept(self) -> Option<Vec<Suspect>> {
        (self.bytes <= KEPT_BYTES).then_some(self.kept)
    }
}
