//! A server with the items of a cast, and the six callers.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::http::Method;
use partita_api::access::{Outcome, Persona, Row};
use partita_api::openapi;
use partita_api::routes::{Route, Routes, Target, Verb as Asked};
use partita_api::{Secrets, Tokens};
use partita_core::plain;
use partita_design::Design;
use partita_engine::{EngineStore, Options};
use partita_plan::Partita;
use partita_store::request::{PutItem, ReturnValues};
use partita_store::surroundings::{ManualClock, SystemClock};
use partita_store::{Clock, Store};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value as Json;
use tempfile::TempDir;

use super::cast::{Cast, Names, Probe, Step};
use super::contract::{Contract, Seen};
use super::{is_allowed, is_operation, uploads};
use crate::scenario::{Request, Verb, request};
use crate::server::Server;

/// The secret of the server.
const SECRET: [u8; 32] = [7; 32];

pub(crate) struct Theatre {
    pub(super) design: Design,
    pub(super) routes: Arc<Routes>,
    pub(super) cast: Cast,
    pub(super) server: Server,
    pub(super) client: reqwest::Client,
    pub(super) contract: Contract,
    used: BTreeSet<usize>,
    turns: usize,
    /// One set of items for everything that only reads.
    pub(super) shared: Names,
    _data: TempDir,
}

/// What is sent: a route with its values, and what comes with it.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) url: String,
    pub(super) body: Option<Json>,
}

/// Where the values of a request go.
pub(super) struct Parts {
    pub(super) path: Names,
    pub(super) query: Names,
    pub(super) body: Option<Json>,
}

impl Theatre {
    pub(crate) async fn open(name: &str) -> Theatre {
        let data = tempfile::tempdir().unwrap();
        std::fs::write(data.path().join("secret"), SECRET).unwrap();
        let cast = Cast::load(name);
        let source = partita_design::shipped::find(name).unwrap().source;
        let design = partita_design::check(source, &|_| None).0.unwrap();
        if !cast.items.is_empty() {
            put_items(&design, &cast, &data).await;
        }
        // Nothing here has to survive a power cut.
        let server = Server::start(data.path(), &[name, "--durability", "buffered"]);
        let client = reqwest::Client::new();
        let url = format!("{}/{name}/openapi.json", server.base);
        let mut document: Json = client.get(url).send().await.unwrap().json().await.unwrap();
        let commands = openapi::admin_document(&design, &Routes::of(&design));
        let commands = commands["paths"].as_object().unwrap().clone();
        let refused = openapi::refused_paths(&design, &Routes::of(&design));
        // What the document leaves out is tried, too.
        for (path, operations) in commands.into_iter().chain(refused) {
            let there = &mut document["paths"][path];
            for (method, operation) in operations.as_object().unwrap() {
                there[method] = operation.clone();
            }
        }
        let mut theatre = Theatre {
            routes: Arc::new(Routes::of(&design)),
            design,
            cast,
            server,
            client,
            contract: Contract { document },
            used: BTreeSet::new(),
            turns: 0,
            shared: Names::new(),
            _data: data,
        };
        theatre.shared = theatre.set(&[]).await.unwrap();
        theatre
    }

    /// Sends a route's requests as everybody, and compares with the matrix.
    pub(crate) async fn play(&mut self, row: &Row<'_>) -> Result<(), String> {
        if row.route.target == Target::Batch {
            return self.play_batch(row).await;
        }
        if let Target::Operation(Asked::Upsert(entity)) = row.route.target {
            return self.play_upsert(row, entity).await;
        }
        if matches!(row.route.target, Target::SendFile | Target::ReadFile) {
            return self.play_signed(row).await;
        }
        if matches!(row.route.target, Target::Auth(_)) {
            return self.play_account(row).await;
        }
        if !is_operation(row) {
            return self.play_plain(row).await;
        }
        if row.is_closed() {
            return self.play_closed(row).await;
        }
        let probes: Vec<Probe> = self.probes_of(row.route);
        if probes.is_empty() {
            return Err("no probe".to_owned());
        }
        for probe in probes {
            self.used.insert(probe.line);
            let played = self.play_probe(row, &probe).await;
            played.map_err(|failure| format!("line {}: {failure}", probe.line))?;
        }
        Ok(())
    }

