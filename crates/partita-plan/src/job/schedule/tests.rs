//! Schedules on the model: each item once in every period, whatever happens.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use partita_core::{Map, Value};
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_store::{ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};

use crate::outbox::{Content, Courier, Message, Transport, Undelivered};
use crate::{Caller, JobState, Operation, Partita, Patience, Surroundings};

const DESIGN: &str = r#"
design = "club"

[table]
name          = "club"
key           = ["PK", "SK"]
discriminator = "kind"

[entity.Member]
PK   = "MEMBER#{memberId}"
SK   = "MEMBER"
kind = "Member"
soft-delete = "gone"

[entity.Member.attributes]
memberId = "string"
wants    = "bool default true"
gone     = "bool default false"
mails    = "int 0..3 default 0"
sent     = "timestamp?"

[entity.Member.allow]
"*" = "public"

[entity.Club]
PK   = "CLUB#{clubId}"
SK   = "CLUB"
kind = "Club"

[entity.Club.attributes]
clubId = "string"

[entity.Club.allow]
"*" = "public"

[action.write]
entity = "Member"
add    = { mails = 1 }
set    = { sent = "{now}" }

[[action.write.then]]
mail    = "{memberId}@example.org"
subject = "News"
text    = "at {now}"

[schedule.news]
every  = "day at 08:00"
entity = "Member"
when   = "wants = true"
apply  = "write"
"#;

/// 2026-01-01T00:00:00Z
const START: i64 = 1_767_225_600_000;
const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

async fn open(store: &Arc<dyn Store>, clock: &Arc<ManualClock>, seed: u64) -> Arc<Partita> {
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let surroundings = Surroundings {
        clock: clock.clone(),
        entropy: Arc::new(SeededEntropy::new(seed)),
        cursor_key: [7; 32],
        patience: Patience {
            attempts: 50,
            pause_millis: 0,
        },
    };
    let partita = Partita::open_with(design, store.clone(), surroundings);
    Arc::new(partita.await.unwrap())
}

async fn join(partita: &Partita, member: &str, wants: bool) {
    let attributes = Map::from([
        ("memberId", Value::from(member)),
        ("wants", Value::Bool(wants)),
    ]);
    let entity = "Member".to_owned();
    let create = Operation::Create { entity, attributes };
    partita.run(&Caller::default(), create).await.unwrap();
}

/// Whoever is mailed.
#[derive(Default)]
struct Letterbox(Mutex<Vec<String>>);

#[async_trait]
impl Transport for Letterbox {
    async fn deliver(&self, message: &Message) -> Result<(), Undelivered> {
        if let Content::Mail(mail) = &message.content {
            self.0.lock().unwrap().push(mail.to.clone());
        }
        Ok(())
    }
}

impl Letterbox {
    /// Takes what has come since the last time.
    async fn empty(self: &Arc<Self>, partita: &Arc<Partita>) -> Vec<String> {
        let courier = Courier::new(partita.clone(), self.clone());
        courier.take_over().await.unwrap();
        while courier.deliver().await.unwrap().delivered > 0 {}
        let mut mails = std::mem::take(&mut *self.0.lock().unwrap());
        mails.sort();
        mails
    }
}

async fn work(partita: &Partita) -> usize {
    let started = partita.start_schedules().await.unwrap();
    partita.run_jobs().await.unwrap();
    started
}

