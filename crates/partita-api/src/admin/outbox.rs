//! `outbox`: mails and events that wait or are parked.

use partita_design::time;
use partita_plan::outbox::OutboxEntry;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{Allowed, Command, Desk, Events, Failure, StoreUse, secrets};

/// Messages of each state that are listed at most.
const LISTED_MAX: usize = 1_000;

/// Asks for the messages that are not delivered, or has one of them retried or dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outbox {
    /// The message that is to be tried again now, parked or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<String>,
    /// The message that is to be removed without being delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop: Option<String>,
    /// Whether what waits beside another store, of which this is a copy, is to go on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resume: bool,
}

/// One message. The text of a mail is sealed, and shown to nobody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedMessage {
    /// Names the message.
    pub id: String,
    /// Where it is: waiting or parked.
    pub state: String,
    /// Where it goes: `mail`, or `send:` and a receiver.
    pub channel: String,
    /// The item whose write caused it.
    pub of: String,
    /// The trigger or action that caused it.
    pub cause: String,
    /// The address of a mail; the operator alone is shown it.
    pub to: Option<String>,
    /// The subject of a mail, or the type of an event.
    pub what: String,
    /// When it was recorded.
    pub created: String,
    /// How often its delivery failed.
    pub attempts: u32,
    /// When it is tried again, if its delivery failed.
    pub due: Option<String>,
    /// Why the last delivery failed.
    pub last_error: Option<String>,
}

impl From<OutboxEntry> for ListedMessage {
    fn from(entry: OutboxEntry) -> Self {
        ListedMessage {
            id: entry.id,
            state: entry.state.word().to_owned(),
            channel: entry.channel,
            of: entry.of,
            cause: entry.cause,
            to: entry.to,
            what: entry.what,
            created: time::format_millis(entry.created_millis),
            attempts: entry.attempts,
            due: entry.due_millis.map(time::format_millis),
            last_error: entry.last_error,
        }
    }
}

impl Command for Outbox {
    const NAME: &'static str = "outbox";
    const ABOUT: &'static str =
        "Mails and events that are not delivered; one is retried or dropped";
    const ALLOWED: Allowed = Allowed::Administrators;
    const STORE: StoreUse = StoreUse::Look;
    type Event = ();
    type Outcome = Vec<ListedMessage>;

    async fn run(self, desk: Desk, _: Events<Self>) -> Result<Vec<ListedMessage>, Failure> {
        let partita = desk.partita().await?;
        let missing = |id: &str| Failure::new(format!("there is no message `{id}` in the outbox"));
        if self.resume {
            if self.retry.is_some() || self.drop.is_some() {
                return Err(Failure::new("everything goes on: name no message"));
            }
            let did_wait = partita.resume_outbox().await?;
            let nothing = || Failure::new("nothing waits: this is no copy beside another store");
            return did_wait.then(Vec::new).ok_or_else(nothing);
        }
        match (&self.retry, &self.drop) {
            (Some(_), Some(_)) => {
                return Err(Failure::new("a message is either retried or dropped"));
            }
            (Some(id), None) => {
                if let Some(why) = partita.why_outbox_waits().await? {
                    let detail = format!("nothing is tried now: {why}");
                    return Err(Failure::new(detail));
                }
                let is_there = partita.retry_message(id).await?;
                return is_there.then(Vec::new).ok_or_else(|| missing(id));
            }
            (None, Some(id)) => {
                let is_there = partita.drop_message(id).await?;
                return is_there.then(Vec::new).ok_or_else(|| missing(id));
            }
            (None, None) => {}
        }
        let why = partita.why_outbox_waits().await?;
        why.iter().for_each(|why| desk.notes.add(why));
        let listed = partita.outbox(LISTED_MAX).await?;
        let mut listed: Vec<_> = listed.into_iter().map(ListedMessage::from).collect();
        if !desk.is_operator {
            for message in &mut listed {
                // Servers repeat the address in what they say.
                if let (Some(to), Some(error)) = (message.to.take(), &mut message.last_error) {
                    *error = error.replace(&to, "…");
                }
                secrets::mask_item(desk.design(), &mut message.of);
            }
        }
        Ok(listed)
    }

    fn example() -> Self {
        Outbox::default()
    }

    fn schemas() -> [Json; 3] {
        let text = json!({ "type": "string" });
        let may_lack = json!({ "type": ["string", "null"] });
        let message = json!({
            "type": "object",
            "required": ["id", "state", "channel", "of", "cause", "to", "what", "created", "attempts", "due", "lastError"],
            "properties": {
                "id": text,
                "state": text,
                "channel": text,
                "of": text,
                "cause": text,
                "to": may_lack,
                "what": text,
                "created": { "type": "string", "format": "date-time" },
                "attempts": { "type": "integer" },
                "due": { "type": ["string", "null"], "format": "date-time" },
                "lastError": may_lack,
            },
        });
        let request = json!({
            "type": "object",
            "properties": { "retry": text, "drop": text, "resume": { "type": "boolean" } },
            "additionalProperties": false,
        });
        [
            request,
            Json::Null,
            json!({ "type": "array", "items": message }),
        ]
    }
}