    /// The lines that no route has used.
    pub(crate) fn unused(&self) -> Vec<String> {
        let probes = self.cast.probes.iter();
        let unused = probes.filter(|probe| !self.used.contains(&probe.line));
        unused
            .map(|probe| format!("line {} is for no route: {}", probe.line, probe.request))
            .collect()
    }

    /// What is in no table is not there for anybody.
    pub(crate) async fn unknown_paths(&self) -> Vec<String> {
        let mut failures = Vec::new();
        let entity = &self.design.records[0].name;
        for path in [
            "",
            "Nothing",
            "Nothing/1",
            "query/nothing",
            "action/nothing",
            "query",
            "admin",
            "console",
            "query/",
            "openapi",
            &format!("{entity}/a/b/c/d/e/f/g"),
        ] {
            for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE] {
                for persona in Persona::ALL {
                    let call = Call {
                        method: method.clone(),
                        url: self.url(path),
                        body: None,
                    };
                    let seen = self.send(&call, self.token(persona, None)).await;
                    let is_good = match persona {
                        Persona::Expired | Persona::Forged => seen.status == 401,
                        _ => matches!(seen.status, 404 | 405),
                    };
                    if !is_good {
                        let who = persona.word();
                        failures.push(format!("{method} {path} as {who}: {}", seen.status));
                    }
                }
            }
        }
        failures
    }

    /// A route that needs no item: the document, the page, the jobs.
    async fn play_plain(&mut self, row: &Row<'_>) -> Result<(), String> {
        let operation = self.contract.operation(row.route);
        let example = &operation["requestBody"]["content"]["application/json"]["example"];
        let body = (!example.is_null()).then(|| example.clone());
        // A file that is not there is nobody's.
        let path = row.route.path.to_string().replace("{name}", "nothing.txt");
        for persona in Persona::ALL {
            let call = Call {
                method: row.route.method.clone(),
                url: self.url(&path),
                body: body.clone(),
            };
            // There is no item that would name an owner: anybody with a token is as good.
            let token = match persona {
                Persona::Owner => self.token(Persona::Stranger, None),
                _ => self.token(persona, None),
            };
            let seen = self.send(&call, token).await;
            self.contract.judge(row.route, &seen)?;
            let is_allowed = *row.outcome(persona) == Outcome::Yes;
            compare(persona, is_allowed, &seen)?;
        }
        Ok(())
    }

    /// Requests about accounts: whoever may not ask is refused before anything is read. What others
    /// are answered depends on passwords and links.
    async fn play_account(&mut self, row: &Row<'_>) -> Result<(), String> {
        let path = row.route.path.to_string().replace("{session}", "none");
        for persona in Persona::ALL {
            let call = Call {
                method: row.route.method.clone(),
                url: self.url(&path),
                body: None,
            };
            let token = self.token(persona, None);
            if *row.outcome(persona) == Outcome::No {
                let seen = self.send(&call, token).await;
                compare(persona, false, &seen)?;
            }
        }
        Ok(())
    }

    /// What nobody may do, tried with the document's own examples.
    pub(super) async fn play_closed(&mut self, row: &Row<'_>) -> Result<(), String> {
        let operation = self.contract.operation(row.route);
        let body = &operation["requestBody"]["content"]["application/json"]["example"];
        let mut body = (!body.is_null()).then(|| body.clone());
        let mut path = row.route.path.to_string();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let Some(name) = parameter["name"]
                .as_str()
                .filter(|_| parameter["in"] == "path")
            else {
                continue;
            };
            let hole = format!("{{{name}}}");
            match (path.contains(&hole), &mut body) {
                (true, _) => path = path.replace(&hole, &encoded(&text(&parameter["example"]))),
                // The other path to the same leaves this to the body.
                (false, Some(body)) => body[name] = parameter["example"].clone(),
                (false, None) => {}
            }
        }
        let call = Call {
            method: row.route.method.clone(),
            url: self.url(&path),
            body,
        };
        for persona in Persona::ALL {
            let seen = self.send(&call, self.token(persona, None)).await;
            self.contract.judge(row.route, &seen)?;
            compare(persona, false, &seen)?;
        }
        Ok(())
    }

    pub(super) async fn play_probe(&mut self, row: &Row<'_>, probe: &Probe) -> Result<(), String> {
        let is_read = row.route.method == Method::GET;
        let names = if is_read && probe.before.is_empty() {
            self.shared.clone()
        } else {
            self.set(&probe.before).await?
        };
        let (mut refused, mut allowed) = (Vec::new(), vec![Persona::Owner]);
        for persona in Persona::ALL {
            // The owner is the one in the line, whatever the rule says of owners.
            if persona == Persona::Owner {
                continue;
            }
            match is_allowed(row, persona, probe)? {
                // Who is let pass to the same by its other path needs no items of his own again.
                true if row.route.is_canonical || is_read => allowed.push(persona),
                true => {}
                false => refused.push(persona),
            }
        }
        if is_read {
            // That a list is empty for some says something only where others have found rows in it.
            self.play_allowed(row, probe, names.clone(), &allowed)
                .await?;
            return self.play_refused(row, probe, &names, &refused).await;
        }
        // Who is refused changes nothing, so all of those can try the same item.
        self.play_refused(row, probe, &names, &refused).await?;
        self.play_allowed(row, probe, names, &allowed).await
    }

    async fn play_refused(
        &self,
        row: &Row<'_>,
        probe: &Probe,
        names: &Names,
        refused: &[Persona],
    ) -> Result<(), String> {
        let is_put = row.route.method == Method::PUT;
        for persona in refused {
            let (call, _) = self.call(row.route, probe, names)?;
            let token = self.token(*persona, None);
            let seen = self.send_for_rows(&call, token).await;
            self.contract.judge(row.route, &seen)?;
            // To whom an item is hidden, an upsert speaks as if there were none.
            if is_put && matches!(seen.status, 409 | 422) {
                continue;
            }
            compare(*persona, false, &seen)?;
            if row.route.method == Method::GET {
                let token = self.token(*persona, None);
                self.follows(row.route, &call, token, &seen).await?;
            }
            self.tells_nothing(row, probe, names, *persona).await?;
            if row.route.method != Method::GET {
                self.refused_in_batch(&call, *persona).await?;
            }
        }
        Ok(())
    }

    async fn play_allowed(
        &mut self,
        row: &Row<'_>,
        probe: &Probe,
        mut names: Names,
        allowed: &[Persona],
    ) -> Result<(), String> {
        let is_read = row.route.method == Method::GET;
        let mut owners_rows = None;
        for (index, persona) in allowed.iter().enumerate() {
            if index > 0 && !is_read {
                names = self.set(&probe.before).await?;
            }
            let (call, named) = self.call(row.route, probe, &names)?;
            let token = self.token(*persona, Some(&named));
            let seen = self.send_for_rows(&call, token).await;
            self.contract.judge(row.route, &seen)?;
            if is_read {
                let token = self.token(*persona, Some(&named));
                self.follows(row.route, &call, token, &seen).await?;
            }
            compare(*persona, true, &seen)?;
            let rows = seen.body["items"].as_array().map(Vec::len);
            let sees_some = matches!(row.outcome(*persona), Outcome::If(_));
            if probe.is_partial && sees_some && rows >= owners_rows {
                let who = persona.word();
                return Err(format!("{who} sees {rows:?} rows of {owners_rows:?}"));
            }
            if *persona == Persona::Owner {
                owners_rows = rows;
            }
        }
        Ok(())
    }

    /// Sets up another set of items.
    pub(super) async fn set(&mut self, more: &[Step]) -> Result<Names, String> {
        let mut names = self.cast.names(self.turns);
        self.turns += 1;
        for step in self.cast.before.clone().iter().chain(more) {
            let asked = request(&replaced(&step.request, &names))?;
            let route = self.canonical(&asked.verb);
            let call = self.fill(&route, &asked)?;
            let token = self.token(Persona::Owner, Some(&asked));
            let seen = self.send(&call, token).await;
            if !(200..300).contains(&seen.status) {
                return Err(format!("{} {}: {}", step.request, seen.status, seen.body));
            }
            if let Some((name, pointer)) = &step.learn {
                let learned = seen.body.pointer(pointer).ok_or("nothing to learn")?;
                names.insert(name.clone(), text(learned));
            }
        }
        Ok(names)
    }

    /// A number that no name of any set has.
    pub(super) fn fresh_number(&self) -> usize {
        self.turns * 100 + 99
    }

    pub(super) fn probes_of(&self, route: &Route) -> Vec<Probe> {
        let Target::Operation(asked) = &route.target else {
            return Vec::new();
        };
        let probes = self.cast.probes.iter();
        let probes = probes.filter(|probe| is_for(&self.design, &probe.verb, *asked));
        probes.cloned().collect()
    }

    /// The route that follows from names alone.
    pub(super) fn canonical(&self, verb: &Verb) -> Route {
        let mut routes = self.routes.iter().filter(
            |route| matches!(route.target, Target::Operation(asked) if is_for(&self.design, verb, asked)),
        );
        routes
            .next()
            .unwrap_or_else(|| panic!("no route for {verb:?}"))
            .clone()
    }

    pub(super) fn call(
        &self,
        route: &Route,
        probe: &Probe,
        names: &Names,
    ) -> Result<(Call, Request), String> {
        let asked = request(&replaced(&probe.request, names))?;
        Ok((self.fill(route, &asked)?, asked))
    }

    /// A route with the values of a request.
    pub(super) fn fill(&self, route: &Route, asked: &Request) -> Result<Call, String> {
        let parts = self.parts(route, asked)?;
        let mut path = route.path.to_string();
        for (name, value) in &parts.path {
            path = path.replace(&format!("{{{name}}}"), &encoded(value));
        }
        let query = parts.query.iter();
        let query = query.map(|(name, value)| format!("{name}={}", encoded(value)));
        let query: Vec<String> = query.collect();
        let mark = if query.is_empty() { "" } else { "?" };
        Ok(Call {
            method: route.method.clone(),
            url: format!("{}{mark}{}", self.url(&path), query.join("&")),
            body: parts.body,
        })
    }

    /// What of a request goes into the path of a route, and what is left.
    pub(super) fn parts(&self, route: &Route, asked: &Request) -> Result<Parts, String> {
        let mut values = self.values(&asked.verb);
        let mut body = body_of(&asked.verb);
        let mut path = Names::new();
        for name in route.path.parameters() {
            let value = values.remove(name);
            let value = value.or_else(|| self.take(&mut body, &asked.verb, name));
            let value = value.ok_or(format!("no value for `{name}`"))?;
            path.insert(name.to_owned(), value);
        }
        Ok(Parts {
            path,
            query: match asked.verb {
                Verb::Query { .. } => values,
                _ => Names::new(),
            },
            body,
        })
    }

    /// Takes a member out of a body, for the path, which may call it otherwise.
    fn take(&self, body: &mut Option<Json>, verb: &Verb, name: &str) -> Option<String> {
        let stored = match verb {
            Verb::Create { entity, .. } => {
                let entity = self.design.find_entity(entity)?;
                &entity.attribute(name)?.name
            }
            _ => name,
        };
        let value = body.as_mut()?.as_object_mut()?.remove(stored)?;
        Some(text(&value))
    }

    /// The values that a path may name.
    fn values(&self, verb: &Verb) -> Names {
        let of = |record: &str, path: &str| -> Names {
            let parts = self.design.find_record(record).unwrap().identity.iter();
            let values = path.split('/').map(crate::scenario::decoded);
            parts.map(|part| part.name.clone()).zip(values).collect()
        };
        match verb {
            Verb::Create { .. } | Verb::Bring { .. } => Names::new(),
            Verb::Get { entity, path, .. }
            | Verb::Update { entity, path, .. }
            | Verb::Upsert { entity, path, .. }
            | Verb::Delete { entity, path }
            | Verb::Restore { entity, path }
            | Verb::Purge { entity, path } => of(entity, path),
            Verb::Act { on, .. } => on
                .as_ref()
                .map(|(record, path)| of(record, path))
                .unwrap_or_default(),
            Verb::Query { parameters, .. } => parameters.clone(),
        }
    }

    pub(super) fn token(&self, persona: Persona, named: Option<&Request>) -> Option<String> {
        let design = &self.design.name;
        let make = |secret: [u8; 32], clock: Arc<dyn Clock>, user: &str, role: Option<&str>| {
            let tokens = Tokens::new(&Secrets::one(secret.to_vec()).unwrap(), clock);
            tokens.make(design, user, role, &[], 3600)
        };
        let now = || Arc::new(SystemClock);
        let admin = &self.cast.admin;
        match persona {
            Persona::Nobody => None,
            Persona::Stranger => Some(make(SECRET, now(), &self.cast.stranger, None)),
            // Whatever else is in them, these two open nothing.
            Persona::Expired => {
                let long_ago = Arc::new(ManualClock::default());
                Some(make(SECRET, long_ago, admin, Some("admin")))
            }
            Persona::Forged => Some(make([8; 32], now(), admin, Some("admin"))),
            Persona::Owner => {
                let named = named?;
                let user = named.caller.as_deref()?;
                Some(make(SECRET, now(), user, named.role.as_deref()))
            }
            Persona::Admin => Some(make(SECRET, now(), admin, Some("admin"))),
        }
    }

    pub(super) async fn send(&self, call: &Call, token: Option<String>) -> Seen {
        let mut request = self.client.request(call.method.clone(), &call.url);
        if let Some(body) = call.body.clone() {
            let (base, design) = (&self.server.base, &self.design.name);
            let body = uploads::made(&self.client, base, design, token.as_deref(), body).await;
            request = request.json(&body);
        }
        self.seen(request, token).await
    }

    /// The same, and for a list its first page with rows: a scan of a large table may begin with pages
    /// that have none.
    async fn send_for_rows(&self, call: &Call, token: Option<String>) -> Seen {
        let mut seen = self.send(call, token.clone()).await;
        while call.method == Method::GET && seen.body["items"].as_array().is_some_and(Vec::is_empty)
        {
            let Some(cursor) = seen.body["cursor"].as_str() else {
                break;
            };
            let mut next = call.clone();
            let joint = if next.url.contains('?') { '&' } else { '?' };
            next.url = format!("{}{joint}cursor={cursor}", next.url);
            seen = self.send(&next, token.clone()).await;
        }
        seen
    }

    /// What is answered to a request of a caller.
    pub(super) async fn seen(
        &self,
        mut request: reqwest::RequestBuilder,
        token: Option<String>,
    ) -> Seen {
        if let Some(token) = &token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let media_type = answer.headers().get("content-type");
        let media_type = media_type.map(|value| value.to_str().unwrap().to_owned());
        let text = answer.text().await.unwrap();
        Seen {
            status,
            media_type,
            body: match text.as_str() {
                "" => Json::Null,
                text => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
            },
        }
    }

    /// The operations that nobody may do, which the document leaves out.
    pub(crate) fn refused(&self) -> Json {
        Json::Object(openapi::refused_paths(&self.design, &self.routes))
    }

    /// Where something of the design is.
    pub(crate) fn url(&self, path: &str) -> String {
        let below = if path.is_empty() { "" } else { "/" };
        format!("{}/{}{below}{path}", self.server.base, self.design.name)
    }
}

