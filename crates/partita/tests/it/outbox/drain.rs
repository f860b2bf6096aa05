//! Hundreds of messages, or a hundred thousand, arrive while everybody is killed.
//!
//! Orders are written step after step. Each write causes a mail, two events and a change of the
//! table that is sent too, so four messages. The server, the mail server and the receiver are killed
//! at moments that are drawn from a seed, while messages are recorded and while they drain.
//! `PARTITA_LONG=1` makes it a hundred thousand messages, and `PARTITA_SEED=n` draws other moments.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use partita_store::Clock as _;
use partita_store::surroundings::SystemClock;
use reqwest::Client;
use serde_json::{Value as Json, json};
use tokio::sync::Mutex;

use super::scene::{Mistake, Scene};

/// The channels, as the other ends name them.
const CHANNELS: [&str; 4] = ["mail", "/one", "/two", STREAM];
/// The one on which changes of the table are sent.
const STREAM: &str = "/bus";
const WRITERS: usize = 12;
/// Messages of a channel that are on their way at the same time, at most: after a kill they may all
/// arrive again.
const UNDER_WAY: usize = 64;

/// How much is sent, and how often somebody is killed.
struct Extent {
    orders: usize,
    /// Writes to each order after the first.
    steps: i64,
    kills: usize,
}

impl Extent {
    fn writes(&self) -> usize {
        self.orders * usize::try_from(self.steps + 1).unwrap()
    }

    fn messages(&self) -> usize {
        self.writes() * CHANNELS.len()
    }
}

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Server,
    Mail,
    Events,
    Everybody,
}

/// A file that others add lines to.
struct Notes {
    file: PathBuf,
    read: u64,
}

