//! What it costs to read the values that are not stored.
//!
//! A virtual value, and a default of an item that is older than its attribute, are computed wherever
//! they are read, and with each of them what it is made of. A short file could ask for more than any
//! machine does: each of twenty values that is twice the one before it doubles the work.

use std::collections::HashMap;

use partita_core::expression::Path;

use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::{Attribute, Design, Record, RecordId, Source};
use crate::expression::{Formula, Origin, Reading};

/// Values that are computed to read all of one item.
const VALUES_MAX: u64 = 10_000;
/// Values that are made of each other. Each takes stack.
const DEPTH_MAX: u64 = 50;

/// Refuses records that are too expensive to read, or never read to the end.
pub(crate) fn check(symbols: &Symbols, design: &Design) {
    // What follows from itself within an item is reported already.
    if symbols.has_errors() {
        return;
    }
    let mut costs = Costs {
        design,
        known: HashMap::new(),
    };
    for record in &design.records {
        let declared = record.attributes.iter().filter(|one| one.is_declared());
        let mut whole = 0_u64;
        for attribute in declared {
            let span = symbols[record.id].span_of(&attribute.name);
            let Some(cost) = costs.of(record, attribute) else {
                let name = &attribute.name;
                let message = format!("`{name}` follows from itself over a ref");
                symbols.report(Code::AggregateCycle, span, message);
                return;
            };
            whole = whole.saturating_add(cost.values);
            let message = if cost.depth > DEPTH_MAX {
                format!(
                    "values that are not stored are made of each other at most {DEPTH_MAX} deep"
                )
            } else if whole > VALUES_MAX {
                format!("to read an item computes at most {VALUES_MAX} values that are not stored")
            } else {
                continue;
            };
            symbols
                .report(Code::TooLarge, span, message)
                .help("store some of them: leave `virtual` out");
            break;
        }
    }
}

/// What computing a value takes.
#[derive(Clone, Copy, Default)]
struct Cost {
    /// Values, those that it is made of included.
    values: u64,
    /// The longest chain of values that are made of each other.
    depth: u64,
}

struct Costs<'d> {
    design: &'d Design,
    /// None while it is computed, and of what is made of itself.
    known: HashMap<(RecordId, &'d str), Option<Cost>>,
}

impl<'d> Costs<'d> {
    /// The cost of an attribute; one that is stored has none. None where it is made of itself.
    fn of(&mut self, record: &'d Record, attribute: &'d Attribute) -> Option<Cost> {
        let place = (record.id, attribute.name.as_str());
        if let Some(known) = self.known.get(&place) {
            return *known;
        }
        let Some(formula) = formula(attribute) else {
            return Some(Cost::default());
        };
        self.known.insert(place, None);
        let mut cost = Cost {
            values: 1,
            depth: 0,
        };
        for reading in paths(formula) {
            for (record, attribute) in self.read(record, reading) {
                let part = self.of(record, attribute)?;
                cost.values = cost.values.saturating_add(part.values);
                cost.depth = cost.depth.max(part.depth);
            }
        }
        cost.depth += 1;
        self.known.insert(place, Some(cost));
        Some(cost)
    }

    /// The attributes that a reading can mean: one for each target of its last ref.
    fn read(&self, own: &'d Record, reading: &Reading) -> Vec<(&'d Record, &'d Attribute)> {
        let design = self.design;
        let records = match reading.hops.last() {
            None if matches!(reading.origin, Origin::Item | Origin::Old) => vec![own.id],
            None => Vec::new(),
            Some(hop) => {
                let targets = hop.reference.map(|reference| &design[reference]);
                targets.into_iter().flat_map(|one| one.records()).collect()
            }
        };
        let found = records.into_iter().filter_map(|id| {
            let record = &design[id];
            let mut attributes = record.attributes.iter();
            let is_read = |one: &&Attribute| one.name == reading.attribute;
            Some((record, attributes.find(is_read)?))
        });
        found.collect()
    }
}

/// How an attribute is computed where it is read.
fn formula(attribute: &Attribute) -> Option<&Formula> {
    match &attribute.source {
        Source::Computed(computed) if attribute.is_virtual => Some(&computed.value),
        Source::Given {
            default: Some(default),
        } => {
            let mut reads = default.reads.iter();
            // Others were decided when the item came into being.
            let is_own = reads.all(|one| one.origin == Origin::Item && one.hops.is_empty());
            is_own.then_some(default)
        }
        _ => None,
    }
}

/// What a value reads, as often as it does.
fn paths(formula: &Formula) -> Vec<&Reading> {
    let mut paths: Vec<&Path> = Vec::new();
    for case in &formula.cases {
        if let Some(when) = &case.when {
            when.tree.visit_paths(&mut |path| paths.push(path));
        }
        case.is.visit_paths(&mut |path| paths.push(path));
    }
    let readings = paths.into_iter().filter_map(|path| {
        let mut reads = formula.reads.iter();
        reads.find(|reading| reading.path == *path)
    });
    readings.collect()
}
