//! Repairs of values that are derived from each other: sources first, so that at no moment a right
//! value is overwritten by what a wrong one says.
//!
//! Tables of drawn designs are filled by histories, until everything is right. Then some derived
//! values are written over, and a store in between holds every write of the repair against what was
//! right. `PARTITA_SEED=n` looks at one table alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use partita_core::{Item, Name, Value, plain};
use partita_design::Design;
use partita_design::design::{Record, Source, Timing};
use partita_plan::{Caller, Operation, Partita};
use partita_store::capacity::Metered;
use partita_store::request::{DeleteItem, PutItem, ReturnValues, Scan, TransactWriteItems};
use partita_store::surroundings::ManualClock;
use partita_store::table::TableName;
use partita_store::{Layer, ModelStore, Store, StoreResult};
use partita_verify::permission::Mistake;
use partita_verify::{Collected, Extent, Outcome, Permission, Report};
use serde_json::json;

use crate::histories::{drawn, history, world::World};
use crate::stage;

type Items = BTreeMap<(String, String), Item>;

/// A store that compares the table with what is right, after every write.
struct Observer {
    inner: Arc<dyn Store>,
    table: TableName,
    right: Items,
    last: Mutex<Items>,
    faults: Mutex<Vec<String>>,
}

impl Observer {
    async fn over(inner: Arc<dyn Store>, table: TableName, right: Items) -> Observer {
        let last = items(&*inner, &table).await;
        Observer {
            inner,
            table,
            right,
            last: Mutex::new(last),
            faults: Mutex::default(),
        }
    }

    async fn observe(&self) {
        let now = items(&*self.inner, &self.table).await;
        let last = std::mem::replace(&mut *self.last.lock().unwrap(), now.clone());
        for (key, right) in &self.right {
            let (was, is) = (last.get(key), now.get(key));
            for (name, right) in values(Some(right), was, is) {
                let value = |item: Option<&Item>| item.and_then(|item| item.get(&name).cloned());
                if value(was) == right && value(is) != right {
                    let fault = format!("{key:?} {name} was {right:?} and is {:?}", value(is));
                    self.faults.lock().unwrap().push(fault);
                }
            }
        }
    }
}

/// The attributes of some states of an item, with their values in the first of them.
fn values(
    first: Option<&Item>,
    second: Option<&Item>,
    third: Option<&Item>,
) -> BTreeMap<Name, Option<Value>> {
    let all = [first, second, third].into_iter().flatten();
    let names = all.flat_map(Item::keys);
    let value = |name: &Name| first.and_then(|item| item.get(name).cloned());
    names.map(|name| (name.clone(), value(name))).collect()
}

#[async_trait]
impl Layer for Observer {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        let answer = self.inner.transact_write_items(request).await?;
        self.observe().await;
        Ok(answer)
    }
}

async fn items(store: &dyn Store, table: &TableName) -> Items {
    let mut request = Scan::new(table.clone());
    let mut items = Items::new();
    loop {
        let page = store.scan(request.clone()).await.unwrap();
        let page = page.answer.into_parts().unwrap();
        let text = |item: &Item, name: &str| item[name].as_str().unwrap().to_owned();
        let key = |item: &Item| (text(item, "PK"), text(item, "SK"));
        items.extend(page.items.into_iter().map(|item| (key(&item), item)));
        match page.last_key {
            None => return items,
            last_key => request.start_after = last_key,
        }
    }
}

/// Whether an attribute of a stored item follows from something else.
fn is_derived(design: &Design, record: &Record, name: &str) -> bool {
    if design[record.table].made_keys().any(|key| key == name) {
        return true;
    }
    let Some(attribute) = record.stored(name) else {
        return false;
    };
    if attribute.key_only || record.identity.iter().any(|part| part.attribute == name) {
        return false;
    }
    match &attribute.source {
        _ if record.view.is_some() => attribute.kept,
        Source::Aggregate(_) | Source::Copy(_) => true,
        Source::Computed(computed) => computed.timing == Timing::Always,
        _ => false,
    }
}

