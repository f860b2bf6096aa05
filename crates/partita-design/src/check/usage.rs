//! Indexes and patterns against each other: what is never read, and what is found by accident.

use super::key::Key;
use super::world::{Record, World};
use crate::codes::Code;
use crate::design::{Entity, Pattern, Read, Ref, SortRange};
use crate::diagnostic::Report;
use crate::spelling;
use crate::template::Template;

pub(crate) fn check(
    world: &World,
    entities: &[Option<Entity>],
    refs: &[Vec<Ref>],
    patterns: &[Option<Pattern>],
    report: &mut Report,
) {
    // A pattern or a record that could not be read may be the one that is missing.
    let is_known = patterns.iter().all(Option::is_some)
        && world
            .records
            .iter()
            .all(|record| record.keys.both().is_some() && !record.is_broken)
        && world.tables.iter().all(|table| !table.has_broken_index)
        && world
            .records
            .iter()
            .all(|record| record.broken_indexes.is_empty());
    if is_known {
        indexes(world, refs, patterns, report);
    }
    for pattern in patterns.iter().flatten().filter(|pattern| pattern.one) {
        unique(world, entities, pattern, report);
    }
}

fn index_of(pattern: &Pattern) -> Option<&str> {
    match &pattern.read {
        Read::Get(_) => None,
        Read::Query(query) => query.index.as_deref(),
        Read::Scan { index } => index.as_deref(),
    }
}

fn indexes(world: &World, refs: &[Vec<Ref>], patterns: &[Option<Pattern>], report: &mut Report) {
    for (position, table) in world.tables.iter().enumerate() {
        for index in &table.indexes {
            let records = world
                .records
                .iter()
                .filter(|record| record.table == position);
            let in_it: Vec<_> = records
                .filter(|record| record.indexes.iter().any(|keys| keys.index == index.name))
                .collect();
            if in_it.is_empty() {
                let message = format!("no record has the keys of `{}`", index.name);
                report
                    .add(Code::EmptyIndex, index.span, message)
                    .help(format!(
                        "write `{} = \"…\"` in an entity",
                        index.partition.0
                    ));
                continue;
            }
            let readers: Vec<&Pattern> = patterns
                .iter()
                .flatten()
                .filter(|pattern| index_of(pattern) == Some(&index.name))
                .collect();
            if readers.is_empty() {
                let message = format!("no pattern reads `{}`", index.name);
                report
                    .add(Code::UnusedIndex, index.span, message)
                    .help("every write pays for an index; leave it out, or write a pattern")
                    .acceptable(vec![vec![index.place()]]);
                continue;
            }
            let returned = |name: &str| {
                let mut returns = readers.iter().flat_map(|pattern| &pattern.returns);
                returns.any(|record| record.as_str() == name)
            };
            let is_native = |record: &&&Record| {
                let mut keys = record.indexes.iter();
                keys.any(|keys| keys.index == index.name && keys.partition.native)
            };
            let by_accident: Vec<&str> = in_it
                .iter()
                .filter(is_native)
                .map(|record| record.title())
                .filter(|title| !returned(title))
                .collect();
            for record in in_it.iter().filter(|record| !is_native(record)) {
                if !returned(record.title()) && !is_way_back(refs, record, &index.name) {
                    unused_key(record, &index.name, report);
                }
            }
            if !by_accident.is_empty() {
                let message = format!(
                    "{} are in `{}` too, and no pattern over it returns them",
                    spelling::list(&by_accident),
                    index.name
                );
                report
                    .add(Code::PollutedIndex, index.span, message)
                    .help("an index over attributes of their own has everything with those attributes")
                    .acceptable(vec![vec![index.place()]]);
            }
        }
    }
}

/// Whether the items that refer to a target are found over this index of a record.
fn is_way_back(refs: &[Vec<Ref>], record: &Record, index: &str) -> bool {
    let targets = refs.iter().flatten().flat_map(|one| &one.targets);
    let mut finders = targets.filter_map(|target| target.finder.as_ref());
    finders.any(|finder| finder.record == record.name && finder.index.as_deref() == Some(index))
}

fn unused_key(record: &Record, index: &str, report: &mut Report) {
    let Some(keys) = record.indexes.iter().find(|keys| keys.index == index) else {
        return;
    };
    let message = format!("no pattern over `{index}` returns `{}`", record.title());
    let place = format!("{}.{}", record.place, keys.names.0);
    report
        .add(Code::UnusedKey, keys.partition.span, message)
        .help("every write pays for the key; leave it out, or write a pattern")
        .acceptable(vec![vec![place]]);
}