impl Notes {
    /// The lines since the last time. One that is not whole yet comes the next time.
    fn new_lines(&mut self) -> Vec<Json> {
        let Ok(mut file) = File::open(&self.file) else {
            return Vec::new();
        };
        file.seek(SeekFrom::Start(self.read)).unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        let whole = bytes.iter().rposition(|byte| *byte == b'\n');
        let whole = &bytes[..whole.map_or(0, |at| at + 1)];
        self.read += whole.len() as u64;
        let lines = std::str::from_utf8(whole).unwrap().lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// What has arrived.
struct Arrivals {
    mails: Notes,
    events: Notes,
    /// The steps of each order, by channel and order, in the order of their first arrival.
    steps: BTreeMap<(String, String), Vec<i64>>,
    /// What arrived, and how much of it again.
    first: usize,
    again: usize,
    of_stream: usize,
}

impl Arrivals {
    fn at(scene: &Scene) -> Arrivals {
        let notes = |file: &PathBuf| Notes {
            file: file.clone(),
            read: 0,
        };
        Arrivals {
            mails: notes(&scene.mail.file),
            events: notes(&scene.events.file),
            steps: BTreeMap::new(),
            first: 0,
            again: 0,
            of_stream: 0,
        }
    }

    /// Takes what is new, and says whether there was anything.
    fn look(&mut self) -> bool {
        let before = self.first + self.again;
        for mail in self.mails.new_lines() {
            assert_eq!(mail["from"], "Shop <shop@example.org>");
            let text = mail["text"].as_str().unwrap().trim_end();
            assert_eq!(text, "Your PIN is geheim.");
            let subject = mail["subject"].as_str().unwrap();
            let (order, step) = subject.split_once(' ').unwrap();
            self.add("mail", order, step.parse().unwrap());
        }
        for note in self.events.new_lines() {
            assert!(note.get("refused").is_none(), "{note}");
            assert!(!note.to_string().contains("geheim"), "{note}");
            let data = &note["event"]["data"];
            let data = data.get("new").unwrap_or(data);
            let order = data["orderId"].as_str().unwrap();
            let path = note["path"].as_str().unwrap();
            self.add(path, order, data["step"].as_i64().unwrap());
        }
        self.first + self.again > before
    }

    fn add(&mut self, channel: &str, order: &str, step: i64) {
        let key = (channel.to_owned(), order.to_owned());
        let steps = self.steps.entry(key).or_default();
        if steps.contains(&step) {
            self.again += 1;
            return;
        }
        steps.push(step);
        self.first += 1;
        self.of_stream += usize::from(channel == STREAM);
    }

    /// What is wrong with it, in the end.
    fn fault(&self, extent: &Extent, kills: usize) -> Option<String> {
        let all: Vec<i64> = (0..=extent.steps).collect();
        for channel in CHANNELS {
            for order in 0..extent.orders {
                let key = (channel.to_owned(), format!("o{order}"));
                let steps = self.steps.get(&key).cloned().unwrap_or_default();
                let known: BTreeSet<i64> = steps.iter().copied().collect();
                if known.len() < all.len() {
                    return Some(format!("of {key:?} some are lost: {steps:?} arrived"));
                }
                if steps != all {
                    return Some(format!("those of {key:?} are not in order: {steps:?}"));
                }
            }
        }
        let most = (kills + 1) * CHANNELS.len() * UNDER_WAY;
        (self.again > most).then(|| format!("{} arrived again after {kills} kills", self.again))
    }
}

/// Writes step after step to some orders, each until it is done.
struct Writers {
    client: Client,
    /// Where the server is; it comes back elsewhere after a kill.
    base: Mutex<String>,
    token: String,
    done: AtomicUsize,
}

impl Writers {
    async fn write(&self, order: usize, steps: i64) {
        for step in 0..=steps {
            while !self.try_to_write(&format!("o{order}"), step).await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            self.done.fetch_add(1, Ordering::SeqCst);
        }
    }

    async fn try_to_write(&self, name: &str, step: i64) -> bool {
        let base = self.base.lock().await.clone();
        let body = json!({"orderId": name, "email": "bob@example.org", "step": step});
        let call = match step {
            0 => self.client.post(format!("{base}/shop/Order")).json(&body),
            _ => self
                .client
                .patch(format!("{base}/shop/Order/{name}"))
                .json(&json!({"step": step})),
        };
        let call = call.bearer_auth(&self.token);
        let call = call.header("idempotency-key", format!("{name}-{step}"));
        let answer = call.timeout(Duration::from_secs(10)).send().await;
        answer.is_ok_and(|answer| answer.status().is_success())
    }
}

/// Who is killed after how many messages have arrived, the first one first.
fn drawn_kills(extent: &Extent, seed: u64) -> Vec<(usize, Victim)> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut kills: Vec<(usize, Victim)> = (0..extent.kills)
        .map(|_| {
            let victim = match random.u8(0..8) {
                0..4 => Victim::Server,
                4 | 5 => Victim::Mail,
                6 => Victim::Events,
                _ => Victim::Everybody,
            };
            (random.usize(0..extent.messages()), victim)
        })
        .collect();
    kills.sort_unstable();
    kills
}

/// Sends everything, and tells what it came to, or what is wrong.
async fn drain(
    extent: &Extent,
    seed: u64,
    mistake: Option<Mistake>,
) -> Option<Result<String, String>> {
    let mut scene = Scene::set(mistake)?;
    let began = SystemClock.now_millis();
    let mut server = scene.serve();
    let writers = Arc::new(Writers {
        client: Client::new(),
        base: Mutex::new(server.base.clone()),
        token: scene.token(),
        done: AtomicUsize::new(0),
    });
    let (orders, steps) = (extent.orders, extent.steps);
    for writer in 0..WRITERS {
        let writers = writers.clone();
        tokio::spawn(async move {
            for order in (writer..orders).step_by(WRITERS) {
                writers.write(order, steps).await;
            }
        });
    }
    let mut kills = drawn_kills(extent, seed);
    let mut killed: BTreeMap<Victim, usize> = BTreeMap::new();
    let mut arrivals = Arrivals::at(&scene);
    let mut recorded_millis = None;
    loop {
        let is_new = arrivals.look();
        if let Some((at, victim)) = kills.first().copied()
            && arrivals.first >= at
        {
            kills.remove(0);
            *killed.entry(victim).or_default() += 1;
            if matches!(victim, Victim::Mail | Victim::Everybody) {
                scene.mail.restart();
            }
            if matches!(victim, Victim::Events | Victim::Everybody) {
                scene.events.restart();
            }
            if matches!(victim, Victim::Server | Victim::Everybody) {
                server.kill();
                server = scene.serve();
                *writers.base.lock().await = server.base.clone();
            }
            continue;
        }
        let is_recorded = writers.done.load(Ordering::SeqCst) == extent.writes();
        if is_recorded {
            recorded_millis.get_or_insert(SystemClock.now_millis());
        }
        // What a receiver has forgotten never comes; that nothing waits any more is certain.
        let is_streamed = arrivals.of_stream == extent.writes();
        if is_recorded && is_streamed && !is_new && scene.left().is_empty() {
            arrivals.look();
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    drop(server);
    let count: usize = killed.values().sum();
    if let Some(fault) = arrivals.fault(extent, count) {
        return Some(Err(fault));
    }
    let now = SystemClock.now_millis();
    let seconds = |millis: i64| millis as f64 / 1_000.0;
    let all = seconds(now - began);
    let recorded = seconds(recorded_millis.unwrap_or(now) - began);
    Some(Ok(format!(
        "{} messages in {all:.0} s ({:.0} in a second), all recorded after {recorded:.0} s; \
         {count} kills {killed:?}, {} arrived again",
        arrivals.first,
        arrivals.first as f64 / all,
        arrivals.again
    )))
}

fn seed() -> u64 {
    let seed = std::env::var("PARTITA_SEED").ok();
    seed.map_or(1, |seed| seed.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_arrives_in_order_while_all_are_killed() {
    let extent = match std::env::var_os("PARTITA_LONG") {
        Some(_) => Extent {
            orders: 1_000,
            steps: 24,
            kills: 60,
        },
        None => Extent {
            orders: 12,
            steps: 5,
            kills: 4,
        },
    };
    match drain(&extent, seed(), None).await {
        Some(Ok(told)) => println!("{told}"),
        Some(Err(fault)) => panic!("PARTITA_SEED={}: {fault}", seed()),
        None => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_lost_or_out_of_order_is_noticed() {
    let extent = Extent {
        orders: 12,
        steps: 5,
        kills: 0,
    };
    for (mistake, told) in [
        (Mistake::Forgets, "lost"),
        (Mistake::Reorders, "not in order"),
    ] {
        let Some(drained) = drain(&extent, seed(), Some(mistake)).await else {
            return;
        };
        let fault = drained.expect_err("nobody noticed it");
        assert!(fault.contains(told), "{mistake:?}: {fault}");
    }
}
