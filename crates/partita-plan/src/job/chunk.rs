//! One chunk of a job: what its task does to some of the items that are meant.

use partita_core::Item;
use partita_design::nested;
use partita_store::request::TransactAction;

use super::{Referrers, Task, TaskKind, Within, Work};
use crate::commit::Step;
use crate::draft::EntryId;
use crate::error::PlanError;
use crate::files::Placement;
use crate::place::Address;
use crate::planner::Planner;
use crate::react::referring::places;

/// The transaction of a chunk, without the step that moves the job on.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) steps: Vec<Step>,
    /// How many items it was done to or for.
    pub(crate) done: u64,
    /// Objects that must be in their places before the steps are carried out.
    pub(crate) placements: Vec<Placement>,
    /// Buckets and names of objects that are not needed after that.
    pub(crate) released: Vec<(String, String)>,
}

impl Chunk {
    /// Whether there is anything to do.
    pub(crate) fn writes(&self) -> bool {
        let mut actions = self.steps.iter().map(|step| &step.action);
        actions.any(|action| !matches!(action, TransactAction::Check(_)))
    }
}

impl<'a> Planner<'a> {
    /// Plans what a task does to the items that were found on a page.
    pub(crate) fn chunk(
        mut self,
        job: &str,
        (number, task): (usize, &Task),
        within: Within<'a>,
        rows: &[Item],
    ) -> Result<Chunk, PlanError> {
        let done = match (&task.work, within) {
            (Work::Referring(work), Within::Referring(within)) => {
                self.referring_chunk(work.kind, task, within, rows)?
            }
            (Work::Each(work), Within::Each(within)) => {
                self.each_chunk((job, number), work, within, rows)?
            }
            (Work::Apply(work), Within::Apply(within)) => {
                self.apply_chunk((job, number), work, within, rows)?
            }
            (Work::Schedule(_), Within::Schedule(within)) => {
                self.schedule_chunk((job, number), within, rows)?
            }
            (Work::History(work), Within::History { source, view }) => {
                let to = work.to.as_ref();
                self.history_chunk(source, view, &task.identity, to, rows)?
            }
            _ => 0,
        };
        self.react()?;
        let steps = self.emit()?;
        let (placements, released) = self.files.into_parts();
        Ok(Chunk {
            steps,
            done,
            placements,
            released,
        })
    }

    /// Does something to those of the items that refer to the source.
    fn referring_chunk(
        &mut self,
        kind: TaskKind,
        task: &Task,
        within: Referrers<'a>,
        rows: &[Item],
    ) -> Result<u64, PlanError> {
        let blueprint = self.context.blueprint;
        let address = blueprint.address(within.source, &task.identity)?;
        let source = self.look_up(within.source, address.clone())?;
        let finder = within.target.finder.as_ref();
        let found = finder.map(|finder| places(blueprint, finder, rows));
        let found = found.unwrap_or_default();
        let items = match &within.target.via {
            // A pattern does not find what is gone; what they say must do.
            Some(_) => self.those_naming(task, within, found)?,
            None => self.those_referring(within, &address, found)?,
        };
        match kind {
            TaskKind::Release => self.release_all(source, within, items),
            TaskKind::Follow => Ok(self.catch_up(source, within, items)),
        }
    }

    /// Those of some items whose ref goes by the source's values.
    fn those_naming(
        &mut self,
        task: &Task,
        within: Referrers<'a>,
        found: Vec<Address>,
    ) -> Result<Vec<EntryId>, PlanError> {
        let mut items = Vec::new();
        for place in found {
            let item = self.look_up(within.entity, place)?;
            let Some(now) = self.entry(item).after.clone() else {
                continue;
            };
            let mut refers = true;
            for (number, argument) in within.target.arguments.iter().enumerate() {
                let name = within.argument_source(number);
                let wanted = name.and_then(|name| nested::get(&task.identity, name));
                let named = within.entity.read(&now, &argument.path);
                refers &= wanted.is_some() && wanted == named.as_deref();
                self.entry_mut(item).guard(&argument.path);
            }
            if refers {
                items.push(item);
            }
        }
        Ok(items)
    }

    /// Does to some items what their ref says `on delete`. Answers how many there were.
    fn release_all(
        &mut self,
        source: EntryId,
        within: Referrers<'a>,
        items: Vec<EntryId>,
    ) -> Result<u64, PlanError> {
        // It cannot be created again before the job is done, except by writes past Partita.
        if self.entry(source).after.is_some() {
            return Ok(0);
        }
        let mut done = 0;
        for item in items {
            done += u64::from(self.release_one(item, within)?);
        }
        Ok(done)
    }
}
