//! What both designs need to be filled and asked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use partita_core::{Map, plain};
use partita_design::design::{ParameterKind, Pattern};
use partita_design::types::AttributeType;
use partita_plan::{Caller, Operation, Partita, PlanError};
use serde_json::Value as Json;

use super::Workload;

/// A design on an empty store, while it is filled.
pub(super) struct Population {
    pub(super) partita: Arc<Partita>,
    clients: usize,
}

/// The value of a pattern's parameter in a draw, if the design has one of that name.
pub(super) type DrawnValues = dyn Fn(u64, &str) -> Option<String> + Send + Sync;

impl Population {
    pub(super) fn new(partita: Arc<Partita>, clients: usize) -> Self {
        Population { partita, clients }
    }

    /// Carries operations out, several at a time, in any order.
    pub(super) async fn run(
        &self,
        operations: impl Iterator<Item = (Caller, Operation)>,
    ) -> Result<()> {
        let runs = operations.map(|(caller, operation)| async move {
            let done = self.partita.run(&caller, operation).await;
            done.map(drop)
        });
        let runs = stream::iter(runs).buffer_unordered(self.clients.max(1));
        runs.try_for_each(|()| async { Ok(()) }).await?;
        Ok(())
    }

    /// A workload for each pattern. A draw is a number that gives all parameters of a pattern.
    /// `admin` asks where the rules refuse the caller that was drawn.
    pub(super) async fn patterns(
        &self,
        draws: u64,
        values: Arc<DrawnValues>,
        caller: fn(u64) -> Caller,
        admin: &Caller,
    ) -> Result<Vec<Workload>> {
        let mut workloads = Vec::new();
        for pattern in &self.partita.design().patterns {
            let one = asked(pattern, 0, &values);
            let for_admin = match self.partita.run(&caller(0), one.clone()).await {
                Ok(_) | Err(PlanError::NotFound { .. }) => None,
                Err(PlanError::Forbidden { .. } | PlanError::Unauthenticated { .. }) => {
                    Some(admin.clone())
                }
                Err(error) => {
                    return Err(error).with_context(|| format!("pattern.{}", pattern.name));
                }
            };
            let (pattern, values) = (pattern.clone(), values.clone());
            let name = format!("pattern.{}", pattern.name);
            workloads.push(Workload::new(name, move |random| {
                let draw = random.u64(0..draws);
                let caller = for_admin.clone().unwrap_or_else(|| caller(draw));
                (caller, asked(&pattern, draw, &values))
            }));
        }
        Ok(workloads)
    }
}

fn asked(pattern: &Pattern, draw: u64, values: &Arc<DrawnValues>) -> Operation {
    let parameters = pattern.parameters.iter().map(|parameter| {
        let value = values(draw, &parameter.name);
        let value = value.unwrap_or_else(|| some_value(&parameter.kind));
        (parameter.name.clone(), value)
    });
    Operation::Query {
        pattern: pattern.name.clone(),
        parameters: parameters.collect::<BTreeMap<_, _>>(),
        limit: None,
        cursor: None,
    }
}

/// A value that a parameter takes, whether there is such an item or not.
fn some_value(kind: &ParameterKind) -> String {
    let kind = match kind {
        ParameterKind::PrefixOf(_) => return "2026".to_owned(),
        ParameterKind::Value(kind) => kind,
    };
    let word = kind.words().and_then(|words| words.into_iter().next());
    word.unwrap_or_else(|| match kind {
        AttributeType::Uuid | AttributeType::Id => {
            "00000000-0000-4000-8000-000000000000".to_owned()
        }
        AttributeType::Ulid => "01JGFJJZ000000000000000000".to_owned(),
        AttributeType::Time(form) => {
            let time = form.write(1_767_261_600_000);
            let number = time.as_number().map(ToString::to_string);
            let text = time.as_str().map(str::to_owned);
            text.or(number).unwrap_or_default()
        }
        AttributeType::Number(_) | AttributeType::Int(_) => "1".to_owned(),
        _ => "none-of-these-is-there".to_owned(),
    })
}

/// A creation.
pub(super) fn create(entity: &str, attributes: Json) -> Operation {
    Operation::Create {
        entity: entity.to_owned(),
        attributes: map(attributes),
    }
}

/// A change of the item of that identity.
pub(super) fn update(entity: &str, identity: Vec<String>, changes: Json) -> Operation {
    Operation::Update {
        entity: entity.to_owned(),
        identity,
        changes: map(changes),
        with_deleted: false,
        version: None,
    }
}

fn map(json: Json) -> Map {
    let members = match json {
        Json::Object(members) => members,
        _ => Default::default(),
    };
    // The bench's own numbers are small.
    plain::map_from_json(members).unwrap_or_default()
}

/// Pairs of one of so many and another of so many, each once before any comes again.
pub(super) struct Pairs {
    ones: u64,
    others: u64,
    next: AtomicU64,
}

/// A pair, and how often all of them were drawn before.
pub(super) struct Pair {
    pub(super) one: u64,
    pub(super) other: u64,
    pub(super) lap: u64,
}

impl Pairs {
    /// INVARIANT: `1 + 7 * ones` and `others` have no common factor, or pairs would be left out.
    pub(super) fn new(ones: u64, others: u64) -> Pairs {
        Pairs {
            ones,
            others,
            next: AtomicU64::new(0),
        }
    }

    pub(super) fn draw(&self) -> Pair {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let all = self.ones * self.others;
        let (within, lap) = (number % all, number / all);
        let (one, turn) = (within % self.ones, within / self.ones);
        Pair {
            one,
            other: self.other(one, turn),
            lap,
        }
    }

    /// The other of one in some turn.
    pub(super) fn other(&self, one: u64, turn: u64) -> u64 {
        (7 * one + turn * (1 + 7 * self.ones)) % self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_comes_once_before_any_comes_again() {
        for (ones, others) in [(500, 1_000), (4, 10)] {
            let pairs = Pairs::new(ones, others);
            let drawn: std::collections::BTreeSet<(u64, u64)> = (0..ones * others)
                .map(|_| pairs.draw())
                .map(|pair| (pair.one, pair.other))
                .collect();
            assert_eq!(drawn.len() as u64, ones * others);
            assert_eq!(pairs.draw().lap, 1);
        }
    }
}
