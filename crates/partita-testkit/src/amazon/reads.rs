//! Reads: of what is, where that is asked for, and otherwise of what has arrived.

use std::sync::Arc;

use partita_core::Item;
use partita_core::key::KeyValue;
use partita_store::capacity::{HalfUnits, Metered};
use partita_store::error::CancellationReason;
use partita_store::read::{Reading, check_is_built};
use partita_store::request::{
    BatchGetItem, BatchGot, GetItem, Page, Query, Scan, TransactGetItems,
};
use partita_store::table::TableName;
use partita_store::{FoundItem, Store, StoreError, StoreResult};

use super::Amazon;
use super::throughput::Partition;

impl Amazon {
    pub(super) async fn get(&self, request: GetItem) -> StoreResult<Metered<Option<FoundItem>>> {
        self.check_created([&request.table])?;
        let partition = self.own_partition(&request.table, &request.key);
        self.check_room(partition.as_ref())?;
        let store = self.source(&request.table, None, request.consistent);
        let got = store.get_item(request).await?;
        self.took(partition, &got);
        Ok(got)
    }

    /// Where a read is answered.
    fn source(&self, table: &TableName, index: Option<&str>, consistent: bool) -> Arc<dyn Store> {
        let now = self.now();
        let mut state = self.state();
        let is_behind = !consistent || index.is_some_and(|one| state.tables.is_global(table, one));
        let seen = state.tables.seen(table, index, now);
        match seen.filter(|_| is_behind) {
            Some((store, is_late)) => {
                state.counts.behind += u64::from(is_late);
                store
            }
            None => self.primary.clone(),
        }
    }

    pub(super) async fn batch_get(
        &self,
        request: BatchGetItem,
    ) -> StoreResult<Metered<Vec<BatchGot>>> {
        self.check_created(request.addresses.iter().map(|one| &one.table))?;
        let mut answer = self.primary.batch_get_item(request.clone()).await?;
        let last = request.addresses.len().saturating_sub(1);
        for (at, (got, address)) in answer.answer.iter_mut().zip(&request.addresses).enumerate() {
            // One at least is processed, or the whole request would be refused.
            let is_left = self.happens(self.behaviour.unprocessed) && at < last;
            let partition = self.own_partition(&address.table, &address.key);
            if is_left || self.check_room(partition.as_ref()).is_err() && at < last {
                *got = BatchGot::Unprocessed;
                self.state().counts.unprocessed += 1;
                continue;
            }
            let is_eventual = request.eventual.contains(&address.table);
            if !is_eventual || matches!(got, BatchGot::Unprocessed) {
                continue;
            }
            let get = GetItem {
                consistent: false,
                projection: request.projections.get(&address.table).cloned(),
                ..GetItem::new(address.table.clone(), address.key.clone())
            };
            let found = self.source(&address.table, None, false).get_item(get).await;
            *got = found?.answer.map_or(BatchGot::Missing, BatchGot::Found);
        }
        Ok(answer)
    }

    /// A transaction of reads meets those of writes.
    pub(super) async fn transact_get(
        &self,
        request: TransactGetItems,
    ) -> StoreResult<Metered<Vec<Option<FoundItem>>>> {
        self.check_created(request.gets.iter().map(|(one, _)| &one.table))?;
        self.check_reads(&request)?;
        self.primary.transact_get_items(request).await
    }

    fn check_reads(&self, request: &TransactGetItems) -> StoreResult<()> {
        let places = request.gets.iter().map(|(address, _)| {
            let schema = self.schema(&address.table)?;
            let key = schema.key.exact_key(&address.key).ok()?;
            Some((address.table.clone(), key))
        });
        let places: Vec<_> = places.collect();
        let mut state = self.state();
        let reasons = places.iter().map(|place| match place {
            Some(place) if state.locks.is_in_transaction(place) => {
                CancellationReason::TransactionConflict
            }
            _ => CancellationReason::None,
        });
        let reasons: Vec<_> = reasons.collect();
        if !reasons.contains(&CancellationReason::TransactionConflict) {
            return Ok(());
        }
        state.counts.conflicts += 1;
        Err(StoreError::TransactionCanceled { reasons })
    }

    pub(super) async fn page_of_query(&self, request: Query) -> StoreResult<Metered<Page>> {
        self.check_readable(&request.table, request.index.as_deref())?;
        let partition = self.partition_of(&request)?;
        self.check_room(partition.as_ref())?;
        let index = request.index.as_deref();
        let store = self.source(&request.table, index, request.consistent);
        let request = Query {
            limit: self.shortened(request.limit),
            ..request
        };
        let page = store.query(request).await?;
        self.took(partition, &page);
        Ok(page)
    }

    pub(super) async fn page_of_scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        self.check_readable(&request.table, request.index.as_deref())?;
        if let Some(schema) = self.schema(&request.table) {
            Reading::of_scan(&schema, &request)?;
        }
        let index = request.index.as_deref();
        let store = self.source(&request.table, index, request.consistent);
        let request = Scan {
            limit: self.shortened(request.limit),
            ..request
        };
        store.scan(request).await
    }

    fn check_readable(&self, table: &TableName, index: Option<&str>) -> StoreResult<()> {
        self.check_created([table])?;
        let now = self.now();
        let building: Vec<String> = {
            let state = self.state();
            let building = state.tables.building(table, now);
            building.map(str::to_owned).into_iter().collect()
        };
        check_is_built(index, &building)
    }

    /// A page may end anywhere.
    fn shortened(&self, limit: Option<usize>) -> Option<usize> {
        let most = limit.unwrap_or(20);
        if most < 2 || !self.happens(self.behaviour.short_page) {
            return limit;
        }
        let mut state = self.state();
        state.counts.short_pages += 1;
        Some(state.random.usize(1..most))
    }

    fn own_partition(&self, table: &TableName, key: &Item) -> Option<Partition> {
        let schema = self.schema(table)?;
        let value = key.get(&schema.key.partition.name)?;
        Some(Partition {
            table: table.clone(),
            index: None,
            values: vec![KeyValue::from_value(value)?],
        })
    }

    /// The partition that a query reads. What is wrong with it is found here, with all of the
    /// table's keys: an index has its own only.
    fn partition_of(&self, request: &Query) -> StoreResult<Option<Partition>> {
        let Some(schema) = self.schema(&request.table) else {
            return Ok(None);
        };
        let reading = Reading::of_query(&schema, request)?;
        let count = reading.source.partition().len();
        Ok(Some(Partition {
            table: request.table.clone(),
            index: request.index.clone(),
            values: reading.keys.prefix.iter().take(count).cloned().collect(),
        }))
    }

    fn check_room(&self, partition: Option<&Partition>) -> StoreResult<()> {
        let now = self.now();
        if self.is_calm() {
            return Ok(());
        }
        let mut state = self.state();
        match state.meters.exhausted(partition.cloned(), false, now) {
            None => Ok(()),
            Some(throttle) => Err(state.throttled(throttle)),
        }
    }

    fn took<T>(&self, partition: Option<Partition>, read: &Metered<T>) {
        let units = read.consumed.values().map(|one| one.total_read());
        let units = units.fold(HalfUnits::default(), |sum, one| sum + one);
        let now = self.now();
        if let Some(partition) = partition
            && !self.is_calm()
        {
            self.state().meters.take(partition, false, units, now);
        }
    }
}
