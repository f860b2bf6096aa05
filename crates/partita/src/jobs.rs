//! `partita jobs`, and the work on jobs behind the server.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, bail};
use partita_api::admin::jobs::{Jobs, ListedJob};
use partita_core::printable;
use partita_plan::{Current, JobState};
use tracing::warn;

use crate::cli::{CheckFormat, JobsFlags, JobsWish};
use crate::door::{Door, Subject};
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

/// Lists the jobs of a design, or drops one.
pub(crate) async fn run(flags: &JobsFlags) -> Result<ExitCode> {
    let door = Door::to(&flags.door, &flags.place);
    let subject = door.find(&flags.design, &flags.variables)?;
    let list = Jobs {
        all: flags.all,
        drop: None,
    };
    let jobs = door.ask(&subject, list, &mut |()| {}).await?;
    match (flags.wish, &flags.id) {
        (JobsWish::Drop, Some(id)) => return give_up(flags, (&door, &subject), &jobs, id).await,
        (JobsWish::List, Some(_)) => bail!("a list is of all jobs: leave the id out"),
        _ => {}
    }
    let text = match flags.format {
        CheckFormat::Json => json_text(&serde_json::to_value(&jobs)?),
        CheckFormat::Text => table(&jobs),
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Drops a job, after it has been said what that leaves undone.
async fn give_up(
    flags: &JobsFlags,
    (door, subject): (&Door<'_>, &Subject),
    jobs: &[ListedJob],
    id: &str,
) -> Result<ExitCode> {
    let Some(job) = jobs
        .iter()
        .find(|job| job.id == id && job.state != JobState::Done.word())
    else {
        bail!("no job `{id}` waits");
    };
    print(&undone(job, &flags.design))?;
    if !flags.yes {
        if !io::stdin().is_terminal() {
            bail!("it was not dropped: without a terminal to ask on, that takes --yes");
        }
        write!(io::stderr(), "drop it? [y/N] ")?;
        let mut line = String::new();
        io::stdin().read_line(&mut line)?;
        if !matches!(line.trim(), "y" | "yes") {
            print("it was not dropped\n")?;
            return Ok(ExitCode::FAILURE);
        }
    }
    let drop = Jobs {
        all: false,
        drop: Some(id.to_owned()),
    };
    door.ask(subject, drop, &mut |()| {}).await?;
    print("it is dropped\n")?;
    Ok(ExitCode::SUCCESS)
}

/// What is not done if a job is given up.
fn undone(job: &ListedJob, design: &str) -> String {
    let (of, tasks) = (printable::line(&job.of), job.tasks.join(", "));
    let mut text = format!("{of}: {}\n", printable::line(&tasks));
    let others = match job.expected {
        Some(expected) => format!("of at least {expected}"),
        None => "and it is not known how many there are".to_owned(),
    };
    text += &format!("  {} items are done, {others}\n", job.done);
    if let Some(error) = &job.last_error {
        text += &format!("  in its way: {}\n", printable::line(error));
    }
    text += "  what is not done stays undone: effects and actions for good; items that would be \
             removed stay, and what they belonged to cannot be created again\n";
    text + &format!(
        "  `partita verify {design}` then reports copies and references that are left, and \
         `partita repair {design}` mends them\n"
    )
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
            let mend = "it does not go on, and is tried again every half minute: mend what is in \
                        its way, or give it up with `partita jobs DESIGN drop ID`";
            lines.push(format!("{:28}{mend}", ""));
        }
    }
    lines.join("\n") + "\n"
}
