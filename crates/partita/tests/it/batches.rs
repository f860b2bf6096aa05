//! The same random operations one by one and in batches, the batches under conflicts and lost
//! answers: both leave the same table.

use std::sync::Arc;

use partita_core::{Map, Value, plain};
use partita_plan::{Caller, Operation, Partita, Patience, PlanError, Surroundings};
use partita_store::request::Scan;
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_store::{ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};
use partita_verify::Collected;
use serde_json::Value as Json;

use crate::stage;

const FAULTS: Faults = Faults {
    conflict: 0.15,
    throttle: 0.02,
    unknown_outcome: 0.05,
};
const STORY: &str = "01JGFJJZ00000000000000DVNE";
const TABLE: &str = "batches";

/// The chapter or branch of that number.
fn chapter(number: usize) -> String {
    format!("01JGFJJZ000000000000000{number:03}")
}

fn map(attributes: &[(&str, &str)]) -> Map {
    let attributes = attributes.iter();
    let pairs = attributes.map(|(name, text)| ((*name).to_owned(), Value::from(*text)));
    pairs.collect()
}

fn create(entity: &str, attributes: &[(&str, &str)]) -> Operation {
    Operation::Create {
        entity: entity.to_owned(),
        attributes: map(attributes),
    }
}

fn identity(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

async fn open(store: Arc<dyn Store>, seed: u64, attempts: u32) -> Partita {
    let surroundings = Surroundings {
        clock: Arc::new(ManualClock::at(1_767_225_600_000)),
        entropy: Arc::new(SeededEntropy::new(seed)),
        cursor_key: [7; 32],
        patience: Patience {
            attempts,
            pause_millis: 0,
        },
    };
    let opened = Partita::open_with(stage::design("storyhub", TABLE), store, surroundings);
    opened.await.unwrap()
}

/// Ann's story, which is published, with a chapter of hers and one of Bob's.
async fn prepare(partita: &Partita) {
    for (number, user) in ["ann", "bob"].into_iter().enumerate() {
        let profile = [
            ("userId", user),
            ("email", "a@b.org"),
            ("displayName", user),
        ];
        let story = [
            ("storyId", STORY),
            ("title", "Dune"),
            ("synopsis", "Sand."),
            ("authorId", "ann"),
            ("genre", "sf"),
            ("ageRating", "12"),
        ];
        let chapter = chapter(number);
        let node = [
            ("storyId", STORY),
            ("nodeId", &chapter),
            ("authorId", user),
            ("title", "One"),
            ("content", "…"),
        ];
        let caller = Caller::user(user);
        partita
            .run(&caller, create("User", &profile))
            .await
            .unwrap();
        if user == "ann" {
            partita.run(&caller, create("Story", &story)).await.unwrap();
            let publish = Operation::Update {
                entity: "Story".to_owned(),
                identity: identity(&[STORY]),
                changes: map(&[("status", "PUBLISHED")]),
                with_deleted: false,
                version: None,
            };
            partita.run(&caller, publish).await.unwrap();
        }
        partita
            .run(&caller, create("ChapterNode", &node))
            .await
            .unwrap();
    }
}

/// Something that Ann may do, if the chapter is there.
fn made_up(random: &mut fastrand::Rng, count: usize) -> Operation {
    let node = chapter(random.usize(0..5));
    let kind = ["UPVOTE", "DOWNVOTE"][random.usize(0..2)];
    let act = |action: &str, entity: &str, parts: &[&str]| Operation::Act {
        action: action.to_owned(),
        entity: Some(entity.to_owned()),
        identity: identity(parts),
        given: Map::new(),
        version: None,
    };
    match random.u8(0..12) {
        0 | 1 => create(
            "Vote",
            &[
                ("userId", "ann"),
                ("nodeId", &node),
                ("storyId", STORY),
                ("voteType", kind),
            ],
        ),
        2 | 3 => Operation::Upsert {
            entity: "Vote".to_owned(),
            identity: identity(&["ann", &node]),
            attributes: map(&[("storyId", STORY), ("voteType", kind)]),
            version: None,
        },
        4 => Operation::Delete {
            entity: "Vote".to_owned(),
            identity: identity(&["ann", &node]),
            version: None,
        },
        5 => Operation::Update {
            entity: "User".to_owned(),
            identity: identity(&["ann"]),
            changes: map(&[("displayName", &format!("Ann {count}"))]),
            with_deleted: false,
            version: None,
        },
        6 => Operation::Upsert {
            entity: "Bookmark".to_owned(),
            identity: identity(&["ann", STORY]),
            attributes: map(&[("currentNodeId", &node)]),
            version: None,
        },
        7 => act("recordRead", "ChapterNode", &[STORY, &node]),
        8 => act("approve", "ChapterNode", &[STORY, &node]),
        _ => {
            let new = chapter(random.usize(2..8));
            create(
                "ChapterNode",
                &[
                    ("storyId", STORY),
                    ("nodeId", &new),
                    ("parentNodeId", &node),
                    ("authorId", "ann"),
                    ("title", "Two"),
                    ("content", "…"),
                ],
            )
        }
    }
}

/// Sends a batch under its key until the answer says what became of it.
async fn send(partita: &Partita, batch: &[Operation], key: &str) {
    let ann = Caller::user("ann");
    for _ in 0..60 {
        match partita.run_all_once(&ann, batch.to_vec(), key).await {
            Ok(answers) => return assert_eq!(answers.len(), batch.len()),
            Err(
                PlanError::Conflict
                | PlanError::Hot(_)
                | PlanError::OutcomeUnknown
                | PlanError::Store(_),
            ) => {}
            Err(other) => panic!("{key}: {other}\n{batch:#?}"),
        }
    }
    panic!("{key} does not get through");
}

/// The table, sorted; ids that were drawn are left out, which differ from one to the other.
async fn table(store: &dyn Store) -> Vec<String> {
    let page = store.scan(Scan::new(TABLE.parse().unwrap())).await.unwrap();
    let items = page.answer.into_parts().unwrap().items;
    let lines = items.iter().map(|item| {
        let text = Json::Object(plain::map_to_json(item)).to_string();
        let words = text.split_inclusive(|one: char| !one.is_ascii_alphanumeric());
        let is_drawn = |word: &str| word.len() == 27 && !word.starts_with("01JGFJJZ");
        let words = words.map(|word| if is_drawn(word) { &word[26..] } else { word });
        words.collect::<String>()
    });
    let mut lines: Vec<String> = lines.collect();
    lines.sort();
    lines
}

async fn history(seed: u64) -> u64 {
    let mut random = fastrand::Rng::with_seed(seed);
    let ann = Caller::user("ann");
    let one_by_one: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(one_by_one.clone(), seed, 3).await;
    prepare(&partita).await;
    let mut done = Vec::new();
    for count in 0..100 {
        let operation = made_up(&mut random, count);
        if partita.run(&ann, operation.clone()).await.is_ok() {
            done.push(operation);
        }
    }
    assert!(
        done.len() > 25,
        "seed {seed}: only {} were done",
        done.len()
    );

    let batched: Arc<dyn Store> = Arc::new(ModelStore::default());
    prepare(&open(batched.clone(), seed + 1000, 3).await).await;
    let faulty = Arc::new(FaultyStore::new(batched.clone(), FAULTS, seed));
    let partita = open(faulty.clone(), seed + 2000, 12).await;
    let mut rest = &done[..];
    while !rest.is_empty() {
        let (batch, more) = rest.split_at(random.usize(1..=8).min(rest.len()));
        send(&partita, batch, &format!("{seed}-{}", rest.len())).await;
        rest = more;
    }
    let (one, other) = (table(&*one_by_one).await, table(&*batched).await);
    assert_eq!(one.join("\n"), other.join("\n"), "seed {seed}");
    let mut found = Collected::default();
    open(batched, seed, 3)
        .await
        .verify(&mut found)
        .await
        .unwrap();
    assert!(found.open.is_empty(), "seed {seed}: {:#?}", found.open);
    faulty.injected()
}

#[test]
fn leave_what_the_same_operations_leave_one_by_one() {
    let mut injected = 0;
    for seed in 0..20 {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().build().unwrap();
        injected += runtime.block_on(history(seed));
    }
    assert!(injected > 50, "only {injected} faults were injected");
}
