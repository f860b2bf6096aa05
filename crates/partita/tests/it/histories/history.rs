//! One history: a prelude, clients who do operations at the same time under faults, a worker who
//! is interrupted, and a look at what they left.

use std::pin::Pin;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use partita_core::Map;
use partita_plan::{
    Answer, Caller, JobState, Operation, Partita, Patience, PlanError, Surroundings,
};
use partita_store::request::ReturnValues;
use partita_store::surroundings::SeededEntropy;
use partita_store::{Clock, ErrorKind, ModelStore, Store, StoreError};
use partita_testkit::{Faults, FaultyStore};
use partita_verify::Collected;

use super::accounts;
use super::cast::{Cast, Notes, notes};
use super::defects::Spoil;
use super::generator::{Generator, Proposal, Scores};
use super::laws;
use super::prelude;
use super::step::{Script, Step};
use super::witness::Witness;
use super::world::World;
use crate::stage;

const FAULTS: Faults = Faults {
    conflict: 0.10,
    throttle: 0.01,
    unknown_outcome: 0.02,
};
/// When histories begin: 2036-01-01, which is not over by the clock of any store.
pub(crate) const START: i64 = 2_082_758_400_000;
pub(crate) const CLIENTS: usize = 6;
/// How often the same request is sent under its key until the answer says what became of it.
const RETRIES: usize = 60;

/// What a history is made of. The same plan gives the same history.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) design: &'static str,
    /// The design's text, where it is in no file.
    pub(crate) text: Option<Arc<str>>,
    pub(crate) seed: u64,
    /// Operations of all clients together.
    pub(crate) operations: usize,
    /// Whether there are items to which more refer than a transaction holds.
    pub(crate) has_crowds: bool,
    pub(crate) spoil: Option<Spoil>,
    /// Whether clients and workers crash.
    pub(crate) has_crashes: bool,
    /// The kinds of operations that are done more often.
    pub(crate) focus: &'static [&'static str],
    /// The operations, where they are not made up.
    pub(crate) script: Option<Script>,
}

impl Plan {
    pub(crate) fn compiled(&self, table: &str) -> partita_design::Design {
        match &self.text {
            Some(text) => stage::compiled(self.design, text, table),
            None => stage::design(self.design, table),
        }
    }
}

/// What became of a history.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) faults: Vec<String>,
    pub(crate) scores: Scores,
    pub(crate) covered: std::collections::BTreeSet<String>,
    pub(crate) script: Script,
    pub(crate) injected: u64,
    pub(crate) crashes: u64,
    pub(crate) chunks: u64,
    /// How often what happened to the servers and their store, by its name.
    pub(crate) weather: Weather,
}

/// How often what happened.
pub(crate) type Weather = std::collections::BTreeMap<&'static str, u64>;

/// A clock that a history moves on.
pub(crate) trait Time: Clock {
    /// Lets time pass.
    fn pass(&self, millis: i64);
}

/// A clock that goes on by a millisecond whenever somebody looks at it.
pub(crate) struct TickingClock(AtomicI64);

impl Time for TickingClock {
    fn pass(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

/// How clients reach the design.
pub(crate) trait Door: Send + Sync {
    /// Has a server do something; none where it crashed on the way, after so many polls if it is
    /// said.
    fn ask<'a>(
        &'a self,
        caller: &'a Caller,
        operation: Operation,
        key: Option<&'a str>,
        crash: Option<u32>,
    ) -> BoxFuture<'a, Option<Result<Answer, PlanError>>>;

    /// What a client does between two operations.
    fn rest(&self) -> BoxFuture<'_, ()>;
}

/// One server on a store with faults.
struct FaultyDoor(Arc<Partita>);

impl Door for FaultyDoor {
    fn ask<'a>(
        &'a self,
        caller: &'a Caller,
        operation: Operation,
        key: Option<&'a str>,
        crash: Option<u32>,
    ) -> BoxFuture<'a, Option<Result<Answer, PlanError>>> {
        let work = async move {
            match key {
                Some(key) => self.0.run_once(caller, operation, key).await,
                None => self.0.run(caller, operation).await,
            }
        };
        Box::pin(interrupted(work, crash.unwrap_or(u32::MAX)))
    }

    fn rest(&self) -> BoxFuture<'_, ()> {
        Box::pin(tokio::task::yield_now())
    }
}

