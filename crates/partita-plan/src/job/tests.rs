//! Jobs on the model: what is left, who does it, and that everything happens once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use partita_core::{Item, Map, Value};
use partita_store::request::{Scan, TransactAction};
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_store::{Clock, ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};
use partita_verify::DriftKind;

use super::{DroppedJob, Job, JobState, JobStatus, Progress, Referring, Task, TaskKind, Work};
use crate::{Caller, Operation, Partita, Patience, PlanError, Surroundings};

/// Books stand on shelves and belong to readers, who know how many they have. A book may be the
/// sequel of another, which then cannot be removed without it.
const DESIGN: &str = r#"
design = "library"

[table]
name          = "library"
key           = ["PK", "SK"]
discriminator = "kind"

[index]
byReader = ["RPK", "RSK"]
byLender = ["LPK", "LSK"]

[entity.Shelf]
PK   = "SHELF#{shelfId}"
SK   = "SHELF"
kind = "Shelf"

[entity.Shelf.attributes]
shelfId = "string"
title   = "string"
books   = "count of Book"

[entity.Shelf.allow]
"*" = "public"

[entity.Reader]
PK   = "READER#{readerId}"
SK   = "READER"
kind = "Reader"

[entity.Reader.attributes]
readerId = "string"
name     = "string"
books    = "count of Book by reader"

[entity.Reader.allow]
"*" = "public"

[entity.Book]
PK   = "SHELF#{shelfId}"
SK   = "BOOK#{bookId}"
RPK  = "READER#{readerId}"
RSK  = "{shelfId}#{bookId}"
LPK  = "LENDER#{lenderId}"
LSK  = "{shelfId}#{bookId}"
kind = "Book"

[entity.Book.attributes]
shelfId    = "string"
bookId     = "string"
readerId   = "string"
readerName = "copy reader.name"
lenderId   = "string?"
sequelOf   = "string?"
sequels    = "count of Book by first"
pages      = "count of Page"

[entity.Book.refs]
shelf  = "Shelf, on delete cascade"
reader = "Reader, on delete cascade"
lender = "Reader(readerId = lenderId), on delete clear lenderId"
first  = "Book(shelfId, bookId = sequelOf), on delete refuse"

[entity.Book.allow]
"*" = "public"

[entity.Page]
PK   = "BOOK#{shelfId}#{bookId}"
SK   = "PAGE#{number}"
kind = "Page"

[entity.Page.attributes]
shelfId = "string"
bookId  = "string"
number  = "string"

[entity.Page.refs]
book = "Book, on delete cascade"

[entity.Page.allow]
"*" = "public"

[pattern.shelf]
query   = "PK = 'SHELF#{shelfId}'"
returns = ["Shelf", "Book"]

[pattern.booksOfReader]
query = "RPK = 'READER#{readerId}'"

[pattern.booksOfLender]
query = "LPK = 'LENDER#{lenderId}'"

[pattern.pages]
query = "PK = 'BOOK#{shelfId}#{bookId}'"
"#;

/// A clock that moves on by a step whenever somebody looks.
struct Jumping(AtomicI64, i64);

impl Clock for Jumping {
    fn now_millis(&self) -> i64 {
        self.0.fetch_add(self.1, Ordering::SeqCst)
    }
}

async fn open(store: &Arc<dyn Store>, clock: Arc<dyn Clock>, seed: u64) -> Partita {
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let surroundings = Surroundings {
        clock,
        entropy: Arc::new(SeededEntropy::new(seed)),
        cursor_key: [7; 32],
        patience: Patience {
            attempts: 20,
            pause_millis: 0,
        },
    };
    Partita::open_with(design, store.clone(), surroundings)
        .await
        .unwrap()
}

fn manual() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(1_767_225_600_000))
}

