//! Repairs beside writers who never rest, of items that do not tell when they were created.
//!
//! Between any two steps of a repair a writer changes what is counted, and removes owners and creates
//! them again. The numbers of all owners were made wrong before. After every step each of them is
//! wrong by as much as it was made, or right: one that a repair mends in an item that is not the one
//! that it saw is wrong by something else.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use partita_core::expression::{Path, SetOperand, SetValue, Update};
use partita_core::{Item, Map, Value};
use partita_engine::{Durability, EngineStore, Options, Upkeep};
use partita_plan::{Caller, Operation, Partita};
use partita_store::request::{ReturnValues, Scan, TransactWriteItems, UpdateItem};
use partita_store::surroundings::SystemClock;
use partita_store::{Layer, Moment, Store, StoreResult};
use partita_verify::{Drift, Outcome, Permission, Report, Stopped, Watch};

use crate::moving_counts::pages_of_one;
use crate::stage;

/// Members go with their club, and notes outlive their author. A count of all members would keep a club
/// with a wrong one from being deleted.
const CLUBS: &str = r##"
design = "clubs"

[table]
name = "clubs"
key  = ["PK", "SK"]

[entity.Club]
PK = "CLUB#{club}"
SK = "CLUB"
[entity.Club.attributes]
club    = "string"
members = "count of Member where seats > 0"
seats   = "sum of seats of Member"
[entity.Club.allow]
"*" = "public"

[entity.Member]
PK = "CLUB#{club}"
SK = "MEMBER#{member}"
[entity.Member.attributes]
club   = "string"
member = "string"
seats  = "int"
[entity.Member.refs]
of = "Club, on delete cascade"
[entity.Member.allow]
"*" = "public"

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

const OWNERS: usize = 6;
/// Repairs after which everything is right.
const REPAIRS_MAX: usize = 6;
/// By how much every number is wrong.
const WRONG: i64 = 1_000;

