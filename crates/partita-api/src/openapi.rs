//! The OpenAPI 3.1 document of a design.
//!
//! Everything in it comes from the compiled design and from the same table of routes that answers
//! requests ([`crate::routes`]), so that it has exactly the requests that are answered. Where a
//! design gives a path of its own, the operation is under that path, and its description names the
//! other.
//!
//! | module | what it holds |
//! |---|---|
//! | `schema` | types as JSON Schema |
//! | `object` | objects with members inside maps |
//! | `record` | entities and views: as they are answered, and as they are given |
//! | `operation` | one route, and what the rules say of it |
//! | `item`, `action`, `pattern`, `files`, `auth`, `own`, `admin` | the kinds of routes: parameters, bodies and answers |
//! | `parts` | pieces that all of those are put together from |
//! | `problems` | refusals |
//! | `published` | the document as it is served |
//! | `example`, `sample` | values that fit, and whole bodies of them |

mod action;
mod admin;
mod auth;
mod example;
mod files;
mod item;
mod object;
mod operation;
mod own;
mod parts;
mod pattern;
mod problems;
mod published;
mod record;
mod sample;
mod schema;

use partita_design::Design;
use partita_design::design::{LIMIT_MAX, Record};
use serde_json::{Map, Value as Json, json};

use crate::access;
use crate::routes::{Route, Routes};
pub(crate) use problems::members as problem_members;
pub use published::Published;
pub(crate) use record::{found, table_keys};
pub(crate) use schema::{of as schema_of, of_parameter as schema_of_parameter};

/// The document of a design.
///
/// ```
/// use partita_api::{openapi, routes::Routes};
///
/// let source = partita_design::shipped::find("stories").unwrap().source;
/// let design = partita_design::check(source, &|_| None).0.unwrap();
/// let document = openapi::document(&design, &Routes::of(&design));
/// let title = &document["components"]["schemas"]["StoryNew"]["properties"]["title"];
/// assert_eq!((&title["minLength"], &title["maxLength"]), (&1.into(), &300.into()));
/// ```
pub fn document(design: &Design, routes: &Routes) -> Json {
    let about = design.about.clone().unwrap_or_default();
    let mut document = frame(design, &design.name, &about, paths(design, routes, false));
    document["tags"] = tags(design);
    let components = &mut document["components"];
    components["schemas"] = Json::Object(schemas(design));
    components["parameters"] = headers();
    components["headers"] = json!({
        "ETag": answer_header("The version of the item, for `If-Match`, and where counts, sums or copies change while it stays also what tells its states apart, for `If-None-Match`; only of entities that have a version."),
        "Location": answer_header("Where the item is, if the write has moved it: its identity has changed."),
        parts::PARTITA_JOB: answer_header("The id of the job that does the rest of the write, which is larger than a transaction; several are separated by commas. Without this header the write is complete."),
    });
    document
}

/// The document of a design's commands for administrators.
pub fn admin_document(design: &Design, routes: &Routes) -> Json {
    let title = format!("{}: administration", design.name);
    let about = "Commands for administrators of the design, as the command line has them.";
    let mut document = frame(design, &title, about, paths(design, routes, true));
    document["tags"] = json!([{ "name": "administrators" }]);
    document["components"]["schemas"] = Json::Object(problems::schemas().collect());
    document
}

fn frame(design: &Design, title: &str, about: &str, paths: Map<String, Json>) -> Json {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "description": about,
            "version": env!("CARGO_PKG_VERSION"),
        },
        "servers": [{ "url": format!("/{}", design.name) }],
        "paths": paths,
        "components": {
            "securitySchemes": { "bearer": {
                "type": "http",
                "scheme": "bearer",
                "bearerFormat": "JWT",
                "description": "A token for this design, such as `partita token` prints.",
            } },
            "responses": problems::responses(),
        },
    })
}

/// The operations that no rule allows. The document does not have them, for no client could do
/// anything with them; whoever asks all the same is refused as this says.
pub fn refused_paths(design: &Design, routes: &Routes) -> Map<String, Json> {
    paths_of(
        design,
        told(routes).filter(|told| is_closed(design, told.route)),
    )
}

/// An operation at the path that follows from names.
pub(crate) struct Canonical<'r> {
    pub(crate) route: &'r Route,
    pub(crate) operation: Json,
}

/// Everything that somebody may do, but for the commands for administrators.
pub(crate) fn canonical<'r>(
    design: &Design,
    routes: &'r Routes,
) -> impl Iterator<Item = Canonical<'r>> {
    let told = routes.iter().filter(|route| route.is_canonical);
    let told = told.filter(|route| !route.target.is_admin() && !is_closed(design, route));
    told.map(|route| Canonical {
        route,
        operation: operation::of(design, &Told { route, at: route }),
    })
}

fn is_closed(design: &Design, route: &Route) -> bool {
    access::row(design, route).is_closed()
}

/// The operations for everybody, or those for administrators alone.
fn paths(design: &Design, routes: &Routes, are_admins: bool) -> Map<String, Json> {
    let told = told(routes).filter(|told| told.route.target.is_admin() == are_admins);
    paths_of(design, told.filter(|told| !is_closed(design, told.route)))
}

fn paths_of<'r>(design: &Design, all: impl Iterator<Item = Told<'r>>) -> Map<String, Json> {
    let mut paths: Map<String, Json> = Map::new();
    for told in all {
        let path = paths.entry(format!("/{}", told.at.path));
        let method = told.at.method.as_str().to_ascii_lowercase();
        path.or_insert(json!({}))[method] = operation::of(design, &told);
    }
    paths
}

