//! `adopt`: how far the items of tables that exist follow a design.

use partita_plan::{live, table_differences};
use partita_verify::{Census, Report, census, verify_within};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::verify::{Found, Reporter, report_schema};
use super::{Allowed, Command, Desk, Events, Failure, StoreUse};

/// Asks how far the items of tables that other code filled follow a design. Nothing is changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adopt {}

/// How far they do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adoption {
    /// What of the tables is not as the design needs it.
    pub tables: Vec<TableNote>,
    /// How many items of what there are.
    pub census: Census,
    /// What was found about them.
    pub report: Report,
}

/// Something of a table that is not as the design needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableNote {
    /// The table in the store.
    pub table: String,
    /// What is different.
    pub what: String,
    /// Whether nothing can change it: another table is needed.
    #[serde(rename = "final")]
    pub is_final: bool,
}

impl Command for Adopt {
    const NAME: &'static str = "adopt";
    const ABOUT: &'static str = "Reports how far the items of tables that exist follow the design";
    const ALLOWED: Allowed = Allowed::Operator;
    const STORE: StoreUse = StoreUse::Look;
    type Event = Found;
    type Outcome = Adoption;

    async fn run(self, desk: Desk, events: Events<Self>) -> Result<Adoption, Failure> {
        let (design, store) = (desk.design(), desk.installation.store.clone());
        if let Some(live) = live::history(design, store.clone()).await?.last() {
            let number = live.number;
            return Err(Failure::new(format!(
                "the data of `{}` follow a design that is recorded, number {number}: `partita diff` \
                 compares with it",
                design.name
            )));
        }
        let tables = table_differences(design, &*store).await?;
        let tables = tables.into_iter().map(|one| TableNote {
            table: one.table,
            what: one.what,
            is_final: one.is_final,
        });
        let tables: Vec<TableNote> = tables.collect();
        if tables.iter().any(|one| one.is_final) {
            return Ok(Adoption {
                tables,
                ..Adoption::default()
            });
        }
        let extent = desk.extent(Vec::new());
        let _place = desk.place_to_scan(&events).await?;
        let mut watch = Reporter::new(&desk, events);
        let counted = census(design, &*store, &extent, &mut watch).await;
        let counted = counted.map_err(|error| Failure::of(&error))?;
        let clock = desk.installation.clock.clone();
        let verified = verify_within(&extent, design, &*store, &*clock, &mut watch).await;
        Ok(Adoption {
            tables,
            census: counted,
            report: watch.finish(verified, &desk).await?,
        })
    }

    fn example() -> Self {
        Adopt {}
    }

    fn schemas() -> [Json; 3] {
        let [request, events, census] = super::census::Count::schemas();
        let text = || json!({ "type": "string" });
        let note = json!({
            "type": "object",
            "required": ["table", "what", "final"],
            "properties": { "table": text(), "what": text(), "final": { "type": "boolean" } },
        });
        let outcome = json!({
            "type": "object",
            "required": ["tables", "census", "report"],
            "properties": {
                "tables": { "type": "array", "items": note },
                "census": census,
                "report": report_schema(),
            },
        });
        [request, events, outcome]
    }
}
