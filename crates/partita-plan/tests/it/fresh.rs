//! Rows as they are now: a fresh pattern shows nothing that was withdrawn, however far its index
//! is behind.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use partita_core::{Map, Value};
use partita_plan::{Answer, Caller, Operation, Partita, Patience, PlanError, Surroundings};
use partita_store::capacity::Metered;
use partita_store::request::{BatchGetItem, BatchGot};
use partita_store::surroundings::SeededEntropy;
use partita_store::{Layer, Store, StoreResult};
use partita_testkit::amazon::behaviour::Lag;
use partita_testkit::amazon::{Behaviour, Connection, Network};
use partita_testkit::simulation::host::{Host, Manners};
use partita_testkit::{Amazon, Simulation};

use crate::stage::{NOW, texts};

/// Every pattern is there twice: fresh, and as the mistake that is planted.
const DESIGN: &str = r#"
design = "gallery"

[table]
name = "gallery"
key  = ["PK", "SK"]

[index]
GSI1 = ["GSI1PK", "GSI1SK"]

[entity.Picture]
PK     = "PICTURE#{pictureId}"
SK     = "METADATA"
GSI1PK = "ALBUM#{album}"
GSI1SK = "PICTURE#{pictureId}"

[entity.Picture.attributes]
pictureId = "string"
owner     = "string, fixed"
album     = "string"
shown     = "enum yes | no default yes"
stars     = "int default 0"

[entity.Picture.allow]
"*"  = "owner = caller"
read = "shown = 'yes' OR owner = caller"

[pattern.pictures]
query = "GSI1PK = 'ALBUM#{album}' AND begins_with(GSI1SK, 'PICTURE#')"
fresh = true
limit = 3

[pattern.oldPictures]
query = "GSI1PK = 'ALBUM#{album}' AND begins_with(GSI1SK, 'PICTURE#')"
limit = 3

[pattern.starred]
query  = "GSI1PK = 'ALBUM#{album}' AND begins_with(GSI1SK, 'PICTURE#')"
filter = "stars > 0"
sort   = ["-stars"]
whole  = 100
fresh  = true

[pattern.picture]
query = "GSI1PK = 'ALBUM#{album}' AND GSI1SK = 'PICTURE#{pictureId}'"
one   = true
fresh = true

[pattern.all]
scan  = "begins_with(GSI1PK, 'ALBUM#')"
index = "GSI1"
fresh = true
"#;

/// The patterns that must show no withdrawn row.
const FRESH: [&str; 2] = ["pictures", "all"];

fn behaviour(lag: Lag) -> Behaviour {
    Behaviour {
        index_lag: lag,
        ..Behaviour::still()
    }
}

fn seconds_behind() -> Behaviour {
    behaviour(Lag {
        usual_millis: 30_000..=30_000,
        rare: 0.0,
        worst_millis: 0,
    })
}

/// A mistake, planted: items are read without consistency.
struct Replicas(Connection);

#[async_trait]
impl Layer for Replicas {
    fn inner(&self) -> &dyn Store {
        &self.0
    }

    async fn batch_get_item(
        &self,
        mut request: BatchGetItem,
    ) -> StoreResult<Metered<Vec<BatchGot>>> {
        let tables = request.addresses.iter().map(|one| one.table.clone());
        request.eventual = tables.collect();
        Store::batch_get_item(&self.0, request).await
    }
}

/// How a server reaches the service.
type Over = fn(Connection) -> Arc<dyn Store>;

/// As it should.
fn right(store: Connection) -> Arc<dyn Store> {
    Arc::new(store)
}

async fn open(simulation: &Simulation, behaviour: Behaviour, seed: u64) -> Partita {
    let amazon = Arc::new(Amazon::new(simulation, behaviour, seed));
    open_on(simulation, amazon, seed, right).await
}