async fn create(partita: &Partita, entity: &str, given: &[(&str, &str)]) -> Result<(), PlanError> {
    let attributes = given
        .iter()
        .map(|(name, text)| ((*name).to_owned(), Value::from(*text)))
        .collect();
    let entity = entity.to_owned();
    let operation = Operation::Create { entity, attributes };
    partita.run(&Caller::user("ann"), operation).await.map(drop)
}

async fn delete(partita: &Partita, entity: &str, identity: &[&str]) -> Result<(), PlanError> {
    let operation = Operation::Delete {
        entity: entity.into(),
        identity: identity.iter().map(|&part| part.into()).collect(),
        version: None,
    };
    partita.run(&Caller::user("ann"), operation).await.map(drop)
}

/// A shelf with so many books of two readers, and another with a book of one of them.
async fn fill(partita: &Partita, books: usize) {
    for reader in ["bob", "cid"] {
        let given = [("readerId", reader), ("name", reader)];
        create(partita, "Reader", &given).await.unwrap();
    }
    for shelf in ["s", "t"] {
        let given = [("shelfId", shelf), ("title", shelf)];
        create(partita, "Shelf", &given).await.unwrap();
    }
    for number in 0..books {
        let reader = ["bob", "cid"][number % 2];
        let book = format!("{number:05}");
        let given = [
            ("shelfId", "s"),
            ("bookId", &*book),
            ("readerId", reader),
            ("lenderId", "cid"),
        ];
        create(partita, "Book", &given).await.unwrap();
    }
    let given = [("shelfId", "t"), ("bookId", "left"), ("readerId", "bob")];
    create(partita, "Book", &given).await.unwrap();
}

async fn items(store: &dyn Store, table: &str) -> Vec<Item> {
    let mut request = Scan::new(table.parse().unwrap());
    let mut items = Vec::new();
    loop {
        let page = store.scan(request.clone()).await.unwrap();
        let page = page.answer.into_parts().unwrap();
        items.extend(page.items);
        match page.last_key {
            None => return items,
            last_key => request.start_after = last_key,
        }
    }
}

/// How many items there are of each kind, and how many books each reader is said to have.
async fn counted(store: &dyn Store) -> BTreeMap<String, i64> {
    let mut counted = BTreeMap::new();
    for item in items(store, "library").await {
        let kind = item["kind"].as_str().unwrap();
        *counted.entry(kind.to_owned()).or_insert(0) += 1;
        if kind == "Reader" {
            let books = item.get("books").and_then(Value::as_number);
            let books = books.and_then(|books| books.to_i64()).unwrap_or(0);
            counted.insert(item["readerId"].as_str().unwrap().to_owned(), books);
        }
    }
    counted
}

/// What is left when the shelf `s` and everything on it is gone.
fn only_the_other_shelf() -> BTreeMap<String, i64> {
    let left = [("Book", 1), ("Reader", 2), ("Shelf", 1), ("bob", 1)];
    let left = left.into_iter().chain([("cid", 0)]);
    left.map(|(name, count)| (name.to_owned(), count)).collect()
}

async fn only_job(partita: &Partita) -> JobStatus {
    let mut jobs = partita.jobs().await.unwrap();
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    jobs.remove(0)
}

/// A job that removes the pages of two books.
fn job_of_pages() -> Job {
    let task = |book: &str| Task {
        source: "Book".to_owned(),
        identity: Map::from([("bookId", Value::from(book)), ("shelfId", Value::from("s"))]),
        work: Work::Referring(Referring {
            kind: TaskKind::Release,
            entity: "Page".to_owned(),
            reference: "book".to_owned(),
            target: 0,
        }),
    };
    let seed = "01JGFJJZ00000000000000SEED".to_owned();
    Job {
        id: Job::id_of(&seed, 0),
        seed,
        root: None,
        created_millis: 0,
        caller: Caller::user("ann"),
        tasks: vec![task("b1"), task("b2")],
        expected: 0,
        progress: Progress::default(),
        lease: None,
    }
}

