//! A moment that is kept, for readers that have more to read than one page.

use std::sync::Arc;

use async_trait::async_trait;
use partita_store::capacity::Metered;
use partita_store::read as reads;
use partita_store::request::{BatchGetItem, BatchGot, Page, Query, Scan};
use partita_store::{Snapshot, StoreResult};

use super::Moment;
use crate::store::{in_background, whole};

/// A moment that several threads read. While it is kept, compactions keep what was stored then.
pub(crate) struct KeptMoment(pub(crate) Arc<Moment>);

impl KeptMoment {
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Moment) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let moment = self.0.clone();
        in_background(move || work(&moment)).await
    }
}

#[async_trait]
impl Snapshot for KeptMoment {
    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        self.read(move |moment| reads::batch(&request, moment))
            .await
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        self.read(move |moment| whole(moment, &request, Moment::query))
            .await
    }

    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        self.read(move |moment| whole(moment, &request, Moment::scan))
            .await
    }
}
