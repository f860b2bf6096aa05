//! A design that is served, whichever stage its migration is in.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

use partita_core::limits::TRANSACTION_ACTIONS_MAX;
use partita_design::Design;
use partita_design::difference::between;
use partita_design::kernel::sizes;
use partita_store::ErrorKind;
use partita_store::request::{PutItem, TransactAction, TransactWriteItems, UpdateItem};
use partita_verify::Repairing;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, Notify, OwnedRwLockWriteGuard, watch};
use tracing::info;

use super::changes::{PlannedChange, changes};
use super::survey::Survey;
use super::{Designs, Gate, Migration, MigrationError, Position, Stage, row};
use crate::blueprint::Blueprint;
use crate::error::PlanError;
use crate::lease::Lease;
use crate::live::{self, Recorded};
use crate::partita::Partita;

/// A design that is served. What is planned with changes with the stage of its migration, so
/// [`Current::get`] it for every request.
pub struct Current {
    partita: RwLock<Arc<Partita>>,
    moves: watch::Sender<u64>,
    /// One works on the migration at a time.
    pub(super) driving: Mutex<()>,
    work: Notify,
    /// Whether this server may write, where several share the tables.
    pub(crate) lease: Option<Arc<Lease>>,
    /// A mistake that tests must notice.
    #[cfg(test)]
    pub(super) mistake: Option<super::Mistake>,
}

impl Current {
    /// A design as it was opened.
    pub fn new(partita: impl Into<Arc<Partita>>) -> Arc<Current> {
        Current::behind(partita.into(), None)
    }

    /// The same, whose writes need a lease.
    pub(crate) fn behind(partita: Arc<Partita>, lease: Option<Arc<Lease>>) -> Arc<Current> {
        Arc::new(Current {
            partita: RwLock::new(partita),
            moves: watch::Sender::new(0),
            driving: Mutex::new(()),
            work: Notify::new(),
            lease,
            #[cfg(test)]
            mistake: None,
        })
    }

