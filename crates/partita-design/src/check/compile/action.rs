//! `[action.X]`: a named update, and what it causes.

use crate::check::compile::{effect, parameter, reference, steps};
use crate::check::declare;
use crate::check::declare::sections::{about, spot};
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::check::resolve::names::{Meaning, Names};
use crate::check::resolve::{condition, each};
use crate::codes::Code;
use crate::design::{
    Action, ActionOn, Application, Assignments, Effect, Parameter, Pattern, RecordId,
};
use crate::document::{Content, Field, Name, Section};
use crate::expression::Origin;

/// Reads an action; `None` after a report.
pub(crate) fn check(
    name: &Name,
    mut section: Section<'_>,
    symbols: &Symbols,
    patterns: &[Option<Pattern>],
) -> Option<Action> {
    let about = about(&mut section);
    if section.key_span("apply").is_some() {
        return application(name, about, section, symbols, patterns);
    }
    let on = subject(&mut section, symbols, patterns)?;
    let records: Vec<&DeclaredRecord> = on
        .records()
        .iter()
        .map(|record| &symbols[*record])
        .collect();
    let parameters = parameter::check(&mut section, symbols);
    shadowing(&parameters, &records, &mut section);
    let first = records.first()?;
    let names = parameters
        .iter()
        .fold(Names::of(symbols, first), |names, parameter| {
            let meaning = Meaning::Value {
                kind: parameter.kind.attribute_type().clone(),
                optional: parameter.optional,
                origin: Origin::Parameter(parameter.name.clone()),
                stored: None,
            };
            names.with(&parameter.name, meaning)
        });
    let declared = declare::reference::declare(section.section("refs"), symbols);
    let refs = reference::compile(first, &names, &declared, patterns);
    let names = Names {
        refs: &declared,
        ..names
    };
    let require = effect::predicate(&mut section, "require", &names);
    let names = match &require {
        Field::Given(require) => names.given([require]),
        _ => names,
    };
    let input = input(&mut section, &records);
    let keys = ["set", "add", "remove"];
    let changes = effect::assignments(&mut section, &keys, &records, &names, false);
    let delete = section.bool("delete").given().unwrap_or(false);
    let then = then(&mut section, &names, patterns);
    let is_idle = |changes: &Assignments, then: &[Effect], input: &[String]| {
        changes.names().next().is_none() && then.is_empty() && input.is_empty() && !delete
    };
    section.finish();
    let (changes, then, input) = (changes?, then?, input?);
    if is_idle(&changes, &then, &input) {
        let message = format!("`{}` does nothing", name.text);
        section
            .report(Code::IdleAction, name.span, message)
            .help("write `set`, `add`, `input`, `delete = true`, or a `then`");
    }
    let action = Action {
        id: symbols.action(&name.text)?,
        name: name.text.clone(),
        about,
        on,
        input,
        parameters,
        refs: refs?,
        require: require.optional()?,
        changes,
        delete,
        then,
    };
    steps::check(symbols, &action, name.span);
    Some(action)
}

/// What the action is done to: `entity`, or `find`.
fn subject(
    section: &mut Section<'_>,
    symbols: &Symbols,
    patterns: &[Option<Pattern>],
) -> Option<ActionOn> {
    let entity = section.texts("entity", true);
    let find = section.text("find");
    match (entity, find) {
        (Field::Given(names), Field::Absent) => {
            let found: Vec<_> = names
                .iter()
                .map(|text| symbols.resolve(&spot(text)).map(|record| record.id))
                .collect();
            let records: Vec<RecordId> = found.into_iter().collect::<Option<_>>()?;
            Some(ActionOn::Items(records))
        }
        (Field::Absent, Field::Given(text)) => {
            let id = symbols.known_pattern(&spot(text))?;
            let pattern = patterns[id.index()].as_ref()?;
            let [record] = pattern.returns.as_slice() else {
                return None;
            };
            if !pattern.one && !matches!(pattern.read, crate::design::Read::Get(_)) {
                let message = format!("`{}` finds more than one item", text.as_str());
                section
                    .report(Code::UnknownPattern, text.span(), message)
                    .help("use a pattern with `one = true`, or `each` with `apply`");
                return None;
            }
            Some(ActionOn::Found {
                pattern: id,
                record: *record,
            })
        }
        (Field::Absent, Field::Absent) => {
            section.missing("entity", "\"Story\"");
            None
        }
        (Field::Given(_), Field::Given(text)) => {
            let span = section.key_span("find").unwrap_or(text.span());
            let message = "an action has either an `entity` or a `find`";
            section
                .report(Code::NeedlessKey, span, message)
                .help("leave one of the two out");
            None
        }
        _ => None,
    }
}

