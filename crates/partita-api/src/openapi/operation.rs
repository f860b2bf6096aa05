//! One route as an operation of the document: parameters, body, answers.

use partita_design::Design;
use partita_design::design::{
    Action, ActionOn, Entity, LIMIT_MAX, Pattern, Read, RecordName, rules::LimitOf,
};
use serde_json::{Map, Value as Json, json};

use super::{Told, example, files, problems, record, sample, schema};
use crate::access::{self, Outcome, Persona};
use crate::routes::{self, Route, Target, Verb};

/// What a route is in the document.
pub(super) fn of(design: &Design, told: &Told<'_>) -> Json {
    let route = told.at;
    let row = access::row(design, route);
    let described = match &route.target {
        Target::Operation(verb) => of_verb(design, route, verb),
        Target::Batch => batch(),
        Target::Jobs => jobs(),
        Target::Document => document(),
        Target::Page => page_for_people(),
        Target::AskUpload { prefix } => files::ask_upload(design, prefix),
        Target::SendFile => files::send(),
        Target::ReadFile => files::read(),
    };
    let mut refusals = described.refusals;
    refusals.extend([400, 401, 403, 500, 503]);
    refusals.sort_unstable();
    refusals.dedup();
    let mut responses = problems::refer(refusals);
    // What nobody may do never succeeds, and no client should wait for it.
    if !row.is_closed() {
        responses.extend(described.answers);
    }
    let mut operation = json!({
        "operationId": told.route.operation_id,
        "summary": described.summary,
        "description": description(described.about.as_deref(), &row, told),
        "tags": [described.tag],
        "responses": responses,
        "security": security(&row),
        "x-partita-access": Persona::ALL.iter().map(|persona| {
            (persona.word().to_owned(), Json::from(row.outcome(*persona).words()))
        }).collect::<Map<_, _>>(),
    });
    if !described.parameters.is_empty() {
        operation["parameters"] = Json::Array(described.parameters);
    }
    if let Some(body) = described.body {
        operation["requestBody"] = body;
    }
    operation
}

/// What is said of an operation, except for what its rules say.
pub(super) struct Described {
    pub(super) summary: String,
    pub(super) about: Option<String>,
    pub(super) tag: String,
    pub(super) parameters: Vec<Json>,
    pub(super) body: Option<Json>,
    pub(super) answers: Map<String, Json>,
    pub(super) refusals: Vec<u16>,
}

fn of_verb(design: &Design, route: &Route, verb: &Verb) -> Described {
    let entity = |name: &str| design.entity(name);
    let described = match verb {
        Verb::Create { entity: name } => entity(name).map(|one| create(design, route, one)),
        Verb::Get { entity: name } => entity(name).map(|one| get(design, one)),
        Verb::Update { entity: name } => entity(name).map(|one| update(design, one)),
        Verb::Upsert { entity: name } => entity(name).map(|one| upsert(design, one)),
        Verb::Delete { entity: name } => entity(name).map(delete),
        Verb::Restore { entity: name } => entity(name).map(restore),
        Verb::Act { action, on } => design
            .action(action)
            .map(|action| act(design, action, on.as_ref())),
        Verb::Query { pattern } => design
            .pattern(pattern)
            .map(|pattern| query(design, route, pattern)),
    };
    let mut described = described.unwrap_or_else(|| nothing(route));
    let mut parameters = in_path(design, route, verb);
    parameters.append(&mut described.parameters);
    described.parameters = parameters;
    described
}

fn create(design: &Design, route: &Route, entity: &Entity) -> Described {
    let but: Vec<&str> = route.path.parameters().collect();
    let object = record::new(entity, &but);
    let name = &entity.name;
    let schema = match but.is_empty() {
        true => refer(&format!("{name}.New")),
        false => object.schema(entity.open),
    };
    let mut answers = Map::new();
    let mut created = answer(
        "The new item.",
        refer(name),
        sample::answered(design, entity),
    );
    created["headers"]["Location"] = json!({
        "description": "Where the item is.",
        "schema": { "type": "string" },
    });
    created["links"] = links(design, entity);
    answers.insert("201".to_owned(), created);
    if record::is_repeatable(entity) {
        let there = "The item was there already.";
        let there = answer(there, refer(name), sample::answered(design, entity));
        answers.insert("200".to_owned(), there);
    }
    answers.insert("204".to_owned(), silent());
    let given = sample::given(design, entity, &but);
    Described {
        summary: format!("Create a {name}"),
        about: entity.about.clone(),
        tag: name.clone(),
        parameters: vec![header("Idempotency-Key"), header("Prefer")],
        body: Some(body(schema, given, true)),
        answers,
        refusals: with_limit(
            design,
            &LimitOf::Access(partita_design::design::Access::Create, name.clone()),
            vec![404, 409, 413, 415, 422],
        ),
    }
}

