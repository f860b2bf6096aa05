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

use crate::blueprint::Blueprint;
use crate::commit::WritePlan;
use crate::commit::diagnosis::Suspect;
use crate::commit::run::{Committed, Patience, Runner};
use crate::cursor::CursorSeal;
use crate::error::PlanError;
use crate::evaluate::{Context, Reads};
use crate::files::Objects;
use crate::hot::{HotSpot, Spots};
use crate::idempotency::room::BYTES_PER_HOUR;
use crate::idempotency::{KEPT_ACTIONS, Once, Remembered};
use crate::job::ScheduleCounts;
use crate::live::{self, Start, Written};
use crate::migration::Gate;
use crate::operation::{Answer, Caller, Operation, Reply};
use crate::outbox::Outbox;
use crate::outbox::row::{is_last, is_recording};
use crate::outbox::seal::TextSeal;
use crate::place::{Address, KeyNames};
use crate::planner::{Moment, Planner};
use crate::request::{NamedItem, Request};
use crate::running::Running;
use crate::sidecar;
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

/// What is committed in one transaction.
pub(crate) enum Write<'a> {
    /// One operation, which may leave a part to a job.
    One(Request<'a>),
    /// Several, all or none, with the refusals of those that cannot be resolved.
    All(Vec<Result<Request<'a>, PlanError>>),
}

/// What became of one attempt to write.
enum Attempt {
    Done(Reply<Vec<Answer>>),
    NotYet(Failed),
}

/// A transaction that was not carried out, and may be when it is planned again.
pub(crate) struct Failed {
    /// The answer if there is no other attempt.
    pub(crate) cause: PlanError,
    /// The items that were not as they were taken to be. The next plan must read them, or it comes
    /// to the same.
    pub(crate) doubted: Vec<Address>,
    /// Where it met others.
    pub(crate) hot: Option<Box<HotSpot>>,
    /// The guards that were not their owners'.
    suspects: Vec<Suspect>,
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
    /// differs from the recorded one is refused.
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
        Box::pin(Partita::adopt(design, store, surroundings))
    }

    async fn adopt(
        design: Design,
        store: Arc<dyn Store>,
        surroundings: Surroundings,
    ) -> Result<Self, PlanError> {
        let runner = runner(store, &surroundings);
        let mut start = Start::default();
        // Another process may record the design first, which is no reason to give up.
        let mut attempts = runner.attempts_of(runner.patience.attempts.max(2));
        loop {
            let settled = live::settle(design.clone(), &runner, &mut start).await?;
            let blueprint = settled.blueprint()?;
            table::prepare(&settled.design, &*runner.store).await?;
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
        let settled = live::settle(design, &runner, &mut Start::default()).await?;
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
        Partita {
            blueprint,
            runner: Runner {
                keys,
                sidecar,
                spots,
                ..runner
            },
            clock: surroundings.clock,
            seal: Arc::new(CursorSeal::new(&surroundings.cursor_key)),
            outcome_bytes_per_hour: BYTES_PER_HOUR,
            objects: None,
            outbox: Arc::default(),
            schedules_run: Arc::default(),
            text_seal: Arc::new(TextSeal::new(&surroundings.cursor_key)),
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

    /// Carries an operation out for a caller.
    pub async fn run(&self, caller: &Caller, operation: Operation) -> Result<Answer, PlanError> {
        Ok(self.perform(caller, operation, None).await?.answer)
    }

    /// As [`Partita::run`], or as [`Partita::run_once`] with a key. Beside the answer are the jobs
    /// that do the rest of the write, if it is larger than a transaction.
    pub async fn perform(
        &self,
        caller: &Caller,
        operation: Operation,
        key: Option<&str>,
    ) -> Result<Reply, PlanError> {
        let once = key.map(|key| Once::new(caller, &operation, key));
        self.execute(caller, operation, once.transpose()?).await
    }

    /// Refuses a write that the rules do not allow the caller, whatever else is given with it. What
    /// they decide on the item, or on what is still to be given, is decided when the operation is
    /// carried out.
    pub fn admit(&self, caller: &Caller, operation: Operation) -> Result<(), PlanError> {
        // The faults of the identity are reported with all others.
        let Ok(Some(request)) = self.request(operation) else {
            return Ok(());
        };
        // Nothing is made, so nothing is drawn.
        let moment = self.moment_of(0);
        let reads = self.reads(&moment);
        let context = self.context(caller, &reads, &moment);
        Planner::new(context, &moment).admit(&request)
    }

    fn execute<'a>(
        &'a self,
        caller: &'a Caller,
        operation: Operation,
        once: Option<Once>,
    ) -> Running<'a, Reply> {
        Box::pin(self.carry_out(caller, operation, once))
    }

    async fn carry_out(
        &self,
        caller: &Caller,
        operation: Operation,
        once: Option<Once>,
    ) -> Result<Reply, PlanError> {
        self.demand_token_for(caller, &operation)?;
        match operation {
            Operation::Get {
                entity,
                identity,
                with_deleted,
            } => {
                let on = NamedItem {
                    with_deleted,
                    ..self.named_item(&entity, &identity)?
                };
                Ok(self.read_one(caller, &on).await?.into())
            }
            Operation::Query {
                pattern,
                parameters,
                limit,
                cursor,
            } => {
                let cursor = cursor.as_deref();
                let page = self.query(caller, &pattern, &parameters, limit, cursor);
                Ok(page.await?.into())
            }
            write => match self.request(write)? {
                Some(request) => {
                    let write = Write::One(request);
                    let reply = self.write(caller, &write, once.as_ref()).await?;
                    Ok(reply.map(|answers| answers.into_iter().next().unwrap_or(Answer::Done)))
                }
                None => Ok(Answer::Done.into()),
            },
        }
    }

    /// Plans and commits, again from the start whenever what was read has changed meanwhile.
    pub(crate) async fn write(
        &self,
        caller: &Caller,
        write: &Write<'_>,
        once: Option<&Once>,
    ) -> Result<Reply<Vec<Answer>>, PlanError> {
        let mut attempts = self.runner.attempts();
        let mut doubted: Vec<Address> = Vec::new();
        let (mut hot, mut suspects) = (None, Vec::new());
        loop {
            let tried = self.attempt(caller, write, once, std::mem::take(&mut doubted));
            let cause = match tried.await {
                Ok(Attempt::Done(reply)) => return Ok(reply),
                Ok(Attempt::NotYet(failed)) => {
                    doubted = failed.doubted;
                    hot = failed.hot;
                    suspects = failed.suspects;
                    failed.cause
                }
                // What was read does not fit together, because it was read while others wrote; or
                // another write puts a file in the same place.
                Err(conflict) if conflict.may_pass() => conflict,
                Err(refusal) => return self.unless_done(caller, once, refusal).await,
            };
            if let Err(cause) = attempts.again(cause).await {
                let cause = self.explain_conflict(cause, &suspects).await;
                return Err(cause.at(hot));
            }
        }
    }

    /// The answer to a write that is refused. Under a key, the same request may have been under way
    /// when this one was planned, and may be what it is refused for.
    async fn unless_done(
        &self,
        caller: &Caller,
        once: Option<&Once>,
        refusal: PlanError,
    ) -> Result<Reply<Vec<Answer>>, PlanError> {
        let Some(once) = once else {
            return Err(refusal);
        };
        match self.kept(caller, once).await? {
            Remembered::Reply(reply) => Ok(reply),
            Remembered::Nothing(_) => Err(refusal),
        }
    }

    /// Plans and commits once. What an attempt before took for granted and was not so is looked at
    /// first.
    async fn attempt(
        &self,
        caller: &Caller,
        write: &Write<'_>,
        once: Option<&Once>,
        doubted: Vec<Address>,
    ) -> Result<Attempt, PlanError> {
        let mut used = None;
        if let Some(once) = once {
            match self.kept(caller, once).await? {
                Remembered::Reply(reply) => return Ok(Attempt::Done(reply)),
                Remembered::Nothing(room) => used = room,
            }
        }
        let reserved = once.map_or(0, |_| KEPT_ACTIONS);
        let mut plan = match write {
            Write::One(request) => self.plan(caller, request, doubted, reserved).await?,
            Write::All(requests) => self.plan_all(caller, requests, doubted, reserved).await?,
        };
        if let Some(once) = once {
            plan.steps.extend(self.keep(once, &plan, used)?);
            // What is kept is exact, so what is counted must be.
            plan.is_tally = false;
        }
        self.place(&plan.placements).await?;
        #[cfg(test)]
        if let Some(transport) = &self.hasty {
            self.deliver_hastily(&**transport, &plan).await;
        }
        if let Some(failed) = self.commit(&plan).await? {
            return Ok(Attempt::NotYet(failed));
        }
        self.unstage(&plan.placements).await;
        self.discard(&plan.released).await;
        Ok(Attempt::Done(Reply {
            jobs: self.attend(plan.left).await,
            answer: plan.answers,
        }))
    }

    /// Commits a plan; answers why it was not carried out, if it can be planned again.
    pub(crate) async fn commit(&self, plan: &WritePlan) -> Result<Option<Failed>, PlanError> {
        let sidecar = &self.blueprint.sidecar;
        let committed = match self.runner.commit(plan).await {
            Err(error) => return Err(self.explain_refusal(error, plan).await),
            Ok(committed) => committed,
        };
        let Committed::NotYet { cause, failed, hot } = committed else {
            let mut actions = plan.steps.iter().map(|step| &step.action);
            if actions.any(|action| is_recording(action, sidecar)) {
                self.outbox.wake();
            }
            return Ok(None);
        };
        let steps = failed.into_iter().filter_map(|at| plan.steps.get(at));
        let suspects = self.suspects(steps.clone());
        let places = steps.map(|step| self.blueprint.place_of(&step.action));
        let is_read =
            |one: &Address| one.table != *sidecar || sidecar::is_kept(one) || is_last(one);
        let doubted = places.filter(is_read).collect();
        Ok(Some(Failed {
            cause,
            doubted,
            hot,
            suspects,
        }))
    }

    /// Plans a write, with room for so many other actions. What an attempt before took for granted
    /// and was not so is looked at first.
    pub(crate) async fn plan(
        &self,
        caller: &Caller,
        request: &Request<'_>,
        doubted: Vec<Address>,
        reserved: usize,
    ) -> Result<WritePlan, PlanError> {
        let moment = self.moment();
        let mut reads = self.reads_of(&moment, doubted);
        let plan = self
            .runner
            .settle_extent(&mut reads, true, |reads, extent| {
                let context = self.context(caller, reads, &moment);
                let planner = Planner::new(context, &moment).with_extent(extent, reserved);
                planner.plan(request)
            });
        plan.await
    }

    /// Reads the item that a caller names.
    pub(crate) async fn read_one(
        &self,
        caller: &Caller,
        on: &NamedItem<'_>,
    ) -> Result<Answer, PlanError> {
        let moment = self.moment();
        let mut reads = self.reads(&moment);
        let read = self.runner.settle(&mut reads, |reads| {
            let context = self.context(caller, reads, &moment);
            Planner::new(context, &moment).read(on)
        });
        read.await
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
        self.moment_of(u128::from_le_bytes(random))
    }

    fn moment_of(&self, random: u128) -> Moment {
        Moment {
            random,
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
