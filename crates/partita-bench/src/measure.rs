//! Connections at work for some seconds, and what they saw.

use std::time::{Duration, Instant};

use anyhow::Result;
use hdrhistogram::Histogram;
use serde::Serialize;

use super::connection::Connection;
use super::server;
use super::target::BenchTarget;
use super::workload::Workload;
use crate::flags::BenchFlags;

/// What one run saw. Times are in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Figures {
    pub(super) per_second: f64,
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) p999: f64,
    pub(super) max: f64,
    /// Microseconds of processor time that the server spent on a request, if it is our own.
    pub(super) cpu_micros: Option<f64>,
}

/// Times in microseconds, from one to a minute, to three digits.
pub(super) fn histogram() -> Result<Histogram<u64>> {
    Ok(Histogram::new_with_bounds(1, 60_000_000, 3)?)
}

/// Lets all connections send one request after the other until the time is over.
pub(super) async fn run(
    target: &BenchTarget,
    workload: Workload,
    flags: &BenchFlags,
    round: u32,
) -> Result<Figures> {
    let cpu_before = target.cpu();
    let began = now();
    let until = began + Duration::from_secs(flags.seconds);
    let mut workers = Vec::new();
    for number in 0..flags.connections {
        let mut connection = Connection::open(&target.host).await?;
        let table = target.table.clone();
        let flags = flags.clone();
        let items = target.items;
        let seed = u64::from(round) << 32 | number as u64;
        workers.push(tokio::spawn(async move {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut times = histogram()?;
            while now() < until {
                let (operation, body) = workload.request(&table, &flags, items, &mut random);
                let sent = now();
                connection.call(operation, &body).await?;
                times.saturating_record(sent.elapsed().as_micros() as u64);
            }
            anyhow::Ok(times)
        }));
    }
    let mut all = histogram()?;
    for worker in workers {
        all.add(worker.await??)?;
    }
    let elapsed = began.elapsed();
    let cpu = target
        .cpu()
        .zip(cpu_before)
        .map(|(after, before)| after - before);
    Ok(Figures::of(&all, elapsed, cpu))
}

impl Figures {
    pub(super) fn of(all: &Histogram<u64>, elapsed: Duration, cpu: Option<Duration>) -> Figures {
        let millis = |micros: u64| micros as f64 / 1000.0;
        let cpu_micros = cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / all.len().max(1) as f64);
        Figures {
            cpu_micros,
            per_second: all.len() as f64 / elapsed.as_secs_f64(),
            p50: millis(all.value_at_quantile(0.5)),
            p99: millis(all.value_at_quantile(0.99)),
            p999: millis(all.value_at_quantile(0.999)),
            max: millis(all.max()),
        }
    }
}

/// The time and the processor time that this process itself spends on something, with pauses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopwatch {
    began: Instant,
    cpu_before: Option<Duration>,
    elapsed: Duration,
    cpu: Option<Duration>,
}

impl Stopwatch {
    /// Starts it.
    pub(super) fn start() -> Stopwatch {
        Stopwatch {
            began: now(),
            cpu_before: server::cpu_of("self"),
            elapsed: Duration::ZERO,
            cpu: Some(Duration::ZERO),
        }
    }

    /// Goes on after a pause.
    pub(super) fn resume(&mut self) {
        self.began = now();
        self.cpu_before = server::cpu_of("self");
    }

    /// Stops it.
    pub(super) fn pause(&mut self) {
        self.elapsed += self.began.elapsed();
        let spent = server::cpu_of("self").zip(self.cpu_before);
        let spent = spent.map(|(after, before)| after - before);
        self.cpu = self.cpu.zip(spent).map(|(sum, more)| sum + more);
    }

    /// The time until it was stopped, without pauses.
    pub(super) fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// What was seen in that time.
    pub(super) fn figures(&self, all: &Histogram<u64>) -> Figures {
        Figures::of(all, self.elapsed, self.cpu)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a bench measures the machine's time"
)]
pub(super) fn now() -> Instant {
    Instant::now()
}
