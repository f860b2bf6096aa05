//! `census`: how many items of each record there are.

use partita_verify::{Census, VerifyError, census};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::verify::{Found, Reporter};
use super::{Allowed, Command, Desk, Events, Failure, StoreUse};

/// Asks how many items of each record there are. Nothing is changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {}

impl Command for Count {
    const NAME: &'static str = "census";
    const ABOUT: &'static str = "Counts the items of each entity and view";
    const ALLOWED: Allowed = Allowed::Administrators;
    const STORE: StoreUse = StoreUse::Look;
    type Event = Found;
    type Outcome = Census;

    async fn run(self, desk: Desk, events: Events<Self>) -> Result<Census, Failure> {
        let extent = desk.extent(Vec::new());
        let _place = desk.place_to_scan(&events).await?;
        let mut watch = Reporter::new(&desk, events);
        let store = desk.installation.store.clone();
        let counted = census(desk.design(), &*store, &extent, &mut watch).await;
        counted.map_err(|error: VerifyError| Failure::of(&error))
    }

    fn example() -> Self {
        Count {}
    }

    fn schemas() -> [Json; 3] {
        let count = || json!({ "type": "integer", "minimum": 0 });
        let counted = json!({
            "type": "object",
            "required": ["items", "bytes"],
            "properties": { "items": count(), "bytes": count() },
        });
        let request = json!({ "type": "object", "properties": {}, "additionalProperties": false });
        let outcome = json!({
            "type": "object",
            "required": ["records", "unrecognised"],
            "properties": {
                "records": {
                    "type": "object",
                    "properties": {},
                    "additionalProperties": counted,
                },
                "unrecognised": counted,
            },
        });
        [request, super::verify::event_schema(), outcome]
    }
}
