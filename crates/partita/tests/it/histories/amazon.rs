//! Histories on a simulated Amazon, with several servers.
//!
//! Two to five servers, each with a worker, a clock of its own and a network that loses things,
//! serve the same clients. Servers pause for minutes, die, and come back, some with an old clock.
//! Everything runs on one thread under one seed and by one clock, so a history replays from its seed
//! alone.
//!
//! The witness is behind the service: it sees each transaction when that is carried out, whichever
//! server sent it and whoever still waits for the answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use partita_plan::{Answer, Caller, Operation, Partita, Patience, PlanError, Surroundings};
use partita_store::surroundings::SeededEntropy;
use partita_store::{Entropy, Layer, ModelStore, Store};
use partita_testkit::amazon::behaviour::{Lag, Throughput};
use partita_testkit::amazon::{Behaviour, Connection, Network};
use partita_testkit::simulation::host::{Host, Manners};
use partita_testkit::{Amazon, Simulation};

use super::history::{
    CLIENTS, Door, Outcome, Plan, START, Setting, Stage, Time, Weather, client, is_expected,
};
use super::misuse::{Misuse, Misused};
use super::prelude;
use super::witness::Witness;
use super::world::World;

/// How a service behaves while a history goes on.
fn behaviour(misuse: Option<Misuse>) -> Behaviour {
    let usual = Behaviour::rough();
    let often = |lag: Lag| Lag { rare: 0.5, ..lag };
    // A mistake shows where what it does not reckon with happens often.
    let usual = match misuse {
        Some(Misuse::TrustsIndexes) => Behaviour {
            index_lag: often(usual.index_lag),
            ..usual
        },
        Some(Misuse::ReadsCopies) => Behaviour {
            replica_lag: often(usual.replica_lag),
            ..usual
        },
        Some(Misuse::ForgetsUnprocessed) => Behaviour {
            unprocessed: 0.3,
            ..usual
        },
        _ => usual,
    };
    Behaviour {
        // Tables are there before the history begins.
        table_millis: 0..=0,
        // So little that a few clients find it exhausted.
        throughput: Throughput {
            read: 120,
            write: 30,
        },
        ..usual
    }
}

impl Time for Simulation {
    fn pass(&self, millis: i64) {
        Simulation::pass(self, millis);
    }
}

/// The service for who comes last, when its indexes have everything.
///
/// A pass of a job may have begun while they had not, so whoever ends one looks once more.
pub(super) struct Settled(pub(super) Arc<Amazon>);

impl Layer for Settled {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    fn index_delay_millis(&self) -> i64 {
        1
    }
}

/// A server: a machine and the design on it.
struct Server {
    host: Arc<Host>,
    partita: Partita,
}

/// Servers in front of one service.
struct Fleet {
    simulation: Simulation,
    amazon: Arc<Amazon>,
    plan: Plan,
    misuse: Option<Misuse>,
    servers: Mutex<Vec<Arc<Server>>>,
    /// Every machine that there was.
    hosts: Mutex<Vec<Arc<Host>>>,
    random: Mutex<fastrand::Rng>,
}

impl Fleet {
    fn hosts(&self) -> MutexGuard<'_, Vec<Arc<Host>>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often what happened.
    fn weather(&self) -> Weather {
        let hosts = self.hosts();
        let count = |is: fn(&Host) -> bool| hosts.iter().filter(|one| is(one)).count() as u64;
        let mut weather = Weather::from(self.amazon.counts().named());
        weather.insert("pauses", hosts.iter().map(|one| one.pauses()).sum());
        weather.insert("deaths", count(Host::is_dead));
        weather.insert(
            "old clocks",
            count(|one| one.skew_millis() < *SKEWS.start()),
        );
        weather
    }

