//! `token`: a bearer token for a user of a design.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{Allowed, Command, Desk, Events, Failure, StoreUse};

/// Asks for a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Token {
    /// The id of the user.
    pub user: String,
    /// The role of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The groups that the user is in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// How long it is good for.
    pub lifetime_seconds: u32,
}

impl Command for Token {
    const NAME: &'static str = "token";
    const ABOUT: &'static str = "A bearer token for a user of the design";
    // A token can be any user's.
    const ALLOWED: Allowed = Allowed::Operator;
    const STORE: StoreUse = StoreUse::Nothing;
    type Event = ();
    type Outcome = String;

    async fn run(self, desk: Desk, _: Events<Self>) -> Result<String, Failure> {
        let tokens = desk.installation.tokens.as_ref();
        let tokens = tokens.ok_or_else(|| Failure::new("this process has no secret"))?;
        Ok(tokens.make(
            &desk.design().name,
            &self.user,
            self.role.as_deref(),
            &self.groups,
            self.lifetime_seconds,
        ))
    }

    fn example() -> Self {
        Token {
            user: "ann".to_owned(),
            role: None,
            groups: Vec::new(),
            lifetime_seconds: 3_600,
        }
    }

    fn schemas() -> [Json; 3] {
        let request = json!({
            "type": "object",
            "required": ["user", "lifetimeSeconds"],
            "additionalProperties": false,
            "properties": {
                "user": { "type": "string" },
                "role": { "type": "string" },
                "groups": { "type": "array", "items": { "type": "string" } },
                "lifetimeSeconds": { "type": "integer", "minimum": 1, "maximum": u32::MAX },
            },
        });
        [request, Json::Null, json!({ "type": "string" })]
    }
}
