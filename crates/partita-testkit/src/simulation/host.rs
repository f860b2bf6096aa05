//! A machine: it pauses between any two steps, dies, and has a clock that is not quite right.

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use futures::future::{Either, select};
use partita_store::Clock;
use partita_store::surroundings::Waiting;

use super::Simulation;

/// How a machine behaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manners {
    /// How often it pauses before a step, from 0 to 1.
    pub pause: f64,
    /// The longest pause.
    pub pause_millis_max: i64,
    /// How far its clock is ahead, or behind.
    pub skew_millis: i64,
}

/// A machine.
pub struct Host {
    simulation: Simulation,
    name: String,
    manners: Manners,
    state: Mutex<State>,
}

struct State {
    random: fastrand::Rng,
    is_dead: bool,
    /// Who waits for its end.
    mourners: Vec<Waker>,
    paused_until_millis: i64,
    pauses: u64,
}

impl Host {
    /// A machine that runs. What it does follows from the seed.
    pub fn new(
        simulation: &Simulation,
        name: impl Into<String>,
        manners: Manners,
        seed: u64,
    ) -> Arc<Self> {
        Arc::new(Host {
            simulation: simulation.clone(),
            name: name.into(),
            manners,
            state: Mutex::new(State {
                random: fastrand::Rng::with_seed(seed),
                is_dead: false,
                mourners: Vec::new(),
                paused_until_millis: 0,
                pauses: 0,
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What traces call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has died.
    pub fn is_dead(&self) -> bool {
        self.state().is_dead
    }

    /// How far its clock is ahead, or behind.
    pub fn skew_millis(&self) -> i64 {
        self.manners.skew_millis
    }

    /// How often it has paused.
    pub fn pauses(&self) -> u64 {
        self.state().pauses
    }

    /// Ends it: whatever it was doing never goes on.
    pub fn die(&self) {
        let mourners = {
            let mut state = self.state();
            state.is_dead = true;
            std::mem::take(&mut state.mourners)
        };
        self.simulation.note(|| format!("{} dies", self.name));
        mourners.into_iter().for_each(Waker::wake);
    }

    /// Waits for its end.
    pub async fn death(&self) {
        poll_fn(|context| {
            let mut state = self.state();
            if state.is_dead {
                return Poll::Ready(());
            }
            let waker = context.waker();
            if !state.mourners.iter().any(|one| one.will_wake(waker)) {
                state.mourners.push(waker.clone());
            }
            Poll::Pending
        })
        .await;
    }

    /// Waits for something as long as it lives.
    pub async fn while_alive<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        match select(pin!(work), pin!(self.death())).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(_) => None,
        }
    }

    /// What it does before it goes on with something: mostly nothing. While it pauses nothing on
    /// it goes on, and a dead one never does.
    pub async fn step(&self) {
        self.maybe_pause();
        loop {
            let left = self.state().paused_until_millis - self.simulation.now_millis();
            if left <= 0 {
                break;
            }
            self.simulation.sleep(left).await;
        }
        if self.is_dead() {
            pending::<()>().await;
        }
    }

    fn maybe_pause(&self) {
        let now = self.simulation.now_millis();
        let mut state = self.state();
        if state.random.f64() >= self.manners.pause {
            return;
        }
        let pause = state.random.i64(0..=self.manners.pause_millis_max.max(0));
        state.paused_until_millis = state.paused_until_millis.max(now + pause);
        state.pauses += 1;
        drop(state);
        self.simulation
            .note(|| format!("{} pauses for {pause} ms", self.name));
    }
}

impl Clock for Host {
    fn now_millis(&self) -> i64 {
        let skew = self.manners.skew_millis;
        self.simulation.now_millis().saturating_add(skew)
    }

    fn wait(&self, millis: u64) -> Option<Waiting> {
        self.simulation.wait(millis)
    }
}
