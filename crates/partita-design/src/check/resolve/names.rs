//! Names in expressions: what a path means, and what it leads to.
//!
//! One scope: every path is read from the item that is being written. Another item is reached
//! through refs, as many as it takes.

mod place;

use partita_core::expression::{Path, Span, Step};

use crate::check::declare::reference::DeclaredRef;
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::check::resolve::condition;
use crate::codes::Code;
use crate::design::RecordId;
use crate::diagnostic::Added;
use crate::expression::{Origin, Predicate, Reading};
use crate::types::AttributeType;
use place::Place;

/// The names that an expression may use.
#[derive(Clone)]
pub(crate) struct Names<'w> {
    pub(crate) symbols: &'w Symbols,
    /// Whose attributes and refs; `None` when that is unknown, and nothing can be said.
    pub(crate) record: Option<&'w DeclaredRecord>,
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

/// What a name means that is not an attribute of the record itself.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    Value {
        kind: AttributeType,
        optional: bool,
        origin: Origin,
        /// Of an attribute that a view keeps under another name: the name that it is stored under.
        stored: Option<String>,
    },
    Item(RecordId, Origin),
}

impl Meaning {
    /// A value that is there and is no attribute.
    pub(crate) fn value(kind: AttributeType, origin: Origin) -> Meaning {
        Meaning::Value {
            kind,
            optional: false,
            origin,
            stored: None,
        }
    }
}

impl<'w> Names<'w> {
    /// The attributes and refs of a record, `now` and `caller`.
    pub(crate) fn of(symbols: &'w Symbols, record: &'w DeclaredRecord) -> Names<'w> {
        Names {
            record: Some(record),
            with_old: true,
            ..Names::of_nothing(symbols)
        }
    }

    /// `now` and `caller`, where there is no item.
    pub(crate) fn of_nothing(symbols: &'w Symbols) -> Names<'w> {
        Names {
            symbols,
            record: None,
            extra: Vec::new(),
            refs: &[],
            view: None,
            with_caller: true,
            with_old: false,
            with_refs: true,
            present: Vec::new(),
        }
    }

    /// What the values of a view read: its source. Nobody calls when a record follows its source.
    pub(crate) fn of_source(symbols: &'w Symbols, source: &'w DeclaredRecord) -> Names<'w> {
        Names {
            with_caller: false,
            ..Names::of(symbols, source)
        }
    }

    /// Reports a mistake.
    pub(crate) fn report(&self, code: Code, span: Span, message: impl Into<String>) -> Added<'w> {
        self.symbols.report(code, span, message)
    }

    /// What a path leads to; nothing is reported.
    pub(crate) fn find_silently(&self, path: &Path) -> Option<Reading> {
        let report = &self.symbols.report;
        report.silently(|| self.resolve(path, Span::default()))
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
    pub(crate) fn of_caller(symbols: &'w Symbols) -> Names<'w> {
        Names {
            with_refs: false,
            ..Names::of_nothing(symbols)
        }
    }

    /// Only the attributes of a record.
    pub(crate) fn own(symbols: &'w Symbols, record: &'w DeclaredRecord) -> Names<'w> {
        Names {
            with_caller: false,
            with_old: false,
            with_refs: false,
            ..Names::of(symbols, record)
        }
    }

    /// With another name in front.
    pub(crate) fn with(mut self, name: &str, meaning: Meaning) -> Names<'w> {
        self.extra.insert(0, (name.to_owned(), meaning));
        self
    }

    /// What a path leads to; `None` after a report.
    pub(crate) fn resolve(&self, path: &Path, span: Span) -> Option<Reading> {
        let mut reading = self.find(path, span)?;
        if self.present.contains(&reading.path.to_string()) {
            reading.optional = false;
        }
        Some(reading)
    }

    fn find(&self, path: &Path, span: Span) -> Option<Reading> {
        let mut steps = vec![Step::Field(path.root.clone())];
        steps.extend(path.steps.iter().cloned());
        let place = Place {
            names: self,
            written: path,
            span,
        };
        let root = path.root.as_str();
        if let Some((_, meaning)) = self.extra.iter().find(|(name, _)| name == root) {
            return place.extra(meaning, &steps[1..]);
        }
        match root {
            "now" if steps.len() == 1 => {
                let reading = place.reading(Origin::Now, AttributeType::timestamp());
                return Some(reading);
            }
            "caller" if self.with_caller => return place.caller(&steps[1..]),
            "old" if self.with_old && steps.len() > 1 => {
                let record = self.record?;
                return place.attribute_of(record, Origin::Old, &steps[1..], Vec::new());
            }
            _ => {}
        }
        let record = self.record?;
        place.inside(record, Origin::Item, &steps, Vec::new())
    }
}
