//! Several writes in one transaction: all of them, or none.
//!
//! Each operation is planned as if the ones before it were done: `batch::earlier` shows it what
//! they leave behind. It comes to a transaction of its own; `batch::joined` makes one of all, in
//! which everything that is done to an item is a single action. Two votes on a chapter raise its
//! count by two.
//!
//! What one of its operations would leave to a job does not fit. The only jobs of a batch are
//! those that look once more for items that began to refer to what it removes or changes.

pub(crate) mod earlier;
mod joined;

use partita_core::limits::TRANSACTION_ACTIONS_MAX;

use crate::commit::{Step, WritePlan};
use crate::draft::Refusal;
use crate::error::{BATCH_OPERATIONS_MAX, PlanError, Refused};
use crate::evaluate::{Context, Reads};
use crate::idempotency::Once;
use crate::operation::{Answer, Caller, Operation, Reply};
use crate::partita::Partita;
use crate::place::Address;
use crate::planner::{IDS_EACH, Moment, Planner};
use crate::request::Request;
use crate::room::Room;
use crate::running::Running;
use crate::write::Write;
use earlier::Earlier;
use joined::Joined;

/// Bytes of memory that the answers of a batch take at most. Each shows a whole item, though its
/// operation has changed a few bytes of it.
const ANSWERS_MEMORY_MAX: usize = 64 * 1_048_576;

impl Partita {
    /// Carries several writes out for a caller in one transaction, all of them or none. Each sees
    /// what the ones before it did; the answers are in their order.
    ///
    /// Together they take at most 100 actions, or are refused with their number. What a single
    /// write leaves to a job must fit here. Refusals come as [`PlanError::Batch`], every operation
    /// with all that is wrong with it; after one that is refused, others may be refused because it
    /// was not done.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # use std::sync::Arc;
    /// # use partita_core::{Map, Value};
    /// # use partita_plan::{Caller, Operation, Partita, PlanError};
    /// # let (design, _) = partita_design::check(partita_design::shipped::find("stories").unwrap().source, &|_| None);
    /// # let store = Arc::new(partita_store::ModelStore::default());
    /// # let partita = Partita::open(design.unwrap(), store).await?;
    /// let story = |title: &str| Operation::Create {
    ///     entity: "Story".into(),
    ///     attributes: Map::from([("userId", Value::from("ann")), ("title", Value::from(title))]),
    /// };
    /// let ann = Caller::user("ann");
    /// let answers = partita.run_all(&ann, vec![story("Dune"), story("Emma")]).await?;
    /// assert_eq!(answers.len(), 2);
    /// let refused = partita.run_all(&ann, vec![story("Ulysses"), story("")]).await;
    /// let Err(PlanError::Batch { refusals }) = refused else { unreachable!() };
    /// assert_eq!(refusals[0].position, 1);
    /// # Ok::<(), PlanError>(()) }).unwrap();
    /// ```
    pub async fn run_all(
        &self,
        caller: &Caller,
        operations: Vec<Operation>,
    ) -> Result<Vec<Answer>, PlanError> {
        Ok(self.perform_all(caller, operations, None).await?.answer)
    }

    /// As [`Partita::run_all`], once: the same operations under the same key give the same answers
    /// for a day, and change nothing more.
    pub async fn run_all_once(
        &self,
        caller: &Caller,
        operations: Vec<Operation>,
        key: &str,
    ) -> Result<Vec<Answer>, PlanError> {
        let reply = self.perform_all(caller, operations, Some(key)).await?;
        Ok(reply.answer)
    }

