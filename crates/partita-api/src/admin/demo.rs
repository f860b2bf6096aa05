//! `demo`: a design filled with items that belong together.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use partita_design::Design;
use partita_store::Store;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::events::Gone;
use super::verify::log_written;
use super::{Allowed, Command, Desk, Events, Failure, StoreUse};

/// Asks for a design to be filled, whose tables must be empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demo {
    /// What the script is called in messages.
    pub name: String,
    /// The script: `docs/demos.md` has the language.
    pub script: String,
    /// Another number draws other names, times and votes.
    pub seed: u64,
}

/// What a design was filled with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filled {
    /// How many items there are of each entity and view.
    pub records: BTreeMap<String, u64>,
    /// Queries that show something.
    pub queries: Vec<ShownQuery>,
}

/// A query that shows something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownQuery {
    /// The pattern.
    pub pattern: String,
    /// Who asks.
    pub caller: Option<String>,
    /// In which role.
    pub role: Option<String>,
    /// The parameters of the pattern.
    pub parameters: BTreeMap<String, String>,
    /// How many rows the first page has.
    pub rows: usize,
}

/// Plays demos. The language of their scripts is not the API's business.
#[async_trait]
pub trait Demos: Send + Sync {
    /// Fills an empty design. `watch` is told of every write, and ends the demo before the next one
    /// where the client is gone.
    async fn play(
        &self,
        design: Design,
        store: Arc<dyn Store>,
        demo: &Demo,
        watch: &(dyn Fn() -> Result<(), Gone> + Sync),
    ) -> Result<Filled, Failure>;
}

impl Command for Demo {
    const NAME: &'static str = "demo";
    const ABOUT: &'static str = "Fills an empty design with items that belong together";
    // A script writes as anybody, and past the rules.
    const ALLOWED: Allowed = Allowed::Operator;
    const STORE: StoreUse = StoreUse::Fill;
    type Event = ();
    type Outcome = Filled;

    async fn run(self, desk: Desk, events: Events<Self>) -> Result<Filled, Failure> {
        let (design, store) = (desk.design().clone(), desk.installation.store.clone());
        let demos = desk.installation.demos.clone();
        let watch = || events.offer(());
        let filled = demos.play(design, store, &self, &watch).await?;
        log_written(&desk, Self::NAME, &filled.records);
        Ok(filled)
    }

    fn example() -> Self {
        Demo {
            name: "empty.demo".to_owned(),
            script: String::new(),
            seed: 1,
        }
    }

    fn schemas() -> [Json; 3] {
        let text = || json!({ "type": "string" });
        let request = json!({
            "type": "object",
            "required": ["name", "script", "seed"],
            "additionalProperties": false,
            "properties": {
                "name": text(),
                "script": text(),
                "seed": { "type": "integer", "minimum": 0 },
            },
        });
        let query = json!({
            "type": "object",
            "required": ["pattern", "caller", "role", "parameters", "rows"],
            "properties": {
                "pattern": text(),
                "caller": { "type": ["string", "null"] },
                "role": { "type": ["string", "null"] },
                "parameters": { "type": "object", "properties": {}, "additionalProperties": text() },
                "rows": { "type": "integer" },
            },
        });
        let outcome = json!({
            "type": "object",
            "required": ["records", "queries"],
            "properties": {
                "records": { "type": "object", "properties": {}, "additionalProperties": { "type": "integer" } },
                "queries": { "type": "array", "items": query },
            },
        });
        let event = json!({ "type": "null", "description": "Something was written" });
        [request, event, outcome]
    }
}
