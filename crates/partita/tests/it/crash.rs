//! SIGKILL under load: nothing that was acknowledged is lost, nothing is half done.
//!
//! Each client owns its stories, so it knows what each must look like: as the last acknowledged
//! write left it, or as the one write that was under way when the server died would have.

use std::collections::BTreeMap;
use std::path::Path;

use reqwest::{Client, Method, StatusCode};
use serde_json::{Value as Json, json};

use crate::server::{Life, Server, make_secret, rounds, token, verify_store};

const CLIENTS: usize = 8;

/// What a story may look like: title and deleted. `None` means that it may be missing.
type State = Option<(String, bool)>;

/// One client's stories by id: what was acknowledged, and what is in doubt.
type Ledger = BTreeMap<String, Vec<State>>;

struct User {
    name: String,
    token: String,
    client: Client,
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_servers_lose_nothing() {
    let data = tempfile::tempdir().unwrap();
    make_secret(data.path());
    let users: Vec<User> = (0..CLIENTS).map(|index| user(data.path(), index)).collect();
    let mut ledgers: Vec<Ledger> = vec![Ledger::new(); CLIENTS];
    let mut acknowledged = 0;
    for round in 0..rounds() {
        let server = Server::start(data.path(), &["stories"]);
        let base = server.base.clone();
        for (user, ledger) in users.iter().zip(&mut ledgers) {
            verify(user, &base, ledger)
                .await
                .unwrap_or_else(|fault| panic!("round {round}: {fault}"));
        }
        let life = Life::of(round);
        let work = users.iter().zip(std::mem::take(&mut ledgers)).enumerate();
        let work = work.map(|(index, (user, ledger))| {
            write_until_it_fails(user, &base, ledger, round * 100 + index as u64, &life)
        });
        let work = futures::future::join_all(work);
        let (results, ()) = tokio::join!(work, life.end(server));
        for (ledger, count) in results {
            ledgers.push(ledger);
            acknowledged += count;
        }
        // Every other server finds the store as the last one has left it.
        if round % 2 == 0 {
            verify_store(data.path()).await;
        }
    }
    let server = Server::start(data.path(), &["stories"]);
    for (user, ledger) in users.iter().zip(&mut ledgers) {
        verify(user, &server.base, ledger).await.unwrap();
    }
    assert_eq!(server.stop(), Some(0), "a graceful stop");
    println!("{acknowledged} acknowledged writes in {} rounds", rounds());
}

fn user(data: &Path, index: usize) -> User {
    let name = format!("user{index}");
    User {
        token: token(data, &name),
        client: Client::new(),
        name,
    }
}

impl User {
    async fn call(
        &self,
        method: Method,
        url: String,
        body: Option<Json>,
    ) -> reqwest::Result<(StatusCode, Json)> {
        let mut call = self.client.request(method, url).bearer_auth(&self.token);
        if let Some(body) = body {
            call = call.json(&body);
        }
        let response = call.send().await?;
        let status = response.status();
        let text = response.text().await?;
        Ok((status, serde_json::from_str(&text).unwrap_or(Json::Null)))
    }
}

/// Writes until the server is gone; what was under way then stays in doubt.
async fn write_until_it_fails(
    user: &User,
    base: &str,
    mut ledger: Ledger,
    seed: u64,
    life: &Life,
) -> (Ledger, u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut acknowledged = 0;
    for count in 0_u64.. {
        let ids: Vec<String> = ledger.keys().cloned().collect();
        let id = if ids.is_empty() || (ids.len() < 40 && random.u8(0..4) == 0) {
            ulid(&mut random)
        } else {
            ids[random.usize(0..ids.len())].clone()
        };
        let before = ledger.get(&id).and_then(|states| states[0].clone());
        let (after, method, suffix, body) =
            next_write(&mut random, user, &id, &before, seed, count);
        ledger.insert(id.clone(), vec![before, after.clone()]);
        let url = format!("{base}/stories/Story{suffix}");
        match user.call(method, url, body).await {
            Err(_) => return (ledger, acknowledged),
            Ok((status, answer)) => {
                assert!(status.is_success(), "{status} {answer}");
                ledger.insert(id, vec![after]);
                acknowledged += 1;
                life.acknowledge();
            }
        }
    }
    unreachable!("the server is killed before the numbers run out")
}

fn next_write(
    random: &mut fastrand::Rng,
    user: &User,
    id: &str,
    before: &State,
    seed: u64,
    count: u64,
) -> (State, Method, String, Option<Json>) {
    let title = format!("{seed}-{count}");
    let path = format!("/{}/{id}", user.name);
    match before {
        None => {
            let body = json!({"userId": user.name, "id": id, "title": title});
            (
                Some((title, false)),
                Method::POST,
                String::new(),
                Some(body),
            )
        }
        Some((old, true)) => (
            Some((old.clone(), false)),
            Method::POST,
            format!("{path}/restore"),
            None,
        ),
        Some((old, false)) if random.bool() => {
            (Some((old.clone(), true)), Method::DELETE, path, None)
        }
        Some((_, false)) => {
            let body = json!({ "title": title });
            (Some((title, false)), Method::PATCH, path, Some(body))
        }
    }
}

/// Compares the stories and both lists with the ledger, and settles what was in doubt.
async fn verify(user: &User, base: &str, ledger: &mut Ledger) -> Result<(), String> {
    let live = list(user, base, "stories").await;
    let deleted = list(user, base, "deletedStories").await;
    for (id, states) in ledger.iter_mut() {
        let url = format!("{base}/stories/Story/{}/{id}?deleted=include", user.name);
        let (status, story) = user.call(Method::GET, url, None).await.unwrap();
        let found: State = (status == StatusCode::OK).then(|| {
            let title = story["title"].as_str().unwrap().to_owned();
            (title, story["deleted"].as_bool().unwrap())
        });
        if !states.contains(&found) {
            return Err(format!(
                "{id} is {found:?}, and should be one of {states:?}"
            ));
        }
        let listed = |list: &BTreeMap<String, Json>, here: bool| match list.get(id) {
            None => !here,
            Some(record) => {
                here && ["title", "UpdatedAt", "deleted"]
                    .iter()
                    .all(|name| record[*name] == story[*name])
            }
        };
        let is_deleted = found.as_ref().is_some_and(|(_, deleted)| *deleted);
        let is_live = found.as_ref().is_some_and(|(_, deleted)| !deleted);
        if !listed(&live, is_live) || !listed(&deleted, is_deleted) {
            return Err(format!("the lists disagree with {id}, which is {found:?}"));
        }
        *states = vec![found];
    }
    ledger.retain(|_, states| states[0].is_some());
    if live.len() + deleted.len() == ledger.len() {
        Ok(())
    } else {
        Err("there are index records of stories that nobody wrote".to_owned())
    }
}

/// A list, all its pages, by story id.
async fn list(user: &User, base: &str, pattern: &str) -> BTreeMap<String, Json> {
    let mut found = BTreeMap::new();
    let mut cursor = String::new();
    loop {
        let name = &user.name;
        let url = format!("{base}/stories/query/{pattern}?userId={name}&limit=20{cursor}");
        let (status, page) = user.call(Method::GET, url, None).await.unwrap();
        assert_eq!(status, StatusCode::OK, "{page}");
        for item in page["items"].as_array().unwrap() {
            let id = item["id"].as_str().unwrap().to_owned();
            assert!(
                found.insert(id, item.clone()).is_none(),
                "listed twice: {item}"
            );
        }
        match page["cursor"].as_str() {
            None => return found,
            Some(next) => cursor = format!("&cursor={next}"),
        }
    }
}

fn ulid(random: &mut fastrand::Rng) -> String {
    let alphabet = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let rest = (0..24).map(|_| char::from(alphabet[random.usize(0..32)]));
    "01".chars().chain(rest).collect()
}
