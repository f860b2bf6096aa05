//! `console`: a link that opens the console once, as the operator.

use partita_design::time;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{Allowed, Command, Desk, Events, Failure, StoreUse};

/// Asks for a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Console {}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsoleLink {
    /// Where a browser opens the console.
    pub link: String,
    /// Until when that works, once.
    pub expires: String,
}

impl Command for Console {
    const NAME: &'static str = "console";
    const ABOUT: &'static str = "A link that opens the console once, as the operator";
    // Whoever opens it may do everything.
    const ALLOWED: Allowed = Allowed::Operator;
    const STORE: StoreUse = StoreUse::Nothing;
    type Event = ();
    type Outcome = ConsoleLink;

    async fn run(self, desk: Desk, _: Events<Self>) -> Result<ConsoleLink, Failure> {
        let console = desk.installation.console.as_ref();
        let console = console.ok_or_else(|| {
            Failure::new("no server with a console runs there; start one with `partita serve`")
        })?;
        let link = console.link().ok_or_else(|| {
            Failure::new(
                "the server does not listen on loopback, so there is no link: sign in, or use a token",
            )
        })?;
        Ok(ConsoleLink {
            link: format!("{}&design={}", link.url, desk.design().name),
            expires: time::format_millis(link.expires_millis),
        })
    }

    fn example() -> Self {
        Console {}
    }

    fn schemas() -> [Json; 3] {
        let request = json!({ "type": "object", "properties": {}, "additionalProperties": false });
        let outcome = json!({
            "type": "object",
            "required": ["link", "expires"],
            "properties": {
                "link": { "type": "string" },
                "expires": { "type": "string", "format": "date-time" },
            },
        });
        [request, Json::Null, outcome]
    }
}
