//! How exact operations grow with writers and with servers on a simulated Amazon, where all of them
//! are at one key and where they are at many: the figures of `docs/scaling.md`.
//!
//! `scripts/figures` runs `figures` and `figures_of_servers`, and draws what they print.

use std::sync::{Arc, Mutex};

use futures::future::join_all;
use partita_core::{Map, Value};
use partita_plan::{Caller, Operation, Partita, Surroundings};
use partita_store::Clock as _;
use partita_store::surroundings::SeededEntropy;
use partita_testkit::amazon::behaviour::Throughput;
use partita_testkit::amazon::{Behaviour, Connection, Network};
use partita_testkit::simulation::host::{Host, Manners};
use partita_testkit::{Amazon, Simulation};

use crate::readme::root;
use crate::stage;

/// 2026-01-01.
const NOW: i64 = 1_767_225_600_000;
/// Writers at most, each with a user of its own.
const WRITERS_MAX: usize = 32;
/// Servers at most.
const SERVERS_MAX: usize = 5;
/// Keys where the operations are spread.
const KEYS: usize = 16;

/// What is done again and again.
struct Case {
    name: &'static str,
    design: &'static str,
    /// What must be there first.
    before: fn() -> Vec<(Caller, Operation)>,
    /// What a writer does at a key for the so-manieth time.
    operation: fn(usize, usize, usize) -> (Caller, Operation),
}

const CASES: [Case; 3] = [
    Case {
        name: "a vote on a story",
        design: "storyhub",
        before: stories,
        operation: vote,
    },
    Case {
        name: "a like on an album",
        design: "mediahub",
        before: albums,
        operation: like,
    },
    Case {
        name: "a message in a conversation",
        design: "holdthatthought",
        before: conversations,
        operation: message,
    },
];

fn texts(given: &[(&str, String)]) -> Map {
    let given = given.iter();
    given
        .map(|(name, text)| ((*name).to_owned(), Value::from(text.as_str())))
        .collect()
}

fn create(entity: &str, given: &[(&str, String)]) -> Operation {
    Operation::Create {
        entity: entity.into(),
        attributes: texts(given),
    }
}

fn ulid(number: usize) -> String {
    format!("01JGFJJZ00000000000000{number:04}")
}

