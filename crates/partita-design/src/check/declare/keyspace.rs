//! What DynamoDB does with keys that are legal, but not good: hot partitions, index entries that
//! are not there, orders that are none.

use partita_core::expression::Span;

use crate::check::declare::key::{IndexKeys, Key, Placeholder};
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::codes::Code;
use crate::spelling;
use crate::types::AttributeType;

pub(crate) fn check(symbols: &Symbols) {
    for record in &symbols.records {
        let Some([partition, sort]) = &symbols.table(record).keys else {
            continue;
        };
        let place = |name: &str| format!("{}.{name}", record.place);
        if let (Some(one), Some(two)) = (&record.keys.partition, &record.keys.sort) {
            crowded(record, one, Some(two), place(partition));
            ambiguous(record, one, place(partition));
            ambiguous(record, two, place(sort));
            secrets(record, one, place(partition));
            secrets(record, two, place(sort));
        }
        for keys in &record.indexes {
            index(record, keys);
        }
        guarded_secrets(record);
    }
    native(symbols);
}

fn index(record: &DeclaredRecord, keys: &IndexKeys) {
    let place = |name: &str| format!("{}.{name}", record.place);
    let partition = place(&keys.names.0);
    if !keys.partition.native {
        crowded(
            record,
            &keys.partition,
            keys.sort.as_ref(),
            partition.clone(),
        );
        ambiguous(record, &keys.partition, partition.clone());
        sparse(record, &keys.partition, partition.clone());
        secrets(record, &keys.partition, partition);
    }
    let (Some(sort), Some(name)) = (&keys.sort, &keys.names.1) else {
        return;
    };
    if sort.native {
        return;
    }
    ambiguous(record, sort, place(name));
    sparse(record, sort, place(name));
    secrets(record, sort, place(name));
    if sort.is_constant() {
        let message = format!(
            "every item has the sort key `{}`, so they have no order",
            sort.written
        );
        record
            .report(Code::ConstantSortKey, sort.span, message)
            .help("write what they are ordered by, such as `{createdAt}`")
            .acceptable(vec![vec![place(name)]]);
    } else if !tells_apart(record, keys) {
        tie(record, keys, sort.span, vec![place(name)]);
    }
}

fn tie(record: &DeclaredRecord, keys: &IndexKeys, span: Span, places: Vec<String>) {
    let held = held(keys);
    let identity = record.identity().unwrap_or_default().into_iter();
    let missing = identity.filter(|part| !held.contains(&part.attribute.as_str()));
    let missing: String = missing.map(|part| format!("#{{{}}}", part.name)).collect();
    let message = format!(
        "two `{}` can have the same keys here, in no order",
        record.title()
    );
    record
        .report(Code::NoTieBreak, span, message)
        .help(format!("end the sort key with `{missing}`"))
        .acceptable(vec![places]);
}

/// Whether the keys of an index hold what identifies items: the identity, an id in it, or a value
/// that a guard keeps unique.
fn tells_apart(record: &DeclaredRecord, keys: &IndexKeys) -> bool {
    let Some(identity) = record.identity() else {
        return true;
    };
    let held = held(keys);
    let is_held = |name: &str| held.contains(&name);
    let is_id = |name: &str| {
        let kind = record.find(name).and_then(|one| one.kind.as_ref());
        matches!(
            kind,
            Some(AttributeType::Ulid | AttributeType::Uuid | AttributeType::Id)
        )
    };
    record.is_guarded(is_held)
        || identity.iter().all(|part| is_held(&part.attribute))
        || identity
            .iter()
            .any(|part| is_held(&part.attribute) && is_id(&part.attribute))
}

/// The attributes in the keys of an index.
fn held(keys: &IndexKeys) -> Vec<&str> {
    let holes = keys.keys().flat_map(Key::holes);
    holes.filter_map(|hole| hole.attribute.as_deref()).collect()
}

/// A partition that everything is in, or one of very few.
fn crowded(record: &DeclaredRecord, partition: &Key, sort: Option<&Key>, place: String) {
    let places = vec![vec![place]];
    // A whole key without values is one item.
    if sort.is_some_and(Key::is_constant) && partition.is_constant() {
        return;
    }
    if partition.is_constant() {
        let message = format!("all items are in one partition, `{}`", partition.written);
        record
            .report(Code::HotPartition, partition.span, message)
            .help("put the first part of the sort key into the partition key")
            .acceptable(places);
        return;
    }
    let words: Option<Vec<usize>> = partition.holes().map(few).collect();
    if let Some(counts) = words {
        let count: usize = counts.iter().product();
        let message = format!("all items are in {count} partitions, one for each value");
        record
            .report(Code::LowCardinality, partition.span, message)
            .help("put another part into the partition key")
            .acceptable(places);
    }
}

