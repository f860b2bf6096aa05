//! What is refused for good: the write that it follows from is acknowledged, and its job comes to its
//! end without it.

use partita_core::Item;
use partita_design::kernel::Does;

use super::step::is_about_items;
use super::{Job, Progress, Referrers, Task, Within};
use crate::error::PlanError;
use crate::partita::Partita;
use crate::react::effect::LeftOut;

impl Partita {
    /// Goes past one item without what is refused, if the job is that far. Says whether it did.
    ///
    /// An item of a cascade goes without an effect, or its own refs stay; without all of them, if
    /// leaving out one is not enough. An effect, an action or a copy is left out itself. What a
    /// cascade itself removes, and what was kept of an item, waits: nobody would find it any more.
    pub(super) async fn leave_out(
        &self,
        job: &mut Job,
        task: &Task,
        within: Within<'_>,
        rows: &[Item],
        next: &Progress,
    ) -> Result<bool, PlanError> {
        let left_out = match (within, job.progress.left_out) {
            // The item gets its turn again in the next period.
            (Within::Schedule(_), known) => known.unwrap_or(0),
            (_, Some(left_out)) => left_out,
            (_, None) => return Ok(false),
        };
        let next = Progress {
            left_out: Some(left_out + 1),
            is_stalled: false,
            ..next.clone()
        };
        match within {
            Within::History { .. } => Ok(false),
            Within::Referring(who) if task.is_released() => {
                self.release_without(job, task, who, rows, &next).await
            }
            Within::Referring(_) | Within::Each(_) | Within::Apply(_) | Within::Schedule(_) => {
                self.advance(job, next).await?;
                Ok(true)
            }
        }
    }

    /// Does a part of a cascade without as little as possible.
    async fn release_without(
        &self,
        job: &mut Job,
        task: &Task,
        who: Referrers<'_>,
        rows: &[Item],
        next: &Progress,
    ) -> Result<bool, PlanError> {
        let reactions = self.blueprint.design.reactions.of(who.entity.id).iter();
        let effects = reactions.filter_map(|one| match one.does {
            Does::Operate(effect) => Some(LeftOut::One(effect)),
            _ => None,
        });
        let within = Within::Referring(who);
        for left_out in effects.chain([LeftOut::Clearing, LeftOut::All]) {
            match self.chunk(job, task, within, rows, next, left_out).await {
                Ok(()) => return Ok(true),
                Err(refusal) if !is_about_items(&refusal) => return Err(refusal),
                Err(_) => {}
            }
        }
        Ok(false)
    }
}
