//! One stored item, judged: what of it is derived, and whether it is right.
//!
//! | module | what it judges |
//! |---|---|
//! | `own` | keys, computed values and copies of an entity's item |
//! | `given` | what callers gave: values that are allowed, refs that lead somewhere |
//! | `sound` | whether sources can say that something should be missing |
//! | `views` | the records of an item's views, and whether a record should be there |
//! | `guards` | the guards of an item's unique values, and whether a guard should be there |
//! | `shares` | what an item counts, and where |

pub(crate) mod given;
pub(crate) mod guards;
pub(crate) mod own;
pub(crate) mod shares;
mod sound;
pub(crate) mod views;

use std::borrow::Cow;
use std::collections::BTreeSet;

use partita_core::{Item, Map, Value};
use partita_design::design::{Attribute, Record};
use partita_design::expression::{Origin, Reading};
use partita_store::request::{ItemAddress, TransactAction};

use crate::jobs::Jobs;
use crate::layout::Stored;
use crate::permission::Rights;
use crate::report::{Drift, DriftKind};
use crate::scope::{ReadState, StoredScope};

/// Everything that was found about one item.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) found: Vec<Finding>,
    /// What becomes of the item itself.
    pub(crate) own: Own,
    /// Writes on items that are derived from it, each with its condition.
    pub(crate) others: Vec<TransactAction>,
    /// The addresses of what is derived from it. They are judged here, so nothing rests on them.
    pub(crate) derived: Vec<ItemAddress>,
    /// Whether no part of the design explains it.
    pub(crate) is_unrecognised: bool,
    /// Its record and the attributes that this does not have.
    pub(crate) unrecognised: Vec<(String, String)>,
    /// How many of its references lead to items that are gone, and may.
    pub(crate) kept_references: u64,
}

/// A drift and how it is mended.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) drift: Drift,
    pub(crate) mend: Mend,
}

/// How a drift is mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mend {
    /// By the change of the item itself.
    Own,
    /// By one of the other writes.
    Other(usize),
    /// By somebody who knows the data.
    Nobody,
    /// By the change of the item itself, if an operator asks for it by name.
    Named,
    /// By the change of the item itself, were there no unrecognised items in its table.
    Held,
    /// By a job.
    Job(String),
    /// By a later round of the repair: what it is derived from is wrong.
    Later,
}

impl Mend {
    /// Whether a repair writes something.
    pub(crate) fn is_write(&self) -> bool {
        matches!(self, Mend::Own | Mend::Other(_))
    }

    /// Whether a repair writes something, now or later.
    pub(crate) fn is_derived(&self) -> bool {
        self.is_write() || *self == Mend::Later
    }
}

/// What becomes of an item.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Own {
    pub(crate) set: Vec<(String, Value)>,
    pub(crate) remove: Vec<String>,
    pub(crate) delete: bool,
}

/// What a drift calls an item as a whole.
pub(crate) const ITEM: &str = "an item";

/// One item on its way through the checks.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'s, 'd> {
    pub(crate) state: ReadState<'s, 'd>,
    pub(crate) jobs: &'s Jobs,
    pub(crate) rights: &'s Rights,
    pub(crate) address: &'s ItemAddress,
    pub(crate) stored: &'s Item,
}

/// Judges a stored item. Where something was not read yet, what is found counts for nothing.
pub(crate) fn examine(subject: Subject<'_, '_>) -> Findings {
    let mut findings = Findings::default();
    let layout = subject.state.layout;
    match layout.recognise(&subject.address.table, subject.stored) {
        Stored::Record(record, item) => {
            let scope = |item| StoredScope {
                state: subject.state,
                record,
                item,
                names: &[],
            };
            if let Some(view) = &record.view {
                views::judge_record(subject, view, &scope(&item), &mut findings);
                return findings;
            }
            let expected = own::judge(subject, record, &item, &mut findings);
            given::judge(subject, record, &scope(&item), &mut findings);
            let expected = scope(&expected);
            given::judge_refs(subject, record, &expected, &mut findings);
            views::judge_all(subject, record, &expected, &mut findings);
            guards::judge_all(subject, record, &expected, &mut findings);
        }
        Stored::Guard(entity, unique) => {
            guards::judge_guard(subject, entity, unique, &mut findings);
        }
        Stored::Stranger => findings.is_unrecognised = true,
        Stored::Foreign => {}
    }
    findings
}