fn get(design: &Design, entity: &Entity) -> Described {
    let name = &entity.name;
    let found = answer("The item.", refer(name), sample::answered(design, entity));
    let mut parameters = deleted(entity);
    parameters.push(query_parameter("keys"));
    let mut answers = one("200", found);
    let mut refusals = vec![404, 422];
    if entity.version().is_some() {
        parameters.extend([header("If-None-Match"), header("If-Match")]);
        answers.insert(
            "304".to_owned(),
            json!({ "description": "The caller has it already." }),
        );
        refusals.push(412);
    }
    Described {
        summary: format!("Read a {name}"),
        about: entity.about.clone(),
        tag: name.clone(),
        parameters,
        body: None,
        answers,
        refusals,
    }
}

fn update(design: &Design, entity: &Entity) -> Described {
    let name = &entity.name;
    let mut answers = one(
        "200",
        answer(
            "The item as it is now.",
            refer(name),
            sample::answered(design, entity),
        ),
    );
    answers.insert("204".to_owned(), silent());
    let mut parameters = deleted(entity);
    parameters.extend(version_header(entity));
    parameters.extend([header("Idempotency-Key"), header("Prefer")]);
    let mut refusals = vec![404, 409, 413, 415, 422];
    refusals.extend(entity.version().map(|_| 412));
    Described {
        summary: format!("Change a {name}"),
        about: Some("Replaces the attributes that are given; a null removes one.".to_owned()),
        tag: name.clone(),
        parameters,
        body: Some(body(
            refer(&format!("{name}.Changes")),
            sample::changed(design, entity),
            true,
        )),
        answers,
        refusals,
    }
}

fn upsert(design: &Design, entity: &Entity) -> Described {
    let name = &entity.name;
    let shown = || sample::answered(design, entity);
    let there = answer("The item was there, and is changed.", refer(name), shown());
    let mut answers = one("200", there);
    let new = answer("The item is new.", refer(name), shown());
    answers.insert("201".to_owned(), new);
    answers.insert("204".to_owned(), silent());
    let mut parameters: Vec<Json> = version_header(entity).into_iter().collect();
    parameters.extend([header("Idempotency-Key"), header("Prefer")]);
    let identity: Vec<&str> = entity
        .identity
        .iter()
        .map(|part| part.attribute.as_str())
        .collect();
    let given = sample::given(design, entity, &identity);
    Described {
        summary: format!("Create or change a {name}"),
        about: Some("Creates the item, or replaces what is given of it.".to_owned()),
        tag: name.clone(),
        parameters,
        body: Some(body(record::replacement(entity), given, true)),
        answers,
        refusals: vec![404, 409, 412, 413, 415, 422, 429],
    }
}

fn delete(entity: &Entity) -> Described {
    let name = &entity.name;
    let about = match &entity.soft_delete {
        Some(_) => "The item is kept and can be restored.",
        None => "The item is removed.",
    };
    let mut parameters: Vec<Json> = version_header(entity).into_iter().collect();
    parameters.push(header("Idempotency-Key"));
    let mut refusals = vec![404, 409, 422];
    refusals.extend(entity.version().map(|_| 412));
    Described {
        summary: format!("Delete a {name}"),
        about: Some(about.to_owned()),
        tag: name.clone(),
        parameters,
        body: None,
        answers: one("204", json!({ "description": "It is deleted." })),
        refusals,
    }
}

fn restore(entity: &Entity) -> Described {
    let name = &entity.name;
    let mut answers = one("200", answer("The item as it is now.", refer(name), None));
    answers.insert("204".to_owned(), silent());
    let mut parameters: Vec<Json> = version_header(entity).into_iter().collect();
    parameters.extend([header("Idempotency-Key"), header("Prefer")]);
    let mut refusals = vec![404, 409, 422];
    refusals.extend(entity.version().map(|_| 412));
    Described {
        summary: format!("Restore a {name}"),
        about: Some("Takes a delete back.".to_owned()),
        tag: name.clone(),
        parameters,
        body: None,
        answers,
        refusals,
    }
}

