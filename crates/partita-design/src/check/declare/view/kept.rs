//! What a view's records repeat of their source.

use crate::check::declare::key::{Keys, Native};
use crate::check::declare::symbols::{DeclaredAttribute, DeclaredRecord};
use crate::codes::Code;
use crate::document::Text;
use crate::types::AttributeType;

/// An attribute that the record stores under this name.
pub(super) fn stored(
    name: &str,
    own: &[DeclaredAttribute],
    kept: &[&str],
    source: &DeclaredRecord,
) -> Option<Native> {
    let own = own.iter().find(|one| one.name == name);
    let kept = || {
        let kept = kept.contains(&name);
        let found = source.attributes.iter().find(|one| one.name == name);
        found.filter(|_| kept)
    };
    let found = own.or_else(kept)?;
    let kind = found.kind.clone().unwrap_or(AttributeType::Any);
    Some((kind, found.optional, found.span))
}

/// Reads `keep`: the attributes by their stored names; `None` after a report.
pub(super) fn keep(names: &[&Text], source: &DeclaredRecord) -> Option<Vec<String>> {
    let mut kept: Vec<String> = Vec::new();
    let mut is_good = true;
    for text in names {
        let name = text.as_str();
        if source.has_inside(name) {
            for one in source.inside(name) {
                is_good &= source.refuse_password(one, text.span()).is_some();
                kept.push(one.name.clone());
            }
            continue;
        }
        let Some(attribute) = source.resolve_used(name, text.span()) else {
            is_good = false;
            continue;
        };
        if attribute.key_only || attribute.is_virtual {
            let why = if attribute.key_only {
                "key-only"
            } else {
                "virtual"
            };
            let message = format!("`{name}` is {why}: there is nothing to copy");
            text.report_here(Code::KeyOnlyKept, message)
                .help(format!(
                    "leave it out; `{{{name}}}` in the key keeps the value"
                ))
                .related(attribute.span, "declared here");
        } else if kept.contains(&attribute.name) {
            let message = format!("`{name}` is kept twice");
            text.report_here(Code::DuplicateName, message);
        } else {
            kept.push(attribute.name.clone());
        }
    }
    is_good.then_some(kept)
}

/// The attribute by which the items of the source expire, where the view neither keeps it nor has
/// one of that name. Records have it all the same: they must not outlive their item.
pub(super) fn implied_expiry(
    ttl: &str,
    own: &[DeclaredAttribute],
    kept: &[String],
    source: &DeclaredRecord,
) -> Option<String> {
    let mut attributes = source.attributes.iter();
    let is_there = attributes.any(|one| one.name == ttl && !one.key_only && !one.is_virtual);
    let is_implied =
        is_there && own.iter().all(|one| one.name != ttl) && kept.iter().all(|name| name != ttl);
    is_implied.then(|| ttl.to_owned())
}

/// Marks an attribute that the design does not ask for. It is not shown with the records, unless
/// their key holds it.
pub(super) fn mark_implied(name: &str, attributes: &mut [DeclaredAttribute], keys: &Keys) {
    let mut holes = keys.holes();
    let is_in_key = holes.any(|hole| hole.attribute.as_deref() == Some(name));
    let mut attributes = attributes.iter_mut();
    if let Some(attribute) = attributes.find(|one| one.name == name) {
        attribute.is_implied = true;
        attribute.secret |= !is_in_key;
    }
}
