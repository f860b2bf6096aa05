//! What a client can ask for: a member for every operation that somebody may do.

use partita_design::Design;
use partita_design::design::{Pattern, Read, Record, Segment};
use partita_plan::feed::no_feed;
use serde_json::{Value as Json, json};

use super::Client;
use super::words::{comment, entry, of, text};
use crate::auth::AuthRequest;
use crate::openapi::{self, Canonical};
use crate::routes::{Route, Target, Verb};

/// A group of members: those of an entity, the patterns, what concerns accounts.
#[derive(Default)]
pub(super) struct Group {
    pub(super) name: String,
    /// Writes, as a batch takes them.
    pub(super) operations: String,
    pub(super) members: String,
}

const INDENT: &str = "      ";

impl Client<'_> {
    /// Adds what an operation of the document is to the groups.
    pub(super) fn call(&mut self, called: &Canonical<'_>) {
        let design = self.design;
        match &called.route.target {
            Target::Operation(Verb::Query(pattern)) => self.query(called, &design[*pattern]),
            Target::Operation(Verb::Get(entity)) => self.get(called, &design[*entity]),
            Target::Operation(verb) => self.write(called, *verb),
            Target::Auth(request) => self.account(called, *request),
            Target::AskUpload { prefix } => {
                self.uploads.push(prefix.clone());
                self.upload = Some(called.operation.clone());
            }
            Target::ReadFile => self.read_file(called),
            Target::Batch
            | Target::SendFile
            | Target::Admin(_)
            | Target::AdminDocument
            | Target::Document
            | Target::Page => {}
        }
    }

    fn get(&mut self, called: &Canonical<'_>, entity: &Record) {
        let identity = self.identity(entity);
        let class = self.one(entity_feed(self.design, entity), &[entity]);
        let said = said_of(&called.operation);
        let path = path_of(called.route, of_item);
        let (item, get) = (
            format!("item: (of: {identity}) => new {class}(server, {path}),"),
            format!(
                "get: async (of: {identity}, options?: ItemOptions) => new {class}(server, {path}).get(options),"
            ),
        );
        let group = self.group(&entity.name);
        group.add("An item by its identity, to be read or followed.", &item);
        group.add(&said, &get);
    }

    /// The type of what identifies an item of a record.
    fn identity(&mut self, record: &Record) -> String {
        if let Some(known) = self.identities.get(&record.id) {
            return known.clone();
        }
        let wanted = format!("{}Identity", record.name);
        let name = self.declare(&wanted, &openapi::identity_schema(record));
        self.identities.insert(record.id, name.clone());
        name
    }

    fn query(&mut self, called: &Canonical<'_>, pattern: &Pattern) {
        let design = self.design;
        let found = self.found(pattern);
        let parameters = called.operation["parameters"].as_array();
        let parameters: Vec<&Json> = parameters.into_iter().flatten().collect();
        let asked = |name: &str| parameters.iter().any(|one| one["name"] == name);
        let is_one = pattern.one || matches!(pattern.read, Read::Get(_));
        let follows = no_feed(design, pattern).is_none();
        let class = if is_one {
            self.one(follows, &found)
        } else {
            self.rows(follows, &found)
        };
        let identity = match found.as_slice() {
            [record] if follows && !is_one => {
                let parts = record.identity.iter().map(|part| text(&part.attribute));
                format!(", [{}]", parts.collect::<Vec<_>>().join(", "))
            }
            _ => String::new(),
        };
        let is_ordered = asked("order") && pattern.parameters.iter().all(|one| one.name != "order");
        let mut takes = Vec::new();
        let mut given = Vec::new();
        if !pattern.parameters.is_empty() {
            let kind = self.parameters(pattern, &parameters);
            let all_optional = pattern.parameters.iter().all(|one| one.optional);
            let default = if all_optional { " = {}" } else { "" };
            takes.push(format!("parameters: {kind}{default}"));
            given.push("...parameters");
        }
        if is_ordered {
            takes.push("options: { order?: 'asc' | 'desc' } = {}".to_owned());
            given.push("...options");
        }
        let path = format!("path('query', {})", text(&pattern.name));
        let path = match given.as_slice() {
            [] => path,
            given => format!("asking({path}, {{ {} }})", given.join(", ")),
        };
        let (takes, name) = (takes.join(", "), entry(&pattern.name));
        let member = format!("{name}: ({takes}) => new {class}(server, {path}{identity}),");
        let said = said_of(&called.operation);
        self.group("query").add(&said, &member);
    }

    /// The type of a pattern's parameters.
    fn parameters(&mut self, pattern: &Pattern, told: &[&Json]) -> String {
        let told = |name: &str| told.iter().find(|one| one["name"] == name);
        let own = pattern.parameters.iter();
        let own = own.filter_map(|one| Some((one, told(&one.name)?)));
        let (mut properties, mut required) = (serde_json::Map::new(), Vec::new());
        for (parameter, told) in own {
            properties.insert(parameter.name.clone(), told["schema"].clone());
            if !parameter.optional {
                required.push(parameter.name.clone());
            }
        }
        let order = pattern.parameters.iter().map(|one| one.name.as_str());
        let order: Vec<&str> = order.collect();
        let schema = json!({
            "type": "object",
            "x-partita-order": order,
            "required": required,
            "properties": properties,
        });
        self.declare(
            &format!("{}Parameters", super::words::capital(&pattern.name)),
            &schema,
        )
    }

    fn write(&mut self, called: &Canonical<'_>, verb: Verb) {
        let design = self.design;
        let record = verb.record().map(|record| &design[record]);
        let (group, name) = match (called.route.operation_id.split_once('.'), record) {
            (Some((group, name)), _) => (group.to_owned(), name.to_owned()),
            (None, _) => return,
        };
        let mut takes = Vec::new();
        if called.route.path.parameters().next().is_some()
            && let Some(record) = record
        {
            takes.push(("of", self.identity(record), true));
        }
        let body = &called.operation["requestBody"];
        let schema = &body["content"]["application/json"]["schema"];
        let given = match verb {
            Verb::Update(_) => "changes",
            Verb::Create(_) | Verb::Upsert(_) => "given",
            _ => "input",
        };
        if !body.is_null() {
            let kind = self.body(verb, record, &name, schema);
            takes.push((given, kind, body["required"] == true));
        }
        let answers = match (verb, self.answered(&called.operation)) {
            (Verb::Delete(_), _) | (_, None) => "undefined".to_owned(),
            (_, Some(answered)) => answered,
        };
        let method = text(called.route.method.as_str());
        let sent = if body.is_null() {
            String::new()
        } else {
            format!(", body: {given}")
        };
        let path = path_of(called.route, of_item);
        let parameters = takes.iter().map(|(name, kind, is_required)| {
            let default = if *is_required { "" } else { " = {}" };
            format!("{name}: {kind}{default}")
        });
        let parameters: Vec<String> = parameters.collect();
        let operation = format!(
            "{}: ({}): Operation<{answers}> => ({{ method: {method}, path: {path}{sent} }}),",
            entry(&name),
            parameters.join(", "),
        );
        let options = options_of(verb, record);
        let names: Vec<&str> = takes.iter().map(|(name, ..)| *name).collect();
        let member = format!(
            "{}: async ({}) => server.write({}({}), options),",
            entry(&name),
            parameters
                .into_iter()
                .chain([format!("options?: {options}")])
                .collect::<Vec<_>>()
                .join(", "),
            of(&of("operations", &group), &name),
            names.join(", "),
        );
        let said = said_of(&called.operation);
        let group = self.group(&group);
        group.operations += &format!("    {operation}\n");
        group.add(&said, &member);
    }

    /// The type of the body of a write.
    fn body(&mut self, verb: Verb, record: Option<&Record>, name: &str, schema: &Json) -> String {
        if schema.get("$ref").is_some() {
            return self.types().of(schema, "");
        }
        let on = record
            .map(|record| record.name.as_str())
            .unwrap_or_default();
        let wanted = match verb {
            Verb::Upsert(_) => format!("{on}Replacement"),
            _ => format!("{on}{}Input", super::words::capital(name)),
        };
        self.declare(&wanted, schema)
    }

    /// The type of what an operation answers.
    fn answered(&self, operation: &Json) -> Option<String> {
        let answers = ["200", "201", "202"].into_iter();
        let mut schemas = answers
            .map(|status| &operation["responses"][status]["content"]["application/json"]["schema"]);
        let schema = schemas.find(|schema| !schema.is_null())?;
        Some(self.types().of(schema, INDENT))
    }

    fn account(&mut self, called: &Canonical<'_>, request: AuthRequest) {
        use AuthRequest as Of;
        let route = called.route;
        let (method, path) = (text(route.method.as_str()), path_of(route, str::to_owned));
        let answered = self.answered(&called.operation);
        let answered = answered.unwrap_or_else(|| "void".to_owned());
        let body = &called.operation["requestBody"]["content"]["application/json"]["schema"];
        let name = route.operation_id.trim_start_matches("auth.");
        let given = (!body.is_null()).then(|| self.types().of(body, INDENT));
        let member = match (request, given) {
            // A browser goes there by itself.
            (Of::VerifyPage | Of::ResetPage | Of::ClaimPage | Of::ReturnFromProvider, _) => return,
            (Of::BeginAtProvider, _) => {
                let provider = self.path_parameter(called, "provider");
                format!(
                    "{name}: (provider: {provider}, back?: string) => server.address(asking(path('auth', 'oidc', provider), {{ return: back }})),"
                )
            }
            (Of::SignOut, _) => {
                format!("{name}: (options?: ReadOptions) => server.close({path}, options),")
            }
            (Of::SignIn | Of::SignUp, Some(given)) => format!(
                "{name}: (given: {given}, options?: ReadOptions) => server.open<{answered}>({path}, options, given),"
            ),
            (_, Some(given)) => format!(
                "{name}: (given: {given}, options?: ReadOptions) => server.ask<{answered}>({method}, {path}, options, given),"
            ),
            (_, None) => {
                let parts = route
                    .path
                    .parameters()
                    .map(|part| format!("{part}: {}, ", self.path_parameter(called, part)));
                let takes: String = parts.collect();
                format!(
                    "{name}: async ({takes}options?: ReadOptions) => server.ask<{answered}>({method}, {path}, options),"
                )
            }
        };
        let said = match request {
            Of::BeginAtProvider => "Where to send a browser, so that somebody signs in at a provider. It comes back to the path `back`, with the session in a cookie.".to_owned(),
            _ => said_of(&called.operation),
        };
        self.group("auth").add(&said, &member);
    }

    fn path_parameter(&self, called: &Canonical<'_>, name: &str) -> String {
        let parameters = called.operation["parameters"].as_array();
        let mut parameters = parameters.into_iter().flatten();
        let found = parameters.find(|one| one["name"] == name && one["in"] == "path");
        found.map_or("string".to_owned(), |one| {
            self.types().of(&one["schema"], "")
        })
    }

    fn read_file(&mut self, called: &Canonical<'_>) {
        let answered = self.answered(&called.operation).unwrap_or_default();
        let member = format!(
            "read: async (name: string, options?: ReadOptions) => server.file<{answered}>(name, options),"
        );
        self.group("files")
            .add("Where a file can be read for a while.", &member);
    }

    /// The members that send files, once it is known where they may go.
    pub(super) fn uploading(&mut self) {
        let Some(operation) = self.upload.take() else {
            return;
        };
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        let asked = self.types().of(body, INDENT);
        let granted = self.answered(&operation).unwrap_or_default();
        let prefixes: Vec<String> = self.uploads.iter().map(|one| text(one)).collect();
        let upload = format!(
            "upload: (prefix: {}, asked: {asked}, options?: ReadOptions) => server.ask<{granted}>('POST', path('files', prefix), options, asked),",
            prefixes.join(" | "),
        );
        let send = "send: (granted: { upload: { method: string; url: string; headers: object } }, bytes: BodyInit, options?: ReadOptions) => server.upload(granted, bytes, options),";
        let group = self.group("files");
        group.add("Asks for an upload. What is answered goes to `send` with the bytes; an item takes the upload over by its `name`.", &upload);
        group.add("Sends the bytes of an upload.", send);
    }

    /// The class of something that is one item, with its types.
    fn one(&self, follows: bool, found: &[&Record]) -> String {
        let kind = self.union(found);
        if follows {
            format!("FollowedOne<{kind}, {}>", self.left(found))
        } else {
            format!("One<{kind}>")
        }
    }

    /// The class of a list, with its types.
    fn rows(&self, follows: bool, found: &[&Record]) -> String {
        let kind = self.union(found);
        match (follows, found.len()) {
            (true, 1) => format!("LiveRows<{kind}, {}>", self.left(found)),
            (true, _) => format!("FollowedRows<{kind}, {}>", self.left(found)),
            (false, _) => format!("Rows<{kind}>"),
        }
    }

    fn union(&self, found: &[&Record]) -> String {
        let names = found.iter().map(|record| self.record_type(record));
        if found.is_empty() {
            "unknown".to_owned()
        } else {
            names.collect::<Vec<_>>().join(" | ")
        }
    }

    /// The type of what is said of a row that leaves: the attributes of its identity.
    fn left(&self, found: &[&Record]) -> String {
        let all = found.iter().map(|record| {
            let mut names: Vec<&str> = Vec::new();
            let is_secret = |name: &str| record.attribute(name).is_some_and(|one| one.secret);
            let shown = record.identity.iter();
            for part in shown.filter(|part| !is_secret(&part.attribute)) {
                let first = part.attribute.split('.').next().unwrap_or_default();
                if !names.contains(&first) {
                    names.push(first);
                }
            }
            let names: Vec<String> = names.into_iter().map(text).collect();
            let names = if names.is_empty() {
                "never".to_owned()
            } else {
                names.join(" | ")
            };
            format!("Left<{}, {names}>", self.record_type(record))
        });
        if found.is_empty() {
            "unknown".to_owned()
        } else {
            all.collect::<Vec<_>>().join(" | ")
        }
    }
}

