//! A design on a store.

use std::sync::Arc;

use partita_core::{Map, Value};
use partita_design::Design;
use partita_design::design::{Access, Record};
use partita_design::time;
use partita_store::surroundings::{SystemClock, SystemEntropy};
use partita_store::{Clock, Entropy, Store};
use tokio::sync::Notify;

use crate::access::{Asked, Verdict};
use crate::blueprint::Blueprint;
use crate::cursor::CursorSeal;
use crate::error::PlanError;
use crate::evaluate::{Context, ItemScope, Known, Reads};
use crate::files::Objects;
use crate::idempotency::room::BYTES_PER_HOUR;
use crate::idempotency::{KEPT_ACTIONS, Kept, Once};
use crate::input::{self, Input};
use crate::live::{self, Start, Written};
use crate::operation::{Answer, Caller, Operation};
use crate::place::{Address, KeyNames};
use crate::planner::action::is_for;
use crate::planner::later::Extent;
use crate::planner::request::{Change, On, Request};
use crate::planner::{Moment, Planner, WritePlan};
use crate::run::{Committed, Patience, Runner};
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
    /// The machine's clock and randomness, and a cursor key that nobody else has.
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
    /// Several, all or none.
    All(Vec<Request<'a>>),
}

/// What reads and writes a store before it is known which tables there are.
pub(crate) fn runner(store: Arc<dyn Store>, surroundings: &Surroundings) -> Runner {
    Runner {
        store,
        keys: KeyNames::new([]),
        tokens: surroundings.entropy.clone(),
        entropy: surroundings.entropy.clone(),
        patience: surroundings.patience,
    }
}

/// A design on a store.
pub struct Partita {
    pub(crate) blueprint: Blueprint,
    pub(crate) runner: Runner,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seal: CursorSeal,
    /// Bytes of outcomes under idempotency keys that are kept of one caller and hour.
    pub(crate) outcome_bytes_per_hour: u64,
    /// Keeps the bytes of files, where somebody does.
    pub(crate) objects: Option<Arc<dyn Objects>>,
    /// Tells whoever works on jobs that there is one.
    pub(crate) has_jobs: Notify,
    /// A mistake that tests must notice: what a chunk does and how far the job is are apart.
    #[cfg(test)]
    pub(crate) is_defective: bool,
}

impl Partita {
    /// Opens a design on a store, and creates its tables if they are not there. Time and randomness
    /// are the machine's, and nobody else can read the cursors.
    ///
    /// The design is recorded beside its data. One that stored items would have to follow in what
    /// differs from the recorded one is refused.
    pub async fn open(design: Design, store: Arc<dyn Store>) -> Result<Self, PlanError> {
        Partita::open_with(design, store, Surroundings::default()).await
    }

    /// As [`Partita::open`], with a clock, randomness, a secret for cursors and a patience of one's
    /// own: processes that share the secret share cursors.
    pub async fn open_with(
        design: Design,
        store: Arc<dyn Store>,
        surroundings: Surroundings,
    ) -> Result<Self, PlanError> {
        let runner = runner(store, &surroundings);
        let mut start = Start::default();
        for attempt in 0..surroundings.patience.attempts.max(2) {
            let settled = live::settle(design.clone(), &runner, &mut start).await?;
            let blueprint = Blueprint::new(settled.design.clone())?;
            table::prepare(&blueprint, &*runner.store).await?;
            match live::record(&settled, &runner, &*surroundings.clock).await? {
                Written::Done => return Ok(Partita::assemble(blueprint, runner, surroundings)),
                Written::Taken | Written::Unsure => runner.pause(attempt).await,
            }
        }
        Err(PlanError::Conflict)
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
        let blueprint = Blueprint::new(settled.design)?;
        Ok(Partita::assemble(blueprint, runner, surroundings))
    }

    fn assemble(blueprint: Blueprint, runner: Runner, surroundings: Surroundings) -> Self {
        let keys = blueprint.keys.clone();
        Partita {
            blueprint,
            runner: Runner { keys, ..runner },
            clock: surroundings.clock,
            seal: CursorSeal::new(&surroundings.cursor_key),
            outcome_bytes_per_hour: BYTES_PER_HOUR,
            objects: None,
            has_jobs: Notify::new(),
            #[cfg(test)]
            is_defective: false,
        }
    }

    /// Draws what transactions are told apart by from another source than ids.
    ///
    /// DynamoDB takes a transaction whose token it has seen in the last ten minutes for one that is
    /// carried out. So whoever wants the same ids twice must not have the same tokens twice.
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

    /// The design.
    pub fn design(&self) -> &Design {
        &self.blueprint.design
    }

    /// Carries an operation out for a caller.
    pub async fn run(&self, caller: &Caller, operation: Operation) -> Result<Answer, PlanError> {
        self.carry_out(caller, operation, None).await
    }

