//! `verify`: everything that is derived, recomputed; and what `repair` shares with it.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use partita_core::plain;
use partita_design::Design;
use partita_store::Clock;
use partita_verify::{
    Drift, Extent, Outcome, Progress, Report, Stopped, Unrecognised, VerifyError, Watch,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{Allowed, Command, Desk, Events, Failure, StoreUse, secrets};

/// Asks for everything that is derived to be recomputed. Nothing is changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// Only these entities, with their views and unique values; all if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<String>,
}

/// What is sent on the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Found {
    /// A pass over the tables begins; what was found before may be found again.
    Pass(u32),
    /// So much of the pass is done.
    Progress(Progress),
    /// A derived value is not what its sources say.
    Drift(FoundDrift),
    /// Something that no part of the design explains.
    Unrecognised(FoundUnrecognised),
}

/// A drift, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundDrift {
    /// What drifted: kind, record, table, key, attribute, stored, expected, note, says, outcome.
    pub drift: Json,
    /// What became of it, in one word.
    pub outcome: String,
    /// The same in a sentence.
    pub text: String,
}

/// Something that no part of the design explains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundUnrecognised {
    /// The item: table, key, record, attribute.
    pub item: Json,
    /// The same in a sentence.
    pub text: String,
}

/// What a drift that was mended has as its outcome.
pub const MENDED: &str = "mended";

impl Command for Verify {
    const NAME: &'static str = "verify";
    const ABOUT: &'static str = "Recomputes everything that is derived, and reports what drifted";
    const ALLOWED: Allowed = Allowed::Administrators;
    const STORE: StoreUse = StoreUse::Look;
    type Event = Found;
    type Outcome = Report;

    async fn run(self, desk: Desk, events: Events<Self>) -> Result<Report, Failure> {
        let partita = desk.partita().await?;
        let extent = desk.extent(self.entities);
        let _place = desk.place_to_scan(&events).await?;
        let mut watch = Reporter::new(&desk, events);
        let report = partita.verify_within(&extent, &mut watch).await;
        watch.finish(report, &desk).await
    }

    fn example() -> Self {
        Verify::default()
    }

    fn schemas() -> [Json; 3] {
        let request = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": { "entities": entities_schema() },
        });
        [request, event_schema(), report_schema()]
    }
}

impl Desk {
    /// What a command goes through, in steps that fit what else goes on.
    pub(super) fn extent(&self, entities: Vec<String>) -> Extent {
        let whole = Extent {
            entities,
            ..Extent::default()
        };
        if !self.installation.has_traffic {
            return whole;
        }
        Extent {
            page_items: STEP_ITEMS,
            grouping_bytes: GROUPING_BYTES,
            ..whole
        }
    }
}

/// Items of a step beside traffic. A step keeps a thread of the server for a millisecond or two.
const STEP_ITEMS: usize = 50;
/// Memory for counts and sums beside traffic.
const GROUPING_BYTES: usize = 32 << 20;
/// How much longer than a step the pause after it is, beside traffic: a command has a third of a
/// thread.
const REST_FACTOR: u32 = 2;
/// How much longer than the delay of the server's timers a pause is. Timers are late when all
/// threads are busy, and then a command has less.
const LATENESS_FACTOR: u32 = 5;
/// The longest pause. A scan has to be faster than the writers whose items it meets.
const REST_MAX: Duration = Duration::from_millis(50);

/// Sends what is found, no faster than it is read, and leaves room for traffic.
pub(super) struct Reporter<C: Command<Event = Found>> {
    events: Events<C>,
    clock: std::sync::Arc<dyn Clock>,
    has_traffic: bool,
    /// The design whose secrets are left out.
    masking: Option<Box<Design>>,
    /// Found since the last step.
    found: Vec<Found>,
    progress: Option<Progress>,
    step_began: i64,
    /// What was written, by record.
    written: BTreeMap<String, u64>,
}

impl<C: Command<Event = Found>> Reporter<C> {
    pub(super) fn new(desk: &Desk, events: Events<C>) -> Self {
        let clock = desk.installation.clock.clone();
        Reporter {
            events,
            has_traffic: desk.installation.has_traffic,
            masking: (!desk.is_operator).then(|| Box::new(desk.design().clone())),
            found: Vec::new(),
            progress: None,
            written: BTreeMap::new(),
            step_began: clock.now_micros(),
            clock,
        }
    }

    /// Sends what is left, and says how it ended.
    pub(super) async fn finish(
        mut self,
        ended: Result<Report, VerifyError>,
        desk: &Desk,
    ) -> Result<Report, Failure> {
        let name = &desk.design().name;
        log_written(desk, C::NAME, &self.written);
        let report = ended.map_err(|error| {
            Failure::of(&error).within(&format!("cannot go through the tables of `{name}`"))
        })?;
        self.send()
            .await
            .map_err(|_| Failure::of(&VerifyError::Stopped))?;
        Ok(report)
    }

    async fn send(&mut self) -> Result<(), Stopped> {
        for found in std::mem::take(&mut self.found) {
            self.events.send(found).await.map_err(|_| Stopped)?;
        }
        match self.progress.take() {
            Some(progress) => {
                let offered = self.events.offer(Found::Progress(progress));
                offered.map_err(|_| Stopped)
            }
            None if self.events.is_gone() => Err(Stopped),
            None => Ok(()),
        }
    }

