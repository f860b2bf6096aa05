use std::path::Path;

use partita_core::key::KeyType;
use partita_core::{Item, Value};
use partita_store::Store as _;
use partita_store::index::{IndexKind, IndexProjection, IndexSchema};
use partita_store::request::{
    BatchWrite, BatchWriteItem, CreateTable, DeleteItem, GetItem, PutItem, ReturnValues, Scan,
    TableChange, UpdateTable, UpdateTimeToLive,
};
use partita_store::surroundings::ManualClock;
use partita_store::table::{KeyAttribute, KeySchema, TableName};

use super::*;
use crate::{EngineStore, Options, Upkeep};

const START_SECONDS: i64 = 1_800_000_000;
const YEAR_SECONDS: i64 = 365 * 24 * 60 * 60;

/// A store that does nothing by itself, on a clock that is set by hand.
struct Bench {
    directory: tempfile::TempDir,
    clock: Arc<ManualClock>,
    store: Option<EngineStore>,
}

impl Bench {
    async fn new() -> Self {
        let mut bench = Bench {
            directory: tempfile::tempdir().unwrap(),
            clock: Arc::new(ManualClock::at(START_SECONDS * 1000)),
            store: None,
        };
        bench.reopen();
        let request = CreateTable::new(name(), KeySchema::strings("PK", "SK"));
        bench.store().create_table(request).await.unwrap();
        bench
    }

    fn store(&self) -> &EngineStore {
        self.store.as_ref().unwrap()
    }

    fn reopen(&mut self) {
        drop(self.store.take());
        self.store = Some(open(self.directory.path(), self.clock.clone()));
    }

    fn set_clock(&self, seconds: i64) {
        self.clock.set((START_SECONDS + seconds) * 1000);
    }

    fn round(&self) -> bool {
        self.store().tending().round().unwrap()
    }

    async fn put(&self, number: usize, ends: Option<i64>) {
        let put = PutItem::new(name(), item(number, ends));
        let store = self.store();
        store.put_item(put, ReturnValues::None).await.unwrap();
    }

    /// Many items, each of which expires at the second, if there is one.
    async fn fill(&self, numbers: std::ops::Range<usize>, ends: Option<i64>) {
        let writes: Vec<_> = numbers
            .map(|number| BatchWrite::Put {
                table: name(),
                item: item(number, ends),
            })
            .collect();
        for writes in writes.chunks(25) {
            let writes = writes.to_vec();
            let request = BatchWriteItem { writes };
            self.store().batch_write_item(request).await.unwrap();
        }
    }

    async fn delete(&self, number: usize) {
        let mut key = item(number, None);
        key.remove("g");
        let request = DeleteItem {
            table: name(),
            key,
            condition: None,
            return_item_on_failure: false,
        };
        let store = self.store();
        store
            .delete_item(request, ReturnValues::None)
            .await
            .unwrap();
    }

    async fn update(&self, change: TableChange) {
        let (table, changes) = (name(), vec![change]);
        let request = UpdateTable { table, changes };
        self.store().update_table(request).await.unwrap();
    }

    async fn expire(&self, is_enabled: bool) {
        let request = UpdateTimeToLive {
            table: name(),
            attribute: "ends".to_owned(),
            is_enabled,
        };
        self.store().update_time_to_live(request).await.unwrap();
    }

    async fn count(&self, index: Option<&str>) -> usize {
        let mut scan = Scan::new(name());
        scan.index = index.map(str::to_owned);
        scan.consistent = index.is_none();
        self.store().scan(scan).await.unwrap().answer.count
    }

    async fn check(&self) {
        assert_eq!(self.store().verify().await, Ok(Vec::new()));
    }
}

fn open(directory: &Path, clock: Arc<ManualClock>) -> EngineStore {
    let options = Options::new(clock).upkeep(Upkeep::OnRequest);
    EngineStore::open(directory, options).unwrap()
}

fn name() -> TableName {
    "notes".parse().unwrap()
}

fn item(number: usize, ends: Option<i64>) -> Item {
    let mut item = Item::from([
        ("PK".to_owned(), Value::from("p")),
        ("SK".to_owned(), Value::from(format!("{number:04}"))),
        ("g".to_owned(), Value::from(format!("{}", number % 7))),
    ]);
    if let Some(ends) = ends {
        item.insert("ends".to_owned(), Value::from(START_SECONDS + ends));
    }
    item
}

