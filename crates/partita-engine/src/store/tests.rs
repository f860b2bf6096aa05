use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use partita_core::Value;
use partita_core::expression::{Bindings, Condition, KeyCondition, Update};

use partita_store::StoreError;
use partita_store::surroundings::ManualClock;
use partita_store::table::KeySchema;

use super::*;
use crate::options::StorageRoom;
use crate::storage::{Edit, StorageError};

/// Commits until it is made to fail.
struct Failing {
    inner: Box<dyn Commits>,
    is_broken: Arc<AtomicBool>,
}

impl Commits for Failing {
    fn commit(&mut self, edits: Vec<Edit>, now_millis: i64) -> Result<(), StorageError> {
        if self.is_broken.load(Ordering::SeqCst) {
            Err(StorageError::Failed("the disk is on fire".into()))
        } else {
            self.inner.commit(edits, now_millis)
        }
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        if self.is_broken.load(Ordering::SeqCst) {
            Err(StorageError::Failed("the disk is on fire".into()))
        } else {
            self.inner.sync()
        }
    }
}

/// Commits until it is made to panic.
struct Panicking {
    inner: Box<dyn Commits>,
    is_broken: Arc<AtomicBool>,
}

impl Commits for Panicking {
    fn commit(&mut self, edits: Vec<Edit>, now_millis: i64) -> Result<(), StorageError> {
        assert!(!self.is_broken.load(Ordering::SeqCst), "it is made to");
        self.inner.commit(edits, now_millis)
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        self.inner.sync()
    }
}

/// Whoever asks how the store is hears that nothing is written any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_committer_that_panics_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let opened = directory::open(directory.path(), Durability::Sync, StorageRoom::SMALL);
    let (views, commits) = opened.unwrap();
    let is_broken = Arc::new(AtomicBool::new(false));
    let commits = Panicking {
        inner: Box::new(commits),
        is_broken: is_broken.clone(),
    };
    let store = EngineStore::on(
        directory.path(),
        Arc::new(views),
        Box::new(commits),
        Options::new(clock()),
    );
    let store = store.unwrap();
    create_table(&store).await;
    assert_eq!(store.meters().unwrap().stopped, None);
    is_broken.store(true, Ordering::SeqCst);
    put(&store, "during").await.unwrap_err();
    put(&store, "after").await.unwrap_err();
    for _ in 0..1_000 {
        if store.meters().unwrap().stopped.is_some() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("nobody hears of it");
}

fn name() -> TableName {
    "notes".parse().unwrap()
}

fn key(sort: &str) -> Item {
    Item::from([
        ("PK".to_owned(), Value::from("a")),
        ("SK".to_owned(), Value::from(sort)),
    ])
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(ManualClock::default())
}

async fn create_table(store: &EngineStore) {
    let request = CreateTable::new(name(), KeySchema::strings("PK", "SK"));
    store.create_table(request).await.unwrap();
}

async fn put(store: &EngineStore, sort: &str) -> StoreResult<Option<Item>> {
    let request = PutItem::new(name(), key(sort));
    Ok(store.put_item(request, ReturnValues::None).await?.answer)
}

async fn get(store: &EngineStore, sort: &str) -> StoreResult<Option<Item>> {
    let request = GetItem::new(name(), key(sort));
    let found = store.get_item(request).await?.answer;
    found.map(FoundItem::into_item).transpose()
}

