//! A small publisher: its store, its writers, and what must be true of its data.

use std::collections::BTreeMap;
use std::sync::Arc;

use partita_core::{Item, Map, Number, Value};
use partita_design::design::{Earlier, Record};
use partita_design::{Design, nested};
use partita_store::request::{DeleteItem, PutItem, ReturnValues, Scan};
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_store::{ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};
use partita_verify::{Collected, Outcome};

use super::cases::compiled;
use crate::commit::run::Patience;
use crate::error::PlanError;
use crate::migration::{Current, Migration, MigrationError, Mistake, Stage};
use crate::operation::{Answer, Caller, Operation};
use crate::partita::{Partita, Surroundings};

/// How far a migration is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Filled,
    RolledBack,
    Switched,
    SwitchedBack,
    Completed,
}

impl End {
    /// Whether a migration can come to it.
    pub(super) fn is_possible(self, from: &str, to: &str) -> bool {
        self != End::SwitchedBack || super::cases::is_reversible(from, to)
    }

    pub(super) fn all() -> [End; 5] {
        [
            End::Completed,
            End::RolledBack,
            End::SwitchedBack,
            End::Filled,
            End::Switched,
        ]
    }
}

pub(super) struct Press {
    inner: Arc<dyn Store>,
    store: Arc<FaultyStore>,
    pub(super) current: Arc<Current>,
    random: fastrand::Rng,
    seed: u64,
}

const FAULTS: Faults = Faults {
    conflict: 0.04,
    throttle: 0.01,
    unknown_outcome: 0.02,
};

impl Press {
    pub(super) async fn open(design: &str, seed: u64) -> Press {
        let inner: Arc<dyn Store> = Arc::new(ModelStore::default());
        Press::open_on(design, inner, seed).await
    }

    pub(super) async fn open_on(design: &str, inner: Arc<dyn Store>, seed: u64) -> Press {
        let store = Arc::new(FaultyStore::calm(inner.clone(), FAULTS, seed));
        let current = reopen(design, store.clone(), seed).await.unwrap();
        Press {
            inner,
            store,
            current,
            random: fastrand::Rng::with_seed(seed),
            seed,
        }
    }

    /// The same with a mistake.
    pub(super) fn with_mistake(mut self, mistake: Mistake) -> Press {
        let current = Arc::get_mut(&mut self.current).expect("nobody else has it");
        current.mistake = Some(mistake);
        self
    }

    /// The same data, as another process would have it open.
    pub(super) async fn another(&self, design: &str) -> Arc<Current> {
        reopen(design, self.store.clone(), self.seed + 1)
            .await
            .unwrap()
    }

    /// A migration is the one that is stored.
    pub(super) async fn expect_begun(&self, began: &Migration) {
        let rows = scan(&*self.inner, "press-partita").await;
        let mut rows = rows
            .iter()
            .filter(|row| row["PK"] == Value::from("MIGRATION"));
        let stored = rows.next().expect("it is stored");
        assert_eq!(stored["text"], Value::from(began.text.as_str()));
        assert!(rows.next().is_none());
    }

    pub(super) fn begin_faults(&self) {
        self.store.begin();
    }

    pub(super) async fn write_some(&mut self, count: usize) {
        for _ in 0..count {
            let operation = random_operation(&mut self.random);
            let _ = run(&self.current, operation).await;
        }
    }

    pub(super) async fn author(&self, id: &str, name: &str) -> Result<(), PlanError> {
        let attributes = texts(&[("authorId", id), ("name", name)]);
        run(&self.current, create("Author", attributes)).await
    }

    pub(super) async fn story(&self, id: &str) -> Result<(), PlanError> {
        let given = [("storyId", id), ("authorId", "a0"), ("title", "t")];
        run(&self.current, create("Story", texts(&given))).await
    }

    pub(super) async fn like(&self, story: &str, user: &str, weight: i64) -> Result<(), PlanError> {
        let mut given = texts(&[("storyId", story), ("userId", user)]);
        given.insert("weight", Value::N(Number::from(weight)));
        run(&self.current, create("Like", given)).await
    }

    pub(super) async fn weigh(
        &self,
        story: &str,
        user: &str,
        weight: i64,
    ) -> Result<(), PlanError> {
        let changes = Map::from([("weight", Value::N(Number::from(weight)))]);
        run(&self.current, update("Like", &[story, user], changes)).await
    }

