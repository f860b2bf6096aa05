//! A store in which something happens between what a plan has read and its transaction.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use partita_store::capacity::Metered;
use partita_store::request::{TransactAction, TransactWriteItems};
use partita_store::{Layer, Store, StoreResult};

/// What happens in between.
pub(crate) type Meddle = Box<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// What is left of an action.
pub(crate) type SpoilAction = fn(TransactAction) -> Option<TransactAction>;

/// The store.
pub(crate) struct Meddler {
    inner: Arc<dyn Store>,
    meddle: Meddle,
    /// A mistake in every transaction.
    spoil: Option<SpoilAction>,
    is_armed: AtomicBool,
    has_meddled: AtomicBool,
}

impl Meddler {
    pub(crate) fn new(
        inner: Arc<dyn Store>,
        meddle: Meddle,
        spoil: Option<SpoilAction>,
    ) -> Meddler {
        Meddler {
            inner,
            meddle,
            spoil,
            is_armed: AtomicBool::new(false),
            has_meddled: AtomicBool::new(false),
        }
    }

    /// Makes the interference happen before the next transaction.
    pub(crate) fn arm(&self) {
        self.is_armed.store(true, Ordering::SeqCst);
    }

    pub(crate) fn has_meddled(&self) -> bool {
        self.has_meddled.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Layer for Meddler {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        if self.is_armed.swap(false, Ordering::SeqCst) {
            (self.meddle)().await;
            self.has_meddled.store(true, Ordering::SeqCst);
        }
        let mut request = request;
        if let Some(spoil) = self.spoil {
            request.actions = request.actions.into_iter().filter_map(spoil).collect();
        }
        self.inner.transact_write_items(request).await
    }
}
