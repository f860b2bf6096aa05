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

impl Token {
    /// Where people sign in, a token counts while its user is there. One for a text that is no id is
    /// refused; of a user who is not there yet, or not active, whoever asks is told.
    async fn demand_user(&self, desk: &Desk) -> Result<(), Failure> {
        let design = desk.design();
        let accounts = design.accounts.as_ref();
        let Some(accounts) = accounts.filter(|accounts| accounts.sign_in.is_some()) else {
            return Ok(());
        };
        let (user, users) = (&self.user, &accounts.users(design).name);
        let served = desk.served().filter(|served| served.has_sign_in());
        if let Some(served) = &served
            && served.account(user).await?.is_none()
            && let Some(account) = served.account_with(user).await?
        {
            let id = account.id;
            return Err(Failure::new(format!(
                "`{user}` is what a `{users}` signs in with, and a token is for an id: write \
                 `--user {id}`"
            )));
        }
        if let Err(expected) = accounts.check_id(design, user) {
            return Err(Failure::new(format!(
                "`{user}` is no id of a `{users}`, which is {expected}: the token would never count; \
                 `GET auth/me` shows the id of whoever is signed in"
            )));
        }
        let Some(served) = served else {
            return Ok(());
        };
        match served.account(user).await? {
            Some(account) if account.is_active => {}
            Some(_) => desk.notes.add(&format!(
                "`{user}` is not active, and the token counts while they are"
            )),
            None => desk.notes.add(&format!(
                "there is no `{users}` with the id `{user}`, and the token counts while there is one"
            )),
        }
        Ok(())
    }
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
        self.demand_user(&desk).await?;
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
