//! A design on a store.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use partita_core::Value;
use partita_design::Design;
use partita_design::time;
use partita_store::exposition::Exposition;
use partita_store::surroundings::{SystemClock, SystemEntropy};
use partita_store::{Clock, Entropy, Store};
use tokio::sync::Notify;

use crate::account::secret;
use crate::blueprint::Blueprint;
use crate::commit::run::{Patience, Runner};
use crate::cursor::CursorSeal;
use crate::error::PlanError;
use crate::evaluate::{Context, Reads};
use crate::files::Objects;
use crate::hot::Spots;
use crate::idempotency::room::BYTES_PER_HOUR;
use crate::job::ScheduleCounts;
use crate::keyring::KeyRing;
use crate::live::{self, Start, Unrecorded, Written};
use crate::migration::Gate;
use crate::operation::Caller;
use crate::outbox::Outbox;
use crate::outbox::seal::TextSeal;
use crate::place::{Address, KeyNames};
use crate::planner::Moment;
use crate::running::Running;
use crate::table;

/// What a design takes from its surroundings.
pub struct Surroundings {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness for ids, pauses and seals.
    pub entropy: Arc<dyn Entropy>,
    /// The secret that cursors are sealed with. Processes that share it share cursors.
    pub cursor_key: [u8; 32],
    /// How long conflicts are tried again.
    pub patience: Patience,
}

impl Default for Surroundings {
    /// The machine's clock and randomness, and a cursor key of this process alone.
    fn default() -> Self {
        let entropy = SystemEntropy;
        let mut cursor_key = [0; 32];
        entropy.fill(&mut cursor_key);
        Surroundings {
            clock: Arc::new(SystemClock),
            entropy: Arc::new(entropy),
            cursor_key,
            patience: Patience::default(),
        }
    }
}

/// What stands for the text of a design, and the values of its variables.
fn digest(design: &Design) -> String {
    let origin = &design.origin;
    let variables = origin.variables.iter();
    let variables = variables.flat_map(|(name, value)| [name.as_str(), value.as_str()]);
    let texts = [design.name.as_str(), origin.text.as_str()].into_iter();
    secret::bound("design", &texts.chain(variables).collect::<Vec<_>>())
}

/// What reads and writes a store before it is known which tables there are.
pub(crate) fn runner(store: Arc<dyn Store>, surroundings: &Surroundings) -> Runner {
    Runner {
        store,
        keys: KeyNames::new([]),
        tokens: surroundings.entropy.clone(),
        entropy: surroundings.entropy.clone(),
        patience: surroundings.patience,
        clock: surroundings.clock.clone(),
        sidecar: None,
        gate: Gate::default(),
        spots: None,
    }
}

/// A design on a store.
pub struct Partita {
    pub(crate) blueprint: Blueprint,
    /// What cursors and ids of feeds are bound to: another text has other rules or other keys.
    pub(crate) served_text: String,
    pub(crate) runner: Runner,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seal: Arc<CursorSeal>,
    /// Bytes of outcomes under idempotency keys that are kept of one caller and hour.
    pub(crate) outcome_bytes_per_hour: u64,
    /// Keeps the bytes of files, where they are kept here.
    pub(crate) objects: Option<Arc<dyn Objects>>,
    /// What this process knows of the outbox.
    pub(crate) outbox: Arc<Outbox>,
    /// What this process has started of schedules.
    pub(crate) schedules_run: Arc<ScheduleCounts>,
    /// Seals the texts of mails.
    pub(crate) text_seal: Arc<TextSeal>,
    /// Wakes the workers when there is a job.
    pub(crate) has_jobs: Arc<Notify>,
    /// What this process calls itself on the leases of jobs that it works on as they come. It is the
    /// same in every stage of a migration.
    pub(crate) worker: Arc<OnceLock<String>>,
    /// What sessions and links are bound to beside their account, since the store was restored.
    pub(crate) era: Option<String>,
    /// Whether schedules wait.
    pub(crate) is_paused: Arc<AtomicBool>,
    /// Why it is another design than the one that was to be inspected.
    note: Option<String>,
    /// A mistake that tests must notice: what a chunk does and how far the job is are apart.
    #[cfg(test)]
    pub(crate) is_defective: bool,
    /// Another one: messages are delivered before the transaction that records them is committed.
    #[cfg(test)]
    pub(crate) hasty: Option<Arc<dyn crate::outbox::Transport>>,
}

impl Partita {
    /// Opens a design on a store, and creates its tables if they are not there. Time and randomness
    /// are the machine's, and only this process can read the cursors.
    ///
    /// The design is recorded beside its data. One that stored items would have to follow in what
    /// differs from the recorded one is refused. So are tables with items that no design is recorded
    /// for: [`Partita::take_over`].
    pub async fn open(design: Design, store: Arc<dyn Store>) -> Result<Self, PlanError> {
        Partita::open_with(design, store, Surroundings::default()).await
    }

