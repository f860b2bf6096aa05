//! Values that no two items share, where items expire, move, and hand values to each other.

use std::sync::Arc;

use partita_core::{Item, Map, Value};
use partita_design::design::KeyTemplates;
use partita_design::template::{Hole, Part, Template};
use partita_plan::{Caller, Operation, Partita, PlanError};
use partita_store::request::{PutItem, ReturnValues};
use partita_store::surroundings::ManualClock;
use partita_store::{ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};
use partita_verify::{Collected, Permission};

use crate::stage::{NOW, items, open_at, texts};

const DESIGN: &str = r#"
design = "doors"

[table]
name = "doors"
key  = ["PK", "SK"]
ttl  = "until"

[entity.Pass]
PK = "PASS#{passId}"
SK = "PASS"

[entity.Pass.attributes]
passId = "string"
code   = "string?"
house  = "string?"
room   = "string?"
until  = "expiry?"

[entity.Pass.unique]
code = "CODE#{code}"
room = "ROOM#{house}#{room}"

[entity.Pass.allow]
"*" = "signed-in"

[entity.Swap]
PK = "SWAP#{swapId}"
SK = "SWAP"

[entity.Swap.attributes]
swapId = "string"
one    = "string"
two    = "string"
code   = "string"

[entity.Swap.refs]
from = "Pass(passId = one)"
to   = "Pass(passId = two)"

[entity.Swap.allow]
"*" = "signed-in"

[trigger.given]
on     = "create Swap"
update = "from"
remove = ["code"]

[trigger.got]
on     = "create Swap"
update = "to"
set    = { code = "{code}" }

[pattern.pass]
get = "PK = 'PASS#{passId}' AND SK = 'PASS'"

[pattern.swap]
get = "PK = 'SWAP#{swapId}' AND SK = 'SWAP'"
"#;

/// A second of the time of the tests.
fn seconds(after: i64) -> Value {
    Value::from(NOW / 1000 + after)
}

struct Doors {
    store: Arc<ModelStore>,
    partita: Partita,
    clock: Arc<ManualClock>,
}

impl Doors {
    async fn open() -> Doors {
        let clock = Arc::new(ManualClock::at(NOW));
        let store = Arc::new(ModelStore::new(clock.clone()));
        let partita = open_at(DESIGN, store.clone(), 1, clock.clone()).await;
        Doors {
            store,
            partita,
            clock,
        }
    }

    async fn create(&self, id: &str, code: &str, until: Option<i64>) -> Result<(), PlanError> {
        let mut attributes = texts(&[("passId", id), ("code", code)]);
        attributes.extend(until.map(|after| ("until", seconds(after))));
        let entity = "Pass".into();
        self.run(Operation::Create { entity, attributes }).await
    }

    async fn update(&self, id: &str, changes: Map) -> Result<(), PlanError> {
        self.run(Operation::Update {
            entity: "Pass".into(),
            identity: vec![id.into()],
            changes,
            with_deleted: false,
            version: None,
        })
        .await
    }

    async fn delete(&self, id: &str) -> Result<(), PlanError> {
        self.run(Operation::Delete {
            entity: "Pass".into(),
            identity: vec![id.into()],
            version: None,
        })
        .await
    }

    async fn run(&self, operation: Operation) -> Result<(), PlanError> {
        self.partita
            .run(&Caller::user("ann"), operation)
            .await
            .map(drop)
    }

    async fn guard(&self, partition: &str) -> Option<Item> {
        let mut items = items(&*self.store, "doors").await.into_iter();
        items.find(|item| item["PK"] == partition.into())
    }

    async fn assert_clean(&self) {
        let mut found = Collected::default();
        let report = self.partita.verify(&mut found).await.unwrap();
        assert!(report.is_clean(), "{:?}", found.open);
    }
}

fn is_taken(answer: &Result<(), PlanError>) -> bool {
    matches!(answer, Err(PlanError::Taken { .. }))
}

#[tokio::test]
async fn a_value_is_free_when_its_owner_has_expired() {
    let doors = Doors::open().await;
    doors.create("a", "x", Some(60)).await.unwrap();
    let taken = doors.create("b", "x", None).await;
    assert!(is_taken(&taken), "{taken:?}");
    doors.clock.set(NOW + 60_000);
    let taken = doors.create("b", "x", None).await;
    assert!(is_taken(&taken), "its last second is not over: {taken:?}");
    doors.clock.set(NOW + 60_001);
    // Nothing is swept yet.
    doors.create("b", "x", None).await.unwrap();
    let guard = doors.guard("CODE#x").await.unwrap();
    assert_eq!(guard.get("passId"), Some(&"b".into()));
    assert_eq!(guard.get("until"), None, "its owner does not expire");
    // The same identity and value again, over an item that is not swept.
    doors.create("c", "y", Some(61)).await.unwrap();
    doors.clock.set(NOW + 62_000);
    doors.create("c", "y", Some(600)).await.unwrap();
    let guard = doors.guard("CODE#y").await.unwrap();
    assert_eq!(guard.get("until"), Some(&seconds(600)));
    doors.assert_clean().await;
}

