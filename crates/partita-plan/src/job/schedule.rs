//! Schedules: a job for each period, which does an action to every item that is meant.
//!
//! The transaction that records the job also notes the period, so that several servers start it
//! once. Periods that were missed are made up for once, by the one that is running.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use partita_core::expression::{Condition, Path, Update};
use partita_core::{Item, Map, Number, Value};
use partita_design::design::{Action, Chore, Record, Schedule, ScheduleOver, SoftDelete};
use partita_design::{nested, time};
use partita_store::request::{PutItem, TransactAction, UpdateItem};
use partita_store::table::TableName;

use super::{Job, Progress, Task, Work};
use crate::commit::Step;
use crate::error::PlanError;
use crate::evaluate::ListedItem;
use crate::operation::Caller;
use crate::partita::Partita;
use crate::planner::Planner;
use crate::react::each::{DistinctElements, spelled_key};
use crate::sidecar;

/// The partition of what is known of schedules.
const SCHEDULE: &str = "SCHEDULE";
const PERIOD: &str = "period";
const DAY_MILLIS: i64 = 86_400_000;

/// How a schedule is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduleMeters {
    /// Periods that this process has started.
    pub runs: u64,
    /// How late after its beginning the last of them was started.
    pub late_millis: i64,
}

/// What this process has started, by schedule.
pub(crate) type ScheduleCounts = Mutex<BTreeMap<String, ScheduleMeters>>;

/// A schedule, found in the design.
#[derive(Clone, Copy)]
pub(crate) struct Scheduled<'a> {
    pub(crate) schedule: &'a Schedule,
}

impl Partita {
    /// Starts the schedules whose period has begun, as jobs. Answers how many.
    ///
    /// A schedule that was not there before begins with its next period.
    pub async fn start_schedules(&self) -> Result<usize, PlanError> {
        let mut started = 0;
        if !self.design().schedules.is_empty() && self.waits_beside().await?.is_some() {
            return Ok(started);
        }
        for schedule in &self.design().schedules {
            started += usize::from(self.start_schedule(schedule).await?);
        }
        Ok(started)
    }

    async fn start_schedule(&self, schedule: &Schedule) -> Result<bool, PlanError> {
        let sidecar = &self.blueprint.sidecar;
        let began = schedule.every.began_millis(self.clock.now_millis());
        let steps = match self.noted_period(schedule).await? {
            None => vec![first_period(sidecar, schedule, began)],
            Some(noted) if noted >= began => return Ok(false),
            Some(noted) => {
                let job = self.job_of(schedule, began);
                vec![
                    next_period(sidecar, schedule, noted, began),
                    job.put(sidecar),
                ]
            }
        };
        let has_job = steps.len() > 1;
        let steps = steps.into_iter().map(Step::or_stale).collect();
        // Another server may have started it.
        let is_written = self.runner.commit_unless_failed(steps).await?;
        let is_started = is_written && has_job;
        if is_started {
            self.count_run(schedule, began);
        }
        Ok(is_started)
    }

    fn count_run(&self, schedule: &Schedule, began_millis: i64) {
        let all = self.schedules_run.lock();
        let mut all = all.unwrap_or_else(PoisonError::into_inner);
        let meters = all.entry(schedule.name.clone()).or_default();
        meters.runs += 1;
        meters.late_millis = self.clock.now_millis().saturating_sub(began_millis).max(0);
    }

    /// What this process has started, by schedule; all schedules of the design are there.
    pub fn schedule_meters(&self) -> BTreeMap<String, ScheduleMeters> {
        let all = self.schedules_run.lock();
        let all = all.unwrap_or_else(PoisonError::into_inner);
        let names = self.design().schedules.iter().map(|one| &one.name);
        names
            .map(|name| (name.clone(), all.get(name).copied().unwrap_or_default()))
            .collect()
    }

    /// For how long a period of each schedule has begun that nobody has started yet.
    pub async fn schedules_behind(&self) -> Result<BTreeMap<String, i64>, PlanError> {
        let mut all = BTreeMap::new();
        let now = self.clock.now_millis();
        for schedule in &self.design().schedules {
            let began = schedule.every.began_millis(now);
            let noted = self.noted_period(schedule).await?;
            let is_behind = noted.is_some_and(|noted| noted < began);
            let millis = if is_behind { now - began } else { 0 };
            all.insert(schedule.name.clone(), millis);
        }
        Ok(all)
    }

    /// The last period that was started.
    async fn noted_period(&self, schedule: &Schedule) -> Result<Option<i64>, PlanError> {
        let address = sidecar::address(&self.blueprint.sidecar, SCHEDULE, &schedule.name);
        let read = self.runner.read_items(&[address]).await?;
        let noted = read.into_iter().flatten().next();
        Ok(noted.and_then(|row| row.get(PERIOD)?.as_number()?.to_i64()))
    }

    fn job_of(&self, schedule: &Schedule, began_millis: i64) -> Job {
        let now_millis = self.clock.now_millis();
        let moment = self.moment();
        let seed = format!("{} {began_millis} {}", schedule.name, moment.random);
        let period = Value::from(time::format_millis(began_millis));
        Job {
            id: Job::id_of(&seed, now_millis),
            seed,
            root: None,
            created_millis: now_millis,
            caller: Caller::default(),
            tasks: vec![Task {
                source: schedule.name.clone(),
                identity: Map::from([(PERIOD, period)]),
                work: Work::Schedule(schedule.name.clone()),
            }],
            expected: 0,
            progress: Progress::default(),
            lease: None,
        }
    }
}

