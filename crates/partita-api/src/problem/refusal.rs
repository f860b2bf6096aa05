//! What the planner and the store refuse, as problems.

use partita_design::Design;
use partita_plan::{FAULTS_MAX, Fault, PlanError};
use partita_store::{ErrorKind, StoreError};
use serde_json::{Value as Json, json};

use super::{Kind, Problem};
use crate::decode::conditions::Conditions;
use crate::routes::Verb;

impl From<PlanError> for Problem {
    fn from(error: PlanError) -> Self {
        let detail = error.to_string();
        let problem = |kind| Problem::new(kind, detail.clone());
        match error {
            PlanError::UnknownEntity { .. }
            | PlanError::UnknownPattern { .. }
            | PlanError::UnknownAction { .. }
            | PlanError::UnknownPrefix { .. } => problem(Kind::NoRoute),
            PlanError::Objects(_) => {
                let detail = "the server's log says why; nothing was changed";
                Problem::new(Kind::FilesUnavailable, detail)
            }
            PlanError::Invalid { faults } => {
                let faults = faults.iter().take(FAULTS_MAX);
                let faults: Vec<Json> = faults.map(fault).collect();
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
            PlanError::Taken { faults } => {
                let faults: Vec<Json> = faults.iter().map(fault).collect();
                problem(Kind::Taken).with("faults", faults)
            }
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
            PlanError::BatchTooLarge { actions } => problem(Kind::TooMuch).with("actions", actions),
            PlanError::BatchSize { count } => problem(Kind::TooMuch).with("operations", count),
            PlanError::ReadInBatch => problem(Kind::BadRequest),
            PlanError::Batch { refusals } => {
                let problems = refusals.into_iter();
                let problems = problems.map(|refused| (refused.position, refused.error.into()));
                Problem::of_batch(problems.collect())
            }
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
            PlanError::TooManyKeys { wait_seconds } => {
                problem(Kind::TooManyKeys).with("wait", wait_seconds)
            }
            PlanError::TooManyUploads { wait_seconds, .. } => {
                problem(Kind::TooManyUploads).with("wait", wait_seconds)
            }
            PlanError::NotDeleted { entity } => problem(Kind::NotDeleted).with("entity", entity),
            PlanError::NotRestorable { entity } => {
                problem(Kind::NotRestorable).with("entity", entity)
            }
            PlanError::TooLarge { pattern, .. } => problem(Kind::TooLarge).with("pattern", pattern),
            PlanError::TooMuchMemory { .. } => problem(Kind::TooMuchMemory),
            PlanError::BadCursor => problem(Kind::BadCursor),
            PlanError::Conflict => problem(Kind::Conflict),
            PlanError::OutcomeUnknown => problem(Kind::OutcomeUnknown).with("outcome", "unknown"),
            PlanError::Store(error) => store_problem(&error),
            _ => Problem::internal(),
        }
    }
}

fn fault(fault: &Fault) -> Json {
    let mut members = json!({
        "attribute": fault.attribute,
        "rule": fault.rule.word(),
        "detail": fault.message,
    });
    if let Some(entity) = &fault.entity {
        members["entity"] = entity.as_str().into();
    }
    members
}

/// When to try again while the disk is full: somebody has to free space first.
const DISK_FULL_WAIT_SECONDS: u64 = 30;

/// What the store says is for the log, except where the request itself is at fault.
fn store_problem(error: &StoreError) -> Problem {
    if let StoreError::DiskFull { .. } = error {
        let detail = "nothing was changed; writes are taken again when the server's disk has space";
        let problem = Problem::new(Kind::DiskFull, detail);
        return problem.with("wait", DISK_FULL_WAIT_SECONDS);
    }
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
    /// What the planner refuses to do for a request.
    pub(crate) fn of_refusal(
        refusal: PlanError,
        design: &Design,
        verb: Verb,
        conditions: &Conditions,
    ) -> Self {
        let is_put = matches!(verb, Verb::Upsert(_));
        let is_precondition = match &refusal {
            PlanError::Exists { .. } => conditions.unless.is_some(),
            PlanError::NotFound { .. } => conditions.only_if.is_some(),
            _ => false,
        };
        let problem = match is_put && is_precondition {
            true => Problem::new(Kind::PreconditionFailed, refusal.to_string()),
            false => refusal.into(),
        };
        problem.about(design, verb)
    }

    /// Says which entity or view a request was about.
    #[must_use]
    pub(crate) fn about(self, design: &Design, verb: Verb) -> Self {
        let record = match verb {
            Verb::Query(pattern) => match design[pattern].returns.as_slice() {
                [record] => Some(*record),
                _ => None,
            },
            verb => verb.record(),
        };
        let entity = record.map(|record| design[record].name.as_str());
        match entity {
            Some(entity) if !self.members.contains_key("entity") => self.with("entity", entity),
            _ => self,
        }
    }
}