impl Group {
    fn add(&mut self, said: &str, member: &str) {
        self.members += &comment(said, INDENT);
        self.members += &format!("{INDENT}{member}\n");
    }
}

fn entity_feed(design: &Design, entity: &Record) -> bool {
    no_feed(design, &Pattern::of_item(entity, false)).is_none()
}

/// What may be said of a write beside what it gives.
fn options_of(verb: Verb, record: Option<&Record>) -> &'static str {
    let has_version = record.is_some_and(|record| record.is_entity() && record.version().is_some());
    match verb {
        Verb::Upsert(_) => "UpsertOptions",
        Verb::Create(_) => "WriteOptions",
        _ if has_version => "VersionedOptions",
        _ => "WriteOptions",
    }
}

fn said_of(operation: &Json) -> String {
    let summary = operation["summary"].as_str().unwrap_or_default();
    let said = operation["description"].as_str().unwrap_or_default();
    format!("{}.\n\n{said}", summary.trim_end_matches('.'))
}

/// A path as the client makes it, with values that are spelled so.
fn path_of(route: &Route, value: impl Fn(&str) -> String) -> String {
    let parts = route.path.segments.iter().map(|segment| match segment {
        Segment::Literal(word) => text(word),
        Segment::Parameter(name) => value(name),
    });
    format!("path({})", parts.collect::<Vec<_>>().join(", "))
}

/// A part of the identity of an item.
fn of_item(name: &str) -> String {
    of("of", name)
}
