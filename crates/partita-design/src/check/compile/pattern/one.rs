//! `one = true`: whether the keys of a pattern lead to one item.

use partita_core::expression::Span;

use crate::check::declare::key::Key;
use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::{Pattern, Read, SortRange};
use crate::template::Template;

/// The attributes whose values the keys of a pattern give, and whether they are those of one item.
struct Given {
    names: Vec<String>,
    is_one: bool,
}

/// What a query knows of its only record; nothing where it may find several, or reads no keys of it.
fn given(symbols: &Symbols, pattern: &Pattern) -> Option<Given> {
    let (Read::Query(query), [record]) = (&pattern.read, pattern.returns.as_slice()) else {
        return None;
    };
    let record = &symbols[*record];
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
    let is_guarded = record.is_guarded(|name| names.iter().any(|known| known == name));
    let is_whole = identity.iter().all(|part| names.contains(&part.attribute));
    let is_one = is_guarded || is_whole || names.iter().any(is_id);
    Some(Given { names, is_one })
}

/// Whether a pattern of one can find more than one item, or has to look for it among others.
pub(super) fn check(symbols: &Symbols, pattern: &Pattern, span: Span) {
    let given = given(symbols, pattern);
    let is_one = given.as_ref().is_some_and(|given| given.is_one);
    match (is_one, pattern.filter.is_some(), pattern.whole) {
        (false, true, None) => {
            let message = "no key leads to this one item: everything that the keys find is read until the filter holds";
            symbols.report(Code::OneWithoutWhole, span, message).help(
                "give the whole key, or that of an index; or write `whole = 1000`: how many items are read at most",
            );
        }
        (true, _, Some(_)) | (_, false, Some(_)) => {
            let message = "`whole` has no effect, because nothing is looked for with a filter";
            symbols
                .report(Code::NeedlessKey, span, message)
                .help("leave `whole` out");
        }
        _ => {}
    }
    let is_index = matches!(&pattern.read, Read::Query(query) if query.index.is_some());
    let Some(given) = given.filter(|given| is_index && !given.is_one) else {
        return;
    };
    let title = pattern
        .returns
        .first()
        .map_or("", |record| symbols[*record].title());
    let message =
        format!("nothing keeps two `{title}` from having these keys: an index has no unique keys");
    let name = given.names.last().map_or("email", String::as_str);
    symbols
        .report(Code::NotUnique, span, message)
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
