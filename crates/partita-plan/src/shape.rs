//! What a record looks like: an entity's or a view's.

use std::borrow::Cow;

use partita_core::expression::Step;
use partita_core::{Map, Number, Value};
use partita_design::design::{
    Access, Attribute, Entity, IdentityPart, KeyTemplates, Period, RecordIndex, RecordName, Ref,
    Rules, SoftDelete, Source, View, ViewAttribute,
};
use partita_design::stored::Stored;
use partita_design::time;
use partita_design::types::AttributeType;

use crate::nested;

/// The ref that every view has.
pub(crate) const SOURCE: &str = "source";

/// What a record looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape<'d> {
    Entity(&'d Entity),
    /// A view and the entity that it is derived from.
    View(&'d View, &'d Entity),
}

impl<'d> Shape<'d> {
    pub(crate) fn name(self) -> &'d str {
        match self {
            Shape::Entity(entity) => &entity.name,
            Shape::View(view, _) => &view.name,
        }
    }

    pub(crate) fn is(self, name: &RecordName) -> bool {
        match (self, name) {
            (Shape::Entity(entity), RecordName::Entity(name)) => entity.name == *name,
            (Shape::View(view, _), RecordName::View(name)) => view.name == *name,
            _ => false,
        }
    }

    pub(crate) fn key(self) -> &'d KeyTemplates {
        match self {
            Shape::Entity(entity) => &entity.key,
            Shape::View(view, _) => &view.key,
        }
    }

    pub(crate) fn indexes(self) -> &'d [RecordIndex] {
        match self {
            Shape::Entity(entity) => &entity.indexes,
            Shape::View(view, _) => &view.indexes,
        }
    }

    pub(crate) fn identity(self) -> &'d [IdentityPart] {
        match self {
            Shape::Entity(entity) => &entity.identity,
            Shape::View(view, _) => &view.identity,
        }
    }

    pub(crate) fn discriminator(self) -> Option<&'d str> {
        match self {
            Shape::Entity(entity) => entity.discriminator.as_deref(),
            Shape::View(view, _) => view.discriminator.as_deref(),
        }
    }

    /// Attributes and keys that a new item has, or a few more.
    pub(crate) fn room(self) -> usize {
        const KEYS: usize = 8;
        self.source().attributes.len() + KEYS
    }

    /// The entity, or the one that the view is derived from.
    pub(crate) fn source(self) -> &'d Entity {
        match self {
            Shape::Entity(entity) | Shape::View(_, entity) => entity,
        }
    }

    /// Its rules; a view without any follows its source's.
    pub(crate) fn rules(self) -> &'d Rules {
        match self {
            Shape::Entity(entity) => &entity.rules,
            Shape::View(view, source) => view.rules.as_ref().unwrap_or(&source.rules),
        }
    }

    /// The record whose rules these are.
    pub(crate) fn ruled_by(self) -> &'d str {
        match self {
            Shape::View(view, source) if view.rules.is_none() => &source.name,
            shape => shape.name(),
        }
    }

    /// Its refs. A view's record leads where its source does, by the attributes that it keeps.
    pub(crate) fn refs(self) -> &'d [Ref] {
        &self.source().refs
    }

    /// The attribute of that stored name. What a view keeps is its source's.
    pub(crate) fn attribute(self, name: &str) -> Option<&'d Attribute> {
        match self {
            Shape::Entity(entity) => entity.attributes.iter().find(|one| one.name == name),
            Shape::View(view, source) => {
                let own = view.attributes.iter().find(|one| one.name() == name);
                match own {
                    Some(ViewAttribute::Own(own)) => Some(&**own),
                    Some(ViewAttribute::Derived { .. }) => None,
                    None => source.attributes.iter().find(|one| one.name == name),
                }
            }
        }
    }

    /// Whether nothing ever changes the attribute of that stored name, so that nobody has to guard
    /// it. What a view repeats comes and goes with its record.
    pub(crate) fn is_lasting(self, name: &str) -> bool {
        let attribute = self.attribute(name);
        attribute.is_some_and(|attribute| self.keeps(attribute))
    }

    /// Whether nothing ever changes one of its attributes.
    pub(crate) fn keeps(self, attribute: &Attribute) -> bool {
        matches!(self, Shape::Entity(_)) && attribute.lasting
    }

    /// What the attribute of that stored name may hold.
    pub(crate) fn kind(self, name: &str) -> Option<&'d AttributeType> {
        if let Shape::View(view, _) = self {
            let derived = view.attributes.iter().find(|one| one.name() == name);
            if let Some(derived) = derived {
                return Some(derived.kind());
            }
        }
        self.attribute(name).map(|attribute| &attribute.kind)
    }

    /// The declared attribute that a path leads to or into.
    pub(crate) fn declared(self, root: &str, steps: &[Step]) -> Option<&'d Attribute> {
        let attributes = match self {
            Shape::Entity(entity) | Shape::View(_, entity) => entity.attributes.iter(),
        };
        let own = match self {
            Shape::Entity(_) => [].iter(),
            Shape::View(view, _) => view.attributes.iter(),
        };
        let own = own.filter_map(|attribute| match attribute {
            ViewAttribute::Own(own) => Some(&**own),
            ViewAttribute::Derived { .. } => None,
        });
        let mut declared = own.chain(attributes);
        match steps {
            [] => declared.find(|one| one.name == root),
            steps => declared.find(|one| leads_into(&one.name, root, steps)),
        }
    }

    /// The value of an item's attribute, where one that is missing reads as its default.
    pub(crate) fn read<'i>(self, item: &'i Map, name: &str) -> Option<Cow<'i, Value>> {
        let declared = |name: &str| self.attribute(name);
        Stored { item, declared }.read(name)
    }

    /// What an item is read as having under a name where it lacks the attribute.
    pub(crate) fn when_missing(self, item: &Map, name: &str) -> Option<Value> {
        let declared = |name: &str| self.attribute(name);
        self.attribute(name)?
            .when_missing(&Stored { item, declared })
    }

    /// The number of an item's attribute, where one that is missing reads as its default.
    pub(crate) fn number(self, item: &Map, name: &str) -> Option<Number> {
        self.read(item, name)?.as_number().copied()
    }

    /// Whether some attributes stand inside a map of this name.
    pub(crate) fn is_container(self, name: &str) -> bool {
        let attributes = self.source().attributes.iter();
        attributes
            .map(|attribute| attribute.name.as_str())
            .any(|known| known.len() > name.len() && is_inside(known, name))
    }

    /// How its soft-deleted items are told from others.
    pub(crate) fn soft_delete(self) -> Option<&'d SoftDelete> {
        match self {
            Shape::Entity(entity) => entity.soft_delete.as_ref(),
            // A view's record exists or does not.
            Shape::View(..) => None,
        }
    }

    /// Whether the item is soft-deleted.
    pub(crate) fn is_deleted(self, item: &Map) -> bool {
        let soft_delete = self.soft_delete();
        soft_delete.is_some_and(|soft_delete| soft_delete.is_deleted(item))
    }

    /// What a write is besides a creation or a change: a delete where the item becomes a
    /// soft-deleted one, a restore where it is one no longer.
    pub(crate) fn crossing(self, old: Option<&Map>, new: &Map) -> Option<Access> {
        let was_deleted = old.is_some_and(|old| self.is_deleted(old));
        match (was_deleted, self.is_deleted(new)) {
            (false, true) => Some(Access::Delete),
            (true, false) => Some(Access::Restore),
            _ => None,
        }
    }
}