#[tokio::test]
async fn a_job_is_listed_by_identities_in_order_and_each_kind_of_task_once() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(&store, manual(), 1).await;
    let listed = job_of_pages().status(partita.design(), false, 0);
    assert_eq!(listed.of, "Book s b1");
    assert_eq!(listed.tasks, ["Page.book"]);
}

/// The ids of items that a job creates are made of its seed, or in jobs of earlier versions of its id.
#[test]
fn a_job_keeps_its_seed() {
    let job = job_of_pages();
    let TransactAction::Put(put) = job.put(&"library-partita".parse().unwrap()) else {
        panic!("a new job is put");
    };
    assert_eq!(Job::read(&put.item), Ok(job.clone()));
    let mut earlier = put.item;
    earlier.remove("seed");
    assert_eq!(Job::read(&earlier).unwrap().seed, job.id);
}

#[tokio::test]
async fn what_fits_is_one_transaction_and_no_job() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(&store, manual(), 1).await;
    fill(&partita, 90).await;
    delete(&partita, "Shelf", &["s"]).await.unwrap();
    assert_eq!(counted(&*store).await, only_the_other_shelf());
    assert_eq!(partita.jobs().await.unwrap(), []);
}

/// Books that a reader has are counted, books that a reader has lent are not.
#[tokio::test]
async fn no_more_is_done_than_is_expected() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(&store, manual(), 1).await;
    fill(&partita, 0).await;
    for number in 0..150 {
        let id = format!("lent{number}");
        let given = [
            ("shelfId", "s"),
            ("bookId", id.as_str()),
            ("readerId", "bob"),
            ("lenderId", "cid"),
        ];
        create(&partita, "Book", &given).await.unwrap();
    }
    let given = [("shelfId", "s"), ("bookId", "own"), ("readerId", "cid")];
    create(&partita, "Book", &given).await.unwrap();
    delete(&partita, "Reader", &["cid"]).await.unwrap();
    let job = only_job(&partita).await;
    assert_eq!(job.tasks, ["Book.reader", "Book.lender"]);
    assert_eq!((job.done, job.expected), (0, Some(1)));
    partita.run_jobs().await.unwrap();
    let job = only_job(&partita).await;
    assert_eq!((job.done, job.expected), (151, None));
}

#[tokio::test]
async fn a_cascade_beyond_a_transaction_is_a_job() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(&store, manual(), 1).await;
    fill(&partita, 250).await;
    delete(&partita, "Shelf", &["s"]).await.unwrap();
    let before = counted(&*store).await;
    assert_eq!((before["Shelf"], before["Book"]), (1, 251), "{before:?}");
    assert_eq!(before["bob"] + before["cid"], 251, "they are still there");
    let job = only_job(&partita).await;
    assert_eq!(job.of, "Shelf s");
    assert_eq!(job.tasks, ["Book.shelf"]);
    assert_eq!((job.state, job.done), (JobState::Waiting, 0));
    assert_eq!(job.expected, Some(250));

    let given = [("shelfId", "s"), ("bookId", "new")];
    let orphan = create(&partita, "Book", &given).await;
    assert!(
        matches!(orphan, Err(PlanError::Invalid { .. })),
        "{orphan:?}"
    );
    let given = [("shelfId", "s"), ("title", "again")];
    let again = create(&partita, "Shelf", &given).await;
    let entity = "Shelf".to_owned();
    assert_eq!(again, Err(PlanError::StillRemoved { entity }));

    assert_eq!(partita.run_jobs().await, Ok(1));
    assert_eq!(counted(&*store).await, only_the_other_shelf());
    let job = only_job(&partita).await;
    assert_eq!((job.state, job.done), (JobState::Done, 250));
    create(&partita, "Shelf", &given).await.unwrap();
    assert_eq!(partita.run_jobs().await, Ok(0));
}

