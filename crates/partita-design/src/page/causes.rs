//! What writes and the time cause: triggers, effects of actions, schedules.

use std::fmt::Write as _;

use super::{cell, prose};
use crate::describe;
use crate::design::{Action, Design, Effect};

pub(super) fn write(design: &Design, page: &mut String) -> std::fmt::Result {
    triggers(design, page)?;
    actions(design, page)?;
    schedules(design, page)
}

fn triggers(design: &Design, page: &mut String) -> std::fmt::Result {
    if design.triggers.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "\n## Triggers\n\n| trigger | on | does |\n|---|---|---|"
    )?;
    for trigger in &design.triggers {
        let turns = trigger.turns.as_ref();
        let turns = turns.map_or(String::new(), |turns| format!(" turns `{}`", turns.text));
        let on = format!("{}{turns}", describe::event(design, &trigger.on));
        let name = named(&trigger.name, trigger.about.as_deref());
        let does = does(design, &trigger.effect);
        writeln!(page, "| {name} | {} | {} |", cell(&on), cell(&does))?;
    }
    Ok(())
}

fn actions(design: &Design, page: &mut String) -> std::fmt::Result {
    let has_effects = |action: &&Action| !action.then.is_empty();
    let mut actions = design.actions.iter().filter(has_effects).peekable();
    if actions.peek().is_some() {
        writeln!(
            page,
            "\n## Effects of actions\n\n| action | on | does besides |\n|---|---|---|"
        )?;
    }
    for action in actions {
        let records = action.on.all_records().iter();
        let records: Vec<_> = records.map(|record| &*design[*record].name).collect();
        let effects: Vec<_> = action.then.iter().map(|one| does(design, one)).collect();
        writeln!(
            page,
            "| {} | {} | {} |",
            named(&action.name, action.about.as_deref()),
            records.join(", "),
            cell(&effects.join("; "))
        )?;
    }
    Ok(())
}

fn schedules(design: &Design, page: &mut String) -> std::fmt::Result {
    if design.schedules.is_empty() {
        return Ok(());
    }
    writeln!(
        page,
        "\n## Schedules\n\nTimes are in UTC.\n\n| schedule | every | does | to each | while |\n|---|---|---|---|---|"
    )?;
    for schedule in &design.schedules {
        let when = schedule.condition();
        let when = when.map_or(String::new(), |when| format!("`{when}`"));
        let does = match schedule.action() {
            Some(action) => format!("action `{}`", design[action].name),
            None => "purge".to_owned(),
        };
        writeln!(
            page,
            "| {} | {} | {does} | {} | {} |",
            named(&schedule.name, schedule.about.as_deref()),
            schedule.every,
            design[schedule.over.record()].name,
            cell(&when)
        )?;
    }
    Ok(())
}

fn named(name: &str, about: Option<&str>) -> String {
    let about = about.map_or(String::new(), |about| format!(": {}", prose(about)));
    format!("`{name}`{}", cell(&about))
}

fn does(design: &Design, effect: &Effect) -> String {
    let each = effect.each.as_ref();
    let each = each.map_or(String::new(), |each| format!(" for each `{}`", each.name));
    let when = effect.when.as_ref();
    let when = when.map_or(String::new(), |when| format!(", when `{}`", when.text));
    let (word, target) = describe::effect(design, effect);
    format!("{word} `{target}`{each}{when}")
}
