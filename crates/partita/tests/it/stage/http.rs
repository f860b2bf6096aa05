//! Scenarios over a socket. Every second request goes to the path that the design gives, where it
//! gives one: both must do the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use partita_api::Tokens;
use partita_design::Design;
use partita_design::design::{PathTemplate, Segment};
use partita_store::surroundings::ManualClock;
use reqwest::{RequestBuilder, Url};
use serde_json::{Value as Json, json};

use super::{issuer, seen_problem};
use crate::scenario::{Driver, Request, Seen, Verb, decoded};

pub(super) struct Http {
    pub(super) client: reqwest::Client,
    /// `http://127.0.0.1:PORT/design`
    pub(super) base: Url,
    pub(super) design: Design,
    pub(super) tokens: Tokens,
    pub(super) clock: Arc<ManualClock>,
    pub(super) sent: AtomicUsize,
}

#[async_trait::async_trait]
impl Driver for Http {
    async fn send(&self, request: &Request) -> Seen {
        let mut call = self.call(&request.verb);
        if let Some(caller) = &request.caller {
            call = call.bearer_auth(self.token(caller, request));
        }
        let response = call.send().await.unwrap();
        let status = response.status().as_u16();
        let media_type = response.headers().get("content-type").cloned();
        let text = response.text().await.unwrap();
        match status {
            204 => Seen::Done,
            200 | 201 => {
                let body: Json = serde_json::from_str(&text).unwrap();
                if matches!(request.verb, Verb::Bring { .. }) {
                    return Seen::Record(body["user"].clone());
                }
                match body["items"].as_array() {
                    Some(items) => {
                        let cursor = body["cursor"].as_str().map(str::to_owned);
                        Seen::Page(items.clone(), cursor)
                    }
                    None => Seen::Record(body),
                }
            }
            _ => {
                assert_eq!(
                    media_type.unwrap(),
                    "application/problem+json",
                    "{status} {text}"
                );
                let problem: Json = serde_json::from_str(&text).unwrap();
                assert_eq!(problem["status"], json!(status), "{text}");
                let seen = seen_problem(&problem);
                if let Seen::Refused { name, .. } = &seen {
                    assert_eq!(status, expected_status(name), "{text}");
                }
                seen
            }
        }
    }
}

/// What the API promises, written down once more.
fn expected_status(problem: &str) -> u16 {
    match problem {
        "bad-request" | "bad-cursor" => 400,
        "unauthenticated" | "token-invalid" | "token-expired" | "account-closed" => 401,
        "forbidden" | "not-provisioned" => 403,
        "not-found" | "no-route" => 404,
        "exists" | "taken" | "not-deleted" | "not-restorable" | "conflict" | "requirement"
        | "in-use" => 409,
        "stale-version" => 412,
        "limit-reached" => 429,
        "invalid" | "too-large" | "too-much" | "too-much-memory" | "refused-by-store" => 422,
        other => panic!("no scenario expects `{other}`"),
    }
}

impl Http {
    fn token(&self, caller: &str, request: &Request) -> String {
        match &request.verb {
            Verb::Bring { claims } => issuer::token(caller, claims, &*self.clock),
            _ => {
                let role = request.role.as_deref();
                self.tokens.make(&self.design.name, caller, role, &[], 3600)
            }
        }
    }