/// A parameter under the name of an attribute would hide it.
fn shadowing(parameters: &[Parameter], records: &[&DeclaredRecord], section: &mut Section<'_>) {
    for parameter in parameters {
        let hidden = records
            .iter()
            .find_map(|record| record.find(&parameter.name));
        if let Some(attribute) = hidden {
            let message = format!("`{}` is an attribute already", parameter.name);
            let params = section.section("params");
            let span = params.and_then(|params| params.key_span(&parameter.name));
            section
                .report(Code::DuplicateName, span.unwrap_or(section.span), message)
                .help("write `input = [\"…\"]` for an attribute that the caller gives")
                .related(attribute.span, "the attribute");
        }
    }
}

/// The attributes that the caller gives.
fn input(section: &mut Section<'_>, records: &[&DeclaredRecord]) -> Option<Vec<String>> {
    let texts = match section.texts("input", false) {
        Field::Absent => return Some(Vec::new()),
        Field::Broken => return None,
        Field::Given(texts) => texts,
    };
    let mut names = Vec::new();
    for text in texts {
        for record in records {
            let attribute = record.resolve_used(text.as_str(), text.span())?;
            if attribute.is_computed() || record.is_identity(&attribute.name) {
                let message = format!("`{}` cannot be given by the caller", text.as_str());
                section
                    .report(Code::NotWritable, text.span(), message)
                    .related(attribute.span, "declared here");
                return None;
            }
        }
        let first = records.first()?.find(text.as_str())?;
        names.push(first.name.clone());
    }
    Some(names)
}

/// Reads the effects of `then`; `None` after a report.
pub(crate) fn then(
    section: &mut Section<'_>,
    names: &Names<'_>,
    patterns: &[Option<Pattern>],
) -> Option<Vec<Effect>> {
    let place = format!("{}.then", section.place);
    let Some((name, node)) = section.entry("then") else {
        return Some(Vec::new());
    };
    let Content::List(list) = &node.content else {
        node.refuse("then", "`[[…then]]` sections");
        return None;
    };
    let mut effects = Vec::new();
    let mut is_good = true;
    for node in list {
        let Content::Table(entries) = &node.content else {
            node.refuse("then", "`[[…then]]` sections");
            is_good = false;
            continue;
        };
        let span = entries.first().map_or(name.span, |(name, _)| name.span);
        let mut inner = Section::new(place.clone(), span, entries, &node.report);
        match effect::check(&mut inner, names, patterns) {
            Some(effect) => effects.push(effect),
            None => is_good = false,
        }
        inner.finish();
    }
    is_good.then_some(effects)
}

/// `each` with `apply`: another action on every item of a pattern.
fn application(
    name: &Name,
    about: Option<String>,
    mut section: Section<'_>,
    symbols: &Symbols,
    patterns: &[Option<Pattern>],
) -> Option<Action> {
    let apply = section.text("apply").given();
    let each = section.required_text("each", "\"item in pattern\"").given();
    // There is no item yet: the pattern's parameters become the action's.
    let outer = Names::of_nothing(symbols);
    let element = each.and_then(|text| each::over_any(text, &outer, patterns));
    let when = section.text("when");
    let when = match &element {
        Some(element) => {
            let names = outer
                .clone()
                .with(&element.each.name, element.meaning.clone());
            when.and_then(|text| condition::check_at(&section.place, text, &names))
        }
        None => Field::Broken,
    };
    section.finish();
    let apply = apply?;
    let applied = symbols.action(apply.as_str());
    if applied.is_none() {
        let known = symbols.actions.iter().map(|(name, _)| name.as_str());
        apply.unknown(Code::UnknownRef, "action", known);
        return None;
    }
    let element = element?;
    let Meaning::Item(record, _) = element.meaning else {
        let message = "an action is applied to the items of a pattern";
        section.report(Code::UnknownPattern, each?.span(), message);
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
        id: symbols.action(&name.text)?,
        name: name.text.clone(),
        about,
        on: ActionOn::Every(Box::new(Application {
            each: element.each,
            when: when.optional()?,
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