#[tokio::test]
async fn copies_and_cleared_refs_follow_in_jobs() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(&store, manual(), 1).await;
    fill(&partita, 250).await;
    for name in ["Robert", "Rob"] {
        let operation = Operation::Update {
            entity: "Reader".into(),
            identity: vec!["bob".into()],
            changes: Map::from([("name", name.into())]),
            with_deleted: false,
            version: None,
        };
        partita.run(&Caller::user("ann"), operation).await.unwrap();
    }
    assert_eq!(partita.run_jobs().await, Ok(2), "one for each change");
    let names = |items: &[Item], reader: &str| -> Vec<Option<Value>> {
        let books = items
            .iter()
            .filter(|item| item.get("readerId") == Some(&Value::from(reader)));
        let books = books.filter(|item| item["kind"] == Value::from("Book"));
        books.map(|item| item.get("readerName").cloned()).collect()
    };
    let all = items(&*store, "library").await;
    let expected = vec![Some(Value::from("Rob")); 126];
    assert_eq!(names(&all, "bob"), expected);

    // Half of the books were lent by the reader that they belong to.
    delete(&partita, "Reader", &["cid"]).await.unwrap();
    assert_eq!(partita.run_jobs().await, Ok(1));
    let all = items(&*store, "library").await;
    assert!(all.iter().all(|item| !item.contains_key("lenderId")));
    let left = counted(&*store).await;
    assert_eq!((left["Book"], left["bob"]), (126, 126), "{left:?}");
    assert_eq!(
        all.iter().filter(|item| item.contains_key("LPK")).count(),
        0
    );
}

#[tokio::test]
async fn what_a_single_item_takes_along_may_be_a_job_of_its_own() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(&store, manual(), 1).await;
    fill(&partita, 3).await;
    for number in 0..150 {
        let number = format!("{number:05}");
        let given = [("shelfId", "s"), ("bookId", "00001"), ("number", &*number)];
        create(&partita, "Page", &given).await.unwrap();
    }
    delete(&partita, "Shelf", &["s"]).await.unwrap();
    assert_eq!(
        partita.run_jobs().await,
        Ok(2),
        "the shelf's, and the book's"
    );
    assert_eq!(counted(&*store).await, only_the_other_shelf());
}

#[tokio::test]
async fn what_is_in_the_way_goes_first() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(&store, manual(), 1).await;
    fill(&partita, 150).await;
    // One sequel comes with what it is a sequel of; the other comes last of all, so that there is
    // a book that can only be removed when everything was gone through once.
    let far = [
        ("shelfId", "s"),
        ("bookId", "99999"),
        ("readerId", "bob"),
        ("sequelOf", "00149"),
    ];
    create(&partita, "Book", &far).await.unwrap();
    let near = [
        ("shelfId", "s"),
        ("bookId", "!"),
        ("readerId", "bob"),
        ("sequelOf", "00140"),
    ];
    create(&partita, "Book", &near).await.unwrap();
    delete(&partita, "Shelf", &["s"]).await.unwrap();
    assert_eq!(partita.run_jobs().await, Ok(1));
    assert_eq!(counted(&*store).await, only_the_other_shelf());
    assert_eq!(only_job(&partita).await.done, 152);
}

#[tokio::test]
async fn a_lease_keeps_others_away_until_it_ends() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let clock = manual();
    let partita = open(&store, clock.clone(), 1).await;
    fill(&partita, 150).await;
    delete(&partita, "Shelf", &["s"]).await.unwrap();
    let job = partita.stored_jobs(super::OPEN).await.unwrap().remove(0);
    let claimed = partita.claim(job, "somebody").await.unwrap();
    assert!(claimed.is_some());
    assert_eq!(partita.run_jobs().await, Ok(0));
    assert_eq!(only_job(&partita).await.state, JobState::Running);
    clock.advance(60_000);
    assert_eq!(only_job(&partita).await.state, JobState::Waiting);
    assert_eq!(partita.run_jobs().await, Ok(1));

    let given = [("shelfId", "s"), ("title", "again")];
    create(&partita, "Shelf", &given).await.unwrap();
    fill_again(&partita, 150).await;
    delete(&partita, "Shelf", &["s"]).await.unwrap();
    let job = partita.stored_jobs(super::OPEN).await.unwrap().remove(0);
    assert!(partita.claim(job, "somebody").await.unwrap().is_some());
    partita.take_over_jobs().await.unwrap();
    assert_eq!(partita.run_jobs().await, Ok(1));
    assert_eq!(counted(&*store).await, only_the_other_shelf());
}