#[tokio::test]
async fn a_guard_expires_when_its_owner_does() {
    let doors = Doors::open().await;
    doors.create("a", "x", Some(60)).await.unwrap();
    assert_eq!(doors.guard("CODE#x").await.unwrap()["until"], seconds(60));
    let until = |until: Value| Map::from([("until", until)]);
    doors.update("a", until(seconds(120))).await.unwrap();
    assert_eq!(doors.guard("CODE#x").await.unwrap()["until"], seconds(120));
    doors.clock.set(NOW + 61_000);
    assert!(is_taken(&doors.create("b", "x", None).await));
    doors.update("a", until(Value::Null)).await.unwrap();
    assert_eq!(doors.guard("CODE#x").await.unwrap().get("until"), None);
    doors.clock.set(NOW + 121_000);
    assert!(is_taken(&doors.create("b", "x", None).await), "it stays");
    doors.update("a", until(seconds(200))).await.unwrap();
    // Where the guard is swept before its owner, the owner goes all the same.
    let guard = doors.guard("CODE#x").await.unwrap();
    assert_eq!(guard["until"], seconds(200));
    let request = partita_store::request::DeleteItem {
        table: "doors".parse().unwrap(),
        key: Item::from([("PK", "CODE#x".into()), ("SK", "UNIQUE".into())]),
        condition: None,
        return_item_on_failure: false,
    };
    doors
        .store
        .delete_item(request, ReturnValues::None)
        .await
        .unwrap();
    doors.update("a", until(seconds(300))).await.unwrap();
    assert_eq!(doors.guard("CODE#x").await.unwrap()["until"], seconds(300));
    doors.delete("a").await.unwrap();
    assert!(doors.guard("CODE#x").await.is_none());
    doors.assert_clean().await;
}

/// A guard that another item has taken is not given back by one that had it before.
/// One caller changes the value while another changes until when its owner is there, in an order
/// that the seed decides.
#[tokio::test]
async fn a_guard_expires_with_its_owner_whoever_changes_it() {
    for seed in 0..40 {
        let doors = Doors::open().await;
        doors.create("one", "a", None).await.unwrap();
        let shuffled = FaultyStore::new(doors.store.clone(), Faults::default(), seed);
        let clock = doors.clock.clone();
        let shuffled = Doors {
            partita: open_at(DESIGN, Arc::new(shuffled), seed + 2, clock.clone()).await,
            store: doors.store.clone(),
            clock,
        };
        let (value, time) = tokio::join!(
            shuffled.update("one", texts(&[("code", "b")])),
            shuffled.update("one", Map::from([("until", seconds(60))])),
        );
        value.unwrap();
        time.unwrap();
        let guard = doors.guard("CODE#b").await.unwrap();
        assert_eq!(guard.get("until"), Some(&seconds(60)), "seed {seed}");
        doors.assert_clean().await;
    }
}

/// Whether the answer is that the guard of the code is another's.
fn is_anothers<T>(answer: &Result<T, PlanError>) -> bool {
    matches!(answer, Err(PlanError::Drift { attribute, .. }) if attribute == "code")
}

#[tokio::test]
async fn only_its_owner_gives_a_guard_back() {
    let doors = Doors::open().await;
    doors.create("a", "x", Some(60)).await.unwrap();
    let mut guard = doors.guard("CODE#x").await.unwrap();
    guard.insert("passId", "b".into());
    let put = PutItem::new("doors".parse().unwrap(), guard);
    doors.store.put_item(put, ReturnValues::None).await.unwrap();
    assert!(is_anothers(&doors.delete("a").await));
    let code = Map::from([("code", "y".into())]);
    assert!(is_anothers(&doors.update("a", code).await));
}

/// Version 0.1.0 wrote guards that say nothing of when their owner expires.
#[tokio::test]
async fn guards_of_the_first_version_go_on() {
    let doors = Doors::open().await;
    let old = async |code: &str, owner: Option<&str>| {
        let mut guard = Item::from([
            ("PK", Value::S(format!("CODE#{code}"))),
            ("SK", "UNIQUE".into()),
        ]);
        guard.extend(owner.map(|owner| ("passId", Value::from(owner))));
        let put = PutItem::new("doors".parse().unwrap(), guard);
        doors.store.put_item(put, ReturnValues::None).await.unwrap();
    };
    for (id, code) in [("a", "v"), ("b", "w"), ("c", "x"), ("d", "y")] {
        doors.create(id, code, Some(60)).await.unwrap();
        old(code, (id != "d").then_some(id)).await;
    }
    assert!(is_taken(&doors.create("e", "v", None).await));
    doors.delete("a").await.unwrap();
    doors.delete("d").await.unwrap();
    let until = Map::from([("until", seconds(90))]);
    doors.update("b", until).await.unwrap();
    assert_eq!(doors.guard("CODE#w").await.unwrap()["until"], seconds(90));
    let mut found = Collected::default();
    let report = doors
        .partita
        .repair(Permission::granted(), &mut found)
        .await
        .unwrap();
    assert!(report.is_clean(), "{:?}", found.open);
    assert_eq!(doors.guard("CODE#x").await.unwrap()["until"], seconds(60));
    // What is left of an owner that was swept before.
    old("z", Some("gone")).await;
    assert!(is_taken(&doors.create("f", "z", None).await));
    doors
        .partita
        .repair(Permission::granted(), &mut Collected::default())
        .await
        .unwrap();
    doors.create("f", "z", None).await.unwrap();
    doors.assert_clean().await;
}

