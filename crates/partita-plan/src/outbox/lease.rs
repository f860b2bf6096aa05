//! Leases on channels: one courier delivers what is on one.

use std::collections::HashMap;

use partita_core::expression::{Comparator, Condition, KeyCondition, Operand, Path, Update};
use partita_core::{Number, Value};
use partita_store::ErrorKind;
use partita_store::request::{Query, UpdateItem};

use super::courier::Courier;
use super::message::Channel;
use super::row::delete;
use crate::error::PlanError;
use crate::sidecar;

/// How long a courier may be silent before another takes a channel over.
const LEASE_MILLIS: i64 = 60_000;

/// The partition of leases.
pub(crate) const LEASES: &str = "OUTBOX#LEASE";

impl Courier {
    /// Releases all leases. Call at startup, as the only user of the store.
    pub async fn take_over(&self) -> Result<(), PlanError> {
        let table = &self.partita.blueprint.sidecar;
        let keys = KeyCondition::partition(sidecar::PARTITION, leases());
        let held = self
            .partita
            .runner
            .query(&Query::new(table.clone(), keys))
            .await?;
        for lease in held.items {
            if let Some(channel) = lease.get(sidecar::SORT).and_then(Value::as_str) {
                let lease = delete(table, &leases(), channel);
                self.partita.remove_row(lease).await?;
            }
        }
        Ok(())
    }

    /// Takes or renews the lease on a channel, unless another has one. Says whether it is ours for
    /// longer than a delivery takes.
    pub(super) async fn claim(&self, channel: &Channel) -> Result<bool, PlanError> {
        let now_millis = self.partita.clock.now_millis();
        let known = self.leases(|all| all.get(channel).copied());
        if known.is_some_and(|until| until.saturating_sub(now_millis) > LEASE_MILLIS / 2) {
            return Ok(true);
        }
        let until = now_millis.saturating_add(LEASE_MILLIS);
        let path = |name: &str| Path::attribute(name);
        let is_free = Condition::Any(vec![
            sidecar::is_missing(),
            Condition::Compare(
                Operand::Path(path("until")),
                Comparator::LessOrEqual,
                Operand::value(Value::N(Number::from(now_millis))),
            ),
            Condition::equals(path("owner"), self.owner.as_str()),
        ]);
        let claim = UpdateItem {
            table: self.partita.blueprint.sidecar.clone(),
            key: sidecar::key(&leases(), &channel.word()),
            update: Update::default()
                .setting(path("owner"), Value::from(self.owner.as_str()))
                .setting(path("until"), Value::N(Number::from(until))),
            condition: Some(is_free),
            return_item_on_failure: false,
        };
        let is_ours = match self.partita.runner.update(&claim).await {
            Ok(()) => true,
            Err(PlanError::Conflict) => false,
            Err(PlanError::Store(error)) if error.kind() == ErrorKind::ConditionFailed => false,
            Err(error) => return Err(error),
        };
        self.leases(|all| {
            if is_ours {
                all.insert(channel.clone(), until);
            } else {
                all.remove(channel);
            }
        });
        Ok(is_ours)
    }

    fn leases<T>(&self, look: impl FnOnce(&mut HashMap<Channel, i64>) -> T) -> T {
        let leases = self.leases.lock();
        look(&mut leases.unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

/// The partition of the leases.
fn leases() -> String {
    LEASES.to_owned()
}