#[tokio::test]
async fn what_cannot_be_done_rests_and_is_tried_again() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let clock = manual();
    let partita = open(&store, clock.clone(), 1).await;
    fill(&partita, 250).await;
    // A book of one reader is in the way of a book of the other, and nobody removes it.
    let sequel = [
        ("shelfId", "s"),
        ("bookId", "sequel"),
        ("readerId", "cid"),
        ("sequelOf", "00100"),
    ];
    create(&partita, "Book", &sequel).await.unwrap();
    delete(&partita, "Reader", &["bob"]).await.unwrap();
    assert_eq!(partita.run_jobs().await, Ok(0), "one book is left");
    let resting = only_job(&partita).await;
    assert_eq!(resting.state, JobState::Waiting);
    assert_eq!((resting.done, resting.refused), (125, 1));
    let why = resting.last_error.clone().unwrap_or_default();
    assert!(why.contains("cannot be deleted"), "{why}");

    assert_eq!(partita.run_jobs().await, Ok(0));
    assert_eq!(only_job(&partita).await, resting, "it rests");
    assert_eq!(stalled(&partita).await, 1);
    clock.advance(31_000);
    let job = partita.stored_jobs(super::OPEN).await.unwrap().remove(0);
    assert!(partita.claim(job, "somebody").await.unwrap().is_some());
    assert_eq!(stalled(&partita).await, 1, "to try again is no progress");
    partita.take_over_jobs().await.unwrap();
    assert_eq!(partita.run_jobs().await, Ok(0), "nothing has changed");
    assert_eq!(stalled(&partita).await, 1);
    let resting = only_job(&partita).await;
    assert_eq!((resting.done, resting.refused), (125, 1), "still only one");

    delete(&partita, "Book", &["s", "sequel"]).await.unwrap();
    clock.advance(31_000);
    assert_eq!(partita.run_jobs().await, Ok(1));
    let done = only_job(&partita).await;
    assert_eq!(
        (done.state, done.done, done.refused),
        (JobState::Done, 126, 0)
    );
    assert_eq!(done.last_error, None);
    assert_eq!(stalled(&partita).await, 0);
    let left = counted(&*store).await;
    assert_eq!((left["Book"], left["cid"]), (125, 125), "{left:?}");
}

