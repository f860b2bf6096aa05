//! Several writes in one transaction.

use std::sync::Arc;

use partita_core::{Item, Map, Number, Value, plain};
use partita_plan::{
    Answer, BATCH_OPERATIONS_MAX, Caller, Operation, Partita, Patience, PlanError, Refused,
    Surroundings,
};
use partita_store::request::Scan;
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_store::{ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};
use serde_json::{Value as Json, json};

const DESIGN: &str = r#"
design = "club"

[table]
name = "club"
key  = ["PK", "SK"]

[index]
ByRank = ["rankPK", "rankSK"]

[entity.Club]
PK = "CLUB#{clubId}"
SK = "METADATA"

[entity.Club.attributes]
clubId  = "string"
name    = "string 1..40"
members = "count of Member"
points  = "sum of points of Member"
visits  = "counter"
version = "version"

[entity.Club.allow]
"*"   = "signed-in"
visit = "signed-in"

[action.visit]
entity = "Club"
add    = { visits = 1 }

[entity.Member]
PK          = "CLUB#{clubId}"
SK          = "MEMBER#{memberId}"
rankPK      = "CLUB#{clubId}"
rankSK      = "{points:06}#{memberId}"
soft-delete = "gone"

[entity.Member.attributes]
clubId   = "string"
memberId = "string"
nick     = "string"
points   = "int 0..100 default 0"
clubName = "copy club.name"
mood     = "state calm -> angry -> calm"
gone     = "bool default false"

[entity.Member.refs]
club = "Club"

[entity.Member.unique]
nick = "UNIQUE#NICK#{nick}"

[entity.Member.allow]
"*"   = "signed-in"
award = "signed-in"

[action.award]
entity  = "Member"
params  = { amount = "int" }
require = "mood = 'calm'"
add     = { points = "{amount}" }

[view.Badge]
of   = "Member"
when = "points >= 50"
PK   = "BADGES"
SK   = "{clubId}#{memberId}"
keep = ["nick", "points"]

[entity.Seat]
PK = "CLUB#{clubId}"
SK = "SEAT#{seatId}"

[entity.Seat.attributes]
clubId = "string"
seatId = "string"

[entity.Seat.refs]
club = "Club, on delete cascade"

[entity.Seat.allow]
"*" = "signed-in"

[trigger.welcome]
on     = "create Member"
create = "Letter"
with   = { date = "{memberId}", text = "Welcome to {club.name}, {nick}" }

[entity.Letter]
PK = "LETTER#{date}"
SK = "CURRENT"

[entity.Letter.attributes]
date     = "string, movable"
text     = "string"
versions = "count of LetterVersion"

[entity.Letter.allow]
"*" = "signed-in"

[view.LetterVersion]
history-of = "Letter"
when       = "changed(text)"
PK         = "LETTER#{date}"
SK         = "VERSION#{timestamp}"
keep       = ["date", "text"]

[view.LetterVersion.attributes]
timestamp = "timestamp = now, rising"

[limit.letters]
of    = "update Letter"
allow = "3 per hour"

[pattern.versions]
query = "PK = 'LETTER#{date}' AND begins_with(SK, 'VERSION#')"

[pattern.badges]
query = "PK = 'BADGES'"

[pattern.ranking]
query   = "rankPK = 'CLUB#{clubId}'"
returns = "Member"
"#;

async fn open(store: Arc<dyn Store>, attempts: u32) -> Partita {
    open_with(store, attempts, 5).await
}

async fn open_with(store: Arc<dyn Store>, attempts: u32, seed: u64) -> Partita {
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let surroundings = Surroundings {
        clock: Arc::new(ManualClock::at(1_767_225_600_000)),
        entropy: Arc::new(SeededEntropy::new(seed)),
        cursor_key: [7; 32],
        patience: Patience {
            attempts,
            pause_millis: 0,
        },
    };
    Partita::open_with(design, store, surroundings)
        .await
        .unwrap()
}

fn map(attributes: Json) -> Map {
    plain::map_from_json(attributes.as_object().unwrap().clone()).unwrap()
}

fn parts(path: &str) -> Vec<String> {
    path.split('/').map(str::to_owned).collect()
}

fn create(entity: &str, attributes: Json) -> Operation {
    Operation::Create {
        entity: entity.to_owned(),
        attributes: map(attributes),
    }
}

fn update(entity: &str, path: &str, changes: Json) -> Operation {
    Operation::Update {
        entity: entity.to_owned(),
        identity: parts(path),
        changes: map(changes),
        with_deleted: false,
        version: None,
    }
}

fn upsert(entity: &str, path: &str, attributes: Json) -> Operation {
    Operation::Upsert {
        entity: entity.to_owned(),
        identity: parts(path),
        attributes: map(attributes),
        version: None,
    }
}

