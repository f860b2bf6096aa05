//! What the planner and the store refuse, as problems.

use partita_design::Design;
use partita_design::design::{Entity, ParameterKind, View};
use partita_design::types::AttributeType;
use partita_plan::{Fault, PlanError};
use partita_store::{ErrorKind, StoreError};
use serde_json::{Value as Json, json};

use super::{Kind, Problem};
use crate::routes::Verb;

impl From<PlanError> for Problem {
    fn from(error: PlanError) -> Self {
        let detail = error.to_string();
        let problem = |kind| Problem::new(kind, detail.clone());
        match error {
            PlanError::UnknownEntity { .. }
            | PlanError::UnknownPattern { .. }
            | PlanError::UnknownAction { .. } => problem(Kind::NoRoute),
            PlanError::Invalid { faults } => {
                let faults: Vec<Json> = faults.iter().map(fault).collect();
                problem(Kind::Invalid).with("faults", faults)
            }
            PlanError::Unauthenticated { entity, .. } => {
                problem(Kind::Unauthenticated).with("entity", entity)
            }
            PlanError::Forbidden { entity, rule, .. } => {
                let problem = problem(Kind::Forbidden).with("entity", entity);
                problem.with("rule", rule)
            }
            PlanError::NotFound { entity, .. } => problem(Kind::NotFound).with("entity", entity),
            PlanError::Exists { entity } => problem(Kind::Exists).with("entity", entity),
            PlanError::StaleVersion { entity } => {
                problem(Kind::StaleVersion).with("entity", entity)
            }
            PlanError::Requires { name, rule } => {
                let problem = problem(Kind::Requirement).with("name", name);
                problem.with("rule", rule)
            }
            PlanError::InUse { entity, by, .. } => {
                problem(Kind::InUse).with("entity", entity).with("by", by)
            }
            PlanError::TooMuch { .. } | PlanError::TooDeep => problem(Kind::TooMuch),
            PlanError::StillRemoved { entity } => {
                problem(Kind::StillRemoved).with("entity", entity)
            }
            PlanError::KeyReused => problem(Kind::KeyReused),
            PlanError::LimitReached {
                limit,
                wait_seconds,
                ..
            } => {
                let problem = problem(Kind::LimitReached).with("limit", limit);
                problem.with("wait", wait_seconds)
            }
            PlanError::NotDeleted { entity } => problem(Kind::NotDeleted).with("entity", entity),
            PlanError::NotRestorable { entity } => {
                problem(Kind::NotRestorable).with("entity", entity)
            }
            PlanError::TooLarge { pattern, .. } => problem(Kind::TooLarge).with("pattern", pattern),
            PlanError::BadCursor => problem(Kind::BadCursor),
            PlanError::Conflict => problem(Kind::Conflict),
            PlanError::OutcomeUnknown => problem(Kind::OutcomeUnknown).with("outcome", "unknown"),
            PlanError::Store(error) => store_problem(&error),
            _ => Problem::internal(),
        }
    }
}

fn fault(fault: &Fault) -> Json {
    json!({ "attribute": fault.attribute, "detail": fault.message })
}

/// What the store says is for the log, except where the request itself is at fault.
fn store_problem(error: &StoreError) -> Problem {
    let (kind, detail) = match error.kind() {
        ErrorKind::FixRequest => (Kind::RefusedByStore, error.to_string()),
        ErrorKind::Retry => (Kind::Throttled, "try again in a moment".to_owned()),
        ErrorKind::Corrupt => (Kind::Corrupt, "the server's log says where".to_owned()),
        _ => {
            let detail = "the server's log says why; nothing was changed";
            (Kind::Unavailable, detail.to_owned())
        }
    };
    Problem::new(kind, detail)
}

impl Problem {
    /// Says what a request was about, and what the design asks of the attributes at fault.
    #[must_use]
    pub fn about(mut self, design: &Design, verb: &Verb) -> Self {
        let asked = Asked::of(design, verb);
        if let (Some(name), false) = (asked.name(), self.members.contains_key("entity")) {
            self = self.with("entity", name);
        }
        let Some(Json::Array(faults)) = self.members.get_mut("faults") else {
            return self;
        };
        for fault in faults {
            let name = fault["attribute"].as_str().unwrap_or_default();
            if let Some(rule) = asked.rule(name) {
                fault["rule"] = rule.into();
            }
        }
        self
    }
}

/// Where the names of a request come from.
#[derive(Default)]
struct Asked<'d> {
    entity: Option<&'d Entity>,
    view: Option<&'d View>,
    /// Of the action or the pattern.
    parameters: &'d [partita_design::design::Parameter],
}

impl<'d> Asked<'d> {
    fn of(design: &'d Design, verb: &Verb) -> Self {
        let mut asked = Asked::default();
        match verb {
            Verb::Create { entity }
            | Verb::Get { entity }
            | Verb::Update { entity }
            | Verb::Delete { entity }
            | Verb::Restore { entity } => asked.entity = design.entity(entity),
            Verb::Act { action, on } => {
                let name = on.as_ref().map(|record| record.as_str());
                asked.entity = name.and_then(|name| design.entity(name));
                asked.view = name.and_then(|name| design.view(name));
                let action = design.action(action);
                asked.parameters = action.map_or(&[], |action| &action.parameters);
            }
            Verb::Query { pattern } => {
                let pattern = design.pattern(pattern);
                asked.parameters = pattern.map_or(&[], |pattern| &pattern.parameters);
            }
        }
        asked
    }

    fn name(&self) -> Option<&'d str> {
        let entity = self.entity.map(|entity| entity.name.as_str());
        entity.or(self.view.map(|view| view.name.as_str()))
    }

    /// What the design asks of the attribute or parameter of that name: `tags[3]` is an element
    /// of `tags`.
    fn rule(&self, name: &str) -> Option<String> {
        let name = name.split('[').next().unwrap_or(name);
        let mut parameters = self.parameters.iter();
        if let Some(parameter) = parameters.find(|one| one.name == name) {
            let kind = parameter.kind.attribute_type().describe();
            return Some(match parameter.kind {
                ParameterKind::Value(_) => kind,
                ParameterKind::PrefixOf(_) => format!("the beginning of {kind}"),
            });
        }
        let attribute = self.entity.and_then(|entity| entity.attribute(name));
        attribute.map(|attribute| AttributeType::describe(&attribute.kind))
    }
}