/// A number, by the partition of its owner and its name.
type Which = (String, &'static str);

struct Load {
    store: Arc<dyn Store>,
    partita: Partita,
    random: fastrand::Rng,
    made: usize,
    /// What the writer has written: members and notes, with the identity of each and its seats.
    members: BTreeMap<(usize, usize), i64>,
    notes: BTreeMap<(usize, usize), usize>,
    /// Owners that were created again.
    recreated: usize,
    faults: Vec<String>,
    mended: Vec<Which>,
}

fn text(number: usize) -> Value {
    Value::S(number.to_string())
}

impl Load {
    async fn start(store: Arc<dyn Store>, seed: u64) -> Load {
        let design = stage::compiled("clubs", CLUBS, "clubs");
        let partita = Partita::open(design, store.clone()).await.unwrap();
        let mut load = Load {
            store,
            partita,
            random: fastrand::Rng::with_seed(seed),
            made: 0,
            members: BTreeMap::new(),
            notes: BTreeMap::new(),
            recreated: 0,
            faults: Vec::new(),
            mended: Vec::new(),
        };
        for owner in 0..OWNERS {
            load.create("Club", [("club", text(owner))]).await;
            load.create("Author", [("author", text(owner))]).await;
        }
        for _ in 0..OWNERS * 4 {
            load.join().await;
            load.note().await;
        }
        load
    }

    async fn run(&self, operation: Operation) {
        let caller = Caller::anonymous();
        let what = format!("{operation:?}");
        let done = self.partita.run(&caller, operation).await;
        done.unwrap_or_else(|error| panic!("{what}: {error}"));
    }

    async fn create<const N: usize>(&self, entity: &str, attributes: [(&str, Value); N]) {
        let (entity, attributes) = (entity.to_owned(), Map::from(attributes));
        self.run(Operation::Create { entity, attributes }).await;
    }

    async fn delete<const N: usize>(&self, entity: &str, identity: [usize; N]) {
        self.run(Operation::Delete {
            entity: entity.to_owned(),
            identity: identity.map(|part| part.to_string()).into(),
            version: None,
        })
        .await;
    }

    async fn join(&mut self) {
        self.made += 1;
        let (club, member, seats) = (self.random.usize(0..OWNERS), self.made, 1);
        let seats = seats + self.random.i64(0..3);
        let names = [("club", text(club)), ("member", text(member))];
        let [one, other] = names;
        self.create("Member", [one, other, ("seats", Value::from(seats))])
            .await;
        self.members.insert((club, member), seats);
    }

    async fn leave(&mut self) {
        let at = self.random.usize(0..self.members.len());
        let (&(club, member), _) = self.members.iter().nth(at).unwrap();
        self.delete("Member", [club, member]).await;
        self.members.remove(&(club, member));
    }

    async fn note(&mut self) {
        self.made += 1;
        let (lab, author) = (self.random.usize(0..4), self.random.usize(0..OWNERS));
        let place = [("lab", text(lab)), ("note", text(self.made))];
        let [one, other] = place;
        self.create("Note", [one, other, ("author", text(author))])
            .await;
        self.notes.insert((lab, self.made), author);
    }

    async fn tear(&mut self) {
        let at = self.random.usize(0..self.notes.len());
        let (&(lab, note), _) = self.notes.iter().nth(at).unwrap();
        self.delete("Note", [lab, note]).await;
        self.notes.remove(&(lab, note));
    }

    async fn recreate(&mut self) {
        self.recreated += 1;
        let owner = self.random.usize(0..OWNERS);
        if self.random.bool() {
            self.delete("Club", [owner]).await;
            while self.partita.run_jobs().await.unwrap() > 0 {}
            self.members.retain(|(club, _), _| *club != owner);
            self.create("Club", [("club", text(owner))]).await;
        } else {
            self.delete("Author", [owner]).await;
            self.create("Author", [("author", text(owner))]).await;
        }
    }

    async fn write(&mut self) {
        match self.random.u8(0..40) {
            0 => self.recreate().await,
            1..10 if self.members.len() > OWNERS => self.leave().await,
            10..20 if self.notes.len() > OWNERS => self.tear().await,
            1..20 => self.join().await,
            20..30 => self.join().await,
            _ => self.note().await,
        }
        // A few more for the next ones to leave.
        if self.members.len() > OWNERS * 6 {
            self.leave().await;
        }
        if self.notes.len() > OWNERS * 6 {
            self.tear().await;
        }
    }

    /// Makes every number wrong past the design.
    async fn spoil(&self) {
        for ((partition, name), _) in self.wrong().await {
            let (kind, _) = partition.split_once('#').unwrap();
            let key = Item::from([
                ("PK", Value::from(partition.as_str())),
                ("SK", Value::from(kind)),
            ]);
            let path = Path::attribute(name);
            let (now, more) = (SetOperand::Path(path.clone()), Value::from(WRONG));
            let sum = SetValue::Plus(now, SetOperand::Value(more));
            let mut update = Update::default();
            update.set.push((path, sum));
            let update = UpdateItem {
                table: "clubs".parse().unwrap(),
                key,
                update,
                condition: None,
                return_item_on_failure: false,
            };
            let updated = self.store.update_item(update, ReturnValues::None).await;
            updated.unwrap();
        }
    }

    async fn items(&self) -> Vec<Item> {
        let page = self.store.scan(Scan::new("clubs".parse().unwrap())).await;
        page.unwrap().answer.into_parts().unwrap().items
    }

    /// By how much each number is wrong.
    async fn wrong(&self) -> BTreeMap<Which, i64> {
        let mut wrong = BTreeMap::<Which, i64>::new();
        for (&(club, _), &seats) in &self.members {
            let partition = format!("CLUB#{club}");
            *wrong.entry((partition.clone(), "members")).or_default() -= 1;
            *wrong.entry((partition, "seats")).or_default() -= seats;
        }
        for author in self.notes.values() {
            *wrong
                .entry((format!("AUTHOR#{author}"), "notes"))
                .or_default() -= 1;
        }
        for item in self.items().await {
            for name in ["members", "seats", "notes"] {
                let owner = ["CLUB", "AUTHOR"].map(Value::from).contains(&item["SK"]);
                let number = item.get(name).and_then(Value::as_number).copied();
                if let Some(number) = number.filter(|_| owner) {
                    let partition = item["PK"].as_str().unwrap().to_owned();
                    *wrong.entry((partition, name)).or_default() += number.to_i64().unwrap();
                }
            }
        }
        wrong
    }

    /// Notes what is neither right nor wrong by as much as it was made.
    async fn audit(&mut self) {
        for (which, wrong) in self.wrong().await {
            if ![0, WRONG].contains(&wrong) {
                self.faults.push(format!("{which:?} is wrong by {wrong}"));
            }
        }
    }

    /// What was written is there, and nothing else.
    async fn sources(&self) -> bool {
        let mut there = BTreeMap::new();
        for item in self.items().await {
            let kind = item["SK"].as_str().unwrap().split('#').next().unwrap();
            *there.entry(kind.to_owned()).or_insert(0) += 1;
        }
        let expected = [
            ("AUTHOR", OWNERS),
            ("CLUB", OWNERS),
            ("MEMBER", self.members.len()),
            ("NOTE", self.notes.len()),
        ];
        there
            == expected
                .map(|(kind, count)| (kind.to_owned(), count))
                .into()
    }

    async fn repair(&mut self) -> Report {
        let (design, store) = (self.partita.design().clone(), self.store.clone());
        let (extent, permission) = (pages_of_one(), Permission::granted());
        let repaired = partita_verify::repair_within(
            &extent,
            &design,
            &*store,
            &SystemClock,
            permission,
            self,
        );
        repaired.await.unwrap()
    }
}

#[async_trait]
impl Watch for Load {
    async fn between_steps(&mut self) -> Result<(), Stopped> {
        self.audit().await;
        self.write().await;
        Ok(())
    }

    fn finds(&mut self, drift: &Drift, outcome: &Outcome) {
        let name = drift.attribute.as_deref();
        let name = ["members", "seats", "notes"]
            .into_iter()
            .find(|one| name == Some(one));
        if let (Outcome::Mended, Some(name)) = (outcome, name) {
            let partition = drift.key["PK"].as_str().unwrap().to_owned();
            self.mended.push((partition, name));
        }
    }
}

/// A store that forgets since when an item must be the same.
struct Forgetful(Arc<dyn Store>);

#[async_trait]
impl Layer for Forgetful {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    async fn transact_write_items_since(
        &self,
        _: Moment,
        request: TransactWriteItems,
    ) -> StoreResult<bool> {
        self.0.transact_write_items(request).await.map(|_| true)
    }
}

fn engine(folder: &std::path::Path) -> Arc<dyn Store> {
    let options = Options::new(Arc::new(SystemClock)).upkeep(Upkeep::OnRequest);
    let options = options.durability(Durability::Buffered);
    Arc::new(EngineStore::open(folder, options).unwrap())
}

/// Every wrong number is mended, each once, and nothing else is written.
#[tokio::test]
async fn mend_every_number() {
    let mut recreated = 0;
    for seed in 0..6 {
        let folder = tempfile::tempdir().unwrap();
        let mut load = Load::start(engine(folder.path()), seed).await;
        load.spoil().await;
        let mut repairs = 0;
        while load.wrong().await.values().any(|wrong| *wrong != 0) {
            repairs += 1;
            assert!(
                repairs <= REPAIRS_MAX,
                "seed {seed}: {:?}",
                load.wrong().await
            );
            load.repair().await;
        }
        load.audit().await;
        assert_eq!(load.faults, Vec::<String>::new(), "seed {seed}");
        let mended = load.mended.len();
        load.mended.sort();
        load.mended.dedup();
        assert_eq!(
            load.mended.len(),
            mended,
            "seed {seed}: one was mended twice"
        );
        assert!(mended > OWNERS, "seed {seed}: {mended}");
        assert!(load.sources().await, "seed {seed}");
        recreated += load.recreated;
    }
    // Otherwise the test shows nothing.
    assert!(recreated > 0);
}

/// The test notices a difference that is added to an item which was created again.
#[tokio::test]
async fn onto_another_item_is_noticed() {
    let mut is_noticed = false;
    for seed in 0..6 {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Forgetful(engine(folder.path())));
        let mut load = Load::start(store, seed).await;
        load.spoil().await;
        load.repair().await;
        load.audit().await;
        is_noticed |= !load.faults.is_empty();
    }
    assert!(is_noticed);
}