impl Clock for TickingClock {
    fn now_millis(&self) -> i64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// Everything that the clients of a history share.
pub(crate) struct Stage {
    pub(crate) witness: Arc<Witness>,
    /// The store, behind everything that goes wrong.
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Time>,
    pub(crate) cast: Cast,
    pub(crate) notes: Notes,
    /// The design on the store without faults.
    pub(crate) calm: Partita,
    door: Arc<dyn Door>,
    plan: Plan,
    scores: Mutex<Scores>,
    script: Mutex<Script>,
    crashes: AtomicU64,
    /// Items that had expired and were deleted.
    swept: AtomicU64,
    /// Clients who are not done.
    clients: AtomicU64,
}

/// What a stage is made of.
pub(crate) struct Setting {
    pub(crate) witness: Arc<Witness>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Time>,
    pub(crate) calm: Partita,
    pub(crate) door: Arc<dyn Door>,
}

/// Carries a history out on one thread and in memory, so that it replays.
pub(crate) fn run(plan: &Plan) -> Outcome {
    block_on(carry_out(
        plan,
        plan.design,
        Arc::new(ModelStore::default()),
    ))
}

/// Carries a history out in a table of a store. No client crashes: what a store does for a client
/// that is gone would have no witness.
pub(crate) fn run_on(plan: &Plan, table: &str, store: Arc<dyn Store>) -> Outcome {
    block_on(carry_out(plan, table, store))
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap().block_on(work)
}

async fn carry_out(plan: &Plan, table: &str, store: Arc<dyn Store>) -> Outcome {
    let clock = Arc::new(TickingClock(AtomicI64::new(START)));
    let world = World::new(plan.compiled(table));
    let witness = Arc::new(Witness::new(store, world, clock.clone(), plan.spoil));
    let faulty = Arc::new(FaultyStore::new(witness.clone(), FAULTS, plan.seed));
    let calm = open(
        (plan, table),
        witness.clone(),
        &clock,
        plan.seed + 1_000_000,
    );
    let calm = calm.await;
    let server = Arc::new(open((plan, table), faulty.clone(), &clock, plan.seed).await);
    let setting = Setting {
        store: witness.clone(),
        witness,
        clock,
        calm,
        door: Arc::new(FaultyDoor(server.clone())),
    };
    let stage = Arc::new(Stage::new(plan, setting));
    prelude::play(&stage, plan).await;
    let clients = (0..CLIENTS).map(|number| tokio::spawn(client(stage.clone(), number)));
    let clients: Vec<_> = clients.collect();
    let worker = tokio::spawn(worker(stage.clone(), server));
    for client in clients {
        client.await.unwrap();
    }
    worker.await.unwrap();
    stage.settle().await;
    stage.look().await;
    stage.outcome(faulty.injected())
}

async fn open(
    (plan, table): (&Plan, &str),
    store: Arc<dyn Store>,
    clock: &Arc<TickingClock>,
    seed: u64,
) -> Partita {
    let surroundings = Surroundings {
        clock: clock.clone(),
        entropy: Arc::new(SeededEntropy::new(seed)),
        cursor_key: [7; 32],
        patience: Patience {
            attempts: 12,
            pause_millis: 0,
        },
    };
    let design = plan.compiled(table);
    Partita::open_with(design, store, surroundings)
        .await
        .unwrap()
}

/// One client, operation after operation.
pub(crate) async fn client(stage: Arc<Stage>, number: usize) {
    let seed = stage.plan.seed * 1000 + number as u64;
    let mut random = fastrand::Rng::with_seed(seed);
    for count in 0..stage.plan.operations.div_ceil(CLIENTS) {
        let step = match &stage.plan.script {
            Some(script) => script[number].get(count).cloned(),
            None => stage.made_up(&mut random, &format!("{number}-{count}")),
        };
        if let Some(step) = step {
            stage.script()[number].push(step.clone());
            let written = item_of(&step.proposal.operation);
            let caller = step.proposal.caller.clone();
            stage.take(step).await;
            if let Some((entity, identity)) = written {
                stage.read(&caller, entity, identity).await;
            }
        }
        stage.door.rest().await;
    }
    stage.clients.fetch_sub(1, Ordering::SeqCst);
}

/// Works on jobs, and is interrupted again and again; the next worker takes over.
async fn worker(stage: Arc<Stage>, server: Arc<Partita>) {
    let mut random = fastrand::Rng::with_seed(stage.plan.seed * 1000 + 999);
    while stage.is_going_on() {
        let work = server.run_jobs();
        let polls = if stage.plan.has_crashes {
            random.u32(5..300)
        } else {
            u32::MAX
        };
        match interrupted(work, polls).await {
            None => {
                stage.crashes.fetch_add(1, Ordering::SeqCst);
                // The worker is gone; its leases would expire by themselves.
                let _ = server.take_over_jobs().await;
            }
            Some(Ok(_)) => {}
            Some(Err(error)) if is_expected(&error) => {}
            Some(Err(error)) => stage.fault(format!("a job ends with: {error}")),
        }
        for _ in 0..random.u8(10..80) {
            tokio::task::yield_now().await;
        }
    }
}

impl Stage {
    pub(crate) fn new(plan: &Plan, setting: Setting) -> Stage {
        let Setting {
            witness,
            store,
            clock,
            calm,
            door,
        } = setting;
        Stage {
            cast: Cast::of(calm.design()),
            witness,
            store,
            clock,
            calm,
            door,
            notes: notes(plan.design),
            plan: plan.clone(),
            scores: Mutex::default(),
            script: Mutex::new(vec![Vec::new(); CLIENTS]),
            crashes: AtomicU64::new(0),
            swept: AtomicU64::new(0),
            clients: AtomicU64::new(CLIENTS as u64),
        }
    }

