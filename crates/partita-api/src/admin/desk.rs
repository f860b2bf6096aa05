//! What a command works on.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use partita_design::{Design, sidecar};
use partita_plan::{Current, Gate, Partita, Surroundings};
use partita_store::{Clock, Store};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, watch};

use super::demo::Demos;
use super::{Command, Events, Failure};
use crate::console::Door;
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
    /// It changes the tables of one that exists, whose indexes are built meanwhile.
    Change,
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
    /// Opens the console, where there is one.
    pub console: Option<Arc<Door>>,
    /// Plays demos.
    pub demos: Arc<dyn Demos>,
    /// The places of commands that go through whole tables.
    pub scans: Scans,
    /// The designs that this process serves, or works on for commands.
    pub served: Currents,
    /// Whether others write to tables past the designs, whichever table it is.
    pub has_raw_writes: bool,
    /// Whether mails, events and schedules of all designs wait for the operator.
    pub is_paused: Arc<AtomicBool>,
    /// Counts the commands that are being carried out.
    pub running: Running,
    /// Becomes true when the process is told to stop; answers end then.
    pub stopping: watch::Receiver<bool>,
    /// The time after which a command that has nothing to say sends an empty line.
    pub alive_every: Duration,
    /// Whether others work on the same store, and a command that takes long leaves room for them.
    pub has_traffic: bool,
}

/// How often a command shows that it goes on. Proxies close a connection over which nothing comes for
/// a minute, and so do our clients; a command may wait for others or count for longer.
pub const ALIVE_EVERY: Duration = Duration::from_secs(15);

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

/// The designs on the store of a process, by their sidecars: what they are called does not say
/// whose data it is.
#[derive(Clone, Default)]
pub struct Currents(Arc<Known>);

#[derive(Default)]
struct Known {
    served: RwLock<BTreeMap<String, Arc<Current>>>,
    /// Those that only commands work on.
    others: Mutex<BTreeMap<String, Other>>,
}

/// A design that is not served.
#[derive(Default)]
struct Other {
    /// Kept, because a command may still write when the one that opened the design has ended.
    gate: Gate,
    /// Not kept: when nobody works on it, its stage is read again.
    current: Weak<Current>,
}

impl Currents {
    /// Says that a design is served.
    pub fn add(&self, current: Arc<Current>) {
        let sidecar = sidecar::name(current.get().design());
        let mut served = self
            .0
            .served
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        served.insert(sidecar, current);
    }

    /// The designs that are served.
    pub fn all(&self) -> Vec<Arc<Current>> {
        let served = self.0.served.read().unwrap_or_else(PoisonError::into_inner);
        served.values().cloned().collect()
    }

    /// The design that is served with the data of this one.
    fn served(&self, design: &Design) -> Option<Arc<Current>> {
        let served = self.0.served.read().unwrap_or_else(PoisonError::into_inner);
        served.get(&sidecar::name(design)).cloned()
    }

    /// The design that is served with the data of this one, as it is now. One that has a table of a
    /// served design beside another sidecar is refused.
    pub fn with_data_of(&self, design: &Design) -> Result<Option<Design>, Failure> {
        match self.served(design) {
            Some(current) => Ok(Some(current.get().design().clone())),
            None => self.refuse_tables_of_others(design).map(|()| None),
        }
    }

    /// The live design of the data in a design's tables. There is one for all commands, so that they
    /// move its stages under one lock.
    async fn current(
        &self,
        design: &Design,
        store: &Arc<dyn Store>,
    ) -> Result<Arc<Current>, Failure> {
        if let Some(served) = self.served(design) {
            return Ok(served);
        }
        self.refuse_tables_of_others(design)?;
        let mut others = self.0.others.lock().await;
        let other = others.entry(sidecar::name(design)).or_default();
        if let Some(current) = other.current.upgrade() {
            return Ok(current);
        }
        let gate = other.gate.now().await;
        let live = Partita::inspect_live(design.clone(), store.clone(), Surroundings::default());
        let current = Current::new(live.await?.behind(gate));
        other.current = Arc::downgrade(&current);
        Ok(current)
    }

