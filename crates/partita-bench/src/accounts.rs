//! What accounts cost, and whether their answers tell who has one.
//!
//! - A read with a session against the same read with a token, whose user is looked up too.
//! - Reads alone and beside people who sign in: passwords are hashed at a low priority.
//! - Sign-ins, sign-ups and requests for a reset with addresses that have an account, in turn with
//!   addresses that have none: their answers must be equal, and their times alike.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use hdrhistogram::Histogram;
use serde_json::{Value as Json, json};
use tokio::task::JoinHandle;
use tracing::info;

use super::connection::Connection;
use super::measure::{Figures, histogram, now};
use super::report::{BenchReport, median_of};
use super::server::Server;
use super::traffic;
use crate::flags::BenchFlags;

const DESIGN: &str = "people";
const PEOPLE: &str = include_str!("accounts/people.toml");
const PASSWORD: &str = "correct horse battery";

/// Accounts of each comparison. Each is tried four times, which is within all limits.
const ACCOUNTS: usize = 250;
/// Tries with addresses that have an account, and as many with others.
const TRIES: usize = 1_000;
/// People who sign in at the same time: more than are hashed at once, fewer than are turned away.
const SIGNING_IN: usize = 8;

/// How often somebody signs in who has just signed up; wrong passwords are limited.
const SIGN_INS_MAX: usize = 8;

/// What is compared.
#[derive(Clone, Copy, Debug)]
enum Request {
    SignIn,
    SignUp,
    Reset,
}

impl Request {
    const ALL: [Request; 3] = [Request::SignIn, Request::SignUp, Request::Reset];

    fn name(self) -> &'static str {
        match self {
            Request::SignIn => "sign-in",
            Request::SignUp => "sign-up",
            Request::Reset => "request-reset",
        }
    }

    fn body(self, login: &str) -> Json {
        match self {
            Request::SignIn => json!({ "login": login, "password": "wrong horse battery" }),
            Request::SignUp => json!({ "email": login, "password": PASSWORD }),
            Request::Reset => json!({ "login": login }),
        }
    }
}

/// Somebody with an account, a session and a note.
#[derive(Clone)]
struct Person {
    id: String,
    login: String,
    session: String,
}

/// Times of one kind of request with and without an account, in milliseconds.
struct Comparison {
    request: Request,
    with_account: Vec<f64>,
    without: Vec<f64>,
}

/// Measures accounts on a server of its own.
pub(super) async fn run(flags: &BenchFlags) -> Result<String> {
    let directory = tempfile::tempdir().context("cannot create a directory for the data")?;
    let design = directory.path().join("people.toml");
    std::fs::write(&design, PEOPLE)?;
    let path = directory.path().to_owned();
    let design = design.to_str().context("a directory with another name")?;
    let server = Server::designs(directory, &[design], &flags.server_arguments)?;
    let mut client = Client::open(&server.host).await?;
    let people = client.people(flags.connections.max(SIGNING_IN)).await?;
    let tokens = traffic::tokens(&path)?;
    let token = |person: &Person| tokens.make(DESIGN, &person.id, None, &[], 86_400);
    let by_token: Vec<_> = people.iter().map(|it| (it.clone(), token(it))).collect();
    let by_session = people.iter().map(|it| (it.clone(), it.session.clone()));
    let by_session: Vec<_> = by_session.collect();

    let mut credentials = BenchReport::new(vec!["token".to_owned(), "session".to_owned()]);
    let mut beside = BenchReport::new(vec!["alone".to_owned(), "beside sign-ins".to_owned()]);
    for round in 0..flags.rounds {
        credentials.add("get", 0, reads(&server, &by_token, flags).await?);
        credentials.add("get", 1, reads(&server, &by_session, flags).await?);
        beside.add("get", 0, reads(&server, &by_token, flags).await?);
        let signing_in = sign_ins(&server, &people, flags).await?;
        beside.add("get", 1, reads(&server, &by_token, flags).await?);
        beside.add("sign-in", 1, joined(signing_in, &server, flags).await?);
        info!(round);
    }
    // The server has closed the connection meanwhile, on which nothing came.
    client.connection = Connection::open(&server.host).await?;
    let mut comparisons = Vec::new();
    for request in Request::ALL {
        comparisons.push(client.compare(request).await?);
    }
    Ok(if flags.json {
        let told: Vec<_> = comparisons.iter().map(Comparison::to_json).collect();
        let all = json!({
            "credentials": credentials.to_json(),
            "beside": beside.to_json(),
            "told": told,
        });
        format!("{all:#}\n")
    } else {
        let told: String = comparisons.iter().map(Comparison::to_text).collect();
        let (one, two) = (credentials.text(false), beside.text(false));
        format!("{one}\n{two}\n{told}")
    })
}

