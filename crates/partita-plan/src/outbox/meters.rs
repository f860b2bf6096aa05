//! The outbox in numbers: what one process has delivered, and what waits in the store.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use partita_core::expression::KeyCondition;
use partita_store::request::Query;

use super::message::Channel;
use super::row::{Row, SHARDS, parked, partition};
use crate::error::PlanError;
use crate::partita::Partita;
use crate::sidecar;

/// Messages of a channel that are counted at most: to count costs reading.
const COUNTED_MAX: usize = 1_000;

/// What became of the messages of a channel in this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelMeters {
    /// Messages that were delivered.
    pub delivered: u64,
    /// Deliveries that failed and are tried again.
    pub failed: u64,
    /// Messages that failed for good.
    pub parked: u64,
}

/// What is in the store of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelState {
    /// Messages that wait, a thousand at most.
    pub waiting: usize,
    /// Messages that are parked, a thousand of all channels at most.
    pub parked: usize,
    /// When the write was that caused the oldest one that waits.
    pub oldest_millis: Option<i64>,
}

impl Partita {
    /// What this process has delivered, by channel.
    pub fn outbox_meters(&self) -> BTreeMap<String, ChannelMeters> {
        let all = self.outbox.meters.lock();
        let all = all.unwrap_or_else(PoisonError::into_inner);
        let all = all.iter();
        all.map(|(channel, meters)| (channel.word(), *meters))
            .collect()
    }

    /// What waits and what is parked, by channel.
    pub async fn outbox_state(&self) -> Result<BTreeMap<String, ChannelState>, PlanError> {
        let mut all: BTreeMap<String, ChannelState> = BTreeMap::new();
        for channel in self.channels().await? {
            let state = self.waiting_on(&channel).await?;
            all.insert(channel.word(), state);
        }
        for row in self.first_rows(parked(), COUNTED_MAX).await? {
            all.entry(row.channel.word()).or_default().parked += 1;
        }
        Ok(all)
    }

    async fn waiting_on(&self, channel: &Channel) -> Result<ChannelState, PlanError> {
        let mut state = ChannelState::default();
        for shard in 0..SHARDS {
            // The first of each part is looked at in any case: the oldest is one of them.
            let most = COUNTED_MAX.saturating_sub(state.waiting).max(1);
            let rows = self.first_rows(partition(channel, shard), most).await?;
            state.waiting += rows.len();
            let oldest = rows.iter().map(|row| row.created_millis).min();
            state.oldest_millis = [state.oldest_millis, oldest].into_iter().flatten().min();
        }
        state.waiting = state.waiting.min(COUNTED_MAX);
        Ok(state)
    }

    async fn first_rows(&self, partition: String, most: usize) -> Result<Vec<Row>, PlanError> {
        let keys = KeyCondition::partition(sidecar::PARTITION, partition);
        let request = Query {
            limit: Some(most),
            ..Query::new(self.blueprint.sidecar.clone(), keys)
        };
        let page = self.runner.query(&request).await?;
        let rows = page.items.iter().map(Row::read);
        Ok(rows.filter(|row| !row.is_to_nobody()).collect())
    }
}
