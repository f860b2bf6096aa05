//! Workers: who takes a job, how it goes on, and when it is done.
//!
//! Any process can work on any job. A lease keeps two from doing the same work twice; what keeps
//! them from doing it twice with effect is the transaction of each chunk, which passes only if
//! the job is where the worker read it and the lease is still the worker's.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use partita_core::expression::KeyCondition;
use partita_core::{Item, Map, Value};
use partita_design::design::ScheduleOver;
use partita_design::time;
use partita_store::ErrorKind;
use partita_store::request::{DeleteItem, Query, Scan, TransactAction};
use partita_store::table::TableName;
use sha2::{Digest as _, Sha256};

use super::chunk::Chunk;
use super::{
    DONE, Job, JobState, JobStatus, LEASE_MILLIS, Lease, OPEN, Progress, Task, Within, Work,
};
use crate::blueprint::Blueprint;
use crate::commit::{Step, WritePlan};
use crate::draft::Refusal;
use crate::error::PlanError;
use crate::evaluate::Listing;
use crate::migration::MigrationError;
use crate::partita::{Failed, Partita};
use crate::place::Address;
use crate::planner::{Moment, Planner};
use crate::react::effect::LeftOut;
use crate::running::Running;
use crate::sidecar;

/// How long a job rests that could not go on.
const REST_MILLIS: i64 = 30_000;

/// Items of a page. Each takes at least one action, and the chunk some of its own; where they take
/// more, the page is cut in halves until it fits.
const PAGE_MAX: usize = 90;

/// Actions of a chunk that are not the planner's: the job moves on.
const OWN_ACTIONS: usize = 1;

/// Where the items of a task are.
enum Rows {
    /// In a list.
    Listed(Listing),
    /// Among all of a table.
    Table(TableName),
}

/// What became of some work on a job.
enum Worked {
    /// There is more to do.
    On,
    /// It is done.
    Done,
    /// It rests, or another worker has it.
    Off,
}

