//! What a command works on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use partita_design::Design;
use partita_plan::{Partita, Surroundings};
use partita_store::{Clock, Store};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::demo::Demos;
use super::{Command, Events, Failure};
use crate::token::Tokens;

/// What a command needs of the store, where a process opens one for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreUse {
    /// Nothing.
    Nothing,
    /// It looks at one that exists, or repairs it.
    Look,
    /// It looks at one, and takes one that does not exist for empty.
    LookOrEmpty,
    /// It fills one, which is created if it does not exist.
    Fill,
}

/// What all commands of a process share.
#[derive(Clone)]
pub struct Installation {
    /// Where the items are.
    pub store: Arc<dyn Store>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes tokens, where the secret is known.
    pub tokens: Option<Arc<Tokens>>,
    /// Plays demos.
    pub demos: Arc<dyn Demos>,
    /// The places of commands that go through whole tables.
    pub scans: Scans,
    /// Counts the commands that are being carried out.
    pub running: Running,
    /// Becomes true when the process is told to stop; answers end then.
    pub stopping: watch::Receiver<bool>,
    /// Whether others work on the same store, and a command that takes long leaves room for them.
    pub has_traffic: bool,
}

/// Places of commands that go through whole tables, so that many at once load the store no more
/// than a few. The operator has one that no administrator of a design takes.
#[derive(Clone, Debug)]
pub struct Scans {
    operator: Arc<Semaphore>,
    administrators: Arc<Semaphore>,
    /// Administrators' commands that have a place or wait for one.
    queue: Arc<Semaphore>,
}

/// Administrators' commands that have a place or wait for one, at most.
const QUEUE_MAX: usize = 16;

impl Default for Scans {
    fn default() -> Self {
        Scans {
            operator: Arc::new(Semaphore::new(1)),
            administrators: Arc::new(Semaphore::new(1)),
            queue: Arc::new(Semaphore::new(QUEUE_MAX)),
        }
    }
}

/// A place, until this is dropped.
pub(super) struct ScanPlace {
    _place: OwnedSemaphorePermit,
    _queued: Option<OwnedSemaphorePermit>,
}

/// How many commands are being carried out.
#[derive(Clone, Debug, Default)]
pub struct Running(Arc<AtomicU64>);

/// A command that is being carried out, until this is dropped.
pub(super) struct OneRunning(Arc<AtomicU64>);

impl Running {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn begin(&self) -> OneRunning {
        self.0.fetch_add(1, Ordering::Relaxed);
        OneRunning(self.0.clone())
    }
}

impl Drop for OneRunning {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A design on an installation.
#[derive(Clone)]
pub struct Desk {
    /// What all commands share.
    pub installation: Installation,
    subject: Subject,
    /// Whether the operator asks: who has the data itself, and so is shown secrets and may remove
    /// what callers gave.
    pub(super) is_operator: bool,
}

#[derive(Clone)]
enum Subject {
    /// A design that is served.
    Served(Arc<Partita>),
    /// A design that the operator gives. It is opened as its command needs it.
    Given(Box<Design>),
}

impl Desk {
    /// A desk for a design that is served.
    pub fn of_served(installation: Installation, partita: Arc<Partita>, is_operator: bool) -> Desk {
        Desk {
            installation,
            subject: Subject::Served(partita),
            is_operator,
        }
    }

    /// A desk for a design that the operator gives.
    pub fn of_given(installation: Installation, design: Design) -> Desk {
        Desk {
            installation,
            subject: Subject::Given(Box::new(design)),
            is_operator: true,
        }
    }

    /// The design, as it is served or given.
    pub fn design(&self) -> &Design {
        match &self.subject {
            Subject::Served(partita) => partita.design(),
            Subject::Given(design) => design,
        }
    }

    /// The design on the store as it is. Nothing is created or recorded.
    pub async fn partita(&self) -> Result<Arc<Partita>, Failure> {
        match &self.subject {
            Subject::Served(partita) => Ok(partita.clone()),
            Subject::Given(design) => {
                let store = self.installation.store.clone();
                let opened = Partita::inspect((**design).clone(), store, Surroundings::default());
                Ok(Arc::new(opened.await?))
            }
        }
    }

    /// Waits for a place among the commands that go through whole tables, as long as the client
    /// does.
    pub(super) async fn place_to_scan<C: Command>(
        &self,
        events: &Events<C>,
    ) -> Result<ScanPlace, Failure> {
        let scans = &self.installation.scans;
        let (places, queued) = if self.is_operator {
            (&scans.operator, None)
        } else {
            let queued = scans.queue.clone().try_acquire_owned().map_err(|_| {
                let detail = format!("{QUEUE_MAX} such commands are waiting: try again later");
                Failure::new(detail)
            })?;
            (&scans.administrators, Some(queued))
        };
        let place = tokio::select! {
            place = places.clone().acquire_owned() => place,
            gone = events.gone() => return Err(gone.into()),
        };
        Ok(ScanPlace {
            _place: place.map_err(|error| Failure::of(&error))?,
            _queued: queued,
        })
    }
}