    fn call(&self, verb: &Verb) -> RequestBuilder {
        let is_nicer = self.sent.fetch_add(1, Ordering::Relaxed) % 2 == 1;
        match verb {
            Verb::Create { entity, body } => self.create(entity, body, is_nicer),
            Verb::Get {
                entity,
                path,
                deleted,
            } => with_deleted(self.client.get(self.item(entity, path, is_nicer)), *deleted),
            Verb::Update {
                entity,
                path,
                deleted,
                version,
                body,
            } => {
                let call = self.client.patch(self.item(entity, path, is_nicer));
                with_version(with_deleted(call, *deleted).json(body), *version)
            }
            Verb::Upsert {
                entity,
                path,
                version,
                body,
            } => {
                let call = self.client.put(self.item(entity, path, is_nicer));
                with_version(call.json(body), *version)
            }
            Verb::Act {
                action,
                on: Some((entity, path)),
                version,
                body,
            } => {
                let url = below(self.item(entity, path, is_nicer), action);
                with_version(self.client.post(url).json(body), *version)
            }
            Verb::Act { action, body, .. } => {
                self.client.post(self.at(&["action", action])).json(body)
            }
            Verb::Delete { entity, path } => self.client.delete(self.item(entity, path, is_nicer)),
            Verb::Restore { entity, path } => {
                let url = below(self.item(entity, path, is_nicer), "restore");
                self.client.post(url)
            }
            Verb::Purge { entity, path } => {
                let url = below(self.item(entity, path, is_nicer), "purge");
                self.client.post(url)
            }
            Verb::Query {
                pattern,
                parameters,
            } => {
                let mut parameters = parameters.clone();
                let own = self
                    .design
                    .find_pattern(pattern)
                    .and_then(|one| one.path.as_ref());
                let own = own.filter(|_| is_nicer);
                let own =
                    own.and_then(|path| self.filled(path, |name| parameters.get(name).cloned()));
                let url = match own {
                    Some((url, names)) => {
                        parameters.retain(|name, _| !names.contains(name));
                        url
                    }
                    None => self.at(&["query", pattern]),
                };
                self.client.get(url).query(&parameters)
            }
            Verb::Bring { .. } => self.client.get(self.at(&["auth", "me"])),
        }
    }

    /// What stands in the path of a new item is left out of its body.
    fn create(&self, entity: &str, body: &Json, is_nicer: bool) -> RequestBuilder {
        let mut body = body.clone();
        let found = self.design.find_entity(entity).filter(|_| is_nicer);
        let own = found.and_then(|entity| {
            let path = entity.path.as_ref()?.collection();
            let stored = |name: &str| entity.attribute(name).map(|one| one.name.clone());
            let text = |name: &str| Some(body.get(stored(name)?)?.as_str()?.to_owned());
            let (url, names) = self.filled(&path, text)?;
            let names: Vec<String> = names.iter().filter_map(|name| stored(name)).collect();
            Some((url, names))
        });
        let url = match own {
            Some((url, names)) => {
                let members = body.as_object_mut().unwrap();
                members.retain(|name, _| !names.contains(name));
                url
            }
            None => self.at(&[entity]),
        };
        self.client.post(url).json(&body)
    }

    /// The item that the parts of its identity name.
    fn item(&self, entity: &str, path: &str, is_nicer: bool) -> Url {
        let parts: Vec<String> = path.split('/').map(decoded).collect();
        let found = self.design.find_entity(entity).filter(|_| is_nicer);
        let own = found.and_then(|entity| {
            let named = |name: &str| entity.identity.iter().position(|part| part.name == name);
            let value = |name: &str| parts.get(named(name)?).cloned();
            self.filled(entity.path.as_ref()?, value)
        });
        match own {
            Some((url, _)) => url,
            None => {
                let parts = parts.iter().map(String::as_str);
                let all: Vec<&str> = std::iter::once(entity).chain(parts).collect();
                self.at(&all)
            }
        }
    }

    /// A path with its values, and their names; `None` if one is missing or no part of a path.
    fn filled(
        &self,
        path: &PathTemplate,
        value: impl Fn(&str) -> Option<String>,
    ) -> Option<(Url, Vec<String>)> {
        let mut parts = Vec::new();
        let mut names = Vec::new();
        for segment in &path.segments {
            match segment {
                Segment::Literal(word) => parts.push(word.clone()),
                Segment::Parameter(name) => {
                    parts.push(
                        value(name).filter(|text| !["", ".", ".."].contains(&text.as_str()))?,
                    );
                    names.push(name.clone());
                }
            }
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        Some((self.at(&parts), names))
    }

    fn at(&self, parts: &[&str]) -> Url {
        // A URL leaves out parts that are dots; whoever encodes them means them.
        let mut url = self.base.clone();
        url.path_segments_mut().unwrap().extend(parts);
        url
    }
}

fn below(mut url: Url, part: &str) -> Url {
    url.path_segments_mut().unwrap().push(part);
    url
}

fn with_deleted(call: RequestBuilder, deleted: bool) -> RequestBuilder {
    if deleted {
        call.query(&[("deleted", "include")])
    } else {
        call
    }
}

fn with_version(call: RequestBuilder, version: Option<i64>) -> RequestBuilder {
    match version {
        Some(version) => call.header("if-match", format!("\"{version}\"")),
        None => call,
    }
}