/// How many values a placeholder has, if they are few.
fn few(hole: &Placeholder) -> Option<usize> {
    hole.kind.as_ref()?.words().map(|words| words.len())
}

/// Two free texts in one key: where one ends is unknown, so `#` in them is refused.
fn ambiguous(record: &DeclaredRecord, key: &Key, place: String) {
    for case in &key.cases {
        let free: Vec<&Placeholder> = case.holes.iter().filter(|hole| is_free(hole)).collect();
        let mut names: Vec<&str> = Vec::new();
        for hole in &free {
            if !names.contains(&hole.written.as_str()) {
                names.push(&hole.written);
            }
        }
        if names.len() < 2 {
            continue;
        }
        let message = format!(
            "{} are free texts in one key: with `#` in them nobody could tell them apart, so that is refused",
            spelling::list(&names)
        );
        record
            .report(Code::AmbiguousKey, key.span, message)
            .help("make all but one a `ulid`, `uuid` or `enum`, or exclude it: `string /^[^#]+$/`")
            .acceptable(vec![vec![place.clone()]]);
    }
}

fn is_free(hole: &Placeholder) -> bool {
    match &hole.kind {
        Some(AttributeType::String(string)) => {
            let pattern = string.pattern.as_ref();
            pattern.is_none_or(|pattern| pattern.accepts("a#b") || pattern.accepts("#"))
        }
        _ => false,
    }
}

/// An item without a part of an index's key is not in the index.
fn sparse(record: &DeclaredRecord, key: &Key, place: String) {
    let Some(hole) = key.holes().find(|hole| hole.optional) else {
        return;
    };
    let name = &hole.written;
    let message = format!("items without `{name}` are not in this index");
    record
        .report(Code::SparseKey, hole.span, message)
        .help(format!(
            "write what stands there then, such as `{{{name} | 'none'}}`"
        ))
        .acceptable(vec![vec![place]]);
}

/// What is secret can be seen by all who see keys.
fn secrets(record: &DeclaredRecord, key: &Key, place: String) {
    for hole in key.holes() {
        let declared = hole.attribute.as_deref().and_then(|name| record.find(name));
        let Some(declared) = declared.filter(|one| one.secret) else {
            continue;
        };
        let message = format!("`{}` is secret, but it stands in a key", hole.written);
        record
            .report(Code::SecretInKey, hole.span, message)
            .help("put a digest of it there")
            .related(declared.span, "declared here")
            .acceptable(vec![vec![place.clone()]]);
    }
}

/// A guard has its value in a key, and tells everybody who tries one whether it is taken.
fn guarded_secrets(record: &DeclaredRecord) {
    for guard in record.unique.iter().flatten() {
        let mut attributes = guard.unique.attributes.iter();
        let declared = attributes.find_map(|name| record.find(name).filter(|one| one.secret));
        let Some(declared) = declared else { continue };
        let message = format!(
            "`{}` is secret, but it stands in the key of a guard, and whoever tries a value is \
             told whether it is taken",
            declared.name
        );
        let place = format!("{}.unique.{}", record.place, guard.unique.name);
        record
            .report(Code::SecretInKey, guard.span, message)
            .help("let two items share it, or guard something that is no secret")
            .related(declared.span, "declared here")
            .acceptable(vec![vec![place]]);
    }
}

/// Native keys are reported at their index, once for all records.
fn native(symbols: &Symbols) {
    for (position, table) in symbols.tables.iter().enumerate() {
        for index in &table.indexes {
            let in_it: Vec<(&DeclaredRecord, &IndexKeys)> = symbols
                .records
                .iter()
                .filter(|record| record.table == position)
                .filter_map(|record| {
                    let mut indexes = record.indexes.iter();
                    Some((record, indexes.find(|keys| keys.index == index.id)?))
                })
                .collect();
            let places = vec![index.place()];
            let few_values = in_it.iter().find(|(_, keys)| {
                keys.partition.native && keys.partition.holes().all(|hole| few(hole).is_some())
            });
            if few_values.is_some() {
                let message = format!(
                    "`{}` has few values, so this index has few partitions",
                    index.partition.0
                );
                symbols
                    .report(Code::LowCardinality, index.span, message)
                    .help("put another part into the partition key")
                    .acceptable(vec![places.clone()]);
            }
            let ties = in_it.iter().find(|(record, keys)| {
                let is_native = keys.sort.as_ref().is_some_and(|sort| sort.native);
                is_native && !tells_apart(record, keys)
            });
            if let Some((record, keys)) = ties {
                tie(record, keys, index.span, places);
            }
        }
    }
}
