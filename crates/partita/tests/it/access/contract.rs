//! The OpenAPI document as a judge of answers.

use partita_api::admin::answer::NDJSON;
use partita_api::routes::Route;
use serde_json::Value as Json;

use crate::openapi::judge::Judge;

/// An answer of the server.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    pub(crate) media_type: Option<String>,
    pub(crate) body: Json,
}

fn line(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// Holds answers against the document.
pub(crate) struct Contract {
    pub(crate) document: Json,
}

impl Contract {
    /// What the document says of a route.
    pub(crate) fn operation(&self, route: &Route) -> &Json {
        // Of two paths to the same the document has one.
        let id = route.operation_id.trim_end_matches(".byPath");
        let paths = self.document["paths"].as_object().unwrap().values();
        let mut operations = paths.flat_map(|path| path.as_object().unwrap().values());
        let found = operations.find(|operation| operation["operationId"] == id);
        found.unwrap_or_else(|| panic!("`{id}` is not documented"))
    }

    /// Whether the document has such an answer; the error says what it does not have.
    pub(crate) fn judge(&self, route: &Route, seen: &Seen) -> Result<(), String> {
        let judge = Judge {
            document: &self.document,
        };
        let status = seen.status.to_string();
        let response = judge.resolve(&self.operation(route)["responses"][&status]);
        if response.is_null() {
            return Err(format!("{status} is not documented: {}", seen.body));
        }
        let Some(contents) = response.get("content") else {
            return match &seen.body {
                Json::Null => Ok(()),
                body => Err(format!("{status} has a body: {body}")),
            };
        };
        let media_type = seen.media_type.as_deref().unwrap_or_default();
        let Some(content) = contents.get(media_type) else {
            return Err(format!("{status} is not documented as `{media_type}`"));
        };
        let lines = match &seen.body {
            Json::String(text) if media_type == NDJSON => text.lines().map(line).collect(),
            body => vec![body.clone()],
        };
        let lines = lines.iter();
        let faults: Vec<String> = lines
            .flat_map(|body| judge.faults(body, &content["schema"]))
            .collect();
        if faults.is_empty() {
            Ok(())
        } else {
            Err(format!("{}\n{:#}", faults.join("\n"), seen.body))
        }
    }
}
