//! Workers: who takes a job, how long, and what becomes of it when it cannot go on.
//!
//! Any process can work on any job. A lease keeps two from doing the same work twice; what keeps
//! them from doing it twice with effect is the transaction of each chunk, which passes only if
//! the job is where the worker read it and the lease is still the worker's.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use partita_core::Item;
use partita_core::expression::KeyCondition;
use partita_store::ErrorKind;
use partita_store::request::Query;

use super::step::PAGE_MAX;
use super::{DONE, Job, JobState, JobStatus, LEASE_MILLIS, Lease, OPEN, Progress};
use crate::blueprint::Blueprint;
use crate::error::PlanError;
use crate::migration::MigrationError;
use crate::partita::Partita;
use crate::place::Place;
use crate::running::Running;
use crate::sidecar;

/// How long a job rests that could not go on.
pub(super) const REST_MILLIS: i64 = 30_000;

/// What became of some work on a job.
pub(super) enum Worked {
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
        let lost = jobs.into_iter().filter(|job| self.is_lost(job, next));
        let jobs: Vec<String> = lost.map(|job| job.id).collect();
        if jobs.is_empty() {
            Ok(())
        } else {
            Err(MigrationError::Jobs { jobs }.into())
        }
    }

    /// The id of the job at a place of the sidecar, if a blueprint has no place for its work.
    pub(crate) fn lost_job(
        &self,
        place: &Place,
        item: &Item,
        next: &Blueprint,
    ) -> Result<Option<String>, PlanError> {
        if place.partition != OPEN {
            return Ok(None);
        }
        let job = Job::read(item)?;
        Ok(self.is_lost(&job, next).then_some(job.id))
    }

    fn is_lost(&self, job: &Job, next: &Blueprint) -> bool {
        let mut tasks = job.tasks.iter();
        tasks.any(|task| match task.within(&self.blueprint) {
            Some(within) => {
                task.within(next).is_none() || within.goes_by_keys_of(&self.blueprint, next)
            }
            None => false,
        })
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

    pub(super) fn lease(&self, owner: &str) -> Lease {
        Lease::new(owner, self.clock.now_millis())
    }

    /// Whether it is time to renew the lease on a job.
    pub(super) fn is_ending(&self, job: &Job) -> bool {
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

    /// Gives a job back, to be taken up after a while.
    pub(super) async fn rest(
        &self,
        job: &Job,
        progress: Progress,
        wait_millis: i64,
    ) -> Result<(), PlanError> {
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
}
