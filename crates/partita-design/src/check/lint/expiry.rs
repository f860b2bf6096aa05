//! The table's `ttl` attribute: whatever has it is deleted by the store at that time.
//!
//! Counts, views and `on delete` follow only what the planner knows to expire, which is an
//! attribute of the type `expiry`.

use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::{Attribute, Design, Record};
use crate::types::AttributeType;

/// Reports attributes that have the name of the `ttl` and another type, such as a view has for
/// itself, and second `expiry` attributes.
pub(crate) fn check(symbols: &Symbols, design: &Design) {
    for record in &design.records {
        if let Some(ttl) = &design[record.table].ttl {
            named(symbols, record, ttl);
        }
        several(symbols, record);
    }
}

fn named(symbols: &Symbols, record: &Record, ttl: &str) {
    let named = stored(record).filter(|one| one.name.split('.').next() == Some(ttl));
    // A state that was kept may go when it likes: nothing is derived from it.
    let is_current = record.view.as_ref().is_some_and(|view| !view.history);
    for attribute in named {
        let span = symbols[record.id].span_of(&attribute.name);
        if is_current && attribute.is_declared() {
            let message =
                format!("records of a view expire with their items, so `{ttl}` is not theirs");
            symbols
                .report(Code::TtlType, span, message)
                .help("leave it out, or give the attribute another name");
        } else if attribute.kind != AttributeType::Expiry {
            let message =
                format!("`{ttl}` is when the store deletes an item, so it must be an `expiry`");
            symbols
                .report(Code::TtlType, span, message)
                .help("write the type `expiry`, or give the attribute another name");
        }
    }
}

/// The attributes that items of a record have in the store.
fn stored(record: &Record) -> impl Iterator<Item = &Attribute> {
    let attributes = record.attributes.iter();
    attributes.filter(|one| !one.key_only && !one.is_virtual && (one.kept || one.is_declared()))
}

fn several(symbols: &Symbols, record: &Record) {
    let mut expiries = stored(record).filter(|one| one.kind == AttributeType::Expiry);
    let Some(first) = expiries.next() else {
        return;
    };
    for other in expiries {
        let declared = &symbols[record.id];
        let message = format!("`{}` is an `expiry` already", first.name);
        symbols
            .report(Code::TtlType, declared.span_of(&other.name), message)
            .help("write `epoch` for a time at which nothing is deleted")
            .related(declared.span_of(&first.name), "the first one");
    }
}
