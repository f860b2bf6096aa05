//! Counts whose parts move while they are counted: what a verification says of them, and what a
//! repair writes.
//!
//! Between any two steps of a pass, notes go from one lab to another: one is deleted, and one created.
//! So a scan meets some of them twice and others not at all, while their author has as many as before.

use std::sync::Arc;

use async_trait::async_trait;
use partita_core::{Item, Map, Value};
use partita_plan::{Caller, Operation, Partita};
use partita_store::capacity::Metered;
use partita_store::request::{
    BatchGetItem, BatchGot, GetItem, Page, PutItem, Query, ReturnValues, Scan,
};
use partita_store::{Layer, ModelStore, Moment, Snapshot, Store, StoreResult};
use partita_verify::{Drift, Extent, Outcome, Permission, Stopped, Watch};

use crate::stage;

pub(crate) const NOTES: &str = r##"
design = "notes"

[table]
name = "notes"
key  = ["PK", "SK"]

[entity.Author]
PK = "AUTHOR#{author}"
SK = "AUTHOR"
[entity.Author.attributes]
author = "string"
notes  = "count of Note"
[entity.Author.allow]
"*" = "public"

[entity.Note]
PK = "LAB#{lab}"
SK = "NOTE#{note}"
[entity.Note.attributes]
lab    = "string"
note   = "string"
author = "string"
[entity.Note.refs]
by = "Author(author)"
[entity.Note.allow]
"*" = "public"
"##;

const LABS: usize = 8;
const COUNT: usize = 16;

/// Moves notes between the steps of a pass.
struct Mover {
    partita: Partita,
    random: fastrand::Rng,
    /// The lab and the name of each note.
    notes: Vec<(usize, usize)>,
    made: usize,
    /// What was said.
    found: Vec<(Drift, Outcome)>,
}

fn text(value: String) -> Value {
    Value::S(value)
}

impl Mover {
    async fn start(store: Arc<dyn Store>, seed: u64) -> Mover {
        let design = stage::compiled("notes", NOTES, "notes");
        let partita = Partita::open(design, store).await.unwrap();
        let mut mover = Mover {
            partita,
            random: fastrand::Rng::with_seed(seed),
            notes: Vec::new(),
            made: 0,
            found: Vec::new(),
        };
        let author = Map::from([("author", text("ann".to_owned()))]);
        mover.create_item("Author", author).await;
        for at in 0..COUNT {
            mover.create(at % LABS).await;
        }
        mover
    }

    async fn run(&self, operation: Operation) {
        let caller = Caller::anonymous();
        self.partita.run(&caller, operation).await.unwrap();
    }

    async fn create_item(&self, entity: &str, attributes: Map) {
        let entity = entity.to_owned();
        self.run(Operation::Create { entity, attributes }).await;
    }

    async fn create(&mut self, lab: usize) {
        self.made += 1;
        let note = Map::from([
            ("lab", text(format!("{lab}"))),
            ("note", text(format!("{}", self.made))),
            ("author", text("ann".to_owned())),
        ]);
        self.create_item("Note", note).await;
        self.notes.push((lab, self.made));
    }

    async fn step(&mut self) {
        let at = self.random.usize(0..self.notes.len());
        let (lab, note) = self.notes.swap_remove(at);
        let identity = [lab.to_string(), note.to_string()];
        self.run(Operation::Delete {
            entity: "Note".to_owned(),
            identity: identity.into(),
            version: None,
        })
        .await;
        let lab = self.random.usize(0..LABS);
        self.create(lab).await;
    }

    async fn verify(&mut self, store: &dyn Store) {
        self.found.clear();
        let design = self.partita.design().clone();
        let clock = partita_store::surroundings::SystemClock;
        let verified =
            partita_verify::verify_within(&pages_of_one(), &design, store, &clock, self).await;
        verified.unwrap();
    }

    async fn repair(&mut self, store: &dyn Store) {
        self.found.clear();
        let design = self.partita.design().clone();
        let clock = partita_store::surroundings::SystemClock;
        let permission = Permission::granted();
        let extent = pages_of_one();
        let repaired =
            partita_verify::repair_within(&extent, &design, store, &clock, permission, self).await;
        repaired.unwrap();
    }
}

