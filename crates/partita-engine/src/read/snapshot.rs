//! A moment that is kept, for readers that have more to read than one page.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use partita_store::capacity::Metered;
use partita_store::read as reads;
use partita_store::request::{BatchGetItem, BatchGot, Page, Query, Scan};
use partita_store::stream::{SequenceNumber, StreamName, StreamPlace, StreamRecord};
use partita_store::table::TableName;
use partita_store::{Snapshot, StoreError, StoreResult};

use super::{Moment, Reach};
use crate::background::Background;
use crate::store::{KEYS_INLINE_MAX, ROWS_INLINE_MAX, here};

/// A moment that several threads read. While it is kept, compactions keep what was stored then.
pub(crate) struct KeptMoment {
    pub(crate) moment: partita_store::Moment,
    pub(crate) view: Arc<Moment>,
    pub(crate) background: Background,
    /// The tables that were being filled when it was taken, of which it may have a part only.
    pub(crate) closed: BTreeMap<TableName, StoreError>,
}

impl KeptMoment {
    fn demand_open(&self, table: &TableName) -> StoreResult<()> {
        self.closed
            .get(table)
            .map_or(Ok(()), |refusal| Err(refusal.clone()))
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Moment) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let view = self.view.clone();
        self.background.run(move || work(&view)).await
    }
}

#[async_trait]
impl Snapshot for KeptMoment {
    fn moment(&self) -> partita_store::Moment {
        self.moment
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        for address in &request.addresses {
            self.demand_open(&address.table)?;
        }
        if request.addresses.len() <= KEYS_INLINE_MAX {
            return here(|| reads::batch(&request, &*self.view));
        }
        self.read(move |moment| reads::batch(&request, moment))
            .await
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        self.demand_open(&request.table)?;
        match here(|| self.view.query(&request, Reach::rows(ROWS_INLINE_MAX)))? {
            Some(page) => Ok(page),
            None => {
                let view = self.view.clone();
                self.background
                    .page(move || view, request, Moment::query)
                    .await
            }
        }
    }

    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        self.demand_open(&request.table)?;
        let view = self.view.clone();
        self.background
            .page(move || view, request, Moment::scan)
            .await
    }

    async fn stream_end(&self, stream: &StreamName) -> StoreResult<StreamPlace> {
        self.demand_open(&stream.table)?;
        self.view.stream_end(stream)
    }

    async fn stream_place(
        &self,
        stream: &StreamName,
        number: SequenceNumber,
    ) -> StoreResult<StreamPlace> {
        self.view.stream_place(stream, number)
    }

    async fn records_from(
        &self,
        stream: &StreamName,
        from: SequenceNumber,
        bytes_max: usize,
    ) -> StoreResult<Vec<StreamRecord>> {
        self.demand_open(&stream.table)?;
        let stream = stream.clone();
        self.read(move |moment| moment.records_from(&stream, from, bytes_max))
            .await
    }
}
