//! Servers that share tables while one after another makes another design live.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use partita_core::{Map, Value};
use partita_design::Design;
use partita_store::capacity::Metered;
use partita_store::request::{GetItem, TransactAction, TransactWriteItems};
use partita_store::surroundings::SeededEntropy;
use partita_store::table::string_key;
use partita_store::{Layer, ModelStore, Store, StoreError, StoreResult};
use partita_testkit::amazon::{Behaviour, Connection, Network};
use partita_testkit::simulation::host::{Host, Manners};
use partita_testkit::{Amazon, Simulation};

use super::row::{self, Row};
use super::{LATE_MILLIS, LEASE_MILLIS, Lease, Mistake, RENEWED_EVERY_MILLIS, servers};
use crate::commit::run::Patience;
use crate::error::PlanError;
use crate::live::Recorded;
use crate::migration::Current;
use crate::operation::{Caller, Operation};
use crate::partita::{Partita, Surroundings};

const START: i64 = 1_767_225_600_000;

/// How many designs are made live one after another.
const DESIGNS: u64 = 4;

/// Tasks, each with a note that says which design was planned with.
fn text(number: u64) -> String {
    format!(
        r#"
design = "tasks"

[table]
name = "tasks"
key  = ["PK", "SK"]

[entity.Task]
PK = "TASK#{{taskId}}"
SK = "TASK"

[entity.Task.attributes]
taskId = "string"

[entity.Task.allow]
"*" = "signed-in"

[entity.Note]
PK = "TASK#{{taskId}}"
SK = "NOTE"

[entity.Note.attributes]
taskId = "string"
text   = "string"

[entity.Note.allow]
"*" = "signed-in"

[trigger.noted]
on     = "create Task"
create = "Note"
with   = {{ taskId = "{{taskId}}", text = "by {number}" }}
"#
    )
}

fn design(number: u64) -> Design {
    let (design, diagnostics) = partita_design::check(&text(number), &|_| None);
    design.unwrap_or_else(|| panic!("{diagnostics:#?}"))
}

/// Sees each transaction when it is carried out, whichever server sent it and when.
struct Witness {
    model: Arc<ModelStore>,
    /// What was written by a design of before the one that all leases name.
    wrong: Mutex<Vec<String>>,
    /// How much was written by each design.
    written: Mutex<[u64; DESIGNS as usize + 1]>,
}

impl Witness {
    async fn rows(&self) -> Vec<Row> {
        let sidecar = "tasks-partita".parse().unwrap();
        row::all(&sidecar, &*self.model).await.unwrap_or_default()
    }

    /// The number of the design that notes are made by, where they are not there yet.
    async fn design_of(&self, request: &TransactWriteItems) -> Option<u64> {
        for action in &request.actions {
            let TransactAction::Put(put) = action else {
                continue;
            };
            let text = put.item.get("text").and_then(Value::as_str);
            let Some(number) = text.and_then(|text| text.strip_prefix("by ")) else {
                continue;
            };
            let [partition, sort] = ["PK", "SK"].map(|name| put.item[name].as_str().unwrap());
            let key = string_key(("PK", partition), ("SK", sort));
            let get = GetItem::new(put.table.clone(), key);
            if self.model.get_item(get).await.unwrap().answer.is_none() {
                return number.parse().ok();
            }
        }
        None
    }
}

#[async_trait]
impl Layer for Witness {
    fn inner(&self) -> &dyn Store {
        &*self.model
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        let design = self.design_of(&request).await;
        let answer = self.model.transact_write_items(request).await;
        if let (Some(design), Ok(_)) = (design, &answer) {
            self.written.lock().unwrap()[design as usize] += 1;
            let rows = self.rows().await;
            if rows.iter().all(|row| row.design > design) {
                let what = format!("written by {design}, while the leases are {rows:?}");
                self.wrong.lock().unwrap().push(what);
            }
        }
        answer
    }
}