/// Whether `known` is `name` or stands inside the map of that name.
pub(crate) fn is_inside(known: &str, name: &str) -> bool {
    let rest = known.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether a path leads to the attribute of that name.
pub(crate) fn is_path(name: &str, root: &str, steps: &[Step]) -> bool {
    match steps {
        [] => name == root,
        _ => leads_into(name, root, steps) && name.matches('.').count() == steps.len(),
    }
}

/// Whether a path leads to the attribute of that name, or into it.
fn leads_into(name: &str, root: &str, steps: &[Step]) -> bool {
    let Some(mut rest) = name.strip_prefix(root) else {
        return false;
    };
    let mut steps = steps.iter();
    while !rest.is_empty() {
        let Some(Step::Field(field)) = steps.next() else {
            return false;
        };
        let inner = rest.strip_prefix('.');
        match inner.and_then(|inner| inner.strip_prefix(field.as_str())) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    true
}

/// Whether an attribute is a number that begins with 0.
pub(crate) fn begins_with_zero(attribute: &Attribute) -> bool {
    matches!(attribute.kind, AttributeType::Counter)
        || matches!(attribute.source, Source::Aggregate(_))
}

/// The attribute that has the last time of a counter that starts again with every period, if that
/// period is over.
pub(crate) fn lapsed<'d>(
    shape: Shape<'d>,
    attribute: &'d Attribute,
    item: &Map,
    now_millis: i64,
) -> Option<&'d str> {
    let (period, name) = attribute.per.as_ref()?;
    let form = shape.attribute(name)?.kind.time_form()?;
    let last = form.read(nested::get(item, name)?)?;
    let form = match period {
        Period::Day => "%Y-%m-%d",
        Period::Month => "%Y-%m",
    };
    let is_over = time::format_as(last, form) != time::format_as(now_millis, form);
    is_over.then_some(name.as_str())
}

/// The identity of an item, as far as its attributes have it.
pub(crate) fn identity_of(shape: Shape<'_>, item: &Map) -> Option<Map> {
    let mut identity = Map::new();
    for part in shape.identity() {
        let value: Value = nested::get(item, &part.attribute)?.clone();
        nested::set(&mut identity, &part.attribute, value);
    }
    Some(identity)
}
