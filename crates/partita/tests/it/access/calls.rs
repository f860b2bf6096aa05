//! For every operation of the OpenAPI document a request that succeeds, for programs that read the
//! document and cannot know which items are there.

use partita_api::access::Persona;
use partita_api::routes::{Route, Target, Verb as Asked};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value as Json, json};

use super::cast::Probe;
use super::signed::MEDIA_TYPE;
use super::theatre::{Theatre, body_of, replaced};
use super::uploads;
use crate::scenario::{Request, Verb, request};

impl Theatre {
    /// By the names of the operations: the token of somebody who may, an administrator besides, and
    /// the values of items that are there. What changes something has a set of items of its own,
    /// so that it can succeed whatever was done before it.
    pub(crate) async fn calls(&mut self) -> Result<Json, String> {
        let mut calls = Map::new();
        let routes = self.routes.clone();
        for route in routes
            .iter()
            .filter(|route| route.is_canonical && !route.target.is_admin())
        {
            // The document has the path that the design gives, if it gives one.
            let mut others = routes.iter().filter(|other| !other.is_canonical);
            let at = others.find(|other| other.target == route.target);
            let call = self.example(at.unwrap_or(route)).await;
            let name = &route.operation_id;
            let call = call.map_err(|error| format!("{name}: {error}"))?;
            calls.insert(name.clone(), call);
        }
        Ok(Json::Object(calls))
    }

    async fn example(&mut self, route: &Route) -> Result<Json, String> {
        match &route.target {
            Target::Operation(asked) => match self.request_for(*asked).await? {
                Some(named) => self.example_of(route, named).await,
                // Nobody may do it, and the document's own examples show that.
                None => Ok(self.example_of_nothing()),
            },
            Target::Batch => self.example_of_batch().await,
            Target::SendFile => self.example_of_upload().await,
            Target::ReadFile => self.example_of_file(),
            Target::AskUpload { .. }
            | Target::Auth(_)
            | Target::Admin(_)
            | Target::AdminDocument
            | Target::Document
            | Target::Page => Ok(self.example_of_nothing()),
        }
    }

    /// The request of the cast that asks for this, on items that are there.
    async fn request_for(&mut self, asked: Asked) -> Result<Option<Request>, String> {
        if let Some(probe) = self.probe_of(asked) {
            let is_shared = asked.is_read() && probe.before.is_empty();
            return self.named(&probe, is_shared).await.map(Some);
        }
        let Asked::Upsert(entity) = asked else {
            return Ok(None);
        };
        // On an item that is there it is an update, and elsewhere a creation.
        if let Some(probe) = self.probe_of(Asked::Update(entity)) {
            return self.named(&probe, false).await.map(Some);
        }
        match self.probe_of(Asked::Create(entity)) {
            Some(probe) if self.has_own_identity(&probe.verb) => {
                let named = self.named(&probe, false).await?;
                self.with_identity(named).map(Some)
            }
            _ => Ok(None),
        }
    }

    async fn example_of(&self, route: &Route, named: Request) -> Result<Json, String> {
        let parts = self.parts(route, &named)?;
        let token = self.token_of(named);
        let body = match (parts.body, &token) {
            (Some(body), Some(token)) => Some(self.with_uploads(token, body).await),
            (body, _) => body,
        };
        Ok(json!({ "token": token, "path": parts.path, "query": parts.query, "body": body }))
    }

    fn example_of_nothing(&self) -> Json {
        json!({ "token": self.token(Persona::Admin, None) })
    }

    /// The first creation of the cast.
    async fn example_of_batch(&mut self) -> Result<Json, String> {
        let mut probes = self.cast.probes.iter();
        let probe = probes.find(|probe| matches!(probe.verb, Verb::Create { .. }));
        let probe = probe.ok_or("nothing is created")?.clone();
        let named = self.named(&probe, false).await?;
        let operation = json!({
            "method": "POST",
            "path": self.canonical(&named.verb).path.to_string(),
            "body": body_of(&named.verb),
        });
        let body = json!({ "operations": [operation] });
        Ok(json!({ "token": self.token_of(named), "body": body }))
    }

    /// An upload that was asked for, and not sent.
    async fn example_of_upload(&self) -> Result<Json, String> {
        let owner = self.owner_of_file()?;
        let url = self.ask_upload(&owner).await?;
        let url = format!("{}{url}", self.server.base);
        let url = reqwest::Url::parse(&url).map_err(|error| error.to_string())?;
        let files = format!("/{}/files/", self.design.name);
        let name = url.path().strip_prefix(&files).ok_or("it is not a file")?;
        let name = percent_decode_str(name).decode_utf8_lossy();
        let query: Map<String, Json> = url
            .query_pairs()
            .map(|(name, value)| (name.into_owned(), value.into_owned().into()))
            .collect();
        Ok(json!({
            "token": self.token_of(owner),
            "path": { "name": name },
            "query": query,
            "bytes": "x",
            "type": MEDIA_TYPE,
        }))
    }

    /// A file that an item names.
    fn example_of_file(&self) -> Result<Json, String> {
        let (name, _) = self.cast.file.as_ref().ok_or("the cast names no file")?;
        let name = replaced(name, &self.shared);
        let token = self.token_of(self.owner_of_file()?);
        Ok(json!({ "token": token, "path": { "name": name } }))
    }

    fn probe_of(&self, asked: Asked) -> Option<Probe> {
        self.probes_of(&self.route_to(asked)).into_iter().next()
    }

    /// A probe's request, with the names of items that are there.
    async fn named(&mut self, probe: &Probe, is_shared: bool) -> Result<Request, String> {
        let names = if is_shared {
            self.shared.clone()
        } else {
            self.set(&probe.before).await?
        };
        request(&replaced(&probe.request, &names))
    }

    async fn with_uploads(&self, token: &str, body: Json) -> Json {
        let (base, design) = (&self.server.base, &self.design.name);
        uploads::made(&self.client, base, design, Some(token), body).await
    }

    /// The token of whoever makes a request, an administrator besides.
    fn token_of(&self, mut named: Request) -> Option<String> {
        named.role = named.role.or(Some("admin".to_owned()));
        self.token(Persona::Owner, Some(&named))
    }
}
