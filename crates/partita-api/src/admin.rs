//! Commands for administrators, typed once.
//!
//! A command is a request, a stream of events while it works, and one outcome. The binary prints
//! events and outcome; whether they come from its own process, over the socket in the data directory
//! or over HTTP is the same to it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`desk`] | what a command works on: a design, its store, and how much it may load them |
//! | [`events`] | what a command sends while it works; it stops when its client is gone |
//! | [`ask`] | an operation in words, for `plan` and `can` |
//! | [`plan`], [`can`], [`items`], [`describe`], [`jobs`], [`outbox`], [`history`], [`census`], [`migrate`], [`verify`], [`repair`], [`adopt`], [`demo`], [`token`], [`grant`], [`console`] | the commands |
//! | [`operator`] | commands for the whole installation, over the socket alone |
//! | `secrets` | what administrators are not shown |
//! | [`sharing`] | the servers that share tables, as commands tell of them |
//! | [`client`] | a command, asked of a server |
//! | [`answer`] | a command over HTTP: one JSON document a line |
//!
//! To add a command: a module with its request and [`Command`] for it, and a row in `COMMANDS`.
//! Routes, the OpenAPI document for administrators and the access matrix are made of that table.

pub mod adopt;
pub mod answer;
pub mod ask;
pub mod can;
pub mod census;
pub mod client;
pub mod console;
pub mod demo;
pub mod describe;
pub mod desk;
pub mod events;
pub mod grant;
pub mod history;
pub mod items;
pub mod jobs;
pub mod migrate;
pub mod operator;
pub mod outbox;
pub mod plan;
pub mod repair;
mod secrets;
pub mod sharing;
pub mod token;
pub mod verify;

use std::error::Error;
use std::fmt;
use std::pin::Pin;

use futures::FutureExt as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

pub use desk::{ALIVE_EVERY, Currents, Desk, Installation, Running, Scans, StoreUse};
pub use events::{Events, Line};

/// Every command, in the order in which documents list them.
static COMMANDS: [Row; 16] = [
    Row::of::<plan::Plan>(),
    Row::of::<can::Can>(),
    Row::of::<items::Items>(),
    Row::of::<describe::Describe>(),
    Row::of::<jobs::Jobs>(),
    Row::of::<outbox::Outbox>(),
    Row::of::<history::History>(),
    Row::of::<census::Count>(),
    Row::of::<migrate::Migrate>(),
    Row::of::<verify::Verify>(),
    Row::of::<repair::Repair>(),
    Row::of::<adopt::Adopt>(),
    Row::of::<demo::Demo>(),
    Row::of::<token::Token>(),
    Row::of::<grant::Grant>(),
    Row::of::<console::Console>(),
];

/// A request to a design by its administrators, or by the operator of the installation.
pub trait Command: Serialize + DeserializeOwned + Send + 'static {
    /// The word on the command line and in the path.
    const NAME: &'static str;
    /// What it does, in a few words.
    const ABOUT: &'static str;
    /// Who may ask for it.
    const ALLOWED: Allowed;
    /// What it needs of the store, where a process opens one for it.
    const STORE: StoreUse;

    /// The same of this request, where it needs less than others.
    fn store_use(&self) -> StoreUse {
        Self::STORE
    }

    /// What is sent while it works.
    type Event: Serialize + DeserializeOwned + Send + 'static;
    /// What it comes to.
    type Outcome: Serialize + DeserializeOwned + Send + 'static;

    /// Carries the command out. It ends early, between two steps, when its client is gone.
    fn run(
        self,
        desk: Desk,
        events: Events<Self>,
    ) -> impl Future<Output = Result<Self::Outcome, Failure>> + Send;

    /// The JSON schemas of request, event and outcome; without events the second is `null`.
    fn schemas() -> [Json; 3];

    /// A request for documents.
    fn example() -> Self;
}

/// Who may ask for a command over HTTP. Over the socket every command is the operator's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Administrators of the design, by its rules, and the operator.
    Administrators,
    /// The operator of the installation: the command reaches past the rules of the design.
    Operator,
}

/// Why a command came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What went wrong, and what to do.
    pub detail: String,
    /// What is wrong with single attributes, where that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FailedAttribute>,
}

