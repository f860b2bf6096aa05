//! What entities require, against what it reads.
//!
//! `require` is checked when its item is written. What follows other items changes without that.

use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::{Design, Record, RefTo, Source, Timing};
use crate::expression::{Hop, Origin, Reading};

/// Warns of an entity that requires something of what writes to other items change.
pub(crate) fn check(symbols: &Symbols, design: &Design) {
    for entity in design.entities() {
        let Some(require) = &entity.require else {
            continue;
        };
        let mut reads = require.reads.iter();
        let Some(reading) = reads.find(|reading| follows_others(design, entity, reading)) else {
            continue;
        };
        let record = &symbols[entity.id];
        let message = format!(
            "`require` reads `{}`, which writes to other items change, and is not checked then",
            reading.path
        );
        symbols
            .report(Code::LooseRequire, record.span, message)
            .help("require it of what effects write into the item, or in the action on the others")
            .acceptable(vec![vec![format!("{}.require", record.place)]]);
    }
}

/// Whether writes to other items change what is read.
fn follows_others(design: &Design, entity: &Record, reading: &Reading) -> bool {
    if !matches!(reading.origin, Origin::Item | Origin::Old) {
        return false;
    }
    match reading.hops.as_slice() {
        [] => is_derived(design, entity, &reading.attribute),
        [hop] => !reading.by_key && !is_lasting(design, hop, &reading.attribute),
        _ => true,
    }
}

/// Whether an attribute follows other items.
fn is_derived(design: &Design, entity: &Record, name: &str) -> bool {
    match entity.stored(name).map(|attribute| &attribute.source) {
        Some(Source::Aggregate(_)) => true,
        Some(Source::Copy(reading)) => follows_others(design, entity, reading),
        // INVARIANT: no value follows from itself, so this ends.
        Some(Source::Computed(computed)) if computed.timing == Timing::Always => {
            let mut reads = computed.value.reads.iter();
            reads.any(|reading| follows_others(design, entity, reading))
        }
        _ => false,
    }
}

/// Whether nothing changes an attribute of what a ref leads to.
fn is_lasting(design: &Design, hop: &Hop, name: &str) -> bool {
    let Some(reference) = design.reference(hop) else {
        return false;
    };
    reference.targets.iter().all(|target| match target.to {
        RefTo::Constants(_) => true,
        RefTo::Record(record) => {
            let attribute = design[record].stored(name);
            target.via.is_none() && attribute.is_some_and(|attribute| attribute.lasting)
        }
    })
}
