//! What a key that can be read may still not have, or should not.

use crate::check::declare::symbols::DeclaredRecord;
use crate::codes::Code;
use crate::template::Format;

/// Numbers are written into keys as they are, and keys sort as text.
pub(crate) fn warn_of_numbers(record: &DeclaredRecord, sort_name: &str) {
    let primary = record.keys.sort.iter().map(|key| (sort_name, key));
    let indexes = record.indexes.iter().filter_map(|keys| {
        let name = keys.names.1.as_deref()?;
        Some((name, keys.sort.as_ref()?))
    });
    for (name, key) in primary.chain(indexes).filter(|(_, key)| !key.native) {
        for hole in key.holes() {
            let is_number = hole
                .kind
                .as_ref()
                .is_some_and(|kind| kind.stored_as() == Some(partita_core::Type::N));
            if !is_number || hole.format != Format::Plain {
                continue;
            }
            let written = &hole.written;
            let message =
                format!("`{written}` is a number, and keys sort as text: 10 comes before 9");
            record
                .report(Code::UnpaddedNumber, hole.span, message)
                .help(format!("write `{{{written}:010}}` for 10 digits"))
                .acceptable(vec![vec![format!("{}.{name}", record.place)]]);
        }
    }
}

/// Reports what a primary key of an entity may not have.
pub(crate) fn check_identity(record: &DeclaredRecord) {
    for hole in record.keys.holes() {
        let name = &hole.written;
        let Some(attribute) = hole.attribute.as_deref().and_then(|name| record.find(name)) else {
            let message = format!("`{{{name}}}` is computed, and an identity is what it is");
            record
                .report(Code::ComputedIdentity, hole.span, message)
                .help("store the value in an attribute, and write that");
            continue;
        };
        if attribute.optional {
            let message = format!("`{name}` may be missing, but it is part of the primary key");
            record
                .report(Code::OptionalKeyPart, hole.span, message)
                .help("take the `?` away")
                .related(attribute.span, "declared here");
        }
        if attribute.changes_with_writes() {
            let message = format!("`{name}` changes with every write, but it tells the item apart");
            record
                .report(Code::ChangingKeyPart, hole.span, message)
                .help("use an attribute that stays, such as one with `= now on create`")
                .related(attribute.span, "declared here");
        }
    }
}