fn uuid(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

fn user(number: usize) -> String {
    format!("user-{number}")
}

fn stories() -> Vec<(Caller, Operation)> {
    let mut before = Vec::new();
    for number in 0..WRITERS_MAX + KEYS {
        let given = [
            ("userId", user(number)),
            ("email", format!("u{number}@example.com")),
            ("displayName", user(number)),
        ];
        before.push((Caller::user(user(number)), create("User", &given)));
    }
    for key in 0..KEYS {
        // Each story has an author of its own, who votes for nothing: totals of an author are at
        // one key, too.
        let author = Caller::user(user(WRITERS_MAX + key));
        let story = [
            ("storyId", ulid(key)),
            ("authorId", user(WRITERS_MAX + key)),
            ("title", "Dune".to_owned()),
            ("synopsis", "Sand.".to_owned()),
            ("genre", "sf".to_owned()),
            ("ageRating", "12".to_owned()),
        ];
        before.push((author.clone(), create("Story", &story)));
        let publish = Operation::Update {
            entity: "Story".into(),
            identity: vec![ulid(key)],
            changes: texts(&[("status", "PUBLISHED".to_owned())]),
            with_deleted: false,
            version: None,
        };
        before.push((author.clone(), publish));
        let chapter = [
            ("nodeId", ulid(100 + key)),
            ("storyId", ulid(key)),
            ("authorId", user(WRITERS_MAX + key)),
            ("title", "Arrakis".to_owned()),
            ("content", "There was sand.".to_owned()),
        ];
        before.push((author.clone(), create("ChapterNode", &chapter)));
    }
    before
}

fn vote(writer: usize, key: usize, count: usize) -> (Caller, Operation) {
    let voted = if count.is_multiple_of(2) {
        "UPVOTE"
    } else {
        "DOWNVOTE"
    };
    let given = [
        ("userId", user(writer)),
        ("storyId", ulid(key)),
        ("nodeId", ulid(100 + key)),
        ("voteType", voted.to_owned()),
    ];
    (Caller::user(user(writer)), create("Vote", &given))
}

fn albums() -> Vec<(Caller, Operation)> {
    let mut before = Vec::new();
    for number in 0..WRITERS_MAX + KEYS {
        let given = [
            ("userId", uuid(number)),
            ("email", format!("u{number}@example.com")),
            ("username", user(number)),
            ("provider", "email".to_owned()),
        ];
        let mut attributes = texts(&given);
        attributes.insert("emailPreferences", Value::M(Map::new()));
        let entity = "User".into();
        before.push((
            Caller::anonymous(),
            Operation::Create { entity, attributes },
        ));
    }
    for key in 0..KEYS {
        // Each album has an owner of its own, who is told of each like.
        let owner = uuid(WRITERS_MAX + key);
        let given = [
            ("id", uuid(1_000 + key)),
            ("createdBy", owner.clone()),
            ("title", "The sea".to_owned()),
        ];
        before.push((Caller::user(owner), create("Album", &given)));
    }
    before
}

fn like(writer: usize, key: usize, count: usize) -> (Caller, Operation) {
    let album = uuid(1_000 + key);
    let operation = if count.is_multiple_of(2) {
        let given = [
            ("userId", uuid(writer)),
            ("interactionType", "like".to_owned()),
            ("targetType", "album".to_owned()),
            ("targetId", album),
        ];
        create("UserInteraction", &given)
    } else {
        Operation::Delete {
            entity: "UserInteraction".into(),
            identity: vec![uuid(writer), "like".into(), album],
            version: None,
        }
    };
    (Caller::user(uuid(writer)), operation)
}

fn conversations() -> Vec<(Caller, Operation)> {
    let mut before = Vec::new();
    for number in 0..WRITERS_MAX {
        let given = [
            ("userId", user(number)),
            ("email", format!("u{number}@example.com")),
            ("displayName", user(number)),
        ];
        before.push((Caller::user(user(number)), create("UserProfile", &given)));
    }
    for key in 0..KEYS {
        let all = (0..WRITERS_MAX).map(|number| Value::from(user(number).as_str()));
        let mut attributes = texts(&[
            ("conversationId", ulid(key)),
            ("conversationType", "group".to_owned()),
        ]);
        attributes.insert("participantIds", Value::L(all.collect()));
        let entity = "ConversationMeta".into();
        let create = Operation::Create { entity, attributes };
        before.push((Caller::user(user(0)), create));
    }
    before
}

fn message(writer: usize, key: usize, count: usize) -> (Caller, Operation) {
    // The design limits how much one member may write.
    let member = (writer + count) % WRITERS_MAX;
    let given = [
        ("conversationId", ulid(key)),
        ("messageText", "Where are you?".to_owned()),
    ];
    (Caller::user(user(member)), create("Message", &given))
}

/// What became of some writers in some time.
#[derive(Debug)]
struct Figure {
    done: usize,
    refused: usize,
    per_second: f64,
    /// Actions of transactions that met others, for each operation that was done.
    retries: f64,
    p50_millis: i64,
    p99_millis: i64,
}

/// Amazon on a good day: what its documentation promises of a partition, a transaction in about
/// ten milliseconds, and nothing lost.
fn good_day() -> Behaviour {
    Behaviour {
        transaction_millis: 6..=12,
        write_millis: 1..=3,
        throughput: Throughput::DOCUMENTED,
        ..Behaviour::still()
    }
}

async fn server(
    simulation: &Simulation,
    amazon: &Arc<Amazon>,
    case: &Case,
    number: u64,
) -> Partita {
    let host = Host::new(
        simulation,
        format!("server {number}"),
        Manners::default(),
        number,
    );
    let network = Network {
        delay_millis: 1..=2,
        ..Network::still()
    };
    let store = Connection::new(simulation, amazon.clone(), host.clone(), network, number);
    let surroundings = Surroundings {
        clock: host,
        entropy: Arc::new(SeededEntropy::new(number)),
        ..Surroundings::default()
    };
    let design = stage::design(case.design, case.design);
    let opened = Partita::open_with(design, Arc::new(store), surroundings);
    opened.await.unwrap()
}

/// Who does one thing, and where.
#[derive(Clone, Copy)]
struct Crowd {
    writers: usize,
    /// How many servers share the writers.
    servers: usize,
    keys: usize,
}

impl Crowd {
    /// Writers on as many servers as there are, five at most.
    fn of(writers: usize, keys: usize) -> Crowd {
        Crowd {
            writers,
            servers: writers.min(SERVERS_MAX),
            keys,
        }
    }
}

/// Lets writers do one thing for some time, at one key or spread over all of them.
fn measure(case: &Case, crowd: Crowd, millis: i64) -> Figure {
    let Crowd {
        writers,
        servers: count,
        keys,
    } = crowd;
    let simulation = Simulation::new(7, NOW);
    simulation.run(async {
        let amazon = Arc::new(Amazon::new(&simulation, good_day(), 7));
        amazon.calm();
        let mut servers = Vec::new();
        for number in 0..count {
            servers.push(server(&simulation, &amazon, case, number as u64).await);
        }
        for (caller, operation) in (case.before)() {
            match operation {
                // People sign up elsewhere.
                Operation::Create { entity, attributes } if caller.id.is_none() => {
                    let made = servers[0].create_past_rules(&entity, attributes);
                    made.await.unwrap();
                }
                operation => drop(servers[0].run(&caller, operation).await.unwrap()),
            }
        }
        amazon.begin();
        let until = simulation.now_millis() + millis;
        let latencies = Mutex::new(Vec::new());
        let refused = Mutex::new(0);
        let works = (0..writers).map(|writer| {
            let (servers, simulation) = (&servers, &simulation);
            let (latencies, refused) = (&latencies, &refused);
            async move {
                let server = &servers[writer % servers.len()];
                let mut count = 0;
                while simulation.now_millis() < until {
                    let (caller, operation) = (case.operation)(writer, writer % keys, count);
                    let begun = simulation.now_millis();
                    match server.run(&caller, operation).await {
                        Ok(_) => {
                            count += 1;
                            latencies
                                .lock()
                                .unwrap()
                                .push(simulation.now_millis() - begun);
                        }
                        Err(_) => *refused.lock().unwrap() += 1,
                    }
                }
            }
        });
        join_all(works).await;
        let counts = amazon.counts();
        amazon.calm();
        let report = servers[0]
            .verify(&mut partita_verify::Collected::default())
            .await;
        assert!(report.unwrap().is_clean(), "{}", case.name);
        let mut latencies = latencies.into_inner().unwrap();
        latencies.sort_unstable();
        let at = |share: f64| {
            let at = (latencies.len() as f64 * share) as usize;
            latencies
                .get(at.min(latencies.len().saturating_sub(1)))
                .copied()
                .unwrap_or(0)
        };
        let done = latencies.len();
        Figure {
            done,
            refused: refused.into_inner().unwrap(),
            per_second: done as f64 * 1_000.0 / millis as f64,
            retries: (counts.conflicts + counts.throttled) as f64 / done.max(1) as f64,
            p50_millis: at(0.5),
            p99_millis: at(0.99),
        }
    })
}

/// Whatever the writers, every answer is exact; and one key takes less than many.
#[test]
fn one_key_takes_less_than_many() {
    for case in &CASES {
        let hot = measure(case, Crowd::of(4, 1), 500);
        let spread = measure(case, Crowd::of(4, 4), 500);
        assert!(hot.done > 5, "{}: {hot:?}", case.name);
        assert!(hot.retries > 0.2, "{}: {hot:?}", case.name);
        assert!(spread.done > hot.done, "{}: {spread:?} {hot:?}", case.name);
    }
}

/// A line of what was measured: the case, keys, writers, servers, operations in a second, the actions
/// that met others, two latencies, and the share that was refused.
fn measured() -> Vec<(String, Vec<f64>)> {
    let path = root().join("docs/figures/scaling.tsv");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().skip(1).map(|line| {
        let (case, numbers) = line.split_once('\t').unwrap();
        let numbers = numbers.split('\t').map(|one| one.parse().unwrap());
        (case.to_owned(), numbers.collect())
    });
    rows.collect()
}

/// How a page tells a number.
fn told(number: f64) -> String {
    let number = number.round() as u64;
    match number / 1_000 {
        0 => number.to_string(),
        thousands => format!("{thousands},{:03}", number % 1_000),
    }
}

/// The table of `docs/scaling.md` has what `scripts/figures` has drawn.
#[test]
fn the_page_has_the_figures() {
    let page = std::fs::read_to_string(root().join("docs/scaling.md")).unwrap();
    let measured = measured();
    for case in &CASES {
        for keys in [1, KEYS] {
            let at = |writers: usize| {
                let crowd = Crowd::of(writers, keys);
                let numbers = [crowd.keys, crowd.writers, crowd.servers].map(|one| one as f64);
                let mut rows = measured.iter();
                let row = rows.find(|(name, row)| name == case.name && row[..3] == numbers);
                &row.unwrap().1
            };
            let [one, some, all] = [1, 8, WRITERS_MAX].map(at);
            let rates = [one, some, all].map(|row| told(row[3]));
            let seconds = all[6] / 1_000.0;
            let slowest = match seconds {
                1.0.. => format!("{seconds:.1} s"),
                _ => format!("{seconds:.2} s"),
            };
            let refused = match all[7] * 100.0 {
                0.0 => "none".to_owned(),
                ..1.0 => "under 1 %".to_owned(),
                share => format!("{share:.0} %"),
            };
            let row = format!("| {} | {slowest} | {refused} |", rates.join(" | "));
            assert!(page.contains(&row), "{} at {keys} keys: {row}", case.name);
        }
    }
}

/// Measures for three seconds. A line that `scripts/figures` draws.
fn line(case: &Case, crowd: Crowd) -> String {
    let Figure {
        refused,
        done,
        per_second,
        retries,
        p50_millis,
        p99_millis,
    } = measure(case, crowd, 3_000);
    let Crowd {
        writers,
        servers,
        keys,
    } = crowd;
    let refused = refused as f64 / (done + refused).max(1) as f64;
    format!(
        "figure\t{}\t{keys}\t{writers}\t{servers}\t{per_second:.1}\t{retries:.2}\t{p50_millis}\t{p99_millis}\t{refused:.3}",
        case.name
    )
}

/// The figures of `docs/scaling.md`.
#[test]
#[ignore = "takes minutes; scripts/figures runs it"]
fn figures() {
    for case in &CASES {
        for keys in [1, KEYS] {
            for writers in [1, 2, 4, 8, 16, 32] {
                println!("{}", line(case, Crowd::of(writers, keys)));
            }
        }
    }
}

/// The same, with all writers on fewer servers.
#[test]
#[ignore = "takes minutes; scripts/figures runs it"]
fn figures_of_servers() {
    for case in &CASES {
        for keys in [1, KEYS] {
            for servers in [1, 2] {
                let crowd = Crowd {
                    servers,
                    ..Crowd::of(WRITERS_MAX, keys)
                };
                println!("{}", line(case, crowd));
            }
        }
    }
}
