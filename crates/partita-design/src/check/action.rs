//! `[action.X]`: a named update, and what it causes.

use super::condition;
use super::each;
use super::effect::{self, optional};
use super::names::{Meaning, Names};
use super::parameter;
use super::reference;
use super::steps;
use super::world::{Record, World};
use super::{about, spot};
use crate::codes::Code;
use crate::design::{
    Action, ActionOn, Application, Assignments, Effect, Parameter, Pattern, PatternId, RecordId,
};
use crate::diagnostic::Report;
use crate::document::section::Excuse;
use crate::document::{Content, Field, Name, Section, Text};
use crate::expression::Origin;

/// Reads an action; `None` after a report.
pub(crate) fn check(
    name: &Name,
    mut section: Section<'_>,
    world: &World,
    patterns: &[Option<Pattern>],
    report: &mut Report,
) -> Option<Action> {
    let about = about(&mut section, report);
    if section.key_span("apply").is_some() {
        return application(name, about, section, world, patterns, report);
    }
    let on = subject(&mut section, world, patterns, report)?;
    let records: Vec<&Record> = on.records().iter().map(|record| &world[*record]).collect();
    let parameters = parameter::check(&mut section, world, report);
    shadowing(&parameters, &records, &section, report);
    let first = records.first()?;
    let names = parameters
        .iter()
        .fold(Names::of(world, first), |names, parameter| {
            let meaning = Meaning::Value {
                kind: parameter.kind.attribute_type().clone(),
                optional: parameter.optional,
                origin: Origin::Parameter(parameter.name.clone()),
                stored: None,
            };
            names.with(&parameter.name, meaning)
        });
    let declared = reference::declare(section.section("refs", report), world, report);
    let refs = reference::compile(first, &names, &declared, patterns, report);
    let names = Names {
        refs: &declared,
        ..names
    };
    let require = effect::predicate(&mut section, "require", &names, report);
    let names = match &require {
        Field::Given(require) => names.given([require]),
        _ => names,
    };
    let input = input(&mut section, &records, report);
    let keys = ["set", "add", "remove"];
    let changes = effect::assignments(&mut section, &keys, &records, &names, false, report);
    let delete = section.bool("delete", report).given().unwrap_or(false);
    let then = then(&mut section, &names, patterns, report);
    let is_idle = |changes: &Assignments, then: &[Effect], input: &[String]| {
        changes.names().next().is_none() && then.is_empty() && input.is_empty() && !delete
    };
    section.finish(|_| Excuse::None, report);
    let (changes, then, input) = (changes?, then?, input?);
    if is_idle(&changes, &then, &input) {
        let message = format!("`{}` does nothing", name.text);
        report
            .add(Code::IdleAction, name.span, message)
            .help("write `set`, `add`, `input`, `delete = true`, or a `then`");
    }
    let action = Action {
        id: world.action(&name.text)?,
        name: name.text.clone(),
        about,
        on,
        input,
        parameters,
        refs: refs?,
        require: optional(require)?,
        changes,
        delete,
        then,
    };
    steps::check(world, &action, name.span, report);
    Some(action)
}

/// What the action is done to: `entity`, or `find`.
fn subject(
    section: &mut Section<'_>,
    world: &World,
    patterns: &[Option<Pattern>],
    report: &mut Report,
) -> Option<ActionOn> {
    let entity = section.texts("entity", true, report);
    let find = section.text("find", report);
    match (entity, find) {
        (Field::Given(names), Field::Absent) => {
            let found: Vec<_> = names
                .iter()
                .map(|text| world.resolve(&spot(text), report).map(|record| record.id))
                .collect();
            let records: Vec<RecordId> = found.into_iter().collect::<Option<_>>()?;
            Some(ActionOn::Items(records))
        }
        (Field::Absent, Field::Given(text)) => {
            let (id, pattern) = known_pattern(text, world, patterns, report)?;
            let [record] = pattern.returns.as_slice() else {
                return None;
            };
            if !pattern.one && !matches!(pattern.read, crate::design::Read::Get(_)) {
                let message = format!("`{}` finds more than one item", text.as_str());
                report
                    .add(Code::UnknownPattern, text.span(), message)
                    .help("use a pattern with `one = true`, or `each` with `apply`");
                return None;
            }
            Some(ActionOn::Found {
                pattern: id,
                record: *record,
            })
        }
        (Field::Absent, Field::Absent) => {
            section.missing("entity", "\"Story\"", report);
            None
        }
        (Field::Given(_), Field::Given(text)) => {
            let span = section.key_span("find").unwrap_or(text.span());
            let message = "an action has either an `entity` or a `find`";
            report
                .add(Code::NeedlessKey, span, message)
                .help("leave one of the two out");
            None
        }
        _ => None,
    }
}

fn known_pattern<'p>(
    text: &Text,
    world: &World,
    patterns: &'p [Option<Pattern>],
    report: &mut Report,
) -> Option<(PatternId, &'p Pattern)> {
    let name = text.as_str();
    let id = world.pattern(name);
    if id.is_none() {
        let known = world.patterns.iter().map(|(name, _)| name.as_str());
        let message = format!("there is no pattern `{name}`");
        report
            .add(Code::UnknownPattern, text.span(), message)
            .suggest(name, known);
    }
    Some((id?, patterns[id?.index()].as_ref()?))
}