fn delete(entity: &str, path: &str) -> Operation {
    Operation::Delete {
        entity: entity.to_owned(),
        identity: parts(path),
        version: None,
    }
}

fn restore(entity: &str, path: &str) -> Operation {
    Operation::Restore {
        entity: entity.to_owned(),
        identity: parts(path),
        version: None,
    }
}

fn act(action: &str, entity: &str, path: &str, given: Json) -> Operation {
    Operation::Act {
        action: action.to_owned(),
        entity: Some(entity.to_owned()),
        identity: parts(path),
        given: map(given),
        version: None,
    }
}

fn member(name: &str, nick: &str, points: i64) -> Operation {
    let member = json!({"clubId": "c", "memberId": name, "nick": nick, "points": points});
    create("Member", member)
}

fn club() -> Operation {
    create("Club", json!({"clubId": "c", "name": "Chess"}))
}

fn ann() -> Caller {
    Caller::user("ann")
}

/// Everything in the tables, sorted.
async fn everything(store: &dyn Store) -> Vec<Item> {
    let mut items = Vec::new();
    for table in ["club", "club-partita"] {
        let page = store.scan(Scan::new(table.parse().unwrap())).await.unwrap();
        items.extend(page.answer.into_parts().unwrap().items);
    }
    items.sort_by_key(|item| format!("{item:?}"));
    items
}

async fn is_clean(partita: &Partita) {
    let mut found = partita_verify::Collected::default();
    partita.verify(&mut found).await.unwrap();
    assert!(found.open.is_empty(), "{:#?}", found.open);
}

/// Carries operations out one by one and as a batch, and holds the tables against each other.
async fn same(before: &[Operation], batch: &[Operation]) -> Vec<Item> {
    let mut tables = Vec::new();
    for is_batch in [false, true] {
        let store = Arc::new(ModelStore::default());
        let partita = open(store.clone(), 5).await;
        for operation in before {
            partita.run(&ann(), operation.clone()).await.unwrap();
        }
        if is_batch {
            let answers = partita.run_all(&ann(), batch.to_vec()).await;
            let answers = answers.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(answers.len(), batch.len());
        } else {
            for operation in batch {
                let done = partita.run(&ann(), operation.clone()).await;
                done.unwrap_or_else(|error| panic!("{operation:?}: {error}"));
            }
        }
        is_clean(&partita).await;
        tables.push(everything(&*store).await);
    }
    let batched = tables.pop().unwrap();
    let one_by_one = tables.pop().unwrap();
    assert_eq!(format!("{one_by_one:#?}"), format!("{batched:#?}"));
    batched
}

#[tokio::test]
async fn each_sees_what_the_ones_before_it_did() {
    let founding = [
        club(),
        member("ann", "A", 10),
        member("bob", "B", 60),
        act("award", "Member", "c/ann", json!({"amount": 45})),
        update("Club", "c", json!({"name": "Go"})),
        upsert("Member", "c/cid", json!({"nick": "C"})),
        upsert("Member", "c/cid", json!({"points": 5})),
        delete("Member", "c/bob"),
        act("visit", "Club", "c", json!({})),
        act("visit", "Club", "c", json!({})),
    ];
    let items = same(&[], &founding).await;
    let club = items
        .iter()
        .find(|item| item["SK"] == Value::from("METADATA"));
    let club = club.unwrap();
    assert_eq!(club["members"], Value::N(Number::from(2_i64)));
    assert_eq!(club["points"], Value::N(Number::from(60_i64)));
    assert_eq!(club["visits"], Value::N(Number::from(2_i64)));
}

#[tokio::test]
async fn batches_leave_what_their_operations_leave() {
    let start = [club(), member("ann", "A", 10), member("bob", "B", 60)];
    for batch in [
        // Two numbers on one item, from two others.
        vec![member("cid", "C", 1), member("dot", "D", 2)],
        // The same item again and again, over the border of a view.
        vec![
            update("Member", "c/ann", json!({"points": 70})),
            update("Member", "c/ann", json!({"points": 20, "nick": "AA"})),
            act("award", "Member", "c/ann", json!({"amount": 50})),
        ],
        // There and gone, gone and there.
        vec![member("cid", "C", 60), delete("Member", "c/cid")],
        vec![delete("Member", "c/bob"), restore("Member", "c/bob")],
        vec![
            delete("Letter", "ann"),
            create("Letter", json!({"date": "ann", "text": "x"})),
        ],
        // A value that nobody else has changes hands.
        vec![
            update("Member", "c/ann", json!({"nick": "Z"})),
            update("Member", "c/bob", json!({"nick": "A"})),
            update("Member", "c/ann", json!({"nick": "B"})),
        ],
        // States that are kept, each with a time of its own; then the item moves, and they follow.
        vec![
            update("Letter", "ann", json!({"text": "one"})),
            update("Letter", "ann", json!({"text": "two"})),
        ],
        vec![
            update("Letter", "ann", json!({"text": "one"})),
            update("Letter", "ann", json!({"date": "anna"})),
            update("Letter", "anna", json!({"text": "two"})),
        ],
        // What a deletion takes along includes what was just created.
        vec![
            upsert("Club", "d", json!({"name": "Draughts"})),
            create("Seat", json!({"clubId": "d", "seatId": "1"})),
            create("Seat", json!({"clubId": "d", "seatId": "2"})),
            delete("Seat", "d/1"),
            delete("Club", "d"),
        ],
        // A copy follows to an item that is new.
        vec![
            member("cid", "C", 5),
            update("Club", "c", json!({"name": "Go"})),
        ],
        // A state, step by step.
        vec![
            update("Member", "c/ann", json!({"mood": "angry"})),
            update("Member", "c/ann", json!({"mood": "calm"})),
            act("award", "Member", "c/ann", json!({"amount": 1})),
        ],
    ] {
        same(&start, &batch).await;
    }
}

