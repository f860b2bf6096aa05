//! `[trigger.X]`: an event and what it causes.

use super::effect::{self, optional};
use super::names::Names;
use super::world::World;
use super::{about, spot};
use crate::codes::Code;
use crate::design::{Event, EventKind, Pattern, Trigger};
use crate::diagnostic::Report;
use crate::document::section::Excuse;
use crate::document::{Field, Name, Section, Text};

/// Reads a trigger; `None` after a report.
pub(crate) fn check(
    name: &Name,
    mut section: Section<'_>,
    world: &World,
    patterns: &[Option<Pattern>],
    report: &mut Report,
) -> Option<Trigger> {
    let about = about(&mut section, report);
    let on = section
        .required_text("on", "\"create Story\"", report)
        .given();
    let event = on.and_then(|on| event(on, world, report));
    let event = event?;
    let names = Names::of(world, &world[event.of]);
    let turns = effect::predicate(&mut section, "turns", &names, report);
    if event.kind == EventKind::Delete && !turns.is_absent() {
        let span = section.key_span("turns").unwrap_or(section.span);
        let message = "nothing turns true when an item is deleted";
        report
            .add(Code::NeedlessKey, span, message)
            .help("write `when`");
    }
    let names = match &turns {
        Field::Given(turns) => names.given([turns]),
        _ => names,
    };
    let effect = effect::check(&mut section, &names, patterns, report);
    section.finish(|_| Excuse::None, report);
    Some(Trigger {
        id: world.trigger(&name.text)?,
        name: name.text.clone(),
        about,
        on: event,
        turns: optional(turns)?,
        effect: effect?,
    })
}

/// Reads `create Story`.
fn event(text: &Text, world: &World, report: &mut Report) -> Option<Event> {
    let words: Vec<&str> = text.as_str().split_whitespace().collect();
    let [kind, entity] = words.as_slice() else {
        let message = "an event is one of `create`, `update`, `write` and `delete`, and an entity";
        report
            .add(Code::EventSyntax, text.span(), message)
            .help("write `on = \"create Story\"`");
        return None;
    };
    let found = EventKind::WORDS.iter().find(|(_, known)| known == kind);
    let Some((kind, _)) = found else {
        let words = EventKind::WORDS.map(|(_, word)| word);
        let message = format!("there is no event `{kind}`");
        report
            .add(Code::EventSyntax, text.span(), message)
            .suggest(kind, words);
        return None;
    };
    let (_, span) = spot(text);
    let record = world.resolve(&((*entity).to_owned(), span), report)?;
    Some(Event {
        of: record.id,
        kind: *kind,
    })
}
