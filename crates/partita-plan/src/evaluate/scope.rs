//! What an expression sees: an item, what its refs lead to, the time, and the caller.

use std::borrow::Cow;
use std::cell::RefCell;

use partita_core::{Map, Value};
use partita_design::design::{Record, Ref};

use super::context::Context;
use super::guard::ReadSet;
use super::reads::{Listed, Listing};
use crate::draft::Draft;
use crate::place::Address;

/// The scope of an expression: one item, and everything that can be read from it.
#[derive(Clone, Copy)]
pub(crate) struct ItemScope<'s, 'a> {
    pub(crate) context: Context<'a>,
    pub(crate) record: &'a Record,
    /// The item as it will be.
    pub(crate) item: &'s Map,
    /// The item as it was.
    pub(crate) old: Option<&'s Map>,
    /// Whether these are all attributes, or only those known before the item is read.
    pub(crate) complete: bool,
    /// Elements and parameters.
    pub(crate) names: &'s [(String, Named<'s, 'a>)],
    /// References over parameters.
    pub(crate) refs: &'a [Ref],
    pub(super) others: Others<'s, 'a>,
    /// Whether the item itself is the one before the write.
    pub(super) is_past: bool,
    /// Where what is read is noted, to be guarded.
    pub(super) reads: Option<&'s ReadSet<'a>>,
    /// Where the other items that are read are noted, the caller's own left aside.
    pub(super) around: Option<&'s RefCell<Vec<OtherItem<'a>>>>,
}

/// An item beside the one that an expression is about.
pub(crate) type OtherItem<'a> = (Address, &'a Record);

/// How the items that refs lead to are seen.
///
/// What a write removes is seen as it was, like the item that an effect of its removal is caused
/// by.
#[derive(Clone, Copy)]
pub(super) enum Others<'s, 'a> {
    /// As they were before the write.
    Before,
    /// As the write leaves them, as far as it is evaluated. Rules see them as they were even so:
    /// a write cannot bring the right that it needs.
    During(&'s Draft<'a>),
    /// As the write leaves them, also by rules: for what a caller is shown of it.
    After(&'s Draft<'a>),
}

/// The value of a name that is not an attribute.
#[derive(Clone)]
pub(crate) enum Named<'s, 'a> {
    Value(Option<Value>),
    Item {
        record: &'a Record,
        item: &'s Map,
        address: Address,
    },
}

impl<'s, 'a> ItemScope<'s, 'a> {
    /// The scope of an evaluation that decides nothing that is written. Other items are as they are
    /// stored.
    pub(crate) fn unguarded(context: Context<'a>, record: &'a Record, item: &'s Map) -> Self {
        ItemScope {
            context,
            record,
            item,
            old: None,
            complete: true,
            names: &[],
            refs: &[],
            others: Others::Before,
            is_past: false,
            reads: None,
            around: None,
        }
    }

    /// The same, of another state of the item.
    pub(crate) fn over(self, item: &'s Map) -> Self {
        ItemScope { item, ..self }
    }

    /// The same, with the item as it was before.
    pub(crate) fn was(self, old: Option<&'s Map>) -> Self {
        ItemScope { old, ..self }
    }

    /// The same, with names for elements and parameters.
    pub(crate) fn naming(self, names: &'s [(String, Named<'s, 'a>)]) -> Self {
        ItemScope { names, ..self }
    }

    /// The same, with references over parameters.
    pub(crate) fn with_refs(self, refs: &'a [Ref]) -> Self {
        ItemScope { refs, ..self }
    }

    /// The same, before the item is read: what it lacks is unknown.
    pub(crate) fn known_so_far(self) -> Self {
        ItemScope {
            complete: false,
            ..self
        }
    }

    /// The same, with other items as they were before the write.
    pub(crate) fn before(self) -> Self {
        ItemScope {
            others: Others::Before,
            ..self
        }
    }

    /// The same, with other items as the write leaves them, as far as it is evaluated.
    pub(crate) fn during(self, draft: &'s Draft<'a>) -> Self {
        ItemScope {
            others: Others::During(draft),
            ..self
        }
    }

    /// The same, with other items as the write leaves them, for rules too.
    pub(crate) fn after(self, draft: &'s Draft<'a>) -> Self {
        ItemScope {
            others: Others::After(draft),
            ..self
        }
    }

    /// The same, where the item is the one before the write: what is read of it is guarded even if
    /// the write changes it.
    pub(crate) fn of_old(self) -> Self {
        ItemScope {
            is_past: true,
            ..self
        }
    }

    /// The same, with other items as rules see them: as they were before the write, or else a write
    /// could bring the right that it needs, as by a member who becomes an administrator.
    pub(crate) fn as_rules_see(self) -> Self {
        match self.others {
            Others::During(_) => self.before(),
            Others::Before | Others::After(_) => self,
        }
    }

    /// Evaluates, and says which other items that depends on. The caller's own are not among them.
    pub(crate) fn with_others_read<T>(
        &self,
        look: impl FnOnce(ItemScope<'_, 'a>) -> T,
    ) -> (T, Vec<OtherItem<'a>>) {
        let around = RefCell::default();
        let made = look(ItemScope {
            around: Some(&around),
            ..*self
        });
        (made, around.into_inner())
    }

    /// The rows of a list; one that was not read yet will be.
    pub(super) fn list(&self, listing: &Listing) -> Option<Cow<'a, Listed>> {
        match self.others {
            Others::Before => self.context.list(listing),
            Others::During(draft) | Others::After(draft) => draft.list(&self.context, listing),
        }
    }
}
