//! What a program takes from its surroundings: the time and randomness.
//!
//! Both come in as parameters, so that tests do not sleep and failures replay.

use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The time of day.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    fn now_millis(&self) -> i64;

    /// The same in microseconds, as exactly as the clock goes, to measure durations.
    fn now_micros(&self) -> i64 {
        self.now_millis().saturating_mul(1000)
    }

    /// Waits so long, where time passes by this clock alone; otherwise the machine's timers serve.
    fn wait(&self, _millis: u64) -> Option<Waiting> {
        None
    }
}

/// The end of some time.
pub type Waiting = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_millis(&self) -> i64 {
        self.now_micros() / 1000
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the machine"
    )]
    fn now_micros(&self) -> i64 {
        let now = SystemTime::now();
        match now.duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            // A clock before 1970 is wrong by decades; zero is no worse than what it says.
            Err(_) => 0,
        }
    }
}

/// A clock that moves only when it is set.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that shows the given time.
    pub fn at(millis: i64) -> Self {
        ManualClock(AtomicI64::new(millis))
    }

    /// Sets the time, forwards or backwards.
    pub fn set(&self, millis: i64) {
        self.0.store(millis, Ordering::SeqCst);
    }

    /// Moves the time forward.
    pub fn advance(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_millis(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Gives random bytes.
pub trait Entropy: Send + Sync {
    /// Fills the buffer.
    fn fill(&self, buffer: &mut [u8]);
}

/// The operating system's randomness, fit for secrets.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the machine"
    )]
    fn fill(&self, buffer: &mut [u8]) {
        getrandom::fill(buffer)
            .expect("an operating system without randomness runs nothing safely");
    }
}

/// The same bytes for the same seed: for tests, never for secrets.
#[derive(Debug)]
pub struct SeededEntropy(Mutex<fastrand::Rng>);

impl SeededEntropy {
    /// The sequence that belongs to a seed.
    pub fn new(seed: u64) -> Self {
        SeededEntropy(Mutex::new(fastrand::Rng::with_seed(seed)))
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        let mut random = self
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        random.fill(buffer);
    }
}
