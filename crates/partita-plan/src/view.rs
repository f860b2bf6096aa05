//! Records kept for an item: put, changed, moved, removed.
//!
//! A view's record changes in the transaction that changes its source. Where the record stays,
//! only what was written to the source is written to it, so that two writers of different
//! attributes do not undo each other. Where it appears or moves, it is written whole, and every
//! attribute in it that was only read is guarded on the source.

use std::collections::BTreeSet;

use partita_core::expression::{Condition, Path, Update};
use partita_core::{Item, Map};
use partita_design::design::{Entity, View};
use partita_store::request::{DeleteItem, ItemAddress, PutItem, TransactAction, UpdateItem};

use crate::error::PlanError;
use crate::input::Changes;
use crate::record::Blueprint;

/// What the views of an item need of a write to it.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    pub(crate) actions: Vec<TransactAction>,
    /// The source's attributes whose old values all this rests on.
    pub(crate) guards: BTreeSet<String>,
}

/// The source before and after a write, and what the write itself says.
#[derive(Clone, Copy)]
pub(crate) struct Transition<'a> {
    pub(crate) old: Option<&'a Map>,
    pub(crate) new: Option<&'a Map>,
    pub(crate) changes: &'a Changes,
}

impl Blueprint {
    /// The actions that keep every view of an entity in step with a write to one of its items.
    pub(crate) fn follow(
        &self,
        entity: &Entity,
        transition: Transition<'_>,
    ) -> Result<Follow, PlanError> {
        let mut follow = Follow::default();
        for view in self.design.views_of(&entity.name) {
            self.follow_one(view, transition, &mut follow)?;
        }
        Ok(follow)
    }

    fn follow_one(
        &self,
        view: &View,
        transition: Transition<'_>,
        follow: &mut Follow,
    ) -> Result<(), PlanError> {
        let place = |attributes: Option<&Map>| match attributes {
            Some(attributes) if exists(view, attributes) => {
                self.address(&view.key, attributes).map(Some)
            }
            _ => Ok(None),
        };
        follow.guards.extend(deciding_attributes(view));
        match (place(transition.old)?, place(transition.new)?) {
            (None, None) => {}
            (Some(old), Some(new)) if old == new => {
                follow
                    .actions
                    .extend(self.change(view, old, transition.changes));
            }
            (old, new) => {
                follow.actions.extend(old.map(|old| self.remove(old)));
                if let (Some(_), Some(attributes)) = (new, transition.new) {
                    let item = self.view_item(view, attributes)?;
                    follow.actions.push(self.appear(item));
                    let written = transition.changes.names();
                    let copied = view.keep.iter();
                    let copied = copied.filter(|name| !written.contains(name.as_str()));
                    follow.guards.extend(copied.cloned());
                }
            }
        }
        Ok(())
    }

    fn appear(&self, item: Item) -> TransactAction {
        TransactAction::Put(PutItem {
            condition: Some(Condition::NotExists(self.partition())),
            ..PutItem::new(self.table.clone(), item)
        })
    }

    fn remove(&self, address: ItemAddress) -> TransactAction {
        TransactAction::Delete(DeleteItem {
            table: address.table,
            key: address.key,
            condition: Some(Condition::Exists(self.partition())),
            return_item_on_failure: false,
        })
    }

    /// Writes to the record what was written to the source, whatever it was before: comparing
    /// with values that were read would leave the record behind when another writer was faster.
    fn change(
        &self,
        view: &View,
        address: ItemAddress,
        changes: &Changes,
    ) -> Option<TransactAction> {
        let mut update = Update::default();
        for name in &view.keep {
            if let Some(value) = changes.set.get(name) {
                update = update.setting(Path::attribute(name), value.clone());
            } else if changes.remove.contains(name) {
                update.remove.push(Path::attribute(name));
            }
        }
        (!update.is_empty()).then(|| {
            TransactAction::Update(UpdateItem {
                table: address.table,
                key: address.key,
                update,
                condition: Some(Condition::Exists(self.partition())),
                return_item_on_failure: false,
            })
        })
    }

    /// The path of the partition key, which every existing item has.
    pub(crate) fn partition(&self) -> Path {
        Path::attribute(&self.design.table.partition)
    }
}

/// A view exists while its condition holds. The compiler has put the soft delete into the
/// condition of those that do not speak of it.
fn exists(view: &View, attributes: &Map) -> bool {
    view.when.as_ref().is_none_or(|when| when.holds(attributes))
}

/// Whether the item is soft-deleted.
pub(crate) fn is_deleted(entity: &Entity, attributes: &Map) -> bool {
    let soft_delete = entity.soft_delete.as_ref();
    soft_delete.is_some_and(|soft_delete| soft_delete.is_deleted(attributes))
}

/// The attributes that decide whether a view exists, and where.
fn deciding_attributes(view: &View) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = view.key.names().into_iter().collect();
    if let Some(when) = &view.when {
        names.extend(when.own_attributes().map(str::to_owned));
    }
    names
}
