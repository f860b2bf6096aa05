//! Jobs that are not done: what they will settle is no drift.
//!
//! The sidecar has a row for each job, with its tasks: to whom items of an entity refer by a ref,
//! and whether they follow it or go with it.

use partita_core::expression::KeyCondition;
use partita_core::{Item, Map, Value};
use partita_design::sidecar;
use partita_store::request::{ItemAddress, Query};
use partita_store::table::TableName;
use partita_store::{StoreError, StoreResult};

use crate::layout::Layout;
use crate::reader::Reader;

/// The tasks of all jobs that are not done.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    /// How many jobs there are.
    pub(crate) count: u64,
    /// How many of them could not go on, and have done nothing since.
    pub(crate) stalled: u64,
    tasks: Vec<Task>,
}

#[derive(Debug)]
struct Task {
    job: String,
    kind: String,
    source: String,
    identity: Map,
    entity: String,
    reference: String,
}

/// What a job does to the items that refer to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Their copies follow it.
    Follow,
    /// They go with it, or are cleared of it.
    Release,
}

impl Jobs {
    /// Reads the jobs of a design.
    pub(crate) async fn load(layout: &Layout<'_>, reader: Reader<'_>) -> StoreResult<Jobs> {
        let mut jobs = Jobs::default();
        let table: TableName = sidecar::name(layout.design).parse()?;
        let open = KeyCondition::partition(sidecar::PARTITION, sidecar::OPEN_JOBS);
        let rows = match reader.list(Query::new(table, open)).await {
            // No job was ever recorded.
            Err(StoreError::TableNotFound { .. }) => Vec::new(),
            rows => rows?,
        };
        jobs.count = rows.len() as u64;
        jobs.stalled = rows.iter().filter(|row| is_stalled(row)).count() as u64;
        jobs.tasks.extend(rows.iter().flat_map(tasks));
        Ok(jobs)
    }

    /// The job that will settle what an item of `entity` owes to the target of its ref.
    pub(crate) fn awaited(
        &self,
        layout: &Layout<'_>,
        work: Work,
        entity: &str,
        reference: &str,
        target: Option<&ItemAddress>,
    ) -> Option<String> {
        let word = match work {
            Work::Follow => "follow",
            Work::Release => "release",
        };
        let found = self.tasks.iter().find(|task| {
            let is_meant = task.kind == word && task.entity == entity;
            let leads_there = target.is_none_or(|target| {
                let place = task.place(layout);
                place.is_some_and(|place| place == *target)
            });
            is_meant && task.reference == reference && leads_there
        });
        found.map(|task| task.job.clone())
    }

    /// Whether a job takes care of the states that were kept of an item.
    pub(crate) fn has_history(&self, layout: &Layout<'_>, place: &ItemAddress) -> bool {
        let mut tasks = self.tasks.iter();
        tasks.any(|task| task.kind == "history" && task.place(layout).as_ref() == Some(place))
    }
}

impl Task {
    /// The address of the task's source. The item may be gone by now.
    fn place(&self, layout: &Layout<'_>) -> Option<ItemAddress> {
        let record = layout.design.find_record(&self.source)?;
        layout.address(record, &self.identity)
    }
}

/// Whether a job could not go on, and has done nothing since. That a worker tries it again says
/// nothing: it may fail in a second, and again and again.
fn is_stalled(job: &Item) -> bool {
    job.get("stalled") == Some(&Value::Bool(true))
}

fn tasks(job: &Item) -> Vec<Task> {
    let id = job
        .get(sidecar::SORT)
        .and_then(Value::as_str)
        .unwrap_or_default();
    let Some(Value::L(tasks)) = job.get("tasks") else {
        return Vec::new();
    };
    let tasks = tasks.iter().filter_map(Value::as_map);
    let tasks = tasks.filter_map(|task| {
        let text = |name: &str| Some(task.get(name)?.as_str()?.to_owned());
        Some(Task {
            job: id.to_owned(),
            kind: text("kind")?,
            source: text("source")?,
            identity: task.get("identity")?.as_map()?.clone(),
            // Only those that go over refs have these.
            entity: text("entity").unwrap_or_default(),
            reference: text("reference").unwrap_or_default(),
        })
    });
    tasks.collect()
}
