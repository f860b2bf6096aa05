//! Where a history of files takes place: on one store with one server, or on a simulated Amazon
//! with several.

use std::future::{pending, ready};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use partita_core::Item;
use partita_plan::{JobState, Partita, Patience, Surroundings};
use partita_store::request::{DeleteItem, ReturnValues};
use partita_store::surroundings::{ManualClock, SeededEntropy, SystemEntropy};
use partita_store::{Clock, ModelStore, Store};
use partita_testkit::amazon::behaviour::Throughput;
use partita_testkit::amazon::{Behaviour, Connection, Network};
use partita_testkit::faulty::{Faults, FaultyStore};
use partita_testkit::simulation::host::{Host, Manners};
use partita_testkit::{Amazon, Simulation};

use super::model;
use super::shelf::Shelf;
use crate::stage;

const FAULTS: Faults = Faults {
    conflict: 0.05,
    throttle: 0.02,
    unknown_outcome: 0.05,
};

/// What happens around a history.
pub(super) trait Ground: Send + Sync {
    fn now_millis(&self) -> i64;

    /// Lets time pass.
    fn pass(&self, millis: i64) -> BoxFuture<'_, ()>;

    /// Has the store remove some or all of what has expired.
    fn sweep<'a>(&'a self, items: &'a [Item]) -> BoxFuture<'a, ()>;

    /// The end of those who serve, some time from now.
    fn death(&self) -> BoxFuture<'_, ()>;

    /// Waits for what is on its way although nobody waits for it any more.
    fn late(&self) -> BoxFuture<'_, ()>;

    /// Has others take over what was left by who died.
    fn take_over<'a>(&'a self, server: &'a Partita) -> BoxFuture<'a, bool>;

    /// From now on the store keeps nobody waiting.
    fn calm(&self);
}

/// One store, whose faults one server meets.
pub(super) struct Still {
    store: Arc<dyn Store>,
    clock: Arc<ManualClock>,
    table: String,
}

impl Still {
    /// A server on a store, with a table of its own.
    pub(super) async fn open(
        store: Arc<dyn Store>,
        clock: Arc<ManualClock>,
        (table, seed): (&str, u64),
        shelf: &Arc<Shelf>,
    ) -> (Arc<Still>, Vec<Partita>) {
        let faulty = Arc::new(FaultyStore::calm(store.clone(), FAULTS, seed));
        let patience = Patience {
            attempts: 12,
            pause_millis: 0,
        };
        let server = open(
            table,
            faulty.clone(),
            clock.clone(),
            (seed, patience),
            shelf,
        )
        .await;
        faulty.begin();
        let still = Still {
            store,
            clock,
            table: table.to_owned(),
        };
        (Arc::new(still), vec![server])
    }
}

impl Ground for Still {
    fn now_millis(&self) -> i64 {
        self.clock.now_millis()
    }

    fn pass(&self, millis: i64) -> BoxFuture<'_, ()> {
        self.clock.advance(millis);
        Box::pin(ready(()))
    }

    fn sweep<'a>(&'a self, items: &'a [Item]) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let now = self.now_millis() / 1000;
            let is_over = |item: &&Item| {
                let until = model::row(item).and_then(|row| row.until);
                until.is_some_and(|until| until < now)
            };
            for item in items.iter().filter(is_over) {
                let key = ["PK", "SK"].map(|name| (name.to_owned(), item[name].clone()));
                let delete = DeleteItem {
                    table: self.table.parse().unwrap(),
                    key: Item::from(key),
                    condition: None,
                    return_item_on_failure: false,
                };
                let deleted = self.store.delete_item(delete, ReturnValues::None).await;
                deleted.unwrap();
            }
        })
    }

    fn death(&self) -> BoxFuture<'_, ()> {
        Box::pin(pending())
    }

    fn late(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    fn take_over<'a>(&'a self, server: &'a Partita) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let _ = server.take_over_jobs().await;
            server.run_jobs().await.is_ok()
        })
    }

    fn calm(&self) {}
}