    pub(super) async fn remove_story(&self, story: &str) -> Result<(), PlanError> {
        run(&self.current, delete("Story", &[story])).await
    }

    pub(super) async fn mail(&self, author: &str, mail: &str) {
        let given = texts(&[("mail", mail)]);
        let _ = run(&self.current, update("Author", &[author], given)).await;
    }

    pub(super) async fn rename(&self, id: &str, name: &str) -> Result<(), PlanError> {
        run(
            &self.current,
            update("Author", &[id], texts(&[("name", name)])),
        )
        .await
    }

    pub(super) async fn story_in(&self, id: &str, language: &str) {
        self.try_story_in(id, language).await.unwrap();
    }

    pub(super) async fn try_story_in(&self, id: &str, language: &str) -> Result<(), PlanError> {
        let given = [
            ("storyId", id),
            ("authorId", "a0"),
            ("title", "t"),
            ("language", language),
        ];
        run(&self.current, create("Story", texts(&given))).await
    }

    /// Another program gives an item an attribute that its design does not have.
    pub(super) async fn put_past_the_design(&self, name: &str) {
        let mut story = self.items().await;
        story.retain(|item| item["Kind"] == Value::from("Story"));
        let mut story = story.swap_remove(0);
        story.insert(name, Value::from(1_i64));
        let put = PutItem::new("press".parse().unwrap(), story);
        self.inner.put_item(put, ReturnValues::None).await.unwrap();
    }

    /// Another program puts an item at a key.
    pub(super) async fn put_at(&self, partition: &str, sort: &str) {
        let item = Item::from([("PK", partition.into()), ("SK", sort.into())]);
        let put = PutItem::new("press".parse().unwrap(), item);
        self.inner.put_item(put, ReturnValues::None).await.unwrap();
    }

    pub(super) async fn show(&self, story: &str) -> Result<(), PlanError> {
        let given = texts(&[("state", "shown")]);
        run(&self.current, update("Story", &[story], given)).await
    }

    pub(super) async fn hide(&self, story: &str) -> Result<(), PlanError> {
        let given = texts(&[("state", "draft")]);
        run(&self.current, update("Story", &[story], given)).await
    }

    /// Another program removes records of views.
    pub(super) async fn lose_records(&self) {
        let mut records = self.items().await;
        records.retain(|item| item["Kind"] == Value::from("Shown"));
        assert!(!records.is_empty());
        for record in records {
            let key = ["PK", "SK"].map(|name| (name, record[name].clone()));
            let delete = DeleteItem {
                table: "press".parse().unwrap(),
                key: Item::from(key),
                condition: None,
                return_item_on_failure: false,
            };
            let gone = self.inner.delete_item(delete, ReturnValues::None).await;
            gone.unwrap();
        }
    }

    pub(super) async fn drive(&self) -> Migration {
        drive(&self.current).await.unwrap()
    }

    /// Begins a migration. What goes is named.
    pub(super) async fn start(&self, new: &str) -> Result<Migration, PlanError> {
        let new = compiled(new);
        let drops = super::cases::dropped(self.current.get().design(), &new);
        self.current.start(new, drops).await
    }

    /// A whole migration, as far as it is to go.
    pub(super) async fn migrate(&self, new: &str, end: End) -> Result<(), PlanError> {
        let started = self.start(new).await;
        if let Err(PlanError::Migration(super::MigrationError::NotNeeded)) = &started {
            panic!("{started:?}");
        }
        started?;
        for stage in steps(end) {
            step(&self.current, *stage).await?;
        }
        Ok(())
    }

