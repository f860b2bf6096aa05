//! The API of the real binary, on `storyhub`: paths, conditions, problems, headers.

mod batch;
mod conditions;
mod effects;
mod headers;
mod heads;
mod larger;
mod own;
mod paths;
mod problems;
mod repeats;
mod upsert;

use std::collections::BTreeMap;
use std::sync::Mutex;

use reqwest::header::HeaderMap;
use reqwest::{Client, Method};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::server::{Server, token_for};

pub(crate) const STORY: &str = "01JGFJJZ00000000000000DVNE";
pub(crate) const ROOT: &str = "01JGFJJZ00000000000000R00T";

/// A server of `storyhub` in memory, and who calls it.
pub(crate) struct Api {
    server: Server,
    data: TempDir,
    client: Client,
    tokens: Mutex<BTreeMap<String, String>>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Json,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        Some(self.headers.get(name)?.to_str().unwrap())
    }

    /// The kind of problem.
    pub(crate) fn problem(&self) -> &str {
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{self:?}"
        );
        let kind = self.body["type"].as_str().unwrap();
        kind.strip_prefix("urn:partita:problem:").unwrap()
    }
}

impl Api {
    pub(crate) fn start(flags: &[&str]) -> Api {
        let data = tempfile::tempdir().unwrap();
        let flags: Vec<&str> = [&["storyhub", "--memory"], flags].concat();
        Api {
            server: Server::start(data.path(), &flags),
            data,
            client: Client::new(),
            tokens: Mutex::default(),
        }
    }

    /// With two users, and a story of ann's that has one chapter.
    /// Has ann publish the story, so that others read it.
    async fn publish(&self) {
        let path = format!("stories/{STORY}");
        let status = Some(json!({"status": "PUBLISHED"}));
        let seen = self.send("ann", Method::PATCH, &path, &[], status).await;
        assert_eq!(seen.status, 200, "{seen:?}");
    }

    pub(crate) async fn with_story(flags: &[&str]) -> Api {
        let api = Api::start(flags);
        for user in ["ann", "bob"] {
            let email = format!("{user}@example.com");
            let body = json!({"userId": user, "email": email, "displayName": user});
            api.made(user, "users", body).await;
        }
        let story = json!({"storyId": STORY, "authorId": "ann", "title": "Dune", "synopsis": "Sand.", "genre": "sf", "ageRating": "12"});
        api.made("ann", "stories", story).await;
        let chapter =
            json!({"nodeId": ROOT, "authorId": "ann", "title": "Arrakis", "content": "Sand."});
        api.made("ann", &format!("stories/{STORY}/chapters"), chapter)
            .await;
        api
    }

    async fn made(&self, user: &str, path: &str, body: Json) {
        let seen = self.send(user, Method::POST, path, &[], Some(body)).await;
        assert_eq!(seen.status, 201, "{path}: {seen:?}");
    }

    fn token(&self, user: &str) -> String {
        let mut tokens = self.tokens.lock().unwrap();
        let make = || {
            let data = self.data.path().to_str().unwrap();
            let role = if user == "admin" { "admin" } else { "user" };
            token_for("storyhub", &["--data", data, "--role", role], user)
        };
        tokens.entry(user.to_owned()).or_insert_with(make).clone()
    }

    /// Sends a request as a user, as the administrator, or without a token if that is empty.
    pub(crate) async fn send(
        &self,
        user: &str,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Json>,
    ) -> Seen {
        let url = format!("{}/storyhub/{path}", self.server.base);
        let mut call = self.client.request(method, url);
        if !user.is_empty() {
            call = call.bearer_auth(self.token(user));
        }
        for (name, value) in headers {
            call = call.header(*name, *value);
        }
        if let Some(body) = body {
            call = call.json(&body);
        }
        let response = call.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.bytes().await.unwrap();
        Seen {
            status,
            headers,
            body: serde_json::from_slice(&bytes).unwrap_or(Json::Null),
        }
    }

    pub(crate) async fn get(&self, user: &str, path: &str, headers: &[(&str, &str)]) -> Seen {
        self.send(user, Method::GET, path, headers, None).await
    }
}
