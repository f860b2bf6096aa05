//! Idempotency keys: the outcome of a write under a key that the caller has chosen.
//!
//! The record of it is written in the transaction of the write, so that there is one if and only if
//! the write was carried out. Whoever repeats the same request under the same key gets the answer
//! of the first time; another request under that key is refused. DynamoDB's own client request
//! token does not suffice: a write that is planned again differs, and would be refused.
//!
//! A record keeps what a repeated answer needs. Status and identity are always those of the first
//! answer. Attributes are kept up to 4 KB. A larger item is read again: the answer has its current
//! attributes, or only its identity if it is gone. So a small change of a large item does not store
//! the item a second time. How much is kept of one caller is bounded ([`room`]).

pub(crate) mod room;

use partita_core::expression::{Comparator, Condition, Operand, Path};
use partita_core::size::item_bytes;
use partita_core::{Map, Number, Value};
use partita_store::StoreError;
use partita_store::request::{PutItem, TransactAction};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use crate::commit::{Step, WritePlan};
use crate::error::{Fault, PlanError};
use crate::operation::{Answer, Caller, Operation, Record, Reply};
use crate::partita::Partita;
use crate::request::NamedItem;
use crate::sidecar;
use room::{OutcomeRow, Used};

/// How long an outcome is kept.
const KEPT_SECONDS: i64 = 24 * 3_600;

/// The longest key.
const KEY_CHARS_MAX: usize = 255;

/// Bytes of attributes that are kept of a request. Of items beyond them only the identities are kept,
/// and the items are read again.
const ATTRIBUTES_BYTES_MAX: usize = 4_096;

/// Actions that a key adds to the transaction of its write.
pub(crate) const KEPT_ACTIONS: usize = 2;

/// Where the outcomes of several operations are; that of a single one is the record itself.
const ANSWERS: &str = "answers";

/// The ids of the jobs that do the rest of the write.
const JOBS: &str = "jobs";

/// Tells that an upsert has created its item.
const CREATED: &str = "created";

/// A caller's key, and the request that it stands for.
#[derive(Clone, Debug)]
pub(crate) struct Once {
    /// Keys of different callers are different keys.
    partition: String,
    key: String,
    /// A digest of the request.
    request: String,
    /// Where the outcome is counted.
    room: OutcomeRow,
}

/// What is known of a key.
pub(crate) enum Remembered {
    /// The answers of the first time, and the jobs that followed.
    Reply(Reply<Vec<Answer>>),
    /// Nothing was carried out under it. Beside it, what the caller has in the same room.
    Nothing(Option<Used>),
}

impl Once {
    pub(crate) fn new(
        caller: &Caller,
        operation: &Operation,
        key: &str,
    ) -> Result<Once, PlanError> {
        Once::spelled(caller, spelled(operation), key)
    }

    /// The key of a batch.
    pub(crate) fn for_all(
        caller: &Caller,
        operations: &[Operation],
        key: &str,
    ) -> Result<Once, PlanError> {
        let all: Vec<Json> = operations.iter().map(spelled).collect();
        Once::spelled(caller, json!(["all", all]), key)
    }