    /// The same, while three writers go on.
    pub(super) async fn migrate_beside_writers(&self, new: &str, end: End) {
        let driver = async {
            while let Err(error) = self.start(new).await {
                assert!(is_passing(&error), "{error}");
            }
            for stage in steps(end) {
                loop {
                    match step(&self.current, *stage).await {
                        Ok(()) => break,
                        Err(error) if is_passing(&error) => {}
                        // A stage waits for them, and nobody else works on them here.
                        Err(PlanError::Migration(MigrationError::Jobs { .. })) => {
                            let _ = self.current.get().run_jobs().await;
                        }
                        Err(error) => panic!("{stage:?}: {error}"),
                    }
                }
                self.expect_right("beside writers").await;
            }
        };
        let seeds = [1, 2, 3].map(|writer| self.seed * 10 + writer);
        let writers = seeds.map(|seed| async move {
            let mut random = fastrand::Rng::with_seed(seed);
            for _ in 0..60 {
                if random.u8(0..4) == 0 {
                    let count = random.usize(2..5);
                    let batch = (0..count).map(|_| random_operation(&mut random)).collect();
                    run_all(&self.current, batch).await;
                } else {
                    let operation = random_operation(&mut random);
                    let _ = run(&self.current, operation).await;
                }
            }
        });
        futures::join!(driver, futures::future::join_all(writers));
        let _ = self.current.get().run_jobs().await;
    }

    /// A migration that ends with its process after so many requests, and is taken up again.
    pub(super) async fn migrate_interrupted(&mut self, new: &str, end: End, requests: u64) {
        self.start(new).await.unwrap();
        let old = self.current.get().design().origin.text.clone();
        let mut left = requests;
        let mut at = 0;
        let mut rounds = 0;
        while let Some(stage) = steps(end).get(at) {
            rounds += 1;
            assert!(rounds < 100, "it comes to an end");
            let work = step(&self.current, *stage);
            if let Some(done) = interrupted(work, &mut left).await {
                done.unwrap_or_else(|error| panic!("{stage:?} {requests}: {error}"));
                at += 1;
            } else {
                let text = if rounds % 2 == 0 { new } else { &old };
                self.current = reopen(text, self.store.clone(), self.seed + rounds)
                    .await
                    .unwrap();
                self.expect_right("taken up again").await;
                self.write_some(2).await;
            }
        }
    }

    /// A caller finds a story with so many likes, by its key and by an index.
    pub(super) async fn expect_likes(&self, likes: i64) {
        let get = Operation::Get {
            entity: "Story".into(),
            identity: vec!["s1".into()],
            with_deleted: false,
        };
        let Answer::Record(story) = self.ask(get).await else {
            panic!("no record");
        };
        let names: Vec<_> = story.attributes.keys().collect();
        assert!(names.iter().all(|name| !name.contains('~')), "{story:?}");
        assert_eq!(story.attributes["likes"], Value::N(Number::from(likes)));
        let query = Operation::Query {
            pattern: "byLikes".into(),
            parameters: BTreeMap::from([("authorId".into(), "a0".into())]),
            limit: None,
            cursor: None,
        };
        let Answer::Page { records, .. } = self.ask(query).await else {
            panic!("no page");
        };
        assert_eq!(records, std::slice::from_ref(&story));
    }

    /// The names of the items that a pattern finds, once each.
    pub(super) async fn found(&self, pattern: &str, by: (&str, &str)) -> Vec<String> {
        let query = Operation::Query {
            pattern: pattern.into(),
            parameters: BTreeMap::from([(by.0.into(), by.1.into())]),
            limit: None,
            cursor: None,
        };
        let Answer::Page { records, .. } = self.ask(query).await else {
            panic!("no page");
        };
        for record in &records {
            let mark = record.attributes.get("Kind");
            let name = Value::from(record.name.as_str());
            assert!(mark.is_none_or(|mark| *mark == name), "{record:?}");
        }
        records.into_iter().map(|record| record.name).collect()
    }

    /// Asks until nothing fails that may pass.
    async fn ask(&self, operation: Operation) -> Answer {
        let caller = Caller::user("ann");
        for _ in 0..20 {
            match self.current.get().run(&caller, operation.clone()).await {
                Ok(answer) => return answer,
                Err(error) => assert!(is_passing(&error), "{error}"),
            }
        }
        let last = self.current.get().run(&caller, operation).await;
        last.unwrap_or_else(|error| panic!("it does not pass: {error}"))
    }

    /// Everything that is derived is right, or a job will settle it, and everything is recognised.
    pub(super) async fn expect_right(&self, context: &str) {
        let is_drift = |outcome: &Outcome| !matches!(outcome, Outcome::Awaited { .. });
        self.expect_none(context, is_drift).await;
    }

