//! What an item counts, and where: its share of the numbers that other items keep.

use partita_core::expression::{Found, Scope as _};
use partita_core::{Number, Value};
use partita_design::Design;
use partita_design::design::{Aggregate, Attribute, Record, RecordId, Source};
use partita_design::template::dotted;
use partita_design::types::AttributeType;
use partita_store::request::ItemAddress;

use super::is_own;
use crate::layout::{Layout, Stored};
use crate::scope::{ReadState, RefEnd, StoredScope};
use partita_design::nested;

/// A number that an entity keeps of the items that refer to it.
#[derive(Clone, Copy)]
pub(crate) struct Counted<'d> {
    pub(crate) entity: &'d Record,
    pub(crate) attribute: &'d Attribute,
    aggregate: &'d Aggregate,
}

/// All numbers of a design.
pub(crate) struct Numbers<'d>(Vec<Counted<'d>>);

/// What an item adds to a number of another.
pub(crate) struct Share {
    /// The item that has the number.
    pub(crate) at: ItemAddress,
    pub(crate) attribute: String,
    pub(crate) amount: Number,
}

impl<'d> Numbers<'d> {
    /// Those numbers that can be counted again.
    pub(crate) fn new(layout: &Layout<'d>) -> Numbers<'d> {
        let design: &'d Design = layout.design;
        let mut numbers = Vec::new();
        for entity in design.entities() {
            for attribute in entity.attributes.iter().filter(|one| !one.is_virtual) {
                let Source::Aggregate(aggregate) = &attribute.source else {
                    continue;
                };
                if is_countable(&design[aggregate.of], aggregate) {
                    numbers.push(Counted {
                        entity,
                        attribute,
                        aggregate,
                    });
                }
            }
        }
        Numbers(numbers)
    }

    /// The numbers that an entity's items keep.
    pub(crate) fn kept_by(&self, entity: &Record) -> impl Iterator<Item = &Counted<'d>> {
        let entity = entity.id;
        self.0
            .iter()
            .filter(move |number| number.entity.id == entity)
    }

    /// The number of that name.
    pub(crate) fn find(&self, entity: &Record, attribute: &str) -> Option<&Counted<'d>> {
        let mut numbers = self.kept_by(entity);
        numbers.find(|number| number.attribute.name == attribute)
    }

    /// The shares of a stored item, and the numbers that it keeps itself as they are stored.
    pub(crate) fn of(
        &self,
        state: ReadState<'_, 'd>,
        stored: &Stored<'d>,
        address: &ItemAddress,
    ) -> (Vec<Share>, Vec<(String, Option<Value>)>) {
        let Stored::Record(record, item) = stored else {
            return (Vec::new(), Vec::new());
        };
        let scope = StoredScope {
            state,
            record,
            item,
            names: &[],
        };
        let numbers = self.0.iter();
        let numbers = numbers.filter(|number| record.id == number.aggregate.of);
        let shares = numbers.flat_map(|number| number.shares(&scope)).collect();
        // An item whose key and attributes disagree is reported as drift; skipped here because its owner is ambiguous.
        let is_known = state.layout.address(record, &scope).as_ref() == Some(address);
        let kept = self.kept_by(record).filter(|_| is_known);
        let kept = kept.map(|number| &number.attribute.name);
        let kept = kept.map(|name| (name.clone(), nested::get(item, name).cloned()));
        (shares, kept.collect())
    }
}

impl<'d> Counted<'d> {
    /// Whether the number rests on a tally, which is not exact under retries.
    pub(crate) fn is_tally(&self, design: &Design) -> bool {
        let sum = self.aggregate.sum.as_ref();
        sum.is_some_and(|sum| rests_on_tally(design, self.aggregate.of, sum, design.records.len()))
    }

    /// Where an item counts, and how much; nowhere while it is deleted.
    fn shares(&self, scope: &StoredScope<'_, 'd>) -> Vec<Share> {
        let aggregate = self.aggregate;
        let is_meant = aggregate.only.as_ref().is_none_or(|only| only.holds(scope));
        if !is_meant || scope.record.is_deleted(scope.item) {
            return Vec::new();
        }
        let reference = &scope.record.refs[aggregate.by.index()];
        let RefEnd::To(targets) = scope.resolve(reference) else {
            return Vec::new();
        };
        let amount = match &aggregate.sum {
            None => Number::from(1_i64),
            Some(sum) => match scope.find(&dotted(sum)) {
                Found::Value(value) => value.as_number().copied().unwrap_or_default(),
                Found::Missing | Found::Unknown => Number::default(),
            },
        };
        // A ref with several targets counts only at the one that has this number.
        let targets = targets.into_iter();
        let targets = targets.filter(|target| target.record.id == self.entity.id);
        let mut shares: Vec<Share> = Vec::new();
        for target in targets {
            // A list may name one item several times; the item refers to it all the same once.
            if shares.iter().all(|share| share.at != target.address) {
                shares.push(Share {
                    at: target.address,
                    attribute: self.attribute.name.clone(),
                    amount,
                });
            }
        }
        shares
    }
}

/// Whether what counts follows from the counted item and its key refs.
fn is_countable(of: &Record, aggregate: &Aggregate) -> bool {
    let is_steady = aggregate.sum.as_ref().is_none_or(|sum| {
        let attribute = of.attribute(sum);
        attribute.is_some_and(|attribute| attribute.per.is_none())
    });
    let expires = of.is_entity() && of.expiry().is_some();
    let mut only = aggregate.only.iter();
    only.all(|only| is_own(of, &only.reads)) && is_steady && !expires
}

fn rests_on_tally(design: &Design, record: RecordId, attribute: &str, depth: usize) -> bool {
    let found = design[record].stored(attribute);
    match found.map(|one| (&one.kind, &one.source)) {
        Some((_, Source::Aggregate(aggregate))) => match &aggregate.sum {
            Some(sum) if depth > 0 => rests_on_tally(design, aggregate.of, sum, depth - 1),
            _ => false,
        },
        Some((AttributeType::Counter, _)) => true,
        _ => false,
    }
}

/// The number of an item, where a missing one counts as 0.
pub(crate) fn number(value: Option<&Value>) -> Option<Number> {
    match value {
        None => Some(Number::default()),
        Some(value) => value.as_number().copied(),
    }
}
