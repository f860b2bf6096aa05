//! Names of files: who keeps the files that they name, and for how long.

use crate::Design;
use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::{Attribute, Prefix, Record, Source, Timing};
use crate::expression::Formula;
use crate::files::{Standing, lenders, names_files, prefixes, values_for};

/// Reports values that would change the name of a file behind its back, names that keep no file,
/// and files of a lasting item that have a lifetime.
pub(crate) fn check(symbols: &Symbols, design: &Design) {
    for entity in design.entities() {
        for attribute in entity.attributes.iter().filter(|one| !one.is_virtual) {
            if names_files(attribute) {
                follows(symbols, design, entity, attribute);
                passes(symbols, design, entity, attribute);
            } else {
                loses(symbols, design, entity, attribute);
            }
        }
    }
}

/// An item takes a file over once: a value that follows another item would name what is not its own.
fn follows(symbols: &Symbols, design: &Design, entity: &Record, attribute: &Attribute) {
    let is_file = |value: &Formula| {
        let standing = Standing {
            record: entity.id,
            refs: &[],
            each: None,
        };
        !lenders(design, standing, value).is_empty()
    };
    let is_following = match &attribute.source {
        Source::Copy(_) => true,
        Source::Computed(computed) => match computed.timing {
            Timing::Always | Timing::Ref | Timing::Write => is_file(&computed.value),
            Timing::Create | Timing::Once(_) => false,
        },
        _ => false,
    };
    if is_following {
        let name = &attribute.name;
        let message = format!("`{name}` follows another value, and an item takes a file over once");
        symbols
            .report(Code::FileValue, symbols[entity.id].span_of(&attribute.name), message)
            .help("write a value `on create`; or leave `file` out, so that only the other item names it");
    }
}

/// What an item names is kept, but a bucket with a lifetime rule clears it away.
fn passes(symbols: &Symbols, design: &Design, entity: &Record, attribute: &Attribute) {
    if entity.expiry().is_some() {
        return;
    }
    let names = prefixes(attribute);
    let all = design.buckets.iter().flat_map(|bucket| &bucket.prefixes);
    let is_meant = |prefix: &&Prefix| names.contains(&prefix.name.as_str());
    let mut passing = all
        .filter(is_meant)
        .filter(|prefix| prefix.lifetime_seconds.is_some());
    let Some(prefix) = passing.next() else {
        return;
    };
    let (title, prefix) = (&entity.name, &prefix.name);
    let message = format!(
        "`{title}` stays, and names files in `{prefix}`, which has a lifetime: Partita keeps them while an item names them, other programs and rules of a bucket do not"
    );
    let place = format!("entity.{title}.attributes.{}", attribute.name);
    symbols
        .report(
            Code::LastingFile,
            symbols[entity.id].span_of(&attribute.name),
            message,
        )
        .help("name a prefix without a lifetime, where an upload goes when an item takes it over")
        .acceptable(vec![vec![place]]);
}

/// A text that was the name of a file when it was written.
fn loses(symbols: &Symbols, design: &Design, entity: &Record, attribute: &Attribute) {
    // A copy follows its source.
    if matches!(attribute.source, Source::Copy(_)) {
        return;
    }
    for (standing, value) in values_for(design, entity, attribute) {
        let Some((from, lender)) = lenders(design, standing, value).into_iter().next() else {
            continue;
        };
        let prefix = prefixes(lender).first().copied().unwrap_or("…");
        let (name, from, lender) = (&attribute.name, &from.name, &lender.name);
        let message = format!(
            "`{name}` takes over the name of a file that only `{lender}` of `{from}` keeps: when that names another, it is gone"
        );
        let place = format!("entity.{}.attributes.{name}", entity.name);
        symbols
            .report(
                Code::LooseFile,
                symbols[entity.id].span_of(&attribute.name),
                message,
            )
            .help(format!("write `file in {prefix}` here too"))
            .acceptable(vec![vec![place]]);
        return;
    }
}
