//! When a view exists: its condition, and the soft delete of its source.

use crate::check::declare::symbols::DeclaredRecord;
use crate::design::SoftDelete;
use crate::document::Field;
use crate::expression::{Origin, Predicate, Reading};
use crate::types::AttributeType;

/// The soft delete that hides a view whose `when` does not speak of it.
pub(super) fn hidden_by(
    when: &Field<Predicate>,
    source: &DeclaredRecord,
    history: bool,
) -> Option<SoftDelete> {
    let Field::Given(soft_delete) = &source.soft_delete else {
        return None;
    };
    let is_named = match when {
        Field::Given(when) => when
            .reads
            .iter()
            .any(|reading| reading.attribute == soft_delete.attribute()),
        _ => false,
    };
    (!is_named && !history).then(|| soft_delete.clone())
}

/// Without a `when` that names the flag, a view vanishes while its source is soft-deleted.
pub(super) fn while_live(
    when: Field<Predicate>,
    hidden_by: Option<&SoftDelete>,
    source: &DeclaredRecord,
) -> Option<Option<Predicate>> {
    let when = when.optional()?;
    let Some(soft_delete) = hidden_by else {
        return Some(when);
    };
    let live = soft_delete.live();
    let name = soft_delete.attribute();
    let declared = source.find(name);
    let reading = Reading {
        path: crate::template::dotted(name),
        origin: Origin::Item,
        hops: Vec::new(),
        attribute: name.to_owned(),
        kind: declared
            .and_then(|one| one.kind.clone())
            .unwrap_or(AttributeType::Any),
        optional: declared.is_some_and(|one| one.optional),
        by_key: false,
        secret: false,
    };
    Some(Some(match when {
        None => Predicate {
            tree: live,
            reads: vec![reading],
            text: String::new(),
        },
        Some(mut when) => {
            when.tree = when.tree.and(live);
            when.reads.push(reading);
            when
        }
    }))
}
