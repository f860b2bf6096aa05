//! The steps of a job: a page of items, the chunk that does what is to be done to them, and the end.
//!
//! A chunk is one transaction: the work, and how far the job is behind it.

use partita_core::{Item, Map, Value};
use partita_design::design::ScheduleOver;
use partita_design::time;
use partita_store::request::{DeleteItem, Query, Scan, TransactAction};
use partita_store::table::TableName;
use sha2::{Digest as _, Sha256};

use super::chunk::Chunk;
use super::worker::{REST_MILLIS, Worked};
use super::{Job, Progress, Task, Within, Work};
use crate::commit::{Step, WritePlan};
use crate::draft::Refusal;
use crate::error::PlanError;
use crate::evaluate::Listing;
use crate::partita::Partita;
use crate::place::Address;
use crate::planner::{Moment, Planner};
use crate::react::effect::LeftOut;
use crate::sidecar;
use crate::write::Failed;

/// Items of a page. Each takes at least one action, and the chunk some of its own; where they take
/// more, the page is cut in halves until it fits.
pub(super) const PAGE_MAX: usize = 90;

/// Actions of a chunk that are not the planner's: the job moves on.
const OWN_ACTIONS: usize = 1;

/// Where the items of a task are.
enum Rows {
    /// In a list.
    Listed(Listing),
    /// Among all of a table.
    Table(TableName),
}

impl Partita {
    /// One chunk, one query that has come to its end, or the end of all.
    pub(super) async fn step(
        &self,
        job: &mut Job,
        page_items: &mut usize,
    ) -> Result<Worked, PlanError> {
        let Some(task) = job.tasks.get(job.progress.task).cloned() else {
            return self.end_pass(job).await;
        };
        let Some(within) = task.within(&self.blueprint) else {
            let what = task.shown_work();
            let message = format!("the design has no `{what}` of `{}` any more", task.source);
            return self.skip(job, &message).await;
        };
        let Some(listing) = self.listing(&task, within, job.progress.listing)? else {
            job.progress.task += 1;
            job.progress.listing = 0;
            return Ok(Worked::On);
        };
        let page = self.page(&task, &listing, &job.progress, *page_items);
        let page = page.await?;
        let (rows, last_key) = (page.items, page.last_key);
        let mut next = job.progress.behind(last_key);
        let done = self.chunk(job, &task, within, &rows, &next, LeftOut::None);
        match done.await {
            Ok(()) => {
                *page_items = (*page_items * 2).min(PAGE_MAX);
                Ok(Worked::On)
            }
            Err(refusal) if !is_about_items(&refusal) => Err(refusal),
            Err(_) if rows.len() > 1 => {
                *page_items = rows.len().div_ceil(2);
                Ok(Worked::On)
            }
            Err(refusal) => {
                next.last_error = Some(refusal.to_string());
                if self.leave_out(job, &task, within, &rows, &next).await? {
                    return Ok(Worked::On);
                }
                // This one cannot be done now. It is left for the next pass.
                next.refused += 1;
                self.advance(job, next).await?;
                Ok(Worked::On)
            }
        }
    }

    /// Does to the items of a page what is to be done, and moves on.
    pub(super) async fn chunk(
        &self,
        job: &mut Job,
        task: &Task,
        within: Within<'_>,
        rows: &[Item],
        next: &Progress,
        left_out: LeftOut,
    ) -> Result<(), PlanError> {
        let mut attempts = self.runner.attempts();
        let mut doubted: Vec<Address> = Vec::new();
        loop {
            let asked = std::mem::take(&mut doubted);
            let chunk = self.plan_chunk(job, task, within, rows, left_out, asked);
            let chunk = chunk.await?;
            if !chunk.writes() && !self.is_ending(job) {
                job.pass(next.clone());
                return Ok(());
            }
            let next = Progress {
                done: next.done + chunk.done,
                has_moved: next.has_moved || chunk.done > 0,
                is_stalled: next.is_stalled && chunk.done == 0,
                ..next.clone()
            };
            let cause = match self.place(&chunk.placements).await {
                Ok(()) => match self.try_commit(job, chunk.steps, next).await? {
                    None => {
                        self.discard(&chunk.released).await;
                        return Ok(());
                    }
                    Some(failed) => {
                        doubted = failed.doubted;
                        failed.cause
                    }
                },
                // Another file is put there; the next plan sees whose it is.
                Err(error @ PlanError::Conflict) => error,
                Err(error) => return Err(error),
            };
            attempts.again(cause).await?;
        }
    }

    async fn plan_chunk(
        &self,
        job: &Job,
        task: &Task,
        within: Within<'_>,
        rows: &[Item],
        left_out: LeftOut,
        doubted: Vec<Address>,
    ) -> Result<Chunk, PlanError> {
        let moment = job.moment();
        let mut reads = self.reads_of(&moment, doubted);
        // What a single item takes along may itself be too much.
        let may_leave_job = rows.len() == 1;
        let chunk = self
            .runner
            .settle_extent(&mut reads, may_leave_job, |reads, extent| {
                let context = self.context(&job.caller, reads, &moment);
                let mut planner = Planner::new(context, &moment).with_extent(extent, OWN_ACTIONS);
                planner.left_out = left_out;
                planner.deferred.root = Some(job.root().to_owned());
                planner.chunk(&job.id, (job.progress.task, task), within, rows)
            });
        chunk.await
    }

