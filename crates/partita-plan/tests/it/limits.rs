//! Limits of a design that has no record for them: the sidecar table counts.

use std::sync::Arc;

use partita_core::{Item, Map, Value};
use partita_plan::{Caller, Operation, Partita, Patience, PlanError, Surroundings};
use partita_store::request::Scan;
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_store::{ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};

const DESIGN: &str = r#"
design = "wall"

[table]
name = "wall"
key  = ["PK", "SK"]

[entity.Note]
PK = "NOTE#{noteId}"
SK = "NOTE"

[entity.Note.attributes]
noteId = "ulid, generated"
text   = "string 1..20"
claps  = "counter"

[entity.Note.allow]
"*"     = "public"
clap    = "public"

[action.clap]
entity = "Note"
add    = { claps = 1 }

[limit.write]
of    = "create Note"
allow = "3 per hour"

[limit.clap]
of    = "clap"
allow = "2 per minute"

[pattern.note]
get = "PK = 'NOTE#{noteId}' AND SK = 'NOTE'"
"#;

const START: i64 = 1_767_225_600_000;

async fn open(store: &Arc<dyn Store>, clock: &Arc<ManualClock>, seed: u64) -> Partita {
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let surroundings = Surroundings {
        clock: clock.clone(),
        entropy: Arc::new(SeededEntropy::new(seed)),
        cursor_key: [7; 32],
        patience: Patience {
            attempts: 30,
            pause_millis: 0,
        },
    };
    Partita::open_with(design, store.clone(), surroundings)
        .await
        .unwrap()
}

fn note(text: &str) -> Operation {
    Operation::Create {
        entity: "Note".into(),
        attributes: Map::from([("text", text.into())]),
    }
}

async fn items(store: &dyn Store, table: &str) -> Vec<Item> {
    let page = store.scan(Scan::new(table.parse().unwrap())).await.unwrap();
    page.answer.into_parts().unwrap().items
}

fn reached(answer: Result<(), PlanError>) -> Option<(String, u64, u64, u64)> {
    match answer {
        Err(PlanError::LimitReached {
            limit,
            count,
            window_seconds,
            wait_seconds,
        }) => Some((limit, count, window_seconds, wait_seconds)),
        _ => None,
    }
}

#[tokio::test]
async fn a_caller_is_refused_until_the_window_is_over() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let clock = Arc::new(ManualClock::at(START));
    let partita = open(&store, &clock, 1).await;
    let (ann, bob) = (Caller::user("ann"), Caller::user("bob"));
    let write = async |caller: &Caller, text: &str| partita.run(caller, note(text)).await.map(drop);
    for text in ["one", "two"] {
        write(&ann, text).await.unwrap();
    }
    // What is refused for another reason does not count.
    let invalid = write(&ann, "").await;
    assert!(
        matches!(invalid, Err(PlanError::Invalid { .. })),
        "{invalid:?}"
    );
    write(&ann, "three").await.unwrap();
    clock.advance(600_500);
    let refused = reached(write(&ann, "four").await);
    assert_eq!(refused, Some(("write".to_owned(), 3, 3_600, 3_000)));
    assert_eq!(items(&*store, "wall").await.len(), 3);
    write(&bob, "his").await.unwrap();
    // Nobody knows who has no name, so nobody counts him.
    write(&Caller::anonymous(), "whose").await.unwrap();

    let windows = items(&*store, "wall-partita").await;
    let of_ann: Vec<_> = windows
        .iter()
        .filter(|item| item["PK"] == Value::from("LIMIT#ann"))
        .collect();
    let expected = Item::from([
        ("PK".to_owned(), Value::from("LIMIT#ann")),
        ("SK".to_owned(), Value::from("write")),
        ("count".to_owned(), Value::from(3)),
        ("start".to_owned(), Value::from(START)),
        ("expires".to_owned(), Value::from(START / 1000 + 3_600)),
    ]);
    assert_eq!(of_ann, [&expected], "it is swept by its time to live");

    clock.set(START + 3_599_999);
    assert!(reached(write(&ann, "early").await).is_some());
    clock.set(START + 3_600_000);
    for text in ["four", "five", "six"] {
        write(&ann, text).await.unwrap();
    }
    assert!(reached(write(&ann, "seven").await).is_some());
}

#[tokio::test]
async fn what_only_counts_is_counted_exactly_where_it_is_limited() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let clock = Arc::new(ManualClock::at(START));
    let partita = open(&store, &clock, 1).await;
    let ann = Caller::user("ann");
    partita.run(&ann, note("one")).await.unwrap();
    let id = items(&*store, "wall").await[0]["noteId"].clone();
    let clap = || Operation::Act {
        action: "clap".into(),
        entity: Some("Note".into()),
        identity: vec![id.as_str().unwrap().into()],
        given: Map::new(),
        version: None,
    };
    for _ in 0..2 {
        partita.run(&ann, clap()).await.unwrap();
    }
    let refused = reached(partita.run(&ann, clap()).await.map(drop));
    assert_eq!(refused, Some(("clap".to_owned(), 2, 60, 60)));
    assert_eq!(items(&*store, "wall").await[0]["claps"], Value::from(2));
}

#[test]
fn nobody_slips_through_in_a_crowd() {
    for seed in 0..6 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let store: Arc<dyn Store> = Arc::new(ModelStore::default());
            let clock = Arc::new(ManualClock::at(START));
            let faults = Faults {
                conflict: 0.1,
                throttle: 0.0,
                unknown_outcome: 0.1,
            };
            let faulty: Arc<dyn Store> = Arc::new(FaultyStore::new(store.clone(), faults, seed));
            let one = open(&faulty, &clock, seed * 10 + 1).await;
            let two = open(&faulty, &clock, seed * 10 + 2).await;
            let ann = Caller::user("ann");
            let write = |partita| {
                let partita: &Partita = partita;
                partita.run(&ann, note("x"))
            };
            for _ in 0..4 {
                let answers = tokio::join!(write(&one), write(&two), write(&one), write(&two));
                let (a, b, c, d) = answers;
                for answer in [a, b, c, d] {
                    let is_expected = answer.is_ok() || reached(answer.map(drop)).is_some();
                    assert!(is_expected, "with seed {seed}");
                }
            }
            let notes = items(&*store, "wall").await.len();
            assert_eq!(notes, 3, "with seed {seed}");
        });
    }
}