/// Compares what a caller was told with what the matrix says. Of a list, whoever may read it sees
/// rows, and whoever may not sees none: that there are some is known from those who may.
pub(super) fn compare(persona: Persona, is_allowed: bool, seen: &Seen) -> Result<(), String> {
    let rows = seen.body["items"].as_array().map(Vec::len);
    let is_right = match (persona, is_allowed) {
        (_, true) => (200..300).contains(&seen.status) && rows != Some(0),
        (Persona::Expired | Persona::Forged, false) => seen.status == 401,
        (_, false) if rows == Some(0) => true,
        (Persona::Nobody, false) => matches!(seen.status, 401 | 403 | 404),
        // With a good token, another one is no help.
        (_, false) => matches!(seen.status, 403 | 404),
    };
    if is_right {
        Ok(())
    } else {
        let who = persona.word();
        let expected = if is_allowed { "yes" } else { "no" };
        Err(format!(
            "{who} expects {expected}: {} {}",
            seen.status, seen.body
        ))
    }
}

fn is_for(design: &Design, verb: &Verb, asked: Asked) -> bool {
    match (verb, asked) {
        (Verb::Create { entity: one, .. }, Asked::Create(entity))
        | (Verb::Get { entity: one, .. }, Asked::Get(entity))
        | (Verb::Update { entity: one, .. }, Asked::Update(entity))
        | (Verb::Delete { entity: one, .. }, Asked::Delete(entity))
        | (Verb::Restore { entity: one, .. }, Asked::Restore(entity))
        | (Verb::Purge { entity: one, .. }, Asked::Purge(entity)) => *one == design[entity].name,
        (
            Verb::Act {
                action: one,
                on: item,
                ..
            },
            Asked::Act { action, on },
        ) => {
            let item = item.as_ref().map(|(record, _)| record.as_str());
            let on = on.map(|record| design[record].name.as_str());
            *one == design[action].name && item == on
        }
        (Verb::Query { pattern: one, .. }, Asked::Query(pattern)) => *one == design[pattern].name,
        _ => false,
    }
}