    /// Whether a client is not done.
    pub(crate) fn is_going_on(&self) -> bool {
        self.clients.load(Ordering::SeqCst) > 0
    }

    /// Counts a crash.
    pub(crate) fn crashed(&self) {
        self.crashes.fetch_add(1, Ordering::SeqCst);
    }

    /// What became of the history.
    pub(crate) fn outcome(&self, injected: u64) -> Outcome {
        let mut seen = self.witness.seen();
        Outcome {
            faults: std::mem::take(&mut seen.faults),
            scores: std::mem::take(&mut *self.scores()),
            covered: std::mem::take(&mut seen.covered),
            script: std::mem::take(&mut *self.script()),
            injected,
            crashes: self.crashes.load(Ordering::SeqCst),
            chunks: seen.chunks,
            weather: Weather::from([("swept items", self.swept.load(Ordering::SeqCst))]),
        }
    }

    fn scores(&self) -> MutexGuard<'_, Scores> {
        self.scores
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn fault(&self, fault: String) {
        self.witness.seen().faults.push(fault);
    }

    /// The next operation, and what befalls it.
    fn made_up(&self, random: &mut fastrand::Rng, id: &str) -> Option<Step> {
        let seen = self.witness.seen();
        let mut generator = Generator {
            world: &seen.world,
            cast: &self.cast,
            notes: self.notes,
            random,
            now_millis: self.clock.now_millis(),
            favourite: None,
            is_careless: false,
        };
        let proposal = generator.next(&self.scores(), self.plan.focus)?;
        let is_keyed = match &proposal.operation {
            Operation::Act { action, .. } => self.notes.keyed.contains(&action.as_str()),
            _ => false,
        };
        Some(Step {
            proposal,
            key: (is_keyed || random.u8(0..4) > 0).then(|| format!("key-{id}")),
            crash: (random.u8(0..12) == 0)
                .then(|| random.u32(1..12))
                .filter(|_| self.plan.has_crashes),
            again: random.u8(0..25) == 0,
            // Never so long that a store forgets the token of a transaction in doubt.
            wait_millis: match random.u8(0..40) {
                0 => random.i64(1_000..100_000),
                _ => 0,
            },
        })
    }

