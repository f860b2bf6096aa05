//! A job that does not go on, given up by the operator.

use super::step::ours;
use super::{DroppedJob, Job, JobState, OPEN, Progress};
use crate::error::PlanError;
use crate::partita::Partita;
use crate::sidecar;

impl Partita {
    /// Ends a job that does not go on, with whatever it has not done left undone for good. What it
    /// clears up behind stays held, so that nothing is created where its leftovers would be taken for
    /// those of another item.
    pub async fn drop_job(&self, id: &str) -> Result<DroppedJob, PlanError> {
        let (design, sidecar) = (self.design(), &self.blueprint.sidecar);
        let address = sidecar::address(sidecar, OPEN, id);
        let mut attempts = self.runner.attempts();
        loop {
            let read = self.runner.read_items(std::slice::from_ref(&address));
            let Some(item) = read.await?.into_iter().flatten().next() else {
                return Ok(DroppedJob::Missing);
            };
            let job = Job::read(&item)?;
            let now = self.clock.now_millis();
            let status = job.status(design, false, now);
            if !status.is_stalled || status.state == JobState::Running {
                return Ok(DroppedJob::GoesOn);
            }
            let why = job.progress.last_error.as_deref().unwrap_or_default();
            let progress = Progress {
                last_error: Some(format!("it was dropped: {why}")),
                ..job.progress.clone()
            };
            let ending = job.end(sidecar, &progress, now);
            let steps = ending.into_iter().map(ours).collect();
            match self.send(steps).await? {
                None => return Ok(DroppedJob::Dropped),
                // A worker has taken it up.
                Some(failed) => attempts.again(failed.cause).await?,
            }
        }
    }
}