struct Server {
    host: Arc<Host>,
    current: Arc<Current>,
}

struct Fleet {
    simulation: Simulation,
    amazon: Arc<Amazon>,
    network: Network,
    manners: Manners,
    mistake: Option<Mistake>,
    servers: Mutex<Vec<Arc<Server>>>,
    hosts: Mutex<Vec<Arc<Host>>>,
    random: Mutex<fastrand::Rng>,
    is_over: AtomicBool,
}

impl Fleet {
    fn new(simulation: &Simulation, seed: u64, (network, manners): (Network, Manners)) -> Fleet {
        let model = Arc::new(ModelStore::new(Arc::new(simulation.clone())));
        let amazon = Amazon::around(model.clone(), model, simulation, Behaviour::still(), seed);
        Fleet {
            simulation: simulation.clone(),
            amazon: Arc::new(amazon),
            network,
            manners,
            mistake: None,
            servers: Mutex::default(),
            hosts: Mutex::default(),
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
            is_over: AtomicBool::new(false),
        }
    }

    /// Servers that nothing befalls.
    fn calm(simulation: &Simulation) -> Fleet {
        Fleet::new(simulation, 1, (Network::still(), Manners::default()))
    }

    fn draw(&self, millis: std::ops::Range<i64>) -> i64 {
        self.random.lock().unwrap().i64(millis)
    }

    /// Starts a server with a design; none if it does not come up in this weather.
    async fn start(&self, number: u64) -> Result<Arc<Server>, PlanError> {
        let seed = self.random.lock().unwrap().u64(..);
        let manners = Manners {
            skew_millis: self.draw(-60_000..60_000),
            ..self.manners
        };
        let name = format!("server {seed}");
        let host = Host::new(&self.simulation, name.clone(), manners, seed);
        self.hosts.lock().unwrap().push(host.clone());
        let (amazon, network) = (self.amazon.clone(), self.network.clone());
        let store = Connection::new(&self.simulation, amazon, host.clone(), network, seed);
        let surroundings = Surroundings {
            clock: host.clone(),
            entropy: Arc::new(SeededEntropy::new(seed)),
            cursor_key: [7; 32],
            patience: Patience::default(),
        };
        let partita = Partita::open_with(design(number), Arc::new(store), surroundings).await?;
        let current = Current::with_lease(partita, |partita| {
            let (store, clock) = (partita.runner.store.clone(), partita.clock.clone());
            let sidecar = partita.blueprint.sidecar.clone();
            Lease {
                mistake: self.mistake,
                ..Lease::new(store, sidecar, clock, name)
            }
        });
        let server = Arc::new(Server { host, current });
        let keeper = server.clone();
        drop(self.simulation.spawn(async move {
            keeper.host.while_alive(keeper.current.keep_lease()).await;
        }));
        Ok(server)
    }

    /// Starts one, however often it takes.
    async fn surely_start(&self, number: u64) -> Arc<Server> {
        loop {
            if let Ok(server) = self.start(number).await {
                return server;
            }
        }
    }

    fn any(&self) -> Option<Arc<Server>> {
        let servers = self.servers.lock().unwrap();
        let alive: Vec<_> = servers.iter().filter(|one| !one.host.is_dead()).collect();
        let drawn = self.random.lock().unwrap().usize(..alive.len().max(1));
        alive.get(drawn).map(|one| (*one).clone())
    }

    fn is_going_on(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }

    /// Writes tasks for as long as the others go on.
    async fn write(self: Arc<Self>, client: u64) {
        let mut number = 0;
        while self.is_going_on() {
            self.simulation.sleep(self.draw(0..8_000)).await;
            let Some(server) = self.any() else { continue };
            number += 1;
            let work = create(&server.current, format!("{client}-{number}"));
            let patience = self.draw(1..60_000);
            let work = server.host.while_alive(work);
            // Some clients go away, and what was sent goes its way.
            let _ = self.simulation.within(patience, work).await;
        }
    }

