//! The store, asked again while it has no capacity.

use std::time::Duration;

use partita_core::Item;
use partita_core::limits::BATCH_GET_KEYS_MAX;
use partita_store::request::{
    BatchGetItem, BatchGot, ItemAddress, Page, Query, Scan, TransactAction, TransactWriteItems,
};
use partita_store::table::TableName;
use partita_store::{ErrorKind, Moment, Snapshot, Store, StoreError, StoreResult};

use crate::extent::Extent;

/// How often something is tried.
const ATTEMPTS: u32 = 10;
/// The first pause; each further one is twice as long, up to 64 times the first.
const PAUSE_MILLIS: u64 = 10;

/// Reads and writes of a store.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'s> {
    pub(crate) store: &'s dyn Store,
    /// The moment that is read, where the store has reads of one.
    moment: Option<&'s dyn Snapshot>,
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// It is done.
    Done,
    /// Something has changed, or that is unknown: look again.
    Stale,
    /// An item is not the one that was read: it was removed, and perhaps created again.
    Replaced,
    /// The store does not take it, now or later.
    Refused,
}

impl<'s> Reader<'s> {
    pub(crate) fn new(store: &'s dyn Store, moment: Option<&'s dyn Snapshot>) -> Reader<'s> {
        Reader { store, moment }
    }

    /// The same store as it is when it is read.
    pub(crate) fn now(self) -> Reader<'s> {
        Reader::new(self.store, None)
    }

    /// Whether all reads are of one moment, so that what they show belongs together.
    pub(crate) fn is_of_one_moment(self) -> bool {
        self.moment.is_some()
    }

    /// The moment that is read, as the store knows it.
    pub(crate) fn moment(self) -> Option<Moment> {
        Some(self.moment?.moment())
    }

    /// A table, page by page.
    pub(crate) fn pages(self, table: TableName, extent: &Extent) -> Pages<'s> {
        let request = Scan {
            limit: Some(extent.page_items.max(1)),
            ..Scan::new(table)
        };
        Pages {
            reader: self,
            request,
            is_over: false,
        }
    }

    async fn scan(&self, request: &Scan) -> StoreResult<Page<Item>> {
        let mut attempt = 0;
        loop {
            let page = match self.moment {
                Some(moment) => moment.scan(request.clone()).await,
                None => self.store.scan(request.clone()).await,
            };
            match page {
                Err(error) if is_worth_another(&error, &mut attempt).await => {}
                answer => return answer?.answer.into_parts(),
            }
        }
    }

    /// All rows of a query.
    pub(crate) async fn list(&self, mut request: Query) -> StoreResult<Vec<Item>> {
        let mut rows = Vec::new();
        let mut attempt = 0;
        loop {
            let page = match self.moment {
                Some(moment) => moment.query(request.clone()).await,
                None => self.store.query(request.clone()).await,
            };
            let page = match page {
                Err(error) if is_worth_another(&error, &mut attempt).await => continue,
                answer => answer?.answer.into_parts()?,
            };
            rows.extend(page.items);
            match page.last_key {
                None => return Ok(rows),
                last_key => request.start_after = last_key,
            }
        }
    }

    /// Items, each found or missing, in the order of the addresses.
    pub(crate) async fn items(&self, addresses: &[ItemAddress]) -> StoreResult<Vec<Option<Item>>> {
        let mut answers = Vec::with_capacity(addresses.len());
        for chunk in addresses.chunks(BATCH_GET_KEYS_MAX) {
            answers.extend(self.batch(chunk).await?);
        }
        Ok(answers)
    }

    async fn batch(&self, addresses: &[ItemAddress]) -> StoreResult<Vec<Option<Item>>> {
        let mut answers = vec![None; addresses.len()];
        let mut open: Vec<usize> = (0..addresses.len()).collect();
        let mut attempt = 0;
        while !open.is_empty() {
            let asked = open.iter().map(|&at| addresses[at].clone()).collect();
            let request = BatchGetItem::new(asked);
            let got = match self.moment {
                Some(moment) => moment.batch_get_item(request).await,
                None => self.store.batch_get_item(request).await,
            };
            let got = match got {
                Err(error) if is_worth_another(&error, &mut attempt).await => continue,
                got => got?.answer,
            };
            let mut unprocessed = Vec::new();
            for (at, got) in open.into_iter().zip(got) {
                match got {
                    BatchGot::Found(item) => answers[at] = Some(item.into_item()?),
                    BatchGot::Missing => {}
                    BatchGot::Unprocessed => unprocessed.push(at),
                }
            }
            open = unprocessed;
            if !open.is_empty() && !is_worth_another(&StoreError::Throttled, &mut attempt).await {
                return Err(StoreError::Throttled);
            }
        }
        Ok(answers)
    }

    /// Carries a transaction out. What happened to one without an answer is seen by looking again.
    pub(crate) async fn write(&self, actions: Vec<TransactAction>) -> StoreResult<Written> {
        self.write_since(None, actions).await
    }

    /// Carries a transaction out, on items that are those of a moment.
    pub(crate) async fn write_since(
        &self,
        moment: Option<Moment>,
        actions: Vec<TransactAction>,
    ) -> StoreResult<Written> {
        let (store, token) = (self.store, None);
        let request = TransactWriteItems { actions, token };
        let written = match moment {
            Some(moment) => store.transact_write_items_since(moment, request).await,
            None => store.transact_write_items(request).await.map(|_| true),
        };
        let error = match written {
            Ok(true) => return Ok(Written::Done),
            Ok(false) => return Ok(Written::Replaced),
            Err(error) => error,
        };
        match (error.kind(), &error) {
            (
                ErrorKind::ConditionFailed
                | ErrorKind::Conflict
                | ErrorKind::Retry
                | ErrorKind::OutcomeUnknown,
                _,
            ) => Ok(Written::Stale),
            // The write does not fit the item: it would be too large, say.
            (
                ErrorKind::FixRequest,
                StoreError::Validation { .. } | StoreError::TransactionCanceled { .. },
            ) => Ok(Written::Refused),
            _ => Err(error),
        }
    }
}