    /// As [`Partita::open`], with a clock, randomness, a secret for cursors and a patience of one's
    /// own: processes that share the secret share cursors.
    pub fn open_with(
        design: Design,
        store: Arc<dyn Store>,
        surroundings: Surroundings,
    ) -> Running<'static, Self> {
        let opened = Partita::open_where(design, store, surroundings, Unrecorded::Refused);
        Box::pin(opened)
    }

    /// As [`Partita::open_with`], of tables with items that no design is recorded for, because version
    /// 0.1.0 or another program wrote them. Indexes that the tables lack are added, and the items are
    /// taken to follow the design from now on: see first, with [`Partita::verify`] of what
    /// [`Partita::inspect`] opens, that they do, and that nobody else writes.
    pub fn take_over(
        design: Design,
        store: Arc<dyn Store>,
        surroundings: Surroundings,
    ) -> Running<'static, Self> {
        let opened = Partita::open_where(design, store, surroundings, Unrecorded::TakenOver);
        Box::pin(opened)
    }

    async fn open_where(
        design: Design,
        store: Arc<dyn Store>,
        surroundings: Surroundings,
        unrecorded: Unrecorded,
    ) -> Result<Self, PlanError> {
        let runner = runner(store, &surroundings);
        let mut start = Start::default();
        // Another process may record the design first, which is no reason to give up.
        let mut attempts = runner.attempts_of(runner.patience.attempts.max(2));
        loop {
            let settled = live::settle(design.clone(), &runner, &mut start, unrecorded).await?;
            let blueprint = settled.blueprint()?;
            if settled.is_taken_over() {
                table::prepare_adoption(&settled.design, &*runner.store).await?;
            } else {
                table::prepare(&settled.design, &*runner.store).await?;
            }
            match live::record(&settled, &runner, &*surroundings.clock).await? {
                Written::Done => {
                    if let Some(note) = &settled.note {
                        tracing::warn!("{note}");
                    }
                    let partita = Partita::assemble(blueprint, runner.clone(), surroundings);
                    partita.note_channels().await?;
                    return Ok(partita);
                }
                Written::Taken | Written::Unsure => attempts.again(PlanError::Conflict).await?,
            }
        }
    }

    /// Takes a store as it is: nothing is created or recorded. A design that stored items would
    /// have to follow in what differs from the recorded one is refused. For looking, with
    /// [`Partita::can`] and [`Partita::preview`], and for [`Partita::verify`].
    pub async fn inspect(
        design: Design,
        store: Arc<dyn Store>,
        surroundings: Surroundings,
    ) -> Result<Self, PlanError> {
        let runner = runner(store, &surroundings);
        let mut start = Start::default();
        let settled = live::settle(design, &runner, &mut start, Unrecorded::Looked).await?;
        let blueprint = settled.blueprint()?;
        Ok(Partita {
            note: settled.note,
            ..Partita::assemble(blueprint, runner, surroundings)
        })
    }

    /// As [`Partita::inspect`], of the design that the data in these tables follow. The given one
    /// only says which tables are meant.
    pub async fn inspect_live(
        given: Design,
        store: Arc<dyn Store>,
        surroundings: Surroundings,
    ) -> Result<Self, PlanError> {
        let runner = runner(store.clone(), &surroundings);
        let live = live::compiled(&given, &runner).await?;
        Partita::inspect(live, store, surroundings).await
    }

    /// What whoever has named the design should know: that another text is used, and why. Of a design
    /// that was opened the log has it.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    fn assemble(blueprint: Blueprint, runner: Runner, surroundings: Surroundings) -> Self {
        let keys = blueprint.keys.clone();
        let sidecar = Some(blueprint.sidecar.clone());
        let spots = Some(Spots::of(&blueprint.design, &blueprint.tables));
        let sealing_keys = Arc::new(KeyRing::new(surroundings.cursor_key));
        Partita {
            served_text: digest(&blueprint.served),
            blueprint,
            runner: Runner {
                keys,
                sidecar,
                spots,
                ..runner
            },
            clock: surroundings.clock,
            seal: Arc::new(CursorSeal::new(sealing_keys.clone())),
            outcome_bytes_per_hour: BYTES_PER_HOUR,
            objects: None,
            outbox: Arc::default(),
            schedules_run: Arc::default(),
            text_seal: Arc::new(TextSeal::new(sealing_keys)),
            has_jobs: Arc::default(),
            worker: Arc::default(),
            era: None,
            is_paused: Arc::default(),
            note: None,
            #[cfg(test)]
            is_defective: false,
            #[cfg(test)]
            hasty: None,
        }
    }

    /// Has writes pass a gate that others share, so that none is under way while the stage of a
    /// migration moves. The gate is of before the design was opened.
    #[must_use]
    pub fn behind(mut self, gate: Gate) -> Self {
        self.runner.gate = gate;
        self
    }

    /// Seals cursors and texts with keys that can be replaced, instead of the one of its
    /// surroundings.
    #[must_use]
    pub fn sealing_with(mut self, keys: &Arc<KeyRing<[u8; 32]>>) -> Self {
        self.seal = Arc::new(CursorSeal::new(keys.clone()));
        self.text_seal = Arc::new(TextSeal::new(keys.clone()));
        self
    }

    /// Has sessions and links bound to an era. Those of before it, or of another one, are void.
    #[must_use]
    pub fn in_era(mut self, era: Option<String>) -> Self {
        self.era = era;
        self
    }

    /// Has schedules wait while this is true. Jobs go on, because writes have left them.
    #[must_use]
    pub fn pausing_with(mut self, is_paused: Arc<AtomicBool>) -> Self {
        self.is_paused = is_paused;
        self
    }

    /// The same design on the same store in another stage of a migration.
    pub(crate) fn at_stage(&self, blueprint: Blueprint, gate: Gate) -> Self {
        let runner = Runner {
            keys: blueprint.keys.clone(),
            sidecar: Some(blueprint.sidecar.clone()),
            spots: Some(Spots::of(&blueprint.design, &blueprint.tables)),
            gate,
            ..self.runner.clone()
        };
        Partita {
            served_text: digest(&blueprint.served),
            blueprint,
            runner,
            clock: self.clock.clone(),
            seal: self.seal.clone(),
            outcome_bytes_per_hour: self.outcome_bytes_per_hour,
            objects: self.objects.clone(),
            outbox: self.outbox.clone(),
            schedules_run: self.schedules_run.clone(),
            text_seal: self.text_seal.clone(),
            has_jobs: self.has_jobs.clone(),
            worker: self.worker.clone(),
            era: self.era.clone(),
            is_paused: self.is_paused.clone(),
            note: None,
            #[cfg(test)]
            is_defective: self.is_defective,
            #[cfg(test)]
            hasty: self.hasty.clone(),
        }
    }

    /// Draws the tokens of transactions from another source than ids.
    ///
    /// DynamoDB takes a transaction whose token it has seen in the last ten minutes for one that is
    /// carried out. A test that draws the same ids twice must not draw the same tokens twice.
    #[must_use]
    pub fn with_tokens_from(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.runner.tokens = entropy;
        self
    }

    /// Keeps so many bytes of outcomes under idempotency keys of one caller and hour; 32 MB unless
    /// it is said. The keys are divided among 16 parts, each with its share.
    #[must_use]
    pub fn with_outcome_bytes_per_hour(mut self, bytes: u64) -> Self {
        self.outcome_bytes_per_hour = bytes;
        self
    }

    /// Writes what designs have counted at their keys since they were opened.
    pub fn expose_keys<'p>(designs: impl IntoIterator<Item = &'p Partita>, text: &mut Exposition) {
        let spots = designs.into_iter().filter_map(|one| {
            let spots = one.runner.spots.as_deref()?;
            Some((one.design().name.as_str(), spots))
        });
        Spots::expose(spots, text);
    }

    /// The design that is served.
    pub fn design(&self) -> &Design {
        self.blueprint.served()
    }

    /// The time.
    pub fn now_millis(&self) -> i64 {
        self.clock.now_millis()
    }

    pub(crate) fn context<'a>(
        &'a self,
        caller: &'a Caller,
        reads: &'a Reads,
        moment: &'a Moment,
    ) -> Context<'a> {
        Context {
            blueprint: &self.blueprint,
            reads,
            earlier: None,
            caller,
            seal: &self.text_seal,
            now: &moment.now,
            now_millis: moment.now_millis,
        }
    }

    /// Nothing read yet.
    pub(crate) fn reads(&self, moment: &Moment) -> Reads {
        let tables = self.blueprint.tables();
        let expiry = tables.filter_map(|(table, name)| Some((name.clone(), table.ttl.clone()?)));
        Reads::new(expiry.collect(), moment.now_millis)
    }

    /// Nothing read yet, and these items to be read first.
    pub(crate) fn reads_of(&self, moment: &Moment, doubted: Vec<Address>) -> Reads {
        let reads = self.reads(moment);
        doubted.into_iter().for_each(|address| reads.need(address));
        reads
    }

    pub(crate) fn moment(&self) -> Moment {
        let mut random = [0; 16];
        self.runner.entropy.fill(&mut random);
        Moment {
            random: u128::from_le_bytes(random),
            ..self.moment_at(self.clock.now_millis())
        }
    }

    /// A moment for evaluations that make nothing.
    pub(crate) fn moment_at(&self, now_millis: i64) -> Moment {
        Moment {
            now: Value::S(time::format_millis(now_millis)),
            now_millis,
            random: 0,
            first_id: 0,
        }
    }
}