    /// Ends servers, and has others take their places that are started with the first design.
    async fn undertake(self: Arc<Self>) {
        while self.is_going_on() {
            self.simulation.sleep(self.draw(60_000..600_000)).await;
            let count = self.servers.lock().unwrap().len();
            let at = self.random.lock().unwrap().usize(..count);
            self.servers.lock().unwrap()[at].host.die();
            self.simulation.sleep(self.draw(0..60_000)).await;
            if let Ok(server) = self.start(1).await {
                self.servers.lock().unwrap()[at] = server;
            }
        }
    }

    /// Makes a design live, from whichever server it goes.
    async fn adopt(&self, number: u64) {
        let design = design(number);
        loop {
            if let Some(server) = self.any() {
                let adopted = server.current.adopt(&design);
                let adopted = server.host.while_alive(adopted);
                if let Some(Some(Ok(adopted))) = self.simulation.within(120_000, adopted).await {
                    assert!(adopted.is_some(), "stored data need not follow it");
                    return;
                }
            }
            self.simulation.sleep(1_000).await;
        }
    }
}

async fn create(current: &Current, task: String) -> Result<(), PlanError> {
    let operation = Operation::Create {
        entity: "Task".into(),
        attributes: Map::from([("taskId", Value::from(task))]),
    };
    let caller = Caller::user("ann");
    loop {
        let partita = current.get();
        match partita.run(&caller, operation.clone()).await {
            Err(PlanError::Superseded) => {}
            answer => return answer.map(drop),
        }
    }
}

/// What came of servers in bad weather.
struct Outcome {
    wrong: Vec<String>,
    written: [u64; DESIGNS as usize + 1],
    late: u64,
    deaths: usize,
    pauses: u64,
}

fn bad_weather(seed: u64, mistake: Option<Mistake>) -> Outcome {
    let simulation = Simulation::new(seed, START);
    simulation.run(weather_on(&simulation, seed, mistake))
}

async fn weather_on(simulation: &Simulation, seed: u64, mistake: Option<Mistake>) -> Outcome {
    let network = Network {
        sends_at_once: true,
        ..Network::rough()
    };
    let manners = Manners {
        pause: 0.002,
        pause_millis_max: 2 * LATE_MILLIS,
        skew_millis: 0,
    };
    let mut fleet = Fleet::new(simulation, seed, (network, manners));
    let model = Arc::new(ModelStore::new(Arc::new(simulation.clone())));
    let witness = Arc::new(Witness {
        model: model.clone(),
        wrong: Mutex::default(),
        written: Mutex::default(),
    });
    let behaviour = Behaviour::still();
    let amazon = Amazon::around(model, witness.clone(), simulation, behaviour, seed);
    fleet.amazon = Arc::new(amazon);
    fleet.mistake = mistake;
    let fleet = Arc::new(fleet);
    for _ in 0..3 {
        let server = fleet.surely_start(1).await;
        fleet.servers.lock().unwrap().push(server);
    }
    let clients = (0..4).map(|client| simulation.spawn(fleet.clone().write(client)));
    let clients: Vec<_> = clients.collect();
    let undertaker = simulation.spawn(fleet.clone().undertake());
    for number in 2..=DESIGNS {
        simulation.sleep(fleet.draw(200_000..900_000)).await;
        fleet.adopt(number).await;
    }
    simulation.sleep(2 * LATE_MILLIS).await;
    fleet.is_over.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
    undertaker.await.unwrap();
    let hosts = fleet.hosts.lock().unwrap();
    let wrong = witness.wrong.lock().unwrap().clone();
    let written = *witness.written.lock().unwrap();
    Outcome {
        wrong,
        written,
        late: fleet.amazon.counts().late_requests,
        deaths: hosts.iter().filter(|one| one.is_dead()).count(),
        pauses: hosts.iter().map(|one| one.pauses()).sum(),
    }
}