    /// What is planned with now.
    pub fn get(&self) -> Arc<Partita> {
        let partita = self.partita.read();
        partita.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes when something else is planned with.
    pub fn moves(&self) -> watch::Receiver<u64> {
        self.moves.subscribe()
    }

    /// Waits until there is something to do for a migration.
    pub async fn has_work(&self) {
        self.work.notified().await;
    }

    /// The last migration, over or not.
    pub async fn migration(&self) -> Result<Option<Migration>, PlanError> {
        let partita = self.get();
        let mut all = row::read(&partita.blueprint.sidecar, &partita.runner).await?;
        Ok(all.pop())
    }

    /// The migration that is not over.
    pub(super) async fn open(&self) -> Result<Migration, PlanError> {
        let last = self.migration().await?;
        let open = last.filter(|one| !one.stage.is_over());
        open.ok_or_else(|| MigrationError::Nothing.into())
    }

    /// Refuses the file of a design that is neither side of the migration that is running.
    pub async fn refuse_other_text(&self, given: &str) -> Result<(), PlanError> {
        let migration = self.open().await?;
        let designs = self.designs(&migration).await?;
        let [old, new] = [&designs.old, &designs.new].map(|one| one.origin.text.as_str());
        if given == old || given == new {
            return Ok(());
        }
        let [old, new, given] = [old, new, given].map(digest);
        Err(MigrationError::OtherText {
            number: migration.number,
            old,
            new,
            given,
        }
        .into())
    }

    /// What a migration to another design would have to do. Nothing is written.
    pub fn changes(&self, new: &Design, drops: &[String]) -> Result<Vec<PlannedChange>, PlanError> {
        let partita = self.get();
        live::refuse_other_name(&partita.design().name, new)?;
        Ok(changes(partita.design(), new, drops))
    }

    /// What all that write to the same data in this process pass.
    pub fn gate(&self) -> Gate {
        self.get().runner.gate.clone()
    }

    /// Begins a migration to another design: from now on writes keep the derived data of both.
    /// One to the same design, with the same `drops`, that has begun goes on. What callers gave and
    /// the new design does not have goes only where it is named in `drops`.
    pub async fn start(&self, new: Design, drops: Vec<String>) -> Result<Migration, PlanError> {
        let partita = self.get();
        if partita.runner.store.is_shared() {
            return Err(MigrationError::Shared.into());
        }
        live::refuse_other_name(&partita.design().name, &new)?;
        let last = self.migration().await?;
        if let Some(open) = last.as_ref().filter(|one| !one.stage.is_over()) {
            if open.is_to(&new) && open.drops_just(&drops) {
                return Ok(open.clone());
            }
            return Err(MigrationError::Running {
                number: open.number,
                stage: open.stage,
            }
            .into());
        }
        let designs = checked(partita.design().clone(), new, &drops)?;
        let records = live::recorded(&partita).await?;
        let live = records.last().ok_or(MigrationError::Nothing)?;
        let migration = Migration {
            number: last.map_or(1, |last| last.number + 1),
            from: live.number,
            text: designs.new.origin.text.clone(),
            variables: designs.new.origin.variables.clone(),
            stage: Stage::Kept,
            since_millis: partita.clock.now_millis(),
            is_paused: false,
            refused: Vec::new(),
            drops,
            looked_at: 0,
            position: Position::default(),
            is_swept: false,
        };
        let put = migration.put(&partita.blueprint.sidecar);
        let blueprint = designs.blueprint(&migration)?;
        let survey = Survey::of_start(&designs, live, &blueprint, &partita).await?;
        let actions = vec![TransactAction::Put(put)];
        self.step_to(blueprint, actions, &migration, Some(survey))
            .await?;
        Ok(migration)
    }

    /// Makes a design the live one that stored data need not follow anew, without a restart: also one
    /// that was live before, because it is asked for by name. [`None`] where data have to follow it.
    pub async fn adopt(&self, new: &Design) -> Result<Option<Recorded>, PlanError> {
        let partita = self.get();
        live::refuse_other_name(&partita.design().name, new)?;
        let is_needed = !changes(partita.design(), new, &[]).is_empty();
        if is_needed || self.is_migrating().await? {
            return Ok(None);
        }
        let records = live::recorded(&partita).await?;
        let live = records.last().ok_or(MigrationError::Nothing)?;
        if live.is_of(new) {
            return Ok(Some(live.clone()));
        }
        let blueprint = Blueprint::new(new.clone())?;
        let survey = Survey::of_adoption(new, live, &blueprint, &partita).await?;
        let number = live.number + 1;
        let recorded = Recorded::new(new, number, partita.clock.now_millis());
        let put = TransactAction::Put(recorded.put(&partita.blueprint.sidecar));
        let is_recorded = async || {
            let records = live::recorded(&partita).await?;
            Ok(records.last().is_some_and(|live| *live == recorded))
        };
        self.step_over(&partita, blueprint, vec![put], is_recorded, Some(survey))
            .await?;
        info!(
            design = new.name,
            number, "the design is recorded by command"
        );
        Ok(Some(recorded))
    }

    async fn is_migrating(&self) -> Result<bool, PlanError> {
        let last = self.migration().await?;
        Ok(last.is_some_and(|last| !last.stage.is_over()))
    }

    /// Stops filling, until it is told to go on.
    pub async fn pause(&self) -> Result<Migration, PlanError> {
        self.set_paused(true).await
    }

    /// Goes on filling, from the beginning where items could not be filled.
    pub async fn resume(&self) -> Result<Migration, PlanError> {
        self.set_paused(false).await
    }

    async fn set_paused(&self, is_paused: bool) -> Result<Migration, PlanError> {
        let mut migration = self.open().await?;
        if !migration.stage.is_filling() {
            return Err(wrong_stage(
                &migration,
                "only filling can be paused and resumed",
            ));
        }
        let partita = self.get();
        let sidecar = &partita.blueprint.sidecar;
        if !is_paused && !migration.refused.is_empty() {
            migration.refused.clear();
            migration.position = Position::default();
            migration.looked_at = 0;
            let update = migration.progress(sidecar);
            partita.update_migration(&update).await?;
        }
        let update = migration.pausing(is_paused, sidecar);
        partita.update_migration(&update).await?;
        migration.is_paused = is_paused;
        self.work.notify_one();
        Ok(migration)
    }

    /// Serves the new design from now on.
    pub async fn switch(&self) -> Result<Migration, PlanError> {
        let migration = self.open().await?;
        if migration.stage != Stage::Filled {
            return Err(wrong_stage(
                &migration,
                "it can be switched when it is filled",
            ));
        }
        let designs = self.designs(&migration).await?;
        let moved = migration.at(Stage::Switched);
        let blueprint = designs.blueprint(&moved)?;
        let survey = Survey::of_jobs(&blueprint, &self.get()).await?;
        let put = self.record(&designs.new).await?;
        self.advance(
            &migration,
            Stage::Switched,
            blueprint,
            Some(survey),
            vec![put],
        )
        .await
    }

    /// Serves the new design alone, and removes what only the old one derives.
    pub async fn complete(&self) -> Result<Migration, PlanError> {
        let migration = self.open().await?;
        if migration.stage != Stage::Switched {
            return Err(wrong_stage(
                &migration,
                "it can be completed when it is switched",
            ));
        }
        let designs = self.designs(&migration).await?;
        let blueprint = designs.blueprint(&migration.at(Stage::Completing))?;
        self.advance(&migration, Stage::Completing, blueprint, None, Vec::new())
            .await
    }

    /// Serves the old design alone, and removes what only the new one derives.
    pub async fn roll_back(&self) -> Result<Migration, PlanError> {
        let migration = self.open().await?;
        let designs = self.designs(&migration).await?;
        let partita = self.get();
        let blueprint = designs.blueprint(&migration.at(Stage::RollingBack))?;
        let mut also = Vec::new();
        let survey = match migration.stage {
            Stage::Kept | Stage::Filled => Survey::of_jobs(&blueprint, &partita).await?,
            Stage::Switched => {
                refuse_lasting(&designs)?;
                let survey = Survey::of_return(&designs, &blueprint, &partita).await?;
                also.push(self.record(&designs.old).await?);
                survey
            }
            _ => {
                let what = "it can be rolled back until it is completed";
                return Err(wrong_stage(&migration, what));
            }
        };
        self.advance(
            &migration,
            Stage::RollingBack,
            blueprint,
            Some(survey),
            also,
        )
        .await
    }

    /// The write that records a design as the live one.
    async fn record(&self, design: &Design) -> Result<TransactAction, PlanError> {
        let partita = self.get();
        let records = live::recorded(&partita).await?;
        let number = records.last().map_or(1, |live| live.number + 1);
        let recorded = Recorded::new(design, number, partita.clock.now_millis());
        let put: PutItem = recorded.put(&partita.blueprint.sidecar);
        Ok(TransactAction::Put(put))
    }

    /// Both designs of a migration.
    pub(super) async fn designs(&self, migration: &Migration) -> Result<Designs, PlanError> {
        let partita = self.get();
        let records = live::recorded(&partita).await?;
        live::designs_of(migration, &records, &partita.design().origin.given)
    }

    /// Moves on to another stage with everything that goes with it, if what a survey has looked at
    /// is still so.
    pub(super) async fn advance(
        &self,
        migration: &Migration,
        stage: Stage,
        blueprint: Blueprint,
        survey: Option<Survey>,
        mut also: Vec<TransactAction>,
    ) -> Result<Migration, PlanError> {
        let partita = self.get();
        let now = partita.clock.now_millis();
        let update = migration.to_stage(stage, &partita.blueprint.sidecar, now);
        also.push(TransactAction::Update(update));
        let moved = Migration {
            since_millis: now,
            ..migration.at(stage)
        };
        self.step_to(blueprint, also, &moved, survey).await?;
        Ok(moved)
    }

    /// Steps over to a stage of a migration.
    async fn step_to(
        &self,
        blueprint: Blueprint,
        actions: Vec<TransactAction>,
        migration: &Migration,
        survey: Option<Survey>,
    ) -> Result<(), PlanError> {
        let is_written = async || {
            let stored = self.migration().await?;
            Ok(stored.is_some_and(|stored| stored.is_step(migration)))
        };
        self.step_over(&self.get(), blueprint, actions, is_written, survey)
            .await?;
        info!(
            design = self.get().design().name,
            migration = migration.number,
            stage = migration.stage.word(),
            "the migration has come to another stage"
        );
        Ok(())
    }

    /// Writes while no commit is under way, and plans with another blueprint from then on. Where the
    /// store does not say whether it has written, `is_written` finds out. What was decided on what was
    /// `seen` is not done where somebody has moved on since.
    async fn step_over(
        &self,
        seen: &Arc<Partita>,
        blueprint: Blueprint,
        actions: Vec<TransactAction>,
        is_written: impl AsyncFnOnce() -> Result<bool, PlanError>,
        survey: Option<Survey>,
    ) -> Result<(), PlanError> {
        let partita = seen;
        let moves = match &survey {
            Some(survey) => survey.settle(&blueprint).await?,
            None => partita.runner.gate.close().await?,
        };
        if !Arc::ptr_eq(partita, &self.get()) {
            return Err(MigrationError::Moved.into());
        }
        // A repair takes its lock behind the gate, so none begins to write from here on.
        refuse_beside_repair(partita).await?;
        let request = TransactWriteItems {
            actions,
            token: Some(partita.runner.token()),
        };
        let written = partita.runner.store.transact_write_items(request).await;
        match written.map_err(|error| (error.kind(), error)) {
            Ok(_) => {}
            Err((ErrorKind::ConditionFailed, _)) => return Err(MigrationError::Moved.into()),
            Err((ErrorKind::OutcomeUnknown, error)) => {
                if !is_written().await? {
                    return Err(error.into());
                }
            }
            Err((_, error)) => return Err(error.into()),
        }
        self.change(partita, moves, blueprint);
        Ok(())
    }

    /// Plans by a design that somebody else has made live. Nothing is written.
    pub(crate) async fn plan_by(
        &self,
        seen: &Arc<Partita>,
        blueprint: Blueprint,
    ) -> Result<(), PlanError> {
        let moves = seen.runner.gate.close().await?;
        if !Arc::ptr_eq(seen, &self.get()) {
            return Err(MigrationError::Moved.into());
        }
        self.change(seen, moves, blueprint);
        Ok(())
    }

    /// Plans with another blueprint from now on. No commit is under way.
    fn change(
        &self,
        partita: &Partita,
        mut moves: OwnedRwLockWriteGuard<u64>,
        mut blueprint: Blueprint,
    ) {
        blueprint.keeps_files = partita.blueprint.keeps_files;
        #[cfg(test)]
        if let Some(beside) = &mut blueprint.beside {
            beside.mistake = self.mistake;
        }
        let gate = partita.runner.gate.moved(&mut moves);
        #[cfg(test)]
        let gate = if self.mistake == Some(super::Mistake::StageTooEarly) {
            *moves -= 1;
            partita.runner.gate.clone()
        } else {
            gate
        };
        let next = Arc::new(partita.at_stage(blueprint, gate));
        *self.partita.write().unwrap_or_else(PoisonError::into_inner) = next;
        drop(moves);
        self.moves.send_modify(|moves| *moves += 1);
        self.work.notify_one();
    }
}

impl Partita {
    /// Writes to the row of a migration, if it is in the stage that the one who writes knows.
    pub(super) async fn update_migration(&self, update: &UpdateItem) -> Result<(), PlanError> {
        match self.runner.update(update).await {
            Err(PlanError::Store(error)) if error.kind() == ErrorKind::ConditionFailed => {
                Err(MigrationError::Moved.into())
            }
            Err(PlanError::Superseded) => Err(MigrationError::Moved.into()),
            updated => updated,
        }
    }
}

impl Migration {
    /// Whether it goes to this design, and not back from it.
    pub fn is_to(&self, design: &Design) -> bool {
        let origin = &design.origin;
        let is_same = self.text == origin.text && self.variables == origin.variables;
        is_same && self.stage != Stage::RollingBack
    }