    /// What all that write to a design's data pass.
    async fn gate(&self, design: &Design) -> Gate {
        if let Some(served) = self.served(design) {
            return served.gate().now().await;
        }
        let mut others = self.0.others.lock().await;
        let other = others.entry(sidecar::name(design)).or_default();
        other.gate.now().await
    }

    /// Refuses a design that has a table of one that is served, beside another sidecar.
    fn refuse_tables_of_others(&self, design: &Design) -> Result<(), Failure> {
        for served in self.all() {
            let partita = served.get();
            let taken = partita.design().tables.iter();
            let mut taken = taken.map(|table| &table.name);
            let is_own = |name: &&String| design.tables.iter().any(|own| own.name == **name);
            if let Some(table) = taken.find(is_own) {
                let other = &partita.design().name;
                let detail = format!(
                    "the table `{table}` belongs to the design `{other}`, which is served: name \
                     the tables in its order"
                );
                return Err(Failure::new(detail));
            }
        }
        Ok(())
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
    /// What whoever asks should know of the design.
    pub(super) notes: Notes,
}

/// What is noted while a command is carried out, and told before its end.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes(Arc<StdMutex<Vec<String>>>);

impl Notes {
    pub(super) fn add(&self, note: &str) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !notes.iter().any(|one| one == note) {
            notes.push(note.to_owned());
        }
    }

    pub(super) fn take(&self) -> Vec<String> {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *notes)
    }
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
            notes: Notes::default(),
        }
    }

    /// A desk for a design that the operator gives.
    pub fn of_given(installation: Installation, design: Design) -> Desk {
        Desk {
            installation,
            subject: Subject::Given(Box::new(design)),
            is_operator: true,
            notes: Notes::default(),
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
                // What is served knows the stages of its migration.
                let served = &self.installation.served;
                if let Some(current) = served.served(design) {
                    let partita = current.get();
                    let (own, given) = (&partita.design().origin, &design.origin);
                    if own.text == given.text && own.variables == given.variables {
                        return Ok(partita);
                    }
                }
                let gate = served.gate(design).await;
                let store = self.installation.store.clone();
                let opened = Partita::inspect((**design).clone(), store, Surroundings::default());
                // A server keeps the files of every design, and here is said what it would do.
                let opened = opened.await?.as_if_keeping_files();
                if let Some(note) = opened.note() {
                    self.notes.add(note);
                }
                let is_paused = self.installation.is_paused.clone();
                Ok(Arc::new(opened.behind(gate).pausing_with(is_paused)))
            }
        }
    }

    /// The design with this one's data that this process serves, if it serves one.
    pub(super) fn served(&self) -> Option<Arc<Partita>> {
        match &self.subject {
            Subject::Served(partita) => Some(partita.clone()),
            Subject::Given(design) => {
                let served = self.installation.served.served(design);
                served.map(|current| current.get())
            }
        }
    }

    /// The live design on the store, in the stage of its migration, whatever design is given. What
    /// this process serves follows it.
    pub(super) async fn current(&self) -> Result<Arc<Current>, Failure> {
        let Installation { served, store, .. } = &self.installation;
        served.current(self.design(), store).await
    }

    /// Refuses what cannot be while others write to the tables past the design.
    pub(super) fn refuse_raw_writes(&self) -> Result<(), Failure> {
        if self.installation.has_raw_writes {
            let detail = "the server takes writes past the design, which would not keep the derived \
                          data of two designs: start it without --raw-writes";
            return Err(Failure::new(detail));
        }
        Ok(())
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
                let detail = format!("{QUEUE_MAX} such commands run or wait: try again later");
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

#[cfg(test)]
mod tests;
