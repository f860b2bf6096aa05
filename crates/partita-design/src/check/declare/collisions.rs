//! All records against each other: keys that can be equal, and what tools confuse.

use crate::check::declare::key::Key;
use crate::check::declare::key_shape::KeyShape;
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::codes::Code;

pub(crate) fn check(symbols: &Symbols) {
    ignored(symbols);
    for (position, table) in symbols.tables.iter().enumerate() {
        let records: Vec<&DeclaredRecord> = symbols
            .records
            .iter()
            .filter(|record| record.table == position)
            .collect();
        for (index, one) in records.iter().enumerate() {
            for two in &records[index + 1..] {
                // Equal keys are an error, and what else the two have in common follows from it.
                if !colliding(one, two) {
                    same_discriminator(one, two);
                }
            }
        }
        // Alike templates share one warning, so that all of them must be known.
        let is_known = records.iter().all(|record| record.keys.partition.is_some());
        if let Some([partition, _]) = table.keys.as_ref().filter(|_| is_known) {
            overlapping_prefixes(&records, partition, symbols);
        }
    }
}

/// A record whose keys the table ignores would never be verified or mended.
fn ignored(symbols: &Symbols) {
    for record in &symbols.records {
        let keys = record.keys.partition.iter().flat_map(Key::shapes);
        let guards = record.unique.iter().flatten().map(|guard| &guard.shape);
        let shapes: Vec<&KeyShape> = keys.chain(guards).collect();
        for (prefix, span) in &symbols.table(record).ignore {
            if shapes.iter().any(|shape| shape.may_start_with(prefix)) {
                let message = format!("keys of `{}` can begin with `{prefix}`", record.place);
                symbols
                    .report(Code::IgnoredRecord, *span, message)
                    .help("ignore what only other programs have")
                    .related(record.span, "declared here");
            }
        }
    }
}

fn colliding(one: &DeclaredRecord, two: &DeclaredRecord) -> bool {
    let (Some((one_pk, one_sk)), Some((two_pk, two_sk))) = (one.keys.both(), two.keys.both())
    else {
        return false;
    };
    if !(one_pk.shape.may_equal(&two_pk.shape) && one_sk.shape.may_equal(&two_sk.shape)) {
        return false;
    }
    let (Some(one_sort), Some(two_sort)) = (&one.keys.sort, &two.keys.sort) else {
        return false;
    };
    // The sort key is what one would change.
    one.report(
        Code::CollidingKeys,
        two_sort.span,
        format!(
            "`{}` and `{}` can have the same key, so that one would overwrite the other",
            one.place, two.place
        ),
    )
    .help(format!(
        "begin one sort key with a text of its own, such as `{}#`",
        two.title().to_uppercase()
    ))
    .related(one_sort.span, format!("the key of `{}`", one.place));
    true
}

fn same_discriminator(one: &DeclaredRecord, two: &DeclaredRecord) {
    let (Some((value, one_span)), Some((other, two_span))) =
        (&one.discriminator, &two.discriminator)
    else {
        return;
    };
    // Two records of one name were reported as such.
    if value != other || one.title() == two.title() {
        return;
    }
    one.report(
        Code::SameDiscriminator,
        *two_span,
        format!(
            "`{}` and `{}` have one discriminator, `{value}`",
            one.place, two.place
        ),
    )
    .related(*one_span, format!("that of `{}`", one.place))
    .acceptable(vec![vec![one.place.clone()], vec![two.place.clone()]]);
}

/// Partition keys of one shape, and the places where they are written.
struct Group<'r> {
    key: &'r Key,
    shape: &'r KeyShape,
    places: Vec<String>,
}

/// A query compares whole partition keys, but tools that look at the beginning of a key do not.
fn overlapping_prefixes(records: &[&DeclaredRecord], attribute: &str, symbols: &Symbols) {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for record in records {
        let Some(key) = &record.keys.partition else {
            continue;
        };
        let Some(shape) = key.shapes().next() else {
            continue;
        };
        let place = format!("{}.{attribute}", record.place);
        match groups.iter_mut().find(|group| group.shape.is_like(shape)) {
            Some(group) => group.places.push(place),
            None => groups.push(Group {
                key,
                shape,
                places: vec![place],
            }),
        }
    }
    for short in &groups {
        for long in &groups {
            if short.shape.may_begin(long.shape) {
                symbols
                    .report(
                        Code::PrefixOverlap,
                        short.key.span,
                        format!(
                            "keys of `{}` begin like keys of `{}`",
                            long.key.written, short.key.written
                        ),
                    )
                    .related(long.key.span, "the longer key")
                    .acceptable(vec![short.places.clone(), long.places.clone()]);
            }
        }
    }
}