    /// As [`Partita::run_all`], or as [`Partita::run_all_once`] with a key. Beside the answers are
    /// the jobs that do the rest of the writes, if there are any.
    pub fn perform_all<'a>(
        &'a self,
        caller: &'a Caller,
        operations: Vec<Operation>,
        key: Option<&'a str>,
    ) -> Running<'a, Reply<Vec<Answer>>> {
        Box::pin(self.carry_out_all(caller, operations, key))
    }

    async fn carry_out_all(
        &self,
        caller: &Caller,
        operations: Vec<Operation>,
        key: Option<&str>,
    ) -> Result<Reply<Vec<Answer>>, PlanError> {
        let once = key.map(|key| Once::for_all(caller, &operations, key));
        let once = once.transpose()?;
        let write = Write::All(self.requests(caller, operations)?);
        self.write(caller, &write, once.as_ref()).await
    }

    /// Refuses what [`Partita::run_all`] would refuse, as far as a plan shows it, and writes
    /// nothing.
    pub async fn admit_all(
        &self,
        caller: &Caller,
        operations: Vec<Operation>,
    ) -> Result<(), PlanError> {
        let requests = self.requests(caller, operations)?;
        let plan = self.plan_all(caller, &requests, Vec::new(), 0).await;
        plan.map(drop)
    }

    /// The writes that the operations of a batch ask for. What cannot be resolved is refused with
    /// the faults of the others, so all of them are planned.
    fn requests(
        &self,
        caller: &Caller,
        operations: Vec<Operation>,
    ) -> Result<Vec<Result<Request<'_>, PlanError>>, PlanError> {
        let count = operations.len();
        if !(1..=BATCH_OPERATIONS_MAX).contains(&count) {
            return Err(PlanError::BatchSize { count });
        }
        self.demand_tokens(caller, &operations)?;
        let requests = operations.into_iter().map(|operation| {
            let request = self.request(operation)?;
            request.ok_or(PlanError::ReadInBatch)
        });
        Ok(requests.collect())
    }

    /// Refuses what needs a token, before anything else is reported of any operation.
    fn demand_tokens(&self, caller: &Caller, operations: &[Operation]) -> Result<(), PlanError> {
        let operations = operations.iter().enumerate();
        let refusals = operations.filter_map(|(position, operation)| {
            // What cannot be resolved is refused with the faults of the others.
            let verb = self.verb(operation).ok()?;
            let refusal = self.demand_token(caller, verb).err()?;
            Some(Refused::new(position, refusal))
        });
        let refusals: Vec<Refused> = refusals.collect();
        if refusals.is_empty() {
            return Ok(());
        }
        Err(PlanError::Batch { refusals })
    }

    /// Plans several writes as one, with room for so many other actions.
    pub(crate) async fn plan_all(
        &self,
        caller: &Caller,
        requests: &[Result<Request<'_>, PlanError>],
        doubted: Vec<Address>,
        reserved: usize,
    ) -> Result<WritePlan, PlanError> {
        let moment = self.moment();
        let mut reads = self.reads_of(&moment, doubted);
        let plan = self.runner.settle(&mut reads, |reads| {
            self.joined(caller, reads, &moment, requests)
        });
        let plan = plan.await?;
        let actions = plan.steps.len() + reserved;
        if actions > TRANSACTION_ACTIONS_MAX {
            return Err(PlanError::BatchTooLarge { actions });
        }
        Ok(plan)
    }

    /// Evaluates one operation after the other, as far as what was read allows.
    fn joined(
        &self,
        caller: &Caller,
        reads: &Reads,
        moment: &Moment,
        requests: &[Result<Request<'_>, PlanError>],
    ) -> Result<WritePlan, PlanError> {
        let mut earlier = Earlier::default();
        let mut joined = Joined::default();
        let mut answers = Vec::new();
        let mut refusals = Vec::new();
        let (mut placements, mut released) = (Vec::new(), Vec::new());
        let mut left = Vec::new();
        let mut room = Room::new(ANSWERS_MEMORY_MAX);
        for (position, request) in requests.iter().enumerate() {
            let moment = Moment {
                first_id: position as u64 * IDS_EACH,
                ..moment.clone()
            };
            let context = Context {
                earlier: Some(&earlier),
                ..self.context(caller, reads, &moment)
            };
            let plan = match request {
                Ok(request) => Planner::new(context, &moment).plan(request),
                Err(refusal) => Err(refusal.clone()),
            };
            match plan {
                Ok(plan) => {
                    room.spend(plan.answers.iter().map(Answer::memory).sum())?;
                    earlier.learn(&self.blueprint, reads, &plan.steps);
                    answers.extend(plan.answers);
                    placements.extend(plan.placements);
                    released.extend(plan.released);
                    left.extend(plan.left);
                    let steps = plan.steps.into_iter();
                    joined.add(&self.blueprint, reads, steps.map(|step| step.of(position)))?;
                }
                Err(error) => refusals.push(Refused::new(position, within_batch(error))),
            }
        }
        if !refusals.is_empty() {
            return Err(PlanError::Batch { refusals });
        }
        Ok(WritePlan {
            steps: joined.into_steps(),
            answers,
            // What is part of a transaction is exact.
            is_tally: false,
            left,
            placements,
            released,
        })
    }
}

impl Step {
    /// The step as one of an operation of a batch: its refusal says which.
    fn of(mut self, position: usize) -> Step {
        if let Refusal::Final(error) = &self.refusal {
            let refusals = vec![Refused::new(position, (**error).clone())];
            self.refusal = Refusal::of(PlanError::Batch { refusals });
        }
        self
    }
}

/// By itself the write could leave a part of it to a job.
fn within_batch(error: PlanError) -> PlanError {
    match error {
        PlanError::TooMuch { what } => PlanError::TooMuch {
            what: format!("{what}. A batch leaves nothing to a job: do this by itself"),
        },
        error => error,
    }
}
