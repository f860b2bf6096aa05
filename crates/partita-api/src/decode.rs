//! Method, path, query and body to an operation. Pure: nothing here reads a socket.
//!
//! | request | operation |
//! |---|---|
//! | `POST /{design}/{Entity}` | create |
//! | `GET /{design}/{Entity}/{identity…}` | get |
//! | `PATCH /{design}/{Entity}/{identity…}` | update |
//! | `DELETE /{design}/{Entity}/{identity…}` | delete |
//! | `POST /{design}/{Entity}/{identity…}/restore` | restore |
//! | `POST /{design}/{Entity}/{identity…}/action/{action}` | do something that has a name |
//! | `POST /{design}/action/{action}` | the same, where the action finds its items |
//!
//! `If-Match: "3"` lets a change pass only while the item has that version. Under the same
//! `Idempotency-Key` the same write is carried out once.
//!
//! | request | operation |
//! |---|---|
//! | `GET /{design}/query/{pattern}?parameter=…&limit=…&cursor=…` | query |

use std::collections::BTreeMap;
use std::fmt;

use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use partita_core::{Map, plain};
use partita_plan::{Fault, Operation, PlanError};
use percent_encoding::percent_decode_str;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value as Json;

use crate::problem::Problem;

/// A request with its body.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Its method.
    pub method: &'a Method,
    /// Its path and query.
    pub uri: &'a Uri,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its body.
    pub body: &'a [u8],
}

impl Request<'_> {
    /// Whether anything may change. HEAD is GET without the body.
    pub fn is_write(&self) -> bool {
        !matches!(*self.method, Method::GET | Method::HEAD)
    }

    /// The parts of the path. They are split before they are decoded, so that an encoded slash
    /// stays inside its part.
    pub fn segments(&self) -> Result<Vec<String>, Problem> {
        let path = self.uri.path();
        let path = path.strip_prefix('/').unwrap_or(path);
        path.split('/')
            .map(|segment| match percent_decode_str(segment).decode_utf8() {
                Ok(text) => Ok(text.into_owned()),
                Err(_) => Err(Problem::bad_request("the path is not UTF-8")),
            })
            .collect()
    }

    /// The bearer token, if there is one.
    pub fn bearer(&self) -> Result<Option<&str>, Problem> {
        let Some(value) = self.headers.get(header::AUTHORIZATION) else {
            return Ok(None);
        };
        let text = value.to_str().ok().and_then(|text| text.split_once(' '));
        match text {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
                Ok(Some(token.trim()))
            }
            _ => Err(Problem::bad_request(
                "the Authorization header must be `Bearer` and a token",
            )),
        }
    }
}

/// The operation that a request asks of a design, by the parts of its path after the design's.
pub fn operation(request: &Request<'_>, segments: &[String]) -> Result<Operation, Problem> {
    let parts: Vec<&str> = segments.iter().map(String::as_str).collect();
    match (method(request), parts.as_slice()) {
        ("GET", ["query", pattern]) => query(request, pattern),
        (_, ["query", _]) => Err(Problem::method_not_allowed("GET")),
        ("POST", ["action", action]) => act(request, None, &[], action),
        (_, ["action", _]) => Err(Problem::method_not_allowed("POST")),
        ("POST", [entity, identity @ .., "action", action]) if !identity.is_empty() => {
            act(request, Some(entity), identity, action)
        }
        ("POST", [entity]) => {
            no_parameters(request)?;
            Ok(Operation::Create {
                entity: (*entity).to_owned(),
                attributes: body(request)?,
            })
        }
        (_, [entity]) if !entity.is_empty() => Err(Problem::method_not_allowed("POST")),
        ("POST", [entity, identity @ .., "restore"]) if !identity.is_empty() => {
            no_parameters(request)?;
            Ok(Operation::Restore {
                entity: (*entity).to_owned(),
                identity: owned(identity),
            })
        }
        (_, [entity, identity @ ..]) if !identity.is_empty() => {
            on_item(request, entity, owned(identity))
        }
        _ => Err(Problem::no_route(
            "a path is /{design}/{Entity}/{identity} or /{design}/query/{pattern}",
        )),
    }
}

fn act(
    request: &Request<'_>,
    entity: Option<&str>,
    identity: &[&str],
    action: &str,
) -> Result<Operation, Problem> {
    no_parameters(request)?;
    Ok(Operation::Act {
        action: action.to_owned(),
        entity: entity.map(str::to_owned),
        identity: owned(identity),
        // Most actions need nothing but their name.
        given: match request.body.is_empty() {
            true => Map::new(),
            false => body(request)?,
        },
        version: version(request)?,
    })
}

/// The version that the caller saw, from `If-Match: "3"`.
fn version(request: &Request<'_>) -> Result<Option<i64>, Problem> {
    let Some(value) = request.headers.get(header::IF_MATCH) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default().trim();
    match text.trim_matches('"').parse() {
        Ok(version) => Ok(Some(version)),
        Err(_) if text == "*" => Ok(None),
        Err(_) => Err(Problem::bad_request("`If-Match` must be a version: \"3\"")),
    }
}