/// Lets every connection read its own note until the time is over.
async fn reads(
    server: &Server,
    people: &[(Person, String)],
    flags: &BenchFlags,
) -> Result<Figures> {
    let mut readers = Vec::new();
    let (began, cpu_before) = (now(), server.cpu());
    let until = began + Duration::from_secs(flags.seconds);
    for (person, credential) in people.iter().cycle().take(flags.connections) {
        let mut connection = Connection::open(&server.host).await?;
        let request = format!(
            "GET /{DESIGN}/notes/{}/1 HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {credential}\r\n\r\n",
            person.id, server.host
        );
        readers.push(tokio::spawn(async move {
            let mut times = histogram()?;
            while now() < until {
                let sent = now();
                let (status, body) = connection.exchange(&request).await?;
                ensure!(status == 200, "{status} {}", String::from_utf8_lossy(body));
                times.saturating_record(sent.elapsed().as_micros() as u64);
            }
            anyhow::Ok(times)
        }));
    }
    let mut all = histogram()?;
    for reader in readers {
        all.add(reader.await??)?;
    }
    let cpu = server.cpu().zip(cpu_before);
    let cpu = cpu.map(|(after, before)| after - before);
    Ok(Figures::of(&all, began.elapsed(), cpu))
}

/// People who sign in again and again until the time is over.
async fn sign_ins(
    server: &Server,
    people: &[Person],
    flags: &BenchFlags,
) -> Result<Vec<JoinHandle<Result<Histogram<u64>>>>> {
    let until = now() + Duration::from_secs(flags.seconds);
    let mut all = Vec::new();
    for person in people.iter().take(SIGNING_IN) {
        let mut client = Client::open(&server.host).await?;
        let body = json!({ "login": person.login, "password": PASSWORD });
        all.push(tokio::spawn(async move {
            let mut times = histogram()?;
            while now() < until {
                let sent = now();
                let (status, answer) = client.auth("sign-in", &body).await?;
                match status {
                    200 => times.saturating_record(sent.elapsed().as_micros() as u64),
                    // Who waits longer than a second is told to come back.
                    429 => tokio::time::sleep(Duration::from_millis(100)).await,
                    _ => bail!("a sign-in: {status} {answer}"),
                }
            }
            Ok(times)
        }));
    }
    Ok(all)
}

async fn joined(
    signing_in: Vec<JoinHandle<Result<Histogram<u64>>>>,
    server: &Server,
    flags: &BenchFlags,
) -> Result<Figures> {
    let mut all = histogram()?;
    for person in signing_in {
        all.add(person.await??)?;
    }
    ensure!(!all.is_empty(), "nobody could sign in at {}", server.host);
    Ok(Figures::of(&all, Duration::from_secs(flags.seconds), None))
}

/// A connection on which every request comes from another address, as behind a proxy: limits of
/// addresses are not what is measured.
struct Client {
    connection: Connection,
    sent: u32,
}

impl Client {
    async fn open(host: &str) -> Result<Client> {
        let connection = Connection::open(host).await?;
        Ok(Client {
            connection,
            sent: 0,
        })
    }

    /// Sends a request about accounts.
    async fn auth(&mut self, request: &str, body: &Json) -> Result<(u16, Json)> {
        self.post(&format!("auth/{request}"), "", body).await
    }

    async fn post(&mut self, path: &str, head: &str, body: &Json) -> Result<(u16, Json)> {
        self.sent += 1;
        let [_, a, b, c] = self.sent.to_be_bytes();
        let (host, body) = (self.connection.host(), body.to_string());
        let length = body.len();
        let request = format!(
            "POST /{DESIGN}/{path} HTTP/1.1\r\nhost: {host}\r\nx-forwarded-for: 10.{a}.{b}.{c}\r\n{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let (status, body) = self.connection.exchange(&request).await?;
        let body = match body {
            [] => Json::Null,
            body => serde_json::from_slice(body)?,
        };
        Ok((status, body))
    }

    /// People with accounts and a note each.
    async fn people(&mut self, count: usize) -> Result<Vec<Person>> {
        let mut people = Vec::new();
        for number in 0..count {
            let login = format!("reader{number}@example.org");
            self.sign_up(&login).await?;
            people.push(self.settled(login).await?);
        }
        Ok(people)
    }

    /// Signs somebody in, who signed up behind the answer, and writes a note.
    async fn settled(&mut self, login: String) -> Result<Person> {
        let body = json!({ "login": login, "password": PASSWORD });
        let (mut status, mut answer) = self.auth("sign-in", &body).await?;
        for _ in 0..SIGN_INS_MAX {
            if status == 200 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            (status, answer) = self.auth("sign-in", &body).await?;
        }
        let text = |value: &Json| value.as_str().map(str::to_owned);
        let person = text(&answer["user"]["userId"]).zip(text(&answer["token"]));
        let (id, session) = person.with_context(|| format!("a sign-in: {status} {answer}"))?;
        let head = format!("authorization: Bearer {session}\r\n");
        let note = json!({ "userId": id, "noteId": "1", "text": "x".repeat(1_000) });
        let (status, answer) = self.post("notes", &head, &note).await?;
        ensure!(status == 201, "a note: {status} {answer}");
        Ok(Person { id, login, session })
    }

    async fn sign_up(&mut self, login: &str) -> Result<()> {
        let body = Request::SignUp.body(login);
        let (status, answer) = self.auth("sign-up", &body).await?;
        ensure!(status == 202, "a sign-up: {status} {answer}");
        Ok(())
    }

    /// Sends a request with addresses that have an account, in turn with others.
    async fn compare(&mut self, request: Request) -> Result<Comparison> {
        let name = request.name();
        for number in 0..ACCOUNTS {
            self.sign_up(&known(request, number)).await?;
        }
        let mut comparison = Comparison {
            request,
            with_account: Vec::new(),
            without: Vec::new(),
        };
        for number in 0..TRIES {
            let with = known(request, number % ACCOUNTS);
            let without = format!("{name}-nobody{number:04}@example.org");
            let (one, with) = self.timed(request, &with).await?;
            let (two, without) = self.timed(request, &without).await?;
            ensure!(one == two, "{name} answers {one:?} or {two:?}");
            comparison.with_account.push(with);
            comparison.without.push(without);
        }
        Ok(comparison)
    }

    /// What one request answers, without what is new in every answer, and its milliseconds.
    async fn timed(&mut self, request: Request, login: &str) -> Result<((u16, Json), f64)> {
        let body = request.body(login);
        let sent = now();
        let (status, mut answer) = self.auth(request.name(), &body).await?;
        let millis = sent.elapsed().as_secs_f64() * 1e3;
        if let Some(answer) = answer.as_object_mut() {
            answer.retain(|name, _| name != "instance" && name != "requestId");
        }
        Ok(((status, answer), millis))
    }
}

/// An address with an account, as long as those without.
fn known(request: Request, number: usize) -> String {
    format!("{}-person{number:04}@example.org", request.name())
}

impl Comparison {
    /// How often somebody who guesses by time that the slower of two has an account is right: 0.5
    /// is a coin.
    fn guessed(&self) -> f64 {
        let mut without = self.without.clone();
        without.sort_by(f64::total_cmp);
        let below = |time: &f64| without.partition_point(|other| other < time) as f64;
        let won: f64 = self.with_account.iter().map(below).sum();
        let right = won / (self.with_account.len() * without.len()).max(1) as f64;
        right.max(1.0 - right)
    }

