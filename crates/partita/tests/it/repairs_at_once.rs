//! Two repairs at once, beside a writer, and repairs whose writes have no answer: a wrong count is
//! mended once, and exactly.
//!
//! The count is wrong by one. So after one note more or less it is what it was, and whoever goes by
//! its value alone mends it twice. A store in between holds the count against the notes after every
//! write: it is wrong by as much as it was, and then never again.

use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use partita_core::{Map, Value};
use partita_design::Design;
use partita_engine::{Durability, EngineStore, Options, Upkeep};
use partita_plan::{Caller, Operation, Partita};
use partita_store::capacity::Metered;
use partita_store::request::{Scan, TransactAction, TransactWriteItems};
use partita_store::surroundings::{ManualClock, SystemClock};
use partita_store::{Layer, ModelStore, Moment, Store, StoreError, StoreResult};
use partita_testkit::{Faults, FaultyStore};
use partita_verify::{Collected, Drift, Outcome, Permission, Report, Stopped, VerifyError, Watch};

use crate::moving_counts::{NOTES, WithoutMoments, pages_of_one, spoil, stored};
use crate::stage;

/// Notes at the beginning.
const COUNT: i64 = 4;
/// Longer than a lock lasts without its holder.
const LEASE_MILLIS: i64 = 61_000;

type Happening = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A design on a store, a witness of its writes, and a clock.
struct Scene {
    store: Arc<dyn Store>,
    witness: Arc<Witness>,
    partita: Arc<Partita>,
    clock: Arc<ManualClock>,
    made: AtomicUsize,
    _folder: tempfile::TempDir,
}

/// The kinds of stores, and of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Reads of one moment, and items that tell when they were created.
    Dated,
    /// Reads of one moment, and items that do not.
    Undated,
    /// No reads of one moment.
    WithoutMoments,
}

const KINDS: [Kind; 3] = [Kind::Dated, Kind::Undated, Kind::WithoutMoments];

impl Scene {
    async fn of(kind: Kind) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let inner: Arc<dyn Store> = match kind {
            Kind::Dated | Kind::Undated => Arc::new(engine(folder.path())),
            Kind::WithoutMoments => Arc::new(WithoutMoments(Arc::new(ModelStore::default()))),
        };
        Scene::over(inner, kind, folder).await
    }

    async fn over(inner: Arc<dyn Store>, kind: Kind, folder: tempfile::TempDir) -> Scene {
        let author = "author = \"string\"\nnotes  = \"count of Note\"";
        let dated = format!("{author}\nmade   = \"timestamp = now on create\"");
        let text = match kind {
            Kind::Undated => NOTES.to_owned(),
            Kind::Dated | Kind::WithoutMoments => NOTES.replace(author, &dated),
        };
        let witness = Arc::new(Witness {
            inner,
            seen: Mutex::default(),
            is_watching: Mutex::new(false),
        });
        let store: Arc<dyn Store> = witness.clone();
        let design = stage::compiled("notes", &text, "notes");
        let partita = Partita::open(design, store.clone()).await.unwrap();
        let scene = Scene {
            store: store.clone(),
            witness,
            partita: Arc::new(partita),
            clock: Arc::new(ManualClock::default()),
            made: AtomicUsize::new(0),
            _folder: folder,
        };
        let author = Map::from([("author", Value::from("ann"))]);
        create(&scene.partita, "Author", author).await;
        for _ in 0..COUNT {
            scene.note().await;
        }
        spoil(&*store, COUNT + 1).await;
        scene.witness.look().await;
        *scene.witness.is_watching.lock().unwrap() = true;
        scene
    }

    fn design(&self) -> &Design {
        self.partita.design()
    }

    /// A writer adds a note.
    async fn note(&self) {
        let made = self.made.fetch_add(1, Ordering::SeqCst);
        write_note(&self.partita, made).await;
    }

    async fn repair(&self, watch: &mut dyn Watch) -> Result<Report, VerifyError> {
        self.repair_on(&*self.store, watch).await
    }

    async fn repair_on(
        &self,
        store: &dyn Store,
        watch: &mut dyn Watch,
    ) -> Result<Report, VerifyError> {
        let (extent, permission) = (pages_of_one(), Permission::granted().held_by("Bea"));
        let clock = &*self.clock;
        partita_verify::repair_within(&extent, self.design(), store, clock, permission, watch).await
    }

    /// What is wrong with how the count was mended.
    async fn faults(&self) -> Vec<String> {
        let seen = self.witness.seen.lock().unwrap().clone();
        let mut faults = Vec::new();
        if seen.iter().any(|wrong| ![0, 1].contains(wrong)) || !seen.is_sorted_by(|a, b| a >= b) {
            faults.push(format!("it was wrong by {seen:?}"));
        }
        // The lock of a repair that was interrupted has ended by then.
        self.clock.advance(LEASE_MILLIS);
        let report = self.repair(&mut Collected::default()).await.unwrap();
        let (is, right) = (stored(&*self.store).await, notes(&*self.store).await);
        if is != right || !report.is_clean() {
            faults.push(format!("it is {is} and should be {right}: {report:?}"));
        }
        faults
    }
}

