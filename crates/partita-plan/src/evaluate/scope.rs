//! What an expression sees: an item, what its refs lead to, the time, and the caller.

use std::borrow::Cow;
use std::cell::RefCell;

use partita_core::expression::{Found, Path, Scope, Step};
use partita_core::{Map, Number, Value};
use partita_design::design::{Attribute, CallerSource, Record, Ref, Source};
use partita_design::nested;
use partita_design::stored::{self, is_path};
use partita_design::template::dotted;

use super::guard::{Fact, ReadSet};
use super::reads::{Known, Listed, Listing, Reads};
use super::reference::{Resolved, Target};
use crate::batch::earlier::Earlier;
use crate::blueprint::Blueprint;
use crate::draft::{Draft, Entry};
use crate::lapse::lapsed;
use crate::operation::Caller;
use crate::place::Address;

/// What all scopes of one plan share.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) blueprint: &'a Blueprint,
    pub(crate) reads: &'a Reads,
    /// What the operations before this one leave behind, where it is one of a batch.
    pub(crate) earlier: Option<&'a Earlier>,
    pub(crate) caller: &'a Caller,
    /// The time of the write, as a timestamp.
    pub(crate) now: &'a Value,
    pub(crate) now_millis: i64,
}

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
    is_past: bool,
    /// Where what is read is noted, to be guarded.
    pub(super) reads: Option<&'s ReadSet<'a>>,
    /// Where the other items that are read are noted, the caller's own left aside.
    around: Option<&'s RefCell<Vec<OtherItem<'a>>>>,
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

/// What a name that is no attribute stands for.
#[derive(Clone)]
pub(crate) enum Named<'s, 'a> {
    Value(Option<Value>),
    Item {
        shape: &'a Record,
        item: &'s Map,
        address: Address,
    },
}

/// Where an item's attributes come from.
#[derive(Clone, Copy)]
pub(super) enum Place<'p> {
    Own,
    Old,
    Other(&'p Address),
}

