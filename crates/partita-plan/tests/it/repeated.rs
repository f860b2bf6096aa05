//! A request that is repeated under its key while the first is still on its way to the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use partita_plan::{Caller, Operation};
use partita_store::capacity::Metered;
use partita_store::request::{BatchGetItem, BatchGot, TransactWriteItems};
use partita_store::{Layer, ModelStore, Store, StoreError, StoreResult};
use tokio::sync::Mutex;

use crate::stage::{open, texts};

const DESIGN: &str = r#"
design = "inn"

[table]
name = "inn"
key  = ["PK", "SK"]

[entity.Room]
PK = "ROOM#{roomId}"
SK = "METADATA"

[entity.Room.attributes]
roomId = "string"

[entity.Room.allow]
"*" = "signed-in"
"#;

/// A store to which a transaction of another server comes late: after the key was read, and before
/// the transaction of the repetition.
struct Crossing {
    inner: Arc<dyn Store>,
    late: Mutex<Option<TransactWriteItems>>,
    keeps: AtomicBool,
    /// Whether it comes before anything else is read, or before something is written.
    is_early: bool,
}

impl Crossing {
    async fn arrive(&self) {
        if let Some(late) = self.late.lock().await.take() {
            self.inner.transact_write_items(late).await.unwrap();
        }
    }
}

#[async_trait]
impl Layer for Crossing {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        let got = self.inner.batch_get_item(request).await;
        if self.is_early && !self.keeps.load(Ordering::SeqCst) {
            self.arrive().await;
        }
        got
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        if self.keeps.swap(false, Ordering::SeqCst) {
            *self.late.lock().await = Some(request);
            return Err(StoreError::Unavailable {
                message: "the server dies".to_owned(),
            });
        }
        self.arrive().await;
        self.inner.transact_write_items(request).await
    }
}

#[tokio::test]
async fn is_answered_as_the_first_and_not_refused_for_it() {
    for is_early in [false, true] {
        let crossing = Arc::new(Crossing {
            inner: Arc::new(ModelStore::default()),
            late: Mutex::default(),
            keeps: AtomicBool::new(false),
            is_early,
        });
        let partita = open(DESIGN, crossing.clone(), 1).await;
        let create = Operation::Create {
            entity: "Room".into(),
            attributes: texts(&[("roomId", "r")]),
        };
        let ann = Caller::user("ann");
        crossing.keeps.store(true, Ordering::SeqCst);
        let first = partita.run_once(&ann, create.clone(), "key").await;
        assert!(first.is_err(), "{first:?}");
        let second = partita.run_once(&ann, create.clone(), "key").await;
        assert!(second.is_ok(), "{is_early}: {second:?}");
        let third = partita.run_once(&ann, create, "key").await;
        assert_eq!(second, third);
    }
}
