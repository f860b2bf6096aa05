//! `repair`: what is derived and drifted, mended.

use std::sync::{Arc, Mutex, PoisonError};

use partita_verify::{Intent, Permission, Report};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::verify::{Found, Reporter, entities_schema, event_schema, report_schema};
use super::{Allowed, Command, Desk, Events, Failure, StoreUse};

/// Asks for derived data to be mended. What callers gave is never touched, unless it is named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repair {
    /// Only these entities, with their views and unique values; all if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<String>,
    /// Places of the design whose leftovers are removed though they are no derived data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
    /// What may be written.
    #[serde(default)]
    pub agreed: Agreed,
}

/// What may be written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Agreed {
    /// Nothing: it says what it would do.
    #[default]
    Nothing,
    /// As much as was shown. It ends where there is more to write.
    Shown(Intent),
    /// Whatever is derived.
    All,
}

/// What a repair came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repaired {
    /// The figures.
    pub report: Report,
    /// What it would have written and was not agreed to.
    pub would: Option<Intent>,
}

impl Command for Repair {
    const NAME: &'static str = "repair";
    const ABOUT: &'static str = "Mends what is derived and drifted, and never what callers gave";
    const ALLOWED: Allowed = Allowed::Administrators;
    const STORE: StoreUse = StoreUse::Look;
    type Event = Found;
    type Outcome = Repaired;

    async fn run(self, desk: Desk, events: Events<Self>) -> Result<Repaired, Failure> {
        if !self.remove.is_empty() && !desk.is_operator {
            let detail = "what callers gave is removed for the operator alone: leave out --remove";
            return Err(Failure::new(detail));
        }
        let partita = desk.partita().await?;
        let extent = desk.extent(self.entities);
        let _place = desk.place_to_scan(&events).await?;
        let mut watch = Reporter::new(&desk, events);
        let refused: Arc<Mutex<Option<Intent>>> = Arc::default();
        let (mut agreed, kept) = (self.agreed, refused.clone());
        let mut permission = Permission::asked(move |intent| {
            let is_agreed = match &mut agreed {
                Agreed::Nothing => false,
                Agreed::Shown(shown) => {
                    let is_agreed = shown.includes(intent);
                    // The next round has what is left.
                    shown.subtract(intent);
                    is_agreed
                }
                Agreed::All => true,
            };
            if !is_agreed {
                *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(intent.clone());
            }
            is_agreed
        });
        permission = permission.held_by(if desk.is_operator {
            "the operator"
        } else {
            "an administrator of the design"
        });
        for place in self.remove {
            permission = permission.to_remove(place);
        }
        let report = partita.repair_within(&extent, permission, &mut watch).await;
        let report = watch.finish(report, &desk).await?;
        let would = refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        Ok(Repaired { report, would })
    }

    fn example() -> Self {
        Repair::default()
    }

    fn schemas() -> [Json; 3] {
        let counts = || json!({ "type": "object", "properties": {}, "additionalProperties": { "type": "integer" } });
        let intent = json!({
            "type": "object",
            "required": ["removed", "cleared", "written"],
            "additionalProperties": false,
            "properties": { "removed": counts(), "cleared": counts(), "written": counts() },
        });
        let shown = json!({
            "type": "object",
            "required": ["shown"],
            "additionalProperties": false,
            "properties": { "shown": intent },
        });
        let request = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "entities": entities_schema(),
                "remove": { "type": "array", "items": { "type": "string" } },
                "agreed": {
                    "anyOf": [{ "enum": ["nothing", "all"] }, shown],
                    "default": "nothing",
                    "description": "`nothing` shows what would be written; `shown` writes as much as was shown",
                },
            },
        });
        let outcome = json!({
            "type": "object",
            "required": ["report", "would"],
            "properties": {
                "report": report_schema(),
                "would": { "anyOf": [intent, { "type": "null" }] },
            },
        });
        [request, event_schema(), outcome]
    }
}