/// The whole table before and after a batch that is refused, and why it is.
async fn refused(batch: Vec<Operation>) -> Vec<Refused> {
    let store = Arc::new(ModelStore::default());
    let partita = open(store.clone(), 3).await;
    for operation in [club(), member("ann", "A", 10)] {
        partita.run(&ann(), operation).await.unwrap();
    }
    let before = everything(&*store).await;
    let answer = partita.run_all(&ann(), batch).await;
    assert_eq!(before, everything(&*store).await);
    match answer {
        Err(PlanError::Batch { refusals }) => refusals,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn one_that_is_refused_leaves_nothing_of_the_others() {
    let bad = json!({"clubId": "c", "memberId": "cid", "points": 101, "colour": "red"});
    let refusals = refused(vec![
        member("bob", "B", 1),
        create("Member", bad),
        update("Member", "c/ann", json!({"nick": 7, "mood": "glad"})),
        delete("Member", "c/nobody"),
    ])
    .await;
    let positions: Vec<_> = refusals.iter().map(|one| one.position).collect();
    assert_eq!(positions, [1, 2, 3]);
    let PlanError::Invalid { faults } = &refusals[0].error else {
        panic!("{refusals:?}");
    };
    let mut names: Vec<_> = faults.iter().map(|one| one.attribute.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["colour", "nick", "points"]);
    let told = PlanError::Batch { refusals }.to_string();
    assert!(
        told.contains("operations[3]: there is no `Member`"),
        "{told}"
    );
}

#[tokio::test]
async fn operations_of_a_batch_meet_each_other() {
    let taken = refused(vec![member("bob", "B", 1), member("cid", "B", 1)]).await;
    assert_eq!((taken.len(), taken[0].position), (1, 1), "{taken:?}");
    assert!(
        matches!(taken[0].error, PlanError::Taken { .. }),
        "{taken:?}"
    );
    let taken = refused(vec![member("bob", "A", 1)]).await;
    assert_eq!((taken.len(), taken[0].position), (1, 0), "{taken:?}");
    let twice = refused(vec![member("bob", "B", 1), member("bob", "C", 1)]).await;
    assert_eq!((twice.len(), twice[0].position), (1, 1), "{twice:?}");
    assert!(
        matches!(twice[0].error, PlanError::Exists { .. }),
        "{twice:?}"
    );
    let stored = refused(vec![member("bob", "B", 1), member("ann", "C", 1)]).await;
    assert_eq!((stored.len(), stored[0].position), (1, 1), "{stored:?}");
    let award = || act("award", "Member", "c/ann", json!({"amount": 50}));
    let range = refused(vec![award(), award()]).await;
    assert_eq!((range.len(), range[0].position), (1, 1), "{range:?}");
    let letter = |text: &str| update("Letter", "ann", json!({"text": text}));
    let limit = refused(vec![letter("a"), letter("b"), letter("c"), letter("d")]).await;
    assert_eq!(limit[0].position, 3, "{limit:?}");
    assert!(
        matches!(limit[0].error, PlanError::LimitReached { .. }),
        "{limit:?}"
    );
}

#[tokio::test]
async fn only_writes_and_not_too_many() {
    let get = Operation::Get {
        entity: "Club".to_owned(),
        identity: parts("c"),
        with_deleted: false,
    };
    let refusals = refused(vec![member("bob", "B", 1), get]).await;
    assert_eq!(
        refusals,
        [Refused {
            position: 1,
            error: PlanError::ReadInBatch
        }]
    );

    let store = Arc::new(ModelStore::default());
    let partita = open(store.clone(), 3).await;
    partita.run(&ann(), club()).await.unwrap();
    let before = everything(&*store).await;
    assert_eq!(
        partita.run_all(&ann(), Vec::new()).await,
        Err(PlanError::BatchSize { count: 0 })
    );
    let many = (0..=BATCH_OPERATIONS_MAX).map(|_| club()).collect();
    let count = BATCH_OPERATIONS_MAX + 1;
    assert_eq!(
        partita.run_all(&ann(), many).await,
        Err(PlanError::BatchSize { count })
    );
    // Each is a member, a guard, a letter and a check of two places; the club is one of all.
    let many = (0..40).map(|number| member(&format!("m{number}"), &format!("n{number}"), 0));
    let many: Vec<_> = many.collect();
    let Err(PlanError::BatchTooLarge { actions }) = partita.run_all(&ann(), many).await else {
        panic!("they fit");
    };
    assert!(actions > 100, "{actions}");
    assert_eq!(before, everything(&*store).await);
}

#[tokio::test]
async fn what_a_job_would_do_does_not_fit() {
    let partita = open(Arc::new(ModelStore::default()), 3).await;
    partita.run(&ann(), club()).await.unwrap();
    for number in 0..101 {
        let member = member(&format!("m{number:03}"), &format!("n{number}"), 0);
        partita.run(&ann(), member).await.unwrap();
    }
    let rename = update("Club", "c", json!({"name": "Go"}));
    let Err(error) = partita.run_all(&ann(), vec![rename.clone()]).await else {
        panic!("it fits");
    };
    assert!(error.to_string().contains("do this by itself"), "{error}");
    partita.run(&ann(), rename).await.unwrap();
}

#[tokio::test]
async fn under_a_key_a_batch_happens_once() {
    let store = Arc::new(ModelStore::default());
    let partita = open(store.clone(), 3).await;
    let batch = || {
        vec![
            club(),
            member("ann", "A", 10),
            delete("Member", "c/ann"),
            upsert("Club", "d", json!({"name": "D"})),
        ]
    };
    let first = partita.run_all_once(&ann(), batch(), "k").await.unwrap();
    assert!(
        matches!(
            first[..],
            [
                Answer::Created(_),
                Answer::Created(_),
                Answer::Done,
                Answer::Created(_)
            ]
        ),
        "{first:?}"
    );
    let after = everything(&*store).await;
    assert_eq!(partita.run_all_once(&ann(), batch(), "k").await, Ok(first));
    assert_eq!(after, everything(&*store).await);
    let other = partita.run_all_once(&ann(), vec![club()], "k").await;
    assert_eq!(other, Err(PlanError::KeyReused));
    let other = partita.run_once(&ann(), club(), "k").await;
    assert_eq!(other, Err(PlanError::KeyReused));
}

/// Batches of concurrent clients meet each other, and lose answers: each is done whole or not at
/// all, and what is told is what happened.
#[test]
fn whole_or_not_at_all_under_faults() {
    let faults = Faults {
        conflict: 0.2,
        throttle: 0.05,
        unknown_outcome: 0.1,
    };
    for seed in 0..15 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let store = Arc::new(ModelStore::default());
            let calm = open(store.clone(), 5).await;
            calm.run(&ann(), club()).await.unwrap();
            let faulty = Arc::new(FaultyStore::calm(store, faults, seed));
            let partita = Arc::new(open_with(faulty.clone(), 40, 100 + seed).await);
            faulty.begin();
            let clients = (0..5).map(|client| {
                let partita = partita.clone();
                tokio::spawn(async move {
                    let name = |number| format!("m{client}{number}");
                    let batch = vec![
                        member(&name(1), &name(1), 10),
                        member(&name(2), &name(2), 20),
                        act(
                            "award",
                            "Member",
                            &format!("c/{}", name(1)),
                            json!({"amount": 5}),
                        ),
                        act("visit", "Club", "c", json!({})),
                    ];
                    partita.run_all(&ann(), batch).await
                })
            });
            let clients: Vec<_> = clients.collect();
            let mut done = 0;
            for client in clients {
                match client.await.unwrap() {
                    Ok(_) => done += 1,
                    Err(PlanError::Conflict | PlanError::Hot(_)) => {}
                    other => panic!("seed {seed}: {other:?}"),
                }
            }
            assert!(done > 0 && faulty.injected() > 0, "seed {seed}");
            let get = Operation::Get {
                entity: "Club".to_owned(),
                identity: parts("c"),
                with_deleted: false,
            };
            let Ok(Answer::Record(club)) = calm.run(&ann(), get).await else {
                panic!("seed {seed}: the club is gone");
            };
            for (name, each) in [("members", 2), ("points", 35), ("visits", 1)] {
                let expected = Value::N(Number::from(done * each));
                assert_eq!(club.attributes[name], expected, "seed {seed}: {name}");
            }
            is_clean(&calm).await;
        });
    }
}