    /// Whether these go, in any order, and nothing else.
    fn drops_just(&self, drops: &[String]) -> bool {
        let [own, others] = [&self.drops, drops].map(|all| all.iter().collect::<BTreeSet<_>>());
        own == others
    }

    /// Whether it has come to a stage by the same step, and not by somebody else's.
    fn is_step(&self, other: &Migration) -> bool {
        let goal = |one: &Migration| (one.number, one.from, one.stage, one.since_millis);
        goal(self) == goal(other)
            && self.text == other.text
            && self.variables == other.variables
            && self.drops_just(&other.drops)
    }

    /// The same in another stage.
    pub(super) fn at(&self, stage: Stage) -> Migration {
        Migration {
            stage,
            is_paused: false,
            refused: Vec::new(),
            looked_at: 0,
            position: Position::default(),
            ..self.clone()
        }
    }
}

/// Refuses to move on while somebody mends what is derived by the stage of now.
async fn refuse_beside_repair(partita: &Partita) -> Result<(), PlanError> {
    let store = &*partita.runner.store;
    match partita_verify::repairing(partita.design(), store, &*partita.clock).await? {
        None => Ok(()),
        Some(Repairing {
            holder,
            since,
            until,
        }) => Err(MigrationError::Repairing {
            holder,
            since,
            until,
        }
        .into()),
    }
}

/// The SHA-256 of a text, as `sha256sum` prints it of the file.
fn digest(text: &str) -> String {
    let bytes = Sha256::digest(text);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Refuses to go back where a change lasts.
fn refuse_lasting(designs: &Designs) -> Result<(), PlanError> {
    let changes = between(&designs.old, &designs.new).into_iter();
    let lasting = changes.filter(|one| !one.is_free() && !one.is_reversible);
    let changes: Vec<String> = lasting.map(|one| one.to_string()).collect();
    if changes.is_empty() {
        Ok(())
    } else {
        Err(MigrationError::Lasting { changes }.into())
    }
}

/// Refuses what cannot be carried out, or what would make writes too large.
fn checked(old: Design, new: Design, drops: &[String]) -> Result<Designs, PlanError> {
    let changes = changes(&old, &new, drops);
    if changes.is_empty() {
        return Err(MigrationError::NotNeeded.into());
    }
    let unable = changes.iter().filter_map(|change| {
        let why = change.obstacle.as_ref()?;
        Some(format!("{}: {why}", change.change))
    });
    let unable: Vec<String> = unable.collect();
    if !unable.is_empty() {
        return Err(MigrationError::Unable { changes: unable }.into());
    }
    let most = |design: &Design| {
        let sizes = sizes(design).into_iter();
        sizes.map(|size| size.actions).max().unwrap_or(0)
    };
    let designs = Designs::new(old, new)?;
    let own = most(&designs.old).max(most(&designs.new));
    for stage in designs.keeping() {
        let together = most(&designs.union(stage)?.design);
        if together > TRANSACTION_ACTIONS_MAX.max(own) {
            let line = format!(
                "a write would take up to {together} actions for both designs, and a transaction \
                 has {TRANSACTION_ACTIONS_MAX}: make the change in several steps"
            );
            let changes = vec![line];
            return Err(MigrationError::Unable { changes }.into());
        }
    }
    Ok(designs)
}

fn wrong_stage(migration: &Migration, what: &'static str) -> PlanError {
    MigrationError::Stage {
        number: migration.number,
        stage: migration.stage,
        what,
    }
    .into()
}
