//! `jobs`: what still follows earlier writes, and a part of it that is given up.

use partita_design::time;
use partita_plan::{DroppedJob, JobState, JobStatus};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{Allowed, Command, Desk, Events, Failure, StoreUse, secrets};

/// Asks for the jobs of a design that are not done, or drops one that does not go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jobs {
    /// Asks also for those that were done in the last days, behind the others.
    #[serde(default)]
    pub all: bool,
    /// The job that is given up. Only the operator does that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop: Option<String>,
}

/// One job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedJob {
    /// Names the job.
    pub id: String,
    /// The job that has left it, which is not done before it is.
    #[serde(default)]
    pub parent: Option<String>,
    /// The item whose write caused it.
    pub of: String,
    /// What it does, part by part.
    pub tasks: Vec<String>,
    /// Where it is: waiting, running or done.
    pub state: String,
    /// When it was recorded.
    pub created: String,
    /// Items that are done.
    pub done: u64,
    /// Items that there are at least, if that is known.
    pub expected: Option<u64>,
    /// Items that could not be done yet.
    pub refused: u64,
    /// Items of a cascade that were done without an effect that was refused.
    pub left_out: u64,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
    /// Whether it could not go on, and has done nothing since; it is tried again.
    #[serde(default)]
    pub stalled: bool,
}

impl From<&JobStatus> for ListedJob {
    fn from(job: &JobStatus) -> Self {
        ListedJob {
            id: job.id.clone(),
            parent: job.parent.clone(),
            of: job.of.clone(),
            tasks: job.tasks.clone(),
            state: job.state.word().to_owned(),
            created: time::format_millis(job.created_millis),
            done: job.done,
            expected: job.expected,
            refused: job.refused,
            left_out: job.left_out,
            last_error: job.last_error.clone(),
            stalled: job.is_stalled,
        }
    }
}

impl Command for Jobs {
    const NAME: &'static str = "jobs";
    const ABOUT: &'static str = "What still follows earlier writes";
    const ALLOWED: Allowed = Allowed::Administrators;
    const STORE: StoreUse = StoreUse::Look;
    type Event = ();
    type Outcome = Vec<ListedJob>;

    async fn run(self, desk: Desk, _: Events<Self>) -> Result<Vec<ListedJob>, Failure> {
        let partita = desk.partita().await?;
        if let Some(id) = &self.drop {
            if !desk.is_operator {
                return Err(Failure::new("a job is dropped by the operator alone"));
            }
            return match partita.drop_job(id).await? {
                DroppedJob::Dropped => Ok(Vec::new()),
                DroppedJob::Missing => Err(Failure::new(format!("no job `{id}` waits"))),
                DroppedJob::GoesOn => Err(Failure::new(format!(
                    "the job `{id}` is being worked on, or goes on: only one that is stalled is dropped"
                ))),
            };
        }
        let jobs = partita.jobs().await?;
        let jobs = jobs
            .iter()
            .filter(|job| self.all || job.state != JobState::Done);
        let mut listed: Vec<_> = jobs.map(ListedJob::from).collect();
        if !desk.is_operator {
            for job in &mut listed {
                secrets::mask_item(desk.design(), &mut job.of);
                secrets::mask_error(desk.design(), &mut job.last_error);
            }
        }
        Ok(listed)
    }

    fn example() -> Self {
        Jobs {
            all: true,
            drop: None,
        }
    }

    fn schemas() -> [Json; 3] {
        let job = json!({
            "type": "object",
            "required": ["id", "parent", "of", "tasks", "state", "created", "done", "expected", "refused", "leftOut", "lastError", "stalled"],
            "properties": {
                "id": { "type": "string" },
                "parent": { "type": ["string", "null"] },
                "of": { "type": "string" },
                "tasks": { "type": "array", "items": { "type": "string" } },
                "state": { "type": "string" },
                "created": { "type": "string", "format": "date-time" },
                "done": { "type": "integer" },
                "expected": { "type": ["integer", "null"] },
                "refused": { "type": "integer" },
                "leftOut": { "type": "integer" },
                "lastError": { "type": ["string", "null"] },
                "stalled": { "type": "boolean" },
            },
        });
        let request = json!({
            "type": "object",
            "properties": { "all": { "type": "boolean" }, "drop": { "type": "string" } },
            "additionalProperties": false,
        });
        [
            request,
            Json::Null,
            json!({ "type": "array", "items": job }),
        ]
    }
}
