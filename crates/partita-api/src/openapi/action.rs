//! Actions: what a design gives a name to.

use partita_core::wording::article;
use partita_design::Design;
use partita_design::design::{Action, ActionOn, Record, RecordId, rules::LimitOf};
use serde_json::{Value as Json, json};

use super::operation::Described;
use super::parts::{answer, body, header, one, refer, version_header, with_limit};
use super::{record, sample};

pub(super) fn act(design: &Design, action: &Action, on: Option<RecordId>) -> Described {
    let record = match (&action.on, on) {
        (_, Some(record)) => Some(record),
        (ActionOn::Found { record, .. }, None) => Some(*record),
        (ActionOn::Every(_) | ActionOn::Items(_), None) => None,
    };
    let record = record.map(|record| &design[record]);
    let mut answers = one("204", json!({ "description": "It is done." }));
    if let Some(record) = record {
        let now = answer("The item as it is now.", refer(&record.name), None);
        answers.insert("200".to_owned(), now);
    }
    let entity = record.filter(|record| record.is_entity());
    let input = record::action_input(design, action);
    let given = sample::action_example(design, action);
    let is_required = !input.is_optional();
    let mut parameters: Vec<Json> = entity.and_then(version_header).into_iter().collect();
    parameters.extend([header("Idempotency-Key"), header("Prefer")]);
    let mut refusals = vec![404, 409, 413, 415, 422];
    refusals.extend(entity.and_then(Record::version).map(|_| 412));
    let tag = record.or(match &action.on {
        ActionOn::Every(application) => Some(&design[application.record]),
        _ => None,
    });
    Described {
        summary: match record {
            Some(record) => {
                let (does, name) = (capital(&action.name), &record.name);
                format!("{does} {} {name}", article(name))
            }
            None => capital(&action.name),
        },
        about: action.about.clone(),
        tag: tag.map_or_else(|| "actions".to_owned(), |record| record.name.clone()),
        parameters,
        body: (!input.is_empty()).then(|| body(input.schema(false), given, is_required)),
        answers,
        refusals: with_limit(design, &LimitOf::Action(action.id), refusals),
    }
}

/// The name with a capital letter: `markRead` is `MarkRead`.
fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}
