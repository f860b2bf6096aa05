//! The servers that share the tables of a design, as commands tell of them.

use partita_plan::lease;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{Desk, Failure};

/// A server that shares the tables of a design with others, or did a moment ago.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharingServer {
    /// Its machine, port and process.
    pub name: String,
    /// The version of Partita that runs there.
    pub by: String,
    /// The number of the design that it plans with.
    pub design: u64,
    /// When it was last heard of, by its own clock.
    pub renewed: String,
    /// Whether it is not heard of any more. It is forgotten when nothing that it has sent can come.
    pub ended: bool,
}

impl SharingServer {
    /// The schema of a list of them.
    pub(super) fn schema() -> Json {
        let text = || json!({ "type": "string" });
        json!({ "type": "array", "items": {
            "type": "object",
            "required": ["name", "by", "design", "renewed", "ended"],
            "properties": {
                "name": text(),
                "by": text(),
                "design": { "type": "integer" },
                "renewed": { "type": "string", "format": "date-time" },
                "ended": { "type": "boolean" },
            },
        } })
    }
}

/// The servers that share the tables of a design.
pub(super) async fn sharing(desk: &Desk) -> Result<Vec<SharingServer>, Failure> {
    let (store, clock) = (&desk.installation.store, &desk.installation.clock);
    let servers = lease::servers(desk.design(), store.clone(), &**clock).await?;
    let servers = servers.into_iter().map(|one| SharingServer {
        name: one.name,
        by: one.by,
        design: one.design,
        renewed: one.renewed,
        ended: one.has_ended,
    });
    Ok(servers.collect())
}
