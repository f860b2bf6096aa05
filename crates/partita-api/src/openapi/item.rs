//! Operations on one item: create, read, change, delete, restore, purge.

use partita_core::wording::article;
use partita_design::Design;
use partita_design::design::{Access, ActionOn, Record, rules::LimitOf};
use serde_json::{Map, Value as Json, json};

use super::operation::Described;
use super::parts::{
    answer, body, header, one, query_parameter, refer, silent, version_header, with_limit,
};
use super::{CHANGES, NEW, given_name, record, sample};
use crate::access;
use crate::routes::{Route, Verb};

pub(super) fn create(design: &Design, route: &Route, entity: &Record) -> Described {
    let but: Vec<&str> = route.path.parameters().collect();
    let object = record::new(design, entity, &but);
    let name = &entity.name;
    let schema = if but.is_empty() {
        refer(&given_name(design, entity, NEW))
    } else {
        object.schema(entity.open)
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
        summary: format!("Create {} {name}", article(name)),
        about: entity.about.clone(),
        tag: name.clone(),
        parameters: vec![header("Idempotency-Key"), header("Prefer")],
        body: Some(body(schema, given, true)),
        answers,
        refusals: with_limit(
            design,
            &LimitOf::Access(Access::Create, entity.id),
            vec![404, 409, 413, 415, 422],
        ),
    }
}

pub(super) fn get(design: &Design, entity: &Record) -> Described {
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
        summary: format!("Read {} {name}", article(name)),
        about: entity.about.clone(),
        tag: name.clone(),
        parameters,
        body: None,
        answers,
        refusals,
    }
}

pub(super) fn update(design: &Design, entity: &Record) -> Described {
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
        summary: format!("Change {} {name}", article(name)),
        about: Some("Replaces the attributes that are given; a null removes one.".to_owned()),
        tag: name.clone(),
        parameters,
        body: Some(body(
            refer(&given_name(design, entity, CHANGES)),
            sample::changed(design, entity),
            true,
        )),
        answers,
        refusals,
    }
}

pub(super) fn upsert(design: &Design, entity: &Record) -> Described {
    let name = &entity.name;
    let shown = || sample::answered(design, entity);
    let there = answer("The item was there, and is changed.", refer(name), shown());
    let mut answers = one("200", there);
    let about = if entity.takes_identity() {
        let new = answer("The item is new.", refer(name), shown());
        answers.insert("201".to_owned(), new);
        "Creates the item, or replaces what is given of it."
    } else {
        "Replaces what is given of the item, which must be there: its identity is computed."
    };
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
        summary: format!("Create or change {} {name}", article(name)),
        about: Some(about.to_owned()),
        tag: name.clone(),
        parameters,
        body: Some(body(record::replacement(design, entity), given, true)),
        answers,
        refusals: vec![404, 409, 412, 413, 415, 422, 429],
    }
}

pub(super) fn delete(entity: &Record) -> Described {
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
        summary: format!("Delete {} {name}", article(name)),
        about: Some(about.to_owned()),
        tag: name.clone(),
        parameters,
        body: None,
        answers: one("204", json!({ "description": "It is deleted." })),
        refusals,
    }
}

pub(super) fn restore(entity: &Record) -> Described {
    let name = &entity.name;
    let mut answers = one("200", answer("The item as it is now.", refer(name), None));
    answers.insert("204".to_owned(), silent());
    let mut parameters: Vec<Json> = version_header(entity).into_iter().collect();
    parameters.extend([header("Idempotency-Key"), header("Prefer")]);
    let mut refusals = vec![404, 409, 422];
    refusals.extend(entity.version().map(|_| 412));
    Described {
        summary: format!("Restore {} {name}", article(name)),
        about: Some("Takes a delete back.".to_owned()),
        tag: name.clone(),
        parameters,
        body: None,
        answers,
        refusals,
    }
}

pub(super) fn purge(entity: &Record) -> Described {
    let name = &entity.name;
    Described {
        summary: format!("Purge {} {name}", article(name)),
        about: Some("Removes a deleted item for good, with its history and files.".to_owned()),
        answers: one("204", json!({ "description": "It is gone." })),
        ..delete(entity)
    }
}

/// From a new item to everything that can be done to it.
fn links(design: &Design, entity: &Record) -> Json {
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
    let mut ways = vec![
        ("get", Verb::Get(entity.id)),
        ("update", Verb::Update(entity.id)),
        ("upsert", Verb::Upsert(entity.id)),
        ("delete", Verb::Delete(entity.id)),
    ];
    if entity.soft_delete.is_some() {
        ways.push(("restore", Verb::Restore(entity.id)));
    }
    if entity.has_purge_rule() {
        ways.push(("purge", Verb::Purge(entity.id)));
    }
    let actions = design.actions.iter().filter(
        |action| matches!(&action.on, ActionOn::Items(records) if records.contains(&entity.id)),
    );
    ways.extend(actions.map(|action| {
        let (action, name) = (action.id, action.name.as_str());
        let on = Some(entity.id);
        (name, Verb::Act { action, on })
    }));
    let ways = ways.into_iter();
    let open = ways.filter(|(_, verb)| !access::is_closed(design, *verb));
    let links = open.map(|(word, _)| {
        let operation = format!("{}.{word}", entity.name);
        (
            word.to_owned(),
            json!({ "operationId": operation, "parameters": identity }),
        )
    });
    Json::Object(links.collect())
}

fn deleted(entity: &Record) -> Vec<Json> {
    let parameter = entity.soft_delete.as_ref();
    parameter
        .map(|_| query_parameter("deleted"))
        .into_iter()
        .collect()
}
