//! What a write changes in an item, and what is computed from that.

use std::collections::{BTreeMap, BTreeSet};

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
        let is_free = |name: &str| !entity.is_identified_by(name);
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
        let followers = followers(entity, is_operation);
        let mut open: Vec<String> = changed.iter().cloned().collect();
        open.push(EVERY_WRITE.to_owned());
        while let Some(name) = open.pop() {
            for follower in followers.get(name.as_str()).into_iter().flatten() {
                if changed.insert((*follower).to_owned()) {
                    open.push((*follower).to_owned());
                }
            }
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

/// Stands for the write itself; no attribute is called so.
const EVERY_WRITE: &str = "";

/// By the names of attributes, those that are computed again where one of these changes.
fn followers(entity: &Record, is_operation: bool) -> BTreeMap<&str, Vec<&str>> {
    let mut followers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for attribute in &entity.attributes {
        let Source::Computed(computed) = &attribute.source else {
            continue;
        };
        let reads: Vec<&str> = match &computed.timing {
            Timing::Always => computed.value.own_attributes().collect(),
            Timing::Write if is_operation => vec![EVERY_WRITE],
            Timing::Once(when) => when.own_attributes().collect(),
            Timing::Ref => entity.refs.iter().flat_map(reference_inputs).collect(),
            Timing::Write | Timing::Create => Vec::new(),
        };
        for name in reads {
            followers.entry(name).or_default().push(&attribute.name);
        }
    }
    followers
}

/// Whether a ref leads elsewhere when these attributes change.
pub(super) fn moves(reference: &Ref, changed: &BTreeSet<String>) -> bool {
    reference_inputs(reference).any(|name| changed.contains(name))
}