    async fn expect_none(&self, context: &str, is_wrong: impl Fn(&Outcome) -> bool) {
        let quiet = self.quiet().await;
        let mut found = Collected::default();
        let report = quiet.verify(&mut found).await.unwrap();
        let open: Vec<String> = found
            .open
            .iter()
            .filter(|(_, outcome)| is_wrong(outcome))
            .map(|(drift, _)| drift.to_string())
            .collect();
        assert!(open.is_empty(), "{context}: {open:#?}");
        let unrecognised = &found.unrecognised;
        assert!(unrecognised.is_empty(), "{context}: {unrecognised:#?}");
        assert_eq!(report.unrecognised, 0, "{context}");
    }

    /// The same design without faults, looked at between two requests of the others.
    async fn quiet(&self) -> Partita {
        let design = self.current.get().design().clone();
        let surroundings = surroundings(self.seed);
        let opened = Partita::inspect(design, self.inner.clone(), surroundings).await;
        opened.unwrap()
    }

    /// Everything is right, and nothing is left of the way there.
    pub(super) async fn expect_settled(&self, context: &str) {
        self.expect_none(context, |_| true).await;
        let stage = self.current.migration().await.unwrap().unwrap().stage;
        let rows = scan(&*self.inner, "press-partita").await;
        let is_mark = |row: &&Item| row["PK"].as_str().unwrap().starts_with("MARK#");
        if stage != Stage::Kept {
            assert_eq!(rows.iter().filter(is_mark).count(), 0, "{context}: marks");
        }
        let partita = self.current.get();
        let design = partita.design();
        for item in self.items().await {
            let records = design.records.iter();
            let is_of = |record: &&partita_design::design::Record| {
                let table = &design.tables[0];
                record.is_entity()
                    && record.is_marked(table, &item)
                    && record.attributes_of(table, &item).is_some()
            };
            let Some(record) = records.clone().find(is_of) else {
                continue;
            };
            for attribute in &record.attributes {
                use partita_design::design::Source::Copy;
                let is_stored = !attribute.optional
                    && !attribute.is_virtual
                    && !attribute.key_only
                    && !matches!(attribute.source, Copy(_));
                let is_there = nested::get(&item, &attribute.name).is_some();
                assert!(
                    !is_stored || is_there,
                    "{context}: `{}` is not in {item:?}",
                    attribute.name
                );
            }
        }
    }

    /// The items are those of a store to which the same sources were given under the new design.
    pub(super) async fn expect_as_new(&self, new: &str, context: &str) {
        let fresh = Press::open(new, 1).await;
        let items = self.items().await;
        let partita = fresh.current.get();
        let design = partita.design();
        for kind in ["Author", "Story", "Like"] {
            let record = design.find_entity(kind);
            let record = record.or_else(|| renamed(design, kind)).unwrap();
            let mark = record.discriminator.as_deref().map(Value::from);
            for item in items
                .iter()
                .filter(|item| item.get("Kind") == mark.as_ref())
            {
                let mut given = Map::new();
                for attribute in &record.attributes {
                    use partita_design::design::Source::Given;
                    let is_given = matches!(attribute.source, Given { .. })
                        && attribute.name != "version"
                        && attribute.name != "state";
                    let stored = record
                        .attributes_of(&partita.design().tables[0], item)
                        .unwrap();
                    if let Some(value) = nested::get(&stored, &attribute.name)
                        && is_given
                    {
                        nested::set(&mut given, &attribute.name, value.clone());
                    }
                }
                let created = run(&fresh.current, create(&record.name, given)).await;
                // What refers to an item that is gone cannot be created again.
                if created.is_err() {
                    return;
                }
            }
        }
        let own = |items: Vec<Item>| -> BTreeMap<String, Item> {
            let kept = items.into_iter().filter(|item| {
                let kind = item.get("Kind").and_then(Value::as_str);
                !matches!(
                    kind,
                    Some("Notice" | "Past" | "Earlier" | "Shown" | "Visible")
                )
            });
            kept.map(|mut item| {
                let key = format!("{:?} {:?}", item["PK"], item["SK"]);
                for name in ["version", "updatedAt", "state"] {
                    item.remove(name);
                }
                (key, item)
            })
            .collect()
        };
        assert_eq!(own(items), own(fresh.items().await), "{context}");
    }

