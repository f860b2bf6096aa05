//! Idempotency keys: the outcome of a write under a key that the caller has chosen.
//!
//! The record of it is written in the transaction of the write, so that there is one exactly if
//! the write was carried out. Whoever repeats the same request under the same key gets the answer
//! of the first time; another request under that key is refused. DynamoDB's own client request
//! token does not do: a write that is planned again differs, and would be refused.

use partita_core::expression::{Comparator, Condition, Operand, Path};
use partita_core::size::item_bytes;
use partita_core::{Map, Number, Value};
use partita_store::StoreError;
use partita_store::request::{PutItem, TransactAction};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use crate::draft::Refusal;
use crate::error::{Fault, PlanError};
use crate::operation::{Answer, Caller, Operation, Record};
use crate::partita::Partita;
use crate::planner::Step;
use crate::planner::request::On;
use crate::shape::identity_of;
use crate::sidecar;

/// How long an outcome is kept.
const KEPT_SECONDS: i64 = 24 * 3_600;

/// The longest key.
const KEY_CHARS_MAX: usize = 255;

/// The largest answers that are kept whole; an item has room for 400 KB. Of larger ones only the
/// identities are kept, and the items are read again.
const ANSWER_BYTES_MAX: usize = 300_000;

/// Where the outcomes of several operations are; that of a single one is the record itself.
const ANSWERS: &str = "answers";

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
        Ok(Once {
            partition: format!("KEY#{}", caller.id.as_deref().unwrap_or_default()),
            key: key.to_owned(),
            request: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }
}

impl Partita {
    /// Carries an operation out for a caller, once: the same request under the same key gives the
    /// same answer for a day, and changes nothing more. Reads need no key and ignore it.
    ///
    /// What was refused changed nothing and is not kept; it may pass the next time. After
    /// [`PlanError::OutcomeUnknown`], repeating with the same key settles what became of it.
    pub async fn run_once(
        &self,
        caller: &Caller,
        operation: Operation,
        key: &str,
    ) -> Result<Answer, PlanError> {
        let once = Once::new(caller, &operation, key)?;
        self.carry_out(caller, operation, Some(once)).await
    }

    /// The answers of the first time, if there was one.
    pub(crate) async fn kept(
        &self,
        caller: &Caller,
        once: &Once,
    ) -> Result<Option<Vec<Answer>>, PlanError> {
        let address = sidecar::address(&self.blueprint.sidecar, &once.partition, &once.key);
        let read = self.runner.read_items(&[address]).await?;
        let Some(item) = read.into_iter().flatten().next() else {
            return Ok(None);
        };
        let expires = item.get(sidecar::EXPIRES).and_then(Value::as_number);
        let expires = expires.and_then(|time| time.to_i64()).unwrap_or_default();
        if expires < self.clock.now_millis() / 1000 {
            return Ok(None);
        }
        if item.get("request").and_then(Value::as_str) != Some(&once.request) {
            return Err(PlanError::KeyReused);
        }
        let Some(Value::L(several)) = item.get(ANSWERS) else {
            return Ok(Some(vec![self.answer_of(caller, &item).await?]));
        };
        let mut answers = Vec::new();
        for one in several {
            let outcome = one.as_map().ok_or_else(no_outcome)?;
            answers.push(self.answer_of(caller, outcome).await?);
        }
        Ok(Some(answers))
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
                let on = On {
                    shape: self.shape_named(name)?,
                    identity,
                    with_deleted: true,
                    version: None,
                };
                self.read_one(caller, &on).await?
            }
            (Some(_), None, None) => return Err(no_outcome()),
        };
        Ok(match answer {
            Answer::Record(record) if outcome.contains_key(CREATED) => Answer::Created(record),
            answer => answer,
        })
    }

    /// Keeps the outcome, if nobody has kept one under this key.
    pub(crate) fn keep(&self, once: &Once, answers: &[Answer]) -> Result<Step, PlanError> {
        let now = self.clock.now_millis() / 1000;
        let seconds = |time: i64| Value::N(Number::from(time));
        let mut item = sidecar::key(&once.partition, &once.key);
        item.insert("request", Value::from(once.request.as_str()));
        item.insert(sidecar::EXPIRES.to_owned(), seconds(now + KEPT_SECONDS));
        let bytes = answers.iter().filter_map(record_of);
        let bytes: usize = bytes.map(|record| item_bytes(&record.attributes)).sum();
        let outcomes = answers.iter();
        let outcomes = outcomes.map(|answer| self.outcome(answer, bytes <= ANSWER_BYTES_MAX));
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
        Ok(Step {
            action: TransactAction::Put(PutItem {
                condition: Some(Condition::Any(vec![sidecar::is_missing(), is_over])),
                ..PutItem::new(self.blueprint.sidecar.clone(), item)
            }),
            refusal: Refusal::Stale,
        })
    }

    fn outcome(&self, answer: &Answer, is_whole: bool) -> Result<Map, PlanError> {
        let mut outcome = Map::new();
        let Some(record) = record_of(answer) else {
            return Ok(outcome);
        };
        outcome.insert("record", Value::from(record.name.as_str()));
        if matches!(answer, Answer::Created(_)) {
            outcome.insert(CREATED.to_owned(), Value::Bool(true));
        }
        let (name, value) = match is_whole {
            true => ("attributes", record.attributes.clone()),
            false => {
                let shape = self.shape_named(&record.name)?;
                let identity = identity_of(shape, &record.attributes);
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