    fn spelled(caller: &Caller, request: Json, key: &str) -> Result<Once, PlanError> {
        let length = key.chars().count();
        if !(1..=KEY_CHARS_MAX).contains(&length) || key.chars().any(char::is_control) {
            let message =
                format!("must have 1 to {KEY_CHARS_MAX} characters, none of them control");
            return Err(PlanError::Invalid {
                faults: vec![Fault::new("Idempotency-Key", message)],
            });
        }
        let text = json!([caller.role, caller.groups, request]).to_string();
        let digest = Sha256::digest(text.as_bytes());
        let id = caller.id.as_deref().unwrap_or_default();
        Ok(Once {
            partition: format!("KEY#{id}"),
            room: OutcomeRow::new(id, &Sha256::digest(key.as_bytes())),
            key: key.to_owned(),
            request: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }
}

impl Partita {
    /// Carries an operation out for a caller, once: the same request under the same key gives the
    /// same answer for a day, and changes nothing more. Reads need no key and ignore it.
    ///
    /// A record of more than 4 KB is answered as it is when the request is repeated, and by its
    /// identity alone if it is gone, or hidden from the caller, by then.
    ///
    /// A caller of whom much was kept within an hour ([`Partita::with_outcome_bytes_per_hour`]) is
    /// refused with [`PlanError::TooManyKeys`].
    ///
    /// What was refused changed nothing and is not kept; it may pass the next time. After
    /// [`PlanError::OutcomeUnknown`], repeating with the same key settles what became of it.
    pub async fn run_once(
        &self,
        caller: &Caller,
        operation: Operation,
        key: &str,
    ) -> Result<Answer, PlanError> {
        let reply = self.perform(caller, operation, Some(key)).await?;
        Ok(reply.answer)
    }

    /// The answers of the first time, if there was one.
    pub(crate) async fn kept(&self, caller: &Caller, once: &Once) -> Result<Remembered, PlanError> {
        let sidecar = &self.blueprint.sidecar;
        let address = sidecar::address(sidecar, &once.partition, &once.key);
        let addresses = [address, once.room.address(sidecar)];
        let mut read = self.runner.read_items(&addresses).await?.into_iter();
        let outcome = read.next().flatten().filter(|item| {
            let expires = item.get(sidecar::EXPIRES).and_then(Value::as_number);
            let expires = expires.and_then(|time| time.to_i64()).unwrap_or_default();
            expires >= self.clock.now_millis() / 1000
        });
        let Some(item) = outcome else {
            let used = read.next().flatten();
            return Ok(Remembered::Nothing(used.as_ref().and_then(Used::read)));
        };
        if item.get("request").and_then(Value::as_str) != Some(&once.request) {
            return Err(PlanError::KeyReused);
        }
        Ok(Remembered::Reply(Reply {
            answer: self.answers_of(caller, &item).await?,
            jobs: texts(item.get(JOBS)),
        }))
    }

    /// The answers that a record of outcomes stands for.
    async fn answers_of(&self, caller: &Caller, item: &Map) -> Result<Vec<Answer>, PlanError> {
        let Some(Value::L(several)) = item.get(ANSWERS) else {
            return Ok(vec![self.answer_of(caller, item).await?]);
        };
        let mut answers = Vec::new();
        for one in several {
            let outcome = one.as_map().ok_or_else(no_outcome)?;
            answers.push(self.answer_of(caller, outcome).await?);
        }
        Ok(answers)
    }

    /// The answer that an outcome stands for.
    async fn answer_of(&self, caller: &Caller, outcome: &Map) -> Result<Answer, PlanError> {
        let name = outcome.get("record").and_then(Value::as_str);
        let part = |name: &str| outcome.get(name).and_then(Value::as_map).cloned();
        let answer = match (name, part("attributes"), part("identity")) {
            (None, _, _) => Answer::Done,
            (Some(name), Some(attributes), _) => Answer::Record(Record {
                name: name.to_owned(),
                attributes,
            }),
            (Some(name), None, Some(identity)) => {
                let read = match self.blueprint.named_record(name) {
                    Ok(record) => {
                        let on = NamedItem {
                            with_deleted: true,
                            ..NamedItem::new(record, identity.clone())
                        };
                        self.read_one(caller, &on).await
                    }
                    Err(unknown) => Err(unknown),
                };
                match read {
                    // What became of the item since, or of its entity's name, does not change that
                    // the write was carried out.
                    Err(
                        PlanError::NotFound { .. }
                        | PlanError::UnknownEntity { .. }
                        | PlanError::Forbidden { .. }
                        | PlanError::Unauthenticated { .. },
                    ) => Answer::Record(Record {
                        name: name.to_owned(),
                        attributes: identity,
                    }),
                    answer => answer?,
                }
            }
            (Some(_), None, None) => return Err(no_outcome()),
        };
        Ok(match answer {
            Answer::Record(record) if outcome.contains_key(CREATED) => Answer::Created(record),
            answer => answer,
        })
    }

    /// Keeps the outcome, if nobody has kept one under this key and there is room for it.
    pub(crate) fn keep(
        &self,
        once: &Once,
        plan: &WritePlan,
        used: Option<Used>,
    ) -> Result<[Step; KEPT_ACTIONS], PlanError> {
        let now = self.clock.now_millis() / 1000;
        let seconds = |time: i64| Value::N(Number::from(time));
        let mut item = sidecar::key(&once.partition, &once.key);
        item.insert("request", Value::from(once.request.as_str()));
        item.insert(sidecar::EXPIRES.to_owned(), seconds(now + KEPT_SECONDS));
        // A job with a lease is worked on before the answer.
        let jobs = plan.left.iter().filter(|job| job.lease.is_none());
        let jobs: Vec<Value> = jobs.map(|job| Value::from(job.id.as_str())).collect();
        if !jobs.is_empty() {
            item.insert(JOBS.to_owned(), Value::L(jobs));
        }
        let mut left = ATTRIBUTES_BYTES_MAX;
        let answers = &plan.answers;
        let outcomes = answers.iter().map(|answer| self.outcome(answer, &mut left));
        let mut outcomes: Vec<Map> = outcomes.collect::<Result<_, _>>()?;
        match outcomes.len() {
            1 => item.extend(outcomes.pop().unwrap_or_default()),
            _ => {
                let several = outcomes.into_iter().map(Value::M);
                item.insert(ANSWERS.to_owned(), Value::L(several.collect()));
            }
        }
        let is_over = Condition::Compare(
            Operand::Path(Path::attribute(sidecar::EXPIRES)),
            Comparator::Less,
            Operand::value(seconds(now)),
        );
        let sidecar = &self.blueprint.sidecar;
        let bytes = item_bytes(&item) as u64;
        let counted = once
            .room
            .take(sidecar, used, bytes, self.outcome_bytes_per_hour, now)?;
        let kept = TransactAction::Put(PutItem {
            condition: Some(Condition::Any(vec![sidecar::is_missing(), is_over])),
            ..PutItem::new(sidecar.clone(), item)
        });
        Ok([kept, counted].map(Step::or_stale))
    }

    /// What is kept of an answer, with so many bytes left for attributes.
    fn outcome(&self, answer: &Answer, left: &mut usize) -> Result<Map, PlanError> {
        let mut outcome = Map::new();
        let Some(record) = record_of(answer) else {
            return Ok(outcome);
        };
        outcome.insert("record", Value::from(record.name.as_str()));
        if matches!(answer, Answer::Created(_)) {
            outcome.insert(CREATED.to_owned(), Value::Bool(true));
        }
        let (name, value) = match left.checked_sub(item_bytes(&record.attributes)) {
            Some(rest) => {
                *left = rest;
                ("attributes", record.attributes.clone())
            }
            None => {
                let declared = self.blueprint.named_record(&record.name)?;
                let identity = declared.identity_of(&record.attributes);
                ("identity", identity.unwrap_or_default())
            }
        };
        outcome.insert(name, Value::M(value));
        Ok(outcome)
    }
}

/// The record that an answer shows.
fn record_of(answer: &Answer) -> Option<&Record> {
    match answer {
        Answer::Record(record) | Answer::Created(record) => Some(record),
        Answer::Page { .. } | Answer::Done => None,
    }
}

/// The texts of a list.
fn texts(list: Option<&Value>) -> Vec<String> {
    let Some(Value::L(list)) = list else {
        return Vec::new();
    };
    let texts = list.iter().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

fn no_outcome() -> PlanError {
    PlanError::Store(StoreError::Corrupt {
        message: "an outcome in the sidecar table has not the form of one".to_owned(),
    })
}

/// A request in a form that does not change from version to version.
fn spelled(operation: &Operation) -> Json {
    match operation {
        Operation::Create { entity, attributes } => json!(["create", entity, attributes]),
        Operation::Get {
            entity,
            identity,
            with_deleted,
        } => json!(["get", entity, identity, with_deleted]),
        Operation::Update {
            entity,
            identity,
            changes,
            with_deleted,
            version,
        } => json!(["update", entity, identity, changes, with_deleted, version]),
        Operation::Upsert {
            entity,
            identity,
            attributes,
            version,
        } => json!(["upsert", entity, identity, attributes, version]),
        Operation::Delete {
            entity,
            identity,
            version,
        } => json!(["delete", entity, identity, version]),
        Operation::Restore {
            entity,
            identity,
            version,
        } => json!(["restore", entity, identity, version]),
        Operation::Purge {
            entity,
            identity,
            version,
        } => json!(["purge", entity, identity, version]),
        Operation::Act {
            action,
            entity,
            identity,
            given,
            version,
        } => json!(["act", action, entity, identity, given, version]),
        Operation::Query {
            pattern,
            parameters,
            limit,
            cursor,
        } => json!(["query", pattern, parameters, limit, cursor]),
    }
}

#[cfg(test)]
mod tests;