/// An embedded store that does not wait for the disk.
fn engine(folder: &Path) -> EngineStore {
    let options = Options::new(Arc::new(SystemClock)).upkeep(Upkeep::OnRequest);
    EngineStore::open(folder, options.durability(Durability::Buffered)).unwrap()
}

async fn write_note(partita: &Partita, made: usize) {
    let note = Map::from([
        ("lab", Value::from((made % 3).to_string())),
        ("note", Value::from(made.to_string())),
        ("author", Value::from("ann")),
    ]);
    create(partita, "Note", note).await;
}

async fn create(partita: &Partita, entity: &str, attributes: Map) {
    let entity = entity.to_owned();
    let operation = Operation::Create { entity, attributes };
    let caller = Caller::anonymous();
    partita.run(&caller, operation).await.unwrap();
}

/// How many notes there are.
async fn notes(store: &dyn Store) -> i64 {
    let page = store.scan(Scan::new("notes".parse().unwrap())).await;
    let page = page.unwrap().answer.into_parts().unwrap();
    let notes = page.items.iter().filter(|item| item.contains_key("note"));
    notes.count().try_into().unwrap()
}

/// A store that compares the count with the notes after every transaction.
struct Witness {
    inner: Arc<dyn Store>,
    /// By how much it was wrong.
    seen: Mutex<Vec<i64>>,
    is_watching: Mutex<bool>,
}

impl Witness {
    async fn look(&self) {
        let wrong = stored(&*self.inner).await - notes(&*self.inner).await;
        self.seen.lock().unwrap().push(wrong);
    }

    async fn look_if_watching(&self) {
        let is_watching = *self.is_watching.lock().unwrap();
        if is_watching {
            self.look().await;
        }
    }
}

#[async_trait]
impl Layer for Witness {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        let answer = self.inner.transact_write_items(request).await?;
        self.look_if_watching().await;
        Ok(answer)
    }

    async fn transact_write_items_since(
        &self,
        moment: Moment,
        request: TransactWriteItems,
    ) -> StoreResult<bool> {
        let inner = &self.inner;
        let answer = inner.transact_write_items_since(moment, request).await?;
        self.look_if_watching().await;
        Ok(answer)
    }
}

type Interjection<'a> =
    Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> + Send + 'a>;

/// Has something happen at one step of a repair.
struct At<'a> {
    step: usize,
    happening: Option<Interjection<'a>>,
    taken: usize,
}

#[async_trait]
impl Watch for At<'_> {
    async fn between_steps(&mut self) -> Result<(), Stopped> {
        if self.taken == self.step
            && let Some(happening) = self.happening.take()
        {
            happening().await;
        }
        self.taken += 1;
        Ok(())
    }

    fn finds(&mut self, _: &Drift, _: &Outcome) {}
}

/// What a repair says whose lock another one has.
fn is_locked(result: &Result<Report, VerifyError>) -> bool {
    match result {
        Err(VerifyError::Locked { holder, .. }) => holder == "Bea",
        _ => false,
    }
}

