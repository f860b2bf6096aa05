//! Concurrent readers of one story under injected conflicts, throttling and unknown outcomes.
//!
//! Whatever they see, everything that is derived is right afterwards, and also meanwhile: it is
//! verified from the items alone.

use std::sync::Arc;

use partita_core::{Item, Map, Number, Value};
use partita_plan::{Answer, Caller, Operation, Partita, Patience, PlanError, Surroundings};
use partita_store::request::Scan;
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_store::{ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};
use partita_verify::{Collected, Outcome};

use crate::stage;

const FAULTS: Faults = Faults {
    conflict: 0.10,
    throttle: 0.02,
    unknown_outcome: 0.02,
};
const USERS: [&str; 4] = ["ann", "bob", "cid", "dot"];
const STORY: &str = "01JGFJJZ00000000000000DVNE";
const CHAPTERS: [&str; 3] = [
    "01JGFJJZ0000000000000000AA",
    "01JGFJJZ0000000000000000BB",
    "01JGFJJZ0000000000000000CC",
];

#[test]
fn are_right_on_the_model_from_many_seeds() {
    for seed in 0..12 {
        // One thread: the seed decides the interleaving, so a failure replays.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(history(Arc::new(ModelStore::default()), seed, 25));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn are_right_on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let store = stage::engine(folder.path());
    history(Arc::new(store), 1, 60).await;
}

async fn open(store: Arc<dyn Store>, seed: u64, attempts: u32) -> Arc<Partita> {
    let surroundings = Surroundings {
        clock: Arc::new(ManualClock::at(1_767_225_600_000)),
        entropy: Arc::new(SeededEntropy::new(seed)),
        cursor_key: [7; 32],
        patience: Patience {
            attempts,
            pause_millis: 0,
        },
    };
    let design = stage::design("storyhub", "numbers");
    Arc::new(
        Partita::open_with(design, store, surroundings)
            .await
            .unwrap(),
    )
}

async fn history(store: Arc<dyn Store>, seed: u64, operations: u64) {
    let calm = open(store.clone(), seed + 1000, 3).await;
    prepare(&calm).await;
    let faulty = Arc::new(FaultyStore::new(store.clone(), FAULTS, seed));
    let partita = open(faulty.clone(), seed, 30).await;
    let clients = USERS.iter().enumerate().map(|(number, user)| {
        let seed = seed * 100 + number as u64;
        tokio::spawn(client(partita.clone(), user, seed, operations))
    });
    let clients: Vec<_> = clients.collect();
    let mut done = 0;
    for client in clients {
        // Whatever is half done at this moment looks wrong at first, and is not.
        let mut found = Collected::default();
        calm.verify(&mut found).await.unwrap();
        let is_wrong = |outcome: &Outcome| *outcome == Outcome::Found;
        let wrong = found.open.iter().find(|(_, outcome)| is_wrong(outcome));
        assert!(wrong.is_none(), "seed {seed}: {wrong:?}");
        done += client.await.unwrap();
    }
    assert!(
        done > operations,
        "seed {seed}: only {done} were carried out"
    );
    assert!(faulty.injected() > 5, "seed {seed}: hardly any faults");
    let table = calm.design().tables[0].name.parse().unwrap();
    let page = store.scan(Scan::new(table)).await.unwrap().answer;
    let page = page.into_parts().unwrap();
    if let Err(fault) = in_order(&page.items) {
        panic!("seed {seed}: {fault}");
    }
    let mut found = Collected::default();
    let report = calm.verify(&mut found).await.unwrap();
    assert!(report.is_clean(), "seed {seed}: {:#?}", found.open);
    assert!(report.items > 10, "seed {seed}: hardly any items");
}

fn text(name: &str, text: &str) -> (String, Value) {
    (name.to_owned(), Value::from(text))
}

fn create(entity: &str, attributes: &[(&str, &str)]) -> Operation {
    Operation::Create {
        entity: entity.to_owned(),
        attributes: attributes
            .iter()
            .map(|(name, value)| text(name, value))
            .collect(),
    }
}

fn update(entity: &str, identity: &str, change: (String, Value)) -> Operation {
    Operation::Update {
        entity: entity.to_owned(),
        identity: vec![identity.to_owned()],
        changes: Map::from([change]),
        with_deleted: false,
        version: None,
    }
}

async fn prepare(partita: &Partita) {
    for user in USERS {
        let profile = [
            ("userId", user),
            ("email", "a@b.org"),
            ("displayName", user),
        ];
        let created = partita
            .run(&Caller::user(user), create("User", &profile))
            .await;
        created.unwrap();
    }
    let ann = Caller::user("ann");
    let story = [
        ("storyId", STORY),
        ("title", "Dune"),
        ("synopsis", "Sand."),
        ("authorId", "ann"),
        ("genre", "sf"),
        ("ageRating", "12"),
    ];
    partita.run(&ann, create("Story", &story)).await.unwrap();
    let published = update("Story", STORY, text("status", "PUBLISHED"));
    partita.run(&ann, published).await.unwrap();
    for (chapter, user) in CHAPTERS.iter().zip(USERS) {
        let node = [
            ("storyId", STORY),
            ("nodeId", chapter),
            ("authorId", user),
            ("title", "One"),
            ("content", "…"),
        ];
        let created = partita
            .run(&Caller::user(user), create("ChapterNode", &node))
            .await;
        created.unwrap();
    }
}

/// One reader's random operations; gives how many were carried out.
async fn client(partita: Arc<Partita>, user: &'static str, seed: u64, operations: u64) -> u64 {
    let mut random = fastrand::Rng::with_seed(seed);
    let caller = Caller::user(user);
    let mut done = 0;
    for count in 0..operations {
        let chapter = CHAPTERS[random.usize(0..CHAPTERS.len())];
        let vote = |kind| {
            let vote = [
                ("userId", user),
                ("nodeId", chapter),
                ("storyId", STORY),
                ("voteType", kind),
            ];
            create("Vote", &vote)
        };
        let operation = match random.u8(0..10) {
            0..=2 => vote("UPVOTE"),
            3 | 4 => vote("DOWNVOTE"),
            5 | 6 => Operation::Delete {
                entity: "Vote".to_owned(),
                identity: vec![user.to_owned(), chapter.to_owned()],
                version: None,
            },
            7 => update(
                "User",
                user,
                text("displayName", &format!("{user} {count}")),
            ),
            _ => {
                let branch = [
                    ("storyId", STORY),
                    ("parentNodeId", chapter),
                    ("authorId", user),
                    ("title", "Two"),
                    ("content", "…"),
                ];
                create("ChapterNode", &branch)
            }
        };
        match partita.run(&caller, operation).await {
            Ok(Answer::Record(_) | Answer::Created(_) | Answer::Done) => done += 1,
            Ok(Answer::Page { .. }) => unreachable!("nothing was listed"),
            Err(
                PlanError::NotFound { .. }
                | PlanError::Conflict
                | PlanError::Hot(_)
                | PlanError::OutcomeUnknown,
            ) => {}
            // A name whose copies do not fit into one transaction any more.
            Err(PlanError::TooMuch { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    done
}

/// The branches of every chapter have the positions 0, 1, 2 and so on: each was taken from the
/// count before, and no two from the same.
fn in_order(items: &[Item]) -> Result<(), String> {
    let sort = |item: &&Item| item["SK"].as_str().unwrap().starts_with("CHAPTER#");
    let chapters: Vec<&Item> = items.iter().filter(sort).collect();
    for chapter in &chapters {
        let children = chapters
            .iter()
            .filter(|other| other.get("parentNodeId") == Some(&chapter["nodeId"]));
        let mut orders: Vec<&Number> = children
            .filter_map(|child| child["order"].as_number())
            .collect();
        orders.sort();
        let expected: Vec<Number> = (0..orders.len() as u64).map(Number::from).collect();
        if orders != expected.iter().collect::<Vec<_>>() {
            let id = &chapter["nodeId"];
            return Err(format!(
                "the branches of {id:?} are in the order {orders:?}"
            ));
        }
    }
    Ok(())
}
