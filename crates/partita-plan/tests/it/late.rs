//! A transaction whose answer is lost: it may still be on its way when its sender gives up, and
//! the store does not know its token for ever.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use partita_plan::{Partita, PlanError};
use partita_store::capacity::Metered;
use partita_store::request::TransactWriteItems;
use partita_store::surroundings::ManualClock;
use partita_store::{Layer, ModelStore, Store, StoreError, StoreResult};

use crate::inn::{DESIGN, guest, removal, room};
use crate::stage::{NOW, items, open, open_at, run};

/// A store that keeps the first transaction back. While it does, somebody removes the room.
struct Late {
    inner: Arc<dyn Store>,
    other: Partita,
    kept_back: Mutex<Option<TransactWriteItems>>,
    sent: AtomicUsize,
}

#[async_trait]
impl Layer for Late {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        if self.sent.fetch_add(1, Ordering::SeqCst) > 0 {
            return self.inner.transact_write_items(request).await;
        }
        *self.kept_back.lock().unwrap() = Some(request);
        run(&self.other, removal()).await.unwrap();
        Err(unknown())
    }
}

/// A store that carries everything out and answers nothing. Each time takes minutes.
struct Silent {
    inner: Arc<dyn Store>,
    clock: Arc<ManualClock>,
    sent: AtomicUsize,
}

#[async_trait]
impl Layer for Silent {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        self.inner.transact_write_items(request).await?;
        self.sent.fetch_add(1, Ordering::SeqCst);
        self.clock.advance(4 * 60_000);
        Err(unknown())
    }
}

fn unknown() -> StoreError {
    StoreError::OutcomeUnknown {
        message: "no answer".to_owned(),
    }
}

#[tokio::test]
async fn what_was_refused_is_not_carried_out_when_it_comes_late() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let other = open(DESIGN, store.clone(), 0).await;
    run(&other, room()).await.unwrap();
    let late = Arc::new(Late {
        inner: store.clone(),
        other,
        kept_back: Mutex::default(),
        sent: AtomicUsize::new(0),
    });
    let partita = open(DESIGN, late.clone(), 1).await;
    let refused = run(&partita, guest("g")).await.unwrap_err();
    assert!(!matches!(refused, PlanError::OutcomeUnknown), "{refused}");
    // The room is let again, so that all conditions of the first request hold.
    run(&late.other, room()).await.unwrap();
    let first = late.kept_back.lock().unwrap().take().unwrap();
    let came = store.transact_write_items(first).await.map(drop);
    assert_eq!(came, Err(StoreError::IdempotentParameterMismatch));
    assert_eq!(items(&*store, "inn").await.len(), 1);
}

#[tokio::test]
async fn nothing_is_sent_again_when_its_token_may_be_forgotten() {
    let clock = Arc::new(ManualClock::at(NOW));
    let store: Arc<dyn Store> = Arc::new(ModelStore::new(clock.clone()));
    drop(open_at(DESIGN, store.clone(), 0, clock.clone()).await);
    let silent = Arc::new(Silent {
        inner: store.clone(),
        clock: clock.clone(),
        sent: AtomicUsize::new(0),
    });
    let partita = open_at(DESIGN, silent.clone(), 1, clock).await;
    let answer = run(&partita, room()).await.unwrap_err();
    assert!(matches!(answer, PlanError::OutcomeUnknown), "{answer}");
    assert_eq!(silent.sent.load(Ordering::SeqCst), 2);
}
