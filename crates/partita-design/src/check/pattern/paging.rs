//! How a result is ordered and cut into pages.

use partita_core::expression::Span;

use super::super::key::Record;
use super::super::noun;
use crate::codes::Code;
use crate::design::{LIMIT_DEFAULT, LIMIT_MAX, WHOLE_MAX};
use crate::diagnostic::Report;
use crate::document::{Field, Section, Text};
use crate::types::AttributeType;

/// The keys of a pattern that are about order and pages.
pub(super) struct Paging {
    pub(super) whole: Option<usize>,
    pub(super) descending: bool,
    pub(super) limit: usize,
}

/// Reads `whole`, `limit` and `order`; `None` after a report.
pub(super) fn read(section: &mut Section<'_>, report: &mut Report) -> Option<Paging> {
    let whole = section.integer("whole", 1..=WHOLE_MAX, report);
    let limit = section.integer("limit", 1..=LIMIT_MAX, report);
    let order = section.text("order", report);
    let order = order.and_then(|order| descending(order, report));
    let is_get = section.key_span("get").is_some();
    for (key, span, why) in needless(section, is_get) {
        let message = format!("`{key}` has no effect, because {why}");
        report
            .add(Code::NeedlessKey, span, message)
            .help(format!("leave `{key}` out"));
    }
    let sort = section.key_span("sort").filter(|_| !is_get);
    if let Some(span) = sort.filter(|_| whole.is_absent()) {
        let message = "a result can be ordered only when all of it is read";
        report
            .add(Code::SortWithoutWhole, span, message)
            .help("write `whole = 1000`: how many items are read at most");
    }
    let limit_default = if is_get { 1 } else { LIMIT_DEFAULT };
    Some(Paging {
        whole: optional(whole)?,
        descending: optional(order)?.unwrap_or(false),
        limit: optional(limit)?.unwrap_or(limit_default),
    })
}

fn descending(order: &Text, report: &mut Report) -> Option<bool> {
    match order.as_str() {
        "ascending" => Some(false),
        "descending" => Some(true),
        word => {
            report
                .add(
                    Code::UnknownWord,
                    order.span(),
                    format!("there is no order `{word}`"),
                )
                .suggest(word, ["ascending", "descending"]);
            None
        }
    }
}

/// The keys that have no effect beside the others, and why.
fn needless(section: &Section<'_>, is_get: bool) -> Vec<(&'static str, Span, &'static str)> {
    let has_sort = section.key_span("sort").is_some();
    let keys: &[(&str, &str)] = match (is_get, has_sort) {
        (true, _) => &[
            ("sort", "a `get` finds one item"),
            ("whole", "a `get` finds one item"),
            ("order", "a `get` finds one item"),
            ("limit", "a `get` finds one item"),
        ],
        (false, true) => &[("order", "`sort` gives the order")],
        (false, false) => &[("whole", "there is no `sort`")],
    };
    keys.iter()
        .filter_map(|(key, why)| Some((*key, section.key_span(key)?, *why)))
        .collect()
}

/// The value if it is there; `None` after a report.
fn optional<T>(field: Field<T>) -> Option<Option<T>> {
    match field {
        Field::Absent => Some(None),
        Field::Broken => None,
        Field::Given(value) => Some(Some(value)),
    }
}

/// The stored names of the attributes that order the result; `None` after a report.
pub(super) fn sort(
    names: &[&Text],
    records: &[&Record<'_>],
    report: &mut Report,
) -> Option<Vec<String>> {
    let stored: Vec<_> = names
        .iter()
        .map(|text| sort_attribute(text, records, report))
        .collect();
    stored.into_iter().collect()
}

/// The one name under which all the records store the attribute.
fn sort_attribute(text: &Text, records: &[&Record<'_>], report: &mut Report) -> Option<String> {
    let (name, span) = (text.as_str(), text.span());
    if name.starts_with('-') {
        report.not_supported(span, "an order from the largest to the smallest");
        return None;
    }
    let mut stored: Option<&str> = None;
    for record in records {
        let attribute = record.scope?.resolve(name, span, report)?;
        let kind = attribute.kind.as_ref()?;
        if matches!(
            kind,
            AttributeType::Bool | AttributeType::List(_) | AttributeType::Any
        ) {
            let message = format!("`{name}` is {}, which has no order", noun(kind));
            report
                .add(Code::SortType, span, message)
                .help("order by a `string`, `ulid`, `timestamp` or `number`")
                .related(attribute.span, "declared here");
            return None;
        }
        if !record.has(&attribute.name) {
            let message = format!("`{}` does not keep `{name}`", record.place);
            report
                .add(Code::UnknownAttribute, span, message)
                .help(format!("add \"{name}\" to its `keep`"));
            return None;
        }
        let first = *stored.get_or_insert(&attribute.name);
        if first != attribute.name {
            let message = format!(
                "`{name}` is `{first}` in one record and `{}` in another",
                attribute.name
            );
            report.add(Code::UnknownAttribute, span, message);
            return None;
        }
    }
    stored.map(str::to_owned)
}
