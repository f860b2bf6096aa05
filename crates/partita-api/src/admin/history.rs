//! `history`: the designs that stored data follow or followed.

use std::collections::BTreeMap;

use partita_plan::live;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::sharing::{SharingServer, sharing};
use super::{Allowed, Command, Desk, Events, Failure, StoreUse};

/// Asks for the designs that were recorded beside the data, the live one last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {}

/// One design that was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedDesign {
    /// Counts from 1.
    pub number: u64,
    /// What it is called.
    pub design: String,
    /// When it was adopted.
    pub adopted: String,
    /// The version of Partita that adopted it.
    pub by: String,
    /// The values of its variables.
    pub variables: BTreeMap<String, String>,
    /// The file.
    pub text: String,
    /// The servers that plan with it, where several share the tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<SharingServer>,
}

impl Command for History {
    const NAME: &'static str = "history";
    const ABOUT: &'static str = "The designs that the data follow or followed";
    const ALLOWED: Allowed = Allowed::Administrators;
    const STORE: StoreUse = StoreUse::Look;
    type Event = ();
    type Outcome = Vec<RecordedDesign>;

    async fn run(self, desk: Desk, _: Events<Self>) -> Result<Vec<RecordedDesign>, Failure> {
        let store = &desk.installation.store;
        let recorded = live::history(desk.design(), store.clone()).await?;
        let servers = sharing(&desk).await?;
        let recorded = recorded.into_iter().map(|one| RecordedDesign {
            number: one.number,
            design: one.design,
            adopted: one.adopted,
            by: one.by,
            variables: one.variables,
            text: one.text,
            servers: servers
                .iter()
                .filter(|server| server.design == one.number)
                .cloned()
                .collect(),
        });
        Ok(recorded.collect())
    }

    fn example() -> Self {
        History {}
    }

    fn schemas() -> [Json; 3] {
        let text = || json!({ "type": "string" });
        let recorded = json!({
            "type": "object",
            "required": ["number", "design", "adopted", "by", "variables", "text"],
            "properties": {
                "number": { "type": "integer" },
                "design": text(),
                "adopted": { "type": "string", "format": "date-time" },
                "by": text(),
                "variables": { "type": "object", "properties": {}, "additionalProperties": text() },
                "text": text(),
                "servers": SharingServer::schema(),
            },
        });
        let request = json!({ "type": "object", "properties": {}, "additionalProperties": false });
        [
            request,
            Json::Null,
            json!({ "type": "array", "items": recorded }),
        ]
    }
}
