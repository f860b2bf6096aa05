//! What a command sends while it works.

use futures::Stream;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tokio::sync::mpsc::{self, Sender};

use super::{Command, Failure};

/// Lines that wait to be read. A command whose client reads slowly waits.
const WAITING_MAX: usize = 64;

/// One line of an answer: any number of events and notes, then an outcome or a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Line<E, O> {
    /// Something happened on the way.
    Event(E),
    /// Whoever asked should know this, whatever comes of it.
    Note(String),
    /// It is done.
    Outcome(O),
    /// It came to nothing.
    Failure(Failure),
}

impl<E: Serialize, O: Serialize> Line<E, O> {
    /// The line in JSON.
    pub(super) fn erased(self) -> Line<Json, Json> {
        let erased = match self {
            Line::Event(event) => serde_json::to_value(event).map(Line::Event),
            Line::Note(note) => Ok(Line::Note(note)),
            Line::Outcome(outcome) => serde_json::to_value(outcome).map(Line::Outcome),
            Line::Failure(failure) => Ok(Line::Failure(failure)),
        };
        erased.unwrap_or_else(|error| Line::Failure(Failure::of(&error)))
    }
}

/// The end of a command that sends.
#[derive(Debug)]
pub struct Events<C: Command> {
    lines: Sender<Line<C::Event, C::Outcome>>,
}

impl<C: Command> Clone for Events<C> {
    fn clone(&self) -> Self {
        Events {
            lines: self.lines.clone(),
        }
    }
}

/// The client is gone: the command ends at its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

impl From<Gone> for Failure {
    fn from(_: Gone) -> Self {
        Failure::new("the client is gone")
    }
}

impl<C: Command> Events<C> {
    /// Sends an event, as soon as there is room for it.
    pub async fn send(&self, event: C::Event) -> Result<(), Gone> {
        let sent = self.lines.send(Line::Event(event)).await;
        sent.map_err(|_| Gone)
    }

    /// Sends an event that may be left out, because another one like it follows.
    pub fn offer(&self, event: C::Event) -> Result<(), Gone> {
        match self.lines.try_send(Line::Event(event)) {
            Err(mpsc::error::TrySendError::Closed(_)) => Err(Gone),
            Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => Ok(()),
        }
    }

    /// Whether the client is gone.
    pub fn is_gone(&self) -> bool {
        self.lines.is_closed()
    }

    /// Waits until the client is gone.
    pub(super) async fn gone(&self) -> Gone {
        self.lines.closed().await;
        Gone
    }

    /// Sends what was noted. A client that is gone does not get it.
    pub(super) async fn note(&self, note: String) {
        let _ = self.lines.send(Line::Note(note)).await;
    }

    /// Sends the last line. A client that is gone does not get it.
    pub(super) async fn end(&self, ended: Result<C::Outcome, Failure>) {
        let line = ended.map_or_else(Line::Failure, Line::Outcome);
        let _ = self.lines.send(line).await;
    }
}

/// Both ends of a command.
pub(super) fn channel<C: Command>() -> (
    Events<C>,
    impl Stream<Item = Line<C::Event, C::Outcome>> + Send + use<C>,
) {
    let (lines, received) = mpsc::channel(WAITING_MAX);
    let received = futures::stream::unfold(received, async |mut received| {
        let line = received.recv().await?;
        Some((line, received))
    });
    (Events { lines }, received)
}