    /// The items are these, and no others.
    pub(super) async fn expect_items(&self, expected: &[Item], context: &str) {
        let items = self.items().await;
        let more: Vec<&Item> = items.iter().filter(|one| !expected.contains(one)).collect();
        let fewer: Vec<&Item> = expected.iter().filter(|one| !items.contains(one)).collect();
        assert_eq!(more, fewer, "{context}");
    }

    pub(super) async fn items(&self) -> Vec<Item> {
        scan(&*self.inner, "press").await
    }
}

/// The stages of a migration up to an end.
fn steps(end: End) -> &'static [Stage] {
    match end {
        End::Filled => &[Stage::Filled],
        End::RolledBack => &[Stage::Filled, Stage::RolledBack],
        End::Switched => &[Stage::Filled, Stage::Switched],
        End::SwitchedBack => &[Stage::Filled, Stage::Switched, Stage::RolledBack],
        End::Completed => &[Stage::Filled, Stage::Switched, Stage::Completed],
    }
}

/// Brings a migration to a stage, from whichever one it is in.
async fn step(current: &Current, to: Stage) -> Result<(), PlanError> {
    let now = current.migration().await?.expect("it has begun");
    match (now.stage, to) {
        (Stage::Filled, Stage::Switched) => drop(current.switch().await?),
        (Stage::Switched, Stage::Completed) => drop(current.complete().await?),
        (Stage::Kept | Stage::Filled | Stage::Switched, Stage::RolledBack) => {
            drop(current.roll_back().await?);
        }
        _ => {}
    }
    drive(current).await?;
    let now = current.migration().await?.expect("it has begun");
    assert_eq!(now.stage, to, "{:?}", now.refused);
    Ok(())
}

async fn drive(current: &Current) -> Result<Migration, PlanError> {
    Ok(current.drive(&mut |_| {}).await?.expect("it has begun"))
}

/// Runs something until it has waited so often; none if it did not come to its end.
async fn interrupted<T>(work: impl Future<Output = T>, left: &mut u64) -> Option<T> {
    let mut work = Box::pin(work);
    std::future::poll_fn(|context| {
        if *left == 0 {
            *left = u64::MAX;
            return std::task::Poll::Ready(None);
        }
        *left -= 1;
        work.as_mut().poll(context).map(Some)
    })
    .await
}

async fn reopen(
    design: &str,
    store: Arc<FaultyStore>,
    seed: u64,
) -> Result<Arc<Current>, PlanError> {
    let opened = Partita::open_with(compiled(design), store, surroundings(seed));
    Ok(Current::new(opened.await?))
}

pub(super) fn clock() -> ManualClock {
    ManualClock::at(1_767_225_600_000)
}

fn surroundings(seed: u64) -> Surroundings {
    Surroundings {
        clock: Arc::new(clock()),
        entropy: Arc::new(SeededEntropy::new(seed)),
        patience: Patience {
            attempts: 20,
            pause_millis: 0,
        },
        ..Surroundings::default()
    }
}

/// Whether something may succeed when it is tried again.
fn is_passing(error: &PlanError) -> bool {
    use crate::migration::MigrationError;
    match error {
        PlanError::Conflict | PlanError::OutcomeUnknown | PlanError::Superseded => true,
        PlanError::Hot(_) => true,
        PlanError::Migration(MigrationError::Moved) => true,
        PlanError::Store(error) => !matches!(error.kind(), partita_store::ErrorKind::Corrupt),
        _ => false,
    }
}

async fn run(current: &Current, operation: Operation) -> Result<(), PlanError> {
    loop {
        let partita = current.get();
        let operation = in_names_of(partita.design(), operation.clone());
        let answer = partita.run(&Caller::user("ann"), operation).await;
        match answer {
            Err(PlanError::Superseded) => {}
            answer => return answer.map(drop),
        }
    }
}

/// A batch; most are refused as a whole.
async fn run_all(current: &Current, batch: Vec<Operation>) {
    loop {
        let partita = current.get();
        let batch = batch.iter().cloned();
        let batch = batch
            .map(|one| in_names_of(partita.design(), one))
            .collect();
        let answer = partita.run_all(&Caller::user("ann"), batch).await;
        if answer != Err(PlanError::Superseded) {
            return;
        }
    }
}

/// The record that had a name in the old design.
fn renamed<'d>(design: &'d Design, name: &str) -> Option<&'d Record> {
    let mut records = design.records.iter();
    let had = |was: &Earlier| was.name.as_deref() == Some(name);
    records.find(|one| one.was.iter().any(had))
}