impl Scope for ItemScope<'_, '_> {
    fn find(&self, path: &Path) -> Found<'_> {
        self.look(&path.root, &path.steps)
    }
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

    /// What stands at a path.
    pub(super) fn look(&self, root: &str, steps: &[Step]) -> Found<'_> {
        if let Some((_, named)) = self.names.iter().find(|(name, _)| name == root) {
            return self.named(named, steps);
        }
        match (root, steps) {
            ("now", []) => Found::Value(Cow::Borrowed(self.context.now)),
            ("caller", _) => self.caller(steps),
            ("old", [Step::Field(first), rest @ ..]) => match self.old {
                Some(old) => self.inside(self.record, old, Place::Old, first, rest),
                // A new item has no past: it has not changed, and was not otherwise either.
                None => Found::Unknown,
            },
            _ => self.inside(self.record, self.item, Place::Own, root, steps),
        }
    }

    fn named<'f>(&'f self, named: &'f Named<'_, 'a>, steps: &[Step]) -> Found<'f> {
        match (named, steps) {
            (Named::Value(None), _) => Found::Missing,
            (Named::Value(Some(value)), steps) => found(stored::inside(value, steps)),
            (
                Named::Item {
                    shape,
                    item,
                    address,
                },
                [Step::Field(first), rest @ ..],
            ) => self.inside(shape, item, Place::Other(address), first, rest),
            (Named::Item { .. }, _) => Found::Missing,
        }
    }

    /// Without a caller nothing is known of one, so that no comparison with it holds, `<>`
    /// included.
    pub(super) fn caller(&self, steps: &[Step]) -> Found<'_> {
        let caller = self.context.caller;
        let text = match (&caller.id, steps) {
            (None, _) => return Found::Unknown,
            (Some(id), []) => Some(id),
            (Some(id), [Step::Field(name)]) if name == "role" => {
                match &self.context.blueprint.design.callers.role {
                    CallerSource::Token => caller.role.as_ref(),
                    CallerSource::Attribute(attribute) => {
                        return self.caller_attribute(id, attribute);
                    }
                }
            }
            (Some(id), [Step::Field(name)]) if name == "groups" => {
                match &self.context.blueprint.design.callers.groups {
                    CallerSource::Token => {
                        let groups = caller.groups.iter().map(|one| Value::S(one.clone()));
                        return Found::Value(Cow::Owned(Value::L(groups.collect())));
                    }
                    CallerSource::Attribute(attribute) => {
                        return self.caller_attribute(id, attribute);
                    }
                }
            }
            _ => None,
        };
        match text {
            Some(text) => Found::Value(Cow::Owned(Value::S(text.clone()))),
            None => Found::Missing,
        }
    }

    /// What the caller's own item says of the caller.
    fn caller_attribute(&self, id: &str, attribute: &'a str) -> Found<'_> {
        let blueprint = self.context.blueprint;
        let Some(entity) = blueprint.design.callers.entity else {
            return Found::Missing;
        };
        let shape = &blueprint.design[entity];
        let identity = shape.identity.iter();
        let identity: Map = identity
            .map(|part| (part.attribute.clone(), Value::from(id)))
            .collect();
        let Ok(address) = blueprint.address(shape, &identity) else {
            return Found::Missing;
        };
        match self.context.item(&address) {
            Known::Unread => Found::Unknown,
            // Who is not in the table, or deleted there, has no role and no groups.
            Known::Missing => Found::Missing,
            Known::Found(item) => {
                if let Some(soft_delete) = &shape.soft_delete {
                    let fact = Fact::Attribute(soft_delete.attribute());
                    self.note_fact(&address, shape, fact);
                    if soft_delete.is_deleted(item) {
                        return Found::Missing;
                    }
                }
                let path = dotted(attribute);
                let place = Place::Other(&address);
                self.inside(shape, item, place, &path.root, &path.steps)
            }
        }
    }

    /// What stands at a path of some item.
    pub(super) fn inside<'f>(
        &'f self,
        shape: &'a Record,
        item: &'f Map,
        place: Place<'_>,
        root: &str,
        steps: &[Step],
    ) -> Found<'f> {
        if let Some(reference) = self.reference(shape, place, root)
            && !item.contains_key(root)
        {
            let resolved = self.resolve_from(shape, item, place, reference);
            return match place {
                // What was before leads to what was before.
                Place::Old => owned(self.before().through(resolved, steps)),
                Place::Own | Place::Other(_) => self.through(resolved, steps),
            };
        }
        let attribute = shape.declared(root, steps);
        if let Some(attribute) = attribute {
            self.note(place, shape, attribute);
        }
        let now = self.context.now_millis;
        match item
            .get(root)
            .and_then(|value| stored::inside(value, steps))
        {
            Some(_) if attribute.is_some_and(|one| lapsed(shape, one, item, now).is_some()) => {
                Found::Value(Cow::Owned(Value::N(Number::from(0_i64))))
            }
            Some(value) => Found::Value(Cow::Borrowed(value)),
            None if repeated(shape, item, root, steps).is_some() => {
                found(repeated(shape, item, root, steps))
            }
            None if matches!(place, Place::Own) && !self.complete && !item.contains_key(root) => {
                Found::Unknown
            }
            None => {
                let value = attribute.and_then(|one| self.unstored(shape, item, place, one, steps));
                value.map_or(Found::Missing, |value| Found::Value(Cow::Owned(value)))
            }
        }
    }

    /// What is read of an attribute that is not stored: it is computed where it is needed, from
    /// the item that has it, or reads as its default.
    fn unstored(
        &self,
        record: &'a Record,
        item: &Map,
        place: Place<'_>,
        attribute: &'a Attribute,
        steps: &[Step],
    ) -> Option<Value> {
        // Something else stands there, and nothing at the path inside of it.
        if nested::get(item, &attribute.name).is_some() {
            return None;
        }
        let read = ReadSet::new();
        let scope = ItemScope {
            record,
            item,
            names: &[],
            reads: match place {
                Place::Own => self.reads,
                Place::Old | Place::Other(_) => self.reads.map(|_| &read),
            },
            ..*self
        };
        let value = match &attribute.source {
            Source::Computed(computed) if attribute.is_virtual => computed.value.value(&scope),
            _ if attribute.is_virtual => None,
            _ => attribute.when_missing(&scope).and_then(|value| {
                let inside = steps.get(attribute.name.matches('.').count()..)?;
                stored::inside(&value, inside).cloned()
            }),
        };
        match (self.reads, place) {
            (Some(reads), Place::Old) => reads.note_all_as_old(read),
            (Some(reads), Place::Other(address)) => reads.note_all_of(read, address, record),
            _ => {}
        }
        value
    }

    fn reference(&self, shape: &'a Record, place: Place<'_>, name: &str) -> Option<&'a Ref> {
        let extra: &'a [Ref] = match place {
            Place::Own => self.refs,
            Place::Old | Place::Other(_) => &[],
        };
        let mut refs = extra.iter().chain(&shape.refs);
        refs.find(|reference| reference.name == name)
    }

    /// What stands behind a ref.
    fn through(&self, resolved: Resolved<'a>, steps: &[Step]) -> Found<'_> {
        let Some((Step::Field(next), rest)) = steps.split_first() else {
            return Found::Missing;
        };
        let target = match resolved {
            Resolved::Unknown => return Found::Unknown,
            Resolved::Nowhere => return Found::Missing,
            Resolved::Constants(row) => {
                return found(row.get(next).and_then(|value| stored::inside(value, rest)));
            }
            Resolved::To(targets) => match targets.into_iter().next() {
                Some(target) => target,
                None => return Found::Missing,
            },
        };
        if target.is_callers {
            return self.through_own(&target, next, rest);
        }
        // A part of the identity is known without reading the item.
        if let Some(value) = target.identity.get(next, rest) {
            return Found::Value(Cow::Owned(value.clone()));
        }
        if let Some(around) = self.around {
            let other = (target.address.clone(), target.shape);
            around.borrow_mut().push(other);
        }
        if self.context.reads.reads_only_own() {
            return Found::Unknown;
        }
        if let Some(entry) = self.changed(&target.address) {
            return self.inside_changed(entry, &target, next, rest);
        }
        match self.context.item(&target.address) {
            Known::Unread => Found::Unknown,
            Known::Missing => {
                self.note_fact(&target.address, target.shape, Fact::Absence);
                Found::Missing
            }
            Known::Found(item) => {
                let place = Place::Other(&target.address);
                self.inside(target.shape, item, place, next, rest)
            }
        }
    }

    /// The item at a place, if the write leaves another one there than it found.
    fn changed(&self, address: &Address) -> Option<&Entry<'a>> {
        match self.others {
            Others::Before => None,
            Others::During(draft) | Others::After(draft) => draft.left_at(address),
        }
    }

    /// What stands at a path of an item that the write changes.
    fn inside_changed<'f>(
        &'f self,
        entry: &'f Entry<'a>,
        target: &Target<'a>,
        root: &str,
        steps: &[Step],
    ) -> Found<'f> {
        let place = Place::Other(&target.address);
        match (&entry.shape.view, &entry.after, entry.old()) {
            // Of a record that stays only what is derived is in the draft.
            (Some(_), Some(_), Some(_)) => match self.context.item(&target.address) {
                Known::Unread => Found::Unknown,
                Known::Missing => Found::Missing,
                Known::Found(stored) => {
                    let record = entry.over(stored);
                    owned(self.inside(target.shape, &record, place, root, steps))
                }
            },
            (_, Some(after), _) => self.inside(target.shape, after, place, root, steps),
            (_, None, _) => Found::Missing,
        }
    }

    /// What stands in a record of the caller's own. Whether there is one is what is asked, so none
    /// of it is known before it is read, a deleted one is none, and that it is there is guarded.
    fn through_own(&self, target: &Target<'a>, next: &str, rest: &[Step]) -> Found<'_> {
        let identity = || target.identity.get(next, rest).cloned();
        if let Some(entry) = self.changed(&target.address) {
            let left = entry.after.as_deref();
            if left.is_none_or(|left| target.shape.is_deleted(left)) {
                return Found::Missing;
            }
            return match identity() {
                Some(value) => Found::Value(Cow::Owned(value)),
                None => self.inside_changed(entry, target, next, rest),
            };
        }
        let item = match self.context.item(&target.address) {
            Known::Unread => return Found::Unknown,
            Known::Missing => {
                self.note_fact(&target.address, target.shape, Fact::Absence);
                return Found::Missing;
            }
            Known::Found(item) => item,
        };
        self.note_fact(&target.address, target.shape, Fact::Presence);
        if let Some(soft_delete) = target.shape.soft_delete.as_ref() {
            self.note_fact(
                &target.address,
                target.shape,
                Fact::Attribute(soft_delete.attribute()),
            );
            if soft_delete.is_deleted(item) {
                return Found::Missing;
            }
        }
        if let Some(value) = identity() {
            return Found::Value(Cow::Owned(value));
        }
        let place = Place::Other(&target.address);
        self.inside(target.shape, item, place, next, rest)
    }

    fn note_fact(&self, address: &Address, record: &'a Record, fact: Fact<'a>) {
        if let Some(reads) = self.reads {
            reads.note_foreign(address, record, fact);
        }
    }

    fn note(&self, place: Place<'_>, record: &'a Record, attribute: &'a Attribute) {
        let Some(reads) = self.reads.filter(|_| !attribute.lasting) else {
            return;
        };
        match place {
            Place::Own if !self.is_past => reads.note_own(&attribute.name),
            Place::Own | Place::Old => reads.note_old(&attribute.name),
            Place::Other(address) => {
                reads.note_foreign(address, record, Fact::Attribute(&attribute.name));
            }
        }
    }
}

/// What a view's record has of its source under another name.
fn repeated<'v>(shape: &Record, item: &'v Map, root: &str, steps: &[Step]) -> Option<&'v Value> {
    let mut attributes = shape.attributes.iter();
    let is_copy = |one: &&Attribute| one.renames().is_some_and(|name| is_path(name, root, steps));
    nested::get(item, &attributes.find(is_copy)?.name)
}

/// The same, whatever it was borrowed from.
fn owned(found: Found<'_>) -> Found<'static> {
    match found {
        Found::Value(value) => Found::Value(Cow::Owned(value.into_owned())),
        Found::Missing => Found::Missing,
        Found::Unknown => Found::Unknown,
    }
}

pub(super) fn found(value: Option<&Value>) -> Found<'_> {
    value.map_or(Found::Missing, |value| Found::Value(Cow::Borrowed(value)))
}
