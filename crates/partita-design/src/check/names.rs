//! Names in expressions: what a path means, and what stands there.
//!
//! One scope: every path is read from the item that is being written. Another item is reached
//! through refs, as many as it takes.

mod place;

use partita_core::expression::{Path, Span, Step};

use super::condition;
use super::reference::DeclaredRef;
use super::world::{Record, World};
use crate::design::RecordId;
use crate::diagnostic::Report;
use crate::expression::{Origin, Predicate, Reading};
use crate::types::AttributeType;
use place::Place;

/// The names that an expression may use.
#[derive(Clone)]
pub(crate) struct Names<'w> {
    pub(crate) world: &'w World,
    /// Whose attributes and refs; `None` when that is unknown, and nothing can be said.
    pub(crate) record: Option<&'w Record>,
    /// Names in front of the attributes.
    pub(crate) extra: Vec<(String, Meaning)>,
    /// Further refs: over the parameters of an action, or those of a view's source.
    pub(crate) refs: &'w [DeclaredRef],
    /// The view whose source has the further refs.
    pub(crate) view: Option<RecordId>,
    pub(crate) with_caller: bool,
    pub(crate) with_old: bool,
    /// Whether paths may lead through refs.
    pub(crate) with_refs: bool,
    /// Paths at which something is known to be, because a condition says so.
    pub(crate) present: Vec<String>,
}

/// What a name that is no attribute means.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    Value {
        kind: AttributeType,
        optional: bool,
        origin: Origin,
        /// The name under which it is stored, where it is an attribute of a view.
        stored: Option<String>,
    },
    Item(RecordId, Origin),
}

impl<'w> Names<'w> {
    /// The attributes and refs of a record, `now` and `caller`.
    pub(crate) fn of(world: &'w World, record: &'w Record) -> Names<'w> {
        Names {
            world,
            record: Some(record),
            extra: Vec::new(),
            refs: &[],
            view: None,
            with_caller: true,
            with_old: true,
            with_refs: true,
            present: Vec::new(),
        }
    }

    /// Knowing that these conditions hold.
    pub(crate) fn given<'p>(
        mut self,
        conditions: impl IntoIterator<Item = &'p Predicate>,
    ) -> Names<'w> {
        for predicate in conditions {
            let exists = |reading: &&Reading| {
                condition::implies_existence(&predicate.tree, &reading.path.to_string())
            };
            let paths = predicate.reads.iter().filter(exists);
            self.present
                .extend(paths.map(|reading| reading.path.to_string()));
        }
        self
    }

    /// The caller, and nothing else.
    pub(crate) fn of_caller(world: &'w World) -> Names<'w> {
        Names {
            world,
            record: None,
            extra: Vec::new(),
            refs: &[],
            view: None,
            with_caller: true,
            with_old: false,
            with_refs: false,
            present: Vec::new(),
        }
    }

    /// Only the attributes of a record.
    pub(crate) fn own(world: &'w World, record: &'w Record) -> Names<'w> {
        Names {
            with_caller: false,
            with_old: false,
            with_refs: false,
            ..Names::of(world, record)
        }
    }

    /// With another name in front.
    pub(crate) fn with(mut self, name: &str, meaning: Meaning) -> Names<'w> {
        self.extra.insert(0, (name.to_owned(), meaning));
        self
    }

    /// What stands at a path; `None` after a report.
    pub(crate) fn resolve(&self, path: &Path, span: Span, report: &mut Report) -> Option<Reading> {
        let mut reading = self.find(path, span, report)?;
        if self.present.contains(&reading.path.to_string()) {
            reading.optional = false;
        }
        Some(reading)
    }

    fn find(&self, path: &Path, span: Span, report: &mut Report) -> Option<Reading> {
        let mut steps = vec![Step::Field(path.root.clone())];
        steps.extend(path.steps.iter().cloned());
        let place = Place {
            names: self,
            written: path,
            span,
        };
        let root = path.root.as_str();
        if let Some((_, meaning)) = self.extra.iter().find(|(name, _)| name == root) {
            return place.extra(meaning, &steps[1..], report);
        }
        match root {
            "now" if steps.len() == 1 => {
                let reading = place.reading(Origin::Now, AttributeType::timestamp());
                return Some(reading);
            }
            "caller" if self.with_caller => return place.caller(&steps[1..], report),
            "old" if self.with_old && steps.len() > 1 => {
                let record = self.record?;
                return place.attribute_of(record, Origin::Old, &steps[1..], Vec::new(), report);
            }
            _ => {}
        }
        let record = self.record?;
        place.inside(record, Origin::Item, &steps, Vec::new(), report)
    }
}