fn seeds() -> u64 {
    match std::env::var_os("PARTITA_LONG") {
        Some(_) => 200,
        None => 6,
    }
}

/// Servers pause for up to ten minutes, die, come back with the first design, and have clocks a
/// minute apart; requests are lost and come up to five minutes late.
#[test]
fn nothing_is_written_by_a_design_that_all_leases_are_past() {
    let mut all = [0; DESIGNS as usize + 1];
    for seed in 0..seeds() {
        let outcome = bad_weather(seed, None);
        assert!(outcome.wrong.is_empty(), "{seed}: {:#?}", outcome.wrong);
        assert!(outcome.late > 0 && outcome.deaths > 0, "{seed}");
        assert!(outcome.pauses > 0, "{seed}");
        for (all, one) in all.iter_mut().zip(outcome.written) {
            *all += one;
        }
    }
    assert!(all[1..].iter().all(|count| *count > 100), "{all:?}");
}

#[test]
fn an_old_server_that_goes_on_is_noticed() {
    let is_noticed = |seed| !bad_weather(seed, Some(Mistake::GoesOn)).wrong.is_empty();
    assert!((0..40).any(is_noticed));
}

#[test]
fn a_lease_that_names_a_design_too_early_is_noticed() {
    let is_noticed = |seed| {
        !bad_weather(seed, Some(Mistake::NamesTooEarly))
            .wrong
            .is_empty()
    };
    assert!((0..40).any(is_noticed));
}

#[test]
fn a_lease_that_is_removed_before_late_requests_have_come_is_noticed() {
    let is_noticed = |seed| {
        !bad_weather(seed, Some(Mistake::RemovesTooEarly))
            .wrong
            .is_empty()
    };
    assert!((0..80).any(is_noticed));
}

/// The text that a server plans with.
fn planned(server: &Server) -> String {
    server.current.get().design().origin.text.clone()
}

fn store_of(server: &Server) -> Arc<dyn Store> {
    server.current.get().runner.store.clone()
}

async fn rows(fleet: &Fleet) -> Vec<Row> {
    let sidecar = "tasks-partita".parse().unwrap();
    row::all(&sidecar, &*fleet.amazon as &dyn Store)
        .await
        .unwrap()
}

#[test]
fn servers_follow_the_live_design_within_one_renewal() {
    let simulation = Simulation::new(1, START);
    simulation.run(async {
        let fleet = Fleet::calm(&simulation);
        let one = fleet.start(1).await.unwrap();
        let two = fleet.start(1).await.unwrap();
        let renewal = RENEWED_EVERY_MILLIS as i64;
        simulation.sleep(renewal).await;
        create(&two.current, "first".into()).await.unwrap();
        let adopted = one.current.adopt(&design(2)).await.unwrap();
        assert_eq!(adopted.unwrap().number, 2);
        assert_eq!((planned(&one), planned(&two)), (text(2), text(1)));
        simulation.sleep(renewal + 1).await;
        assert_eq!(planned(&two), text(2));
        create(&two.current, "second".into()).await.unwrap();
        simulation.sleep(renewal).await;
        let designs: Vec<u64> = rows(&fleet).await.iter().map(|row| row.design).collect();
        assert_eq!(designs, [2, 2]);

        // A server that starts with another text makes it live for the others, and one with a text of
        // before serves what is live.
        let three = fleet.start(3).await.unwrap();
        let old = fleet.start(1).await.unwrap();
        simulation.sleep(renewal + 1).await;
        for server in [&one, &two, &three, &old] {
            assert_eq!(planned(server), text(3));
        }
        // The first one again, because it is asked for by name.
        let back = old.current.adopt(&design(1)).await.unwrap();
        assert_eq!(back.unwrap().number, 4);
        simulation.sleep(renewal + 1).await;
        assert_eq!(planned(&one), text(1));
        let all = servers(&design(1), store_of(&one), &simulation).await;
        assert_eq!(all.unwrap().len(), 4);
    });
}

