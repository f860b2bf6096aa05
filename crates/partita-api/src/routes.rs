//! Every request that a design answers, in one table.
//!
//! The table is made once from a compiled design. Requests are answered by it and by nothing
//! else, and whatever tells of requests reads it too: what it does not list does not exist.
//!
//! | request, below `/{design}` | target |
//! |---|---|
//! | `POST {Entity}` | create |
//! | `GET {Entity}/{identity…}` | get |
//! | `PATCH {Entity}/{identity…}` | update |
//! | `PUT {Entity}/{identity…}` | create or change |
//! | `DELETE {Entity}/{identity…}` | delete |
//! | `POST {Entity}/{identity…}/restore` | restore, where a delete is soft |
//! | `POST {Entity}/{identity…}/purge` | remove a deleted one for good, where a rule for that is written |
//! | `POST {Entity}/{identity…}/{action}` | do something that has a name; also on a view's record |
//! | `POST action/{action}` | the same, where the action finds its items |
//! | `GET query/{pattern}` | query |
//! | `POST batch` | several writes, all or none |
//! | `POST files/…` | ask for an upload to a prefix, in a design with buckets |
//! | `GET files/{name}` | ask for a file, or read it by a signed URL |
//! | `PUT files/{name}` | send the bytes of an upload by a signed URL |
//! | `POST auth/…`, `GET auth/…` | accounts, in a design with `[accounts]`; `auth` has the table |
//! | `GET openapi.json`, `GET docs` | the design, told to programs and to people |
//! | `POST admin/{command}` | a command for administrators |
//! | `GET admin/openapi.json` | these commands, told to programs |
//!
//! Where a design gives an entity or a pattern a `path` of its own, it answers there as well.
//!
//! ```
//! use axum::http::Method;
//! use partita_api::routes::{Routes, Target, Verb};
//!
//! let source = partita_design::shipped::find("stories").unwrap().source;
//! let (design, _) = partita_design::check(source, &|_| None);
//! let design = design.unwrap();
//! let routes = Routes::of(&design);
//!
//! let found = routes.find(&Method::GET, &["Story", "ann", "1"]).unwrap();
//! assert_eq!(found.route.path.to_string(), "Story/{userId}/{storyId}");
//! assert_eq!(found.route.operation_id, "Story.get");
//! assert_eq!(found.value("storyId"), Some("1"));
//! let story = design.find_entity("Story").unwrap();
//! assert_eq!(found.route.target, Target::Operation(Verb::Get(story.id)));
//! ```

mod tree;

use axum::http::Method;
use partita_design::Design;
use partita_design::design::{Action, ActionOn, IdentityPart, PathTemplate, Record};
pub use partita_plan::Verb;

use crate::admin;
use crate::auth::{self, AUTH, AuthRequest};
use tree::Tree;

/// The first part of the paths for administrators.
const ADMIN: &str = "admin";

/// The requests that a design answers.
#[derive(Debug)]
pub struct Routes {
    routes: Vec<Route>,
    tree: Tree,
}

/// One kind of request.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Its method. Where it is GET, HEAD is answered as well.
    pub method: Method,
    /// Its path below the design's name.
    pub path: PathTemplate,
    /// A name that no other route of the design has, and that stays when routes are added.
    pub operation_id: String,
    /// What it asks for.
    pub target: Target,
    /// Whether the path follows from names alone. A path that a design gives leads to the same.
    pub is_canonical: bool,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Something that the planner carries out.
    Operation(Verb),
    /// Several writes, all or none.
    Batch,
    /// Ask for an upload.
    AskUpload {
        /// To this prefix of a bucket.
        prefix: String,
    },
    /// Send the bytes of an upload, by a signed URL.
    SendFile,
    /// Ask for a file; or read it, by a signed URL.
    ReadFile,
    /// Something about accounts.
    Auth(AuthRequest),
    /// A command for administrators.
    Admin(&'static admin::Row),
    /// What programs are told of these commands.
    AdminDocument,
    /// What programs are told of the design: its OpenAPI document.
    Document,
    /// What people are told of it: a page.
    Page,
}

impl Target {
    /// Whether it is for administrators alone.
    pub fn is_admin(&self) -> bool {
        matches!(self, Target::Admin(_) | Target::AdminDocument)
    }

    /// Whether it writes items.
    pub fn is_write(&self) -> bool {
        match self {
            Target::Operation(verb) => !verb.is_read(),
            target => matches!(target, Target::Batch),
        }
    }

    /// Whether the body of a request says what exactly is asked for. Bytes of a file are not read
    /// as a body.
    pub fn takes_body(&self) -> bool {
        match self {
            Target::Operation(verb) => {
                let is_bare = matches!(verb, Verb::Delete(_) | Verb::Restore(_) | Verb::Purge(_));
                !verb.is_read() && !is_bare
            }
            Target::Batch | Target::AskUpload { .. } | Target::Admin(_) => true,
            Target::Auth(request) => request.takes_body(),
            Target::SendFile
            | Target::ReadFile
            | Target::AdminDocument
            | Target::Document
            | Target::Page => false,
        }
    }
}

