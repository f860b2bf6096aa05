//! Copies of an embedded store, and what is noticed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use async_trait::async_trait;
use partita_core::{Item, Value};
use partita_engine::{EngineStore, Options};
use partita_store::capacity::Metered;
use partita_store::request::{
    BatchWrite, BatchWriteItem, CreateTable, DeleteItem, Page, PutItem, ReturnValues, Scan,
};
use partita_store::surroundings::SystemClock;
use partita_store::table::{KeySchema, TableName, string_key};
use partita_store::{Layer, ModelStore, Store, StoreError, StoreResult};
use tempfile::TempDir;

use super::{Copied, Copying, Marks, Source};
use crate::error::TransferError;

fn name() -> TableName {
    "notes".parse().unwrap()
}

fn item(number: u32, text: &str) -> Item {
    let mut item = string_key(
        ("PK", &format!("p{}", number % 7)),
        ("SK", &format!("{number:06}")),
    );
    item.insert("text", Value::from(text));
    item
}

fn mark(word: &str) -> Item {
    let mut item = string_key(("PK", "MARK"), ("SK", "MARK"));
    item.insert("word", Value::from(word));
    item
}

fn marks(switches: bool) -> Marks {
    Marks {
        table: name(),
        key: string_key(("PK", "MARK"), ("SK", "MARK")),
        arriving: mark("arriving"),
        gone: mark("gone"),
        before: None,
        whole: (!switches).then(|| mark("beside")),
    }
}

struct Scene {
    _folder: TempDir,
    source: Arc<EngineStore>,
}

impl Scene {
    /// A store with so many items.
    async fn new(items: u32) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new(Arc::new(SystemClock));
        let source = Arc::new(EngineStore::open(&folder.path().join("store"), options).unwrap());
        let table = CreateTable::new(name(), KeySchema::strings("PK", "SK"));
        source.create_table(table).await.unwrap();
        let puts = (0..items).map(|number| put(&*source, item(number, "first")));
        futures::future::join_all(puts).await;
        Scene {
            _folder: folder,
            source,
        }
    }

    fn copying(&self, target: Arc<dyn Store>, switches: bool) -> Copying {
        Copying {
            source: Source::Embedded(self.source.clone()),
            target,
            tables: vec![name()],
            marks: marks(switches),
            switches,
            reason: "it has moved".to_owned(),
            clock: Arc::new(SystemClock),
        }
    }

    async fn copy(&self, target: Arc<dyn Store>, switches: bool) -> Result<Copied, TransferError> {
        let copying = self.copying(target, switches);
        copying.carry_out(&mut |_| Ok(())).await
    }
}

async fn put(store: &dyn Store, item: Item) {
    try_put(store, item).await.unwrap();
}

async fn try_put(store: &dyn Store, item: Item) -> StoreResult<()> {
    let put = PutItem::new(name(), item);
    store.put_item(put, ReturnValues::None).await.map(drop)
}

/// Everything in a store, by its keys.
async fn contents(store: &dyn Store) -> BTreeMap<String, Item> {
    let mut found = BTreeMap::new();
    let mut scan = Scan::new(name());
    loop {
        let page = store
            .scan(scan.clone())
            .await
            .unwrap()
            .answer
            .into_parts()
            .unwrap();
        for item in page.items {
            let key = format!("{:?} {:?}", item["PK"], item["SK"]);
            found.insert(key, item);
        }
        match page.last_key {
            None => return found,
            last => scan.start_after = last,
        }
    }
}

