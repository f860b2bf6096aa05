//! Commands of the operator that are for the whole installation and not for a design, such as a
//! backup. They are asked for over the socket in the data directory only, and answered line by line
//! as the others are.

use axum::response::Response;
use futures::{FutureExt as _, StreamExt as _};
use serde::Serialize;
use tokio::sync::mpsc;

use super::{Failure, Installation, Line, answer, events::Gone};

/// Events that wait to be read.
const WAITING_MAX: usize = 64;

/// Where a command sends its events.
#[derive(Debug)]
pub struct OperatorEvents<E>(mpsc::Sender<E>);

impl<E> OperatorEvents<E> {
    /// Sends an event that may be left out, because another one like it follows.
    pub fn offer(&self, event: E) -> Result<(), Gone> {
        match self.0.try_send(event) {
            Err(mpsc::error::TrySendError::Closed(_)) => Err(Gone),
            Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => Ok(()),
        }
    }
}

/// Carries a command out in a task of its own, and answers with its events and its end. When the
/// client is gone, no further event can be sent.
pub fn answer<E, O, F>(
    installation: &Installation,
    work: impl FnOnce(OperatorEvents<E>) -> F,
) -> Response
where
    E: Serialize + Send + 'static,
    O: Serialize + Send + 'static,
    F: Future<Output = Result<O, Failure>> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    let running = installation.running.begin();
    let work = work(OperatorEvents(sender));
    let ended = tokio::spawn(async move {
        let ended = std::panic::AssertUnwindSafe(work).catch_unwind().await;
        drop(running);
        ended.unwrap_or_else(|_| Err(Failure::new(super::MISTAKE)))
    });
    let events = futures::stream::unfold(receiver, async |mut receiver| {
        let event = receiver.recv().await?;
        Some((Line::<E, O>::Event(event), receiver))
    });
    let end = futures::stream::once(async move {
        match ended.await {
            Ok(Ok(outcome)) => Line::Outcome(outcome),
            Ok(Err(failure)) => Line::Failure(failure),
            Err(error) => Line::Failure(Failure::of(&error)),
        }
    });
    let lines = events.chain(end).map(Line::erased);
    answer::lines(installation, Box::pin(lines))
}
