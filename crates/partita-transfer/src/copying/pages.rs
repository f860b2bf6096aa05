//! Items, page by page: both ways, at one moment.

use std::sync::Arc;

use partita_core::Item;
use partita_store::expiry;
use partita_store::request::{BatchWrite, ItemAddress, Page, Scan};
use partita_store::table::{KeySchema, TableName};
use partita_store::{Snapshot, Store, StoreResult};

use super::following::Follower;
use super::tables::MovedTable;
use super::{Copying, Marks, OnStep, Progress, Source, Stage};
use crate::error::TransferError;
use crate::items::{self, View};

/// How often both are compared before it is said that something else writes to the source.
const ROUNDS_MAX: u32 = 8;
/// The same where the writes to the source are followed: what is mended stays equal.
const FOLLOWED_ROUNDS_MAX: u32 = 2;

/// The pages of both stores.
pub(super) struct Pages<'a> {
    pub(super) copying: &'a Copying,
    pub(super) tables: &'a [MovedTable],
    /// Brings the target to a commit of the source, where that can be.
    pub(super) follower: Option<Follower>,
    pub(super) on_step: OnStep<'a>,
    /// Items that were written to the target.
    pub(super) written: u64,
}

/// What a comparison showed.
#[derive(Clone, Copy, Debug, Default)]
struct Compared {
    /// Items of the source.
    items: u64,
    /// Items that differed, and were mended.
    differing: u64,
}

/// The source at one moment, or as it is now.
enum Moment {
    Kept(Arc<dyn Snapshot>),
    Now(Arc<dyn Store>),
}

impl Moment {
    fn view(&self) -> View<'_> {
        match self {
            Moment::Kept(snapshot) => View::Moment(&**snapshot),
            Moment::Now(store) => View::Now(&**store),
        }
    }

    async fn scan(&self, scan: Scan) -> StoreResult<Page<Item>> {
        let page = match self {
            Moment::Kept(snapshot) => snapshot.scan(scan).await?,
            Moment::Now(store) => store.scan(scan).await?,
        };
        page.answer.into_parts()
    }
}

impl Marks {
    /// Whether an item is the mark.
    pub(super) fn is_at(&self, table: &TableName, key: &KeySchema, item: &Item) -> bool {
        let is_mark = |one: &partita_store::table::KeyAttribute| {
            item.get(&one.name) == self.key.get(&one.name)
        };
        *table == self.table && key.attributes().all(is_mark)
    }
}

