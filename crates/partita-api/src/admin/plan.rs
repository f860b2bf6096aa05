//! `plan`: the transaction that a write would become, or what a read takes.

use partita_plan::Operation;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::ask::Question;
use super::{Allowed, Command, Desk, Events, Failure, StoreUse, secrets};

/// Asks what a write would become, or what a read takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Plan(pub Question);

/// What a write would become, or what a read takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// The request of DynamoDB's API; of a read, each of its requests with what it consumes.
    pub request: Json,
    /// The same for people, with its capacity units.
    pub text: String,
}

impl Command for Plan {
    const NAME: &'static str = "plan";
    const ABOUT: &'static str = "The transaction that a write would become, or what a read takes";
    const ALLOWED: Allowed = Allowed::Administrators;
    const STORE: StoreUse = StoreUse::LookOrEmpty;
    type Event = ();
    type Outcome = Planned;

    async fn run(self, desk: Desk, _: Events<Self>) -> Result<Planned, Failure> {
        let operation = self.0.operation(desk.design())?;
        let partita = desk.partita().await?;
        if let Some(reason) = self.0.closed(&partita).await? {
            return Err(Failure::new(reason));
        }
        if let Operation::Get { .. } | Operation::Query { .. } = operation {
            let preview = partita.preview_read(&self.0.caller(), operation).await?;
            return Ok(Planned {
                request: preview.to_json(),
                text: preview.to_string(),
            });
        }
        let mut preview = partita.preview(&self.0.caller(), operation).await?;
        if !desk.is_operator {
            secrets::refuse(desk.design(), &preview)?;
            secrets::mask_rows(desk.design(), &mut preview);
        }
        Ok(Planned {
            request: preview.to_json(),
            text: preview.to_string(),
        })
    }

    fn example() -> Self {
        Plan(Question::example())
    }

    fn schemas() -> [Json; 3] {
        let outcome = json!({
            "type": "object",
            "required": ["request", "text"],
            "properties": {
                "request": {
                    "type": ["object", "array"],
                    "description": "A TransactWriteItems as DynamoDB takes it; a list of UpdateItems where each only counts; of a read, what it asks for and consumes",
                },
                "text": { "type": "string", "description": "The same for people" },
            },
        });
        [Question::schema(), Json::Null, outcome]
    }
}