    fn servers(&self) -> MutexGuard<'_, Vec<Arc<Server>>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn random(&self) -> MutexGuard<'_, fastrand::Rng> {
        self.random.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A server that lives, if there is one.
    fn any(&self) -> Option<Arc<Server>> {
        let servers = self.servers();
        let alive: Vec<_> = servers.iter().filter(|one| !one.host.is_dead()).collect();
        let drawn = self.random().usize(..alive.len().max(1));
        alive.get(drawn).map(|server| (*server).clone())
    }

    /// Starts a server; none if it does not come up in this weather.
    async fn start(&self, number: usize, skews: Skews) -> Option<Arc<Server>> {
        let seed = self.random().u64(..);
        let skew_millis = self.random().i64(skews);
        let place = (&self.simulation, &self.amazon);
        let (host, store) = machine(place, number, self.misuse, (seed, skew_millis));
        self.hosts().push(host.clone());
        let partita = open(&self.plan, store, host.clone(), seed).await.ok()?;
        let partita = match self.misuse {
            Some(Misuse::ReusesTokens) => partita.with_tokens_from(Arc::new(SameAgain)),
            _ => partita,
        };
        Some(Arc::new(Server { host, partita }))
    }

    /// Ends servers now and then, and has others take their places.
    async fn undertake(self: Arc<Self>, stage: Arc<Stage>) {
        while stage.is_going_on() {
            let millis = self.random().i64(5_000..60_000);
            self.simulation.sleep(millis).await;
            let count = self.servers().len();
            let number = self.random().usize(..count);
            self.servers()[number].host.die();
            stage.crashed();
            let millis = self.random().i64(0..20_000);
            self.simulation.sleep(millis).await;
            let skews = if self.random().bool() {
                SKEWS
            } else {
                OLD_CLOCKS
            };
            if let Some(server) = self.start(number, skews).await {
                self.servers()[number] = server.clone();
                let worker = work(self.clone(), stage.clone(), server);
                drop(self.simulation.spawn(worker));
            }
        }
    }
}

/// How far clocks of machines are ahead or behind, in milliseconds.
type Skews = std::ops::RangeInclusive<i64>;

/// Clocks as they usually are.
pub(super) const SKEWS: Skews = -5_000..=5_000;

/// Clocks of machines that come back and do not know yet what time it is.
const OLD_CLOCKS: Skews = -90_000..=0;

/// A machine with a clock that is not quite right, and its way to the service.
pub(super) fn machine(
    (simulation, amazon): (&Simulation, &Arc<Amazon>),
    number: usize,
    misuse: Option<Misuse>,
    (seed, skew_millis): (u64, i64),
) -> (Arc<Host>, Arc<dyn Store>) {
    let manners = Manners {
        pause: 0.002,
        pause_millis_max: 180_000,
        skew_millis,
    };
    let host = Host::new(simulation, format!("server {number}"), manners, seed);
    let network = Network {
        index_delay_millis: match misuse {
            Some(Misuse::TrustsIndexes) => 0,
            _ => Network::rough().index_delay_millis,
        },
        ..Network::rough()
    };
    let store = Connection::new(simulation, amazon.clone(), host.clone(), network, seed);
    let store: Arc<dyn Store> = match misuse {
        Some(misuse) => Arc::new(Misused::new(store, misuse)),
        None => Arc::new(store),
    };
    (host, store)
}

/// The same bytes each time: what tokens must not be made of.
struct SameAgain;

impl Entropy for SameAgain {
    fn fill(&self, buffer: &mut [u8]) {
        buffer.fill(7);
    }
}

impl Door for Fleet {
    fn ask<'a>(
        &'a self,
        caller: &'a Caller,
        operation: Operation,
        key: Option<&'a str>,
        crash: Option<u32>,
    ) -> BoxFuture<'a, Option<Result<Answer, PlanError>>> {
        Box::pin(async move {
            let Some(server) = self.any() else {
                self.simulation.sleep(1_000).await;
                return None;
            };
            let work = async {
                match key {
                    Some(key) => server.partita.run_once(caller, operation, key).await,
                    None => server.partita.run(caller, operation).await,
                }
            };
            let work = server.host.while_alive(work);
            match crash {
                // The client goes away; what its server has sent goes its way.
                Some(polls) => {
                    let patience = i64::from(polls) * 20;
                    self.simulation.within(patience, work).await.flatten()
                }
                None => work.await,
            }
        })
    }

    fn rest(&self) -> BoxFuture<'_, ()> {
        let millis = self.random().i64(0..300);
        Box::pin(self.simulation.sleep(millis))
    }
}

