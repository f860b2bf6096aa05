//! Clients of a storyhub: reads and writes over HTTP, in the shares that an application has.
//!
//! An answer that is neither a success nor a 404 ends a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use hdrhistogram::Histogram;
use partita_api::{Secrets, Tokens};
use partita_core::plain;
use partita_plan::{Caller, Operation};
use partita_store::surroundings::SystemClock;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value as Json;

use super::connection::Connection;
use super::design::{Stage, Workload};
use super::measure::{Stopwatch, histogram, now};
use crate::flags::BenchFlags;

/// The design that is used.
pub(super) const DESIGN: &str = "storyhub";

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

/// How long the tokens of a run are good for.
const TOKEN_SECONDS: u32 = 86_400;

/// The requests of the mix.
pub(super) fn mix(stage: &Stage) -> Result<Vec<Workload>> {
    MIX.iter().map(|(name, _)| stage.workload(name)).collect()
}

/// Who makes tokens that the server on this directory takes.
pub(super) fn tokens(directory: &Path) -> Result<Arc<Tokens>> {
    let secret = fs::read(directory.join("secret")).context("the server has made no secret")?;
    let secret = Secrets::one(secret)?;
    Ok(Arc::new(Tokens::new(&secret, Arc::new(SystemClock))))
}

/// The times of each kind of request.
pub(super) type Times = BTreeMap<String, Histogram<u64>>;

/// Lets all clients work until the time is over, at a rate if one is given.
pub(super) async fn run(
    host: &str,
    workloads: &[Workload],
    tokens: &Arc<Tokens>,
    flags: &BenchFlags,
) -> Result<(Times, Stopwatch)> {
    let mut watch = Stopwatch::start();
    let until = now() + Duration::from_secs(flags.seconds);
    let mut clients = Vec::new();
    for number in 0..flags.connections {
        let client = Client {
            connection: Connection::open(host).await?,
            random: fastrand::Rng::with_seed(number as u64),
            tokens: tokens.clone(),
            made: BTreeMap::new(),
            workloads: workloads.to_vec(),
        };
        clients.push(tokio::spawn(client.work(pace(flags, number), until)));
    }
    let mut all = Times::new();
    for client in clients {
        for (name, times) in client.await?? {
            match all.get_mut(&name) {
                Some(sum) => sum.add(times)?,
                None => drop(all.insert(name, times)),
            }
        }
    }
    watch.pause();
    Ok((all, watch))
}

/// When a client sends its first request, and the time from one to the next. Without a rate it
/// sends the next as soon as it has an answer.
fn pace(flags: &BenchFlags, number: usize) -> Option<(Instant, Duration)> {
    let rate = flags.rate?.max(1);
    let interval = Duration::from_secs(1) * flags.connections as u32 / rate;
    let share = interval * number as u32 / flags.connections.max(1) as u32;
    Some((now() + share, interval))
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
    /// Sends requests until the time is over. At a rate, a request's time counts from when it was
    /// due: one that waits for a slow answer before it has waited itself.
    async fn work(
        mut self,
        mut pace: Option<(Instant, Duration)>,
        until: Instant,
    ) -> Result<Times> {
        let mut seen = Times::new();
        loop {
            if let Some((due, _)) = pace {
                tokio::time::sleep_until(due.into()).await;
            }
            let due = pace.map_or_else(now, |(due, _)| due);
            if now() >= until {
                return Ok(seen);
            }
            let name = self.one().await?;
            let times = match seen.get_mut(&name) {
                Some(times) => times,
                None => seen.entry(name).or_insert(histogram()?),
            };
            times.saturating_record(due.elapsed().as_micros() as u64);
            pace = pace.map(|(due, interval)| (due + interval, interval));
        }
    }

    /// Sends one request; answers with what it was.
    async fn one(&mut self) -> Result<String> {
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
        let (status, body) = self.connection.exchange(&request).await?;
        match status {
            200..=299 | 404 => Ok(name),
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
