//! Concurrent clients under injected conflicts, throttling and unknown outcomes.
//!
//! Whatever the clients see, the table is right afterwards: every story has exactly one index
//! record, in the right partition, and it says what the story says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use partita_core::{Item, Map, Value};
use partita_plan::{Caller, Operation, Partita, Patience, PlanError, Surroundings};
use partita_store::request::Scan;
use partita_store::surroundings::SeededEntropy;
use partita_store::table::TableName;
use partita_store::{Clock, ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};

use crate::stage;

const FAULTS: Faults = Faults {
    conflict: 0.10,
    throttle: 0.02,
    unknown_outcome: 0.02,
};
const CLIENTS: u64 = 6;
const STORIES: [&str; 3] = [
    "01JGFJJZ0000000000000000AA",
    "01JGFJJZ0000000000000000BB",
    "01JGFJJZ0000000000000000CC",
];

/// Every look at it is a millisecond later, so that no two writes have the same time.
struct TickingClock(AtomicI64);

impl Clock for TickingClock {
    fn now_millis(&self) -> i64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

#[test]
fn on_the_model_from_many_seeds() {
    let mut injected = 0;
    for seed in 0..60 {
        // One thread: the seed decides the interleaving, so a failure replays.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let store = Arc::new(ModelStore::default());
        injected += runtime.block_on(history(store, "stories", seed, 25));
    }
    assert!(injected > 1000, "only {injected} faults were injected");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let store = stage::engine(folder.path());
    let injected = history(Arc::new(store), "stories", 1, 100).await;
    assert!(injected > 30, "only {injected} faults were injected");
}

/// A client that is alone meets only itself: a refusal because a story exists, is missing or is not
/// deleted would be about its own write, whose answer was lost.
#[test]
fn one_client_alone_never_meets_its_own_writes() {
    let lossy = Faults {
        conflict: 0.2,
        throttle: 0.1,
        unknown_outcome: 0.4,
    };
    for seed in 0..40 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let store = Arc::new(FaultyStore::new(
                Arc::new(ModelStore::default()),
                lossy,
                seed,
            ));
            let partita = open(store.clone(), "stories", seed, 100).await;
            let ann = Caller::user("ann");
            for (step, operation) in life_of_a_story().into_iter().enumerate() {
                let answer = partita.run(&ann, operation).await;
                assert!(answer.is_ok(), "seed {seed}, step {step}: {answer:?}");
            }
            assert!(store.injected() > 0);
        });
    }
}

fn life_of_a_story() -> Vec<Operation> {
    let entity = || "Story".to_owned();
    let identity = || vec!["ann".to_owned(), STORIES[0].to_owned()];
    let text = |name: &str, text: &str| (name.to_owned(), Value::from(text));
    vec![
        Operation::Create {
            entity: entity(),
            attributes: Map::from([
                text("userId", "ann"),
                text("id", STORIES[0]),
                text("title", "Dune"),
            ]),
        },
        Operation::Delete {
            entity: entity(),
            identity: identity(),
            version: None,
        },
        Operation::Restore {
            entity: entity(),
            identity: identity(),
            version: None,
        },
        Operation::Update {
            entity: entity(),
            identity: identity(),
            changes: Map::from([text("title", "Messiah")]),
            with_deleted: false,
            version: None,
        },
        Operation::Delete {
            entity: entity(),
            identity: identity(),
            version: None,
        },
    ]
}

async fn open(store: Arc<dyn Store>, table: &str, seed: u64, attempts: u32) -> Arc<Partita> {
    let surroundings = Surroundings {
        clock: Arc::new(TickingClock(AtomicI64::new(1_767_225_600_000))),
        entropy: Arc::new(SeededEntropy::new(seed)),
        cursor_key: [7; 32],
        patience: Patience {
            attempts,
            pause_millis: 0,
        },
    };
    let design = stage::design("stories", table);
    Arc::new(
        Partita::open_with(design, store, surroundings)
            .await
            .unwrap(),
    )
}

