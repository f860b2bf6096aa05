//! `[caller]`: who callers are.

use super::names::Names;
use super::world::World;
use super::{condition, rules, spot};
use crate::codes::Code;
use crate::design::reference::CALLER;
use crate::design::{CallerSource, Callers, RecordId, Rule};
use crate::diagnostic::Report;
use crate::document::section::Excuse;
use crate::document::{Field, Section, Text};
use crate::types::AttributeType;

/// Reads who callers are; the names of entities and attributes are resolved later.
pub(crate) fn read(root: &mut Section<'_>, report: &mut Report) -> Callers {
    if root.entry("caller").is_none() {
        return Callers::default();
    }
    let Some(mut section) = root.section("caller", report) else {
        return Callers::default();
    };
    section.touch(&["type", "administrators"]);
    let roles = section.texts("roles", false, report).given();
    let mut source = |key: &str| match section.text(key, report) {
        Field::Given(text) => CallerSource::Attribute(spot(text).0),
        _ => CallerSource::Token,
    };
    let callers = Callers {
        entity: None,
        roles: roles
            .unwrap_or_default()
            .iter()
            .map(|text| spot(text).0)
            .collect(),
        role: source("role"),
        groups: source("groups"),
        administrators: Rule::default(),
    };
    section.finish(|_| Excuse::None, report);
    callers
}

/// Resolves the entity that callers are.
pub(crate) fn entity(
    root: &mut Section<'_>,
    world: &World,
    report: &mut Report,
) -> Option<RecordId> {
    let mut silent = Report::default();
    let text = root.section("caller", &mut silent)?.text("type", report);
    let found = world.resolve(&spot(text.given()?), report)?;
    Some(found.id)
}

/// Checks the attributes that describe callers, and reads who administrates.
pub(crate) fn check(root: &mut Section<'_>, world: &World, report: &mut Report) -> Rule {
    let mut silent = Report::default();
    let Some(mut section) = root.section("caller", &mut silent) else {
        return Rule::default();
    };
    let administrators = section.text("administrators", report).given();
    let entity = section.text("type", &mut silent).given();
    let record = world.callers.entity.map(|entity| &world[entity]);
    for key in ["role", "groups"] {
        let Some(text) = section.text(key, &mut silent).given() else {
            continue;
        };
        match record {
            Some(record) => attribute(key, text, record, report),
            None if entity.is_none() => {
                let message = format!("`{key}` is an attribute, but of which entity?");
                report
                    .add(Code::MissingKey, text.span(), message)
                    .help("write `type = \"User\"`: the entity that callers are");
            }
            None => {}
        }
    }
    let rule = administrators.and_then(|text| administrate(text, world, report));
    rule.unwrap_or_default()
}

/// Who administrates. There is no item that could be asked.
fn administrate(text: &Text, world: &World, report: &mut Report) -> Option<Rule> {
    if let Some(rule) = rules::word(text.as_str()) {
        return Some(rule);
    }
    let tree = condition::parse(text, report)?;
    let mut other = None;
    tree.visit_paths(&mut |path| {
        if path.root != CALLER && other.is_none() {
            other = Some((path.to_string(), text.locate(path.span)));
        }
    });
    if let Some((path, span)) = other {
        let message = format!("`{path}` is not of the caller, and there is no item here");
        report
            .add(Code::PathNotHere, span, message)
            .help("write `caller.role = 'admin'`, or `contains(caller.groups, 'admin')`");
        return None;
    }
    let names = Names::of_caller(world);
    let rule = condition::resolve(tree, text, &names, report)?;
    Some(Rule::When(Box::new(rule)))
}

fn attribute(key: &str, text: &Text, record: &super::world::Record, report: &mut Report) {
    let Some(attribute) = record.resolve(text.as_str(), text.span(), report) else {
        return;
    };
    let Some(kind) = &attribute.kind else { return };
    let is_list = matches!(kind, AttributeType::List { .. } | AttributeType::Set(_));
    let fits = match key {
        "groups" => is_list,
        _ => kind.stored_as() == Some(partita_core::Type::S),
    };
    if !fits {
        let expected = if key == "groups" {
            "a list of strings"
        } else {
            "a string"
        };
        let message = format!("`{}` is {}, not {expected}", text.as_str(), kind.noun());
        report
            .add(Code::ValueType, text.span(), message)
            .related(attribute.span, "declared here");
    }
}
