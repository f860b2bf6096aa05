//! Reads: of what is, where that is asked for, and otherwise of what has arrived.

use std::sync::Arc;

use partita_core::Item;
use partita_core::key::KeyValue;
use partita_store::capacity::{self, HalfUnits, Metered, Rate};
use partita_store::error::CancellationReason;
use partita_store::read::{Reading, check_is_built};
use partita_store::request::{
    BatchGetItem, BatchGot, GetItem, ItemAddress, Page, Query, Scan, TransactGetItems,
};
use partita_store::table::TableName;
use partita_store::{FoundItem, Store, StoreError, StoreResult};

use super::Amazon;
use super::throughput::{Partition, index_partitions};

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
                let counts = &mut state.counts;
                let count = match index {
                    Some(_) => &mut counts.behind,
                    None => &mut counts.old_copies,
                };
                *count += u64::from(is_late);
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
        let mut refused = None;
        for (at, (got, address)) in answer.answer.iter_mut().zip(&request.addresses).enumerate() {
            let partition = self.own_partition(&address.table, &address.key);
            let room = self.check_room(partition.as_ref());
            if room.is_err() || self.happens(self.behaviour.unprocessed) && at < last {
                *got = BatchGot::Unprocessed;
                self.state().counts.unprocessed += 1;
                refused = room.err().or(refused);
                continue;
            }
            if matches!(got, BatchGot::Unprocessed) {
                continue;
            }
            let consistent = !request.eventual.contains(&address.table);
            let get = GetItem {
                consistent,
                projection: request.projections.get(&address.table).cloned(),
                ..GetItem::new(address.table.clone(), address.key.clone())
            };
            let store = self.source(&address.table, None, consistent);
            let found = store.get_item(get).await?;
            self.took(partition, &found);
            if !consistent {
                *got = found.answer.map_or(BatchGot::Missing, BatchGot::Found);
            }
        }
        // Only what is done in part is a success.
        let is_left = |got: &BatchGot| matches!(got, BatchGot::Unprocessed);
        match refused {
            Some(error) if answer.answer.iter().all(is_left) => Err(error),
            _ => Ok(answer),
        }
    }

    /// A transaction of reads meets every write that is under way, single ones too.
    pub(super) async fn transact_get(
        &self,
        request: TransactGetItems,
    ) -> StoreResult<Metered<Vec<Option<FoundItem>>>> {
        self.check_created(request.gets.iter().map(|(one, _)| &one.table))?;
        let reasons: Vec<_> = request
            .gets
            .iter()
            .map(|(address, _)| self.obstacle(address))
            .collect();
        if reasons.iter().any(|one| *one != CancellationReason::None) {
            return Err(StoreError::TransactionCanceled { reasons });
        }
        let partitions = request.gets.iter();
        let partitions = partitions.map(|(one, _)| self.own_partition(&one.table, &one.key));
        let partitions: Vec<_> = partitions.collect();
        let got = self.primary.transact_get_items(request).await?;
        for (partition, found) in partitions.into_iter().zip(&got.answer) {
            let bytes = found.as_ref().map_or(0, FoundItem::size);
            self.take_read(partition, capacity::read_units(bytes, Rate::Transaction));
        }
        Ok(got)
    }

    /// What keeps an item from being read in a transaction.
    fn obstacle(&self, address: &ItemAddress) -> CancellationReason {
        let schema = self.schema(&address.table);
        let key = schema.and_then(|schema| schema.key.exact_key(&address.key).ok());
        let Some(key) = key else {
            // The store behind says what is wrong with it.
            return CancellationReason::None;
        };
        let now = self.now();
        let place = (address.table.clone(), key);
        if self.state().locks.is_written(&place, now) {
            self.state().counts.conflicts += 1;
            return CancellationReason::TransactionConflict;
        }
        let partition = self.own_partition(&address.table, &address.key);
        match self.check_room(partition.as_ref()) {
            Err(StoreError::Exhausted(exhausted)) => CancellationReason::Exhausted(exhausted),
            _ => CancellationReason::None,
        }
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
        let (table, index) = (request.table.clone(), request.index.clone());
        let page = store.scan(request).await?;
        let partitions = self.scanned(&table, index.as_deref(), &page.answer);
        for partition in &partitions {
            self.check_room(Some(partition))?;
        }
        self.took_all(partitions, &page);
        Ok(page)
    }

    /// The partitions that a scan came through, as far as its answer shows them.
    fn scanned(&self, table: &TableName, index: Option<&str>, page: &Page) -> Vec<Partition> {
        let Some(schema) = self.schema(table).filter(|_| !self.is_calm()) else {
            return Vec::new();
        };
        let items = page.items.iter().cloned();
        let items = items.filter_map(|found| found.into_item().ok());
        let global = index.filter(|index| self.is_global(table, index));
        let mut partitions: Vec<Partition> = match global {
            Some(index) => items
                .flat_map(|item| index_partitions(table, &schema, &item))
                .filter(|partition| partition.index.as_deref() == Some(index))
                .collect(),
            None => items
                .filter_map(|item| self.own_partition(table, &item))
                .collect(),
        };
        partitions.sort();
        partitions.dedup();
        partitions
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
        let index = request.index.as_deref();
        let global = index.filter(|index| self.is_global(&request.table, index));
        Ok(Some(Partition {
            table: request.table.clone(),
            // A local index is a part of the table.
            index: global.map(str::to_owned),
            values: reading.keys.prefix.iter().take(count).cloned().collect(),
        }))
    }

    fn is_global(&self, table: &TableName, index: &str) -> bool {
        self.state().tables.is_global(table, index)
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
        self.take_read(partition, units_of(read));
    }

    /// Divides what was read among partitions. The first takes what cannot be divided.
    fn took_all<T>(&self, partitions: Vec<Partition>, read: &Metered<T>) {
        let units = units_of(read).0;
        let share = units / partitions.len().max(1) as u64;
        let mut left = units - share * partitions.len() as u64;
        for partition in partitions {
            self.take_read(Some(partition), HalfUnits(share + left));
            left = 0;
        }
    }

    pub(super) fn take_read(&self, partition: Option<Partition>, units: HalfUnits) {
        let now = self.now();
        if let Some(partition) = partition
            && !self.is_calm()
        {
            self.state().meters.take(partition, false, units, now);
        }
    }
}

/// What was read in all.
fn units_of<T>(read: &Metered<T>) -> HalfUnits {
    let units = read.consumed.values().map(|one| one.total_read());
    units.fold(HalfUnits::default(), |sum, one| sum + one)
}