async fn open_on(simulation: &Simulation, amazon: Arc<Amazon>, seed: u64, over: Over) -> Partita {
    let host = Host::new(simulation, "server", Manners::default(), seed);
    let network = Network::still();
    let store = Connection::new(simulation, amazon, host.clone(), network, seed);
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let surroundings = Surroundings {
        clock: host,
        entropy: Arc::new(SeededEntropy::new(seed)),
        patience: Patience {
            attempts: 50,
            pause_millis: 0,
        },
        ..Surroundings::default()
    };
    let opened = Partita::open_with(design, over(store), surroundings);
    opened.await.unwrap()
}

async fn create(partita: &Partita, id: &str) {
    let attributes = texts(&[("pictureId", id), ("owner", "ann"), ("album", "a")]);
    let create = Operation::Create {
        entity: "Picture".into(),
        attributes,
    };
    partita.run(&Caller::user("ann"), create).await.unwrap();
}

async fn change(partita: &Partita, id: &str, changes: Map) {
    let update = Operation::Update {
        entity: "Picture".into(),
        identity: vec![id.into()],
        changes,
        with_deleted: false,
        version: None,
    };
    partita.run(&Caller::user("ann"), update).await.unwrap();
}

async fn remove(partita: &Partita, id: &str) {
    let delete = Operation::Delete {
        entity: "Picture".into(),
        identity: vec![id.into()],
        version: None,
    };
    partita.run(&Caller::user("ann"), delete).await.unwrap();
}

fn asking(pattern: &str, cursor: Option<String>) -> Operation {
    let parameters = match pattern {
        "all" => BTreeMap::new(),
        _ => BTreeMap::from([("album".to_owned(), "a".to_owned())]),
    };
    Operation::Query {
        pattern: pattern.into(),
        parameters,
        limit: None,
        cursor,
    }
}

/// The ids that bob sees, page by page.
async fn seen(partita: &Partita, pattern: &str) -> Vec<String> {
    let mut ids = Vec::new();
    let mut cursor = None;
    loop {
        let asked = asking(pattern, cursor);
        let answer = partita.run(&Caller::user("bob"), asked).await.unwrap();
        let Answer::Page {
            records,
            cursor: next,
        } = answer
        else {
            panic!("{answer:?}");
        };
        let found = records
            .iter()
            .map(|one| one.attributes["pictureId"].clone());
        ids.extend(found.filter_map(|id| id.as_str().map(str::to_owned)));
        match next {
            None => return ids,
            next => cursor = next,
        }
    }
}

#[test]
fn what_was_withdrawn_is_not_shown() {
    let simulation = Simulation::new(1, NOW);
    simulation.run(async {
        let partita = open(&simulation, seconds_behind(), 1).await;
        for id in ["1", "2", "3", "4", "5", "6"] {
            create(&partita, id).await;
            change(&partita, id, Map::from([("stars", Value::from(3))])).await;
        }
        // What the index does not show yet is not found by anybody.
        assert_eq!(seen(&partita, "pictures").await, Vec::<String>::new());
        simulation.sleep(30_001).await;
        change(&partita, "1", texts(&[("shown", "no")])).await;
        remove(&partita, "2").await;
        change(&partita, "3", texts(&[("album", "b")])).await;
        change(&partita, "4", Map::from([("stars", Value::from(0))])).await;
        change(&partita, "5", Map::from([("stars", Value::from(1))])).await;
        assert_eq!(
            seen(&partita, "oldPictures").await,
            ["1", "2", "3", "4", "5", "6"]
        );
        assert_eq!(seen(&partita, "pictures").await, ["4", "5", "6"]);
        // The order and the filter are those of the items, too.
        assert_eq!(seen(&partita, "starred").await, ["6", "5"]);
        let mut all = seen(&partita, "all").await;
        all.sort();
        assert_eq!(all, ["3", "4", "5", "6"]);
        for (id, is_found) in [("1", false), ("2", false), ("3", false), ("6", true)] {
            let Operation::Query { mut parameters, .. } = asking("picture", None) else {
                unreachable!("a query");
            };
            parameters.insert("pictureId".into(), id.into());
            let asked = Operation::Query {
                pattern: "picture".into(),
                parameters,
                limit: None,
                cursor: None,
            };
            let answer = partita.run(&Caller::user("bob"), asked).await;
            match answer {
                Ok(Answer::Record(_)) => assert!(is_found, "{id}"),
                Err(PlanError::NotFound { .. }) => assert!(!is_found, "{id}"),
                other => panic!("{other:?}"),
            }
        }
        simulation.sleep(30_001).await;
        assert_eq!(seen(&partita, "oldPictures").await, ["4", "5", "6"]);
    });
}