/// A parameter under the name of an attribute would hide it.
fn shadowing(
    parameters: &[Parameter],
    records: &[&Record],
    section: &Section<'_>,
    report: &mut Report,
) {
    for parameter in parameters {
        let hidden = records
            .iter()
            .find_map(|record| record.find(&parameter.name));
        if let Some(attribute) = hidden {
            let message = format!("`{}` is an attribute already", parameter.name);
            report
                .add(Code::DuplicateName, section.span, message)
                .help("write `input = [\"…\"]` for an attribute that the caller gives")
                .related(attribute.span, "the attribute");
        }
    }
}

/// The attributes that the caller gives.
fn input(
    section: &mut Section<'_>,
    records: &[&Record],
    report: &mut Report,
) -> Option<Vec<String>> {
    let texts = match section.texts("input", false, report) {
        Field::Absent => return Some(Vec::new()),
        Field::Broken => return None,
        Field::Given(texts) => texts,
    };
    let mut names = Vec::new();
    for text in texts {
        for record in records {
            let attribute = record.resolve(text.as_str(), text.span(), report)?;
            if attribute.is_computed() || record.is_identity(&attribute.name) {
                let message = format!("`{}` cannot be given by the caller", text.as_str());
                report
                    .add(Code::NotWritable, text.span(), message)
                    .related(attribute.span, "declared here");
                return None;
            }
        }
        let first = records.first()?.find(text.as_str())?;
        names.push(first.name.clone());
    }
    Some(names)
}

fn then(
    section: &mut Section<'_>,
    names: &Names<'_>,
    patterns: &[Option<Pattern>],
    report: &mut Report,
) -> Option<Vec<Effect>> {
    let place = format!("{}.then", section.place);
    let Some((name, node)) = section.entry("then") else {
        return Some(Vec::new());
    };
    let Content::List(list) = &node.content else {
        effect::wrong_type("then", "`[[…then]]` sections", node, report);
        return None;
    };
    let mut effects = Vec::new();
    let mut is_good = true;
    for node in list {
        let Content::Table(entries) = &node.content else {
            effect::wrong_type("then", "`[[…then]]` sections", node, report);
            is_good = false;
            continue;
        };
        let span = entries.first().map_or(name.span, |(name, _)| name.span);
        let mut inner = Section::new(place.clone(), span, entries);
        match effect::check(&mut inner, names, patterns, report) {
            Some(effect) => effects.push(effect),
            None => is_good = false,
        }
        inner.finish(|_| Excuse::None, report);
    }
    is_good.then_some(effects)
}

/// `each` with `apply`: another action on every item of a pattern.
fn application(
    name: &Name,
    about: Option<String>,
    mut section: Section<'_>,
    world: &World,
    patterns: &[Option<Pattern>],
    report: &mut Report,
) -> Option<Action> {
    let apply = section.text("apply", report).given();
    let each = section
        .required_text("each", "\"item in pattern\"", report)
        .given();
    // There is no item yet: the pattern's parameters become the action's.
    let outer = Names {
        world,
        record: None,
        extra: Vec::new(),
        refs: &[],
        view: None,
        with_caller: true,
        with_old: false,
        with_refs: true,
        present: Vec::new(),
    };
    let element = each.and_then(|text| each::over_any(text, &outer, patterns, report));
    let when = section.text("when", report);
    let when = match &element {
        Some(element) => {
            let names = outer
                .clone()
                .with(&element.each.name, element.meaning.clone());
            when.and_then(|text| condition::check_at(&section.place, text, &names, report))
        }
        None => Field::Broken,
    };
    section.finish(|_| Excuse::None, report);
    let apply = apply?;
    let applied = world.action(apply.as_str());
    if applied.is_none() {
        let message = format!("there is no action `{}`", apply.as_str());
        let known = world.actions.iter().map(|(name, _)| name.as_str());
        report
            .add(Code::UnknownRef, apply.span(), message)
            .suggest(apply.as_str(), known);
        return None;
    }
    let element = element?;
    let Meaning::Item(record, _) = element.meaning else {
        let message = "an action is applied to the items of a pattern";
        report.add(Code::UnknownPattern, each?.span(), message);
        return None;
    };
    let parameters = match &element.each.over {
        crate::design::EachOver::Pattern { pattern, .. } => {
            let found = patterns[pattern.index()].as_ref();
            found.map_or_else(Vec::new, |pattern| pattern.parameters.clone())
        }
        crate::design::EachOver::List { .. } => Vec::new(),
    };
    Some(Action {
        id: world.action(&name.text)?,
        name: name.text.clone(),
        about,
        on: ActionOn::Every(Box::new(Application {
            each: element.each,
            when: optional(when)?,
            apply: applied?,
            record,
        })),
        input: Vec::new(),
        parameters,
        refs: Vec::new(),
        require: None,
        changes: Assignments::default(),
        delete: false,
        then: Vec::new(),
    })
}
