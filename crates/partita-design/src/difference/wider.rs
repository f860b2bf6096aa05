//! Types that accept everything that others accept, stored in the same way.

use crate::types::{AttributeType, Bounds, Count, Field, Shape, StringType};

/// Whether every value of the old type is one of the new type.
pub(super) fn is_wider(old: &AttributeType, new: &AttributeType) -> bool {
    use AttributeType as Kind;
    match (old, new) {
        (Kind::String(old), Kind::String(new)) => {
            is_wider_count(old.length, new.length)
                && (new.pattern.is_none() || old.pattern == new.pattern)
                && (new.format.is_none() || old.format == new.format)
        }
        (Kind::String(_), Kind::Password) | (_, Kind::Any) => true,
        (Kind::Enum(old), Kind::Enum(new)) => has_all(old, new),
        // What an item begins with is its default, which is compared by itself.
        (Kind::State(old), Kind::State(new)) => has_all(&old.names, &new.names),
        (Kind::State(old), Kind::Enum(new)) => has_all(&old.names, new),
        (
            Kind::Enum(_) | Kind::State(_) | Kind::Ulid | Kind::Uuid | Kind::Id,
            Kind::String(new),
        ) => *new == StringType::default(),
        (Kind::Ulid | Kind::Uuid, Kind::Id) => true,
        (Kind::Int(old), Kind::Number(new)) => is_wider_range(old, new),
        (Kind::Shape(_), Kind::Map) => true,
        (Kind::Number(old), Kind::Number(new)) | (Kind::Int(old), Kind::Int(new)) => {
            is_wider_range(old, new)
        }
        (
            Kind::List {
                element: old,
                count: old_count,
            },
            Kind::List {
                element: new,
                count: new_count,
            },
        ) => is_wider(old, new) && is_wider_count(*old_count, *new_count),
        // Its fields are a declaration of their own.
        (Kind::Shape(old), Kind::Shape(new)) => old.name == new.name,
        (old, new) => old == new,
    }
}

/// Whether every map of the old shape is one of the new shape, and no stored field gets a type.
pub(super) fn is_wider_shape(old: &Shape, new: &Shape) -> bool {
    let stays = |field: &Field| {
        new.field(&field.name).is_some_and(|one| {
            is_wider(&field.kind, &one.kind)
                && (one.optional || !field.optional)
                && one.file_in == field.file_in
        })
    };
    let mut fields = new.fields.iter();
    let comes = |field: &Field| old.field(&field.name).is_some() || (field.optional && !old.open);
    old.fields.iter().all(stays) && fields.all(comes) && (new.open || !old.open)
}

fn has_all(old: &[String], new: &[String]) -> bool {
    old.iter().all(|name| new.contains(name))
}

fn is_wider_count(old: Count, new: Count) -> bool {
    let is_wider_max = match (old.max, new.max) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(old), Some(new)) => old <= new,
    };
    new.min <= old.min && is_wider_max
}

fn is_wider_range(old: &Bounds, new: &Bounds) -> bool {
    if !old.choices.is_empty() {
        return old.choices.iter().all(|number| new.accepts(number));
    }
    let is_wider_min = match (&old.min, &new.min) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(old_min), Some(new_min)) => {
            new_min < old_min || (new_min == old_min && (old.above_min || !new.above_min))
        }
    };
    let is_wider_max = match (&old.max, &new.max) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(old), Some(new)) => old <= new,
    };
    new.choices.is_empty() && is_wider_min && is_wider_max
}
