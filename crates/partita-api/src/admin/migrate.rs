//! `migrate`: the way from the live design to another one, with the data in place.

use std::collections::BTreeMap;

use partita_design::Design;
use partita_plan::migration::PlannedChange;
use partita_plan::{Current, Migration};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::sharing::{SharingServer, sharing};
use super::{Allowed, Command, Desk, Events, Failure, StoreUse};

/// Begins a migration, moves it on, or says how far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Migrate {
    /// What is asked.
    pub step: MigrateStep,
    /// The file of the new design, for `plan` and `start`. For what moves a migration on it may be
    /// that of the old one, too, or left out.
    #[serde(default)]
    pub text: String,
    /// The values of its variables.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// What goes though callers gave it, by the names of its declarations, for `plan` and `start`.
    #[serde(default)]
    pub drops: Vec<String>,
}

/// What is asked of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MigrateStep {
    /// What it would do. Nothing is written.
    Plan,
    /// Begins: the derived data of both designs are kept, and the new ones are filled in.
    Start,
    /// How far it is.
    Status,
    /// Fills in nothing until it is resumed.
    Pause,
    /// Goes on filling in.
    Resume,
    /// Serves the new design.
    Switch,
    /// Removes what only the old design derives.
    Complete,
    /// Goes back to the old design, and removes what only the new one derives.
    Rollback,
}

impl MigrateStep {
    /// The steps with their words, and what each does.
    pub const WORDS: [(MigrateStep, &'static str, &'static str); 8] = [
        (
            MigrateStep::Plan,
            "plan",
            "Say what it would do, and what it cannot; nothing is written",
        ),
        (
            MigrateStep::Start,
            "start",
            "Begin: keep the derived data of both designs, and fill the new ones in",
        ),
        (MigrateStep::Status, "status", "Say how far it is"),
        (
            MigrateStep::Pause,
            "pause",
            "Fill in nothing until it is resumed",
        ),
        (MigrateStep::Resume, "resume", "Go on filling in"),
        (
            MigrateStep::Switch,
            "switch",
            "Serve the new design; the old one's derived data are still kept",
        ),
        (
            MigrateStep::Complete,
            "complete",
            "Remove what only the old design derives",
        ),
        (
            MigrateStep::Rollback,
            "rollback",
            "Go back to the old design, and remove what only the new one derives",
        ),
    ];

    /// The step of that word.
    pub fn find(word: &str) -> Option<MigrateStep> {
        let found = Self::WORDS.iter().find(|(_, known, _)| *known == word);
        found.map(|(step, ..)| *step)
    }
}

/// How far a migration is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrationState {
    /// Which one, from 1; none if there never was one.
    pub number: Option<u64>,
    /// The stage in a word or two.
    pub stage: String,
    /// Whether nothing is filled in at the moment.
    pub paused: bool,
    /// How many items were looked at in this stage.
    pub looked_at: u64,
    /// Items that could not be filled in, with what is wrong with them.
    pub refused: Vec<String>,
    /// The number of the design in the history, where stored data need not follow it anew, so that it
    /// is served at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopted: Option<u64>,
    /// The changes that a migration would carry out, for `plan`.
    pub changes: Vec<MigrationChange>,
    /// The servers that share the tables, for `status`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<SharingServer>,
}

/// A change that stored data follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrationChange {
    /// What differs, with its lines in both files.
    pub change: String,
    /// What is done to stored data.
    pub says: String,
    /// Why it cannot be carried out; none if it can.
    pub obstacle: Option<String>,
    /// Whether it cannot be taken back after the switch.
    pub lasts: bool,
}

impl Command for Migrate {
    const NAME: &'static str = "migrate";
    const ABOUT: &'static str = "The way from the live design to another one";
    const ALLOWED: Allowed = Allowed::Operator;
    const STORE: StoreUse = StoreUse::Change;
    type Event = MigrationState;
    type Outcome = MigrationState;

    fn store_use(&self) -> StoreUse {
        match self.step {
            MigrateStep::Plan | MigrateStep::Status => StoreUse::Look,
            _ => Self::STORE,
        }
    }

