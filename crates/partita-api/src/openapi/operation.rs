//! One route as an operation of the document: what the kinds of routes say of it, and the rules.

use partita_design::Design;
use partita_design::design::Pattern;
use partita_plan::feed::no_feed;
use serde_json::{Map, Value as Json, json};

use super::{
    Told, action, admin, auth, example, files, item, own, parts, pattern, problems, record, schema,
};
use crate::access::{self, Outcome, Persona};
use crate::routes::{Route, Target, Verb};

/// What a route is in the document.
pub(super) fn of(design: &Design, told: &Told<'_>) -> Json {
    let route = told.at;
    let row = access::row(design, route);
    let mut described = match &route.target {
        Target::Operation(verb) => of_verb(design, route, *verb),
        Target::Batch => own::batch(),
        Target::Auth(request) => auth::request(design, *request),
        Target::Admin(command) => admin::command(command),
        Target::AdminDocument => admin::document(),
        Target::Document => own::document(),
        Target::Page => own::page_for_people(),
        Target::AskUpload { prefix } => files::ask_upload(design, prefix),
        Target::SendFile => files::send(),
        Target::ReadFile => files::read(),
    };
    let mut refusals = described.refusals;
    if route.target.is_write() {
        parts::add_header(&mut described.answers, parts::PARTITA_JOB);
    }
    refusals.extend([400, 401, 403, 500, 503]);
    refusals.sort_unstable();
    refusals.dedup();
    let mut responses = problems::refer(refusals);
    // What no caller may do never succeeds, so no client should expect success.
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

fn of_verb(design: &Design, route: &Route, verb: Verb) -> Described {
    let mut described = match verb {
        Verb::Create(entity) => item::create(design, route, &design[entity]),
        Verb::Get(entity) => item::get(design, &design[entity]),
        Verb::Update(entity) => item::update(design, &design[entity]),
        Verb::Upsert(entity) => item::upsert(design, &design[entity]),
        Verb::Delete(entity) => item::delete(&design[entity]),
        Verb::Restore(entity) => item::restore(&design[entity]),
        Verb::Purge(entity) => item::purge(&design[entity]),
        Verb::Act { action, on } => action::act(design, &design[action], on),
        Verb::Query(pattern) => pattern::query(design, route, &design[pattern]),
    };
    let why_not = match verb {
        Verb::Get(entity) => Some(no_feed(design, &Pattern::of_item(&design[entity], false))),
        Verb::Query(pattern) => Some(no_feed(design, &design[pattern])),
        _ => None,
    };
    if let Some(why_not) = why_not {
        parts::add_feed(&mut described, why_not);
    }
    if moves(design, verb) {
        parts::add_header(&mut described.answers, "Location");
    }
    let mut parameters = in_path(design, route, verb);
    parameters.append(&mut described.parameters);
    described.parameters = parameters;
    described
}

/// Whether an operation can change the identity of its item.
fn moves(design: &Design, verb: Verb) -> bool {
    let (Verb::Update(record)
    | Verb::Act {
        on: Some(record), ..
    }) = verb
    else {
        return false;
    };
    design[record].movable_part().is_some()
}

/// The parameters in the path, each with the type of the attribute that it names.
fn in_path(design: &Design, route: &Route, verb: Verb) -> Vec<Json> {
    let names = route.path.parameters();
    let parameters = names.map(|name| {
        let (schema, example) = match (verb, verb.record()) {
            (Verb::Query(pattern), _) => {
                let mut known = design[pattern].parameters.iter();
                match known.find(|parameter| parameter.name == name) {
                    Some(one) => (schema::of_parameter(one), example::of_parameter(one)),
                    None => (json!({ "type": "string" }), None),
                }
            }
            (_, Some(record)) => {
                let record = &design[record];
                let part = record.identity.iter().find(|part| part.name == name);
                let attribute = part.map_or(name, |part| &part.attribute);
                let kind = record::identity_kind(record, attribute);
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
        // No token opens a closed route.
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
