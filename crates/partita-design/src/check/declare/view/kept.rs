//! What a view's records repeat of their source.

use crate::check::declare::key::Native;
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
            let inside = source.attributes.iter();
            let inside = inside.filter(|one| one.name.starts_with(&format!("{name}.")));
            kept.extend(inside.map(|one| one.name.clone()));
            continue;
        }
        let Some(attribute) = source.resolve(name, text.span()) else {
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
