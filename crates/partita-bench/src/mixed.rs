//! A storyhub that is used: reads and writes of many clients over HTTP, for a while.
//!
//! It is filled through the library, which is also where a vote is measured that the votes over
//! HTTP are held against. Then a server is started on the same directory, and every client sends
//! one request after the other. An answer that is neither a success nor a 404 ends it. At the end
//! everything that is derived is held against its sources.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use hdrhistogram::Histogram;
use partita_api::{Secret, Tokens};
use partita_core::plain;
use partita_engine::{EngineStore, Options};
use partita_plan::{Caller, Operation};
use partita_store::surroundings::SystemClock;
use partita_verify::Collected;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::connection::Connection;
use super::design::{DesignName, Stage, Workload};
use super::measure::{Figures, Stopwatch, histogram, now};
use super::report::Report;
use super::server::Server;
use crate::flags::BenchFlags;

const DESIGN: &str = "storyhub";

/// What clients do, and how often of a hundred times.
const MIX: [(&str, usize); 9] = [
    ("pattern.chapters", 20),
    ("pattern.story", 15),
    ("pattern.childBranches", 15),
    ("pattern.browse", 10),
    ("pattern.notifications", 10),
    ("pattern.profile", 10),
    ("vote", 12),
    ("create-chapter", 4),
    ("record-read", 4),
];

/// What came of it.
struct Mixed {
    report: Report,
    /// What the server had in memory after a third of the time, and at the end.
    megabytes: [Option<f64>; 2],
    /// A vote over HTTP to one through the library, by their medians.
    vote_ratio: f64,
    items: u64,
    drifts: u64,
}

/// Uses a storyhub, and tells how that went.
pub(super) async fn run(flags: &BenchFlags) -> Result<String> {
    let directory = tempfile::tempdir().context("cannot create a directory for the data")?;
    let (workloads, library) = prepare(&directory, flags).await?;
    let secret = directory.path().join("secret");
    let server = Server::designs(directory, &[DESIGN], &flags.server_arguments)?;
    let secret = Secret::new(fs::read(secret).context("the server has made no secret")?)?;
    let tokens = Arc::new(Tokens::new(&secret, Arc::new(SystemClock)));
    let (seen, megabytes) = use_it(&server, &workloads, &tokens, flags).await?;
    let directory = server.stop()?;

    let mut report = Report::new(vec!["over HTTP".to_owned(), "library".to_owned()]);
    let mut vote = library.p50;
    for (name, (times, watch)) in seen {
        let figures = watch.figures(&times);
        if name == "vote" {
            vote = figures.p50;
        }
        report.add(&name, 0, figures);
    }
    report.add("vote", 1, library);
    let (items, drifts) = verify(&directory).await?;
    let mixed = Mixed {
        report,
        megabytes,
        vote_ratio: vote / library.p50,
        items,
        drifts,
    };
    if drifts > 0 {
        bail!("{}", mixed.to_text());
    }
    Ok(match flags.json {
        true => format!("{:#}\n", mixed.to_json()),
        false => mixed.to_text(),
    })
}

/// Fills the directory, and measures a vote through the library while it has the store open.
async fn prepare(directory: &TempDir, flags: &BenchFlags) -> Result<(Vec<Workload>, Figures)> {
    let store = directory.path().join("store");
    let stage = Stage::open(DesignName::Storyhub, &store, flags).await?;
    let vote = stage.workload("vote")?;
    let library = stage.measure(&vote, flags, 0).await?;
    let workloads = MIX.iter().map(|(name, _)| stage.workload(name));
    Ok((workloads.collect::<Result<_>>()?, library))
}

/// The times of each kind of request, with the time in which they were sent.
type Seen = BTreeMap<String, (Histogram<u64>, Stopwatch)>;

/// Lets all clients work until the time is over.
async fn use_it(
    server: &Server,
    workloads: &[Workload],
    tokens: &Arc<Tokens>,
    flags: &BenchFlags,
) -> Result<(Seen, [Option<f64>; 2])> {
    let mut watch = Stopwatch::start();
    let seconds = Duration::from_secs(flags.seconds);
    let until = now() + seconds;
    let mut clients = Vec::new();
    for number in 0..flags.connections {
        let mut client = Client {
            connection: Connection::open(&server.host).await?,
            random: fastrand::Rng::with_seed(number as u64),
            tokens: tokens.clone(),
            made: BTreeMap::new(),
            workloads: workloads.to_vec(),
        };
        clients.push(tokio::spawn(async move {
            let mut seen: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
            while now() < until {
                let (name, micros) = client.one().await?;
                let times = match seen.get_mut(&name) {
                    Some(times) => times,
                    None => seen.entry(name).or_insert(histogram()?),
                };
                times.saturating_record(micros);
            }
            anyhow::Ok(seen)
        }));
    }
    tokio::time::sleep(seconds / 3).await;
    let early = server.resident_megabytes();
    tokio::time::sleep(seconds - seconds / 3).await;
    let late = server.resident_megabytes();
    let mut all: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
    for client in clients {
        for (name, times) in client.await?? {
            match all.get_mut(&name) {
                Some(sum) => sum.add(times)?,
                None => drop(all.insert(name, times)),
            }
        }
    }
    watch.pause();
    let seen = all.into_iter();
    let seen = seen.map(|(name, times)| (name, (times, watch)));
    Ok((seen.collect(), [early, late]))
}

