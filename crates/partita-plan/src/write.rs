//! An operation carried out: planned over what was read, committed, and planned again if something
//! changed meanwhile.
//!
//! ```text
//! perform    names are resolved; what needs a token is refused without one
//! write      up to ten attempts, each with reads of its own
//! attempt      the outcome under an idempotency key, the plan, files, the commit, jobs
//! plan           the plan is evaluated over what was read …
//! settle         … what it lacks is read, and it is evaluated again, until it lacks nothing
//! commit         the transaction is sent; what failed says whether another attempt may pass
//! ```

use partita_store::request::{ReturnValues, TransactAction, TransactWriteItems, UpdateItem};
use partita_store::{ErrorKind, StoreError};

use crate::commit::deferred::Extent;
use crate::commit::diagnosis::Suspect;
use crate::commit::run::{Runner, is_passing, refused};
use crate::commit::{Committed, Step, WritePlan};
use crate::error::PlanError;
use crate::evaluate::Reads;
use crate::hot::HotSpot;
use crate::idempotency::{KEPT_ACTIONS, Once, Remembered};
use crate::load;
use crate::operation::{Answer, Caller, Operation, Reply};
use crate::outbox::row::{is_last, is_recording};
use crate::partita::Partita;
use crate::place::Address;
use crate::planner::Planner;
use crate::request::{NamedItem, Request};
use crate::sidecar;

/// Rounds of reading at most. A path goes through a few refs; only a very deep tree needs more.
const ROUNDS_MAX: usize = 32;

/// How long the same transaction is sent again. A store knows its token for ten minutes only, and
/// the sender may be held up for some of them.
const RESENT_MILLIS_MAX: i64 = 5 * 60_000;

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

impl Partita {
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
        // A large future, which callers need not carry in theirs.
        Box::pin(self.carry_out(caller, operation, once.transpose()?)).await
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
        let moment = self.moment_at(self.clock.now_millis());
        let reads = self.reads(&moment);
        let context = self.context(caller, &reads, &moment);
        Planner::new(context, &moment).admit(&request)
    }

    async fn carry_out(
        &self,
        caller: &Caller,
        operation: Operation,
        once: Option<Once>,
    ) -> Result<Reply, PlanError> {
        self.demand_token(caller, self.verb(&operation)?)?;
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
}

impl Runner {
    /// Evaluates again and again, reading what is missing, until nothing is.
    ///
    /// What an evaluation says while something is missing counts for nothing, refusals included.
    pub(crate) async fn settle<T>(
        &self,
        reads: &mut Reads,
        mut evaluate: impl FnMut(&Reads) -> Result<T, PlanError>,
    ) -> Result<T, PlanError> {
        for _ in 0..ROUNDS_MAX {
            let outcome = evaluate(reads);
            match reads.take_needs() {
                None => return reads.take_refusal().map_or(outcome, Err),
                Some(needs) => {
                    drop(outcome);
                    self.read(reads, needs).await?;
                }
            }
        }
        // Refs and effects have no cycles; only a very deep tree gets here.
        Err(PlanError::TooDeep)
    }

    /// Evaluates a write whole. Where that is too much and `may_leave_job`, it is evaluated again
    /// with a job for what a job can do.
    pub(crate) async fn settle_extent<T>(
        &self,
        reads: &mut Reads,
        may_leave_job: bool,
        mut evaluate: impl FnMut(&Reads, Extent) -> Result<T, PlanError>,
    ) -> Result<T, PlanError> {
        let whole = self.settle(reads, |reads| evaluate(reads, Extent::Whole));
        match whole.await {
            Err(PlanError::TooMuch { .. }) if may_leave_job => {
                self.settle(reads, |reads| evaluate(reads, Extent::WithJob))
                    .await
            }
            planned => planned,
        }
    }

