//! What the planner and the store refuse, as problems.

use partita_design::Design;
use partita_plan::{FAULTS_MAX, Fault, HotCause, HotSpot, PlanError};
use partita_store::{ErrorKind, StoreError};
use serde_json::{Value as Json, json};

use super::{Problem, ProblemKind};
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
            | PlanError::UnknownPrefix { .. } => problem(ProblemKind::NoRoute),
            PlanError::Objects(_) => {
                let detail = "the server's log says why; nothing was changed";
                Problem::new(ProblemKind::FilesUnavailable, detail)
            }
            PlanError::Invalid { faults } => {
                let faults = faults.iter().take(FAULTS_MAX);
                let faults: Vec<Json> = faults.map(fault).collect();
                problem(ProblemKind::Invalid).with("faults", faults)
            }
            PlanError::Unauthenticated { entity, .. } => {
                problem(ProblemKind::Unauthenticated).with("entity", entity)
            }
            PlanError::Forbidden { entity, rule, .. } => {
                let problem = problem(ProblemKind::Forbidden).with("entity", entity);
                problem.with("rule", rule)
            }
            PlanError::NotFound { entity, .. } => {
                problem(ProblemKind::NotFound).with("entity", entity)
            }
            PlanError::Taken { faults } => {
                let faults: Vec<Json> = faults.iter().map(fault).collect();
                problem(ProblemKind::Taken).with("faults", faults)
            }
            PlanError::Exists { entity } => problem(ProblemKind::Exists).with("entity", entity),
            PlanError::StaleVersion { entity } => {
                problem(ProblemKind::StaleVersion).with("entity", entity)
            }
            PlanError::Requires { name, rule } => {
                let problem = problem(ProblemKind::Requirement).with("name", name);
                problem.with("rule", rule)
            }
            PlanError::InUse { entity, by, .. } => problem(ProblemKind::InUse)
                .with("entity", entity)
                .with("by", by),
            PlanError::TooMuch { .. } | PlanError::TooDeep => problem(ProblemKind::TooMuch),
            PlanError::BatchTooLarge { actions } => {
                problem(ProblemKind::TooMuch).with("actions", actions)
            }
            PlanError::BatchSize { count } => {
                problem(ProblemKind::TooMuch).with("operations", count)
            }
            PlanError::ReadInBatch => problem(ProblemKind::BadRequest),
            PlanError::Batch { refusals } => {
                let problems = refusals.into_iter();
                let problems = problems.map(|refused| (refused.position, refused.error.into()));
                Problem::of_batch(problems.collect())
            }
            PlanError::StillRemoved { entity } => {
                problem(ProblemKind::StillRemoved).with("entity", entity)
            }
            PlanError::KeyReused => problem(ProblemKind::KeyReused),
            PlanError::LimitReached {
                limit,
                wait_seconds,
                ..
            } => {
                let problem = problem(ProblemKind::LimitReached).with("limit", limit);
                problem.with("wait", wait_seconds)
            }
            PlanError::TooManyKeys { wait_seconds } => {
                problem(ProblemKind::TooManyKeys).with("wait", wait_seconds)
            }
            PlanError::TooManyUploads { wait_seconds, .. } => {
                problem(ProblemKind::TooManyUploads).with("wait", wait_seconds)
            }
            PlanError::NotDeleted { entity } => {
                problem(ProblemKind::NotDeleted).with("entity", entity)
            }
            PlanError::NotRestorable { entity } => {
                problem(ProblemKind::NotRestorable).with("entity", entity)
            }
            PlanError::NoFeed { .. } => problem(ProblemKind::NoFeed),
            PlanError::TooLarge { pattern, .. } => {
                problem(ProblemKind::TooLarge).with("pattern", pattern)
            }
            PlanError::TooMuchMemory { .. } => problem(ProblemKind::TooMuchMemory),
            PlanError::BadCursor => problem(ProblemKind::BadCursor),
            PlanError::Drift {
                entity, attribute, ..
            } => {
                let problem = problem(ProblemKind::Drift).with("entity", entity);
                problem.with("attribute", attribute)
            }
            PlanError::Conflict | PlanError::Outdated => problem(ProblemKind::Conflict),
            PlanError::NotProvisioned { faults, .. } => {
                let faults: Vec<Json> = faults.iter().take(FAULTS_MAX).map(fault).collect();
                problem(ProblemKind::NotProvisioned).with("faults", faults)
            }
            PlanError::Superseded => problem(ProblemKind::Superseded),
            PlanError::NoAccounts => problem(ProblemKind::NoRoute),
            PlanError::Hot(hot) => {
                let kind = match hot.cause {
                    HotCause::Conflict => ProblemKind::Conflict,
                    HotCause::Writes | HotCause::Reads => ProblemKind::Throttled,
                };
                problem(kind).with("hot", hot_spot(&hot))
            }
            PlanError::OutcomeUnknown => {
                problem(ProblemKind::OutcomeUnknown).with("outcome", "unknown")
            }
            PlanError::Store(error) => store_problem(&error),
            _ => Problem::internal(),
        }
    }
}

