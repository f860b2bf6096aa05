//! `partita migrate`, and the work of migrations behind the server.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use partita_api::admin::migrate::{Migrate, MigrationState};
use partita_core::printable;
use partita_design::Design;
use partita_plan::{Current, MigrationError, PlanError, Stage};
use partita_store::Clock as _;
use partita_store::surroundings::SystemClock;
use tracing::{info, warn};

use crate::cli::{CheckFormat, MigrateFlags};
use crate::door::Door;
use crate::history;
use crate::json_text;
use crate::output::print;

/// How often it is looked whether a migration is to be completed.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// After how long a migration is tried again that did not go on: writers were in its way, say.
const TRY_EVERY: Duration = Duration::from_secs(1);

/// How long a migration stays where it can be taken back.
const COMPLETED_AFTER_MILLIS: i64 = 24 * 3_600_000;

/// Works on the migration of a design for as long as the server lives. One to a design that is given
/// goes through all stages by itself.
pub(crate) fn start_driving(current: Arc<Current>, to: Option<Design>) {
    tokio::spawn(async move {
        let name = current.get().design().name.clone();
        if let Some(to) = &to {
            match begin(&current, to).await {
                Ok(()) | Err(PlanError::Migration(MigrationError::NotNeeded)) => {}
                Err(error) => warn!(design = name, "the migration does not begin: {error}"),
            }
        }
        loop {
            let wait = match go_on(&current, to.is_some()).await {
                Ok(true) => continue,
                Ok(false) => LOOK_EVERY,
                Err(error) => {
                    warn!(design = name, "the migration does not go on yet: {error}");
                    TRY_EVERY
                }
            };
            // Commands say when there is something to do.
            let _ = tokio::time::timeout(wait, current.has_work()).await;
        }
    });
}

/// Begins a migration to a design, unless one is running.
async fn begin(current: &Current, to: &Design) -> Result<(), PlanError> {
    let last = current.migration().await?;
    // It goes on with what was named when it began.
    if last.is_some_and(|one| !one.stage.is_over() && one.is_to(to)) {
        return Ok(());
    }
    current.start(to.clone(), Vec::new()).await.map(drop)
}

/// Does what can be done; true if something follows at once.
async fn go_on(current: &Current, by_itself: bool) -> Result<bool, PlanError> {
    let Some(migration) = current.drive(&mut |_| {}).await? else {
        return Ok(false);
    };
    let age = SystemClock
        .now_millis()
        .saturating_sub(migration.since_millis);
    match migration.stage {
        Stage::Filled if by_itself => current.switch().await?,
        Stage::Switched if by_itself || age > COMPLETED_AFTER_MILLIS => current.complete().await?,
        Stage::Kept if migration.is_paused => {
            let refused = migration.refused.len();
            info!(
                refused,
                "the migration is paused: `partita migrate status` says why"
            );
            return Ok(false);
        }
        _ => return Ok(false),
    };
    Ok(true)
}

/// Begins a migration, moves it on, or says how far it is.
pub(crate) async fn run(flags: &MigrateFlags) -> Result<ExitCode> {
    let door = Door::to(&flags.door, &flags.place);
    let subject = door.find(&flags.design, &flags.variables)?;
    let (text, variables) = subject.origin().with_context(|| {
        let name = &flags.design;
        format!("`{name}` is no file here: name the file of the design that is migrated to")
    })?;
    let request = Migrate {
        step: flags.step,
        text,
        variables,
        drops: flags.drop.clone(),
    };
    let shows_progress = std::io::stderr().is_terminal();
    let mut on_event = |state: MigrationState| {
        if shows_progress {
            let line = format!("\r{}: {} items looked at ", state.stage, state.looked_at);
            // A terminal that is gone shows nothing.
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    };
    let state = door.ask(&subject, request, &mut on_event).await?;
    if shows_progress {
        std::io::stderr().write_all(b"\n")?;
    }
    let text = match flags.format {
        CheckFormat::Json => json_text(&serde_json::to_value(&state)?),
        CheckFormat::Text => to_text(&state),
    };
    print(&text)?;
    let is_stuck =
        !state.refused.is_empty() || state.changes.iter().any(|one| one.obstacle.is_some());
    Ok(if is_stuck {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn to_text(state: &MigrationState) -> String {
    let mut text = String::new();
    for change in &state.changes {
        let (line, says) = (
            printable::line(&change.change),
            printable::line(&change.says),
        );
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{line}: {says}");
        if let Some(obstacle) = &change.obstacle {
            let obstacle = printable::line(obstacle);
            let _ = writeln!(text, "  cannot be carried out: {obstacle}");
        } else if change.lasts {
            let _ = writeln!(text, "  cannot be taken back after the switch");
        }
    }
    if let Some(number) = state.adopted {
        let _ = writeln!(
            text,
            "stored data need not follow what has changed: the design is live (number {number}), \
             and a running server serves it"
        );
        return text;
    }
    let _ = match state.number {
        None => writeln!(text, "no migration has begun"),
        Some(number) => {
            let paused = if state.paused { ", paused" } else { "" };
            let (stage, items) = (&state.stage, state.looked_at);
            match state.stage.as_str() {
                "kept" | "naming" => writeln!(
                    text,
                    "migration {number}: {stage}{paused}, {items} items looked at"
                ),
                _ => writeln!(text, "migration {number}: {stage}"),
            }
        }
    };
    for refused in &state.refused {
        let _ = writeln!(text, "  {}", printable::line(refused));
    }
    for server in &state.servers {
        text += &history::shown(server);
    }
    text
}
