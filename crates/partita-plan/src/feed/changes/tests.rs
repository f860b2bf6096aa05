use std::sync::Mutex;

use partita_store::stream::StreamEvent;
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_store::{ModelStore, Moment};

use super::*;
use crate::{Caller, Operation, Patience, Surroundings};

const DESIGN: &str = r#"
design = "notes"

[table]
name = "notes"
key  = ["PK", "SK"]

[entity.Note]
PK = "NOTE#{noteId}"
SK = "NOTE"

[entity.Note.attributes]
noteId = "string"

[entity.Note.allow]
"*" = "public"
"#;

/// A stream of which moments are told here.
#[derive(Clone, Default)]
struct Told {
    records: u128,
    chain: u64,
    is_unreadable: bool,
}

/// A store with the moments that it is told.
struct Telling {
    inner: Arc<dyn Store>,
    told: Arc<Mutex<Told>>,
    commits: watch::Sender<u64>,
}

impl Layer for Telling {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn snapshot(&self) -> Option<Arc<dyn Snapshot>> {
        let told = self.told.lock().unwrap().clone();
        let inner = self.inner.clone();
        Some(Arc::new(ToldMoment { inner, told }))
    }

    fn commits(&self) -> Option<watch::Receiver<u64>> {
        Some(self.commits.subscribe())
    }
}

struct ToldMoment {
    inner: Arc<dyn Store>,
    told: Told,
}

impl ToldMoment {
    fn place(&self, number: u128) -> StreamPlace {
        StreamPlace {
            next: SequenceNumber(number),
            chain: self.told.chain + number as u64,
        }
    }
}

#[async_trait]
impl Snapshot for ToldMoment {
    fn moment(&self) -> Moment {
        Moment(0)
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        self.inner.batch_get_item(request).await
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        self.inner.query(request).await
    }

    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        self.inner.scan(request).await
    }

    async fn stream_end(&self, _: &StreamName) -> StoreResult<StreamPlace> {
        Ok(self.place(self.told.records))
    }

    async fn stream_place(
        &self,
        _: &StreamName,
        number: SequenceNumber,
    ) -> StoreResult<StreamPlace> {
        Ok(self.place(number.0.min(self.told.records)))
    }

    async fn records_from(
        &self,
        _: &StreamName,
        from: SequenceNumber,
        _: usize,
    ) -> StoreResult<Vec<StreamRecord>> {
        if self.told.is_unreadable {
            let message = "it cannot be read now".to_owned();
            return Err(StoreError::Unavailable { message });
        }
        let numbers = from.0..self.told.records;
        Ok(numbers.map(record).collect())
    }
}

fn record(number: u128) -> StreamRecord {
    let note = Item::from([
        ("PK", Value::from(format!("NOTE#{number}"))),
        ("SK", Value::from("NOTE")),
    ]);
    StreamRecord {
        number: SequenceNumber(number),
        created_seconds: 0,
        event: StreamEvent::Insert,
        key: note.clone(),
        old: None,
        new: Some(note),
        view: StreamView::NewAndOldImages,
        size_bytes: 10,
        is_expiry: false,
    }
}

async fn told() -> (Arc<Partita>, Arc<Mutex<Told>>) {
    let told = Arc::<Mutex<Told>>::default();
    let store = Telling {
        inner: Arc::new(ModelStore::default()),
        told: told.clone(),
        commits: watch::Sender::new(0),
    };
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let surroundings = Surroundings {
        clock: Arc::new(ManualClock::default()),
        entropy: Arc::new(SeededEntropy::new(1)),
        cursor_key: [7; 32],
        patience: Patience::default(),
    };
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let opened = Partita::open_with(design, Arc::new(store), surroundings).await;
    (Arc::new(opened.unwrap()), told)
}

/// What could not be read is read by the next step, which need not wait for another commit.
#[tokio::test]
async fn a_step_that_fails_passes_over_nothing() {
    let (partita, told) = told().await;
    let mut tail = partita.tail().await.unwrap();
    told.lock().unwrap().records = 2;
    told.lock().unwrap().is_unreadable = true;
    assert!(tail.step().await.is_err());
    tail.has_more().await.unwrap();
    told.lock().unwrap().is_unreadable = false;
    let Stepped::Over(changes) = tail.step().await.unwrap() else {
        panic!("it is too much");
    };
    assert_eq!(changes.places().count(), 2);
    assert_eq!(changes.bytes(), 20);
}

/// A copy of a store, put back and written to, has other records under the same numbers.
#[tokio::test]
async fn a_feed_goes_on_only_in_the_history_that_it_knows() {
    let (partita, told) = told().await;
    told.lock().unwrap().records = 5;
    let mut tail = partita.tail().await.unwrap();
    let caller = Caller::default();
    let note = Operation::Get {
        entity: "Note".into(),
        identity: vec!["7".into()],
        with_deleted: false,
    };
    let at = tail.now().await.unwrap();
    let mut feed = partita.feed(&caller, &note).await.unwrap();
    let id = feed.ids().id(&at.position(&partita));
    for (records, chain, goes_on) in [
        (5, 0, true),
        (9, 0, true),
        (5, 1, false),
        (9, 1, false),
        (4, 0, false),
    ] {
        *told.lock().unwrap() = Told {
            records,
            chain,
            is_unreadable: false,
        };
        let at = tail.now().await.unwrap();
        let resumed = feed.resume(&id, &at).await;
        let context = format!("{records} records of history {chain}");
        assert_eq!(resumed.is_ok(), goes_on, "{context}");
    }
}
