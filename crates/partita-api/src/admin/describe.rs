//! `describe`: the design that is served, its file, and what follows from it.

use partita_design::cost::{self, Assumptions};
use partita_design::design::Record;
use partita_design::{check, describe};
use serde::{Deserialize, Serialize};
use serde_json::{Map as JsonMap, Value as Json, json};

use super::{Allowed, Command, Desk, Events, Failure, StoreUse};
use crate::access::{self, Persona};
use crate::openapi;
use crate::routes::Routes;

/// Asks for the design.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Describe {}

/// A design, and what follows from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Described {
    /// What `partita describe` prints.
    pub description: Json,
    /// The file.
    pub text: String,
    /// What `partita check` finds in it.
    pub diagnostics: Json,
    /// The JSON schemas of attributes by entity, and of parameters by pattern and action.
    pub schemas: Json,
    /// The access matrix: a row for every request.
    pub access: Json,
    /// Who its columns are of.
    pub callers: Vec<String>,
    /// What `partita cost --format json` prints.
    pub cost: Json,
}

impl Command for Describe {
    const NAME: &'static str = "describe";
    const ABOUT: &'static str = "The design that is served, its file, and what follows from it";
    const ALLOWED: Allowed = Allowed::Administrators;
    const STORE: StoreUse = StoreUse::Nothing;
    type Event = ();
    type Outcome = Described;

    async fn run(self, desk: Desk, _: Events<Self>) -> Result<Described, Failure> {
        let design = desk.design();
        let origin = &design.origin;
        let (_, found) = check(&origin.text, &|name| origin.given.get(name).cloned());
        let routes = Routes::of(design);
        let access = access::matrix(design, &routes).into_iter().map(|row| {
            let outcomes = row.outcomes.iter().map(access::Outcome::words);
            json!({
                "method": row.route.method.as_str(),
                "path": row.route.path.to_string(),
                "operation": row.route.operation_id,
                "rules": row.rules,
                "outcomes": outcomes.collect::<Vec<_>>(),
            })
        });
        Ok(Described {
            description: describe::describe(design),
            diagnostics: describe::diagnostics(&origin.text, &found),
            text: origin.text.clone(),
            schemas: schemas(&desk),
            access: access.collect(),
            callers: Persona::ALL.map(|one| one.word().to_owned()).to_vec(),
            cost: cost::cost(design, &Assumptions::default()).to_json(),
        })
    }

    fn example() -> Self {
        Describe {}
    }

    fn schemas() -> [Json; 3] {
        let request = json!({ "type": "object", "properties": {}, "additionalProperties": false });
        let list = || json!({ "type": "array", "items": { "type": "object" } });
        let outcome = json!({
            "type": "object",
            "required": ["description", "text", "diagnostics", "schemas", "access", "callers", "cost"],
            "properties": {
                "description": { "type": "object" },
                "text": { "type": "string" },
                "diagnostics": list(),
                "schemas": { "type": "object" },
                "access": list(),
                "callers": { "type": "array", "items": { "type": "string" } },
                "cost": { "type": "object" },
            },
        });
        [request, Json::Null, outcome]
    }
}

fn schemas(desk: &Desk) -> Json {
    let design = desk.design();
    let attributes = |record: &Record| -> Json {
        let attributes = record.attributes.iter();
        let schemas = attributes.map(|one| (one.name.clone(), openapi::schema_of(&one.kind)));
        Json::Object(schemas.collect())
    };
    let records = design.records.iter();
    let records = records.map(|record| (record.name.clone(), attributes(record)));
    let patterns = design.patterns.iter().map(|pattern| {
        let parameters = pattern.parameters.iter();
        let parameters =
            parameters.map(|one| (one.name.clone(), openapi::schema_of_parameter(one)));
        (pattern.name.clone(), Json::Object(parameters.collect()))
    });
    let actions = design.actions.iter().map(|action| {
        let parameters = action.parameters.iter();
        let parameters =
            parameters.map(|one| (one.name.clone(), openapi::schema_of_parameter(one)));
        (action.name.clone(), Json::Object(parameters.collect()))
    });
    json!({
        "records": records.collect::<JsonMap<_, _>>(),
        "patterns": patterns.collect::<JsonMap<_, _>>(),
        "actions": actions.collect::<JsonMap<_, _>>(),
    })
}