    /// Commits a plan.
    ///
    /// A transaction whose outcome is unknown is sent again, the very same one under the same
    /// token, until the store says what became of it: accepted means that it is done once,
    /// whichever of the attempts did it. A failed condition means that none has done it yet, and
    /// [`Runner::fence`] that none will.
    pub(crate) async fn commit(&self, plan: &WritePlan) -> Result<Committed, PlanError> {
        if plan.steps.is_empty() {
            return Ok(Committed::Done);
        }
        let places = || {
            plan.steps
                .iter()
                .filter_map(|step| self.written(&step.action))
        };
        let _passed = self.gate.pass_to(places).await?;
        if plan.is_tally {
            return self.count(&plan.steps).await;
        }
        let token = self.token();
        let first_millis = self.clock.now_millis();
        let mut in_doubt = false;
        let mut attempts = self.attempts();
        loop {
            let since_millis = self.clock.now_millis().saturating_sub(first_millis);
            if in_doubt && since_millis > RESENT_MILLIS_MAX {
                return Err(PlanError::OutcomeUnknown);
            }
            // Made of the steps each time: a second attempt is rare, a copy kept for it is not.
            let request = TransactWriteItems {
                actions: plan.steps.iter().map(|step| step.action.clone()).collect(),
                token: Some(token.clone()),
            };
            load::begin_write();
            let Err(error) = self.store.transact_write_items(request).await else {
                self.count_written(&plan.steps);
                return Ok(Committed::Done);
            };
            let hot = self.met(&plan.steps, &error);
            match error.kind() {
                ErrorKind::ConditionFailed => {
                    if in_doubt {
                        self.fence(&token).await?;
                    }
                    return Ok(refused(&plan.steps, error)?.at(hot));
                }
                ErrorKind::OutcomeUnknown => in_doubt = true,
                ErrorKind::Conflict | ErrorKind::Retry if in_doubt => {}
                ErrorKind::Conflict | ErrorKind::Retry => {
                    return Ok(Committed::not_yet(error.into()).at(hot));
                }
                _ if in_doubt => return Err(PlanError::OutcomeUnknown),
                _ => return Err(error.into()),
            }
            attempts.again(PlanError::OutcomeUnknown).await?;
        }
    }

    /// Commits steps that are the same whenever they are tried, again while others are met. Says
    /// whether it is done: where a condition does not hold, it will not the next time.
    pub(crate) async fn commit_unless_failed(&self, steps: Vec<Step>) -> Result<bool, PlanError> {
        let plan = WritePlan::aside(steps);
        let mut attempts = self.attempts();
        loop {
            match self.commit(&plan).await? {
                Committed::Done => return Ok(true),
                Committed::NotYet { failed, .. } if !failed.is_empty() => return Ok(false),
                Committed::NotYet { cause, .. } => attempts.again(cause).await?,
            }
        }
    }

    /// Carries out steps that only count, each by itself: the first is what was asked for, the
    /// others are sums over it.
    ///
    /// A tally is counted at least once: where the outcome is unknown, it is counted again.
    async fn count(&self, steps: &[Step]) -> Result<Committed, PlanError> {
        for (at, step) in steps.iter().enumerate() {
            let TransactAction::Update(update) = &step.action else {
                continue;
            };
            match self.count_one(update).await {
                Ok(()) => self.count_written(std::slice::from_ref(step)),
                // Nothing was counted yet, so that all of it can be planned again.
                Err(error) if at == 0 && error.kind() == ErrorKind::ConditionFailed => {
                    return Ok(Committed::NotYet {
                        cause: PlanError::Conflict,
                        failed: vec![at],
                        hot: None,
                    });
                }
                Err(error) if at == 0 => {
                    let hot = self.met(std::slice::from_ref(step), &error);
                    return Err(PlanError::from(error).at(hot));
                }
                Err(_) => {}
            }
        }
        Ok(Committed::Done)
    }

    /// Counts at one item. An addition that met a transaction was not carried out, so it is sent
    /// again: the sums over it would lose it otherwise.
    async fn count_one(&self, update: &UpdateItem) -> Result<(), StoreError> {
        load::begin_write();
        let add = || self.store.update_item(update.clone(), ReturnValues::None);
        self.ask_while(is_passing, add).await.map(drop)
    }
}