/// A simulated Amazon, which several servers use.
pub(super) struct Clouds {
    simulation: Simulation,
    amazon: Arc<Amazon>,
    random: Mutex<fastrand::Rng>,
}

impl Clouds {
    /// Servers on a service that carries out what they ask for on a store in front of a model.
    pub(super) async fn open(
        simulation: &Simulation,
        (model, primary): (Arc<ModelStore>, Arc<dyn Store>),
        (servers, seed): (usize, u64),
        shelf: &Arc<Shelf>,
    ) -> (Arc<Clouds>, Vec<Partita>) {
        let behaviour = Behaviour {
            // Tables are there before the history begins.
            table_millis: 0..=0,
            throughput: Throughput {
                read: 120,
                write: 30,
            },
            ..Behaviour::rough()
        };
        let amazon = Amazon::around(model, primary, simulation, behaviour, seed);
        let amazon = Arc::new(amazon);
        amazon.calm();
        let patience = Patience {
            attempts: 12,
            pause_millis: 10,
        };
        let mut opened = Vec::new();
        for number in 0..servers {
            let seed = seed * 100 + number as u64;
            let mut random = fastrand::Rng::with_seed(seed);
            let manners = Manners {
                pause: 0.002,
                pause_millis_max: 180_000,
                skew_millis: random.i64(-5_000..=5_000),
            };
            let host = Host::new(simulation, format!("server {number}"), manners, seed);
            let network = Network::rough();
            let store = Connection::new(simulation, amazon.clone(), host.clone(), network, seed);
            let server = open("archive", Arc::new(store), host, (seed, patience), shelf);
            opened.push(server.await);
        }
        amazon.begin();
        let clouds = Clouds {
            simulation: simulation.clone(),
            amazon,
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
        };
        (Arc::new(clouds), opened)
    }

    fn drawn(&self, millis: i64) -> i64 {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        random.i64(0..millis)
    }
}

impl Ground for Clouds {
    fn now_millis(&self) -> i64 {
        self.simulation.now_millis()
    }

    fn pass(&self, millis: i64) -> BoxFuture<'_, ()> {
        Box::pin(self.simulation.sleep(millis))
    }

    fn sweep<'a>(&'a self, _: &'a [Item]) -> BoxFuture<'a, ()> {
        self.amazon.sweep();
        Box::pin(ready(()))
    }

    fn death(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.simulation.sleep(self.drawn(400)))
    }

    fn late(&self) -> BoxFuture<'_, ()> {
        Box::pin(
            self.simulation
                .sleep(Network::rough().late_millis_max + 60_000),
        )
    }

    fn take_over<'a>(&'a self, server: &'a Partita) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            // Leases and rests are over by then.
            self.simulation.sleep(60_000).await;
            let _ = server.run_jobs().await;
            let jobs = server.jobs().await;
            jobs.is_ok_and(|jobs| jobs.iter().all(|job| job.state == JobState::Done))
        })
    }

    fn calm(&self) {
        self.amazon.calm();
    }
}

async fn open(
    table: &str,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    (seed, patience): (u64, Patience),
    shelf: &Arc<Shelf>,
) -> Partita {
    let surroundings = Surroundings {
        clock,
        entropy: Arc::new(SeededEntropy::new(seed ^ 0xf11e)),
        cursor_key: [7; 32],
        patience,
    };
    let design = stage::design("archive", table);
    let partita = Partita::open_with(design, store, surroundings).await;
    let partita = partita.unwrap().with_objects(shelf.clone());
    if table.starts_with(SPOILT) {
        // Several tables of one store have histories of one seed, and a store knows a token again.
        return partita.with_tokens_from(Arc::new(SystemEntropy));
    }
    partita
}

/// How the tables of histories with a planted mistake are called.
pub(super) const SPOILT: &str = "spoilt";