    async fn run(self, desk: Desk, events: Events<Self>) -> Result<MigrationState, Failure> {
        let current = desk.current().await?;
        if self.is_about_running() && !self.text.is_empty() {
            current.refuse_other_text(&self.text).await?;
        }
        let begun = match self.step {
            MigrateStep::Plan => {
                let changes = current.changes(&self.design()?, &self.drops)?;
                let status = state(current.migration().await?);
                return Ok(MigrationState {
                    changes: changes.into_iter().map(shown).collect(),
                    ..status
                });
            }
            MigrateStep::Status => {
                return Ok(MigrationState {
                    servers: sharing(&desk).await?,
                    ..state(current.migration().await?)
                });
            }
            MigrateStep::Pause => return Ok(state(Some(current.pause().await?))),
            MigrateStep::Start => {
                desk.refuse_raw_writes()?;
                let design = self.design()?;
                if let Some(recorded) = current.adopt(&design).await? {
                    return Ok(MigrationState {
                        stage: "adopted".to_owned(),
                        adopted: Some(recorded.number),
                        ..MigrationState::default()
                    });
                }
                current.start(design, self.drops).await
            }
            MigrateStep::Resume => current.resume().await,
            MigrateStep::Switch => current.switch().await,
            MigrateStep::Complete => current.complete().await,
            MigrateStep::Rollback => current.roll_back().await,
        };
        begun?;
        drive(&current, &events).await
    }

    fn example() -> Self {
        Migrate {
            step: MigrateStep::Status,
            text: String::new(),
            variables: BTreeMap::new(),
            drops: Vec::new(),
        }
    }

    fn schemas() -> [Json; 3] {
        let text = || json!({ "type": "string" });
        let texts = || json!({ "type": "array", "items": text() });
        let state = json!({
            "type": "object",
            "required": ["number", "stage", "paused", "looked_at", "refused", "changes"],
            "properties": {
                "number": { "type": ["integer", "null"] },
                "stage": text(),
                "paused": { "type": "boolean" },
                "looked_at": { "type": "integer" },
                "refused": texts(),
                "adopted": { "type": "integer" },
                "changes": { "type": "array", "items": {
                    "type": "object",
                    "required": ["change", "says", "obstacle", "lasts"],
                    "properties": {
                        "change": text(),
                        "says": text(),
                        "obstacle": { "type": ["string", "null"] },
                        "lasts": { "type": "boolean" },
                    },
                } },
                "servers": SharingServer::schema(),
            },
        });
        let steps = MigrateStep::WORDS.map(|(_, word, _)| word);
        let request = json!({
            "type": "object",
            "required": ["step"],
            "properties": {
                "step": { "type": "string", "enum": steps },
                "text": text(),
                "variables": { "type": "object", "properties": {}, "additionalProperties": text() },
                "drops": texts(),
            },
            "additionalProperties": false,
        });
        [request, state.clone(), state]
    }
}

impl Migrate {
    /// Whether it moves the migration that is running.
    fn is_about_running(&self) -> bool {
        !matches!(
            self.step,
            MigrateStep::Plan | MigrateStep::Start | MigrateStep::Status
        )
    }

    /// The design that is gone to.
    fn design(&self) -> Result<Design, Failure> {
        let variables = |name: &str| self.variables.get(name).cloned();
        let (design, diagnostics) = partita_design::check(&self.text, &variables);
        design.ok_or_else(|| {
            let first = diagnostics.into_iter().next();
            let first = first.map(|one| one.message).unwrap_or_default();
            Failure::new(format!("the new design has mistakes: {first}"))
        })
    }
}

/// Waits until nothing is left to do but by command. The work goes on when the client is gone.
async fn drive(current: &Current, events: &Events<Migrate>) -> Result<MigrationState, Failure> {
    // Never waited for: who drives may hold the lock that writers pass.
    let mut on_progress = |migration: &Migration| {
        let _ = events.offer(state(Some(migration.clone())));
    };
    Ok(state(current.drive(&mut on_progress).await?))
}

fn state(migration: Option<Migration>) -> MigrationState {
    let Some(migration) = migration else {
        return MigrationState {
            stage: "none".to_owned(),
            ..MigrationState::default()
        };
    };
    MigrationState {
        number: Some(migration.number),
        stage: migration.stage.word().to_owned(),
        paused: migration.is_paused,
        looked_at: migration.looked_at,
        refused: migration.refused,
        adopted: None,
        changes: Vec::new(),
        servers: Vec::new(),
    }
}

fn shown(planned: PlannedChange) -> MigrationChange {
    MigrationChange {
        change: planned.change.to_string(),
        lasts: !planned.change.is_reversible,
        says: planned.change.says,
        obstacle: planned.obstacle,
    }
}

#[cfg(test)]
mod tests;
