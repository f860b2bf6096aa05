//! The scheduler: time, order and replay.

use std::sync::{Arc, Mutex};

use futures::future::join_all;
use partita_store::Clock as _;
use partita_testkit::Simulation;
use partita_testkit::simulation::host::{Host, Manners};

#[test]
fn time_passes_only_when_everything_waits() {
    let simulation = Simulation::new(1, 1_000);
    let days = 3 * 86_400_000;
    simulation.run(async {
        let other = simulation.clone();
        let woken = simulation.spawn(async move {
            other.sleep(days / 2).await;
            other.now_millis()
        });
        simulation.sleep(days).await;
        assert_eq!(woken.await, Ok(1_000 + days / 2));
    });
    assert_eq!(simulation.now_millis(), 1_000 + days);
}

/// The order in which twenty tasks take ten steps each.
fn order(seed: u64) -> Vec<usize> {
    let simulation = Simulation::new(seed, 0);
    let steps = Arc::new(Mutex::new(Vec::new()));
    simulation.run(async {
        let tasks = (0..20).map(|number| {
            let (simulation, steps) = (simulation.clone(), steps.clone());
            simulation.clone().spawn(async move {
                for _ in 0..10 {
                    steps.lock().unwrap().push(number);
                    simulation.sleep(1).await;
                }
            })
        });
        join_all(tasks).await;
    });
    let steps = steps.lock().unwrap();
    steps.clone()
}

#[test]
fn a_seed_is_an_interleaving() {
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}

#[test]
fn what_is_not_waited_for_is_dropped() {
    let simulation = Simulation::new(1, 0);
    let held = Arc::new(());
    let kept = held.clone();
    let other = simulation.clone();
    simulation.run(async {
        drop(simulation.spawn(async move {
            other.sleep(i64::MAX).await;
            drop(kept);
        }));
    });
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
#[should_panic(expected = "everything waits")]
fn waiting_for_nothing_is_a_mistake() {
    Simulation::new(1, 0).run(std::future::pending::<()>());
}

#[test]
fn a_host_pauses_as_a_whole_and_has_a_clock_of_its_own() {
    let simulation = Simulation::new(1, 0);
    let manners = Manners {
        pause: 0.1,
        pause_millis_max: 60_000,
        skew_millis: -3_000,
    };
    let host = Host::new(&simulation, "one", manners, 1);
    let steps: Vec<i64> = simulation.run(async {
        let mut steps = Vec::new();
        for _ in 0..100 {
            host.step().await;
            steps.push(host.now_millis());
        }
        steps
    });
    assert_eq!(steps[0], -3_000);
    assert!((3..30).contains(&host.pauses()), "{}", host.pauses());
    assert!(*steps.last().unwrap() > 0);
}

#[test]
fn what_a_dead_host_was_doing_never_goes_on() {
    let simulation = Simulation::new(1, 0);
    let host = Host::new(&simulation, "one", Manners::default(), 1);
    let went_on = Arc::new(Mutex::new(false));
    simulation.run(async {
        let (dying, on) = (host.clone(), went_on.clone());
        let other = simulation.clone();
        drop(simulation.spawn(async move {
            other.sleep(10).await;
            dying.step().await;
            *on.lock().unwrap() = true;
        }));
        simulation.sleep(5).await;
        host.die();
        host.death().await;
        simulation.sleep(100).await;
    });
    assert!(!*went_on.lock().unwrap());
}