fn act(design: &Design, action: &Action, on: Option<&RecordName>) -> Described {
    let record = match (&action.on, on) {
        (_, Some(record)) => Some(record),
        (ActionOn::Found { record, .. }, None) => Some(record),
        (ActionOn::Every(_) | ActionOn::Items(_), None) => None,
    };
    let mut answers = one("204", json!({ "description": "It is done." }));
    if let Some(record) = record {
        let now = answer("The item as it is now.", refer(record.as_str()), None);
        answers.insert("200".to_owned(), now);
    }
    let entity = record.and_then(|record| match record {
        RecordName::Entity(name) => design.entity(name),
        RecordName::View(_) => None,
    });
    let input = record::action_input(design, action);
    let given = sample::action_example(design, action);
    let is_required = !input.is_optional();
    let mut parameters: Vec<Json> = entity.and_then(version_header).into_iter().collect();
    parameters.extend([header("Idempotency-Key"), header("Prefer")]);
    let mut refusals = vec![404, 409, 413, 415, 422];
    refusals.extend(entity.and_then(Entity::version).map(|_| 412));
    let tag = record.or(match &action.on {
        ActionOn::Every(application) => Some(&application.record),
        _ => None,
    });
    Described {
        summary: match record {
            Some(record) => format!("{} a {}", capital(&action.name), record.as_str()),
            None => capital(&action.name),
        },
        about: action.about.clone(),
        tag: tag.map_or_else(|| "actions".to_owned(), |record| record.as_str().to_owned()),
        parameters,
        body: (!input.is_empty()).then(|| body(input.schema(false), given, is_required)),
        answers,
        refusals: with_limit(design, &LimitOf::Action(action.name.clone()), refusals),
    }
}

fn query(design: &Design, route: &Route, pattern: &Pattern) -> Described {
    let found = record::found(design, pattern);
    let records: Vec<Json> = found.iter().map(|name| refer(name)).collect();
    let record = match records.as_slice() {
        [one] => one.clone(),
        several => json!({ "anyOf": several }),
    };
    let is_one = pattern.one || matches!(pattern.read, Read::Get(_));
    let in_path: Vec<&str> = route.path.parameters().collect();
    let asked = pattern.parameters.iter();
    let asked = asked.filter(|parameter| !in_path.contains(&parameter.name.as_str()));
    let mut parameters: Vec<Json> = asked
        .map(|parameter| {
            let schema = schema::in_key(schema::of_parameter(parameter));
            let mut asked = json!({
                "name": parameter.name,
                "in": "query",
                "required": !parameter.optional,
                "schema": schema,
            });
            if let Some(example) = example::of_parameter(parameter) {
                asked["example"] = example;
            }
            asked
        })
        .collect();
    if !is_one {
        let mut limit = query_parameter("limit");
        limit["schema"]["default"] = pattern.limit.into();
        parameters.extend([limit, query_parameter("cursor")]);
    }
    parameters.push(query_parameter("keys"));
    let (means, schema) = match is_one {
        true => ("The item.", record),
        false => ("A page of items.", page(&record)),
    };
    Described {
        summary: match &pattern.about {
            Some(about) => about.clone(),
            None => format!("Read `{}`", pattern.name),
        },
        about: Some(format!("`{}`", pattern.text)),
        tag: found.first().map_or("patterns", |name| name).to_owned(),
        parameters,
        body: None,
        answers: one("200", answer(means, schema, None)),
        refusals: match is_one {
            true => vec![404, 422],
            false => vec![422],
        },
    }
}

fn batch() -> Described {
    let text = || json!({ "type": "string" });
    let operation = json!({
        "type": "object",
        "required": ["method", "path"],
        "additionalProperties": false,
        "properties": {
            "method": { "type": "string", "enum": ["POST", "PUT", "PATCH", "DELETE"] },
            "path": { "type": "string", "description": "As it stands behind the design's name." },
            "body": { "type": ["object", "null"] },
            "ifMatch": text(),
            "ifNoneMatch": text(),
        },
    });
    let schema = json!({
        "type": "object",
        "required": ["operations"],
        "additionalProperties": false,
        "properties": { "operations": { "type": "array", "items": operation } },
    });
    let result = json!({
        "type": "object",
        "required": ["status"],
        "properties": {
            "status": { "type": "integer" },
            "etag": text(),
            "location": text(),
            "body": { "type": "object" },
        },
    });
    let results = json!({
        "type": "object",
        "required": ["results"],
        "properties": { "results": { "type": "array", "items": result } },
    });
    Described {
        summary: "Several writes, all or none".to_owned(),
        about: Some(
            "Each operation sees what the ones before it did; together they are one transaction."
                .to_owned(),
        ),
        tag: "partita".to_owned(),
        parameters: vec![header("Idempotency-Key"), header("Prefer")],
        body: Some(body(schema, Some(json!({ "operations": [] })), true)),
        answers: one("200", answer("What each came to.", results, None)),
        refusals: vec![404, 405, 409, 412, 413, 415, 422, 429],
    }
}