pub(super) fn body_of(verb: &Verb) -> Option<Json> {
    match verb {
        Verb::Create { body, .. }
        | Verb::Update { body, .. }
        | Verb::Upsert { body, .. }
        | Verb::Act { body, .. } => Some(body.clone()),
        _ => None,
    }
}

fn text(value: &Json) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// Longer names first, so that `$ann2` is not read as `$ann`.
pub(super) fn replaced(text: &str, names: &Names) -> String {
    let mut names: Vec<_> = names.iter().collect();
    names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    names
        .into_iter()
        .fold(text.to_owned(), |text, (name, value)| {
            text.replace(&format!("${name}"), value)
        })
}

/// Puts the items that are there before the server starts.
async fn put_items(design: &Design, cast: &Cast, data: &TempDir) {
    let options = Options::new(Arc::new(SystemClock));
    let store = EngineStore::open(&data.path().join("store"), options).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    Partita::open(design.clone(), store.clone()).await.unwrap();
    for [partition, sort, attributes] in &cast.items {
        let attributes: Json = serde_json::from_str(attributes).unwrap();
        let mut item = plain::map_from_json(attributes.as_object().unwrap().clone()).unwrap();
        item.insert(
            design.tables[0].partition.clone(),
            partition.as_str().into(),
        );
        item.insert(design.tables[0].sort.clone(), sort.as_str().into());
        let put = PutItem::new(design.tables[0].name.parse().unwrap(), item);
        store.put_item(put, ReturnValues::None).await.unwrap();
    }
}
