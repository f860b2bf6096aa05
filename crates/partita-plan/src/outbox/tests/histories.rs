//! Writes, couriers and the other side, all of which fail at times.

use std::collections::BTreeMap;
use std::sync::Arc;

use partita_store::Store;
use partita_testkit::{Faults, FaultyStore};

use super::{
    Defect, HOUR, Recipient, create, drain, fastrand_like, manual, model, open, run, step, turns_of,
};
use crate::Partita;
use crate::outbox::Courier;

/// Writes to orders under faults, while couriers are killed and the other side fails. Answers what
/// is wrong.
async fn history(seed: u64, defect: Option<Defect>) -> Option<String> {
    const ORDERS: usize = 8;
    const STEPS: i64 = 6;
    let inner = model();
    let faults = Faults {
        conflict: 0.1,
        throttle: 0.05,
        unknown_outcome: 0.05,
    };
    let faulty = Arc::new(FaultyStore::calm(inner.clone(), faults, seed));
    let store: Arc<dyn Store> = faulty.clone();
    let clock = manual();
    let mut partita = open(&store, clock.clone(), seed).await;
    let recipient = Recipient::unreliable(&inner, seed);
    if defect == Some(Defect::Hasty) {
        partita.hasty = Some(recipient.clone());
    }
    let partita = Arc::new(partita);
    faulty.begin();
    let mut random = fastrand_like(seed + 1);
    let names: Vec<String> = (0..ORDERS).map(|order| format!("o{order}")).collect();
    for number in 0..=STEPS {
        let writes = names.iter().map(|name| {
            let operation = if number == 0 {
                create(name)
            } else {
                step(name, number)
            };
            run(&partita, operation)
        });
        for written in futures::future::join_all(writes).await {
            written.unwrap();
        }
        // A courier that is killed somewhere, and another that takes over.
        let courier = courier(&partita, &recipient, defect);
        courier.take_over().await.unwrap();
        let turns = random() % 400;
        tokio::select! {
            biased;
            _ = courier.deliver() => {}
            () = turns_of(turns) => {}
        }
        clock.advance(HOUR);
    }
    let courier = courier(&partita, &recipient, defect);
    courier.take_over().await.unwrap();
    drain(&partita, &courier, &clock).await;
    assert!(faulty.injected() > 0);
    verdict(&recipient, &names, STEPS)
}

fn courier(partita: &Arc<Partita>, to: &Arc<Recipient>, defect: Option<Defect>) -> Courier {
    let mut courier = Courier::new(partita.clone(), to.clone());
    courier.defect = defect;
    courier
}

fn verdict(recipient: &Recipient, names: &[String], steps: i64) -> Option<String> {
    if let Some(early) = recipient.early.lock().unwrap().first() {
        return Some(format!("{early:?} was delivered before it was committed"));
    }
    let mut chains: BTreeMap<(String, String), Vec<i64>> = BTreeMap::new();
    for (channel, order, step) in recipient.seen() {
        chains.entry((channel, order)).or_default().push(step);
    }
    for name in names {
        for channel in ["mail", "send:billing", "send:archive"] {
            let key = (channel.to_owned(), name.clone());
            let mut firsts: Vec<i64> = Vec::new();
            for step in chains.remove(&key).unwrap_or_default() {
                if !firsts.contains(&step) {
                    firsts.push(step);
                }
            }
            let all: Vec<i64> = (0..=steps).collect();
            if firsts != all {
                return Some(format!("of {key:?} arrived {firsts:?}"));
            }
        }
    }
    None
}

#[tokio::test]
async fn everything_arrives_in_order_through_faults_and_kills() {
    for seed in 0..10 {
        assert_eq!(history(seed, None).await, None, "seed {seed}");
    }
}

#[tokio::test]
async fn planted_mistakes_are_noticed() {
    for defect in [Defect::RemovedFirst, Defect::Unordered, Defect::Hasty] {
        let mut found = None;
        for seed in 0..10 {
            found = found.or(history(seed, Some(defect)).await);
        }
        assert!(found.is_some(), "{defect:?} is not noticed");
    }
}
