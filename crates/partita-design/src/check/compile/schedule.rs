//! `[schedule.X]`: an action that is done to items once in every period.

use crate::check::compile::effect;
use crate::check::declare::sections::{about, spot};
use crate::check::declare::symbols::Symbols;
use crate::check::resolve::names::Names;
use crate::codes::Code;
use crate::design::{
    Action, ActionId, Chore, Every, Pattern, Read, Record, RecordId, Schedule, ScheduleOver,
};
use crate::document::{Field, Name, Section, Text};

/// Reads a schedule; `None` after a report.
pub(crate) fn check(
    name: &Name,
    mut section: Section<'_>,
    symbols: &Symbols,
    patterns: &[Option<Pattern>],
    actions: &[Option<Action>],
) -> Option<Schedule> {
    let about = about(&mut section);
    let every = section.required_text("every", "\"day at 08:00\"").given();
    let every = every.and_then(period);
    let over = over(&mut section, symbols, patterns);
    let when = match over {
        Some(over) => {
            let names = Names::of(symbols, &symbols[over.record()]);
            effect::predicate(&mut section, "when", &names)
        }
        None => {
            section.touch(&["when"]);
            Field::Absent
        }
    };
    let apply = section.required_text("apply", "\"remind\"").given();
    let apply = apply.and_then(|text| applied(text, over?.record(), symbols, actions));
    section.finish();
    Some(Schedule {
        name: name.text.clone(),
        about,
        every: every?,
        over: over?,
        when: when.optional()?,
        does: Chore::Apply(apply?),
    })
}

/// The schedules by which deleted items go for good when they are old enough.
pub(crate) fn purges(records: &[Record]) -> impl Iterator<Item = Schedule> {
    let aged = records
        .iter()
        .filter_map(|entity| Some((entity, entity.purge_after_days?)));
    aged.map(|(entity, days)| Schedule::purge(entity, days))
}

fn period(text: &Text) -> Option<Every> {
    let every = Every::parse(text.as_str());
    if every.is_none() {
        let message = format!("`{}` is no period", text.as_str());
        text.report_here(Code::ScheduleSyntax, message).help(
            "write `hour at :15`, `day at 08:00`, `week on monday at 08:00` or `month on 1 at 08:00`",
        );
    }
    every
}

/// The items that it goes over: `entity`, or `pattern`.
fn over(
    section: &mut Section<'_>,
    symbols: &Symbols,
    patterns: &[Option<Pattern>],
) -> Option<ScheduleOver> {
    match (section.text("entity"), section.text("pattern")) {
        (Field::Given(text), Field::Absent) => {
            let record = symbols.resolve(&spot(text))?;
            if record.view.is_some() {
                let message = format!("`{}` is a view, which follows its source", text.as_str());
                text.report_here(Code::EffectTarget, message);
                return None;
            }
            Some(ScheduleOver::Entity(record.id))
        }
        (Field::Absent, Field::Given(text)) => {
            let id = symbols.known_pattern(&spot(text))?;
            let pattern = patterns[id.index()].as_ref()?;
            let record = found_by(pattern, symbols);
            if record.is_none() {
                let message = format!("`{}` does not list the items of one entity", text.as_str());
                text.report_here(Code::UnknownPattern, message)
                    .help("use a pattern without parameters and `follow`, or `entity`");
            }
            let record = record?;
            let pattern = id;
            Some(ScheduleOver::Pattern { pattern, record })
        }
        (Field::Absent, Field::Absent) => {
            section.missing("entity", "\"User\"");
            None
        }
        (Field::Given(_), Field::Given(text)) => {
            text.report_here(
                Code::NeedlessKey,
                "a schedule has an `entity` or a `pattern`",
            )
            .help("leave one of the two out");
            None
        }
        _ => None,
    }
}

fn found_by(pattern: &Pattern, symbols: &Symbols) -> Option<RecordId> {
    let [record] = pattern.returns.as_slice() else {
        return None;
    };
    let is_list = matches!(pattern.read, Read::Query(_)) && pattern.follow.is_none();
    let is_entity = symbols[*record].view.is_none();
    (is_list && is_entity && pattern.parameters.is_empty()).then_some(*record)
}

/// The action, which must be one on such items and take nothing.
fn applied(
    text: &Text,
    record: RecordId,
    symbols: &Symbols,
    actions: &[Option<Action>],
) -> Option<ActionId> {
    let Some(id) = symbols.action(text.as_str()) else {
        let known = symbols.actions.iter().map(|(name, _)| name.as_str());
        text.unknown(Code::UnknownRef, "action", known);
        return None;
    };
    let action = actions[id.index()].as_ref()?;
    if !action.on.records().contains(&record) {
        let title = symbols[record].title();
        let message = format!("`{}` is no action on `{title}`", text.as_str());
        text.report_here(Code::EffectTarget, message);
        return None;
    }
    let mut needed = action.parameters.iter().filter(|one| !one.optional);
    let needed = needed.next().map(|one| one.name.as_str());
    if let Some(needed) = needed.or(action.input.first().map(String::as_str)) {
        let message = format!("`{}` needs `{needed}`, which nothing gives", text.as_str());
        text.report_here(Code::MissingInput, message)
            .help("apply an action that takes nothing");
        return None;
    }
    Some(id)
}