/// What is wrong with an attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedAttribute {
    /// As the design calls it, with dots.
    pub attribute: String,
    /// What is wrong.
    pub message: String,
}

impl Failure {
    /// A failure that says this.
    pub fn new(detail: impl Into<String>) -> Failure {
        Failure {
            detail: detail.into(),
            faults: Vec::new(),
        }
    }

    /// An error with everything that caused it.
    pub fn of(error: &dyn Error) -> Failure {
        let mut detail = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            // Some errors repeat what caused them.
            if !detail.ends_with(&text) {
                detail = format!("{detail}: {text}");
            }
            cause = error.source();
        }
        Failure::new(detail)
    }

    /// Adds what was being done.
    #[must_use]
    pub fn within(self, what: &str) -> Failure {
        Failure {
            detail: format!("{what}: {}", self.detail),
            ..self
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl Error for Failure {}

impl From<partita_plan::PlanError> for Failure {
    fn from(error: partita_plan::PlanError) -> Self {
        let faults = match &error {
            partita_plan::PlanError::Invalid { faults } => faults.as_slice(),
            _ => &[],
        };
        let faults = faults.iter().map(|fault| FailedAttribute {
            attribute: fault.attribute.clone(),
            message: fault.message.clone(),
        });
        Failure {
            faults: faults.collect(),
            ..Failure::of(&error)
        }
    }
}

impl From<partita_store::StoreError> for Failure {
    fn from(error: partita_store::StoreError) -> Self {
        Failure::of(&error)
    }
}

/// One command of the table.
#[derive(Clone, Copy)]
pub struct Row {
    /// The word on the command line and in the path.
    pub name: &'static str,
    /// What it does, in a few words.
    pub about: &'static str,
    /// Who may ask for it over HTTP.
    pub allowed: Allowed,
    /// The JSON schemas of request, event and outcome.
    pub schemas: fn() -> [Json; 3],
    /// A request for documents.
    pub example: fn() -> Json,
    start: fn(Desk, Json) -> Result<Started, Failure>,
}

/// A command that has been started: its lines, as they come.
pub type Started = Pin<Box<dyn futures::Stream<Item = Line<Json, Json>> + Send>>;

impl Row {
    const fn of<C: Command>() -> Row {
        Row {
            name: C::NAME,
            about: C::ABOUT,
            allowed: C::ALLOWED,
            schemas: C::schemas,
            example: || serde_json::to_value(C::example()).unwrap_or_default(),
            start: |desk, request| {
                let request: C = serde_json::from_value(request)
                    .map_err(|error| Failure::new(format!("the request does not fit: {error}")))?;
                let lines = start(desk, request);
                Ok(Box::pin(futures::StreamExt::map(lines, |line| {
                    line.erased()
                })))
            },
        }
    }

    /// Starts the command with a request in JSON.
    pub fn start(&self, desk: Desk, request: Json) -> Result<Started, Failure> {
        (self.start)(desk, request)
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row").field("name", &self.name).finish()
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Row) -> bool {
        self.name == other.name
    }
}

impl Eq for Row {}

/// The commands of the table.
pub fn all() -> impl Iterator<Item = &'static Row> {
    COMMANDS.iter()
}

/// The command of that name.
pub fn find(name: &str) -> Option<&'static Row> {
    all().find(|row| row.name == name)
}

/// What a client is told of a panic.
pub(crate) const MISTAKE: &str = "this is a mistake in Partita; the log of the process says more";

/// Starts a command in a task of its own, so that it stops between two steps and not wherever its
/// client happens to hang up. The last line is the outcome or the failure.
pub fn start<C: Command>(
    desk: Desk,
    request: C,
) -> impl futures::Stream<Item = Line<C::Event, C::Outcome>> + Send + use<C> {
    let (events, lines) = events::channel();
    let running = desk.installation.running.begin();
    tokio::spawn(async move {
        let notes = desk.notes.clone();
        let work = std::panic::AssertUnwindSafe(request.run(desk, events.clone()));
        let ended = work.catch_unwind().await;
        // A panic is a mistake of ours; the client is told that much.
        let ended = ended.unwrap_or_else(|_| Err(Failure::new(MISTAKE)));
        drop(running);
        for note in notes.take() {
            events.note(note).await;
        }
        events.end(ended).await;
    });
    lines
}