/// The attributes whose values the keys of a pattern give, and whether they are those of one item.
struct Given {
    names: Vec<String>,
    is_one: bool,
}

/// What a query knows of its only record; nothing where it may find several, or reads no keys of it.
fn given(world: &World, entities: &[Option<Entity>], pattern: &Pattern) -> Option<Given> {
    let (Read::Query(query), [record]) = (&pattern.read, pattern.returns.as_slice()) else {
        return None;
    };
    let (_, record) = world.find(record.as_str())?;
    let only = |key: &Key| key.only().map(|one| one.template.clone());
    let (partition, sort) = match &query.index {
        None => {
            let keys = &record.keys;
            (keys.partition.as_ref()?, keys.sort.as_ref())
        }
        Some(index) => {
            let keys = record.indexes.iter().find(|keys| keys.index == *index)?;
            (&keys.partition, keys.sort.as_ref())
        }
    };
    let bound = match &query.sort {
        SortRange::Equals(bound) | SortRange::BeginsWith(bound) => Some(&bound.value),
        _ => None,
    };
    let mut names = placed(only(partition).as_ref(), Some(&query.partition.value));
    names.extend(placed(sort.and_then(only).as_ref(), bound));
    let identity = record.identity().unwrap_or_default();
    let is_id = |name: &String| {
        let declared = record.find(name);
        declared.is_some_and(|one| one.line.generated.is_some()) && record.is_identity(name)
    };
    let mut entities = entities.iter().flatten();
    let entity = entities.find(|entity| entity.name == record.title());
    let guards = entity.map_or(&[][..], |entity| &entity.unique);
    let is_guarded = guards.iter().any(|guard| {
        !guard.attributes.is_empty() && guard.attributes.iter().all(|name| names.contains(name))
    });
    let is_whole = identity.iter().all(|part| names.contains(&part.attribute));
    let is_one = is_guarded || is_whole || names.iter().any(is_id);
    Some(Given { names, is_one })
}

/// Whether a pattern of one can find more than one item, or has to look for it among others.
fn unique(world: &World, entities: &[Option<Entity>], pattern: &Pattern, report: &mut Report) {
    let mut patterns = world.patterns.iter();
    let span = patterns.find(|(name, _)| *name == pattern.name);
    let span = span.map_or(Default::default(), |(_, span)| *span);
    let given = given(world, entities, pattern);
    let is_one = given.as_ref().is_some_and(|given| given.is_one);
    match (is_one, pattern.filter.is_some(), pattern.whole) {
        (false, true, None) => {
            let message = "no key leads to this one item: everything that the keys find is read until the filter holds";
            report.add(Code::OneWithoutWhole, span, message).help(
                "give the whole key, or that of an index; or write `whole = 1000`: how many items are read at most",
            );
        }
        (true, _, Some(_)) | (_, false, Some(_)) => {
            let message = "`whole` has no effect, because nothing is looked for with a filter";
            report
                .add(Code::NeedlessKey, span, message)
                .help("leave `whole` out");
        }
        _ => {}
    }
    let is_index = matches!(&pattern.read, Read::Query(query) if query.index.is_some());
    let Some(given) = given.filter(|given| is_index && !given.is_one) else {
        return;
    };
    let title = pattern.returns.first().map_or("", |name| name.as_str());
    let message =
        format!("nothing keeps two `{title}` from having these keys: an index has no unique keys");
    let name = given.names.last().map_or("email", String::as_str);
    report
        .add(Code::NotUnique, span, message)
        .help(format!(
            "write `[entity.{title}.unique]` with `{name} = \"UNIQUE#{}#{{{name}}}\"`",
            name.to_uppercase()
        ))
        .acceptable(vec![vec![format!("pattern.{}", pattern.name)]]);
}

/// The attributes of a record's key for which a pattern gives values.
pub(crate) fn placed(record: Option<&Template>, asked: Option<&Template>) -> Vec<String> {
    let (Some(record), Some(asked)) = (record, asked) else {
        return Vec::new();
    };
    let count = asked.holes().count();
    record
        .holes()
        .take(count)
        .filter_map(|hole| hole.name())
        .collect()
}