impl Partita {
    /// Works on jobs until none is left that can be worked on: what remains is in the hands of
    /// others, or rests because something went wrong. Answers how many were finished.
    ///
    /// A write whose effects exceed a transaction leaves a job; call this for it, or keep
    /// [`Partita::keep_working`] running.
    pub fn run_jobs(&self) -> Running<'_, usize> {
        Box::pin(self.work_until_idle(self.runner.token()))
    }

    async fn work_until_idle(&self, owner: String) -> Result<usize, PlanError> {
        let mut finished = 0;
        let mut failure = None;
        loop {
            let mut has_worked = false;
            let mut open = VecDeque::from(self.stored_jobs(OPEN).await?);
            while let Some(job) = open.pop_front() {
                let Some(job) = self.claim(job, &owner).await? else {
                    continue;
                };
                has_worked = true;
                match self.work_for(job, &mut open).await {
                    Ok(done) => finished += done,
                    // The other jobs can do nothing about it.
                    Err(error) => failure = Some(error),
                }
            }
            match (has_worked, failure.take()) {
                (true, failed) => failure = failed,
                (false, Some(error)) => return Err(error),
                (false, None) => return Ok(finished),
            }
        }
    }

    /// Works on one job, and ends those of the open ones that would do once more what it has done.
    /// Answers how many are done.
    ///
    /// An item that is renamed again and again leaves a job for each time, and each has everything
    /// follow that refers to the item as it is by then. INVARIANT: a job ends for another one only if
    /// it was read before that one began, so what it follows from was written before.
    async fn work_for(&self, mut job: Job, open: &mut VecDeque<Job>) -> Result<usize, PlanError> {
        let is_whole = job.progress == Progress::default();
        if !self.work(&mut job).await? {
            return Ok(0);
        }
        let mut done = 1;
        if !is_whole || job.progress.left_out.is_some() || job.progress.skipped.is_some() {
            return Ok(done);
        }
        let owner = job.lease_owner().unwrap_or_default().to_owned();
        let all = open.drain(..);
        let (covered, others) = all.partition::<VecDeque<Job>, _>(|one| one.is_covered_by(&job));
        *open = others;
        for job in covered {
            if let Some(mut job) = self.claim(job, &owner).await? {
                self.end(&mut job).await?;
                done += 1;
            }
        }
        Ok(done)
    }

    /// Works on jobs as they come, and never ends. Errors are given to the function; the work goes
    /// on after a while. One task of a process does this at a time.
    pub async fn keep_working(&self, mut failed: impl FnMut(PlanError)) {
        let owner = self.worker.get_or_init(|| self.runner.token());
        if let Err(error) = self.release_jobs(|held_by| held_by == Some(owner)).await {
            failed(error);
        }
        let rest = std::time::Duration::from_millis(REST_MILLIS.unsigned_abs() / 3);
        loop {
            if !self.is_paused.load(Ordering::Relaxed)
                && let Err(error) = self.start_schedules().await
            {
                failed(error);
            }
            if let Err(error) = self.work_until_idle(owner.clone()).await {
                failed(error);
            }
            if let Err(error) = self.keep_promises().await {
                failed(error);
            }
            // Others may leave jobs too, and leases end.
            let _ = tokio::time::timeout(rest, self.has_jobs.notified()).await;
        }
    }

    /// Releases all leases. Call at startup, as the only user of the store.
    pub async fn take_over_jobs(&self) -> Result<(), PlanError> {
        self.release_jobs(|_| true).await
    }

    /// Releases the leases of some owners.
    async fn release_jobs(
        &self,
        is_theirs: impl Fn(Option<&str>) -> bool,
    ) -> Result<(), PlanError> {
        for job in self.stored_jobs(OPEN).await? {
            if job.lease.is_some() && is_theirs(job.lease_owner()) {
                self.give_back(&job, &job.progress, None).await?;
            }
        }
        Ok(())
    }

    /// All jobs: those that are not done, then those that were done in the last days. A job is done
    /// when those are that it has left.
    pub async fn jobs(&self) -> Result<Vec<JobStatus>, PlanError> {
        let (design, now) = (self.design(), self.clock.now_millis());
        let open = self.stored_jobs(OPEN).await?;
        let open = open.iter().map(|job| job.status(design, false, now));
        let mut all: Vec<_> = open.collect();
        let done = self.stored_jobs(DONE).await?;
        let (mut closed, mut still_open) = (Vec::new(), Vec::new());
        for job in &done {
            let mut status = job.status(design, true, now);
            let is_left = |one: &&JobStatus| one.parent.as_ref() == Some(&job.id);
            let left = all.iter().filter(is_left).map(|one| one.state);
            match left.reduce(|one, other| if one == JobState::Running { one } else { other }) {
                Some(state) => {
                    status.state = state;
                    still_open.push(status);
                }
                // It may have ended since those that are open were read.
                None if all.iter().any(|one| one.id == job.id) => {}
                None => closed.push(status),
            }
        }
        all.splice(0..0, still_open);
        all.extend(closed);
        Ok(all)
    }

    /// Refuses to plan with a blueprint that has no place for the work of a job.
    pub(crate) async fn refuse_lost_jobs(&self, next: &Blueprint) -> Result<(), PlanError> {
        let jobs = self.stored_jobs(OPEN).await?;
        let lost = jobs.into_iter().filter(|job| {
            let mut tasks = job.tasks.iter();
            tasks.any(|task| task.within(&self.blueprint).is_some() && task.within(next).is_none())
        });
        let jobs: Vec<String> = lost.map(|job| job.id).collect();
        if jobs.is_empty() {
            Ok(())
        } else {
            Err(MigrationError::Jobs { jobs }.into())
        }
    }

    pub(super) async fn stored_jobs(&self, partition: &str) -> Result<Vec<Job>, PlanError> {
        let keys = KeyCondition::partition(sidecar::PARTITION, partition);
        let mut request = Query::new(self.blueprint.sidecar.clone(), keys);
        let mut jobs = Vec::new();
        loop {
            let page = self.runner.query(&request).await?;
            for item in &page.items {
                jobs.push(Job::read(item)?);
            }
            match page.last_key {
                None => return Ok(jobs),
                last_key => request.start_after = last_key,
            }
        }
    }

    /// Takes a lease, unless there is one or the job rests.
    pub(super) async fn claim(&self, mut job: Job, owner: &str) -> Result<Option<Job>, PlanError> {
        let now = self.clock.now_millis();
        if job.lease.as_ref().is_some_and(|one| one.until_millis > now) {
            return Ok(None);
        }
        let lease = self.lease(owner);
        let claim = job.claim(&self.blueprint.sidecar, &lease, now);
        match self.runner.update(&claim).await {
            Ok(()) => {
                job.lease = Some(lease);
                Ok(Some(job))
            }
            Err(PlanError::Store(error)) if error.kind() == ErrorKind::ConditionFailed => Ok(None),
            Err(PlanError::Conflict) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn lease(&self, owner: &str) -> Lease {
        Lease::new(owner, self.clock.now_millis())
    }

    /// Whether it is time to renew the lease on a job.
    fn is_ending(&self, job: &Job) -> bool {
        let half = self.clock.now_millis().saturating_add(LEASE_MILLIS / 2);
        job.lease
            .as_ref()
            .is_none_or(|lease| lease.until_millis < half)
    }

    /// Works on the jobs that a write has left to be done at once. The write is done; what cannot be
    /// done now is left to the workers. Answers the ids of the jobs that are.
    pub(crate) async fn attend(&self, left: Vec<Job>) -> Vec<String> {
        let mut open = Vec::new();
        for mut job in left {
            let id = job.id.clone();
            let is_done = job.lease.is_some() && self.work(&mut job).await.unwrap_or(false);
            if !is_done {
                self.has_jobs.notify_one();
                open.push(id);
            }
        }
        open
    }

    /// Works on one job as long as it goes on. Answers whether it is done.
    pub(super) async fn work(&self, job: &mut Job) -> Result<bool, PlanError> {
        let mut page_items = PAGE_MAX;
        let mut setbacks = 0;
        loop {
            let chunks = job.progress.chunks;
            match self.step(job, &mut page_items).await {
                // A step past a list without work is no progress: it would be taken again and again.
                Ok(Worked::On) if job.progress.chunks > chunks => setbacks = 0,
                Ok(Worked::On) => {}
                Ok(Worked::Done) => return Ok(true),
                Ok(Worked::Off) => return Ok(false),
                // Another worker may have it now, or it is further than we know.
                Err(error)
                    if (error.may_pass() || error == PlanError::OutcomeUnknown)
                        && setbacks < self.runner.patience.attempts =>
                {
                    setbacks += 1;
                    match self.again(job).await? {
                        Some(read) if read.lease_owner() == job.lease_owner() => *job = read,
                        Some(_) => return Ok(false),
                        None => return Ok(true),
                    }
                }
                Err(error) => {
                    let progress = Progress {
                        last_error: Some(error.to_string()),
                        is_stalled: true,
                        ..job.progress.clone()
                    };
                    // Best effort: without it, the lease ends by itself.
                    let _ = self.rest(job, progress, REST_MILLIS).await;
                    return Err(error);
                }
            }
        }
    }

    /// The job as it is stored now; none if it is done.
    async fn again(&self, job: &Job) -> Result<Option<Job>, PlanError> {
        let address = sidecar::address(&self.blueprint.sidecar, OPEN, &job.id);
        let read = self.runner.read_items(&[address]).await?;
        let item = read.into_iter().flatten().next();
        item.as_ref().map(Job::read).transpose()
    }

    /// One chunk, one query that has come to its end, or the end of all.
    async fn step(&self, job: &mut Job, page_items: &mut usize) -> Result<Worked, PlanError> {
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
    async fn send(&self, steps: Vec<Step>) -> Result<Option<Failed>, PlanError> {
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

    async fn end(&self, job: &mut Job) -> Result<(), PlanError> {
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

    /// Gives a job back, to be taken up after a while.
    async fn rest(&self, job: &Job, progress: Progress, wait_millis: i64) -> Result<(), PlanError> {
        let lease = Lease {
            owner: None,
            until_millis: self.clock.now_millis().saturating_add(wait_millis),
        };
        self.give_back(job, &progress, Some(&lease)).await
    }

    async fn give_back(
        &self,
        job: &Job,
        progress: &Progress,
        lease: Option<&Lease>,
    ) -> Result<(), PlanError> {
        let update = job.release(&self.blueprint.sidecar, progress, lease);
        match self.runner.update(&update).await {
            // An update whose answer was lost has given it back, or another worker has it.
            Err(PlanError::Store(error)) if error.kind() == ErrorKind::ConditionFailed => Ok(()),
            done => done,
        }
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
fn ours(action: TransactAction) -> Step {
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