fn first_period(sidecar: &TableName, schedule: &Schedule, began_millis: i64) -> TransactAction {
    let mut item = sidecar::key(SCHEDULE, &schedule.name);
    item.insert(PERIOD, Value::N(Number::from(began_millis)));
    TransactAction::Put(PutItem {
        condition: Some(sidecar::is_missing()),
        ..PutItem::new(sidecar.clone(), item)
    })
}

fn next_period(
    sidecar: &TableName,
    schedule: &Schedule,
    noted_millis: i64,
    began_millis: i64,
) -> TransactAction {
    let period = || Path::attribute(PERIOD);
    let number = |millis: i64| Value::N(Number::from(millis));
    TransactAction::Update(UpdateItem {
        table: sidecar.clone(),
        key: sidecar::key(SCHEDULE, &schedule.name),
        update: Update::default().setting(period(), number(began_millis)),
        condition: Some(Condition::equals(period(), number(noted_millis))),
        return_item_on_failure: false,
    })
}

impl<'a> Planner<'a> {
    /// Does what a schedule says to those of some rows that are meant. Rules are not asked: the
    /// design itself says so.
    pub(crate) fn schedule_chunk(
        &mut self,
        chunk: (&str, usize),
        within: Scheduled<'a>,
        rows: &[Item],
    ) -> Result<u64, PlanError> {
        match within.schedule.does {
            Chore::Apply(action) => {
                let action = &self.context.blueprint.design[action];
                self.schedule_apply(chunk, within.schedule, action, rows)
            }
            Chore::Purge { after_days } => {
                let record = within.schedule.over.record();
                let record = &self.context.blueprint.design[record];
                self.purge_chunk(record, after_days, rows)
            }
        }
    }

    /// Removes those of some rows for good that were deleted softly so long ago. They are not there
    /// when the chunk is tried again, so that nothing needs to remember them.
    fn purge_chunk(
        &mut self,
        record: &'a Record,
        after_days: u32,
        rows: &[Item],
    ) -> Result<u64, PlanError> {
        let blueprint = self.context.blueprint;
        let (_, table) = blueprint.table_of(record);
        let now = self.moment.now_millis;
        let mut done = 0;
        for row in rows {
            let Some((record, item)) = blueprint.recognise(&[record.id], row) else {
                continue;
            };
            if self.context.reads.is_expired(table, row) || !is_due(record, &item, after_days, now)
            {
                continue;
            }
            let at = self.look_up(record, blueprint.keys.place(table, row))?;
            let item = self.entry(at).after.clone();
            if item.is_some_and(|item| is_due(record, &item, after_days, now)) {
                self.purge(at);
                done += 1;
            }
        }
        Ok(done)
    }

    /// Does the action of a schedule to those of some rows that are meant.
    fn schedule_apply(
        &mut self,
        (job, number): (&str, usize),
        schedule: &'a Schedule,
        action: &'a Action,
        rows: &[Item],
    ) -> Result<u64, PlanError> {
        let mut distinct = DistinctElements::of_job(job, number);
        let mut done = 0;
        for listed in self.scheduled_among(schedule, rows)? {
            let at = self.look_up(listed.record, listed.address.clone())?;
            let Some(item) = self.entry(at).after.clone() else {
                continue;
            };
            let when = schedule.when.as_ref();
            let is_meant = self.evaluate(at, &item, |scope| {
                when.is_none_or(|when| when.holds(&scope))
            })?;
            if !is_meant || !distinct.insert(spelled_key(&listed.address), &self.context) {
                continue;
            }
            self.act(at, action, &Map::new())?;
            done += 1;
        }
        self.mark(distinct.marks);
        Ok(done)
    }

    /// The items among some rows that a schedule goes over; none that are soft-deleted, expired, or
    /// hidden by a live ref.
    fn scheduled_among(
        &mut self,
        schedule: &'a Schedule,
        rows: &[Item],
    ) -> Result<Vec<ListedItem<'a>>, PlanError> {
        let blueprint = self.context.blueprint;
        let record = match schedule.over {
            ScheduleOver::Pattern { pattern, .. } => {
                let pattern = &blueprint.design[pattern];
                return self.meant_among(pattern, &Map::new(), rows);
            }
            ScheduleOver::Entity(record) => record,
        };
        let (_, table) = blueprint.table_of(&blueprint.design[record]);
        let mut found = Vec::new();
        for row in rows {
            if self.context.reads.is_expired(table, row) {
                continue;
            }
            let Some((record, item)) = blueprint.recognise(&[record], row) else {
                continue;
            };
            let is_deleted = record
                .soft_delete
                .as_ref()
                .is_some_and(|one| !one.live().holds(&item));
            if !is_deleted && !self.is_hidden(record, &item)? {
                let address = blueprint.keys.place(table, row);
                found.push(ListedItem {
                    record,
                    item,
                    address,
                });
            }
        }
        Ok(found)
    }
}

/// Whether an item was deleted softly at least so many days ago.
fn is_due(record: &Record, item: &Map, after_days: u32, now_millis: i64) -> bool {
    let Some(SoftDelete::Time(name)) = &record.soft_delete else {
        return false;
    };
    let form = record.stored(name).and_then(|one| one.kind.time_form());
    let deleted = form.zip(nested::get(item, name));
    let deleted = deleted.and_then(|(form, value)| form.read(value));
    deleted.is_some_and(|at| now_millis.saturating_sub(at) >= i64::from(after_days) * DAY_MILLIS)
}

#[cfg(test)]
mod tests;