/// The worker of a server.
async fn work(fleet: Arc<Fleet>, stage: Arc<Stage>, server: Arc<Server>) {
    while stage.is_going_on() && !server.host.is_dead() {
        match server.host.while_alive(server.partita.run_jobs()).await {
            Some(Err(error)) if !is_expected(&error) => {
                stage.fault(format!("a job ends with: {error}"));
            }
            _ => {}
        }
        let millis = fleet.random().i64(500..15_000);
        fleet.simulation.sleep(millis).await;
    }
}

async fn open(
    plan: &Plan,
    store: Arc<dyn Store>,
    clock: Arc<dyn partita_store::Clock>,
    seed: u64,
) -> Result<Partita, PlanError> {
    let surroundings = Surroundings {
        clock,
        entropy: Arc::new(SeededEntropy::new(seed)),
        cursor_key: [7; 32],
        patience: Patience {
            attempts: 12,
            pause_millis: 10,
        },
    };
    Partita::open_with(plan.compiled(plan.design), store, surroundings).await
}

/// Carries a history out with so many servers.
pub(crate) fn run(plan: &Plan, servers: usize, misuse: Option<Misuse>) -> Outcome {
    let simulation = Simulation::new(plan.seed, START);
    simulation.run(carry_out(&simulation, plan, servers, misuse))
}

async fn carry_out(
    simulation: &Simulation,
    plan: &Plan,
    servers: usize,
    misuse: Option<Misuse>,
) -> Outcome {
    let clock = Arc::new(simulation.clone());
    let model = Arc::new(ModelStore::new(clock.clone()));
    let world = World::new(plan.compiled(plan.design));
    let witness = Witness::new(model.clone(), world, clock.clone(), plan.spoil);
    let witness = Arc::new(witness);
    let amazon = Amazon::around(
        model,
        witness.clone(),
        simulation,
        behaviour(misuse),
        plan.seed,
    );
    let amazon = Arc::new(amazon);
    amazon.calm();
    let settled = Arc::new(Settled(amazon.clone()));
    let calm = open(plan, settled, clock.clone(), plan.seed + 1_000_000);
    let calm = calm.await.unwrap();
    let fleet = Arc::new(Fleet {
        simulation: simulation.clone(),
        amazon: amazon.clone(),
        plan: plan.clone(),
        misuse,
        servers: Mutex::default(),
        hosts: Mutex::default(),
        random: Mutex::new(fastrand::Rng::with_seed(plan.seed + 3_000_000)),
    });
    let setting = Setting {
        witness,
        store: amazon.clone(),
        clock,
        calm,
        door: fleet.clone(),
    };
    let stage = Arc::new(Stage::new(plan, setting));
    prelude::play(&stage, plan).await;
    for number in 0..servers {
        let server = loop {
            if let Some(server) = fleet.start(number, SKEWS).await {
                break server;
            }
        };
        fleet.servers().push(server);
    }
    amazon.begin();
    let clients = (0..CLIENTS).map(|number| simulation.spawn(client(stage.clone(), number)));
    let clients: Vec<_> = clients.collect();
    let workers = fleet.servers().clone();
    for server in workers {
        drop(simulation.spawn(work(fleet.clone(), stage.clone(), server)));
    }
    drop(simulation.spawn(fleet.clone().undertake(stage.clone())));
    for client in clients {
        client.await.unwrap();
    }
    // What is late comes late: requests, and the end of leases.
    simulation
        .sleep(Network::rough().late_millis_max + 60_000)
        .await;
    amazon.calm();
    stage.settle().await;
    stage.look().await;
    let counts = amazon.counts();
    let injected = counts.conflicts + counts.throttled + counts.unprocessed + counts.behind;
    let mut outcome = stage.outcome(injected);
    outcome.weather.extend(fleet.weather());
    outcome
}