/// An operation of the old design in the names of the one that is served.
fn in_names_of(design: &Design, mut operation: Operation) -> Operation {
    if let Operation::Create { entity, .. }
    | Operation::Update { entity, .. }
    | Operation::Delete { entity, .. } = &mut operation
        && design.find_entity(entity).is_none()
        && let Some(renamed) = renamed(design, entity)
    {
        entity.clone_from(&renamed.name);
    }
    if let Operation::Create {
        entity,
        attributes: given,
    }
    | Operation::Update {
        entity,
        changes: given,
        ..
    } = &mut operation
        && let Some(record) = design.find_entity(entity)
    {
        for attribute in &record.attributes {
            for was in &attribute.was {
                if let Some(value) = given.remove(was) {
                    given.insert(attribute.name.as_str(), value);
                }
            }
        }
    }
    if let Operation::Update {
        entity, identity, ..
    }
    | Operation::Delete {
        entity, identity, ..
    } = &mut operation
        && let Some(record) = design.find_entity(entity)
        && identity.len() == 2
        && record.identity[0].attribute != "storyId"
    {
        // Its key has the parts the other way round.
        identity.reverse();
    }
    operation
}

fn random_operation(random: &mut fastrand::Rng) -> Operation {
    let author = format!("a{}", random.u8(0..3));
    let story = format!("s{}", random.u8(0..4));
    let user = format!("u{}", random.u8(0..5));
    let number = |number: i64| Value::N(Number::from(number));
    match random.u8(0..20) {
        0..=1 => {
            let name = format!("name of {author}");
            create("Author", texts(&[("authorId", &author), ("name", &name)]))
        }
        2 => update(
            "Author",
            &[&author],
            texts(&[("name", &format!("{author} {}", random.u8(..)))]),
        ),
        3 => delete("Author", &[&author]),
        4..=6 => {
            let mut given = texts(&[("storyId", &story), ("authorId", &author), ("title", "T")]);
            given.insert("words", number(random.i64(0..100)));
            given.insert("tags", tags(random));
            create("Story", given)
        }
        7 => update(
            "Story",
            &[&story],
            texts(&[("title", &format!("T{}", random.u8(0..3)))]),
        ),
        8 => update("Story", &[&story], texts(&[("authorId", &author)])),
        9 => {
            let changes = Map::from([("words", number(random.i64(0..100)))]);
            update("Story", &[&story], changes)
        }
        10 => update("Story", &[&story], Map::from([("tags", tags(random))])),
        11 => {
            let state = if random.bool() { "shown" } else { "draft" };
            update("Story", &[&story], texts(&[("state", state)]))
        }
        12 => delete("Story", &[&story]),
        13..=16 => {
            let mut given = texts(&[("storyId", &story), ("userId", &user)]);
            given.insert("weight", number(random.i64(1..4)));
            create("Like", given)
        }
        17 => {
            let changes = Map::from([("weight", number(random.i64(1..4)))]);
            update("Like", &[&story, &user], changes)
        }
        _ => delete("Like", &[&story, &user]),
    }
}

fn tags(random: &mut fastrand::Rng) -> Value {
    let all = ["red", "green", "blue"];
    let some = all.iter().filter(|_| random.bool());
    Value::L(some.map(|tag| Value::from(*tag)).collect())
}

fn create(entity: &str, attributes: Map) -> Operation {
    Operation::Create {
        entity: entity.into(),
        attributes,
    }
}

fn update(entity: &str, identity: &[&str], changes: Map) -> Operation {
    Operation::Update {
        entity: entity.into(),
        identity: identity.iter().map(ToString::to_string).collect(),
        changes,
        with_deleted: false,
        version: None,
    }
}

fn delete(entity: &str, identity: &[&str]) -> Operation {
    Operation::Delete {
        entity: entity.into(),
        identity: identity.iter().map(ToString::to_string).collect(),
        version: None,
    }
}

fn texts(given: &[(&str, &str)]) -> Map {
    let given = given.iter();
    let given = given.map(|(name, text)| ((*name).to_owned(), Value::from(*text)));
    given.collect()
}

async fn scan(store: &dyn Store, table: &str) -> Vec<Item> {
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