impl Pages<'_> {
    /// Writes every item of the source to the target, which has none.
    pub(super) async fn fill(&mut self) -> Result<(), TransferError> {
        let mut items = 0;
        for table in self.tables {
            let mut start = None;
            loop {
                let moment = self.moment().await?;
                let page = source_page(self.copying, &moment, table, start).await?;
                let puts = page.items.into_iter().map(|item| put(&table.name, item));
                let puts: Vec<BatchWrite> = puts.collect();
                items += puts.len() as u64;
                self.write(puts).await?;
                self.tell(Stage::Filling, items)?;
                start = page.last_key;
                if start.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Compares until nothing differs. How many items there are, and how often they were compared.
    pub(super) async fn settle(&mut self) -> Result<(u64, u32), TransferError> {
        let is_followed = self.follower.is_some();
        let rounds_max = if is_followed {
            FOLLOWED_ROUNDS_MAX
        } else {
            ROUNDS_MAX
        };
        let mut rounds = 0;
        loop {
            rounds += 1;
            let compared = self.compare().await?;
            if compared.differing == 0 {
                return Ok((compared.items, rounds));
            }
            if rounds == rounds_max {
                return Err(TransferError::Restless {
                    items: compared.differing,
                    rounds,
                    is_followed,
                });
            }
        }
    }

    /// Compares both, and makes the target equal where it is not.
    async fn compare(&mut self) -> Result<Compared, TransferError> {
        let mut compared = Compared::default();
        for table in self.tables {
            self.compare_source(table, &mut compared).await?;
            self.compare_target(table, &mut compared).await?;
        }
        Ok(compared)
    }

    /// Every item of the source is in the target, as it is.
    async fn compare_source(
        &mut self,
        table: &MovedTable,
        compared: &mut Compared,
    ) -> Result<(), TransferError> {
        let mut start = None;
        loop {
            let moment = self.moment().await?;
            let page = source_page(self.copying, &moment, table, start).await?;
            let addresses = addresses(table, &page.items);
            let target = &*self.copying.target;
            let found = items::read(&View::Now(target), addresses).await;
            let found = found.map_err(TransferError::Target)?;
            compared.items += page.items.len() as u64;
            let pairs = page.items.into_iter().zip(found);
            let differing = pairs.filter(|(item, found)| {
                found.as_ref() != Some(item) && !(found.is_none() && self.has_expired(table, item))
            });
            let puts: Vec<BatchWrite> = differing.map(|(item, _)| put(&table.name, item)).collect();
            compared.differing += puts.len() as u64;
            self.write(puts).await?;
            self.tell(Stage::Comparing, compared.items)?;
            start = page.last_key;
            if start.is_none() {
                return Ok(());
            }
        }
    }

    /// Every item of the target is in the source.
    async fn compare_target(
        &mut self,
        table: &MovedTable,
        compared: &mut Compared,
    ) -> Result<(), TransferError> {
        let mut start = None;
        loop {
            let moment = self.moment().await?;
            let mut scan = Scan::new(table.name.clone());
            scan.start_after = start;
            let page = self.copying.target.scan(scan).await;
            let page = page.and_then(|page| page.answer.into_parts());
            let mut page = page.map_err(TransferError::Target)?;
            let (marks, key) = (&self.copying.marks, &table.description.schema.key);
            page.items
                .retain(|item| !marks.is_at(&table.name, key, item));
            let addresses = addresses(table, &page.items);
            let found = items::read(&moment.view(), addresses.clone()).await;
            let found = found.map_err(TransferError::Source)?;
            let pairs = addresses.into_iter().zip(found);
            let extra = pairs.filter(|(_, found)| found.is_none());
            let deletes: Vec<_> = extra
                .map(|(address, _)| BatchWrite::Delete(address))
                .collect();
            compared.differing += deletes.len() as u64;
            self.write(deletes).await?;
            self.tell(Stage::Comparing, compared.items)?;
            start = page.last_key;
            if start.is_none() {
                return Ok(());
            }
        }
    }

    /// Brings the target to the last commit of the source, which takes no more writes.
    pub(super) async fn catch_up(&mut self) -> Result<(), TransferError> {
        self.moment().await.map(drop)
    }

    /// A moment of the source; the target is brought to the same, where it can be.
    async fn moment(&mut self) -> Result<Moment, TransferError> {
        match (&self.copying.source, &mut self.follower) {
            (Source::Embedded(engine), Some(follower)) => {
                let taken = engine.snapshot_at_commit();
                let (commit, snapshot) = taken.map_err(TransferError::Source)?;
                let target = &*self.copying.target;
                self.written += follower.until(commit, target).await?;
                Ok(Moment::Kept(snapshot))
            }
            (source, _) => Ok(Moment::Now(source.store())),
        }
    }

    async fn write(&mut self, writes: Vec<BatchWrite>) -> Result<(), TransferError> {
        self.written += writes.len() as u64;
        let written = items::write(&*self.copying.target, writes).await;
        written.map_err(TransferError::Target)
    }

    /// Whether the target may have removed an item by itself.
    fn has_expired(&self, table: &MovedTable, item: &Item) -> bool {
        let now_millis = self.copying.clock.now_millis();
        let attribute = table.expiry.as_deref();
        attribute.is_some_and(|attribute| expiry::has_expired(item, attribute, now_millis))
    }

    fn tell(&mut self, stage: Stage, items: u64) -> Result<(), TransferError> {
        let totals = self
            .tables
            .iter()
            .map(|table| table.description.totals.items);
        (self.on_step)(Progress {
            stage,
            items,
            of: totals.sum::<u64>().max(items),
        })
    }
}

async fn source_page(
    copying: &Copying,
    moment: &Moment,
    table: &MovedTable,
    start: Option<Item>,
) -> Result<Page<Item>, TransferError> {
    let mut scan = Scan::new(table.name.clone());
    scan.start_after = start;
    let page = moment.scan(scan).await;
    let mut page = page.map_err(TransferError::Source)?;
    let (marks, key) = (&copying.marks, &table.description.schema.key);
    page.items
        .retain(|item| !marks.is_at(&table.name, key, item));
    Ok(page)
}

fn put(table: &TableName, item: Item) -> BatchWrite {
    BatchWrite::Put {
        table: table.clone(),
        item,
    }
}

/// Where items of a table are.
fn addresses(table: &MovedTable, items: &[Item]) -> Vec<ItemAddress> {
    let schema = &table.description.schema.key;
    let of_one = |item: &Item| {
        let mut key = Item::new();
        for attribute in schema.attributes() {
            if let Some(value) = item.get(&attribute.name) {
                key.insert(attribute.name.as_str(), value.clone());
            }
        }
        ItemAddress {
            table: table.name.clone(),
            key,
        }
    };
    items.iter().map(of_one).collect()
}