#[test]
fn what_a_fresh_pattern_takes_is_measured() {
    let simulation = Simulation::new(1, NOW);
    simulation.run(async {
        let partita = open(&simulation, seconds_behind(), 1).await;
        for id in ["1", "2", "3", "4"] {
            create(&partita, id).await;
        }
        simulation.sleep(30_001).await;
        let bob = Caller::user("bob");
        let old = partita
            .preview_read(&bob, asking("oldPictures", None))
            .await
            .unwrap();
        let fresh = partita
            .preview_read(&bob, asking("pictures", None))
            .await
            .unwrap();
        assert_eq!((old.shown, fresh.shown), (3, 3));
        assert_eq!(
            old.to_string().lines().next(),
            Some("3 records, 0.5 read units")
        );
        // A consistent read of each of the four rows beside that of the index.
        assert_eq!(
            fresh.to_string().lines().next(),
            Some("3 records, 4.5 read units")
        );
        let operations: Vec<_> = fresh.requests.iter().map(|one| one.operation).collect();
        assert_eq!(operations, ["Query", "BatchGetItem"]);
    });
}

/// Pictures that are shown and withdrawn while indexes are behind, and what bob saw of them
/// through a pattern that he must not have.
fn wrongly_seen(pattern: &str, seed: u64, over: Over) -> usize {
    let simulation = Simulation::new(seed, NOW);
    simulation.run(async {
        let mut random = fastrand::Rng::with_seed(seed);
        let lag = Lag {
            usual_millis: 1..=400,
            rare: 0.2,
            worst_millis: 60_000,
        };
        let behaviour = Behaviour {
            replica_lag: lag.clone(),
            ..behaviour(lag)
        };
        let amazon = Arc::new(Amazon::new(&simulation, behaviour, seed));
        let partita = open_on(&simulation, amazon.clone(), seed, right).await;
        let reader = open_on(&simulation, amazon, seed + 1_000, over).await;
        let mut shown = BTreeMap::new();
        let mut wrong = 0;
        for step in 0..60 {
            let id = random.u8(0..8).to_string();
            match (shown.get(&id).copied(), random.u8(0..6)) {
                (None, _) => {
                    create(&partita, &id).await;
                    shown.insert(id, true);
                }
                (Some(_), 0) => {
                    remove(&partita, &id).await;
                    shown.remove(&id);
                }
                (Some(is_shown), _) => {
                    let word = if is_shown { "no" } else { "yes" };
                    change(&partita, &id, texts(&[("shown", word)])).await;
                    shown.insert(id, !is_shown);
                }
            }
            simulation.sleep(random.i64(0..2_000)).await;
            let found = seen(&reader, pattern).await;
            let is_wrong = |id: &&String| shown.get(*id) != Some(&true);
            wrong += found.iter().filter(is_wrong).count();
            let mut once = found.clone();
            once.sort();
            once.dedup();
            assert_eq!(
                once.len(),
                found.len(),
                "seed {seed}, step {step}: {found:?}"
            );
        }
        wrong
    })
}

#[test]
fn whatever_the_lag_a_fresh_pattern_shows_nothing_withdrawn() {
    for pattern in FRESH {
        for seed in 0..12 {
            assert_eq!(
                wrongly_seen(pattern, seed, right),
                0,
                "{pattern}, seed {seed}"
            );
        }
    }
    // A pattern that is not fresh is found out.
    let sum = |pattern, over| (0..12).map(|seed| wrongly_seen(pattern, seed, over)).sum();
    let wrong: usize = sum("oldPictures", right);
    assert!(wrong > 20, "{wrong}");
    // And so is one that reads the items, but not consistently.
    let wrong: usize = sum("pictures", |store| Arc::new(Replicas(store)));
    assert!(wrong > 5, "{wrong}");
}
