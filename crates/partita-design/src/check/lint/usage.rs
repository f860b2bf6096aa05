//! Indexes and patterns against each other: what is never read, and what is found by accident.

use crate::check::declare::index;
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::codes::Code;
use crate::design::{Design, IndexId, Pattern};
use crate::spelling;

pub(crate) fn check(symbols: &Symbols, design: &Design) {
    for (position, table) in symbols.tables.iter().enumerate() {
        for index in &table.indexes {
            let records = symbols
                .records
                .iter()
                .filter(|record| record.table == position);
            let in_it: Vec<_> = records
                .filter(|record| record.indexes.iter().any(|keys| keys.index == index.id))
                .collect();
            if in_it.is_empty() {
                let message = format!("no record has the keys of `{}`", index.name);
                symbols
                    .report(Code::EmptyIndex, index.span, message)
                    .help(format!(
                        "write `{} = \"…\"` in an entity",
                        index.partition.0
                    ));
                continue;
            }
            let is_reader = |pattern: &&Pattern| {
                pattern.table.index() == position && pattern.read.index() == Some(index.id)
            };
            let readers: Vec<&Pattern> = design.patterns.iter().filter(is_reader).collect();
            if readers.is_empty() {
                // Deletes and copies find the items that refer to one over it.
                if in_it.iter().any(|one| is_way_back(design, one, index.id)) {
                    continue;
                }
                let message = format!("no pattern reads `{}`", index.name);
                symbols
                    .report(Code::UnusedIndex, index.span, message)
                    .help("every write pays for an index; leave it out, or write a pattern")
                    .acceptable(vec![vec![index.place()]]);
                continue;
            }
            let returned = |record: &DeclaredRecord| {
                let mut readers = readers.iter();
                readers.any(|pattern| pattern.returns.contains(&record.id))
            };
            let is_native = |record: &&&DeclaredRecord| {
                let mut keys = record.indexes.iter();
                keys.any(|keys| keys.index == index.id && keys.partition.native)
            };
            let by_accident: Vec<&str> = in_it
                .iter()
                .filter(is_native)
                .filter(|record| !returned(record))
                .map(|record| record.title())
                .collect();
            for record in in_it.iter().filter(|record| !is_native(record)) {
                if !returned(record) && !is_way_back(design, record, index.id) {
                    unused_key(record, index);
                }
            }
            if !by_accident.is_empty() {
                let message = format!(
                    "{} are in `{}` too, and no pattern over it returns them",
                    spelling::list(&by_accident),
                    index.name
                );
                symbols
                    .report(Code::PollutedIndex, index.span, message)
                    .help("an index over attributes of their own has everything with those attributes")
                    .acceptable(vec![vec![index.place()]]);
            }
        }
    }
}

/// Whether the items that refer to a target are found over this index of a record.
fn is_way_back(design: &Design, record: &DeclaredRecord, index: IndexId) -> bool {
    let refs = design.entities().flat_map(|entity| &entity.refs);
    let targets = refs.flat_map(|one| &one.targets);
    let mut finders = targets.filter_map(|target| target.finder.as_ref());
    finders.any(|finder| finder.record == record.id && finder.index == Some(index))
}

fn unused_key(record: &DeclaredRecord, index: &index::Draft) {
    let Some(keys) = record.indexes.iter().find(|keys| keys.index == index.id) else {
        return;
    };
    let message = format!(
        "no pattern over `{}` returns `{}`",
        index.name,
        record.title()
    );
    let place = format!("{}.{}", record.place, keys.names.0);
    record
        .report(Code::UnusedKey, keys.partition.span, message)
        .help("every write pays for the key; leave it out, or write a pattern")
        .acceptable(vec![vec![place]]);
}