#[tokio::test]
async fn a_job_that_does_not_go_on_can_be_dropped() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let clock = manual();
    let partita = open(&store, clock.clone(), 1).await;
    fill(&partita, 250).await;
    let sequel = [
        ("shelfId", "s"),
        ("bookId", "sequel"),
        ("readerId", "cid"),
        ("sequelOf", "00100"),
    ];
    create(&partita, "Book", &sequel).await.unwrap();
    delete(&partita, "Reader", &["bob"]).await.unwrap();
    let id = only_job(&partita).await.id;
    // Nothing is in its way as far as anybody knows.
    assert_eq!(partita.drop_job(&id).await, Ok(DroppedJob::GoesOn));
    assert_eq!(partita.run_jobs().await, Ok(0));
    clock.advance(31_000);
    let job = partita.stored_jobs(super::OPEN).await.unwrap().remove(0);
    assert!(partita.claim(job, "somebody").await.unwrap().is_some());
    assert_eq!(partita.drop_job(&id).await, Ok(DroppedJob::GoesOn), "held");
    partita.take_over_jobs().await.unwrap();
    assert_eq!(partita.run_jobs().await, Ok(0));

    let before = counted(&*store).await;
    assert_eq!(partita.drop_job("nothing").await, Ok(DroppedJob::Missing));
    assert_eq!(partita.drop_job(&id).await, Ok(DroppedJob::Dropped));
    assert_eq!(partita.drop_job(&id).await, Ok(DroppedJob::Missing));
    let dropped = only_job(&partita).await;
    assert_eq!((dropped.state, dropped.done), (JobState::Done, 125));
    let why = dropped.last_error.unwrap_or_default();
    assert!(why.starts_with("it was dropped: "), "{why}");
    assert_eq!(stalled(&partita).await, 0);
    // What it has not done is as it was, nobody does it later, and it is reported.
    clock.advance(31_000);
    assert_eq!(partita.run_jobs().await, Ok(0));
    assert_eq!(counted(&*store).await, before);
    let mut found = partita_verify::Collected::default();
    partita.verify(&mut found).await.unwrap();
    let open = &found.open;
    assert!(
        open.iter()
            .any(|(drift, _)| drift.kind == DriftKind::Dangling),
        "{open:?}"
    );
    // The book that is left would be one of the new reader's, who has not counted it.
    let again = create(&partita, "Reader", &[("readerId", "bob"), ("name", "Bob")]).await;
    assert!(again.is_err(), "{again:?}");
}

/// How many jobs do not go on.
async fn stalled(partita: &Partita) -> u64 {
    let mut found = partita_verify::Collected::default();
    partita.verify(&mut found).await.unwrap().stalled
}

async fn fill_again(partita: &Partita, books: usize) {
    for number in 0..books {
        let book = format!("{number:05}");
        let given = [("shelfId", "s"), ("bookId", &*book), ("readerId", "bob")];
        create(partita, "Book", &given).await.unwrap();
    }
}

/// Two workers who both believe that they have the lease, on a store that loses answers: gives
/// what is left, and how many items the job says it did.
async fn contended(seed: u64, is_defective: bool) -> (BTreeMap<String, i64>, u64) {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let calm = open(&store, manual(), seed).await;
    fill(&calm, 200).await;
    delete(&calm, "Shelf", &["s"]).await.unwrap();
    let faults = Faults {
        conflict: 0.1,
        throttle: 0.02,
        unknown_outcome: 0.1,
    };
    let faulty = Arc::new(FaultyStore::new(store.clone(), faults, seed));
    let shared: Arc<dyn Store> = faulty.clone();
    // Every look at the clock takes seconds, so that leases end all the time.
    let clock: Arc<dyn Clock> = Arc::new(Jumping(AtomicI64::new(1_767_225_600_000), 4_000));
    let mut workers = Vec::new();
    for number in 0..2 {
        let mut partita = open(&shared, clock.clone(), seed * 10 + number).await;
        partita.is_defective = is_defective;
        workers.push(partita);
    }
    let [one, two] = &workers[..] else {
        unreachable!()
    };
    for _ in 0..100 {
        let _ = tokio::join!(one.run_jobs(), two.run_jobs());
        if only_job(&calm).await.state == JobState::Done {
            break;
        }
    }
    assert!(faulty.injected() > 0);
    (counted(&*store).await, only_job(&calm).await.done)
}

#[test]
fn two_workers_on_a_faulty_store_do_everything_once() {
    for seed in 0..8 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let (left, done) = runtime.block_on(contended(seed, false));
        assert_eq!(left, only_the_other_shelf(), "seed {seed}");
        assert_eq!(done, 200, "seed {seed}");
    }
}

#[test]
fn a_position_that_moves_by_itself_is_noticed() {
    let is_noticed = |seed| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let (left, done) = runtime.block_on(contended(seed, true));
        left != only_the_other_shelf() || done != 200
    };
    assert!((0..8).any(is_noticed));
}

