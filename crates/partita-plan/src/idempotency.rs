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

/// The largest answer that is kept whole; an item has room for 400 KB. Of a larger one only the
/// identity is kept, and the item is read again.
const ANSWER_BYTES_MAX: usize = 300_000;

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
        let length = key.chars().count();
        if !(1..=KEY_CHARS_MAX).contains(&length) || key.chars().any(char::is_control) {
            let message =
                format!("must have 1 to {KEY_CHARS_MAX} characters, none of them control");
            return Err(PlanError::Invalid {
                faults: vec![Fault::new("Idempotency-Key", message)],
            });
        }
        let text = json!([caller.role, caller.groups, spelled(operation)]).to_string();
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

    /// The answer of the first time, if there was one.
    pub(crate) async fn kept(
        &self,
        caller: &Caller,
        once: &Once,
    ) -> Result<Option<Answer>, PlanError> {
        let address = sidecar::address(&self.blueprint.sidecar, &once.partition, &once.key);
        let read = self.runner.read_items(vec![address]).await?;
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
        let name = item.get("record").and_then(Value::as_str);
        let part = |name: &str| item.get(name).and_then(Value::as_map).cloned();
        match (name, part("attributes"), part("identity")) {
            (None, _, _) => Ok(Some(Answer::Done)),
            (Some(name), Some(attributes), _) => Ok(Some(Answer::Record(Record {
                name: name.to_owned(),
                attributes,
            }))),
            (Some(name), None, Some(identity)) => {
                let on = On {
                    shape: self.shape_named(name)?,
                    identity,
                    with_deleted: true,
                    version: None,
                };
                self.read_one(caller, &on).await.map(Some)
            }
            (Some(_), None, None) => Err(PlanError::Store(StoreError::Corrupt {
                message: "an outcome in the sidecar table has not the form of one".to_owned(),
            })),
        }
    }

    /// Keeps the outcome, if nobody has kept one under this key.
    pub(crate) fn keep(&self, once: &Once, answer: &Answer) -> Result<Step, PlanError> {
        let now = self.clock.now_millis() / 1000;
        let seconds = |time: i64| Value::N(Number::from(time));
        let mut item = sidecar::key(&once.partition, &once.key);
        item.insert("request".to_owned(), Value::from(once.request.as_str()));
        item.insert(sidecar::EXPIRES.to_owned(), seconds(now + KEPT_SECONDS));
        if let Answer::Record(record) = answer {
            item.insert("record".to_owned(), Value::from(record.name.as_str()));
            let (name, value) = self.outcome(record)?;
            item.insert(name.to_owned(), Value::M(value));
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

    fn outcome(&self, record: &Record) -> Result<(&'static str, Map), PlanError> {
        if item_bytes(&record.attributes) <= ANSWER_BYTES_MAX {
            return Ok(("attributes", record.attributes.clone()));
        }
        let shape = self.shape_named(&record.name)?;
        let identity = identity_of(shape, &record.attributes).unwrap_or_default();
        Ok(("identity", identity))
    }
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
        Operation::Delete {
            entity,
            identity,
            version,
        } => json!(["delete", entity, identity, version]),
        Operation::Restore { entity, identity } => json!(["restore", entity, identity]),
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
