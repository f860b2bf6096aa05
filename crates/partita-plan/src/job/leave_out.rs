//! Cascades whose effects are refused: they are acknowledged, and come to their end without them.

use partita_core::Item;
use partita_design::kernel::Does;

use super::worker::is_about_items;
use super::{Job, Progress, Task, Within};
use crate::error::PlanError;
use crate::partita::Partita;
use crate::react::effect::LeftOut;

impl Partita {
    /// Does a part of a cascade without an effect that is refused, if the job is that far; without
    /// any effect, if leaving out one is not enough. Says whether it is done.
    pub(super) async fn leave_out(
        &self,
        job: &mut Job,
        task: &Task,
        within: Within<'_>,
        rows: &[Item],
        next: &Progress,
    ) -> Result<bool, PlanError> {
        let Some(left_out) = job.progress.left_out.filter(|_| task.is_released()) else {
            return Ok(false);
        };
        let next = Progress {
            left_out: Some(left_out + 1),
            ..next.clone()
        };
        let Within::Referring(who) = within else {
            // The effect for one element.
            self.advance(job, next).await?;
            return Ok(true);
        };
        let reactions = self.blueprint.design.reactions.of(who.entity.id).iter();
        let effects = reactions.filter_map(|one| match one.does {
            Does::Operate(effect) => Some(LeftOut::One(effect)),
            _ => None,
        });
        for left_out in effects.chain([LeftOut::All]) {
            match self.chunk(job, task, within, rows, &next, left_out).await {
                Ok(()) => return Ok(true),
                Err(refusal) if !is_about_items(&refusal) => return Err(refusal),
                Err(_) => {}
            }
        }
        Ok(false)
    }
}