/// Writes over some derived values.
async fn spoil(store: &dyn Store, table: &TableName, design: &Design, random: &mut fastrand::Rng) {
    let world = World::new(design.clone());
    let mut derived = Vec::new();
    for (key, item) in items(store, table).await {
        let Some((record, _)) = world.recognise(&item) else {
            continue;
        };
        let names = item.keys().filter(|name| is_derived(design, record, name));
        let names = names.cloned().map(Some);
        // A whole record of a view.
        let all = names.chain(record.view.is_some().then_some(None));
        derived.extend(all.map(|name| (key.clone(), name)));
    }
    random.shuffle(&mut derived);
    for (key, name) in derived.into_iter().take(random.usize(1..8)) {
        let Some(item) = items(store, table).await.remove(&key) else {
            continue;
        };
        let Some(name) = name else {
            remove(store, table, &item).await;
            continue;
        };
        let before = found(store, design).await;
        let mut wrong = item.clone();
        match wrong[&name] {
            // A number that is missing reads as 0, and may be right.
            Value::N(_) => wrong.insert(name, Value::from(random.i64(0..9))),
            _ if random.bool() => wrong.insert(name, Value::from("Red")),
            _ => wrong.remove(&name),
        };
        put(store, table, wrong).await;
        // A copy of an item that is gone keeps its last value, which nothing else has.
        if before == found(store, design).await {
            put(store, table, item).await;
        }
    }
}

/// How much a repair would mend, now and later.
async fn found(store: &dyn Store, design: &Design) -> (usize, u64) {
    let (clock, mut all) = (ManualClock::default(), Collected::default());
    let denied = Permission::denied();
    let report = partita_verify::repair(design, store, &clock, denied, &mut all);
    let report = report.await.unwrap();
    let mendable = all.open.iter().filter(|(_, one)| *one == Outcome::Mendable);
    (mendable.count(), report.following)
}

async fn remove(store: &dyn Store, table: &TableName, item: &Item) {
    let delete = DeleteItem {
        table: table.clone(),
        key: item.part(|name| name == "PK" || name == "SK"),
        condition: None,
        return_item_on_failure: false,
    };
    let removed = store.delete_item(delete, ReturnValues::None).await;
    removed.unwrap();
}

async fn put(store: &dyn Store, table: &TableName, item: Item) {
    let put = PutItem::new(table.clone(), item);
    store.put_item(put, ReturnValues::None).await.unwrap();
}

async fn repair(design: &Design, store: &dyn Store, mistake: Option<Mistake>) -> Report {
    let permission = match mistake {
        Some(mistake) => Permission::granted().with_mistake(mistake),
        None => Permission::granted(),
    };
    let (clock, mut found) = (ManualClock::default(), Collected::default());
    let report = partita_verify::repair(design, store, &clock, permission, &mut found);
    report.await.unwrap()
}

/// Everything that a repair of a drawn table did and should not have done.
fn faults(store: &Arc<dyn Store>, seed: u64, mistake: Option<Mistake>) -> Vec<String> {
    let text: Arc<str> = drawn::design(seed).into();
    let plan = history::Plan {
        design: "drawn",
        text: Some(text.clone()),
        seed,
        operations: 60,
        has_crowds: false,
        has_crashes: false,
        spoil: None,
        focus: &[],
        script: None,
    };
    let name = format!("order-{seed}");
    history::run_on(&plan, &name, store.clone());
    let design = stage::compiled("drawn", &text, &name);
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().unwrap();
    let mut faults = runtime.block_on(faults_of(&design, store, seed, mistake));
    if !faults.is_empty() {
        faults.push(text.to_string());
    }
    faults
}

async fn faults_of(
    design: &Design,
    store: &Arc<dyn Store>,
    seed: u64,
    mistake: Option<Mistake>,
) -> Vec<String> {
    let table: TableName = design.tables[0].name.parse().unwrap();
    assert_eq!(found(&**store, design).await, (0, 0), "seed {seed}");
    let right = items(&**store, &table).await;
    let mut random = fastrand::Rng::with_seed(seed);
    spoil(&**store, &table, design, &mut random).await;
    let observer = Observer::over(store.clone(), table.clone(), right.clone()).await;
    let report = repair(design, &observer, mistake).await;
    let mut faults = std::mem::take(&mut *observer.faults.lock().unwrap());
    if !report.is_clean() {
        faults.push(format!("it is not clean: {report:?}"));
    }
    let left = items(&**store, &table).await;
    let wrong = right
        .iter()
        .filter(|(key, item)| left.get(key) != Some(item));
    faults
        .extend(wrong.map(|(key, was)| format!("{key:?} is {:?} and was {was:?}", left.get(key))));
    faults
}

/// Repairs drawn tables of a store.
pub(crate) fn is_kept_on(store: &Arc<dyn Store>, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let faults = faults(store, seed, None);
        assert!(faults.is_empty(), "seed {seed}:\n{}", faults.join("\n"));
    }
}

#[test]
fn is_sources_first() {
    let seed = std::env::var("PARTITA_SEED").ok();
    let seed: Option<u64> = seed.map(|seed| seed.parse().unwrap());
    let is_long = std::env::var_os("PARTITA_LONG").is_some();
    let count = if is_long { 1_000 } else { 60 };
    let seeds = seed.map_or(0..count, |seed| seed..seed + 1);
    is_kept_on(&in_memory(), seeds);
}

