//! Whether sources can say that something should be missing.
//!
//! A derived value is missing where its sources say so: an optional attribute that is not set, a
//! condition that does not hold. A required attribute that is missing, or a value of another type,
//! says nothing. The item may follow another design; so what was derived from it stays.

use partita_design::design::{Attribute, Source};
use partita_design::expression::{Origin, Reading};

use crate::scope::StoredScope;
use partita_design::nested;

/// Whether all attributes of the item that are read here are as the design has them.
pub(super) fn is_sound(scope: &StoredScope<'_, '_>, reads: &[Reading]) -> bool {
    let own = reads.iter().filter(|one| one.origin == Origin::Item);
    own.filter(|one| one.hops.is_empty())
        .all(|one| has_sound(scope, &one.attribute))
}

/// Whether an attribute of the item is as the design has it; names that are no attributes are.
pub(super) fn has_sound(scope: &StoredScope<'_, '_>, name: &str) -> bool {
    let attribute = scope.record.stored(name);
    attribute.is_none_or(|attribute| is_as_declared(scope, attribute))
}

fn is_as_declared(scope: &StoredScope<'_, '_>, attribute: &Attribute) -> bool {
    match (nested::get(scope.item, &attribute.name), &attribute.source) {
        (None, Source::Computed(computed)) if attribute.is_virtual => {
            is_sound(scope, &computed.value.reads)
        }
        (None, _) => attribute.optional || attribute.when_missing(scope).is_some(),
        (Some(value), _) => attribute.kind.check(value).is_ok(),
    }
}
