//! `grant`: a role for a user, past the rules of the design.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{Allowed, Command, Desk, Events, Failure, StoreUse};

/// Asks for a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Grant {
    /// The id of the user, or what the user signs in with.
    pub user: String,
    /// The role, or the group where the design has groups and no roles.
    pub role: String,
}

impl Command for Grant {
    const NAME: &'static str = "grant";
    const ABOUT: &'static str = "A role for a user, past the rules of the design";
    // It makes administrators.
    const ALLOWED: Allowed = Allowed::Operator;
    const STORE: StoreUse = StoreUse::Look;
    type Event = ();
    type Outcome = ();

    async fn run(self, desk: Desk, _: Events<Self>) -> Result<(), Failure> {
        let partita = desk.partita().await?;
        Ok(partita.grant(&self.user, &self.role).await?)
    }

    fn example() -> Self {
        Grant {
            user: "ann@example.org".to_owned(),
            role: "admin".to_owned(),
        }
    }

    fn schemas() -> [Json; 3] {
        let request = json!({
            "type": "object",
            "required": ["user", "role"],
            "additionalProperties": false,
            "properties": {
                "user": { "type": "string" },
                "role": { "type": "string" },
            },
        });
        [request, Json::Null, json!({ "type": "null" })]
    }
}
