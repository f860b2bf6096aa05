//! `[limit.X]` and `[limits]`: how often a caller may do something.

use super::bucket::unit_seconds;
use super::spot;
use super::world::{Record, World};
use crate::codes::Code;
use crate::design::rules::LimitOf;
use crate::design::{Access, Limit, LimitRecord};
use crate::diagnostic::Report;
use crate::document::section::Excuse;
use crate::document::{Name, Section, Text};
use crate::types::AttributeType;

/// Reads a limit; `None` after a report.
pub(crate) fn check(
    name: &Name,
    mut section: Section<'_>,
    world: &World,
    report: &mut Report,
) -> Option<Limit> {
    let of = section
        .required_text("of", "\"create Comment\"", report)
        .given();
    let of = of.and_then(|text| limited(text, world, report));
    let allow = section
        .required_text("allow", "\"30 per hour\"", report)
        .given();
    let allow = allow.and_then(|text| window(text, report));
    section.finish(|_| Excuse::None, report);
    let (count, window_seconds) = allow?;
    Some(Limit {
        name: name.text.clone(),
        of: of?,
        count,
        window_seconds,
    })
}

/// `create Comment`, or the name of an action.
fn limited(text: &Text, world: &World, report: &mut Report) -> Option<LimitOf> {
    let words: Vec<&str> = text.as_str().split_whitespace().collect();
    match words.as_slice() {
        [action] if world.action(action).is_some() => world.action(action).map(LimitOf::Action),
        [access, entity] if Access::WORDS.iter().any(|(_, word)| word == access) => {
            let found = Access::WORDS.iter().find(|(_, word)| word == access);
            let (access, _) = found?;
            let (_, span) = spot(text);
            let record = world.resolve(&((*entity).to_owned(), span), report)?;
            Some(LimitOf::Access(*access, record.id))
        }
        _ => {
            let message = format!("`{}` cannot be limited", text.as_str());
            report
                .add(Code::LimitSyntax, text.span(), message)
                .help("write `create Comment`, or the name of an action");
            None
        }
    }
}

/// `30 per hour`.
fn window(text: &Text, report: &mut Report) -> Option<(u64, u64)> {
    let words: Vec<&str> = text.as_str().split_whitespace().collect();
    let found = match words.as_slice() {
        [count, "per", unit] => count.parse::<u64>().ok().zip(unit_seconds(unit)),
        _ => None,
    };
    let found = found.filter(|(count, _)| *count > 0);
    if found.is_none() {
        let message = format!("`{}` is no limit", text.as_str());
        report
            .add(Code::LimitSyntax, text.span(), message)
            .help("write `30 per hour`, `5 per minute`, …");
    }
    found
}

/// Reads which record keeps the windows; `None` after a report, or when there is none.
pub(crate) fn record(
    root: &mut Section<'_>,
    has_limits: bool,
    world: &World,
    report: &mut Report,
) -> Option<LimitRecord> {
    let (name, _) = root.entry("limits")?;
    let mut section = root.section("limits", report)?;
    let entity = section
        .required_text("entity", "\"RateLimit\"", report)
        .given();
    let found = entity.and_then(|text| world.resolve(&spot(text), report));
    let mut attribute = |key: &str, fits: &dyn Fn(&AttributeType) -> bool, what: &str| {
        let text = section
            .required_text(key, &format!("\"{key}\""), report)
            .given()?;
        let record = found?;
        field(text, record, fits, what, report)
    };
    let is_text = |kind: &AttributeType| kind.stored_as() == Some(partita_core::Type::S);
    let is_time = |kind: &AttributeType| kind.time_form().is_some();
    let caller = attribute("caller", &is_text, "a string");
    let limit = attribute("limit", &is_text, "a string");
    let count = attribute("count", &AttributeType::is_numeric, "a number");
    let start = attribute("start", &is_time, "a time");
    let end = attribute("end", &is_time, "a time");
    section.finish(|_| Excuse::None, report);
    if !has_limits {
        let message = "there is no limit to keep windows for";
        report
            .add(Code::NeedlessKey, name.span, message)
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
    record: &Record,
    fits: &dyn Fn(&AttributeType) -> bool,
    what: &str,
    report: &mut Report,
) -> Option<String> {
    let attribute = record.resolve(text.as_str(), text.span(), report)?;
    let kind = attribute.kind.as_ref()?;
    if !fits(kind) {
        let message = format!("`{}` is {}, not {what}", text.as_str(), kind.noun());
        report
            .add(Code::ValueType, text.span(), message)
            .related(attribute.span, "declared here");
        return None;
    }
    Some(attribute.name.clone())
}