    /// Pauses as long as the step took and a bit, and longer while the server is busy.
    async fn rest(&mut self) {
        let micros = |from: i64, to: i64| {
            let micros = u64::try_from(to.saturating_sub(from)).unwrap_or_default();
            Duration::from_micros(micros)
        };
        let ended = self.clock.now_micros();
        let pause = (micros(self.step_began, ended) * REST_FACTOR).min(REST_MAX);
        tokio::time::sleep(pause).await;
        let rested = self.clock.now_micros();
        // A timer has steps of a millisecond.
        let late = micros(ended, rested).saturating_sub(pause + Duration::from_millis(2));
        if !late.is_zero() {
            tokio::time::sleep((late * LATENESS_FACTOR).min(REST_MAX)).await;
        }
        self.step_began = self.clock.now_micros();
    }
}

#[async_trait]
impl<C: Command<Event = Found>> Watch for Reporter<C> {
    async fn between_steps(&mut self) -> Result<(), Stopped> {
        self.send().await?;
        if self.has_traffic {
            self.rest().await;
        } else {
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    fn begins(&mut self, pass: u32) {
        self.found.push(Found::Pass(pass));
    }

    fn moves(&mut self, progress: Progress) {
        self.progress = Some(progress);
    }

    fn finds(&mut self, drift: &Drift, outcome: &Outcome) {
        if *outcome == Outcome::Mended {
            *self.written.entry(drift.record.clone()).or_default() += 1;
        }
        let found = match &self.masking {
            Some(design) => FoundDrift::of(&secrets::masked(design, drift), outcome),
            None => FoundDrift::of(drift, outcome),
        };
        self.found.push(Found::Drift(found));
    }

    fn meets(&mut self, unrecognised: &Unrecognised) {
        let found = match &self.masking {
            Some(design) => {
                FoundUnrecognised::of(&secrets::masked_unrecognised(design, unrecognised))
            }
            None => FoundUnrecognised::of(unrecognised),
        };
        self.found.push(Found::Unrecognised(found));
    }
}

/// Has a server log what a command has written, also where it did not come to its end. In a process
/// of its own the command prints that.
pub(super) fn log_written(desk: &Desk, command: &str, written: &BTreeMap<String, u64>) {
    if written.is_empty() || !desk.installation.has_traffic {
        return;
    }
    let design = desk.design().name.as_str();
    let counts = written.iter();
    let counts: Vec<String> = counts
        .map(|(record, count)| format!("{count} {record}"))
        .collect();
    tracing::info!(design, command, "a command wrote {}", counts.join(", "));
}

impl FoundDrift {
    fn of(drift: &Drift, outcome: &Outcome) -> FoundDrift {
        let word = word(outcome);
        let mut object = drift.to_json();
        object["outcome"] = json!(word);
        if let Outcome::Awaited { job } = outcome {
            object["job"] = json!(job);
        }
        FoundDrift {
            drift: object,
            outcome: word.to_owned(),
            text: sentence(drift, outcome),
        }
    }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Mendable => "would",
        Outcome::Mended => MENDED,
        Outcome::Left { .. } => "left",
        Outcome::Held => "held",
        Outcome::Awaited { .. } => "awaited",
        Outcome::Moving => "moving",
        _ => "drift",
    }
}

fn sentence(drift: &Drift, outcome: &Outcome) -> String {
    let rest = match outcome {
        Outcome::Awaited { job } => format!("; job {job} will settle it"),
        Outcome::Moving => "; it kept changing meanwhile".to_owned(),
        Outcome::Left { removable: false } => {
            "; only somebody who knows the data can mend it".to_owned()
        }
        Outcome::Left { removable: true } => {
            format!(
                "; it is no derived data: `--remove {}` removes it",
                drift.says
            )
        }
        Outcome::Held => "; it stays while there are unrecognised items".to_owned(),
        _ => String::new(),
    };
    format!("{drift}{rest}")
}

impl FoundUnrecognised {
    fn of(one: &Unrecognised) -> FoundUnrecognised {
        let values = one.key.values().filter_map(|value| value.as_str());
        let key = values.collect::<Vec<_>>().join(" ");
        let attribute = one.attribute.as_ref();
        FoundUnrecognised {
            item: json!({
                "table": one.table,
                "key": plain::map_to_json(&one.key),
                "record": attribute.map(|(record, _)| record),
                "attribute": attribute.map(|(_, name)| name),
            }),
            text: match attribute {
                Some((record, name)) => format!("unrecognised {record} {key}: {name}"),
                None => format!("unrecognised {key}"),
            },
        }
    }
}

pub(super) fn entities_schema() -> Json {
    json!({
        "type": "array",
        "items": { "type": "string" },
        "description": "Only these entities, with their views and unique values",
    })
}

/// The schema of what is sent on the way.
pub(super) fn event_schema() -> Json {
    let only = |name: &str, schema: Json| {
        json!({
            "type": "object",
            "required": [name],
            "additionalProperties": false,
            "properties": { name: schema },
        })
    };
    let count = || json!({ "type": "integer", "minimum": 0 });
    let progress = json!({
        "type": "object",
        "required": ["items", "total"],
        "properties": { "items": count(), "total": count() },
    });
    let drift = json!({
        "type": "object",
        "required": ["drift", "outcome", "text"],
        "properties": {
            "drift": { "type": "object" },
            "outcome": { "enum": ["drift", "would", MENDED, "left", "held", "awaited", "moving"] },
            "text": { "type": "string" },
        },
    });
    let unrecognised = json!({
        "type": "object",
        "required": ["item", "text"],
        "properties": { "item": { "type": "object" }, "text": { "type": "string" } },
    });
    json!({ "anyOf": [
        only("pass", count()),
        only("progress", progress),
        only("drift", drift),
        only("unrecognised", unrecognised),
    ] })
}

/// The schema of what it came to.
pub(super) fn report_schema() -> Json {
    json!({
        "type": "object",
        "required": ["items", "drifts", "mended", "moving"],
        "properties": {},
        "additionalProperties": { "type": "integer", "minimum": 0 },
    })
}
