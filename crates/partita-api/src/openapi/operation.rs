//! One route as an operation of the document: what the kinds of routes say of it, and the rules.

use partita_design::Design;
use partita_design::design::RecordName;
use serde_json::{Map, Value as Json, json};

use super::{Told, action, example, files, item, own, pattern, problems, record, schema};
use crate::access::{self, Outcome, Persona};
use crate::routes::{self, Route, Target, Verb};

/// What a route is in the document.
pub(super) fn of(design: &Design, told: &Told<'_>) -> Json {
    let route = told.at;
    let row = access::row(design, route);
    let described = match &route.target {
        Target::Operation(verb) => of_verb(design, route, verb),
        Target::Batch => own::batch(),
        Target::Jobs => own::jobs(),
        Target::Document => own::document(),
        Target::Page => own::page_for_people(),
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
        Verb::Create { entity: name } => entity(name).map(|one| item::create(design, route, one)),
        Verb::Get { entity: name } => entity(name).map(|one| item::get(design, one)),
        Verb::Update { entity: name } => entity(name).map(|one| item::update(design, one)),
        Verb::Upsert { entity: name } => entity(name).map(|one| item::upsert(design, one)),
        Verb::Delete { entity: name } => entity(name).map(item::delete),
        Verb::Restore { entity: name } => entity(name).map(item::restore),
        Verb::Act { action, on } => design
            .action(action)
            .map(|action| action::act(design, action, on.as_ref())),
        Verb::Query { pattern } => design
            .pattern(pattern)
            .map(|pattern| pattern::query(design, route, pattern)),
    };
    let mut described = described.unwrap_or_else(|| nothing(route));
    let mut parameters = in_path(design, route, verb);
    parameters.append(&mut described.parameters);
    described.parameters = parameters;
    described
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