/// Lets the clients loose and looks at what they left; gives the number of injected faults.
async fn history(store: Arc<dyn Store>, table: &str, seed: u64, operations: u64) -> u64 {
    let faulty = Arc::new(FaultyStore::new(store.clone(), FAULTS, seed));
    let partita = open(faulty.clone(), table, seed, 12).await;
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            tokio::spawn(client_work(
                partita.clone(),
                seed * 100 + client,
                operations,
            ))
        })
        .collect();
    let mut outcomes = BTreeMap::new();
    for client in clients {
        for (outcome, count) in client.await.unwrap() {
            *outcomes.entry(outcome).or_insert(0) += count;
        }
    }
    assert!(outcomes["done"] > operations, "seed {seed}: {outcomes:?}");
    let items = all_items(&*store, &table.parse().unwrap()).await;
    if let Err(fault) = consistent(&items) {
        panic!("seed {seed}: {fault}\n{items:#?}");
    }
    faulty.injected()
}

/// One client's random operations, and how they ended.
async fn client_work(
    partita: Arc<Partita>,
    seed: u64,
    operations: u64,
) -> BTreeMap<&'static str, u64> {
    let mut random = fastrand::Rng::with_seed(seed);
    let ann = Caller::user("ann");
    let mut outcomes = BTreeMap::new();
    for count in 0..operations {
        let operation = operation(&mut random, seed, count);
        let outcome = match partita.run(&ann, operation).await {
            Ok(_) => "done",
            Err(PlanError::Exists { .. }) => "exists",
            Err(PlanError::NotFound { .. } | PlanError::NotDeleted { .. }) => "not there",
            Err(PlanError::Invalid { .. }) => "no story",
            Err(PlanError::Conflict | PlanError::Hot(_) | PlanError::OutcomeUnknown) => "gave up",
            Err(other) => panic!("{other}"),
        };
        *outcomes.entry(outcome).or_insert(0) += 1;
    }
    outcomes
}

fn operation(random: &mut fastrand::Rng, seed: u64, count: u64) -> Operation {
    let entity = "Story".to_owned();
    let story = STORIES[random.usize(0..STORIES.len())];
    let identity = vec!["ann".to_owned(), story.to_owned()];
    let text = |name: &str, text: &str| (name.to_owned(), Value::from(text));
    let title = format!("{seed}-{count}");
    match random.u8(0..10) {
        0 | 1 => Operation::Create {
            entity,
            attributes: Map::from([
                text("userId", "ann"),
                text("id", story),
                text("title", &title),
            ]),
        },
        2..=4 => Operation::Update {
            entity,
            identity,
            changes: Map::from([text("title", &title)]),
            with_deleted: random.bool(),
            version: None,
        },
        5 | 6 => Operation::Delete {
            entity,
            identity,
            version: None,
        },
        7 | 8 => Operation::Restore {
            entity,
            identity,
            version: None,
        },
        _ => Operation::Create {
            entity: "Node".to_owned(),
            attributes: Map::from([text("userId", "ann"), text("storyId", story)]),
        },
    }
}

async fn all_items(store: &dyn Store, table: &TableName) -> Vec<Item> {
    let page = store.scan(Scan::new(table.clone())).await.unwrap();
    let page = page.answer.into_parts().unwrap();
    assert_eq!(page.last_key, None, "the table is small");
    page.items
}

/// Checks the invariants of the design from the items alone, without the planner.
fn consistent(items: &[Item]) -> Result<(), String> {
    let text = |item: &Item, name: &str| item[name].as_str().unwrap().to_owned();
    let of_type = |wanted: &'static str| {
        items
            .iter()
            .filter(move |item| item["ItemType"] == Value::from(wanted))
    };
    let mut stories = BTreeSet::new();
    for story in of_type("Story") {
        let id = text(story, "id");
        let partition = match story["deleted"] {
            Value::Bool(true) => "DELETED#USER#ann",
            _ => "USER#ann",
        };
        let expected_key = (partition.to_owned(), format!("STORY#{id}"));
        let records: Vec<_> = of_type("StoryIndex")
            .filter(|item| item["id"] == story["id"])
            .collect();
        let [record] = records[..] else {
            return Err(format!("story {id} has {} index records", records.len()));
        };
        if (text(record, "PK"), text(record, "SK")) != expected_key {
            return Err(format!("the index record of {id} is in the wrong place"));
        }
        for name in ["title", "CreatedAt", "UpdatedAt", "deleted"] {
            if record[name] != story[name] {
                return Err(format!("the index record of {id} disagrees about {name}"));
            }
        }
        stories.insert(id);
    }
    for record in of_type("StoryIndex").chain(of_type("Node")) {
        let owner = record.get("storyId").unwrap_or(&record["id"]);
        if !stories.contains(owner.as_str().unwrap()) {
            return Err(format!("{record:?} has no story"));
        }
    }
    Ok(())
}
