//! What a write changes in an item, and what is computed from that.

use std::collections::BTreeSet;

use super::super::{Reaction, reference_inputs};
use crate::design::{Access, Assignments, Record, Ref, Source, Timing};
use crate::types::AttributeType;

/// What happens to an item.
pub(super) struct Change {
    pub(super) access: Access,
    /// The attributes that may differ afterwards.
    pub(super) changed: BTreeSet<String>,
    /// Those of them that have no value afterwards, or no element.
    pub(super) emptied: BTreeSet<String>,
    /// Whether it is an operation, or only a number that follows.
    is_operation: bool,
}

impl Change {
    /// A caller may change whatever is given and not fixed.
    pub(super) fn of_caller(entity: &Record, access: Access) -> Change {
        let is_free = |name: &str| {
            let mut identity = entity.identity.iter();
            !identity.any(|part| part.attribute == name)
        };
        let given = entity.attributes.iter().filter(|attribute| {
            let is_given = matches!(attribute.source, Source::Given { .. });
            let is_counter = attribute.kind == AttributeType::Counter;
            let may_change = !attribute.fixed && is_free(&attribute.name) || attribute.movable;
            is_given && !is_counter && may_change
        });
        let given = given.map(|attribute| attribute.name.clone());
        Change::new(entity, access, given.collect(), true)
    }

    /// With what is computed from what changes.
    pub(super) fn new(
        entity: &Record,
        access: Access,
        mut changed: BTreeSet<String>,
        is_operation: bool,
    ) -> Change {
        loop {
            let follows = entity.attributes.iter().filter(|attribute| {
                let Source::Computed(computed) = &attribute.source else {
                    return false;
                };
                let is_read = |mut names: Vec<&str>| names.drain(..).any(|it| changed.contains(it));
                match &computed.timing {
                    Timing::Always => is_read(computed.value.own_attributes().collect()),
                    Timing::Write => is_operation,
                    Timing::Once(when) => is_read(when.own_attributes().collect()),
                    Timing::Ref => entity.refs.iter().any(|one| moves(one, &changed)),
                    Timing::Create => false,
                }
            });
            let more: BTreeSet<String> = follows.map(|one| one.name.clone()).collect();
            if more.is_subset(&changed) {
                break;
            }
            changed.extend(more);
        }
        Change {
            access,
            changed,
            emptied: BTreeSet::new(),
            is_operation,
        }
    }

    /// With the attributes that assignments leave empty.
    pub(super) fn emptying(mut self, changes: &Assignments) -> Change {
        self.emptied.extend(changes.emptied().map(str::to_owned));
        self
    }

    pub(super) fn is_whole(&self) -> bool {
        self.access != Access::Update
    }

    pub(super) fn touches<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> bool {
        let mut names = names.into_iter();
        self.is_whole() || names.any(|name| self.changed.contains(name))
    }

    /// Whether it fires the reaction of a trigger; a changed number fires only those that read it.
    pub(super) fn fires(&self, reaction: &Reaction) -> bool {
        if reaction.reads.is_empty() {
            self.is_operation
        } else {
            self.concerns(reaction)
        }
    }

    /// Whether it changes something that a reaction reads.
    pub(super) fn concerns(&self, reaction: &Reaction) -> bool {
        self.touches(reaction.reads.iter().map(String::as_str))
    }
}

/// Whether a ref leads elsewhere when these attributes change.
pub(super) fn moves(reference: &Ref, changed: &BTreeSet<String>) -> bool {
    reference_inputs(reference).any(|name| changed.contains(name))
}