/// Where too much is asked at once, as the design has it: never the value of a key, which may be
/// of an item that the caller does not see.
fn hot_spot(hot: &HotSpot) -> Json {
    json!({
        "cause": hot.cause.word(),
        "entity": hot.record,
        "key": hot.key,
        "index": hot.index,
        "pattern": hot.pattern,
        "declared": hot.declared,
        "line": hot.line,
    })
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

/// When to try again while the data moves: that takes seconds.
const READ_ONLY_WAIT_SECONDS: u64 = 5;

/// When to try again at a server that has no lease: it asks for one every few seconds.
const NO_LEASE_WAIT_SECONDS: u64 = 5;

/// When to try again while items are imported: that takes seconds, or minutes if there are many.
const IMPORTING_WAIT_SECONDS: u64 = 5;

/// What the store says is for the log, except where the request itself is at fault.
fn store_problem(error: &StoreError) -> Problem {
    if let StoreError::DiskFull { .. } = error {
        let detail = "nothing was changed; writes are taken again when the server's disk has space";
        let problem = Problem::new(ProblemKind::DiskFull, detail);
        return problem.with("wait", DISK_FULL_WAIT_SECONDS);
    }
    if let StoreError::ReadOnly { .. } = error {
        let detail = "nothing was changed; who runs the server moves the data, and says where to";
        let problem = Problem::new(ProblemKind::ReadOnly, detail);
        return problem.with("wait", READ_ONLY_WAIT_SECONDS);
    }
    if let StoreError::NoLease { .. } = error {
        let detail = "nothing was changed; this server may not write to the tables for now, and others \
                      may: its log and /readyz say why";
        let problem = Problem::new(ProblemKind::Unavailable, detail);
        return problem.with("wait", NO_LEASE_WAIT_SECONDS);
    }
    if let StoreError::Closed { .. } = error {
        let detail = "nothing was changed; the data can be read when all of it has come";
        let problem = Problem::new(ProblemKind::Importing, detail);
        return problem.with("wait", IMPORTING_WAIT_SECONDS);
    }
    let (kind, detail) = match error.kind() {
        ErrorKind::FixRequest => (ProblemKind::RefusedByStore, error.to_string()),
        ErrorKind::Retry => (ProblemKind::Throttled, "try again in a moment".to_owned()),
        ErrorKind::Corrupt => (
            ProblemKind::Corrupt,
            "the server's log says where".to_owned(),
        ),
        _ => {
            let detail = "the server's log says why; nothing was changed";
            (ProblemKind::Unavailable, detail.to_owned())
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
        let problem = if is_put && is_precondition {
            Problem::new(ProblemKind::PreconditionFailed, refusal.to_string())
        } else {
            refusal.into()
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
