//! How much of a design a pass looks at, and how much of it at once.

use std::collections::BTreeSet;

use partita_design::Design;
use partita_design::design::{Record, RecordId};

use crate::derivation::Derivation;
use crate::layout::Stored;
use crate::report::VerifyError;

/// Items of a page unless another number is asked for. A few thousand items are read for them.
const PAGE_ITEMS: usize = 500;
/// Memory that counts and sums take before they are put aside, unless another bound is asked for.
const GROUPING_BYTES: usize = 256 << 20;

/// What a verification or a repair looks at.
#[derive(Clone, Debug)]
pub struct Extent {
    /// The entities, with their views and unique values; all of them if there is none here.
    pub entities: Vec<String>,
    /// Declarations of the design whose derived data may be missing or left over, because they are
    /// being filled in or removed: `entity.Story.attributes.likes`. They are not judged.
    pub unsettled: BTreeSet<String>,
    /// Items that are looked at in one step. A step runs without a pause.
    pub page_items: usize,
    /// Memory that counts and sums take before they are put aside in temporary files.
    pub grouping_bytes: usize,
}

impl Default for Extent {
    fn default() -> Self {
        Extent {
            entities: Vec::new(),
            unsettled: BTreeSet::new(),
            page_items: PAGE_ITEMS,
            grouping_bytes: GROUPING_BYTES,
        }
    }
}

/// The entities that a pass looks at.
#[derive(Clone, Debug)]
pub(crate) struct Chosen(Option<BTreeSet<RecordId>>);

impl Chosen {
    pub(crate) fn of(extent: &Extent, design: &Design) -> Result<Chosen, VerifyError> {
        if extent.entities.is_empty() {
            return Ok(Chosen(None));
        }
        let ids = extent.entities.iter().map(|name| {
            let entity = design.find_entity(name);
            let entity = entity.ok_or_else(|| VerifyError::NoEntity { name: name.clone() })?;
            Ok(entity.id)
        });
        Ok(Chosen(Some(ids.collect::<Result<_, VerifyError>>()?)))
    }

    /// The same, with the entities whose values theirs are derived from.
    pub(crate) fn with_sources(&self, derivation: &Derivation) -> Chosen {
        Chosen(self.0.as_ref().map(|ids| derivation.with_sources(ids)))
    }

    /// Whether an entity, or a view of it, is looked at.
    pub(crate) fn has(&self, record: &Record) -> bool {
        let of = record.view.as_ref().map_or(record.id, |view| view.of);
        self.0.as_ref().is_none_or(|ids| ids.contains(&of))
    }

    /// Whether an item is looked at. What the design does not recognise may be anything's.
    pub(crate) fn has_item(&self, stored: &Stored<'_>) -> bool {
        match stored {
            Stored::Record(record, _) | Stored::Guard(record, _) => self.has(record),
            Stored::Stranger => true,
            Stored::Foreign => false,
        }
    }
}