/// The pages of a table that are left.
pub(crate) struct Pages<'s> {
    reader: Reader<'s>,
    request: Scan,
    is_over: bool,
}

impl Pages<'_> {
    /// The items of the next page; none after the last one.
    pub(crate) async fn next(&mut self) -> StoreResult<Option<Vec<Item>>> {
        if self.is_over {
            return Ok(None);
        }
        let page = self.reader.scan(&self.request).await?;
        self.is_over = page.last_key.is_none();
        self.request.start_after = page.last_key;
        Ok(Some(page.items))
    }
}

/// Addresses, each once where it comes several times in a row, and which of them each was.
pub(crate) fn distinct(
    addresses: impl Iterator<Item = StoreResult<ItemAddress>>,
) -> StoreResult<(Vec<ItemAddress>, Vec<usize>)> {
    let (mut once, mut which) = (Vec::<ItemAddress>::new(), Vec::new());
    for address in addresses {
        let address = address?;
        if once.last() != Some(&address) {
            once.push(address);
        }
        which.push(once.len() - 1);
    }
    Ok((once, which))
}

/// Waits before another attempt, if there may be capacity then.
async fn is_worth_another(error: &StoreError, attempt: &mut u32) -> bool {
    *attempt += 1;
    let again = error.kind() == ErrorKind::Retry && *attempt < ATTEMPTS;
    if again {
        pause(*attempt).await;
    }
    again
}

/// Lets others finish what they are doing.
pub(crate) async fn pause(attempt: u32) {
    tokio::time::sleep(Duration::from_millis(PAUSE_MILLIS << attempt.min(6))).await;
}