#[test]
fn is_sources_first_on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(stage::engine(folder.path()));
    is_kept_on(&store, 100..106);
}

#[test]
fn is_sources_first_on_dynamodb_local() {
    let Some(local) = partita_testkit::dynamodb_local::DynamoDbLocal::start() else {
        return;
    };
    let timeouts = partita_remote::Timeouts::default();
    let endpoint = local.endpoint();
    let store = partita_remote::RemoteStore::local(&endpoint, timeouts);
    let store: Arc<dyn Store> = Arc::new(store);
    is_kept_on(&store, 100..103);
}

/// A repair that mends in any order is found out.
#[test]
fn matters() {
    let (store, mistake) = (in_memory(), Some(Mistake::MendsInAnyOrder));
    let mut seeds = 0..60;
    assert!(seeds.any(|seed| !faults(&store, seed, mistake).is_empty()));
}

fn in_memory() -> Arc<dyn Store> {
    Arc::new(ModelStore::default())
}

/// A chain of numbers and one of copies, both through four entities.
const LAB: &str = r##"
design = "lab"

[table]
name = "lab"
key  = ["PK", "SK"]

[entity.Lab]
PK = "LAB#{lab}"
SK = "LAB"
[entity.Lab.attributes]
lab     = "string"
samples = "sum of samples of Freezer"
[entity.Lab.allow]
"*" = "public"

[entity.Freezer]
PK = "LAB#{lab}"
SK = "FREEZER#{freezer}"
[entity.Freezer.attributes]
lab     = "string"
freezer = "string"
name    = "string"
samples = "sum of stored of Box"
[entity.Freezer.refs]
in = "Lab(lab)"
[entity.Freezer.allow]
"*" = "public"

[entity.Box]
PK = "FREEZER#{lab}#{freezer}"
SK = "BOX#{box}"
[entity.Box.attributes]
lab         = "string"
freezer     = "string"
box         = "string"
freezerName = "copy in.name"
stored      = "count of Sample"
[entity.Box.refs]
in = "Freezer(lab, freezer)"
[entity.Box.allow]
"*" = "public"

[entity.Sample]
PK = "BOX#{lab}#{freezer}#{box}"
SK = "SAMPLE#{sample}"
[entity.Sample.attributes]
lab         = "string"
freezer     = "string"
box         = "string"
sample      = "string"
freezerName = "copy in.freezerName"
label       = "string = lower(freezerName)"
[entity.Sample.refs]
in = "Box(lab, freezer, box)"
[entity.Sample.allow]
"*" = "public"

[view.ByName]
of   = "Sample"
PK   = "NAME#{label}"
SK   = "{lab}#{freezer}#{box}#{sample}"
keep = ["freezerName"]
"##;

/// A lab with two boxes of samples, and its store.
async fn lab() -> (Partita, Arc<dyn Store>, TableName) {
    let store = in_memory();
    let design = stage::compiled("lab", LAB, "lab");
    let partita = Partita::open(design, store.clone()).await.unwrap();
    let create = async |entity: &str, given: serde_json::Value| {
        let attributes = plain::map_from_json(given.as_object().cloned().unwrap()).unwrap();
        let entity = entity.to_owned();
        let operation = Operation::Create { entity, attributes };
        let caller = Caller::user("ann");
        partita.run(&caller, operation).await.unwrap();
    };
    create("Lab", json!({"lab": "l"})).await;
    create(
        "Freezer",
        json!({"lab": "l", "freezer": "f", "name": "Cold"}),
    )
    .await;
    for (number, count) in [("1", 12), ("2", 3)] {
        create("Box", json!({"lab": "l", "freezer": "f", "box": number})).await;
        for sample in 0..count {
            let sample = sample.to_string();
            let place = json!({"lab": "l", "freezer": "f", "box": number, "sample": sample});
            create("Sample", place).await;
        }
    }
    (partita, store, "lab".parse().unwrap())
}

/// Writes past the design.
async fn write(store: &dyn Store, table: &TableName, sort: &str, values: &[(&str, Value)]) {
    let all = items(store, table).await;
    let mut found = all.into_iter().filter(|(key, _)| key.1 == sort);
    let (_, mut item) = found.next().unwrap();
    for (name, value) in values {
        item.insert(*name, value.clone());
    }
    put(store, table, item).await;
}