/// At every step of a repair another one begins and ends, and a note is written after it. Where the
/// first was silent for too long, the second takes over from it.
#[tokio::test]
async fn one_within_the_other() {
    for kind in KINDS {
        for silence_millis in [0, LEASE_MILLIS] {
            let (mut refused, mut overtaken) = (0, 0);
            for step in 0.. {
                let scene = Scene::of(kind).await;
                let inner = Mutex::new(None);
                let mut watch = At {
                    step,
                    taken: 0,
                    happening: Some(Box::new(|| {
                        Box::pin(async {
                            scene.clock.advance(silence_millis);
                            let second = scene.repair(&mut Collected::default()).await;
                            *inner.lock().unwrap() = Some(second);
                            scene.note().await;
                        })
                    })),
                };
                let outer = scene.repair(&mut watch).await;
                let is_over = watch.happening.is_some();
                drop(watch);
                let inner = inner.into_inner().unwrap();
                refused += usize::from(inner.as_ref().is_some_and(is_locked));
                overtaken += usize::from(is_locked(&outer));
                let faults = scene.faults().await;
                let what = format!("{kind:?}, silent for {silence_millis}, step {step}");
                assert!(
                    faults.is_empty(),
                    "{what}: {faults:?}, {outer:?}, {inner:?}"
                );
                if is_over {
                    break;
                }
            }
            // Each of the two is seen, or the test shows nothing.
            let expected = (silence_millis == 0, silence_millis > 0);
            assert_eq!((refused > 0, overtaken > 0), expected, "{kind:?}");
        }
    }
}

/// Two repairs and a writer, turn by turn as a seed says, with and without lost answers.
#[tokio::test]
async fn turn_by_turn() {
    for kind in KINDS {
        for (unknown_outcome, seeds) in [(0.0, 0..8), (0.25, 100..112)] {
            for seed in seeds {
                let scene = Scene::of(kind).await;
                let faults = Faults {
                    unknown_outcome,
                    ..Faults::default()
                };
                let store = Arc::new(FaultyStore::new(scene.store.clone(), faults, seed));
                let writing = async {
                    for _ in 0..3 {
                        scene.note().await;
                        for _ in 0..seed % 5 {
                            tokio::task::yield_now().await;
                        }
                    }
                };
                let (mut one, mut other) = (Collected::default(), Collected::default());
                let (first, second, ()) = tokio::join!(
                    scene.repair_on(&*store, &mut one),
                    scene.repair_on(&*store, &mut other),
                    writing,
                );
                let faults = scene.faults().await;
                assert!(
                    faults.is_empty(),
                    "{kind:?}, seed {seed}: {faults:?}, {first:?}, {second:?}"
                );
            }
        }
    }
}

/// What becomes of a write without an answer.
#[derive(Clone, Copy, Debug)]
enum Lost {
    /// It was never carried out.
    Before,
    /// It was carried out.
    After,
    /// It is carried out when its sender has sent it again.
    Late,
}

/// A store that loses the answer to the first write of the count, and has something happen then.
struct Lossy {
    inner: Arc<dyn Store>,
    lost: Lost,
    meanwhile: Box<dyn Fn() -> Happening + Send + Sync>,
    sent: AtomicUsize,
    late: Mutex<Option<(Option<Moment>, TransactWriteItems)>>,
}

#[async_trait]
impl Layer for Lossy {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        self.send(None, request).await.map(|_| Metered::default())
    }

    async fn transact_write_items_since(
        &self,
        moment: Moment,
        request: TransactWriteItems,
    ) -> StoreResult<bool> {
        self.send(Some(moment), request).await
    }
}

impl Lossy {
    async fn pass_on(
        &self,
        moment: Option<Moment>,
        request: TransactWriteItems,
    ) -> StoreResult<bool> {
        let inner = &self.inner;
        match moment {
            Some(moment) => inner.transact_write_items_since(moment, request).await,
            None => inner.transact_write_items(request).await.map(|_| true),
        }
    }