fn jobs() -> Described {
    let job = json!({
        "type": "object",
        "required": ["id", "of", "tasks", "state", "created", "done"],
        "properties": {
            "id": { "type": "string" },
            "state": { "type": "string" },
            "created": { "type": "string", "format": "date-time" },
        },
    });
    let schema = json!({
        "type": "object",
        "required": ["jobs"],
        "properties": { "jobs": { "type": "array", "items": job } },
    });
    Described {
        summary: "What still follows earlier writes".to_owned(),
        about: None,
        tag: "partita".to_owned(),
        parameters: Vec::new(),
        body: None,
        answers: one("200", answer("The jobs that are not done.", schema, None)),
        refusals: Vec::new(),
    }
}

fn document() -> Described {
    let mut answers = one(
        "200",
        answer("This document.", json!({ "type": "object" }), None),
    );
    answers.insert(
        "304".to_owned(),
        json!({ "description": "The caller has it already." }),
    );
    Described {
        summary: "The design, told to programs".to_owned(),
        about: None,
        tag: "partita".to_owned(),
        parameters: Vec::new(),
        body: None,
        answers,
        refusals: Vec::new(),
    }
}

fn page_for_people() -> Described {
    let page = json!({
        "description": "A page.",
        "content": { "text/html; charset=utf-8": { "schema": { "type": "string" } } },
    });
    Described {
        summary: "The design, told to people".to_owned(),
        about: Some("A page that can send requests.".to_owned()),
        tag: "partita".to_owned(),
        parameters: Vec::new(),
        body: None,
        answers: one("200", page),
        refusals: Vec::new(),
    }
}

/// A route to something that the design does not have; there is none.
fn nothing(route: &Route) -> Described {
    Described {
        summary: route.operation_id.clone(),
        about: None,
        tag: "partita".to_owned(),
        parameters: Vec::new(),
        body: None,
        answers: Map::new(),
        refusals: vec![404],
    }
}

/// The parameters in the path, each with the type of the attribute that it names.
fn in_path(design: &Design, route: &Route, verb: &Verb) -> Vec<Json> {
    let record = match verb {
        Verb::Create { entity }
        | Verb::Get { entity }
        | Verb::Update { entity }
        | Verb::Upsert { entity }
        | Verb::Delete { entity }
        | Verb::Restore { entity } => Some(RecordName::Entity(entity.clone())),
        Verb::Act { on, .. } => on.clone(),
        Verb::Query { .. } => None,
    };
    let names = route.path.parameters();
    let parameters = names.map(|name| {
        let (schema, example) = match (verb, &record) {
            (Verb::Query { pattern }, _) => {
                let pattern = design.pattern(pattern);
                let mut known = pattern.into_iter().flat_map(|one| &one.parameters);
                match known.find(|parameter| parameter.name == name) {
                    Some(one) => (schema::of_parameter(one), example::of_parameter(one)),
                    None => (json!({ "type": "string" }), None),
                }
            }
            (_, Some(record)) => {
                let mut identity = routes::identity(design, record).iter();
                let part = identity.find(|part| part.name == name);
                let attribute = part.map_or(name, |part| &part.attribute);
                let kind = record::identity_kind(design, record, attribute);
                (schema::of(&kind), example::of(name, &kind))
            }
            (_, None) => (json!({ "type": "string" }), None),
        };
        let mut parameter = json!({
            "name": name,
            "in": "path",
            "required": true,
            "schema": schema::in_key(schema),
        });
        if let Some(example) = example {
            parameter["example"] = example;
        }
        parameter
    });
    parameters.collect()
}