/// One operation of the document.
pub(crate) struct Told<'r> {
    /// The route that follows from names, whose name the operation has.
    pub(crate) route: &'r Route,
    /// Where the document has it: the path that the design gives, if it gives one.
    pub(crate) at: &'r Route,
}

/// Each thing that can be asked for once, though there may be two paths to it.
fn told(routes: &Routes) -> impl Iterator<Item = Told<'_>> {
    let canonical = routes.iter().filter(|route| route.is_canonical);
    canonical.map(|route| {
        let mut others = routes.iter().filter(|other| !other.is_canonical);
        let at = others.find(|other| other.target == route.target);
        Told {
            route,
            at: at.unwrap_or(route),
        }
    })
}

fn tags(design: &Design) -> Json {
    let tag = |name: &str, about: Option<&String>| {
        let mut tag = json!({ "name": name });
        if let Some(about) = about {
            tag["description"] = about.as_str().into();
        }
        tag
    };
    let records = design.records.iter();
    records
        .map(|record| tag(&record.name, record.about.as_ref()))
        .chain(
            design
                .accounts
                .iter()
                .map(|_| json!({ "name": "accounts" })),
        )
        .chain([json!({ "name": "partita" })])
        .collect()
}

fn schemas(design: &Design) -> Map<String, Json> {
    let mut schemas = Map::new();
    for entity in design.entities() {
        let name = &entity.name;
        schemas.insert(name.clone(), record::of_entity(design, entity));
        let new = record::new(design, entity, &[]).schema(entity.open);
        schemas.insert(given_name(design, entity, NEW), new);
        let changes = record::changes(design, entity);
        schemas.insert(given_name(design, entity, CHANGES), changes);
    }
    for (view, _) in design.views() {
        schemas.insert(view.name.clone(), record::of_view(design, view));
    }
    schemas.extend(problems::schemas());
    schemas
}

/// What a new item takes.
const NEW: &str = "New";

/// What an update takes.
const CHANGES: &str = "Changes";

/// What is behind the name of an entity in the names of schemas of what is given.
pub(crate) const GIVEN: [&str; 2] = [NEW, CHANGES];

/// The schema of what is given for an entity. Generators of clients make a module of a name with a
/// dot, so it has none; and what the design calls so has its name.
pub(crate) fn given_name(design: &Design, entity: &Record, suffix: &str) -> String {
    let mut name = format!("{}{suffix}", entity.name);
    while design.find_record(&name).is_some() {
        name.push('_');
    }
    name
}

/// What identifies an item of a record in a path.
pub(crate) fn identity_schema(record: &Record) -> Json {
    let parts = record.identity.iter();
    let names: Vec<&str> = parts.map(|part| part.name.as_str()).collect();
    let properties = record.identity.iter().map(|part| {
        let kind = record::identity_kind(record, &part.attribute);
        (part.name.clone(), schema::of(&kind))
    });
    json!({
        "type": "object",
        "description": format!("What tells one {} from another.", record.name),
        "x-partita-order": names,
        "required": names,
        "properties": properties.collect::<Map<_, _>>(),
    })
}

/// A header that answers may have.
fn answer_header(about: &str) -> Json {
    json!({ "description": about, "schema": { "type": "string" } })
}

/// The headers that requests may have.
fn headers() -> Json {
    let header = |name: &str, about: &str, schema: Json| json!({ "name": name, "in": "header", "description": about, "schema": schema });
    // One pattern, and no choice of schemas: generators of clients take only texts in headers.
    let version = json!({
        "type": "string",
        "minLength": 1,
        "pattern": "^(\\*|\"[0-9]{1,18}(-[0-9a-f]{16})?\")$",
    });
    json!({
        "If-Match": header(
            "If-Match",
            "The version that the caller saw, as its `ETag`: the change passes only while the item has it.",
            version.clone(),
        ),
        "If-None-Match": header(
            "If-None-Match",
            "The `ETag` of what the caller has: it is not sent again while it would look the same.",
            version.clone(),
        ),
        "Idempotency-Key": header(
            "Idempotency-Key",
            "Under the same key the same write is carried out once, and repeating it within a day gives the same answer. An item of more than 4 KB is shown as it is by then, or by its identity alone if it is gone.",
            json!({ "type": "string", "pattern": "^[!-~]{1,255}$" }),
        ),
        "Last-Event-ID": header(
            "Last-Event-ID",
            "Of a feed: the id of the last event that the caller has seen. What happened since is sent.",
            json!({ "type": "string" }),
        ),
        "Prefer": header(
            "Prefer",
            "`return=minimal` asks for an answer without the item.",
            json!({ "type": "string" }),
        ),
    })
}

/// Parameters of queries that are not the design's.
fn query_parameter(name: &str) -> Json {
    let (about, schema) = match name {
        "limit" => (
            "Items on the page at most.",
            json!({ "type": "integer", "minimum": 1, "maximum": LIMIT_MAX }),
        ),
        "cursor" => (
            "Where the last page ended: its `cursor`.",
            json!({ "type": "string" }),
        ),
        "order" => (
            "The order of the keys; without it, the pattern's own. A cursor belongs to its order.",
            json!({ "type": "string", "enum": ["asc", "desc"] }),
        ),
        "consistency" => (
            "`eventual` asks for the read that DynamoDB charges half for. It may miss the last writes.",
            json!({ "type": "string", "enum": ["eventual"] }),
        ),
        "deleted" => (
            "`include` finds a deleted item too.",
            json!({ "type": "string", "enum": ["include"] }),
        ),
        _ => (
            "`true` shows the keys of the table to administrators.",
            json!({ "type": "string", "enum": ["true", "false"] }),
        ),
    };
    json!({ "name": name, "in": "query", "description": about, "schema": schema })
}

#[cfg(test)]
mod tests;