/// The key under which a write is carried out once. Reads need none.
pub fn idempotency_key<'a>(request: &Request<'a>) -> Result<Option<&'a str>, Problem> {
    let mut keys = request.headers.get_all("idempotency-key").iter();
    let (key, another) = (keys.next(), keys.next());
    if !request.is_write() {
        return Ok(None);
    }
    match (key.map(|key| key.to_str()), another) {
        (None, _) => Ok(None),
        (Some(Ok(key)), None) => Ok(Some(key)),
        (_, Some(_)) => Err(Problem::bad_request("`Idempotency-Key` is given twice")),
        (Some(Err(_)), None) => Err(Problem::bad_request(
            "`Idempotency-Key` must be of visible ASCII characters",
        )),
    }
}

fn on_item(
    request: &Request<'_>,
    entity: &str,
    identity: Vec<String>,
) -> Result<Operation, Problem> {
    let entity = entity.to_owned();
    match method(request) {
        "GET" => Ok(Operation::Get {
            entity,
            identity,
            with_deleted: with_deleted(request)?,
        }),
        "PATCH" => Ok(Operation::Update {
            entity,
            identity,
            changes: body(request)?,
            with_deleted: with_deleted(request)?,
            version: version(request)?,
        }),
        "DELETE" => {
            no_parameters(request)?;
            Ok(Operation::Delete {
                entity,
                identity,
                version: version(request)?,
            })
        }
        _ => Err(Problem::method_not_allowed("GET, PATCH, DELETE")),
    }
}

fn query(request: &Request<'_>, pattern: &str) -> Result<Operation, Problem> {
    let mut parameters = parameters(request)?;
    let limit = parameters.remove("limit");
    let limit = limit.map(|text| text.parse::<usize>()).transpose();
    Ok(Operation::Query {
        pattern: pattern.to_owned(),
        limit: limit.map_err(|_| Problem::bad_request("`limit` must be a whole number"))?,
        cursor: parameters.remove("cursor"),
        parameters,
    })
}

/// The method, with HEAD as the GET that it stands for.
fn method<'a>(request: &Request<'a>) -> &'a str {
    match request.method.as_str() {
        "HEAD" => "GET",
        method => method,
    }
}

fn no_parameters(request: &Request<'_>) -> Result<(), Problem> {
    match parameters(request)?.keys().next() {
        None => Ok(()),
        Some(name) => Err(no_such_parameter(name)),
    }
}

fn no_such_parameter(name: &str) -> Problem {
    Problem::bad_request(format!("there is no parameter `{name}` here"))
}

/// `?deleted=include` shows what is soft-deleted, too.
fn with_deleted(request: &Request<'_>) -> Result<bool, Problem> {
    let mut parameters = parameters(request)?;
    let deleted = parameters.remove("deleted");
    if let Some(name) = parameters.keys().next() {
        return Err(no_such_parameter(name));
    }
    match deleted.as_deref() {
        None => Ok(false),
        Some("include") => Ok(true),
        Some(_) => Err(Problem::bad_request("`deleted` can only be `include`")),
    }
}

fn parameters(request: &Request<'_>) -> Result<BTreeMap<String, String>, Problem> {
    let mut parameters = BTreeMap::new();
    let query = request.uri.query().unwrap_or_default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        if parameters.contains_key(&*name) {
            return Err(Problem::bad_request(format!("`{name}` is given twice")));
        }
        parameters.insert(name.into_owned(), value.into_owned());
    }
    Ok(parameters)
}

fn body(request: &Request<'_>) -> Result<Map, Problem> {
    let content_type = request.headers.get(header::CONTENT_TYPE);
    let media_type = content_type
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.split(';').next())
        .map(|text| text.trim().to_ascii_lowercase());
    let is_json = matches!(
        media_type.as_deref(),
        Some("application/json" | "application/merge-patch+json")
    );
    if !is_json {
        let title = "The body must be JSON";
        let detail = "send it with `Content-Type: application/json`";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Problem::new(status, "not-json", title, detail));
    }
    attributes(request.body)
}

/// The attributes of an object, each of them once.
fn attributes(body: &[u8]) -> Result<Map, Problem> {
    // The parser's own mark of a number that keeps its digits; nobody else may write it.
    const MARK: &[u8] = b"$serde_json::private";
    if body.windows(MARK.len()).any(|window| window == MARK) {
        return Err(Problem::bad_request("the body has a name that is reserved"));
    }
    let Attributes(entries) = serde_json::from_slice(body).map_err(|error| {
        Problem::bad_request(format!(
            "the body is not a JSON object of attributes: {error}"
        ))
    })?;
    let mut attributes = Map::new();
    let mut faults = Vec::new();
    for (name, json) in entries {
        match plain::from_json(json) {
            Err(error) => faults.push(Fault::new(name, format!("has a bad number: {error}"))),
            Ok(value) => {
                if attributes.insert(name.clone(), value).is_some() {
                    faults.push(Fault::new(name, "is given twice"));
                }
            }
        }
    }
    match faults.is_empty() {
        true => Ok(attributes),
        false => Err(PlanError::Invalid { faults }.into()),
    }
}

/// The entries of an object in their order, also those that a map would lose.
struct Attributes(Vec<(String, Json)>);

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Attributes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Attributes, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Attributes(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

fn owned(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

#[cfg(test)]
mod tests;