/// A request that has a route.
#[derive(Clone, Debug, PartialEq)]
pub struct Found<'r> {
    /// The route.
    pub route: &'r Route,
    /// The values in the path, in their order.
    values: Vec<&'r str>,
}

/// Why a request has no route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Miss {
    /// There is nothing at its path.
    NoPath {
        /// What is missing, and what was probably meant.
        detail: String,
    },
    /// There is something, for other methods.
    NoMethod {
        /// These.
        allowed: Vec<Method>,
    },
}

impl<'r> Found<'r> {
    /// The value of that name in the path.
    pub fn value(&self, name: &str) -> Option<&'r str> {
        let mut values = self.values();
        values
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    /// The values in the path, with their names.
    pub fn values(&self) -> impl Iterator<Item = (&'r str, &'r str)> {
        let names = self.route.path.parameters();
        names.zip(self.values.iter().copied())
    }
}

impl Routes {
    /// The routes of a design.
    pub fn of(design: &Design) -> Self {
        let mut routes = Vec::new();
        for entity in design.entities() {
            of_entity(entity, &mut routes);
        }
        for action in &design.actions {
            of_action(action, design, &mut routes);
        }
        for pattern in &design.patterns {
            let canonical = PathTemplate::literal(["query", &pattern.name]);
            for place in places(canonical, pattern.path.as_ref()) {
                let verb = Verb::Query(pattern.id);
                let id = format!("query.{}", pattern.name);
                routes.push(place.route(Method::GET, place.path.clone(), id, verb));
            }
        }
        of_files(design, &mut routes);
        of_accounts(design, &mut routes);
        routes.push(Route::own(Method::POST, "batch", Target::Batch));
        routes.push(Route::own(Method::GET, "openapi.json", Target::Document));
        routes.push(Route::own(Method::GET, "docs", Target::Page));
        of_administrators(&mut routes);
        Routes {
            tree: Tree::of(&routes),
            routes,
        }
    }

    /// All routes, in the order of the design.
    pub fn iter(&self) -> std::slice::Iter<'_, Route> {
        self.routes.iter()
    }

    /// The route of a request, by its method and the parts of its path behind the design's name.
    pub fn find<'r>(&'r self, method: &Method, path: &[&'r str]) -> Result<Found<'r>, Miss> {
        // HEAD is GET without the body.
        let method = match *method {
            Method::HEAD => &Method::GET,
            ref method => method,
        };
        let mut matches = self.tree.matches(path);
        // What has the name of a prefix is no file: the name of a file goes on behind a path.
        if matches.first().is_some_and(|(at, _)| self.are_uploads(at)) {
            matches.truncate(1);
        }
        let all = || {
            matches
                .iter()
                .flat_map(|(at, values)| at.iter().map(move |at| (at, values)))
        };
        let mut with_method = all().filter(|(at, _)| self.routes[**at].method == *method);
        if let Some((at, values)) = with_method.next() {
            return Ok(Found {
                route: &self.routes[*at],
                values: values.clone(),
            });
        }
        if matches.is_empty() {
            let detail = self.tree.missing(path);
            return Err(Miss::NoPath { detail });
        }
        let allowed = all().map(|(at, _)| &self.routes[*at].method);
        Err(Miss::NoMethod {
            allowed: with_head(allowed),
        })
    }

    /// Whether uploads are asked for by these routes.
    fn are_uploads(&self, at: &[usize]) -> bool {
        let is_upload = |at: &usize| matches!(self.routes[*at].target, Target::AskUpload { .. });
        at.iter().all(is_upload)
    }
}

impl<'r> IntoIterator for &'r Routes {
    type Item = &'r Route;
    type IntoIter = std::slice::Iter<'r, Route>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Route {
    /// A route that every design has, whatever is in it.
    fn own(method: Method, word: &str, target: Target) -> Self {
        Route {
            method,
            path: PathTemplate::literal([word]),
            operation_id: word.to_owned(),
            target,
            is_canonical: true,
        }
    }
}

/// A path of an entity, pattern or action: the canonical one, or the one that the design gives.
struct Place {
    path: PathTemplate,
    is_canonical: bool,
}

/// The path that follows from a name, and the one that the design gives.
fn places(canonical: PathTemplate, own: Option<&PathTemplate>) -> Vec<Place> {
    let own = own.map(|path| Place {
        path: path.clone(),
        is_canonical: false,
    });
    let canonical = Place {
        path: canonical,
        is_canonical: true,
    };
    std::iter::once(canonical).chain(own).collect()
}

impl Place {
    /// A route at this place or below it.
    fn route(&self, method: Method, path: PathTemplate, id: String, verb: Verb) -> Route {
        Route {
            method,
            path,
            // Names in a design have no dots, so this is nobody else's.
            operation_id: if self.is_canonical {
                id
            } else {
                format!("{id}.byPath")
            },
            target: Target::Operation(verb),
            is_canonical: self.is_canonical,
        }
    }
}