/// From a new item to everything that can be done to it.
fn links(design: &Design, entity: &Entity) -> Json {
    let is_secret = |name: &str| entity.attribute(name).is_none_or(|one| one.secret);
    if entity
        .identity
        .iter()
        .any(|part| is_secret(&part.attribute))
    {
        return json!({});
    }
    let identity = entity.identity.iter().map(|part| {
        let pointer = part.attribute.replace('.', "/");
        (
            part.name.clone(),
            format!("$response.body#/{pointer}").into(),
        )
    });
    let identity: Map<String, Json> = identity.collect();
    let name = &entity.name;
    let mut words = vec!["get", "update", "upsert", "delete"];
    if entity.soft_delete.is_some() {
        words.push("restore");
    }
    let actions = design.actions.iter().filter(|action| {
        let record = RecordName::Entity(name.clone());
        matches!(&action.on, ActionOn::Items(records) if records.contains(&record))
    });
    words.extend(actions.map(|action| action.name.as_str()));
    let links = words.into_iter().map(|word| {
        let operation = format!("{name}.{word}");
        (
            word.to_owned(),
            json!({ "operationId": operation, "parameters": identity }),
        )
    });
    Json::Object(links.collect())
}

/// A page of a list.
fn page(record: &Json) -> Json {
    json!({
        "type": "object",
        "required": ["items"],
        "additionalProperties": false,
        "properties": {
            "items": { "type": "array", "items": record, "maxItems": LIMIT_MAX },
            "cursor": { "type": "string", "description": "Where to go on; the end is reached when there is none." },
        },
    })
}

pub(super) fn answer(means: &str, schema: Json, example: Option<Json>) -> Json {
    let mut media = json!({ "schema": schema });
    if let Some(example) = example {
        media["example"] = example;
    }
    json!({
        "description": means,
        "headers": { "ETag": { "$ref": "#/components/headers/ETag" } },
        "content": { "application/json": media },
    })
}

/// The answer that shows nothing.
fn silent() -> Json {
    json!({ "description": "It is done, and not shown: `Prefer: return=minimal` asks for that, or the caller may not read the item." })
}

pub(super) fn body(schema: Json, example: Option<Json>, is_required: bool) -> Json {
    let mut media = json!({ "schema": schema });
    if let Some(example) = example {
        media["example"] = example;
    }
    json!({ "required": is_required, "content": { "application/json": media } })
}

pub(super) fn one(status: &str, response: Json) -> Map<String, Json> {
    Map::from_iter([(status.to_owned(), response)])
}

fn refer(schema: &str) -> Json {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

fn header(name: &str) -> Json {
    json!({ "$ref": format!("#/components/parameters/{name}") })
}

fn query_parameter(name: &str) -> Json {
    super::query_parameter(name)
}

fn version_header(entity: &Entity) -> Option<Json> {
    entity.version().map(|_| header("If-Match"))
}

fn deleted(entity: &Entity) -> Vec<Json> {
    let parameter = entity.soft_delete.as_ref();
    parameter
        .map(|_| query_parameter("deleted"))
        .into_iter()
        .collect()
}

fn with_limit(design: &Design, of: &LimitOf, mut refusals: Vec<u16>) -> Vec<u16> {
    if design.limits.iter().any(|limit| limit.of == *of) {
        refusals.push(429);
    }
    refusals
}

/// A token is needed unless the rules let somebody pass without one, be it for some items.
fn security(row: &access::Row<'_>) -> Json {
    match row.outcome(Persona::Nobody) {
        // No token opens what nobody may do.
        Outcome::No if !row.is_closed() => json!([{ "bearer": [] }]),
        Outcome::No => json!([{}]),
        Outcome::Yes | Outcome::If(_) => json!([{}, { "bearer": [] }]),
    }
}

fn description(about: Option<&str>, row: &access::Row<'_>, told: &Told<'_>) -> String {
    let rules: Vec<String> = row
        .rules
        .iter()
        .map(|rule| match rule.as_str() {
            "public" => "Anybody may do this.".to_owned(),
            "signed-in" => "Anybody with a token may do this.".to_owned(),
            "never" => "Nobody may do this.".to_owned(),
            rule => format!("Allowed where `{rule}`."),
        })
        .collect();
    let about = about.map(str::to_owned);
    let other =
        (told.at.path != told.route.path).then(|| format!("Also at `/{}`.", told.route.path));
    let sentences: Vec<String> = about.into_iter().chain(rules).chain(other).collect();
    sentences.join("\n\n")
}

/// The name with a capital letter: `markRead` is `MarkRead`.
fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}
