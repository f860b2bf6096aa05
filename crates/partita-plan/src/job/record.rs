//! A job as it is stored in the sidecar table.

use partita_core::expression::{Condition, Path, Update};
use partita_core::{Item, Map, Number, Value};
use partita_store::StoreError;
use partita_store::request::{DeleteItem, PutItem, TransactAction, UpdateItem};
use partita_store::table::TableName;

use super::{
    ApplyWork, EachWork, HistoryWork, Job, Lease, Progress, Referring, Task, TaskKind, Work,
};
use crate::error::PlanError;
use crate::operation::Caller;
use crate::sidecar;
pub(crate) use crate::sidecar::OPEN_JOBS as OPEN;

/// The partition of jobs that are done.
pub(crate) const DONE: &str = "JOB#DONE";

/// How long it can be seen that a job was done.
const KEPT_SECONDS: i64 = 7 * 86_400;

const LEASE_OWNER: &str = "leaseOwner";
const LEASE_UNTIL: &str = "leaseUntil";
const CHUNKS: &str = "chunks";
const LOOKS: &str = "looks";
const STALLED: &str = "stalled";

impl Job {
    /// Records a new job.
    pub(crate) fn put(&self, sidecar: &TableName) -> TransactAction {
        let mut item = sidecar::key(OPEN, &self.id);
        item.extend(self.fixed());
        item.extend(changing(&self.progress, self.lease.as_ref()));
        TransactAction::Put(PutItem {
            condition: Some(sidecar::is_missing()),
            ..PutItem::new(sidecar.clone(), item)
        })
    }

    /// Moves the job on, if it is where it was read and the lease is still ours.
    pub(crate) fn advance(
        &self,
        sidecar: &TableName,
        progress: &Progress,
        lease: &Lease,
    ) -> TransactAction {
        TransactAction::Update(UpdateItem {
            condition: Some(self.is_ours()),
            ..self.update(sidecar, progress, Some(lease))
        })
    }

    /// Ends the job. What is kept of it shows that it was done, if it did something or left something
    /// out.
    pub(crate) fn end(
        &self,
        sidecar: &TableName,
        progress: &Progress,
        now_millis: i64,
    ) -> Vec<TransactAction> {
        let delete = TransactAction::Delete(DeleteItem {
            table: sidecar.clone(),
            key: sidecar::key(OPEN, &self.id),
            condition: Some(self.is_ours()),
            return_item_on_failure: false,
        });
        if progress.done == 0 && progress.last_error.is_none() {
            return vec![delete];
        }
        let mut item = sidecar::key(DONE, &self.id);
        item.extend(self.fixed());
        item.extend(changing(progress, None));
        let expires = now_millis / 1000 + KEPT_SECONDS;
        item.insert(sidecar::EXPIRES.to_owned(), number(expires));
        let kept = PutItem::new(sidecar.clone(), item);
        vec![delete, TransactAction::Put(kept)]
    }

    /// Takes the job, if it has no lease or is ours already.
    pub(crate) fn claim(&self, sidecar: &TableName, lease: &Lease, now_millis: i64) -> UpdateItem {
        let until = Path::attribute(LEASE_UNTIL);
        let is_free = Condition::Any(vec![
            Condition::NotExists(until.clone()),
            Condition::Compare(
                partita_core::expression::Operand::Path(until),
                partita_core::expression::Comparator::LessOrEqual,
                partita_core::expression::Operand::value(number(now_millis)),
            ),
            owned_by(lease.owner.as_deref()),
        ]);
        UpdateItem {
            condition: Some(self.is_as_read().and(is_free)),
            ..self.update(sidecar, &self.progress, Some(lease))
        }
    }

    /// Gives the job back.
    pub(crate) fn release(
        &self,
        sidecar: &TableName,
        progress: &Progress,
        lease: Option<&Lease>,
    ) -> UpdateItem {
        UpdateItem {
            condition: Some(self.is_ours()),
            ..self.update(sidecar, progress, lease)
        }
    }

    fn update(
        &self,
        sidecar: &TableName,
        progress: &Progress,
        lease: Option<&Lease>,
    ) -> UpdateItem {
        let values = changing(progress, lease);
        let mut update = Update::default();
        for name in CHANGING {
            let path = Path::attribute(name);
            match values.get(name) {
                Some(value) => update = update.setting(path, value.clone()),
                None => update.remove.push(path),
            }
        }
        UpdateItem {
            table: sidecar.clone(),
            key: sidecar::key(OPEN, &self.id),
            update,
            condition: None,
            return_item_on_failure: false,
        }
    }