#[tokio::test]
async fn a_combination_is_taken_as_one() {
    let doors = Doors::open().await;
    let pass = |id: &str, house: &str, room: &str| Operation::Create {
        entity: "Pass".into(),
        attributes: texts(&[("passId", id), ("house", house), ("room", room)]),
    };
    doors.run(pass("a", "h", "1")).await.unwrap();
    doors.run(pass("b", "h", "2")).await.unwrap();
    let Err(PlanError::Taken { faults }) = doors.run(pass("c", "h", "1")).await else {
        panic!("two passes for one room")
    };
    let told: Vec<_> = faults
        .iter()
        .map(|one| (&*one.attribute, &*one.message))
        .collect();
    assert_eq!(told, [("house/room", "is a combination that is taken")]);
    // With another fault it is one of several.
    let mut both = texts(&[("passId", "c"), ("house", "h"), ("room", "1")]);
    both.insert("until", "soon".into());
    let entity = "Pass".into();
    let answer = doors
        .run(Operation::Create {
            entity,
            attributes: both,
        })
        .await;
    let Err(PlanError::Invalid { faults }) = answer else {
        panic!("{answer:?}")
    };
    let mut names: Vec<_> = faults.iter().map(|one| &*one.attribute).collect();
    names.sort_unstable();
    assert_eq!(names, ["house/room", "until"]);
}

/// One write in which one item gives a value up and another takes it.
#[tokio::test]
async fn a_value_changes_hands_in_one_write() {
    let doors = Doors::open().await;
    doors.create("a", "x", Some(60)).await.unwrap();
    doors.create("b", "y", None).await.unwrap();
    let swap = |id: &str, one: &str, two: &str, code: &str| Operation::Create {
        entity: "Swap".into(),
        attributes: texts(&[("swapId", id), ("one", one), ("two", two), ("code", code)]),
    };
    doors.run(swap("1", "a", "b", "x")).await.unwrap();
    let guard = doors.guard("CODE#x").await.unwrap();
    assert_eq!(guard.get("passId"), Some(&"b".into()));
    assert_eq!(guard.get("until"), None);
    assert!(doors.guard("CODE#y").await.is_none());
    let both = vec![
        swap("2", "b", "a", "x"),
        Operation::Create {
            entity: "Pass".into(),
            attributes: texts(&[("passId", "c"), ("code", "y")]),
        },
    ];
    let ann = Caller::user("ann");
    doors.partita.run_all(&ann, both).await.unwrap();
    let guard = doors.guard("CODE#x").await.unwrap();
    assert_eq!(guard.get("passId"), Some(&"a".into()));
    assert_eq!(guard.get("until"), Some(&seconds(60)));
    let taken = doors.run(swap("3", "b", "c", "x")).await;
    assert!(is_taken(&taken), "{taken:?}");
    doors.assert_clean().await;
}

/// `check` refuses a design whose items could be in the place of a guard. The planner does not
/// rely on that.
#[tokio::test]
async fn no_item_takes_the_place_of_a_guard() {
    let (design, _) = partita_design::check(DESIGN, &|_| None);
    let mut design = design.unwrap();
    let swap = design.records.iter_mut().find(|one| one.name == "Swap");
    swap.unwrap().key = KeyTemplates {
        partition: template("CODE#", "code"),
        sort: template("", "swapId"),
    };
    let store = Arc::new(ModelStore::new(Arc::new(ManualClock::at(NOW))));
    let partita = Partita::open(design, store.clone()).await.unwrap();
    crate::stage::create(&partita, "Pass", &[("passId", "a"), ("code", "x")]).await;
    let swap = |id: &str| Operation::Create {
        entity: "Swap".into(),
        attributes: texts(&[("swapId", id), ("one", "a"), ("two", "a"), ("code", "y")]),
    };
    let ann = Caller::user("ann");
    let answer = partita.run(&ann, swap("UNIQUE")).await;
    let Err(PlanError::Invalid { faults }) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(faults[0].message, "is the key of a guard of `Pass`");
}

fn template(text: &str, attribute: &str) -> Template {
    let value = Part::Value(Hole::attribute(attribute));
    let parts = vec![Part::Text(text.to_owned()), value];
    Template { parts }
}
