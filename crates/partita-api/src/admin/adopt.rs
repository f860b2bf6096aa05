//! `adopt`: how far the items of tables that exist follow a design, and the design recorded beside
//! them where they do.

use partita_plan::{
    Partita, Surroundings, TableDifference, live, prepare_adoption, table_differences,
};
use partita_verify::{Census, Report, census, verify_within};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::verify::{Found, Reporter, report_schema};
use super::{Allowed, Command, Desk, Events, Failure, StoreUse};

/// Asks how far the items of tables that other code filled follow a design.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adopt {
    /// Whether the design becomes the live one, if they do. Otherwise nothing is changed.
    #[serde(default)]
    pub start: bool,
}

/// How far they do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adoption {
    /// What of the tables is not as the design needs it.
    pub tables: Vec<TableNote>,
    /// How many items of what there are.
    pub census: Census,
    /// What was found about them.
    pub report: Report,
    /// Why the design cannot be recorded yet, and what to do about it.
    pub obstacles: Vec<String>,
    /// Whether the tables have everything that the design needs of them, and are closed to writes past
    /// the design.
    pub prepared: bool,
    /// Whether the design is recorded now.
    pub adopted: bool,
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

impl From<TableDifference> for TableNote {
    fn from(one: TableDifference) -> Self {
        TableNote {
            table: one.table,
            what: one.what,
            is_final: one.is_final,
        }
    }
}

/// Why a table cannot be taken over as it is, if it cannot.
fn obstacle(one: &TableDifference) -> Option<String> {
    let TableDifference { table, what, .. } = one;
    let advice = if one.is_final {
        "name another table in the design"
    } else {
        "change the table or the design"
    };
    one.is_refused
        .then(|| format!("the table `{table}` {what}: {advice}"))
}

impl Adoption {
    /// Adds what of the items is in the way.
    fn add_obstacles(&mut self, design: &str) {
        let items = self.census.unrecognised.items;
        if items > 0 {
            self.obstacles.push(format!(
                "{items} items are none of the design `{design}`: add what they are to it, or list \
                 how their partition keys begin in `[table] ignore` if other programs keep them there"
            ));
        }
        let Report {
            drifts,
            tallies,
            following,
            moving,
            stalled,
            ..
        } = self.report;
        if drifts > tallies || following > 0 {
            let wrong = drifts - tallies + following;
            self.obstacles.push(format!(
                "{wrong} values are not what the design derives or allows: `partita repair DESIGN` \
                 shows what it would write and asks before it does, and names what only whoever \
                 knows the data can mend"
            ));
        }
        if moving > 0 {
            self.obstacles.push(format!(
                "{moving} values changed while they were looked at: stop what writes them"
            ));
        }
        if stalled > 0 {
            self.obstacles.push(format!(
                "{stalled} jobs do not go on: `partita jobs DESIGN` says why"
            ));
        }
    }
}

/// Looks at the tables and at every item.
async fn look(desk: &Desk, events: &Events<Adopt>) -> Result<Adoption, Failure> {
    let (design, store) = (desk.design(), desk.installation.store.clone());
    let differences = table_differences(design, &*store).await?;
    let obstacles: Vec<String> = differences.iter().filter_map(obstacle).collect();
    let is_final = differences.iter().any(|one| one.is_final);
    let mut adoption = Adoption {
        tables: differences.into_iter().map(TableNote::from).collect(),
        obstacles,
        ..Adoption::default()
    };
    if is_final {
        return Ok(adoption);
    }
    let extent = desk.extent(Vec::new());
    let mut watch = Reporter::new(desk, events.clone());
    let counted = census(design, &*store, &extent, &mut watch).await;
    adoption.census = counted.map_err(|error| Failure::of(&error))?;
    let clock = desk.installation.clock.clone();
    let verified = verify_within(&extent, design, &*store, &*clock, &mut watch).await;
    adoption.report = watch.finish(verified, desk).await?;
    adoption.add_obstacles(&design.name);
    Ok(adoption)
}

impl Command for Adopt {
    const NAME: &'static str = "adopt";
    const ABOUT: &'static str =
        "How far the items of tables that exist follow the design, and the tables taken over";
    const ALLOWED: Allowed = Allowed::Operator;
    const STORE: StoreUse = StoreUse::Look;
    type Event = Found;
    type Outcome = Adoption;

    fn store_use(&self) -> StoreUse {
        if self.start {
            StoreUse::Change
        } else {
            Self::STORE
        }
    }

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
        let _place = desk.place_to_scan(&events).await?;
        let mut adoption = look(&desk, &events).await?;
        if !self.start || !adoption.obstacles.is_empty() {
            return Ok(adoption);
        }
        prepare_adoption(design, &*store).await?;
        // From here on a server takes no writes to the tables past the design. What came before that
        // and after the look is looked at.
        if desk.installation.has_traffic {
            adoption = look(&desk, &events).await?;
        }
        if adoption.obstacles.is_empty() {
            Partita::take_over(design.clone(), store, Surroundings::default()).await?;
            adoption.adopted = true;
        }
        adoption.prepared = true;
        Ok(adoption)
    }

    fn example() -> Self {
        Adopt { start: true }
    }

    fn schemas() -> [Json; 3] {
        let [_, events, census] = super::census::Count::schemas();
        let text = || json!({ "type": "string" });
        let request = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": { "start": { "type": "boolean" } },
        });
        let note = json!({
            "type": "object",
            "required": ["table", "what", "final"],
            "properties": { "table": text(), "what": text(), "final": { "type": "boolean" } },
        });
        let outcome = json!({
            "type": "object",
            "required": ["tables", "census", "report", "obstacles", "prepared", "adopted"],
            "properties": {
                "tables": { "type": "array", "items": note },
                "census": census,
                "report": report_schema(),
                "obstacles": { "type": "array", "items": text() },
                "prepared": { "type": "boolean" },
                "adopted": { "type": "boolean" },
            },
        });
        [request, events, outcome]
    }
}
