//! `can`: whether a caller may do something, and which rules decide.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use partita_core::plain;
use partita_design::Design;
use partita_plan::Ruling;
use partita_plan::ruling::Row;
use serde::{Deserialize, Serialize};
use serde_json::{Map as JsonMap, Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::ask::Question;
use super::{Allowed, Command, Desk, Events, Failure, StoreUse, secrets};

/// Asks whether a caller may do something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Can(pub Question);

/// Yes or no, and what decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    /// Whether the rules let the operation pass.
    pub allowed: bool,
    /// Why no rule was asked: the caller's account is gone or not active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The rules that were asked, the one for the operation first.
    pub rulings: Vec<Ruling>,
    /// The items that are decided on one by one.
    pub rows: Vec<DecidedRow>,
    /// The digest of the design's text, which the lines of the rules are in.
    pub design: String,
}

/// The digest of a design's text.
pub fn digest_of(design: &Design) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(&design.origin.text))
}

/// One item of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecidedRow {
    /// The entity or view that it is.
    pub record: String,
    /// The attributes that identify it.
    pub identity: JsonMap<String, Json>,
    /// Whether the caller gets it.
    pub allowed: bool,
    /// The rules that were asked.
    pub rulings: Vec<Ruling>,
}

impl DecidedRow {
    fn of(desk: &Desk, row: Row) -> DecidedRow {
        let mut identity = plain::map_to_json(&row.identity);
        if !desk.is_operator {
            secrets::masked_identity(desk.design(), &row.record, &mut identity);
        }
        DecidedRow {
            allowed: row.is_allowed(),
            identity,
            record: row.record,
            rulings: row.rulings,
        }
    }
}

impl Command for Can {
    const NAME: &'static str = "can";
    const ABOUT: &'static str = "Whether a caller may do something, and which rules decide";
    const ALLOWED: Allowed = Allowed::Administrators;
    const STORE: StoreUse = StoreUse::LookOrEmpty;
    type Event = ();
    type Outcome = Decided;

    async fn run(self, desk: Desk, _: Events<Self>) -> Result<Decided, Failure> {
        let operation = self.0.operation(desk.design())?;
        let partita = desk.partita().await?;
        if let Some(reason) = self.0.closed(&partita).await? {
            return Ok(Decided {
                allowed: false,
                reason: Some(reason.to_owned()),
                rulings: Vec::new(),
                rows: Vec::new(),
                design: digest_of(desk.design()),
            });
        }
        let decision = partita.can(&self.0.caller(), operation).await?;
        Ok(Decided {
            allowed: decision.is_allowed,
            reason: None,
            rulings: decision.rulings,
            rows: decision
                .rows
                .into_iter()
                .map(|row| DecidedRow::of(&desk, row))
                .collect(),
            design: digest_of(desk.design()),
        })
    }

    fn example() -> Self {
        Can(Question::example())
    }

    fn schemas() -> [Json; 3] {
        let ruling = json!({
            "type": "object",
            "required": ["record", "asked", "verdict", "rule"],
            "properties": {
                "record": { "type": "string" },
                "asked": { "type": "string" },
                "verdict": { "enum": ["allowed", "denied", "open"] },
                "rule": {
                    "type": ["object", "null"],
                    "properties": {
                        "line": { "type": "integer" },
                        "words": { "type": "string" },
                        "text": { "type": "string" },
                    },
                },
            },
        });
        let rulings = json!({ "type": "array", "items": ruling });
        let row = json!({
            "type": "object",
            "required": ["record", "identity", "allowed", "rulings"],
            "properties": {
                "record": { "type": "string" },
                "identity": { "type": "object" },
                "allowed": { "type": "boolean" },
                "rulings": rulings,
            },
        });
        let outcome = json!({
            "type": "object",
            "required": ["allowed", "rulings", "rows", "design"],
            "properties": {
                "allowed": { "type": "boolean" },
                "reason": { "type": "string", "description": "Why no rule was asked" },
                "design": { "type": "string", "description": "The digest of the design's text" },
                "rulings": rulings,
                "rows": { "type": "array", "items": row },
            },
        });
        [Question::schema(), Json::Null, outcome]
    }
}