    /// It is where it was read.
    fn is_as_read(&self) -> Condition {
        Condition::equals(Path::attribute(CHUNKS), count(self.progress.chunks))
    }

    fn is_ours(&self) -> Condition {
        self.is_as_read().and(owned_by(self.lease_owner()))
    }

    /// What never changes.
    fn fixed(&self) -> Map {
        let mut map = Map::from([
            ("seed".to_owned(), Value::from(self.seed.as_str())),
            ("created".to_owned(), number(self.created_millis)),
            ("expected".to_owned(), count(self.expected)),
        ]);
        for (name, text) in [
            ("root", &self.root),
            ("caller", &self.caller.id),
            ("callerRole", &self.caller.role),
        ] {
            map.extend(
                text.iter()
                    .map(|text| (name.to_owned(), text.as_str().into())),
            );
        }
        let groups = self.caller.groups.iter().map(|group| group.as_str().into());
        map.insert("callerGroups", Value::L(groups.collect()));
        let tasks = self.tasks.iter().map(|task| Value::M(task.to_map()));
        map.insert("tasks", Value::L(tasks.collect()));
        map
    }

    /// Reads a job.
    pub(crate) fn read(item: &Item) -> Result<Job, PlanError> {
        parse(item).ok_or_else(|| {
            PlanError::Store(StoreError::Corrupt {
                message: "a job in the sidecar table has not the form of one".to_owned(),
            })
        })
    }
}

impl Task {
    fn to_map(&self) -> Map {
        let mut map = Map::from([
            ("source".to_owned(), Value::from(self.source.as_str())),
            ("identity".to_owned(), Value::M(self.identity.clone())),
        ]);
        map.extend(self.work.to_map());
        map
    }

    fn parse(map: &Map) -> Option<Task> {
        Some(Task {
            source: text(map, "source")?,
            identity: inner(map, "identity")?,
            work: Work::parse(map)?,
        })
    }
}

impl Work {
    fn to_map(&self) -> Map {
        let (kind, values) = match self {
            Work::Referring(work) => {
                let kind = match work.kind {
                    TaskKind::Release => "release",
                    TaskKind::Follow => "follow",
                };
                let values = vec![
                    ("entity", Some(Value::from(work.entity.as_str()))),
                    ("reference", Some(Value::from(work.reference.as_str()))),
                    ("target", Some(count(work.target as u64))),
                ];
                (kind, values)
            }
            Work::Each(work) => {
                let values = vec![
                    ("name", Some(Value::from(work.name.as_str()))),
                    ("then", work.then.map(|then| count(then as u64))),
                    ("released", work.is_released.then_some(Value::Bool(true))),
                    ("old", work.old.clone().map(Value::M)),
                    ("new", work.new.clone().map(Value::M)),
                    ("given", Some(Value::M(work.given.clone()))),
                    ("parameters", Some(Value::M(work.parameters.clone()))),
                ];
                ("each", values)
            }
            Work::Apply(work) => {
                let values = vec![
                    ("action", Some(Value::from(work.action.as_str()))),
                    ("given", Some(Value::M(work.given.clone()))),
                    ("parameters", Some(Value::M(work.parameters.clone()))),
                ];
                ("apply", values)
            }
            Work::History(work) => {
                let values = vec![
                    ("view", Some(Value::from(work.view.as_str()))),
                    ("to", work.to.clone().map(Value::M)),
                ];
                ("history", values)
            }
            Work::Schedule(name) => {
                let values = vec![("name", Some(Value::from(name.as_str())))];
                ("schedule", values)
            }
        };
        let kind = ("kind", Some(Value::from(kind)));
        let values = values.into_iter().chain([kind]);
        values
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    }

    fn parse(map: &Map) -> Option<Work> {
        let place = |name: &str| usize::try_from(integer(map, name)?).ok();
        let referring = |kind: TaskKind| {
            Some(Work::Referring(Referring {
                kind,
                entity: text(map, "entity")?,
                reference: text(map, "reference")?,
                target: place("target")?,
            }))
        };
        match map.get("kind")?.as_str()? {
            "release" => referring(TaskKind::Release),
            "follow" => referring(TaskKind::Follow),
            "each" => Some(Work::Each(EachWork {
                name: text(map, "name")?,
                then: place("then"),
                is_released: map.get("released") == Some(&Value::Bool(true)),
                old: inner(map, "old"),
                new: inner(map, "new"),
                given: inner(map, "given")?,
                parameters: inner(map, "parameters")?,
            })),
            "apply" => Some(Work::Apply(ApplyWork {
                action: text(map, "action")?,
                given: inner(map, "given")?,
                parameters: inner(map, "parameters")?,
            })),
            "schedule" => Some(Work::Schedule(text(map, "name")?)),
            "history" => Some(Work::History(HistoryWork {
                view: text(map, "view")?,
                to: inner(map, "to"),
            })),
            _ => None,
        }
    }
}