fn breakable(directory: &Path) -> (EngineStore, Arc<AtomicBool>) {
    let (views, commits) =
        directory::open(directory, Durability::Sync, StorageRoom::SMALL).unwrap();
    let is_broken = Arc::new(AtomicBool::new(false));
    let commits = Failing {
        inner: Box::new(commits),
        is_broken: is_broken.clone(),
    };
    let store = EngineStore::on(
        directory,
        Arc::new(views),
        Box::new(commits),
        Options::new(clock()),
    );
    (store.unwrap(), is_broken)
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_failed_commit_only_reads_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let (store, is_broken) = breakable(directory.path());
    create_table(&store).await;
    put(&store, "before").await.unwrap();
    let meters = store.meters().unwrap();
    assert_eq!((meters.commit_writes.count(), meters.waiting), (2, 0));
    assert!(meters.commit_bytes > 0);
    assert_eq!(meters.stopped, None);
    is_broken.store(true, Ordering::SeqCst);
    match put(&store, "during").await {
        Err(StoreError::OutcomeUnknown { message }) => {
            assert!(message.contains("the disk is on fire"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    let stopped = store.meters().unwrap().stopped.unwrap();
    assert!(stopped.contains("the disk is on fire"), "{stopped}");
    // That the disk recovers changes nothing: what it lost in between is lost.
    is_broken.store(false, Ordering::SeqCst);
    for _ in 0..3 {
        match put(&store, "after").await {
            Err(StoreError::Unavailable { message }) => {
                assert!(message.contains("the disk is on fire"), "{message}");
                assert!(message.contains("reopen the store"), "{message}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(get(&store, "before").await, Ok(Some(key("before"))));
    assert_eq!(get(&store, "during").await, Ok(None));
    assert_eq!(get(&store, "after").await, Ok(None));
    drop(store);
    let store = EngineStore::open(directory.path(), Options::new(clock())).unwrap();
    put(&store, "after").await.unwrap();
    assert_eq!(get(&store, "before").await, Ok(Some(key("before"))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_whose_commit_failed_is_not_there() {
    let directory = tempfile::tempdir().unwrap();
    let (store, is_broken) = breakable(directory.path());
    is_broken.store(true, Ordering::SeqCst);
    let request = CreateTable::new(name(), KeySchema::strings("PK", "SK"));
    let created = store.create_table(request).await;
    assert!(matches!(created, Err(StoreError::OutcomeUnknown { .. })));
    let described = store.describe_table(&name()).await;
    assert!(matches!(described, Err(StoreError::TableNotFound { .. })));
}

/// In a batch that failed, what would have been done is unknown, and what was refused is not.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_in_a_failed_batch_changed_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (store, is_broken) = breakable(directory.path());
    create_table(&store).await;
    is_broken.store(true, Ordering::SeqCst);
    let mut refused = PutItem::new(name(), key("x"));
    let condition = Condition::parse("attribute_exists(PK)", &Bindings::Literals);
    refused.condition = Some(condition.unwrap());
    let answer = store.put_item(refused, ReturnValues::None).await;
    assert!(
        matches!(answer, Err(StoreError::ConditionFailed { .. })),
        "alone in its batch, it needs no commit: {answer:?}"
    );
    assert!(matches!(
        put(&store, "x").await,
        Err(StoreError::OutcomeUnknown { .. })
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_bytes_are_an_error_wherever_they_are_met() {
    let directory = tempfile::tempdir().unwrap();
    let store = EngineStore::open(directory.path(), Options::new(clock())).unwrap();
    create_table(&store).await;
    put(&store, "bad").await.unwrap();
    put(&store, "good").await.unwrap();
    let table = store.catalog.tables().find(&name()).unwrap().clone();
    drop(store);

    let (views, mut commits) =
        directory::open(directory.path(), Durability::Sync, StorageRoom::SMALL).unwrap();
    let bad = crate::keys::item(table.id, &table.schema.key.key_of(&key("bad")).unwrap());
    let edit = Edit::Put(bad, b"\x00garbage".to_vec());
    commits.commit(vec![edit], 0).unwrap();
    let store = EngineStore::on(
        directory.path(),
        Arc::new(views),
        Box::new(commits),
        Options::new(clock()),
    );
    let store = store.unwrap();

    let is_damage = |answer: &Result<(), StoreError>| match answer {
        Err(StoreError::Corrupt { message }) => message.contains("`notes`"),
        _ => false,
    };
    let update = UpdateItem {
        table: name(),
        key: key("bad"),
        update: Update::parse("SET x = 1", &Bindings::Literals).unwrap(),
        condition: None,
        return_item_on_failure: false,
    };
    let partition = Query::new(name(), KeyCondition::partition("PK", "a"));
    let answers = [
        get(&store, "bad").await.map(|_| ()),
        store.query(partition).await.map(|_| ()),
        store.scan(Scan::new(name())).await.map(|_| ()),
        store
            .update_item(update, ReturnValues::None)
            .await
            .map(|_| ()),
    ];
    for answer in &answers {
        assert!(is_damage(answer), "{answer:?}");
    }
    // One bad item takes nothing else with it.
    assert_eq!(get(&store, "good").await, Ok(Some(key("good"))));
    put(&store, "other").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_table_or_token_refuses_to_open() {
    for (key, word) in [
        (crate::keys::table(&name()), "table"),
        (crate::keys::token("t"), "token"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let (_, mut commits) =
            directory::open(directory.path(), Durability::Sync, StorageRoom::SMALL).unwrap();
        let edit = Edit::Put(key, b"garbage".to_vec());
        commits.commit(vec![edit], 0).unwrap();
        drop(commits);
        let refused = EngineStore::open(directory.path(), Options::new(clock())).map(|_| ());
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("is damaged"), "{refused}");
        assert!(refused.contains(word), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_store_reads_and_does_not_write() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(EngineStore::open(directory.path(), Options::new(clock())).unwrap());
    create_table(&store).await;
    let writes: Vec<_> = (0..50)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { (number, put(&store, &format!("{number}")).await) })
        })
        .collect();
    store.close().await;
    for write in writes {
        let (number, answer) = write.await.unwrap();
        let found = get(&store, &format!("{number}")).await.unwrap();
        match answer {
            Ok(_) => assert!(found.is_some(), "{number} was accepted and is lost"),
            Err(StoreError::Unavailable { .. }) => assert!(found.is_none()),
            Err(error) => panic!("{error}"),
        }
    }
    let late = put(&store, "late").await;
    assert!(matches!(late, Err(StoreError::Unavailable { .. })));
    store.close().await;
}

/// A disk with so much room.
struct Roomy {
    inner: Box<dyn Commits>,
    free_bytes: Arc<AtomicU64>,
}

impl Commits for Roomy {
    fn commit(&mut self, edits: Vec<Edit>, now_millis: i64) -> Result<(), StorageError> {
        self.inner.commit(edits, now_millis)
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        self.inner.sync()
    }

    fn free_bytes(&self) -> Option<u64> {
        Some(self.free_bytes.load(Ordering::SeqCst))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_writes_until_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let (views, commits) =
        directory::open(directory.path(), Durability::Sync, StorageRoom::SMALL).unwrap();
    assert!(commits.free_bytes().is_none_or(|bytes| bytes > 0));
    let free_bytes = Arc::new(AtomicU64::new(u64::MAX));
    let commits = Roomy {
        inner: Box::new(commits),
        free_bytes: free_bytes.clone(),
    };
    let (views, commits) = (Arc::new(views), Box::new(commits));
    let options = Options::new(clock());
    let store = EngineStore::on(directory.path(), views, commits, options).unwrap();
    create_table(&store).await;
    put(&store, "before").await.unwrap();
    for _ in 0..2 {
        free_bytes.store(100 * 1_048_576, Ordering::SeqCst);
        match put(&store, "during").await {
            Err(StoreError::DiskFull { message }) => {
                assert!(message.contains("only 100 MB left"), "{message}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(get(&store, "before").await, Ok(Some(key("before"))));
        assert_eq!(get(&store, "during").await, Ok(None), "nothing was written");
        let stopped = store.meters().unwrap().stopped.unwrap();
        assert!(stopped.contains("only 100 MB left"), "{stopped}");
        free_bytes.store(u64::MAX, Ordering::SeqCst);
        // Asking is enough, so that a health check need not write.
        while store.meters().unwrap().stopped.is_some() {
            tokio::task::yield_now().await;
        }
        put(&store, "after").await.unwrap();
    }
    assert_eq!(get(&store, "after").await, Ok(Some(key("after"))));
}

/// Waits for a sync that no request causes.
struct Watched {
    inner: Box<dyn Commits>,
    unsynced: Arc<AtomicU64>,
}

impl Commits for Watched {
    fn commit(&mut self, edits: Vec<Edit>, now_millis: i64) -> Result<(), StorageError> {
        self.unsynced.fetch_add(1, Ordering::SeqCst);
        self.inner.commit(edits, now_millis)
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        self.inner.sync()?;
        self.unsynced.store(0, Ordering::SeqCst);
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn buffered_writes_reach_the_disk_by_themselves() {
    let directory = tempfile::tempdir().unwrap();
    let (views, commits) =
        directory::open(directory.path(), Durability::Buffered, StorageRoom::SMALL).unwrap();
    let unsynced = Arc::new(AtomicU64::new(0));
    let commits = Watched {
        inner: Box::new(commits),
        unsynced: unsynced.clone(),
    };
    let options = Options::new(clock()).durability(Durability::Buffered);
    let (views, commits) = (Arc::new(views), Box::new(commits));
    let store = EngineStore::on(directory.path(), views, commits, options).unwrap();
    create_table(&store).await;
    for round in 0..3 {
        put(&store, &format!("{round}")).await.unwrap();
        assert!(get(&store, &format!("{round}")).await.unwrap().is_some());
        while unsynced.load(Ordering::SeqCst) > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }
    put(&store, "last").await.unwrap();
    drop(store);
    assert_eq!(
        unsynced.load(Ordering::SeqCst),
        0,
        "a closed store is synced"
    );
    let store = EngineStore::open(directory.path(), Options::new(clock())).unwrap();
    assert_eq!(get(&store, "last").await, Ok(Some(key("last"))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_sync_stops_buffered_writes() {
    let directory = tempfile::tempdir().unwrap();
    let (views, commits) =
        directory::open(directory.path(), Durability::Buffered, StorageRoom::SMALL).unwrap();
    let is_broken = Arc::new(AtomicBool::new(false));
    let commits = FailingSync {
        inner: Box::new(commits),
        is_broken: is_broken.clone(),
    };
    let options = Options::new(clock()).durability(Durability::Buffered);
    let (views, commits) = (Arc::new(views), Box::new(commits));
    let store = EngineStore::on(directory.path(), views, commits, options).unwrap();
    create_table(&store).await;
    is_broken.store(true, Ordering::SeqCst);
    loop {
        match put(&store, "a").await {
            Ok(_) => tokio::time::sleep(std::time::Duration::from_millis(1)).await,
            Err(StoreError::Unavailable { message }) => {
                assert!(message.contains("the disk is on fire"), "{message}");
                break;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(get(&store, "a").await, Ok(Some(key("a"))));
}

/// Commits always, and syncs until it is made to fail.
struct FailingSync {
    inner: Box<dyn Commits>,
    is_broken: Arc<AtomicBool>,
}

impl Commits for FailingSync {
    fn commit(&mut self, edits: Vec<Edit>, now_millis: i64) -> Result<(), StorageError> {
        self.inner.commit(edits, now_millis)
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        if self.is_broken.load(Ordering::SeqCst) {
            Err(StorageError::Failed("the disk is on fire".into()))
        } else {
            self.inner.sync()
        }
    }
}

async fn sorts_of(store: &EngineStore, condition: &str, descending: bool) -> Vec<String> {
    let keys = KeyCondition::parse(condition, &Bindings::Literals).unwrap();
    let mut request = Query::new(name(), keys);
    request.descending = descending;
    let page = store.query(request).await.unwrap().answer;
    let sort = |item: FoundItem| match item.into_item().unwrap().remove("SK") {
        Some(Value::S(sort)) => sort,
        other => panic!("{other:?}"),
    };
    page.items.into_iter().map(sort).collect()
}

/// Rows that are known from another query are those that are stored.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_is_known_follows_every_write() {
    let directory = tempfile::tempdir().unwrap();
    let store = EngineStore::open(directory.path(), Options::new(clock())).unwrap();
    create_table(&store).await;
    let all = "PK = 'a'";
    for (written, expected) in [("b", "b"), ("d", "bd"), ("c", "bcd"), ("a", "abcd")] {
        put(&store, written).await.unwrap();
        for _ in 0..2 {
            assert_eq!(sorts_of(&store, all, false).await.concat(), expected);
        }
    }
    assert_eq!(
        sorts_of(&store, "PK = 'a' AND SK > 'b'", true)
            .await
            .concat(),
        "dc"
    );
    assert_eq!(
        sorts_of(&store, "PK = 'a' AND SK <= 'c'", false)
            .await
            .concat(),
        "abc"
    );
    let delete = DeleteItem {
        table: name(),
        key: key("c"),
        condition: None,
        return_item_on_failure: false,
    };
    store.delete_item(delete, ReturnValues::None).await.unwrap();
    assert_eq!(sorts_of(&store, all, true).await.concat(), "dba");
    assert_eq!(sorts_of(&store, "PK = 'A'", true).await.concat(), "");
}

/// A read that goes on until nobody waits for it.
fn endless(_: &Moment, (): &(), reach: Reach<'_>) -> StoreResult<Option<Metered<Page>>> {
    loop {
        reach.check()?;
        std::thread::yield_now();
    }
}

/// The runtime waits for its threads when it ends, so this test ends if the read does.
#[test]
fn a_read_that_nobody_waits_for_ends() {
    let folder = tempfile::tempdir().unwrap();
    let store = EngineStore::open(folder.path(), Options::new(clock())).unwrap();
    let moment = Arc::new(store.now());
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    runtime.block_on(async {
        let background = store.background.clone();
        let mut read = Box::pin(background.page(move || moment, (), endless));
        assert!(futures::poll!(&mut read).is_pending());
        drop(read);
    });
    drop(runtime);
    drop(store);
}

#[test]
fn a_page_ends_between_two_rows() {
    let folder = tempfile::tempdir().unwrap();
    let store = EngineStore::open(folder.path(), Options::new(clock())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        create_table(&store).await;
        put(&store, "1").await.unwrap();
    });
    let scan = |is_left: bool| {
        let is_left = AtomicBool::new(is_left);
        let page = store
            .now()
            .scan(&Scan::new(name()), Reach::while_awaited(&is_left));
        page.map(|page| page.unwrap().answer.scanned)
    };
    assert_eq!(scan(false).unwrap(), 1);
    assert!(matches!(scan(true), Err(StoreError::Unavailable { .. })));
}

/// What may happen to an item since a moment, and whether it is the same afterwards.
#[tokio::test]
async fn a_write_since_a_moment_knows_the_item() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::new(clock()).upkeep(Upkeep::OnRequest);
    let store = EngineStore::open(directory.path(), options).unwrap();
    create_table(&store).await;
    for (what, is_same) in [
        ("", true),
        ("update", true),
        ("delete another", true),
        ("put", false),
        ("delete", false),
        ("delete put", false),
        ("delete update", false),
        ("delete update, all at once", false),
        ("drop", false),
    ] {
        put(&store, "one").await.unwrap();
        put(&store, "other").await.unwrap();
        let moment = store.snapshot().unwrap().moment();
        let mut steps = what.split([' ', ',']);
        if what.contains("all at once") {
            // The committer finds all of them waiting.
            let all = async { tokio::join!(happen(&store, "delete"), happen(&store, "update")) };
            let (_, is_done) = tokio::join!(all, update_since(&store, moment));
            assert!(!is_done, "{what}");
        } else if what == "delete another" {
            let request = ItemAddress {
                table: name(),
                key: key("other"),
            };
            delete(&store, request).await;
        } else {
            while let Some(step) = steps.next().filter(|step| !step.is_empty()) {
                happen(&store, step).await;
            }
        }
        assert_eq!(update_since(&store, moment).await, is_same, "{what}");
        // One that is there now is the same from here on.
        let moment = store.snapshot().unwrap().moment();
        assert!(update_since(&store, moment).await, "{what}");
    }
}

async fn happen(store: &EngineStore, step: &str) {
    match step {
        "put" => drop(put(store, "one").await.unwrap()),
        "update" => drop(
            store
                .update_item(updating(), ReturnValues::None)
                .await
                .unwrap(),
        ),
        "delete" => {
            let (table, key) = (name(), key("one"));
            delete(store, ItemAddress { table, key }).await;
        }
        "drop" => {
            store.delete_table(&name()).await.unwrap();
            create_table(store).await;
            put(store, "one").await.unwrap();
        }
        step => panic!("{step}"),
    }
}

async fn delete(store: &EngineStore, ItemAddress { table, key }: ItemAddress) {
    let request = DeleteItem {
        table,
        key,
        condition: None,
        return_item_on_failure: false,
    };
    store
        .delete_item(request, ReturnValues::None)
        .await
        .unwrap();
}

fn updating() -> UpdateItem {
    let text = partita_core::expression::Path::attribute("text");
    UpdateItem {
        table: name(),
        key: key("one"),
        update: Update::default().setting(text, Value::from("new")),
        condition: None,
        return_item_on_failure: false,
    }
}

async fn update_since(store: &EngineStore, moment: partita_store::Moment) -> bool {
    let request = TransactWriteItems {
        actions: vec![TransactAction::Update(updating())],
        token: None,
    };
    let written = store.transact_write_items_since(moment, request).await;
    written.unwrap()
}
/// Every commit has the next number and a time that does not go back, whichever way the clock
/// goes and however the store was opened.
#[tokio::test(flavor = "multi_thread")]
async fn commits_are_numbered() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::default());
    let mut last = CommitId::default();
    for durability in [Durability::Sync, Durability::Buffered, Durability::Sync] {
        let options = Options::new(clock.clone()).durability(durability);
        let store = EngineStore::open(directory.path(), options).unwrap();
        let opened = store.last_commit();
        assert!(opened.number >= last.number && opened.time_millis >= last.time_millis);
        for number in 0..5 {
            let name = format!("{durability:?}-{}-{number}", opened.number);
            let request = CreateTable::new(name.parse().unwrap(), KeySchema::strings("PK", "SK"));
            store.create_table(request).await.unwrap();
            clock.advance(if number == 2 { -60_000 } else { 1_000 });
        }
        store.close().await;
        let closed = store.last_commit();
        assert!(
            closed.number > opened.number + 5,
            "{opened:?} to {closed:?}"
        );
        assert!(closed.time_millis >= opened.time_millis);
        last = closed;
    }
}