/// Somebody with a later version makes a design live that this one does not understand.
#[test]
fn a_server_that_cannot_follow_stops_writing_and_goes_on_when_it_can() {
    let simulation = Simulation::new(1, START);
    simulation.run(async {
        let fleet = Fleet::calm(&simulation);
        let server = fleet.start(1).await.unwrap();
        let renewal = RENEWED_EVERY_MILLIS as i64;
        simulation.sleep(renewal).await;
        assert_eq!(server.current.why_not_writing(), None);
        let record = async |number: u64, text: String| {
            let mut recorded = Recorded::new(&design(number), number, START);
            recorded.text = text;
            let put = recorded.put(&"tasks-partita".parse().unwrap());
            let put = Store::put_item(
                &*fleet.amazon,
                put,
                partita_store::request::ReturnValues::None,
            );
            put.await.unwrap();
            simulation.sleep(renewal + 1).await;
        };
        record(2, "design = \"tasks\"\n[something.new]\n".into()).await;
        let why = server.current.why_not_writing().expect("it stands back");
        assert!(why.contains("does not accept its text"), "{why}");
        let refused = create(&server.current, "refused".into()).await.unwrap_err();
        let PlanError::Store(StoreError::NoLease { message }) = &refused else {
            panic!("{refused}");
        };
        assert!(message.contains(&why), "{message}");
        assert!(rows(&fleet).await.is_empty(), "nobody waits for it");

        record(3, text(3)).await;
        assert_eq!(server.current.why_not_writing(), None);
        create(&server.current, "accepted".into()).await.unwrap();
        assert_eq!(rows(&fleet).await[0].design, 3);
    });
}

/// Nobody hears of a server; what it was doing is over before its row goes.
#[test]
fn the_lease_of_a_server_that_is_gone_ends_and_one_that_stops_gives_it_back() {
    let simulation = Simulation::new(1, START);
    simulation.run(async {
        let fleet = Fleet::calm(&simulation);
        let one = fleet.start(1).await.unwrap();
        let two = fleet.start(1).await.unwrap();
        let three = fleet.start(1).await.unwrap();
        simulation.sleep(RENEWED_EVERY_MILLIS as i64).await;
        assert_eq!(rows(&fleet).await.len(), 3);
        three.current.give_back_lease().await;
        assert_eq!(rows(&fleet).await.len(), 2);
        let refused = create(&three.current, "late".into()).await;
        assert!(refused.is_err(), "{refused:?}");
        two.host.die();
        simulation.sleep(LEASE_MILLIS + LATE_MILLIS - 1_000).await;
        assert_eq!(rows(&fleet).await.len(), 2);
        let design = design(1);
        let shown = servers(&design, store_of(&one), one.host.as_ref());
        let ended = shown.await.unwrap();
        assert_eq!(ended.iter().filter(|one| one.has_ended).count(), 1);
        simulation.sleep(20_000).await;
        let [left] = &rows(&fleet).await[..] else {
            panic!("one is left");
        };
        assert_eq!(left.name, one.host.name());
    });
}

/// A lease counts from before it was asked for, and by the server's own clock.
#[test]
fn a_server_that_does_not_hear_of_the_sidecar_stops_in_time() {
    let simulation = Simulation::new(1, START);
    simulation.run(async {
        let fleet = Fleet::calm(&simulation);
        let server = fleet.start(1).await.unwrap();
        simulation.sleep(1).await;
        // Whoever keeps the lease is held up.
        let keeper = server.current.lease.as_ref().unwrap().keeper.lock().await;
        simulation.sleep(LEASE_MILLIS - 1_000).await;
        create(&server.current, "in time".into()).await.unwrap();
        simulation.sleep(2_000).await;
        let refused = create(&server.current, "late".into()).await.unwrap_err();
        assert!(refused.to_string().contains("has run out"), "{refused}");
        drop(keeper);
        simulation.sleep(1).await;
        create(&server.current, "again".into()).await.unwrap();
    });
}