#[async_trait]
impl Watch for Mover {
    async fn between_steps(&mut self) -> Result<(), Stopped> {
        self.step().await;
        Ok(())
    }

    fn finds(&mut self, drift: &Drift, outcome: &Outcome) {
        self.found.push((drift.clone(), outcome.clone()));
    }
}

pub(crate) fn pages_of_one() -> Extent {
    Extent {
        page_items: 1,
        ..Extent::default()
    }
}

fn author() -> Item {
    Item::from([
        ("PK", text("AUTHOR#ann".to_owned())),
        ("SK", text("AUTHOR".to_owned())),
    ])
}

pub(crate) async fn stored(store: &dyn Store) -> i64 {
    let get = GetItem::new("notes".parse().unwrap(), author());
    let found = store.get_item(get).await.unwrap().answer.unwrap();
    let item = found.into_item().unwrap();
    let Value::N(number) = item["notes"] else {
        panic!("{item:?}");
    };
    number.to_string().parse().unwrap()
}

/// Writes a wrong count past the design.
pub(crate) async fn spoil(store: &dyn Store, wrong: i64) {
    let get = GetItem::new("notes".parse().unwrap(), author());
    let found = store.get_item(get).await.unwrap().answer.unwrap();
    let mut item = found.into_item().unwrap();
    item.insert("notes", Value::from(wrong));
    let put = PutItem::new("notes".parse().unwrap(), item);
    store.put_item(put, ReturnValues::None).await.unwrap();
}

/// A store without reads of one moment.
pub(crate) struct WithoutMoments(pub(crate) Arc<dyn Store>);

#[async_trait]
impl Layer for WithoutMoments {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    fn snapshot(&self) -> Option<Arc<dyn Snapshot>> {
        None
    }
}

/// A store that says of its reads that they are of one moment, and they are not.
struct Pretending(Arc<dyn Store>);

#[async_trait]
impl Layer for Pretending {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    fn snapshot(&self) -> Option<Arc<dyn Snapshot>> {
        Some(Arc::new(Live(self.0.clone())))
    }
}

struct Live(Arc<dyn Store>);

#[async_trait]
impl Snapshot for Live {
    fn moment(&self) -> Moment {
        Moment(0)
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        self.0.batch_get_item(request).await
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        self.0.query(request).await
    }

    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        self.0.scan(request).await
    }
}

/// With reads of one moment nothing is said of a right count, and a wrong one is mended.
#[tokio::test]
async fn in_a_store_with_moments() {
    for seed in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(stage::engine(folder.path()));
        let mut mover = Mover::start(store.clone(), seed).await;
        mover.verify(&*store).await;
        assert!(mover.found.is_empty(), "seed {seed}: {:?}", mover.found);
        mover.repair(&*store).await;
        assert!(mover.found.is_empty(), "seed {seed}: {:?}", mover.found);
        spoil(&*store, 1_000).await;
        mover.verify(&*store).await;
        assert_eq!(mover.found.len(), 1, "seed {seed}: {:?}", mover.found);
        mover.repair(&*store).await;
        assert_eq!(stored(&*store).await, COUNT as i64, "seed {seed}");
    }
}

/// Without them a count that moves is reported as moving, and never written over by a wrong one.
#[tokio::test]
async fn in_a_store_without_moments() {
    for seed in 0..5 {
        let store: Arc<dyn Store> = Arc::new(WithoutMoments(Arc::new(ModelStore::default())));
        let mut mover = Mover::start(store.clone(), seed).await;
        for _ in 0..5 {
            mover.verify(&*store).await;
            let mut outcomes = mover.found.iter().map(|(_, outcome)| outcome);
            assert!(
                outcomes.all(|outcome| *outcome == Outcome::Moving),
                "seed {seed}: {:?}",
                mover.found
            );
            mover.repair(&*store).await;
            assert_eq!(stored(&*store).await, COUNT as i64, "seed {seed}");
        }
    }
}

/// The test notices reads that are of several moments.
#[tokio::test]
async fn are_noticed() {
    let mut is_noticed = false;
    for seed in 0..5 {
        let store: Arc<dyn Store> = Arc::new(Pretending(Arc::new(ModelStore::default())));
        let mut mover = Mover::start(store.clone(), seed).await;
        mover.verify(&*store).await;
        is_noticed |= !mover.found.is_empty();
    }
    assert!(is_noticed);
}
