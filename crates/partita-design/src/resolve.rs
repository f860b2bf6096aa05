//! Where a reference leads, as far as the values of its arguments say.
//!
//! Planner and `verify` both ask here. What they find there, and what they have to read for it, is
//! their own.

use std::borrow::Cow;

use partita_core::expression::Found;
use partita_core::{Map, Value};

use crate::design::{Design, PatternId, Record, Ref, RefTarget, RefTo};

/// Where a reference leads.
#[derive(Debug)]
pub enum Lead<'d, 'v> {
    /// To items, by one of its targets.
    Items {
        /// The target.
        target: &'d RefTarget,
        /// What the items are.
        record: &'d Record,
        /// The values of their identities.
        identities: Identities<'v>,
    },
    /// To the item that a pattern finds.
    Via {
        /// What the item is.
        record: &'d Record,
        /// The pattern.
        pattern: PatternId,
        /// Its parameters.
        parameters: Map,
    },
    /// To a row of constants.
    Constants(&'d Map),
    /// Nowhere: an argument is missing.
    Nowhere,
    /// An argument is not known yet.
    Unknown,
}

/// The values of an identity, in the order of its parts.
pub type IdentityValues<'v> = Vec<Cow<'v, Value>>;

/// The identities of the items that a reference leads to.
#[derive(Debug)]
pub enum Identities<'v> {
    /// Of one item.
    One(IdentityValues<'v>),
    /// Of one item for each element of a list.
    Each(Vec<IdentityValues<'v>>),
}

impl Design {
    /// Where a reference leads, with the value of each argument by its path.
    pub fn lead<'d, 'v>(
        &'d self,
        reference: &'d Ref,
        argument: impl Fn(&'d str) -> Found<'v>,
    ) -> Lead<'d, 'v> {
        let chosen = match &reference.by {
            None => reference.targets.first(),
            Some(by) => match argument(by) {
                Found::Unknown => return Lead::Unknown,
                Found::Missing => None,
                Found::Value(value) => reference.chosen_by(&value),
            },
        };
        let Some(target) = chosen else {
            return Lead::Nowhere;
        };
        let mut values = Vec::with_capacity(target.arguments.len());
        for one in &target.arguments {
            match argument(&one.path) {
                Found::Unknown => return Lead::Unknown,
                Found::Missing => return Lead::Nowhere,
                Found::Value(value) => values.push(value),
            }
        }
        self.lead_by(target, values)
    }

    fn lead_by<'d, 'v>(
        &'d self,
        target: &'d RefTarget,
        values: IdentityValues<'v>,
    ) -> Lead<'d, 'v> {
        let record = match target.to {
            RefTo::Record(record) => &self[record],
            RefTo::Constants(constants) => {
                let key = values.first().and_then(|key| key.as_str());
                let row = key.and_then(|key| self[constants].rows.get(key));
                return row.map_or(Lead::Nowhere, Lead::Constants);
            }
        };
        if let Some(pattern) = target.via {
            let names = target.arguments.iter().map(|one| one.part.clone());
            let values = values.into_iter().map(Cow::into_owned);
            return Lead::Via {
                record,
                pattern,
                parameters: names.zip(values).collect(),
            };
        }
        Lead::Items {
            target,
            record,
            identities: target.identities(values),
        }
    }
}

impl Ref {
    /// The target that a value of `by` chooses.
    pub fn chosen_by(&self, value: &Value) -> Option<&RefTarget> {
        let mut targets = self.targets.iter();
        targets.find(|target| target.when.as_deref() == value.as_str())
    }
}

impl RefTarget {
    /// One identity, or one for each element where an argument is a list of them.
    fn identities<'v>(&self, values: IdentityValues<'v>) -> Identities<'v> {
        let elements = |at: usize| match &*values[at] {
            Value::L(list) if self.arguments[at].many => Some(list),
            _ => None,
        };
        let Some(count) = (0..values.len()).find_map(|at| Some(elements(at)?.len())) else {
            return Identities::One(values);
        };
        let identity = |element: usize| {
            let parts = (0..values.len()).map(|at| match elements(at) {
                Some(list) => list.get(element).cloned().map(Cow::Owned),
                None => Some(values[at].clone()),
            });
            parts.collect::<Option<IdentityValues<'v>>>()
        };
        Identities::Each((0..count).filter_map(identity).collect())
    }
}
