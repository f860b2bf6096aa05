//! `[limit.X]` and `[limits]`: how often a caller may do something.

use crate::check::compile::bucket::unit_seconds;
use crate::check::declare::sections::spot;
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::codes::Code;
use crate::design::rules::LimitOf;
use crate::design::{Access, AttributeId, Limit, LimitRecord};
use crate::document::{Name, Section, Text};
use crate::types::AttributeType;

/// Reads a limit; `None` after a report.
pub(crate) fn check(name: &Name, mut section: Section<'_>, symbols: &Symbols) -> Option<Limit> {
    let of = section.required_text("of", "\"create Comment\"").given();
    let of = of.and_then(|text| limited(text, symbols));
    let allow = section.required_text("allow", "\"30 per hour\"").given();
    let allow = allow.and_then(window);
    section.finish();
    let (count, window_seconds) = allow?;
    Some(Limit {
        name: name.text.clone(),
        of: of?,
        count,
        window_seconds,
    })
}

/// `create Comment`, or the name of an action.
fn limited(text: &Text, symbols: &Symbols) -> Option<LimitOf> {
    let words: Vec<&str> = text.as_str().split_whitespace().collect();
    match words.as_slice() {
        [action] if symbols.action(action).is_some() => symbols.action(action).map(LimitOf::Action),
        [access, entity] if Access::WORDS.iter().any(|(_, word)| word == access) => {
            let found = Access::WORDS.iter().find(|(_, word)| word == access);
            let (access, _) = found?;
            let (_, span) = spot(text);
            let record = symbols.resolve(&((*entity).to_owned(), span))?;
            Some(LimitOf::Access(*access, record.id))
        }
        _ => {
            let message = format!("`{}` cannot be limited", text.as_str());
            text.report_here(Code::LimitSyntax, message)
                .help("write `create Comment`, or the name of an action");
            None
        }
    }
}

/// `30 per hour`.
fn window(text: &Text) -> Option<(u64, u64)> {
    let words: Vec<&str> = text.as_str().split_whitespace().collect();
    let found = match words.as_slice() {
        [count, "per", unit] => count.parse::<u64>().ok().zip(unit_seconds(unit)),
        _ => None,
    };
    let found = found.filter(|(count, _)| *count > 0);
    if found.is_none() {
        let message = format!("`{}` is no limit", text.as_str());
        text.report_here(Code::LimitSyntax, message)
            .help("write `30 per hour`, `5 per minute`, …");
    }
    found
}

/// Reads which record keeps the windows; `None` after a report, or when there is none.
pub(crate) fn record(
    root: &mut Section<'_>,
    has_limits: bool,
    symbols: &Symbols,
) -> Option<LimitRecord> {
    let (name, _) = root.entry("limits")?;
    let mut section = root.section("limits")?;
    let entity = section.required_text("entity", "\"RateLimit\"").given();
    let found = entity.and_then(|text| symbols.resolve(&spot(text)));
    let mut attribute = |key: &str, fits: &dyn Fn(&AttributeType) -> bool, what: &str| {
        let text = section.required_text(key, &format!("\"{key}\"")).given()?;
        let record = found?;
        field(text, record, fits, what)
    };
    let is_text = |kind: &AttributeType| kind.stored_as() == Some(partita_core::Type::S);
    let is_time = |kind: &AttributeType| kind.time_form().is_some();
    let caller = attribute("caller", &is_text, "a string");
    let limit = attribute("limit", &is_text, "a string");
    let count = attribute("count", &AttributeType::is_numeric, "a number");
    let start = attribute("start", &is_time, "a time");
    let end = attribute("end", &is_time, "a time");
    section.finish();
    if !has_limits {
        let message = "there is no limit to keep windows for";
        root.report(Code::NeedlessKey, name.span, message)
            .help("write a `[limit.X]`, or leave `[limits]` out");
    }
    let record = found?;
    Some(LimitRecord {
        entity: record.id,
        caller: caller?,
        limit: limit?,
        count: count?,
        start: start?,
        end: end?,
    })
}

fn field(
    text: &Text,
    record: &DeclaredRecord,
    fits: &dyn Fn(&AttributeType) -> bool,
    what: &str,
) -> Option<AttributeId> {
    let attribute = record.resolve(text.as_str(), text.span())?;
    let kind = attribute.kind.as_ref()?;
    if !fits(kind) {
        let message = format!("`{}` is {}, not {what}", text.as_str(), kind.noun());
        text.report_here(Code::ValueType, message)
            .related(attribute.span, "declared here");
        return None;
    }
    record.attribute_id(attribute)
}