    async fn send(&self, moment: Option<Moment>, request: TransactWriteItems) -> StoreResult<bool> {
        let mut actions = request.actions.iter();
        let writes_count = actions.any(
            |action| matches!(action, TransactAction::Update(one) if one.table.as_str() == "notes"),
        );
        if !writes_count || self.sent.fetch_add(1, Ordering::SeqCst) > 0 {
            let answer = self.pass_on(moment, request).await;
            let late = self.late.lock().unwrap().take();
            if let Some((moment, late)) = late {
                let _ = self.pass_on(moment, late).await;
            }
            return answer;
        }
        match self.lost {
            Lost::Before => {}
            Lost::After => drop(self.pass_on(moment, request).await?),
            Lost::Late => *self.late.lock().unwrap() = Some((moment, request)),
        }
        (self.meanwhile)().await;
        Err(StoreError::OutcomeUnknown {
            message: "the answer was lost on purpose".to_owned(),
        })
    }
}

/// A repair whose first write of the count has no answer, while a note is written or not.
#[tokio::test]
async fn without_an_answer() {
    for kind in KINDS {
        for lost in [Lost::Before, Lost::After, Lost::Late] {
            for is_written in [false, true] {
                let scene = Scene::of(kind).await;
                let (partita, made) = (scene.partita.clone(), usize::MAX);
                let lossy = Lossy {
                    inner: scene.store.clone(),
                    lost,
                    meanwhile: Box::new(move || {
                        let partita = partita.clone();
                        Box::pin(async move {
                            if is_written {
                                write_note(&partita, made).await;
                            }
                        })
                    }),
                    sent: AtomicUsize::new(0),
                    late: Mutex::default(),
                };
                let repaired = scene.repair_on(&lossy, &mut Collected::default()).await;
                assert!(lossy.sent.load(Ordering::SeqCst) > 0, "{kind:?}, {lost:?}");
                let faults = scene.faults().await;
                assert!(
                    faults.is_empty(),
                    "{kind:?}, {lost:?}, {is_written}: {faults:?}, {repaired:?}"
                );
            }
        }
    }
}

/// A count that changes at every step is mended all the same where the store has reads of one moment,
/// and is moving elsewhere.
#[tokio::test]
async fn beside_a_writer_who_never_rests() {
    struct Restless<'a>(&'a Scene);
    #[async_trait]
    impl Watch for Restless<'_> {
        async fn between_steps(&mut self) -> Result<(), Stopped> {
            self.0.note().await;
            Ok(())
        }
        fn finds(&mut self, _: &Drift, _: &Outcome) {}
    }
    for kind in [Kind::Dated, Kind::Undated] {
        let scene = Scene::of(kind).await;
        let report = scene.repair(&mut Restless(&scene)).await.unwrap();
        assert_eq!((report.mended, report.is_clean()), (1, true), "{report:?}");
        assert_eq!(stored(&*scene.store).await, notes(&*scene.store).await);
        assert_eq!(scene.faults().await, Vec::<String>::new());
    }
    let scene = Scene::of(Kind::WithoutMoments).await;
    let report = scene.repair(&mut Restless(&scene)).await.unwrap();
    assert_eq!((report.mended, report.is_clean()), (0, false), "{report:?}");
    assert_eq!(scene.faults().await, Vec::<String>::new());
}

/// Of two at once one mends the count, on DynamoDB Local too.
#[tokio::test(flavor = "multi_thread")]
async fn on_dynamodb_local() {
    let Some(local) = partita_testkit::dynamodb_local::DynamoDbLocal::start() else {
        return;
    };
    let timeouts = partita_remote::Timeouts::default();
    let store = partita_remote::RemoteStore::local(&local.endpoint(), timeouts);
    let folder = tempfile::tempdir().unwrap();
    let scene = Scene::over(Arc::new(store), Kind::Dated, folder).await;
    let (mut one, mut other) = (Collected::default(), Collected::default());
    let (first, second) = tokio::join!(scene.repair(&mut one), scene.repair(&mut other));
    let mended = one.mended.len() + other.mended.len();
    assert_eq!(mended, 1, "{first:?}, {second:?}");
    assert_eq!(scene.faults().await, Vec::<String>::new());
}
