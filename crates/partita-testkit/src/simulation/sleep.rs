//! Waiting for a time of the simulation.

use std::pin::Pin;
use std::task::{Context, Poll};

use partita_store::Clock as _;

use super::Simulation;

/// Waits until a time has come.
pub struct Sleep {
    simulation: Simulation,
    until_millis: i64,
    /// The timer that wakes, once it is set.
    timer: Option<u64>,
}

impl Sleep {
    pub(super) fn new(simulation: Simulation, until_millis: i64) -> Self {
        Sleep {
            simulation,
            until_millis,
            timer: None,
        }
    }

    fn cancel(&mut self) {
        if let Some(timer) = self.timer.take() {
            let timer = (self.until_millis, timer);
            // Dropped after the lock is given back: a waker may be the last to hold its task.
            let waker = self.simulation.state().timers.remove(&timer);
            drop(waker);
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.cancel();
        if self.simulation.now_millis() >= self.until_millis {
            return Poll::Ready(());
        }
        let mut state = self.simulation.state();
        let timer = state.number();
        let due = (self.until_millis, timer);
        state.timers.insert(due, context.waker().clone());
        drop(state);
        self.timer = Some(timer);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.cancel();
    }
}