    /// Does one operation, and again after a crash or an unknown outcome if it has a key.
    async fn take(&self, step: Step) {
        let Proposal {
            kind,
            caller,
            operation,
        } = &step.proposal;
        self.clock.pass(step.wait_millis);
        match step.wait_millis % 4 {
            1 => self.sweep(true).await,
            2 => self.sweep(false).await,
            _ => {}
        }
        if let Some(key) = &step.key {
            self.witness.intend(caller, key, operation);
        }
        let Some(answer) = self.settled(&step).await else {
            return;
        };
        let is_accepted = answer.is_ok();
        {
            let mut scores = self.scores();
            let score = scores.entry(kind.clone()).or_default();
            score.tried += 1;
            score.accepted += u64::from(is_accepted);
            if let Err(error) = &answer {
                *score.refusals.entry(error.to_string()).or_default() += 1;
            }
        }
        if let Err(error) = &answer
            && !is_expected(error)
        {
            self.fault(format!("{step}: {error}"));
        }
        if let (Some(key), Ok(first)) = (&step.key, &answer)
            && step.again
        {
            let second = self.door.ask(caller, operation.clone(), Some(key), None);
            let second = second.await.filter(|second| !is_silent(second));
            if second
                .as_ref()
                .is_some_and(|second| second.as_ref().ok() != Some(first))
            {
                self.fault(format!("{step}: answered {first:?} and then {second:?}"));
            }
        }
        if let Some(key) = &step.key {
            self.took_effect(&step, key, is_accepted);
        }
    }

    /// Reads an item, and holds what is shown against everything that it was meanwhile: what was
    /// replaced before somebody asked is not shown any more.
    async fn read(&self, caller: &Caller, entity: String, identity: Vec<String>) {
        let watched = self.witness.watch(&entity, &identity);
        let get = Operation::Get {
            entity: entity.clone(),
            identity: identity.clone(),
            with_deleted: false,
        };
        let Some(Ok(Answer::Record(shown))) = self.door.ask(caller, get, None, None).await else {
            return;
        };
        if self.is_one_of(&entity, &shown.attributes, &self.witness.states(&watched)) {
            return;
        }
        // A store with threads of its own shows a write before it is noted here.
        self.witness.note_all().await;
        let states = self.witness.states(&watched);
        if !self.is_one_of(&entity, &shown.attributes, &states) {
            let identity = identity.join(" ");
            self.fault(format!(
                "{entity} {identity}: {shown:?} was shown, of {states:?}"
            ));
        }
    }

    fn is_one_of(&self, entity: &str, shown: &Map, states: &[Option<Map>]) -> bool {
        let seen = self.witness.seen();
        let Some(shape) = seen.world.shape(entity) else {
            return true;
        };
        let mut present = states.iter().flatten();
        present.any(|state| laws::shows(shape, state, shown))
    }

    /// Has the store delete what has expired: guards, or what they guard. What others write to, or
    /// there is no capacity for, is left.
    async fn sweep(&self, guards: bool) {
        for delete in self.witness.sweeps(guards) {
            let deleted = self.store.delete_item(delete, ReturnValues::None).await;
            self.swept
                .fetch_add(u64::from(deleted.is_ok()), Ordering::SeqCst);
            let kind = deleted.err().map(|error| error.kind());
            let is_fine = matches!(
                kind,
                None | Some(ErrorKind::ConditionFailed | ErrorKind::Conflict | ErrorKind::Retry)
            );
            assert!(is_fine, "a sweep ends with {kind:?}");
        }
    }

    /// The final answer; none where the client crashed without a key to ask again under.
    async fn settled(&self, step: &Step) -> Option<Result<Answer, PlanError>> {
        let Proposal {
            caller, operation, ..
        } = &step.proposal;
        let mut crash = step.crash;
        let mut answer = None;
        for _ in 0..RETRIES {
            let key = step.key.as_deref();
            let asked = self.door.ask(caller, operation.clone(), key, crash.take());
            answer = asked.await;
            let is_open = match &answer {
                None => {
                    self.crashes.fetch_add(1, Ordering::SeqCst);
                    true
                }
                Some(answer) => is_silent(answer),
            };
            if !is_open || step.key.is_none() {
                return answer;
            }
        }
        answer
    }