    /// How far the two distributions are apart at most: the statistic of Kolmogorov and Smirnov, 0
    /// where they are the same and 1 where they do not meet.
    fn distance(&self) -> f64 {
        let sorted = |times: &[f64]| {
            let mut times = times.to_vec();
            times.sort_by(f64::total_cmp);
            times
        };
        let (one, two) = (sorted(&self.with_account), sorted(&self.without));
        let share = |times: &[f64], until: f64| {
            let below = times.partition_point(|time| *time <= until) as f64;
            below / times.len().max(1) as f64
        };
        let apart = one
            .iter()
            .chain(&two)
            .map(|time| (share(&one, *time) - share(&two, *time)).abs());
        apart.fold(0.0, f64::max)
    }

    /// What the distance exceeds in one of a hundred measurements of the same distribution.
    fn distance_by_chance(&self) -> f64 {
        let (one, two) = (self.with_account.len() as f64, self.without.len() as f64);
        1.628 * ((one + two) / (one * two).max(1.0)).sqrt()
    }

    fn to_json(&self) -> Json {
        json!({
            "request": self.request.name(),
            "with_account_p50_ms": median_of(self.with_account.iter().copied()),
            "without_p50_ms": median_of(self.without.iter().copied()),
            "tries": self.with_account.len(),
            "guessed_right": self.guessed(),
            "distance": self.distance(),
            "distance_by_chance": self.distance_by_chance(),
        })
    }

    fn to_text(&self) -> String {
        let shown = |times: &[f64]| median_of(times.iter().copied()).unwrap_or(f64::NAN);
        format!(
            "{:<14} p50 {:.2} ms with an account, {:.2} without; by time {:.3} of guesses are right; distributions {:.3} apart, by chance up to {:.3} ({} tries each)\n",
            self.request.name(),
            shown(&self.with_account),
            shown(&self.without),
            self.guessed(),
            self.distance(),
            self.distance_by_chance(),
            self.with_account.len(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(with_account: &[f64], without: &[f64]) -> Comparison {
        Comparison {
            request: Request::SignUp,
            with_account: with_account.to_vec(),
            without: without.to_vec(),
        }
    }

    #[test]
    fn distributions_are_told_apart() {
        let even: Vec<f64> = (0..1_000).map(f64::from).collect();
        let late: Vec<f64> = even.iter().map(|time| time + 200.0).collect();
        // The same median, and another spread: guesses by the slower one do not tell.
        let wide: Vec<f64> = even.iter().map(|time| time * 2.0 - 499.5).collect();
        let same = compared(&even, &even);
        assert!((same.guessed() - 0.5).abs() < 0.001);
        assert_eq!(same.distance(), 0.0);
        let shifted = compared(&late, &even);
        assert!(shifted.guessed() > 0.6 && shifted.distance() > 0.19);
        let spread = compared(&wide, &even);
        assert!(spread.guessed() < 0.51 && spread.distance() > shifted.distance_by_chance());
        assert!(shifted.distance_by_chance() < 0.075);
    }
}