    /// Commits a job's new progress alone, with no other step.
    pub(super) async fn advance(&self, job: &mut Job, next: Progress) -> Result<(), PlanError> {
        let mut attempts = self.runner.attempts();
        while let Some(failed) = self.try_commit(job, Vec::new(), next.clone()).await? {
            attempts.again(failed.cause).await?;
        }
        Ok(())
    }

    /// INVARIANT: what a chunk does and how far the job is then are one transaction.
    async fn try_commit(
        &self,
        job: &mut Job,
        mut steps: Vec<Step>,
        next: Progress,
    ) -> Result<Option<Failed>, PlanError> {
        let lease = self.lease(job.lease_owner().unwrap_or_default());
        let advance = job.advance(&self.blueprint.sidecar, &next, &lease);
        steps.push(ours(advance));
        #[cfg(test)]
        if self.is_defective {
            self.tear_apart(&mut steps).await?;
        }
        let failed = self.send(steps).await?;
        if failed.is_none() {
            job.progress = next;
            job.lease = Some(lease);
        }
        Ok(failed)
    }

    /// Sends a transaction; answers why it was not carried out, if it can be tried again.
    pub(super) async fn send(&self, steps: Vec<Step>) -> Result<Option<Failed>, PlanError> {
        self.commit(&WritePlan::aside(steps)).await
    }

    /// All tasks were gone through once. Items that could not be done are tried again as long as
    /// something else could, which may have been in their way; so are those that an index did not
    /// show yet. When nothing goes on any more, what is refused is left out.
    async fn end_pass(&self, job: &mut Job) -> Result<Worked, PlanError> {
        let progress = &job.progress;
        let is_lacking = progress.refused > 0 || progress.done < job.expected;
        let next = Progress {
            chunks: progress.chunks + 1,
            task: 0,
            listing: 0,
            after: None,
            refused: 0,
            has_moved: false,
            is_stalled: progress.is_stalled && progress.refused > 0,
            ..progress.clone()
        };
        if is_lacking && progress.has_moved {
            self.advance(job, next).await?;
            return Ok(Worked::On);
        }
        if progress.refused > 0 && progress.left_out.is_none() {
            let left_out = Some(0);
            self.advance(job, Progress { left_out, ..next }).await?;
            return Ok(Worked::On);
        }
        if progress.refused > 0 {
            let refused = progress.refused;
            let rest = Progress {
                refused,
                is_stalled: true,
                ..next
            };
            self.rest(job, rest, REST_MILLIS).await?;
            return Ok(Worked::Off);
        }
        if let Some(wait_millis) = self.look_again_after(job) {
            let looks = progress.looks + 1;
            let rest = Progress { looks, ..next };
            self.rest(job, rest, wait_millis).await?;
            return Ok(Worked::Off);
        }
        self.end(job).await?;
        Ok(Worked::Done)
    }

    /// How long to wait before another pass: an index may lack an item that referred before the
    /// write. Each wait begins when a pass has ended, which is after the write by any clock; the
    /// second is for a worker whose clock was wrong.
    fn look_again_after(&self, job: &Job) -> Option<i64> {
        let delay = self.runner.store.index_delay_millis();
        let waits = [delay, delay.saturating_mul(2)];
        let wait = waits.get(job.progress.looks).copied();
        wait.filter(|wait| *wait > 0 && job.goes_by_index(&self.blueprint))
    }

    pub(super) async fn end(&self, job: &mut Job) -> Result<(), PlanError> {
        let sidecar = &self.blueprint.sidecar;
        let mut progress = job.progress.clone();
        // Why something was left out is kept.
        if progress.left_out.unwrap_or(0) == 0 {
            progress.last_error = progress.skipped.clone();
        }
        let ending = job.end(sidecar, &progress, self.clock.now_millis());
        let mut steps: Vec<Step> = ending.into_iter().map(ours).collect();
        for hold in self.holds(job)? {
            let delete = DeleteItem {
                table: sidecar.clone(),
                key: hold,
                condition: None,
                return_item_on_failure: false,
            };
            steps.push(ours(TransactAction::Delete(delete)));
        }
        let mut attempts = self.runner.attempts();
        while self.send(steps.clone()).await?.is_some() {
            attempts.again(PlanError::Conflict).await?;
        }
        Ok(())
    }

    /// What was held for the job, each once.
    fn holds(&self, job: &Job) -> Result<Vec<Item>, PlanError> {
        let mut holds: Vec<Item> = Vec::new();
        for task in &job.tasks {
            for address in task.held(&self.blueprint)? {
                let hold = sidecar::hold(&self.blueprint.sidecar, &address);
                let hold = sidecar::key_at(&hold);
                if !holds.contains(&hold) {
                    holds.push(hold);
                }
            }
        }
        Ok(holds)
    }

