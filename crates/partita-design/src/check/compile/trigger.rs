//! `[trigger.X]`: an event and what it causes.

use crate::check::compile::effect;
use crate::check::declare::sections::{about, spot};
use crate::check::declare::symbols::Symbols;
use crate::check::resolve::names::Names;
use crate::codes::Code;
use crate::design::{Event, EventKind, Pattern, Trigger};
use crate::document::{Field, Name, Section, Text};

/// Reads a trigger; `None` after a report.
pub(crate) fn check(
    name: &Name,
    mut section: Section<'_>,
    symbols: &Symbols,
    patterns: &[Option<Pattern>],
) -> Option<Trigger> {
    let about = about(&mut section);
    let on = section.required_text("on", "\"create Story\"").given();
    let event = on.and_then(|on| event(on, symbols));
    let event = event?;
    let names = Names::of(symbols, &symbols[event.of]);
    let turns = effect::predicate(&mut section, "turns", &names);
    if event.kind == EventKind::Delete && !turns.is_absent() {
        let span = section.key_span("turns").unwrap_or(section.span);
        let message = "nothing turns true when an item is deleted";
        section
            .report(Code::NeedlessKey, span, message)
            .help("write `when`");
    }
    let names = match &turns {
        Field::Given(turns) => names.given([turns]),
        _ => names,
    };
    let effect = effect::check(&mut section, &names, patterns);
    section.finish();
    Some(Trigger {
        id: symbols.trigger(&name.text)?,
        name: name.text.clone(),
        about,
        on: event,
        turns: turns.optional()?,
        effect: effect?,
    })
}

/// Reads `create Story`.
fn event(text: &Text, symbols: &Symbols) -> Option<Event> {
    let words: Vec<&str> = text.as_str().split_whitespace().collect();
    let [kind, entity] = words.as_slice() else {
        let message = "an event is one of `create`, `update`, `write` and `delete`, and an entity";
        text.report_here(Code::EventSyntax, message)
            .help("write `on = \"create Story\"`");
        return None;
    };
    let found = EventKind::WORDS.iter().find(|(_, known)| known == kind);
    let Some((kind, _)) = found else {
        let words = EventKind::WORDS.map(|(_, word)| word);
        let report = &text.report;
        report.unknown(Code::EventSyntax, text.span(), "event", kind, words);
        return None;
    };
    let (_, span) = spot(text);
    let record = symbols.resolve(&((*entity).to_owned(), span))?;
    Some(Event {
        of: record.id,
        kind: *kind,
    })
}
