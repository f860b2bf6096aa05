//! What must hold of an item for the write to pass, and what it means if it does not.

use std::collections::BTreeMap;
use std::sync::Arc;

use partita_core::Value;
use partita_core::expression::Condition;

use crate::error::PlanError;

/// What a failed condition means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refusal {
    /// The operation is refused. Shared, because a refusal is made for every plan and read for
    /// hardly any.
    Final(Arc<PlanError>),
    /// Something changed since it was read: read again and plan again.
    Stale,
}

impl Refusal {
    pub(crate) fn of(error: PlanError) -> Self {
        Refusal::Final(Arc::new(error))
    }
}

/// Whether an item must be there for the write to pass.
#[derive(Clone, Debug, Default)]
pub(crate) enum Presence {
    /// It does not matter.
    #[default]
    Any,
    Present(Refusal),
    Absent(Refusal),
}

/// What must hold of an item for the write to pass.
#[derive(Default)]
pub(crate) struct Guards<'a> {
    presence: Presence,
    /// The values, as they are stored, that something was decided on.
    values: BTreeMap<&'a str, Option<Value>>,
    conditions: Vec<Condition>,
    /// Whether nothing at all may have changed since the item was read.
    is_whole: bool,
}

impl<'a> Guards<'a> {
    /// Requires a value to be as it was read. The first reading counts.
    pub(crate) fn guard(&mut self, name: &'a str, value: Option<Value>) {
        self.values.entry(name).or_insert(value);
    }

    /// Requires every value to be as it was read.
    pub(crate) fn require_unchanged(&mut self) {
        self.is_whole = true;
    }

    /// Requires a condition, once.
    pub(crate) fn require(&mut self, condition: Condition) {
        if !self.conditions.contains(&condition) {
            self.conditions.push(condition);
        }
    }

    /// Requires the item to be there. A reason to refuse outweighs the suspicion that something
    /// changed.
    pub(crate) fn require_present(&mut self, refusal: Refusal) {
        if !self.is_presence_final() {
            self.presence = Presence::Present(refusal);
        }
    }

    /// Requires that there is no item.
    pub(crate) fn require_absent(&mut self, refusal: Refusal) {
        self.presence = Presence::Absent(refusal);
    }

    /// Requires that there is still no item, if nothing is required of that yet.
    pub(crate) fn expect_absent(&mut self) {
        if matches!(self.presence, Presence::Any) {
            self.presence = Presence::Absent(Refusal::Stale);
        }
    }

    /// Whether the write is refused for good if the item is not there.
    pub(crate) fn is_presence_final(&self) -> bool {
        matches!(self.presence, Presence::Present(Refusal::Final(_)))
    }

    /// Whether no value and no condition is required.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty() && self.conditions.is_empty()
    }

    /// Whether nothing at all may have changed.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub(crate) fn presence(&self) -> &Presence {
        &self.presence
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = (&'a str, Option<&Value>)> {
        let values = self.values.iter();
        values.map(|(name, value)| (*name, value.as_ref()))
    }

    pub(crate) fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
}
