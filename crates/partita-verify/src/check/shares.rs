//! What an item counts, and where: its share of the numbers that other items keep.

use partita_core::expression::{Found, Scope as _};
use partita_core::{Number, Value};
use partita_design::Design;
use partita_design::design::{Aggregate, Attribute, Entity, RecordName, Source};
use partita_design::template::dotted;
use partita_design::types::AttributeType;
use partita_store::request::ItemAddress;

use super::is_own;
use crate::layout::{Layout, Record, Stored};
use crate::nested;
use crate::scene::{Lead, Scene, World};

/// A number that an entity keeps of the items that refer to it.
#[derive(Clone, Copy)]
pub(crate) struct Counted<'d> {
    pub(crate) entity: &'d Entity,
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
        for entity in &design.entities {
            for attribute in entity.attributes.iter().filter(|one| !one.is_virtual) {
                let Source::Aggregate(aggregate) = &attribute.source else {
                    continue;
                };
                let of = layout.record(&aggregate.of);
                if of.is_some_and(|of| is_countable(of, aggregate)) {
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
    pub(crate) fn kept_by(&self, entity: &Entity) -> impl Iterator<Item = &Counted<'d>> {
        let name = entity.name.clone();
        self.0
            .iter()
            .filter(move |number| number.entity.name == name)
    }

    /// The number of that name.
    pub(crate) fn find(&self, entity: &str, attribute: &str) -> Option<&Counted<'d>> {
        let mut numbers = self.0.iter();
        numbers.find(|number| number.entity.name == entity && number.attribute.name == attribute)
    }

    /// The shares of a stored item, and the numbers that it keeps itself as they are stored.
    pub(crate) fn of(
        &self,
        world: World<'_, 'd>,
        stored: &Stored<'d>,
        address: &ItemAddress,
    ) -> (Vec<Share>, Vec<(String, Option<Value>)>) {
        let Stored::Record(record, item) = stored else {
            return (Vec::new(), Vec::new());
        };
        let scene = Scene {
            world,
            record: *record,
            item,
            names: &[],
        };
        let numbers = self.0.iter();
        let numbers = numbers.filter(|number| record.is(&number.aggregate.of));
        let shares = numbers.flat_map(|number| number.shares(&scene)).collect();
        // An item whose key and attributes disagree is told as such; who counts there, nobody knows.
        let kept = match record {
            Record::Entity(entity)
                if world.layout.address(*record, &scene).as_ref() == Some(address) =>
            {
                let kept = self.kept_by(entity);
                let kept = kept.map(|number| &number.attribute.name);
                kept.map(|name| (name.clone(), nested::get(item, name).cloned()))
                    .collect()
            }
            _ => Vec::new(),
        };
        (shares, kept)
    }
}

impl<'d> Counted<'d> {
    /// Whether the number rests on a tally, which is not exact under retries.
    pub(crate) fn is_tally(&self, design: &Design) -> bool {
        let (RecordName::Entity(of), Some(sum)) = (&self.aggregate.of, &self.aggregate.sum) else {
            return false;
        };
        rests_on_tally(design, of, sum, design.entities.len())
    }

    /// Where an item counts, and how much; nowhere while it is deleted.
    fn shares(&self, scene: &Scene<'_, 'd>) -> Vec<Share> {
        let aggregate = self.aggregate;
        let is_meant = aggregate.only.as_ref().is_none_or(|only| only.holds(scene));
        if !is_meant || scene.record.is_deleted(scene.item) {
            return Vec::new();
        }
        let mut refs = scene.record.refs().iter();
        let lead = match refs.find(|reference| reference.name == aggregate.by) {
            Some(reference) => scene.lead(reference),
            None => scene.source(),
        };
        let Lead::To(targets) = lead else {
            return Vec::new();
        };
        let amount = match &aggregate.sum {
            None => Number::from(1_i64),
            Some(sum) => match scene.find(&dotted(sum)) {
                Found::Value(value) => value.as_number().copied().unwrap_or_default(),
                Found::Missing | Found::Unknown => Number::default(),
            },
        };
        // A ref with several targets counts only at the one that has this number.
        let targets = targets.into_iter();
        let targets = targets.filter(|target| target.record.name() == self.entity.name);
        let shares = targets.map(|target| Share {
            at: target.address,
            attribute: self.attribute.name.clone(),
            amount,
        });
        shares.collect()
    }
}

/// Whether what counts can be told from the counted item and its key refs.
fn is_countable(of: Record<'_>, aggregate: &Aggregate) -> bool {
    let is_steady = aggregate.sum.as_ref().is_none_or(|sum| {
        let attribute = of.attribute(sum);
        attribute.is_some_and(|attribute| attribute.per.is_none())
    });
    let expires = matches!(of, Record::Entity(entity) if entity.expiry().is_some());
    let mut only = aggregate.only.iter();
    only.all(|only| is_own(of, &only.reads)) && is_steady && !expires
}

fn rests_on_tally(design: &Design, entity: &str, attribute: &str, depth: usize) -> bool {
    let found = design.entity(entity);
    let found = found.and_then(|entity| entity.attribute(attribute));
    match found.map(|one| (&one.kind, &one.source)) {
        Some((_, Source::Aggregate(aggregate))) => match (&aggregate.of, &aggregate.sum) {
            (RecordName::Entity(of), Some(sum)) if depth > 0 => {
                rests_on_tally(design, of, sum, depth - 1)
            }
            _ => false,
        },
        Some((AttributeType::Counter, _)) => true,
        _ => false,
    }
}

/// The number that stands in an item, where a missing one counts as 0.
pub(crate) fn number(value: Option<&Value>) -> Option<Number> {
    match value {
        None => Some(Number::default()),
        Some(value) => value.as_number().copied(),
    }
}