    /// Leaves a task out that cannot be done any more.
    async fn skip(&self, job: &mut Job, message: &str) -> Result<Worked, PlanError> {
        let next = Progress {
            chunks: job.progress.chunks + 1,
            task: job.progress.task + 1,
            listing: 0,
            after: None,
            last_error: Some(message.to_owned()),
            skipped: Some(message.to_owned()),
            ..job.progress.clone()
        };
        self.advance(job, next).await?;
        Ok(Worked::On)
    }

    fn listing(
        &self,
        task: &Task,
        within: Within<'_>,
        number: usize,
    ) -> Result<Option<Rows>, PlanError> {
        let blueprint = &self.blueprint;
        let all: Vec<Listing> = match (within, &task.work) {
            (Within::Schedule(within), _) => match within.schedule.over {
                ScheduleOver::Entity(record) => {
                    let (_, table) = blueprint.table_of(&blueprint.design[record]);
                    let whole = (number == 0).then(|| Rows::Table(table.clone()));
                    return Ok(whole);
                }
                ScheduleOver::Pattern { pattern, .. } => {
                    let pattern = &blueprint.design[pattern];
                    let listing = blueprint.listing(pattern, &Map::new())?;
                    listing.into_iter().collect()
                }
            },
            (Within::Referring(within), _) => within.listings(blueprint, &task.identity)?,
            (Within::Each(within), Work::Each(work)) => {
                let listing = blueprint.listing(within.pattern, &work.parameters)?;
                listing.into_iter().collect()
            }
            (Within::Apply(within), Work::Apply(work)) => {
                let listing = blueprint.listing(within.pattern, &work.parameters)?;
                listing.into_iter().collect()
            }
            (Within::History { source, view }, _) => {
                let listing = blueprint.states_of(view, source, &task.identity)?;
                listing.into_iter().collect()
            }
            _ => Vec::new(),
        };
        Ok(all.into_iter().nth(number).map(Rows::Listed))
    }

    /// The next items. From the last to the first, because what refers to others of its kind was
    /// mostly created after them, and must go before them; only an effect, of which the first
    /// element may be the one that counts, goes from the first to the last.
    async fn page(
        &self,
        task: &Task,
        rows: &Rows,
        progress: &Progress,
        limit: usize,
    ) -> Result<partita_store::request::Page<Item>, PlanError> {
        let start_after = progress.after.clone();
        match rows {
            Rows::Listed(listing) => {
                let request = Query {
                    limit: Some(limit),
                    start_after,
                    ..listing.query(!matches!(task.work, Work::Each(_) | Work::Schedule(_)))
                };
                self.runner.query(&request).await
            }
            Rows::Table(table) => {
                let request = Scan {
                    limit: Some(limit),
                    start_after,
                    consistent: true,
                    ..Scan::new(table.clone())
                };
                self.runner.scan(&request).await
            }
        }
    }
}

#[cfg(test)]
impl Partita {
    /// The defect: the work in one transaction, and how far the job is in another.
    async fn tear_apart(&self, steps: &mut Vec<Step>) -> Result<(), PlanError> {
        let advance = steps.pop();
        if !steps.is_empty() {
            self.send(std::mem::take(steps)).await?;
        }
        steps.extend(advance);
        Ok(())
    }
}

impl Progress {
    /// How far a job is behind a page that ends at a key, or with its list.
    fn behind(&self, last_key: Option<Item>) -> Progress {
        Progress {
            chunks: self.chunks + 1,
            listing: self.listing + usize::from(last_key.is_none()),
            after: last_key,
            // What a rest shows was refused in the pass before it.
            refused: if self.is_at_start() { 0 } else { self.refused },
            ..self.clone()
        }
    }
}

impl Job {
    /// Goes on where there was nothing to do. That is not worth a write: the next worker finds
    /// nothing there again.
    fn pass(&mut self, next: Progress) {
        self.progress = Progress {
            chunks: self.progress.chunks,
            ..next
        };
    }

    /// The time of the write, and ids that follow from the job and how far it is: a chunk
    /// that is tried again comes to the same.
    fn moment(&self) -> Moment {
        let mut hash = Sha256::new();
        hash.update(self.seed.as_bytes());
        hash.update(self.progress.chunks.to_le_bytes());
        let mut random = [0; 16];
        random.copy_from_slice(&hash.finalize()[..16]);
        Moment {
            now: Value::S(time::format_millis(self.created_millis)),
            now_millis: self.created_millis,
            random: u128::from_le_bytes(random),
            first_id: 0,
        }
    }
}

/// A step that fails when the job is not ours any more.
pub(super) fn ours(action: TransactAction) -> Step {
    Step {
        action,
        refusal: Refusal::of(PlanError::Conflict),
    }
}

/// Whether a refusal is about the items of a chunk, and not about the store or other writers.
pub(super) fn is_about_items(refusal: &PlanError) -> bool {
    !matches!(
        refusal,
        PlanError::Conflict
            | PlanError::Drift { .. }
            | PlanError::Hot(_)
            | PlanError::OutcomeUnknown
            | PlanError::Store(_)
            | PlanError::Objects(_)
    )
}