impl<'s, 'd> Subject<'s, 'd> {
    /// Another item on the same way.
    fn at(self, address: &'s ItemAddress, stored: &'s Item) -> Subject<'s, 'd> {
        Subject {
            address,
            stored,
            ..self
        }
    }

    /// An entity's item as it should be, from its sources.
    fn expected<'i>(self, entity: &'d Record, item: &'i Map) -> Cow<'i, Map> {
        own::judge(self, entity, item, &mut Findings::default())
    }

    /// The attributes of a stored item that are neither keys of its table nor among these.
    fn strange<'n>(
        self,
        stored: &Item,
        address: &ItemAddress,
        names: impl Iterator<Item = &'n str>,
    ) -> Vec<String> {
        let layout = self.state.layout;
        let table = layout.table(&address.table);
        let mut known: BTreeSet<&str> = names
            .map(|name| name.split('.').next().unwrap_or(name))
            .collect();
        known.extend(layout.made_keys(&address.table));
        known.extend(table.into_iter().flat_map(|table| {
            let keys = [table.partition.as_str(), table.sort.as_str()];
            keys.into_iter().chain(table.discriminator.as_deref())
        }));
        let names = stored.keys().map(ToString::to_string);
        names
            .filter(|name| !known.contains(name.as_str()))
            .collect()
    }
}

impl Findings {
    pub(crate) fn push(&mut self, drift: Drift, mend: Mend) {
        self.found.push(Finding { drift, mend });
    }

    /// Leaves to a later round what is derived from values that are wrong now.
    pub(crate) fn hold_back(&mut self, is_later: impl Fn(&str) -> bool) {
        for finding in &mut self.found {
            let Drift {
                attribute, says, ..
            } = &finding.drift;
            if !finding.mend.is_write() || !is_later(says) {
                continue;
            }
            match (&finding.mend, attribute) {
                (Mend::Own, Some(name)) => {
                    self.own.set.retain(|(known, _)| known != name);
                    self.own.remove.retain(|known| known != name);
                }
                (Mend::Own, None) => self.own.delete = false,
                _ => {}
            }
            finding.mend = Mend::Later;
        }
    }

    /// Whether something was found about an attribute.
    fn has(&self, name: &str) -> bool {
        let mut found = self.found.iter();
        found.any(|one| one.drift.attribute.as_deref() == Some(name))
    }

    /// The item itself is to get this value, or none.
    fn assign(&mut self, name: &str, value: Option<Value>) {
        match value {
            Some(value) => self.own.set.push((name.to_owned(), value)),
            None => self.own.remove.push(name.to_owned()),
        }
    }
}

/// A drift of an attribute, or of a whole item.
pub(crate) fn drift(
    kind: DriftKind,
    record: &str,
    address: &ItemAddress,
    attribute: Option<&str>,
    says: String,
) -> Drift {
    Drift {
        kind,
        record: record.to_owned(),
        table: address.table.to_string(),
        key: address.key.clone(),
        attribute: attribute.map(str::to_owned),
        stored: None,
        expected: None,
        note: None,
        says,
    }
}

/// What may be shown of a value: secrets never leave.
pub(crate) fn shown(attribute: Option<&Attribute>, value: Option<&Value>) -> Option<Value> {
    let is_secret = attribute.is_some_and(|attribute| attribute.secret);
    value.map(|value| {
        if is_secret {
            Value::from("(secret)")
        } else {
            value.clone()
        }
    })
}

/// Whether what reads these can be computed from the item alone, at any time.
pub(crate) fn is_own(record: &Record, reads: &[Reading]) -> bool {
    reads.iter().all(|reading| {
        let origin = matches!(reading.origin, Origin::Item | Origin::Element(_));
        let attribute = record.stored(&reading.attribute);
        let is_steady = attribute.is_none_or(|attribute| {
            let partita_design::design::Source::Computed(computed) = &attribute.source else {
                return attribute.per.is_none();
            };
            !attribute.is_virtual || is_own(record, &computed.value.reads)
        });
        origin && reading.hops.is_empty() && is_steady
    })
}