/// One connection, and whoever speaks over it.
struct Client {
    connection: Connection,
    random: fastrand::Rng,
    tokens: Arc<Tokens>,
    /// The tokens of those who have spoken.
    made: BTreeMap<String, String>,
    workloads: Vec<Workload>,
}

impl Client {
    /// Sends one request; answers with what it was and how many microseconds it took.
    async fn one(&mut self) -> Result<(String, u64)> {
        let mut drawn = self.random.usize(0..100);
        let at = MIX.iter().position(|(_, share)| {
            let is_it = drawn < *share;
            drawn = drawn.saturating_sub(*share);
            is_it
        });
        let workload = &self.workloads[at.unwrap_or(0)];
        let name = workload.name.clone();
        let (caller, operation) = (workload.next)(&mut self.random);
        let request = self.request(&caller, &operation)?;
        let sent = now();
        let (status, body) = self.connection.exchange(&request).await?;
        let micros = sent.elapsed().as_micros() as u64;
        match status {
            200..=299 | 404 => Ok((name, micros)),
            status => bail!("{name}: {status} {}", String::from_utf8_lossy(body)),
        }
    }

    /// An operation as a request.
    fn request(&mut self, caller: &Caller, operation: &Operation) -> Result<String> {
        let (line, body) = spelled(operation)?;
        let host = self.connection.host();
        let user = caller.id.clone().unwrap_or_default();
        let tokens = &self.tokens;
        let token = self.made.entry(user.clone()).or_insert_with(|| {
            tokens.make(DESIGN, &user, caller.role.as_deref(), &[], TOKEN_SECONDS)
        });
        let length = body.len();
        Ok(format!(
            "{line} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        ))
    }
}

/// How long the tokens of a run are good for.
const TOKEN_SECONDS: u32 = 86_400;

/// The method and the path of an operation, and its body.
fn spelled(operation: &Operation) -> Result<(String, String)> {
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let path = |entity: &str, identity: &[String]| {
        let identity: Vec<_> = identity.iter().map(|part| encoded(part)).collect();
        format!("/{DESIGN}/{entity}/{}", identity.join("/"))
    };
    let body = |map| Json::Object(plain::map_to_json(map)).to_string();
    Ok(match operation {
        Operation::Create { entity, attributes } => {
            (format!("POST /{DESIGN}/{entity}"), body(attributes))
        }
        Operation::Query {
            pattern,
            parameters,
            ..
        } => {
            let parameters = parameters.iter();
            let parameters = parameters.map(|(name, value)| format!("{name}={}", encoded(value)));
            let parameters: Vec<_> = parameters.collect();
            let line = format!("GET /{DESIGN}/query/{pattern}?{}", parameters.join("&"));
            (line, String::new())
        }
        Operation::Act {
            action,
            entity: Some(entity),
            identity,
            given,
            ..
        } => {
            let line = format!("POST {}/{action}", path(entity, identity));
            (line, body(given))
        }
        other => bail!("the mix has no requests such as {other:?}"),
    })
}

/// How many items there are, and how many drifted.
async fn verify(directory: &TempDir) -> Result<(u64, u64)> {
    let design = super::design::compiled(DesignName::Storyhub)?;
    let options = Options::new(Arc::new(SystemClock));
    let store = EngineStore::open(&directory.path().join("store"), options)?;
    let mut found = Collected::default();
    let report = partita_verify::verify(&design, &store, &SystemClock, &mut found).await?;
    Ok((report.items, report.drifts))
}

impl Mixed {
    fn growth(&self) -> Option<f64> {
        let [early, late] = self.megabytes;
        Some(late? / early?)
    }

    fn to_json(&self) -> Json {
        json!({
            "operations": self.report.to_json(),
            "megabytes": {"third": self.megabytes[0], "end": self.megabytes[1], "growth": self.growth()},
            "vote_ratio": self.vote_ratio,
            "verified": {"items": self.items, "drifts": self.drifts},
        })
    }

    fn to_text(&self) -> String {
        let shown = |figure: Option<f64>| figure.map_or("-".to_owned(), |it| format!("{it:.1}"));
        let [early, late] = self.megabytes.map(shown);
        let growth = self
            .growth()
            .map_or("-".to_owned(), |it| format!("{it:.2}"));
        format!(
            "{}\nmemory: {early} MB after a third of the time, {late} MB at the end ({growth}x)\na vote over HTTP takes {:.2} times one through the library\nverified: {} items, {} drifts\n",
            self.report.text(false),
            self.vote_ratio,
            self.items,
            self.drifts
        )
    }
}