/// What is wrong is told, and what is derived from it and right is not; nor is it ever written.
#[tokio::test]
async fn of_numbers_and_copies() {
    let (partita, store, table) = lab().await;
    let right = items(&*store, &table).await;
    let wrong = [
        ("stored", Value::from(999_i64)),
        ("freezerName", Value::from("wrong")),
    ];
    write(&*store, &table, "BOX#1", &wrong).await;
    let mut found = Collected::default();
    let report = partita.verify(&mut found).await.unwrap();
    let drifts: Vec<String> = found
        .open
        .iter()
        .map(|(drift, _)| drift.to_string())
        .collect();
    let box_1 = "Box FREEZER#l#f BOX#1:";
    let expected = [
        format!(
            "{box_1} freezerName is \"wrong\", should be \"Cold\" (entity.Box.attributes.freezerName)"
        ),
        format!("{box_1} stored is 999, should be 12 (entity.Box.attributes.stored)"),
    ];
    assert_eq!(drifts, expected);
    // 12 names, labels, two for each of 12 records of the view, and one sum.
    assert_eq!((report.drifts, report.is_clean()), (2, false));
    assert!(report.following > 12, "{report:?}");

    let observer = Observer::over(store.clone(), table.clone(), right.clone()).await;
    let report = repair(partita.design(), &observer, None).await;
    assert_eq!((report.mended, report.is_clean()), (2, true), "{report:?}");
    assert_eq!(*observer.faults.lock().unwrap(), Vec::<String>::new());
    assert_eq!(items(&*store, &table).await, right);
}

/// Values of one item that are wrong together are told and mended together.
#[tokio::test]
async fn of_one_item_is_no_order() {
    let (partita, store, table) = lab().await;
    let right = items(&*store, &table).await;
    let wrong = [
        ("freezerName", Value::from("wrong")),
        ("label", Value::from("other")),
    ];
    write(&*store, &table, "SAMPLE#4", &wrong).await;
    let report = partita.verify(&mut Collected::default()).await.unwrap();
    assert_eq!((report.drifts, report.following), (2, 0), "{report:?}");
    let report = repair(partita.design(), &*store, None).await;
    assert_eq!((report.mended, report.passes), (2, 3));
    assert_eq!(items(&*store, &table).await, right);
}

/// A repair of some entities writes nothing that is derived from wrong values of others.
#[tokio::test]
async fn reaches_beyond_what_is_asked_for() {
    let (partita, store, table) = lab().await;
    let wrong = [("stored", Value::from(999_i64))];
    write(&*store, &table, "BOX#1", &wrong).await;
    let before = items(&*store, &table).await;
    let extent = Extent {
        entities: vec!["Freezer".to_owned()],
        ..Extent::default()
    };
    let mut found = Collected::default();
    let all = Permission::granted();
    let report = partita
        .repair_within(&extent, all, &mut found)
        .await
        .unwrap();
    assert_eq!((report.drifts, report.following, report.mended), (0, 1, 0));
    assert!(!report.is_clean() && found.open.is_empty());
    assert_eq!(items(&*store, &table).await, before);
}

/// More drifts than are kept in mind are told by a second pass.
#[tokio::test]
async fn needs_no_memory_for_what_is_found() {
    let (partita, store, table) = lab().await;
    let text = "x".repeat(350_000);
    for number in 0..12 {
        let wrong = [("label", Value::from(text.as_str()))];
        write(&*store, &table, &format!("SAMPLE#{number}"), &wrong).await;
    }
    write(
        &*store,
        &table,
        "BOX#1",
        &[("freezerName", Value::from("wrong"))],
    )
    .await;
    let mut found = Collected::default();
    let report = partita.verify(&mut found).await.unwrap();
    assert_eq!((report.drifts, report.passes), (1, 2), "{report:?}");
    assert_eq!(found.open.len(), 1);
    let report = repair(partita.design(), &*store, None).await;
    assert!(report.is_clean(), "{report:?}");
}

/// Values that are derived from each other in a circle are mended as well as that goes, and it ends.
#[tokio::test]
async fn of_a_circle_ends() {
    let circle = LAB.replace(
        "stored      = \"count of Sample\"",
        "stored      = \"count of Sample where known > 1\"",
    );
    let circle = circle.replace(
        "label       =",
        "known       = \"copy in.stored\"\nlabel       =",
    );
    let design = stage::compiled("lab", &circle, "lab");
    let (_, store, table) = lab().await;
    for stored in [0_i64, 1, 2, 9] {
        write(&*store, &table, "BOX#1", &[("stored", Value::from(stored))]).await;
        let report = repair(&design, &*store, None).await;
        assert!(report.is_clean(), "{stored}: {report:?}");
    }
}
