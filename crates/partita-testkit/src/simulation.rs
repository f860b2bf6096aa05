//! Many tasks on one thread under one seed, with a clock that moves only when nothing else can.
//!
//! Which of the tasks that could go on goes on is drawn, so a seed is an interleaving, and the
//! same seed replays it exactly: there is no other thread, no timer of the machine and no order
//! of a hash map in it. Sleeping costs nothing, so minutes and days pass in no time.
//!
//! | module | what it holds |
//! |---|---|
//! | `simulation` | the scheduler |
//! | [`sleep`] | [`Sleep`]: waiting for a time |
//! | [`host`] | [`Host`]: a machine that pauses, dies and has a clock of its own |

pub mod host;
pub mod sleep;

use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use futures::channel::oneshot;
use futures::future::{BoxFuture, Either, select};
use partita_store::Clock;
use partita_store::surroundings::Waiting;

pub use host::Host;
pub use sleep::Sleep;

/// The number of the work that [`Simulation::run`] is given.
const MAIN: u64 = 0;

/// The scheduler and its clock. Its clones are one and the same.
#[derive(Clone)]
pub struct Simulation {
    state: Arc<Mutex<State>>,
}

struct State {
    now_millis: i64,
    random: fastrand::Rng,
    tasks: BTreeMap<u64, BoxFuture<'static, ()>>,
    /// The tasks that can go on, each once.
    ready: Vec<u64>,
    /// Who is woken when, in the order in which it was asked for.
    timers: BTreeMap<(i64, u64), Waker>,
    last_number: u64,
    trace: Option<Vec<String>>,
}

impl State {
    fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn make_ready(&mut self, task: u64) {
        if !self.ready.contains(&task) {
            self.ready.push(task);
        }
    }
}

impl Simulation {
    /// Begins at a time, in milliseconds since 1970.
    pub fn new(seed: u64, now_millis: i64) -> Self {
        let state = State {
            now_millis,
            random: fastrand::Rng::with_seed(seed),
            tasks: BTreeMap::new(),
            ready: Vec::new(),
            timers: BTreeMap::new(),
            last_number: MAIN,
            trace: None,
        };
        Simulation {
            state: Arc::new(Mutex::new(state)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is made as a whole, so a panic elsewhere leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries work out together with everything that is spawned, until the work is done. What
    /// else is under way then never goes on.
    ///
    /// # Panics
    ///
    /// If everything waits for something that cannot come.
    pub fn run<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let main = self.waker(MAIN);
        self.state().make_ready(MAIN);
        loop {
            match self.next() {
                Some(MAIN) => {
                    let polled = work.as_mut().poll(&mut Context::from_waker(&main));
                    if let Poll::Ready(done) = polled {
                        self.drop_tasks();
                        return done;
                    }
                }
                Some(task) => self.go_on(task),
                None => self.advance(),
            }
        }
    }

    /// Lets work go on beside the rest. What it comes to is received; nobody has to.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let (sender, receiver) = oneshot::channel();
        let task = async move {
            // The receiver may be gone.
            let _ = sender.send(work.await);
        };
        let mut state = self.state();
        let number = state.number();
        state.tasks.insert(number, Box::pin(task));
        state.make_ready(number);
        receiver
    }

    /// Waits so long.
    pub fn sleep(&self, millis: i64) -> Sleep {
        let until = self.now_millis().saturating_add(millis.max(0));
        Sleep::new(self.clone(), until)
    }

    /// Waits for something, so long at most.
    pub async fn within<T>(&self, millis: i64, work: impl Future<Output = T>) -> Option<T> {
        let (work, timeout) = (pin!(work), self.sleep(millis));
        match select(work, timeout).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(_) => None,
        }
    }

    /// Lets time pass at once, whatever waits for it.
    pub fn pass(&self, millis: i64) {
        let mut state = self.state();
        state.now_millis = state.now_millis.saturating_add(millis.max(0));
    }

    /// Notes what happens from now on.
    pub fn begin_trace(&self) {
        self.state().trace = Some(Vec::new());
    }

    /// Notes something, if anybody wants to know.
    pub fn note(&self, what: impl FnOnce() -> String) {
        if self.state().trace.is_none() {
            return;
        }
        let what = what();
        let mut state = self.state();
        let line = format!("{} {what}", state.now_millis);
        if let Some(trace) = &mut state.trace {
            trace.push(line);
        }
    }

    /// What was noted.
    pub fn trace(&self) -> Vec<String> {
        self.state().trace.clone().unwrap_or_default()
    }

    /// Draws one of the tasks that can go on.
    fn next(&self) -> Option<u64> {
        let State { ready, random, .. } = &mut *self.state();
        if ready.is_empty() {
            return None;
        }
        let drawn = random.usize(..ready.len());
        Some(ready.swap_remove(drawn))
    }

    fn go_on(&self, number: u64) {
        // A task that is woken after its end is not there any more.
        let Some(mut task) = self.state().tasks.remove(&number) else {
            return;
        };
        let waker = self.waker(number);
        let polled = task.as_mut().poll(&mut Context::from_waker(&waker));
        if polled.is_pending() {
            self.state().tasks.insert(number, task);
        }
    }

    /// Goes to the next time at which something happens.
    fn advance(&self) {
        let waker = {
            let mut state = self.state();
            let Some(((due_millis, _), waker)) = state.timers.pop_first() else {
                panic!("everything waits, and nothing can happen");
            };
            state.now_millis = state.now_millis.max(due_millis);
            waker
        };
        waker.wake();
    }

    /// Tasks hold the simulation that holds them.
    fn drop_tasks(&self) {
        let mut state = self.state();
        let tasks = std::mem::take(&mut state.tasks);
        let timers = std::mem::take(&mut state.timers);
        // Given back first: what is dropped cancels its timers.
        drop(state);
        drop((tasks, timers));
    }

    fn waker(&self, task: u64) -> Waker {
        let simulation = self.clone();
        Waker::from(Arc::new(Wakes { task, simulation }))
    }
}

impl Clock for Simulation {
    fn now_millis(&self) -> i64 {
        self.state().now_millis
    }

    fn wait(&self, millis: u64) -> Option<Waiting> {
        let millis = i64::try_from(millis).unwrap_or(i64::MAX);
        Some(Box::pin(self.sleep(millis)))
    }
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let State {
            now_millis, tasks, ..
        } = &*self.state();
        f.debug_struct("Simulation")
            .field("now_millis", now_millis)
            .field("tasks", &tasks.len())
            .finish_non_exhaustive()
    }
}

struct Wakes {
    task: u64,
    simulation: Simulation,
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.simulation.state().make_ready(self.task);
    }
}