    /// Refuses a write that the rules do not allow the caller, whatever else is given with it. What
    /// they decide on the item, or on what is still to be given, is decided when the operation is
    /// carried out.
    pub fn admit(&self, caller: &Caller, operation: Operation) -> Result<(), PlanError> {
        // What is wrong with the identity is told with everything else that is wrong.
        let Ok(Some(request)) = self.request(operation) else {
            return Ok(());
        };
        // Nothing is made, so nothing is drawn.
        let moment = self.moment_of(0);
        let reads = self.reads(&moment);
        let context = self.context(caller, &reads, &moment);
        Planner::new(context, &moment).admit(&request)
    }

    pub(crate) async fn carry_out(
        &self,
        caller: &Caller,
        operation: Operation,
        once: Option<Once>,
    ) -> Result<Answer, PlanError> {
        self.demand_token_for(caller, &operation)?;
        match operation {
            Operation::Get {
                entity,
                identity,
                with_deleted,
            } => {
                let on = self.on(&entity, &identity, with_deleted, None)?;
                self.read_one(caller, &on).await
            }
            Operation::Query {
                pattern,
                parameters,
                limit,
                cursor,
            } => {
                let cursor = cursor.as_deref();
                self.query(caller, &pattern, &parameters, limit, cursor)
                    .await
            }
            write => match self.request(write)? {
                Some(request) => {
                    let write = Write::One(request);
                    let answers = self.write(caller, &write, once.as_ref()).await?;
                    Ok(answers.into_iter().next().unwrap_or(Answer::Done))
                }
                None => Ok(Answer::Done),
            },
        }
    }