/// Whoever waits for the job of a write waits for what that job has left, too.
#[tokio::test]
async fn a_job_is_done_when_those_are_that_it_has_left() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(&store, manual(), 1).await;
    fill(&partita, 110).await;
    for number in 0..130 {
        let number = format!("{number:03}");
        let given = [("shelfId", "s"), ("bookId", "00000"), ("number", &*number)];
        create(&partita, "Page", &given).await.unwrap();
    }
    delete(&partita, "Shelf", &["s"]).await.unwrap();
    let root = only_job(&partita).await;
    assert_eq!(root.parent, None);
    let job = partita.stored_jobs(super::OPEN).await.unwrap().remove(0);
    let mut job = partita.claim(job, "worker").await.unwrap().unwrap();
    assert_eq!(partita.work(&mut job).await, Ok(true));
    let jobs = partita.jobs().await.unwrap();
    let state = |jobs: &[JobStatus], id: &str| {
        let job = jobs.iter().find(|job| job.id == id);
        job.map(|job| job.state)
    };
    assert_eq!(state(&jobs, &root.id), Some(JobState::Waiting), "{jobs:?}");
    let left: Vec<_> = jobs.iter().filter(|job| job.id != root.id).collect();
    assert_eq!(left.len(), 1, "{jobs:?}");
    assert_eq!(left[0].parent.as_ref(), Some(&root.id));
    while partita.run_jobs().await.unwrap() > 0 {}
    let jobs = partita.jobs().await.unwrap();
    assert_eq!(state(&jobs, &root.id), Some(JobState::Done), "{jobs:?}");
    assert!(jobs.iter().all(|job| job.state == JobState::Done));
}

/// The worker of a process that was stopped in the middle, because a stage moved, is followed by one
/// that goes on at once.
#[tokio::test]
async fn a_worker_goes_on_with_what_it_had_in_the_stage_before() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(&store, manual(), 1).await;
    fill(&partita, 150).await;
    delete(&partita, "Shelf", &["s"]).await.unwrap();
    let job = partita.stored_jobs(super::OPEN).await.unwrap().remove(0);
    let owner = partita.worker.get_or_init(|| partita.runner.token());
    assert!(partita.claim(job, owner).await.unwrap().is_some());
    let blueprint = crate::blueprint::Blueprint::new(partita.design().clone()).unwrap();
    let next = partita.at_stage(blueprint, partita.runner.gate.clone());
    assert_eq!(next.run_jobs().await, Ok(0));
    let working = next.keep_working(|error| panic!("{error}"));
    let done = async {
        while only_job(&partita).await.state != JobState::Done {
            tokio::task::yield_now().await;
        }
    };
    let both = async {
        tokio::select! { () = working => {}, () = done => {} }
    };
    let in_time = tokio::time::timeout(std::time::Duration::from_secs(10), both);
    in_time.await.expect("it does not wait for its own lease");
    assert_eq!(counted(&*store).await, only_the_other_shelf());
}

/// A job that leaves a task out says so when it is done.
#[tokio::test]
async fn a_task_that_was_left_out_leaves_a_trace() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(&store, manual(), 1).await;
    let mut job = job_of_pages();
    for task in &mut job.tasks {
        if let Work::Referring(work) = &mut task.work {
            work.entity = "Leaf".to_owned();
        }
    }
    let put = job.put(&partita.blueprint.sidecar);
    let request = partita_store::request::TransactWriteItems {
        actions: vec![put],
        token: None,
    };
    store.transact_write_items(request).await.unwrap();
    assert_eq!(partita.run_jobs().await, Ok(1));
    let job = only_job(&partita).await;
    assert_eq!(job.state, JobState::Done);
    let error = job.last_error.expect("it says what was left out");
    assert!(error.contains("has no"), "{error}");
}