/// The mark is the only thing in which they differ.
async fn assert_equal(source: &dyn Store, target: &dyn Store) {
    let mut left = contents(source).await;
    left.retain(|_, item| item.get("word").is_none());
    let mut right = contents(target).await;
    right.retain(|_, item| *item != mark("beside"));
    assert_eq!(left, right);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_under_writes_is_equal_and_takes_the_place_of_its_source() {
    let scene = Scene::new(2_000).await;
    let target: Arc<dyn Store> = Arc::new(ModelStore::default());
    let writers = (0..4u32).map(|writer| {
        let source = scene.source.clone();
        tokio::spawn(async move {
            let mut written = 0;
            for number in (writer * 1_000..).take(100_000) {
                match try_put(&*source, item(number, "second")).await {
                    Ok(()) => written += 1,
                    Err(StoreError::ReadOnly { message }) => {
                        assert_eq!(message, "it has moved");
                        return written;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            written
        })
    });
    let writers: Vec<_> = writers.collect();
    let copied = scene.copy(target.clone(), true).await.unwrap();
    let written = futures::future::join_all(writers).await;
    assert!(written.into_iter().all(|written| written.unwrap() > 0));
    assert!(
        copied.switch_millis.is_some() && copied.rounds == 1,
        "{copied:?}"
    );
    assert_equal(&*scene.source, &*target).await;
    // What is refused says where to write, and reads go on.
    let refused = try_put(&*scene.source, item(1, "third")).await;
    assert!(matches!(refused, Err(StoreError::ReadOnly { .. })));
    let left = contents(&*scene.source).await;
    assert!(left.values().any(|item| *item == mark("gone")));
    scene.source.thaw(&[name()]);
    put(&*scene.source, item(1, "third")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_differs_is_mended() {
    let scene = Scene::new(300).await;
    let target: Arc<dyn Store> = Arc::new(ModelStore::default());
    let first = scene.copy(target.clone(), false).await.unwrap();
    assert_eq!((first.items, first.written, first.rounds), (300, 300, 1));
    assert_equal(&*scene.source, &*target).await;
    // Both are used: the target says so.
    let found = contents(&*target).await;
    assert!(found.values().any(|item| *item == mark("beside")));
    put(&*target, item(7, "another")).await;
    put(&*target, item(9_999, "of the target alone")).await;
    let second = scene.copy(target.clone(), false).await.unwrap();
    assert_eq!((second.items, second.written, second.rounds), (300, 2, 2));
    assert_equal(&*scene.source, &*target).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_is_left_goes_on_the_next_time() {
    let scene = Scene::new(300).await;
    let target: Arc<dyn Store> = Arc::new(ModelStore::default());
    let copying = scene.copying(target.clone(), true);
    let left = copying.carry_out(&mut |_| Err(TransferError::Left)).await;
    assert!(matches!(left, Err(TransferError::Left)));
    // Whoever looks at the target sees that it is not whole, and the source is as it was.
    let found = contents(&*target).await;
    assert!(found.values().any(|item| *item == mark("arriving")));
    put(&*scene.source, item(1, "second")).await;
    scene.copy(target.clone(), true).await.unwrap();
    assert_equal(&*scene.source, &*target).await;
    let found = contents(&*target).await;
    assert!(found.values().all(|item| item.get("word").is_none()));
}

/// A target that fails once it was compared; the source is written to at that moment.
struct Failing {
    inner: ModelStore,
    source: Arc<dyn Store>,
    has_failed: AtomicBool,
}

impl Failing {
    fn refuse(&self) -> StoreResult<()> {
        if self.has_failed.load(Ordering::Relaxed) {
            return Err(StoreError::validation("the target is gone"));
        }
        Ok(())
    }
}

#[async_trait]
impl Layer for Failing {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn scan(&self, scan: Scan) -> StoreResult<Metered<Page>> {
        if scan.limit.is_none() {
            put(&*self.source, item(1, "late")).await;
            self.has_failed.store(true, Ordering::Relaxed);
        }
        self.inner.scan(scan).await
    }

    async fn batch_write_item(
        &self,
        request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>> {
        self.refuse()?;
        self.inner.batch_write_item(request).await
    }

    async fn delete_item(
        &self,
        request: DeleteItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.refuse()?;
        self.inner.delete_item(request, returns).await
    }
}

/// Where a switch comes to nothing, the source has the mark of before, and what waits by it goes on
/// waiting.
#[tokio::test(flavor = "multi_thread")]
async fn a_switch_that_fails_leaves_the_mark_of_before() {
    let scene = Scene::new(300).await;
    let other: Arc<dyn Store> = Arc::new(ModelStore::default());
    scene.copy(other.clone(), false).await.unwrap();
    for source in [
        Source::Embedded(scene.source.clone()),
        Source::Other(other.clone()),
    ] {
        put(&*source.store(), mark("waits")).await;
        let target = Arc::new(Failing {
            inner: ModelStore::default(),
            source: source.store(),
            has_failed: AtomicBool::new(false),
        });
        let mut copying = scene.copying(target, true);
        copying.source = source.clone();
        copying.marks.before = Some(mark("waits"));
        copying.carry_out(&mut |_| Ok(())).await.unwrap_err();
        let found = contents(&*source.store()).await;
        assert!(found.values().any(|item| *item == mark("waits")));
    }
}

/// A planted mistake: a target that says that it has written, and has not.
struct Forgetful {
    inner: ModelStore,
    batches: AtomicU32,
    is_forgetful_for: u32,
}

#[async_trait]
impl Layer for Forgetful {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn batch_write_item(
        &self,
        mut request: BatchWriteItem,
    ) -> StoreResult<Metered<Vec<BatchWrite>>> {
        if self.batches.fetch_add(1, Ordering::Relaxed) < self.is_forgetful_for {
            request.writes.pop();
        }
        if request.writes.is_empty() {
            return Ok(Metered::default());
        }
        self.inner.batch_write_item(request).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgetful_target_is_noticed() {
    let scene = Scene::new(300).await;
    let forgetful = |is_forgetful_for| {
        Arc::new(Forgetful {
            inner: ModelStore::default(),
            batches: AtomicU32::new(0),
            is_forgetful_for,
        })
    };
    let once = forgetful(1);
    let copied = scene.copy(once.clone(), false).await.unwrap();
    assert_eq!((copied.rounds, copied.written), (2, 301));
    assert_equal(&*scene.source, &*once).await;
    let always = scene.copy(forgetful(u32::MAX), true).await;
    assert!(matches!(
        always,
        Err(TransferError::Restless {
            is_followed: true,
            ..
        })
    ));
    // A switch that came to nothing leaves the source as it was.
    put(&*scene.source, item(1, "second")).await;
}