    /// The write that an operation asks for; a read asks for none.
    pub(crate) fn request(&self, operation: Operation) -> Result<Option<Request<'_>>, PlanError> {
        Ok(Some(match operation {
            Operation::Get { .. } | Operation::Query { .. } => return Ok(None),
            Operation::Create { entity, attributes } => Request::Create {
                entity: self.blueprint.entity(&entity)?,
                given: attributes,
            },
            Operation::Update {
                entity,
                identity,
                changes,
                with_deleted,
                version,
            } => Request::Change {
                on: self
                    .on(&entity, &identity, with_deleted, version)
                    .map_err(|refusal| self.with_faults(refusal, &entity, &changes))?,
                change: Change::Update(changes),
            },
            Operation::Upsert {
                entity,
                identity,
                attributes,
                version,
            } => Request::Upsert {
                entity: self.blueprint.entity(&entity)?,
                on: self
                    .on(&entity, &identity, false, version)
                    .map_err(|refusal| self.with_faults(refusal, &entity, &attributes))?,
                given: attributes,
            },
            Operation::Delete {
                entity,
                identity,
                version,
            } => Request::Change {
                on: self.on(&entity, &identity, false, version)?,
                change: Change::Delete,
            },
            Operation::Restore {
                entity,
                identity,
                version,
            } => Request::Change {
                on: self.on(&entity, &identity, true, version)?,
                change: Change::Restore,
            },
            Operation::Act {
                action,
                entity,
                identity,
                given,
                version,
            } => self.action_on(&action, entity.as_deref(), &identity, given, version)?,
        }))
    }

    /// The item that the parts of an identity name.
    pub(crate) fn on(
        &self,
        entity: &str,
        identity: &[String],
        with_deleted: bool,
        version: Option<i64>,
    ) -> Result<On<'_>, PlanError> {
        let shape = self.blueprint.entity(entity)?;
        Ok(On {
            shape,
            identity: input::identity(shape, identity)?,
            with_deleted,
            version,
        })
    }

    /// A refusal of an identity, with everything that is wrong with the attributes beside it.
    fn with_faults(&self, refusal: PlanError, entity: &str, given: &Map) -> PlanError {
        match (refusal, self.blueprint.entity(entity)) {
            (PlanError::Invalid { mut faults }, Ok(entity)) => {
                let blueprint = &self.blueprint;
                let input = Input { blueprint, entity };
                input.update(given, &Map::new(), &mut faults);
                PlanError::Invalid { faults }
            }
            (refusal, _) => refusal,
        }
    }

    fn action_on(
        &self,
        name: &str,
        record: Option<&str>,
        identity: &[String],
        given: Map,
        version: Option<i64>,
    ) -> Result<Request<'_>, PlanError> {
        let action = self.blueprint.action(name)?;
        let Some(record) = record else {
            return Ok(Request::Found { action, given });
        };
        let shape = self.shape_named(record)?;
        if !is_for(action, shape.id) {
            let name = name.to_owned();
            return Err(PlanError::UnknownAction { name });
        }
        Ok(Request::Change {
            on: On {
                shape,
                identity: input::identity(shape, identity)?,
                with_deleted: false,
                version,
            },
            change: Change::Act { action, given },
        })
    }

    /// The entity or view of that name.
    pub(crate) fn shape_named(&self, record: &str) -> Result<&Record, PlanError> {
        let found = self.blueprint.design.find_record(record);
        found.ok_or_else(|| PlanError::UnknownEntity {
            name: record.to_owned(),
        })
    }

    /// Plans and commits, again from the start whenever what was read has changed meanwhile.
    pub(crate) async fn write(
        &self,
        caller: &Caller,
        write: &Write<'_>,
        once: Option<&Once>,
    ) -> Result<Vec<Answer>, PlanError> {
        let mut last = PlanError::Conflict;
        let mut doubted: Vec<Address> = Vec::new();
        for attempt in 0..self.runner.patience.attempts {
            let mut used = None;
            if let Some(once) = once {
                match self.kept(caller, once).await? {
                    Kept::Answers(answers) => return Ok(answers),
                    Kept::Nothing(room) => used = room,
                }
            }
            let reserved = once.map_or(0, |_| KEPT_ACTIONS);
            let asked = std::mem::take(&mut doubted);
            let plan = match write {
                Write::One(request) => self.plan(caller, request, asked, reserved).await,
                Write::All(requests) => self.plan_all(caller, requests, asked, reserved).await,
            };
            let mut plan = match plan {
                // What was read does not fit together: it was read while others wrote.
                Err(PlanError::Conflict) => {
                    self.runner.pause(attempt).await;
                    continue;
                }
                plan => plan?,
            };
            if let Some(once) = once {
                plan.steps.extend(self.keep(once, &plan.answers, used)?);
                // What is kept is exact, so what is counted must be.
                plan.is_tally = false;
            }
            match self.place(&plan.placements).await {
                // Somebody else is putting a file there; the next plan sees whose it is.
                Err(PlanError::Conflict) => {
                    self.runner.pause(attempt).await;
                    continue;
                }
                placed => placed?,
            }
            match self.runner.commit(&plan).await? {
                Committed::Done => {
                    self.unstage(&plan.placements).await;
                    self.discard(&plan.released).await;
                    self.attend(plan.left).await;
                    return Ok(plan.answers);
                }
                Committed::NotYet { cause, failed } => {
                    last = cause;
                    let steps = failed.into_iter().map(|at| &plan.steps[at]);
                    let places = steps.map(|step| self.blueprint.place_of(&step.action));
                    let sidecar = &self.blueprint.sidecar;
                    doubted.extend(
                        places.filter(|one| one.table != *sidecar || sidecar::is_kept(one)),
                    );
                }
            }
            self.runner.pause(attempt).await;
        }
        Err(last)
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
        let mut reads = self.reads(&moment);
        doubted.into_iter().for_each(|address| reads.need(address));
        let mut extent = Extent::Whole;
        loop {
            let plan = self.runner.settle(&mut reads, |reads| {
                let context = self.context(caller, reads, &moment);
                let planner = Planner::new(context, &moment).with_extent(extent, reserved);
                planner.plan(request)
            });
            match plan.await {
                // What a job can do is left to one then.
                Err(PlanError::TooMuch { .. }) if extent == Extent::Whole => {
                    extent = Extent::WithJob;
                }
                plan => return plan,
            }
        }
    }

    pub(crate) async fn read_one(&self, caller: &Caller, on: &On<'_>) -> Result<Answer, PlanError> {
        let moment = self.moment();
        let mut reads = self.reads(&moment);
        let got = self.runner.settle(&mut reads, |reads| {
            self.found(&self.context(caller, reads, &moment), on)
        });
        got.await
    }

    /// One item, if the caller may see it.
    fn found(&self, context: &Context<'_>, on: &On<'_>) -> Result<Answer, PlanError> {
        let asked = Asked::Access(Access::Read);
        let not_found = |deleted| PlanError::NotFound {
            entity: on.shape.name.to_owned(),
            deleted,
        };
        let known = ItemScope::unguarded(*context, on.shape, &on.identity).known_so_far();
        known.demand_early(asked)?;
        let is_decided = known.verdict(asked) == Verdict::Allowed;
        known.need_live_targets();
        let address = self.blueprint.address(on.shape, &on.identity)?;
        let Known::Found(item) = context.item(&address) else {
            return Err(not_found(false));
        };
        let item = self.blueprint.attributes(on.shape, item)?;
        let scope = ItemScope::unguarded(*context, on.shape, &item);
        if let Err(refusal) = scope.demand(asked) {
            // Where the item decides, a refusal would tell that it is there.
            return Err(match is_decided {
                true => refusal,
                false => not_found(false),
            });
        }
        if scope.is_hidden() {
            return Err(not_found(false));
        }
        if !on.with_deleted && on.shape.is_deleted(&item) {
            return Err(not_found(true));
        }
        Ok(Answer::Record(
            self.blueprint.record(on.shape, scope.shown()),
        ))
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

    pub(crate) fn moment(&self) -> Moment {
        let mut random = [0; 16];
        self.runner.entropy.fill(&mut random);
        self.moment_of(u128::from_le_bytes(random))
    }

    fn moment_of(&self, random: u128) -> Moment {
        let now_millis = self.clock.now_millis();
        Moment {
            now: Value::S(time::format_millis(now_millis)),
            now_millis,
            random,
        }
    }
}