const CHANGING: [&str; 14] = [
    CHUNKS,
    "task",
    "listing",
    "after",
    "done",
    "refused",
    "hasMoved",
    "leftOut",
    "lastError",
    "skipped",
    LOOKS,
    STALLED,
    LEASE_OWNER,
    LEASE_UNTIL,
];

fn changing(progress: &Progress, lease: Option<&Lease>) -> Map {
    let mut map = Map::from([
        (CHUNKS.to_owned(), count(progress.chunks)),
        ("task".to_owned(), count(progress.task as u64)),
        ("listing".to_owned(), count(progress.listing as u64)),
        ("done".to_owned(), count(progress.done)),
        ("refused".to_owned(), count(progress.refused)),
        ("hasMoved".to_owned(), Value::Bool(progress.has_moved)),
    ]);
    let after = progress.after.clone();
    map.extend(after.map(|after| ("after".to_owned(), Value::M(after))));
    let left_out = progress.left_out.map(count);
    map.extend(left_out.map(|left_out| ("leftOut".to_owned(), left_out)));
    if progress.looks > 0 {
        map.insert(LOOKS, count(progress.looks as u64));
    }
    if progress.is_stalled {
        map.insert(STALLED, Value::Bool(true));
    }
    let error = progress.last_error.as_deref();
    map.extend(error.map(|error| ("lastError".to_owned(), Value::from(error))));
    let skipped = progress.skipped.as_deref();
    map.extend(skipped.map(|skipped| ("skipped".to_owned(), Value::from(skipped))));
    if let Some(lease) = lease {
        let owner = lease.owner.as_deref();
        map.extend(owner.map(|owner| (LEASE_OWNER.to_owned(), Value::from(owner))));
        map.insert(LEASE_UNTIL.to_owned(), number(lease.until_millis));
    }
    map
}

fn parse(item: &Item) -> Option<Job> {
    let tasks = match item.get("tasks")? {
        Value::L(tasks) => tasks.iter().map(|task| Task::parse(task.as_map()?)),
        _ => return None,
    };
    let size = |name: &str| u64::try_from(integer(item, name)?).ok();
    let place = |name: &str| usize::try_from(integer(item, name)?).ok();
    let id = text(item, sidecar::SORT)?;
    Some(Job {
        // Jobs of earlier versions have their ids for seeds.
        seed: text(item, "seed").unwrap_or_else(|| id.clone()),
        id,
        root: text(item, "root"),
        created_millis: integer(item, "created")?,
        caller: Caller {
            id: text(item, "caller"),
            role: text(item, "callerRole"),
            groups: match item.get("callerGroups")? {
                Value::L(groups) => {
                    let groups = groups.iter().filter_map(Value::as_str);
                    groups.map(str::to_owned).collect()
                }
                _ => return None,
            },
        },
        tasks: tasks.collect::<Option<_>>()?,
        expected: size("expected")?,
        progress: Progress {
            chunks: size(CHUNKS)?,
            task: place("task")?,
            listing: place("listing")?,
            after: item.get("after").and_then(Value::as_map).cloned(),
            done: size("done")?,
            refused: size("refused")?,
            has_moved: item.get("hasMoved")? == &Value::Bool(true),
            last_error: text(item, "lastError"),
            skipped: text(item, "skipped"),
            left_out: size("leftOut"),
            looks: place(LOOKS).unwrap_or_default(),
            is_stalled: item.get(STALLED) == Some(&Value::Bool(true)),
        },
        lease: integer(item, LEASE_UNTIL).map(|until_millis| Lease {
            owner: text(item, LEASE_OWNER),
            until_millis,
        }),
    })
}

fn owned_by(owner: Option<&str>) -> Condition {
    let path = Path::attribute(LEASE_OWNER);
    match owner {
        Some(owner) => Condition::equals(path, owner),
        None => Condition::NotExists(path),
    }
}

fn number(value: i64) -> Value {
    Value::N(Number::from(value))
}

fn count(value: u64) -> Value {
    Value::N(Number::from(value))
}

fn text(map: &Map, name: &str) -> Option<String> {
    Some(map.get(name)?.as_str()?.to_owned())
}

fn inner(map: &Map, name: &str) -> Option<Map> {
    map.get(name)?.as_map().cloned()
}

fn integer(map: &Map, name: &str) -> Option<i64> {
    map.get(name)?.as_number()?.to_i64()
}