#[tokio::test]
async fn each_item_has_its_turn_once_in_every_period() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let clock = Arc::new(ManualClock::at(START + 10 * HOUR));
    let partita = open(&store, &clock, 1).await;
    let letters = Arc::new(Letterbox::default());
    for (member, wants) in [("ann", true), ("bob", true), ("cid", false), ("dan", true)] {
        join(&partita, member, wants).await;
    }
    let delete = Operation::Delete {
        entity: "Member".into(),
        identity: vec!["dan".into()],
        version: None,
    };
    partita.run(&Caller::default(), delete).await.unwrap();
    // A new schedule begins with its next period.
    assert_eq!(work(&partita).await, 0);
    clock.set(START + DAY + 8 * HOUR - 1);
    assert_eq!(work(&partita).await, 0);
    clock.advance(1);
    assert_eq!(work(&partita).await, 1);
    assert_eq!(work(&partita).await, 0);
    let both = ["ann@example.org", "bob@example.org"];
    assert_eq!(letters.empty(&partita).await, both);
    // Three days without a server are made up for once.
    clock.advance(3 * DAY + HOUR);
    let behind = partita.schedules_behind().await.unwrap();
    assert_eq!(behind["news"], HOUR);
    assert_eq!(work(&partita).await, 1);
    let behind = partita.schedules_behind().await.unwrap();
    assert_eq!(behind["news"], 0);
    let meters = partita.schedule_meters()["news"];
    assert_eq!((meters.runs, meters.late_millis), (2, HOUR));
    assert_eq!(work(&partita).await, 0);
    assert_eq!(letters.empty(&partita).await, both);
    let jobs = partita.jobs().await.unwrap();
    assert!(
        jobs.iter()
            .all(|job| job.state == JobState::Done && job.done == 2)
    );
    assert!(jobs[0].of.starts_with("news 2026-01-0"), "{jobs:#?}");
}

/// Somebody whose action is refused keeps nobody else from their turn.
#[tokio::test]
async fn what_is_refused_is_left_out() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let clock = Arc::new(ManualClock::at(START));
    let partita = open(&store, &clock, 1).await;
    let letters = Arc::new(Letterbox::default());
    join(&partita, "ann", true).await;
    work(&partita).await;
    for day in 0..3 {
        clock.set(START + day * DAY + 9 * HOUR);
        work(&partita).await;
        assert_eq!(letters.empty(&partita).await, ["ann@example.org"]);
    }
    // Four mails are more than the attribute takes.
    join(&partita, "bob", true).await;
    clock.advance(DAY);
    work(&partita).await;
    assert_eq!(letters.empty(&partita).await, ["bob@example.org"]);
    let jobs = partita.jobs().await.unwrap();
    let last = jobs.iter().max_by_key(|job| &job.id).unwrap();
    assert_eq!((last.done, last.left_out), (1, 1));
}

/// Several servers start and die at the same time, on a store that fails.
#[tokio::test]
async fn servers_that_die_leave_nobody_out_and_write_to_nobody_twice() {
    for seed in 0..6 {
        let inner: Arc<dyn Store> = Arc::new(ModelStore::default());
        let faults = Faults {
            conflict: 0.1,
            throttle: 0.05,
            unknown_outcome: 0.05,
        };
        let faulty = Arc::new(FaultyStore::calm(inner, faults, seed));
        let store: Arc<dyn Store> = faulty.clone();
        let clock = Arc::new(ManualClock::at(START));
        let one = open(&store, &clock, seed).await;
        let members: Vec<String> = (0..120).map(|number| format!("m{number:03}")).collect();
        for member in &members {
            join(&one, member, true).await;
        }
        one.start_schedules().await.unwrap();
        let two = open(&store, &clock, seed + 100).await;
        clock.advance(9 * HOUR);
        faulty.begin();
        for round in 0..60 {
            let server = if round % 2 == 0 { &one } else { &two };
            let working = async {
                let _ = server.start_schedules().await;
                let _ = server.run_jobs().await;
            };
            let killed = async {
                for _ in 0..(seed * 37 + round * 61) % 500 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                biased;
                () = working => {}
                () = killed => {}
            }
            clock.advance(20_000);
        }
        for _ in 0..50 {
            let _ = one.start_schedules().await;
            let _ = one.run_jobs().await;
            clock.advance(31_000);
        }
        assert!(faulty.injected() > 0);
        let listed = loop {
            if let Ok(listed) = one.outbox(1_000).await {
                break listed;
            }
        };
        let mut mailed: Vec<String> = listed.into_iter().filter_map(|one| one.to).collect();
        mailed.sort();
        let expected = members.iter().map(|member| format!("{member}@example.org"));
        assert_eq!(mailed, expected.collect::<Vec<_>>(), "seed {seed}");
    }
}