fn of_entity(entity: &Record, routes: &mut Vec<Route>) {
    let canonical = item_path(&entity.name, &entity.identity);
    for place in places(canonical, entity.path.as_ref()) {
        let item = &place.path;
        let mut add = |method, path: &PathTemplate, word: &str, verb| {
            let id = format!("{}.{word}", entity.name);
            routes.push(place.route(method, path.clone(), id, verb));
        };
        let create = Verb::Create(entity.id);
        add(Method::POST, &item.collection(), "create", create);
        add(Method::GET, item, "get", Verb::Get(entity.id));
        let update = Verb::Update(entity.id);
        add(Method::PATCH, item, "update", update);
        let upsert = Verb::Upsert(entity.id);
        add(Method::PUT, item, "upsert", upsert);
        let delete = Verb::Delete(entity.id);
        add(Method::DELETE, item, "delete", delete);
        if entity.soft_delete.is_some() {
            let restore = Verb::Restore(entity.id);
            add(Method::POST, &item.below("restore"), "restore", restore);
        }
        if entity.has_purge_rule() {
            let purge = Verb::Purge(entity.id);
            add(Method::POST, &item.below("purge"), "purge", purge);
        }
    }
}

fn of_action(action: &Action, design: &Design, routes: &mut Vec<Route>) {
    let verb = |on| Verb::Act {
        action: action.id,
        on,
    };
    let ActionOn::Items(records) = &action.on else {
        let path = PathTemplate::literal(["action", &action.name]);
        let id = format!("action.{}", action.name);
        let place = Place {
            path: path.clone(),
            is_canonical: true,
        };
        routes.push(place.route(Method::POST, path, id, verb(None)));
        return;
    };
    for record in records {
        let record = &design[*record];
        let canonical = item_path(&record.name, &record.identity);
        for place in places(canonical, record.path.as_ref()) {
            let path = place.path.below(&action.name);
            let id = format!("{}.{}", record.name, action.name);
            routes.push(place.route(Method::POST, path, id, verb(Some(record.id))));
        }
    }
}

/// Files are asked for by the prefixes of buckets and by their own names, which have slashes in
/// them: those may be written as they are, or as `%2F`.
fn of_files(design: &Design, routes: &mut Vec<Route>) {
    let prefixes = design.buckets.iter().flat_map(|bucket| &bucket.prefixes);
    for prefix in prefixes {
        let path = PathTemplate::literal(["files", &prefix.name]);
        let target = Target::AskUpload {
            prefix: prefix.name.clone(),
        };
        // No entity is called `files`, so these ids are nobody else's.
        let id = format!("files.upload.{}", prefix.name);
        routes.push(other(Method::POST, path, id, target));
    }
    if !design.buckets.is_empty() {
        let path = PathTemplate::literal(["files"]).with("name");
        let id = "files.send".to_owned();
        routes.push(other(Method::PUT, path.clone(), id, Target::SendFile));
        let id = "files.read".to_owned();
        routes.push(other(Method::GET, path, id, Target::ReadFile));
    }
}

/// A path for every request about accounts.
fn of_accounts(design: &Design, routes: &mut Vec<Route>) {
    for row in auth::rows(design) {
        let parts = row.path.iter();
        let path = parts.fold(PathTemplate::literal([AUTH]), |path, part| {
            match part
                .strip_prefix('{')
                .and_then(|part| part.strip_suffix('}'))
            {
                Some(name) => path.with(name),
                None => path.below(part),
            }
        });
        // Names in a design have no dots, so these ids are nobody else's.
        let id = format!("{AUTH}.{}", row.name);
        let target = Target::Auth(row.request);
        routes.push(other(row.method, path, id, target));
    }
}

/// A path for every command.
fn of_administrators(routes: &mut Vec<Route>) {
    let path = |word: &str| PathTemplate::literal([ADMIN, word]);
    for command in admin::all() {
        // Names in a design have no dots, so these ids are nobody else's.
        let id = format!("{ADMIN}.{}", command.name);
        let target = Target::Admin(command);
        routes.push(other(Method::POST, path(command.name), id, target));
    }
    let (id, target) = (format!("{ADMIN}.openapi"), Target::AdminDocument);
    routes.push(other(Method::GET, path("openapi.json"), id, target));
}

/// A route to what the planner does not carry out.
fn other(method: Method, path: PathTemplate, operation_id: String, target: Target) -> Route {
    Route {
        method,
        path,
        operation_id,
        target,
        is_canonical: true,
    }
}

/// The path of an item that follows from the name of its record.
pub fn item_path(record: &str, identity: &[IdentityPart]) -> PathTemplate {
    let parts = identity.iter();
    parts.fold(PathTemplate::literal([record]), |path, part| {
        path.with(&part.name)
    })
}

/// Each method once, in the order of their names, and HEAD wherever GET is.
fn with_head<'m>(methods: impl Iterator<Item = &'m Method>) -> Vec<Method> {
    let mut methods: Vec<Method> = methods.cloned().collect();
    if methods.contains(&Method::GET) {
        methods.push(Method::HEAD);
    }
    methods.sort_by(|one, other| one.as_str().cmp(other.as_str()));
    methods.dedup();
    methods
}

#[cfg(test)]
mod tests;
