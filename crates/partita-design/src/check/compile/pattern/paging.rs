//! How a result is ordered and cut into pages.

use partita_core::Type;
use partita_core::expression::Span;

use crate::check::all;
use crate::check::declare::symbols::DeclaredRecord;
use crate::codes::Code;
use crate::design::{LIMIT_DEFAULT, LIMIT_MAX, SortOrder, WHOLE_MAX};
use crate::document::{Section, Text};

/// The keys of a pattern that are about order and pages.
pub(super) struct Paging {
    pub(super) whole: Option<usize>,
    pub(super) descending: bool,
    pub(super) limit: usize,
}

/// Reads `whole`, `limit` and `order`; `None` after a report.
pub(super) fn read(section: &mut Section<'_>) -> Option<Paging> {
    let whole = section.integer("whole", 1..=WHOLE_MAX);
    let limit = section.integer("limit", 1..=LIMIT_MAX);
    let order = section.text("order").and_then(descending);
    let is_get = section.key_span("get").is_some();
    let is_one = is_get || section.key_span("one").is_some();
    for (key, span, why) in needless(section, is_get, is_one) {
        let message = format!("`{key}` has no effect, because {why}");
        section
            .report(Code::NeedlessKey, span, message)
            .help(format!("leave `{key}` out"));
    }
    let sort = section.key_span("sort").filter(|_| !is_one);
    if let Some(span) = sort.filter(|_| whole.is_absent()) {
        let message = "a result can be ordered only when all of it is read";
        section
            .report(Code::SortWithoutWhole, span, message)
            .help("write `whole = 1000`: how many items are read at most");
    }
    let limit_default = if is_one { 1 } else { LIMIT_DEFAULT };
    Some(Paging {
        whole: whole.optional()?,
        descending: order.optional()?.unwrap_or(false),
        limit: limit.optional()?.unwrap_or(limit_default),
    })
}

fn descending(order: &Text) -> Option<bool> {
    match order.as_str() {
        "ascending" => Some(false),
        "descending" => Some(true),
        _ => {
            order.unknown(Code::UnknownWord, "order", ["ascending", "descending"]);
            None
        }
    }
}

/// The keys that have no effect beside the others, and why.
fn needless(
    section: &Section<'_>,
    is_get: bool,
    is_one: bool,
) -> Vec<(&'static str, Span, &'static str)> {
    let has_sort = section.key_span("sort").is_some();
    let keys: &[(&str, &str)] = match (is_one, has_sort) {
        (true, _) => &[
            ("sort", "there is one item"),
            ("order", "there is one item"),
            ("limit", "there is one item"),
            // One row may have to be looked for among many.
            ("whole", "a `get` reads one item"),
        ][..if is_get { 4 } else { 3 }],
        (false, true) => &[("order", "`sort` gives the order")],
        (false, false) => &[("whole", "there is no `sort`")],
    };
    keys.iter()
        .filter_map(|(key, why)| Some((*key, section.key_span(key)?, *why)))
        .collect()
}

/// The attributes that order the result; `None` after a report.
pub(super) fn sort(names: &[&Text], records: &[&DeclaredRecord]) -> Option<Vec<SortOrder>> {
    all(names.iter().map(|text| sort_attribute(text, records)))
}

/// The one name under which all the records store the attribute.
fn sort_attribute(text: &Text, records: &[&DeclaredRecord]) -> Option<SortOrder> {
    let span = text.span();
    let descending = text.as_str().starts_with('-');
    let name = text.as_str().trim_start_matches('-');
    let mut stored: Option<&str> = None;
    for record in records {
        let attribute = record.resolve_used(name, span)?;
        let kind = attribute.kind.as_ref()?;
        if !matches!(kind.stored_as(), Some(Type::S | Type::N)) {
            let message = format!("`{name}` is {}, which has no order", kind.noun());
            text.report(Code::SortType, span, message)
                .help("order by a `string`, `ulid`, `timestamp` or `number`")
                .related(attribute.span, "declared here");
            return None;
        }
        let first = *stored.get_or_insert(&attribute.name);
        if first != attribute.name {
            let message = format!(
                "`{name}` is `{first}` in one record and `{}` in another",
                attribute.name
            );
            text.report(Code::UnknownAttribute, span, message);
            return None;
        }
    }
    Some(SortOrder {
        attribute: stored?.to_owned(),
        descending,
    })
}
