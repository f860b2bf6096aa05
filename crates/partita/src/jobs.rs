//! `partita jobs`, and the work on jobs behind the server.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use partita_api::admin::jobs::{Jobs, ListedJob};
use partita_core::printable;
use partita_plan::Current;
use tracing::warn;

use crate::cli::{CheckFormat, JobsFlags};
use crate::door::Door;
use crate::json_text;
use crate::output::print;

/// Works on the jobs of a design for as long as the server lives.
pub(crate) fn start_working(current: Arc<Current>, is_alone: bool) {
    tokio::spawn(async move {
        let mut moves = current.moves();
        let design = current.get();
        let name = design.design().name.clone();
        if is_alone && let Err(error) = design.take_over_jobs().await {
            warn!(design = name, "jobs wait until their leases end: {error}");
        }
        let failed = |error| warn!(design = name, "a job does not go on: {error}");
        loop {
            moves.mark_unchanged();
            let design = current.get();
            tokio::select! {
                () = design.keep_working(failed) => {}
                moved = moves.changed() => if moved.is_err() { return },
            }
        }
    });
}

/// Lists the jobs of a design.
pub(crate) async fn run(flags: &JobsFlags) -> Result<ExitCode> {
    let door = Door::to(&flags.door, &flags.place);
    let subject = door.find(&flags.design, &flags.variables)?;
    let request = Jobs { all: flags.all };
    let jobs = door.ask(&subject, request, &mut |()| {}).await?;
    let text = match flags.format {
        CheckFormat::Json => json_text(&serde_json::to_value(&jobs)?),
        CheckFormat::Text => table(&jobs),
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// A line for each job, those that are not done first.
fn table(jobs: &[ListedJob]) -> String {
    if jobs.is_empty() {
        return "no jobs\n".to_owned();
    }
    let mut lines = vec![format!(
        "{:<26}  {:<8}  {:<24}  {}",
        "job", "state", "done", "of"
    )];
    for job in jobs {
        let done = match job.expected {
            Some(expected) => format!("{} of at least {expected}", job.done),
            None => job.done.to_string(),
        };
        let ListedJob { id, state, of, .. } = job;
        let tasks = job.tasks.join(", ");
        let (of, tasks) = (printable::line(of), printable::line(&tasks));
        lines.push(format!("{id}  {state:<8}  {done:<24}  {of}: {tasks}"));
        if job.refused != 0 {
            let refused = job.refused;
            lines.push(format!("{:28}{refused} could not be done yet", ""));
        }
        if job.left_out != 0 {
            let left_out = job.left_out;
            let what = "done without what was refused";
            lines.push(format!("{:28}{left_out} {what}", ""));
        }
        if let Some(error) = &job.last_error {
            lines.push(format!("{:28}{}", "", printable::line(error)));
        }
        if job.stalled {
            let mend =
                "it does not go on, and is tried again every half minute: mend what is in its way";
            lines.push(format!("{:28}{mend}", ""));
        }
    }
    lines.join("\n") + "\n"
}