fn by_g() -> IndexSchema {
    IndexSchema {
        name: "by-g".to_owned(),
        kind: IndexKind::Global,
        partition: vec![KeyAttribute {
            name: "g".to_owned(),
            kind: KeyType::S,
        }],
        sort: Vec::new(),
        projection: IndexProjection::All,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_is_built_while_the_table_is_used() {
    let mut bench = Bench::new().await;
    bench.fill(100..600, None).await;
    bench.update(TableChange::CreateIndex(by_g())).await;
    let mut rounds = 0;
    loop {
        // Before, at and behind what is built.
        for number in [rounds, 100 + 128 * rounds, 590 - rounds] {
            bench.put(number, None).await;
        }
        bench.delete(101 + rounds).await;
        bench.delete(500 + rounds).await;
        bench.check().await;
        let refused = bench.store().scan(Scan {
            index: Some("by-g".to_owned()),
            consistent: false,
            ..Scan::new(name())
        });
        assert!(matches!(refused.await, Err(StoreError::Validation { .. })));
        // What a restart finds, it goes on with.
        if rounds == 1 {
            bench.reopen();
        }
        let has_more = bench.round();
        bench.check().await;
        if !has_more {
            break;
        }
        rounds += 1;
    }
    assert!(rounds >= 3, "it was done at once");
    let described = bench.store().describe_table(&name()).await.unwrap();
    assert!(described.building.is_empty());
    assert_eq!(bench.count(Some("by-g")).await, bench.count(None).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_being_built_can_be_deleted() {
    let bench = Bench::new().await;
    bench.fill(0..300, None).await;
    bench.update(TableChange::CreateIndex(by_g())).await;
    assert!(bench.round());
    let delete = TableChange::DeleteIndex("by-g".to_owned());
    bench.update(delete).await;
    bench.store().upkeep().await.unwrap();
    bench.check().await;
    bench.update(TableChange::CreateIndex(by_g())).await;
    bench.expire(true).await;
    assert!(bench.round());
    bench.store().delete_table(&name()).await.unwrap();
    bench.store().upkeep().await.unwrap();
    bench.check().await;
    let view = bench.store().views().view();
    let bounds = crate::keys::all_rows();
    let rows = view.range(bounds, crate::storage::Direction::Ascending);
    assert_eq!(rows.count(), 0);
}

/// Items that were there before an index, and do not fit it, are left out, and stay so.
#[tokio::test(flavor = "multi_thread")]
async fn items_that_do_not_fit_are_left_out() {
    let bench = Bench::new().await;
    let mut misfit = item(1, None);
    misfit.insert("g".to_owned(), Value::from(1));
    let put = PutItem::new(name(), misfit);
    let store = bench.store();
    store
        .put_item(put.clone(), ReturnValues::None)
        .await
        .unwrap();
    bench.put(2, None).await;
    bench.update(TableChange::CreateIndex(by_g())).await;
    store.upkeep().await.unwrap();
    assert_eq!(bench.count(Some("by-g")).await, 1);
    let again = store.put_item(put, ReturnValues::None).await;
    assert!(matches!(again, Err(StoreError::Validation { .. })));
    bench.check().await;
    bench.put(1, None).await;
    assert_eq!(bench.count(Some("by-g")).await, 2);
    bench.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_items_go_in_chunks() {
    let bench = Bench::new().await;
    // They are there before anybody asks when they expire.
    bench.fill(0..300, Some(10)).await;
    bench.expire(true).await;
    bench.fill(300..600, Some(20)).await;
    bench.fill(600..610, Some(1_000)).await;
    bench.store().upkeep().await.unwrap();
    assert_eq!(bench.count(None).await, 610, "nothing is due");
    bench.set_clock(10);
    bench.store().upkeep().await.unwrap();
    assert_eq!(bench.count(None).await, 610, "nothing is over");
    bench.set_clock(100);
    let mut counts = Vec::new();
    while bench.round() {
        counts.push(bench.count(None).await);
        bench.check().await;
    }
    assert_eq!(counts, [610 - 256, 610 - 512]);
    assert_eq!(bench.count(None).await, 10);
    bench.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_goes_early_whatever_the_clock_does() {
    let bench = Bench::new().await;
    bench.expire(true).await;
    bench.put(1, Some(100)).await;
    let is_there = async |number| {
        let mut key = item(number, None);
        key.remove("g");
        let request = GetItem::new(name(), key);
        let found = bench.store().get_item(request).await.unwrap();
        found.answer.is_some()
    };
    // Years ahead it means something else than an expiry; years back it is not due.
    for seconds in [0, 10 * YEAR_SECONDS, 0, -10 * YEAR_SECONDS, 100] {
        bench.set_clock(seconds);
        bench.store().upkeep().await.unwrap();
        assert!(is_there(1).await, "at {seconds}");
    }
    bench.set_clock(101);
    bench.store().upkeep().await.unwrap();
    assert!(!is_there(1).await);
    // What is written into the past is found too.
    bench.put(2, Some(-5_000)).await;
    bench.put(3, Some(-6 * YEAR_SECONDS)).await;
    bench.store().upkeep().await.unwrap();
    assert!(!is_there(2).await);
    assert!(is_there(3).await, "five years ago it is no expiry");
    bench.check().await;
}

/// What the sweeper has found may have changed before the committer comes to it.
#[tokio::test(flavor = "multi_thread")]
async fn the_committer_decides_what_has_expired() {
    let bench = Bench::new().await;
    bench.expire(true).await;
    bench.put(1, Some(10)).await;
    bench.set_clock(100);
    let table = bench.store().tending().catalog.tables();
    let table = table.find(&name()).unwrap().clone();
    let key = table.schema.key.key_of(&item(1, None)).unwrap();
    let stored_key = crate::keys::item(table.id, &key);
    let expire = |seconds| {
        bench.set_clock(seconds);
        let keys = vec![stored_key.clone()];
        let tending = bench.store().tending();
        tending.write(0, move |batch| batch.expire(&name(), &keys))
    };
    assert_eq!(expire(5), Ok(0), "a clock that was set back");
    bench.put(1, Some(500)).await;
    assert_eq!(expire(100), Ok(0), "an item that lives longer now");
    assert_eq!(expire(501), Ok(1));
    assert_eq!(expire(501), Ok(0), "an item that is gone");
    bench.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_thread_does_all_of_it_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(START_SECONDS * 1000));
    let mut bench = Bench {
        store: Some(EngineStore::open(directory.path(), Options::new(clock.clone())).unwrap()),
        directory,
        clock,
    };
    let request = CreateTable::new(name(), KeySchema::strings("PK", "SK"));
    bench.store().create_table(request).await.unwrap();
    bench.fill(0..300, Some(10)).await;
    bench.expire(true).await;
    bench.update(TableChange::CreateIndex(by_g())).await;
    bench.set_clock(100);
    loop {
        let described = bench.store().describe_table(&name()).await.unwrap();
        if described.building.is_empty() && described.totals.items == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    bench.check().await;
    drop(bench.store.take());
}

/// A wrong clock hides what has expired by it, and removes nothing.
#[tokio::test]
async fn after_a_start_with_a_clock_far_ahead_nothing_is_removed_for_a_day() {
    const DAY_SECONDS: i64 = 24 * 60 * 60;
    let mut bench = Bench::new().await;
    bench.expire(true).await;
    bench.put(1, Some(DAY_SECONDS)).await;
    bench.store().upkeep().await.unwrap();

    drop(bench.store.take());
    bench.set_clock(30 * DAY_SECONDS);
    // Twice, because a write by the wrong clock must not make the next start believe it.
    for number in [2, 3] {
        bench.reopen();
        assert!(bench.store().doubts_clock());
        bench.put(number, None).await;
        bench.store().upkeep().await.unwrap();
        assert_eq!(bench.count(None).await, number);
    }
    bench.set_clock(31 * DAY_SECONDS);
    assert!(!bench.store().doubts_clock());
    bench.store().upkeep().await.unwrap();
    assert_eq!(bench.count(None).await, 2, "a day has passed");
}

/// A process that was killed has not noted when it ended.
#[tokio::test]
async fn a_clock_is_compared_with_the_last_commit_of_a_killed_process() {
    const DAY_SECONDS: i64 = 24 * 60 * 60;
    let bench = Bench::new().await;
    bench.expire(true).await;
    bench.put(1, Some(DAY_SECONDS)).await;
    let copy = tempfile::tempdir().unwrap();
    copy_all(bench.directory.path(), copy.path());
    bench.set_clock(30 * DAY_SECONDS);
    let store = open(copy.path(), bench.clock.clone());
    assert!(store.doubts_clock());
    drop(store);
    let options = Options::new(bench.clock.clone()).trusts_clock(true);
    let store = EngineStore::open(copy.path(), options.upkeep(Upkeep::OnRequest)).unwrap();
    assert!(!store.doubts_clock(), "the operator says that it is right");
    store.upkeep().await.unwrap();
    let page = store.scan(Scan::new(name())).await.unwrap();
    assert_eq!(page.answer.count, 0);
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_all(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}