    /// Under a key an operation takes effect once if it was accepted, and otherwise never.
    fn took_effect(&self, step: &Step, key: &str, is_accepted: bool) {
        let by = step.proposal.caller.id.clone().unwrap_or_default();
        let effects = self
            .witness
            .seen()
            .effects
            .get(&(by, key.to_owned()))
            .copied();
        let effects = effects.unwrap_or(0);
        if effects != u32::from(is_accepted) {
            self.fault(format!(
                "{step}: took effect {effects} times, accepted: {is_accepted}"
            ));
        }
    }

    /// Finishes all jobs.
    pub(crate) async fn settle(&self) {
        let mut open = Vec::new();
        for _ in 0..20 {
            // Leases and rests are over by then.
            self.clock.pass(60_000);
            if let Err(error) = self.calm.run_jobs().await {
                self.fault(format!("a job ends with: {error}"));
                return;
            }
            open = self.calm.jobs().await.unwrap();
            open.retain(|job| job.state != JobState::Done);
            if open.is_empty() {
                return;
            }
        }
        self.fault(format!("jobs that are never done: {open:?}"));
    }

    /// Holds what is left against all laws, and has it verified.
    pub(crate) async fn look(&self) {
        let mut found = Collected::default();
        let report = self.calm.verify(&mut found).await.unwrap();
        let mut seen = self.witness.seen();
        let drifts = found
            .open
            .iter()
            .map(|(drift, outcome)| format!("{outcome:?}: {drift}"));
        if !report.is_clean()
            || report.awaited > 0
            || report.unrecognised > 0
            || report.unrecognised_attributes > 0
        {
            seen.faults.push(format!("verify: {report:?}"));
            seen.faults.extend(drifts);
        }
        let mut left = laws::left(&seen.world, self.clock.now_millis());
        left.extend(accounts::distinct(&seen.world));
        seen.faults.append(&mut left);
    }
}

/// The item that an operation changes.
fn item_of(operation: &Operation) -> Option<(String, Vec<String>)> {
    match operation {
        Operation::Update {
            entity, identity, ..
        }
        | Operation::Upsert {
            entity, identity, ..
        } => Some((entity.clone(), identity.clone())),
        _ => None,
    }
}

/// Refusals that a client may meet. Anything else is a mistake.
pub(crate) fn is_expected(error: &PlanError) -> bool {
    match error {
        PlanError::Invalid { .. }
        | PlanError::Unauthenticated { .. }
        | PlanError::Forbidden { .. }
        | PlanError::NotFound { .. }
        | PlanError::Exists { .. }
        | PlanError::Taken { .. }
        | PlanError::StaleVersion { .. }
        | PlanError::Requires { .. }
        | PlanError::InUse { .. }
        | PlanError::StillRemoved { .. }
        | PlanError::TooMuch { .. }
        | PlanError::LimitReached { .. }
        | PlanError::NotDeleted { .. }
        | PlanError::Conflict
        // An index does not show all that are counted yet.
        | PlanError::Drift { .. }
        | PlanError::Hot(_)
        | PlanError::OutcomeUnknown => true,
        PlanError::Store(error) => is_passing(error),
        _ => false,
    }
}

/// Whether a store that is far away lacks capacity, or gives no answer to a read.
fn is_passing(error: &StoreError) -> bool {
    let is_lost =
        matches!(error, StoreError::Unavailable { message } if message.starts_with("no answer"));
    is_lost || error.kind() == ErrorKind::Retry
}

/// Whether an answer leaves open what became of the request, or asks to try again.
fn is_silent(answer: &Result<Answer, PlanError>) -> bool {
    match answer {
        Err(
            PlanError::OutcomeUnknown
            | PlanError::Conflict
            | PlanError::Drift { .. }
            | PlanError::Hot(_),
        ) => true,
        Err(PlanError::Store(error)) => is_passing(error),
        _ => false,
    }
}

/// A future that is dropped after so many polls, as if its process had ended.
async fn interrupted<F: Future>(work: F, polls: u32) -> Option<F::Output> {
    Interrupted {
        work: Box::pin(work),
        polls,
    }
    .await
}

struct Interrupted<F> {
    work: Pin<Box<F>>,
    polls: u32,
}

impl<F: Future> Future for Interrupted<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.polls == 0 {
            return Poll::Ready(None);
        }
        self.polls -= 1;
        self.work.as_mut().poll(context).map(Some)
    }
}
