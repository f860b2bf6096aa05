//! Schedules and the outbox on a simulated Amazon, with several servers.
//!
//! Members of a club are reminded, visited and called once in an hour, while their items are written
//! to, and every write is told to a receiver. Who is called is found by an index, which is behind,
//! and in which each write takes a member further down: past whoever is reading it. A ledger is sent
//! every change from the table's stream, whose records come late and twice. Two to five servers do
//! it, whose clocks differ, which pause for minutes, die and are replaced; and the other side fails
//! and loses answers. In the end each member had each turn once, every job knows that, everything has
//! arrived at least once and in order, and the ledger, which looks at ids, has applied each change
//! once.
//!
//! A history is a function of its seed. `PARTITA_AMAZON=n` plays so many, and `PARTITA_SEED=n` the one
//! of that seed.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use partita_core::expression::{Condition, Path};
use partita_core::{Item, Map, Number, Value};
use partita_design::sidecar::OPEN_JOBS;
use partita_plan::outbox::{Content, Courier, Event, Message, Transport, Undelivered};
use partita_plan::{Answer, Caller, JobState, Operation, Partita, Patience, Surroundings};
use partita_store::capacity::Metered;
use partita_store::request::{
    BatchGetItem, BatchGot, ReturnValues, TransactAction, TransactWriteItems, UpdateItem,
};
use partita_store::surroundings::SeededEntropy;
use partita_store::{Clock, Layer, Store, StoreResult};
use partita_testkit::amazon::behaviour::StreamManners;
use partita_testkit::amazon::{Behaviour, Counts, Network};
use partita_testkit::simulation::host::Host;
use partita_testkit::{Amazon, Simulation};
use serde_json::Value as Json;

use super::amazon::{SKEWS, Settled, machine};
use super::seeds_on_amazon;
use crate::stage;

const DESIGN: &str = r#"
design = "club"

[table]
name          = "club"
key           = ["PK", "SK"]
discriminator = "kind"
stream        = "new-and-old-images"

[index]
bySteps = ["stepsPK", "stepsSK"]

[entity.Member]
PK      = "MEMBER#{memberId}"
SK      = "MEMBER"
stepsPK = "MEMBERS"
stepsSK = "{step:03}#{memberId}"
kind    = "Member"

[entity.Member.attributes]
memberId = "string"
step     = "int 0..999 default 0"
turns    = "int default 0"
visits   = "int default 0"
calls    = "int default 0"

[entity.Member.allow]
"*" = "public"

[action.remind]
entity = "Member"
add    = { turns = 1 }

[[action.remind.then]]
mail    = "{memberId}"
subject = "Turn {turns}"
text    = "It is {now}."

[schedule.reminders]
every  = "hour at :00"
entity = "Member"
apply  = "remind"

[action.visit]
entity = "Member"
add    = { visits = 1 }

[schedule.visits]
every  = "hour at :20"
entity = "Member"
apply  = "visit"

[pattern.members]
query = "stepsPK = 'MEMBERS'"

[action.call]
entity = "Member"
add    = { calls = 1 }

[schedule.calls]
every   = "hour at :10"
pattern = "members"
apply   = "call"

[trigger.stepped]
on   = "update Member"
when = "changed(step)"
send = "bus"
with = { memberId = "{memberId}", step = "{step}" }
"#;

/// 2036-01-01T00:30:00Z.
const START: i64 = 2_082_760_200_000;
const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

const MEMBERS: usize = 40;
const STEPS: i64 = 6;
/// Histories in which a planted mistake must show.
const SEEDS_OF_A_MISTAKE: u64 = 8;
/// Hours that begin while it goes on.
const TURNS: i64 = 3;

/// What arrived of each member, by channel, in the order of the first arrivals.
type Arrived = BTreeMap<(String, String), Vec<i64>>;

/// Who is sent every change.
const LEDGER: &str = "ledger";

/// What somebody knows who applies the changes of a table.
#[derive(Default)]
struct Ledger {
    /// The ids of the changes that were applied.
    seen: BTreeSet<String>,
    /// Of each member: how many changes were applied, and what it is like after the last.
    members: BTreeMap<String, (i64, Json)>,
    /// Changes of something else than what was known.
    gaps: Vec<String>,
}

impl Ledger {
    /// Applies a change, if it was not applied before.
    fn apply(&mut self, id: &str, event: &Event, looks_at_ids: bool) {
        if !self.seen.insert(id.to_owned()) && looks_at_ids {
            return;
        }
        let (count, known) = self.members.entry(event.subject.clone()).or_default();
        let old = event.data.get("old").cloned().unwrap_or_default();
        if old != *known {
            let subject = &event.subject;
            self.gaps
                .push(format!("{subject}: {old} changes, and {known} was known"));
        }
        *count += 1;
        *known = event.data.get("new").cloned().unwrap_or_default();
    }
}

/// The other side. It fails at times, and at times nobody hears that it did not.
struct Recipient {
    simulation: Simulation,
    mistake: Option<Mistake>,
    arrived: Mutex<Arrived>,
    ledger: Mutex<Ledger>,
    random: Mutex<fastrand::Rng>,
    is_calm: AtomicBool,
}

impl Recipient {
    fn take(&self, message: &Message) {
        let (member, number) = match &message.content {
            Content::Mail(mail) => {
                let turn = mail.subject.trim_start_matches("Turn ");
                (mail.to.clone(), turn.parse().unwrap())
            }
            Content::Event { event, receiver } if receiver == LEDGER => {
                let id = match self.mistake {
                    Some(Mistake::NamesAnew) => locked(&self.random).u64(..).to_string(),
                    _ => message.id.clone(),
                };
                let looks_at_ids = self.mistake != Some(Mistake::AppliesTwice);
                return locked(&self.ledger).apply(&id, event, looks_at_ids);
            }
            Content::Event { event, .. } => {
                let member = event.data["memberId"].as_str().unwrap();
                (member.to_owned(), event.data["step"].as_i64().unwrap())
            }
        };
        let key = (message.content.channel().word(), member);
        let mut arrived = locked(&self.arrived);
        let numbers = arrived.entry(key).or_default();
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }

    fn fails(&self) -> bool {
        !self.is_calm.load(Ordering::Relaxed) && locked(&self.random).f64() < 0.1
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl Transport for Recipient {
    async fn deliver(&self, message: &Message) -> Result<(), Undelivered> {
        let failed = || Err(Undelivered::Later("it answers 500".to_owned()));
        let millis = locked(&self.random).i64(1..300);
        self.simulation.sleep(millis).await;
        if self.fails() {
            return failed();
        }
        self.take(message);
        if self.fails() {
            return failed();
        }
        Ok(())
    }
}

/// A server: a machine, the design on it, and who delivers.
struct Server {
    host: Arc<Host>,
    partita: Arc<Partita>,
}

/// Mistakes that a history must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    /// A server does not note the first period that it starts, so that the next who looks starts it
    /// again.
    ForgetsThePeriod,
    /// Messages of one member are not recorded with the write that causes them.
    ForgetsMessages,
    /// A worker goes on with a job whose lease has ended, whoever has taken it over.
    ForgetsTheLease,
    /// A job does not ask which items it has done.
    ForgetsMarks,
    /// A change has another id each time that it is sent.
    NamesAnew,
    /// Who is sent a change twice applies it twice.
    AppliesTwice,
}

/// A store on which a mistake shows.
struct Mistaken {
    inner: Arc<dyn Store>,
    simulation: Simulation,
    mistake: Mistake,
    has_forgotten: AtomicBool,
    random: Mutex<fastrand::Rng>,
}

impl Mistaken {
    fn is_forgotten(&self, action: &TransactAction) -> bool {
        let text = |item: &Item, name: &str| {
            let text = item.get(name).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        match (self.mistake, action) {
            (Mistake::ForgetsThePeriod, TransactAction::Update(update)) => {
                text(&update.key, "PK") == "SCHEDULE"
                    && !self.has_forgotten.swap(true, Ordering::Relaxed)
            }
            (Mistake::ForgetsMessages, TransactAction::Put(put)) => {
                text(&put.item, "PK").starts_with("OUTBOX#send:")
                    && text(&put.item, "of") == "Member m07"
            }
            _ => false,
        }
    }

    /// Lets a write to a job only ask whether there is one, where that is the mistake. Says whether
    /// it did.
    fn unleased(&self, condition: &mut Option<Condition>, key: &Item) -> bool {
        let is_job = key.get("PK").and_then(Value::as_str) == Some(OPEN_JOBS);
        let is_meant = is_job && self.mistake == Mistake::ForgetsTheLease;
        if is_meant {
            *condition = Some(Condition::Exists(Path::attribute("PK")));
        }
        is_meant
    }

    /// Whether something is at a mark of an item that a job has done, where these are forgotten.
    fn is_forgotten_mark(&self, key: &Item) -> bool {
        let partition = key.get("PK").and_then(Value::as_str);
        let is_mark = partition.is_some_and(|one| one.starts_with("DONE#"));
        is_mark && self.mistake == Mistake::ForgetsMarks
    }

    /// A pause in which a lease may end: the mistake shows where that happens often.
    async fn pause(&self) {
        let millis = locked(&self.random).i64(0..MINUTE);
        self.simulation.sleep(millis).await;
    }
}

#[async_trait]
impl Layer for Mistaken {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn batch_get_item(&self, request: BatchGetItem) -> StoreResult<Metered<Vec<BatchGot>>> {
        let addresses = request.addresses.clone();
        let mut got = self.inner.batch_get_item(request).await?;
        for (got, address) in got.answer.iter_mut().zip(addresses) {
            if self.is_forgotten_mark(&address.key) {
                *got = BatchGot::Missing;
            }
        }
        Ok(got)
    }

    async fn update_item(
        &self,
        mut request: UpdateItem,
        returns: ReturnValues,
    ) -> StoreResult<Metered<Option<Item>>> {
        self.unleased(&mut request.condition, &request.key);
        self.inner.update_item(request, returns).await
    }

    async fn transact_write_items(
        &self,
        mut request: TransactWriteItems,
    ) -> StoreResult<Metered<()>> {
        request.actions.retain(|action| !self.is_forgotten(action));
        let mut is_unleased = false;
        for action in &mut request.actions {
            is_unleased |= match action {
                TransactAction::Update(one) => self.unleased(&mut one.condition, &one.key),
                TransactAction::Delete(one) => self.unleased(&mut one.condition, &one.key),
                _ => false,
            };
            if let TransactAction::Put(put) = action
                && self.is_forgotten_mark(&put.item)
            {
                put.condition = None;
            }
        }
        if is_unleased {
            self.pause().await;
        }
        self.inner.transact_write_items(request).await
    }
}

/// Everything of one history.
struct Club {
    simulation: Simulation,
    amazon: Arc<Amazon>,
    mistake: Option<Mistake>,
    recipient: Arc<Recipient>,
    servers: Mutex<Vec<Arc<Server>>>,
    random: Mutex<fastrand::Rng>,
    is_over: AtomicBool,
    crashes: Mutex<u64>,
}

impl Club {
    fn draw(&self, millis: std::ops::Range<i64>) -> i64 {
        locked(&self.random).i64(millis)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// A server that lives, if there is one.
    fn any(&self) -> Option<Arc<Server>> {
        let servers = locked(&self.servers);
        let alive: Vec<_> = servers.iter().filter(|one| !one.host.is_dead()).collect();
        let drawn = locked(&self.random).usize(..alive.len().max(1));
        alive.get(drawn).map(|server| (*server).clone())
    }

    /// Starts a server with what runs on it; none if it does not come up in this weather.
    async fn start(self: &Arc<Self>, number: usize) -> Option<Arc<Server>> {
        let seed = locked(&self.random).u64(..);
        let skew_millis = locked(&self.random).i64(SKEWS);
        let place = (&self.simulation, &self.amazon);
        let (host, store) = machine(place, number, None, (seed, skew_millis));
        let store: Arc<dyn Store> = match self.mistake {
            Some(mistake) => Arc::new(Mistaken {
                inner: store,
                simulation: self.simulation.clone(),
                mistake,
                has_forgotten: AtomicBool::new(false),
                random: Mutex::new(fastrand::Rng::with_seed(seed)),
            }),
            None => store,
        };
        let partita = open(store, host.clone(), seed).await?;
        let server = Arc::new(Server { host, partita });
        drop(self.simulation.spawn(self.clone().work(server.clone())));
        drop(self.simulation.spawn(self.clone().deliver(server.clone())));
        drop(self.simulation.spawn(self.clone().tell(server.clone())));
        Some(server)
    }

    /// Starts schedules and works on jobs, as a server does.
    async fn work(self: Arc<Self>, server: Arc<Server>) {
        while !self.is_over() && !server.host.is_dead() {
            let working = async {
                let _ = server.partita.start_schedules().await;
                let _ = server.partita.run_jobs().await;
            };
            let _ = server.host.while_alive(working).await;
            let millis = self.draw(5_000..30_000);
            self.simulation.sleep(millis).await;
        }
    }

    /// Delivers what there is.
    async fn deliver(self: Arc<Self>, server: Arc<Server>) {
        let courier = Courier::new(server.partita.clone(), self.recipient.clone());
        let courier = courier.beside_others();
        while !self.is_over() && !server.host.is_dead() {
            let _ = server.host.while_alive(courier.deliver()).await;
            let millis = self.draw(2_000..20_000);
            self.simulation.sleep(millis).await;
        }
    }

    /// Sends the ledger what it lacks.
    async fn tell(self: Arc<Self>, server: Arc<Server>) {
        let courier = Courier::new(server.partita.clone(), self.recipient.clone());
        while !self.is_over() && !server.host.is_dead() {
            let _ = server.host.while_alive(courier.stream(LEDGER)).await;
            let millis = self.draw(2_000..20_000);
            self.simulation.sleep(millis).await;
        }
    }

    /// Ends servers now and then, and has others take their places.
    async fn undertake(self: Arc<Self>) {
        while !self.is_over() {
            let millis = self.draw(MINUTE..15 * MINUTE);
            self.simulation.sleep(millis).await;
            let count = locked(&self.servers).len();
            let number = locked(&self.random).usize(..count);
            locked(&self.servers)[number].host.die();
            *locked(&self.crashes) += 1;
            let millis = self.draw(0..MINUTE);
            self.simulation.sleep(millis).await;
            if let Some(server) = self.start(number).await {
                locked(&self.servers)[number] = server;
            }
        }
    }

    /// Writes step after step to some members, each until it is done.
    async fn write(self: Arc<Self>, members: Vec<String>) {
        for step in 1..=STEPS {
            for member in &members {
                while !self.try_to_write(member, step).await {
                    let millis = self.draw(100..3_000);
                    self.simulation.sleep(millis).await;
                }
            }
            let millis = self.draw(MINUTE..20 * MINUTE);
            self.simulation.sleep(millis).await;
        }
    }

    async fn try_to_write(&self, member: &str, step: i64) -> bool {
        let Some(server) = self.any() else {
            return false;
        };
        let update = Operation::Update {
            entity: "Member".to_owned(),
            identity: vec![member.to_owned()],
            changes: Map::from([("step", Value::N(Number::from(step)))]),
            with_deleted: false,
            version: None,
        };
        let (caller, key) = (Caller::default(), format!("{member}-{step}"));
        let written = server.partita.run_once(&caller, update, &key);
        let written = server.host.while_alive(written).await;
        written.is_some_and(|written| written.is_ok())
    }
}

async fn open(store: Arc<dyn Store>, clock: Arc<dyn Clock>, seed: u64) -> Option<Arc<Partita>> {
    let surroundings = Surroundings {
        clock,
        entropy: Arc::new(SeededEntropy::new(seed)),
        cursor_key: [7; 32],
        patience: Patience {
            attempts: 12,
            pause_millis: 10,
        },
    };
    let design = stage::compiled("club", DESIGN, "club");
    let opened = Partita::open_with(design, store, surroundings).await;
    opened.ok().map(Arc::new)
}

fn name(number: usize) -> String {
    format!("m{number:02}")
}

/// What became of a history.
struct Outcome {
    crashes: u64,
    counts: Counts,
    faults: Vec<String>,
}

/// Carries a history out.
fn history(seed: u64, mistake: Option<Mistake>) -> Outcome {
    let simulation = Simulation::new(seed, START);
    simulation.run(carry_out(&simulation, seed, mistake))
}

async fn carry_out(simulation: &Simulation, seed: u64, mistake: Option<Mistake>) -> Outcome {
    let behaviour = Behaviour {
        // Tables are there before the history begins.
        table_millis: 0..=0,
        streams: StreamManners {
            // So short that a server which pauses finds it expired.
            iterator_millis: MINUTE,
            ..Behaviour::rough().streams
        },
        ..Behaviour::rough()
    };
    let amazon = Arc::new(Amazon::new(simulation, behaviour, seed));
    amazon.calm();
    let clock: Arc<dyn Clock> = Arc::new(simulation.clone());
    let settled = Arc::new(Settled(amazon.clone()));
    let calm = open(settled, clock, seed + 1_000_000).await.unwrap();
    for member in (0..MEMBERS).map(name) {
        let attributes = Map::from([("memberId", Value::from(member))]);
        let entity = "Member".to_owned();
        let create = Operation::Create { entity, attributes };
        calm.run(&Caller::default(), create).await.unwrap();
    }
    // A new schedule begins with its next period.
    assert_eq!(calm.start_schedules().await.unwrap(), 0);
    let recipient = Arc::new(Recipient {
        simulation: simulation.clone(),
        mistake,
        arrived: Mutex::default(),
        ledger: Mutex::default(),
        random: Mutex::new(fastrand::Rng::with_seed(seed + 2_000_000)),
        is_calm: AtomicBool::new(false),
    });
    let club = Arc::new(Club {
        simulation: simulation.clone(),
        amazon: amazon.clone(),
        mistake,
        recipient: recipient.clone(),
        servers: Mutex::default(),
        random: Mutex::new(fastrand::Rng::with_seed(seed + 3_000_000)),
        is_over: AtomicBool::new(false),
        crashes: Mutex::default(),
    });
    for number in 0..2 + (seed % 4) as usize {
        let server = loop {
            if let Some(server) = club.start(number).await {
                break server;
            }
        };
        locked(&club.servers).push(server);
    }
    amazon.begin();
    let all: Vec<String> = (0..MEMBERS).map(name).collect();
    let writers: Vec<_> = all
        .chunks(MEMBERS / 4)
        .map(|some| simulation.spawn(club.clone().write(some.to_vec())))
        .collect();
    drop(simulation.spawn(club.clone().undertake()));
    for writer in writers {
        writer.await.unwrap();
    }
    let end = START + TURNS * HOUR + 20 * MINUTE;
    simulation.sleep(end - simulation.now_millis()).await;
    club.is_over.store(true, Ordering::Relaxed);
    // What is late comes late: requests, and the end of leases.
    simulation
        .sleep(Network::rough().late_millis_max + 2 * MINUTE)
        .await;
    amazon.calm();
    recipient.is_calm.store(true, Ordering::Relaxed);
    settle(simulation, &calm, &recipient).await;
    let crashes = *locked(&club.crashes);
    Outcome {
        crashes,
        counts: amazon.counts(),
        faults: faults(&calm, &recipient).await,
    }
}

/// Has everything done that is left.
async fn settle(simulation: &Simulation, calm: &Arc<Partita>, recipient: &Arc<Recipient>) {
    let courier = Courier::new(calm.clone(), recipient.clone());
    for _ in 0..400 {
        calm.run_jobs().await.unwrap();
        courier.deliver().await.unwrap();
        let jobs = calm.jobs().await.unwrap();
        let is_done = jobs.iter().all(|job| job.state == JobState::Done);
        let told = courier.stream(LEDGER).await.unwrap();
        if is_done && told.delivered == 0 && calm.outbox(1).await.unwrap().is_empty() {
            return;
        }
        simulation.sleep(MINUTE).await;
    }
    panic!("it does not come to an end");
}

async fn faults(calm: &Partita, recipient: &Recipient) -> Vec<String> {
    let mut faults = locked(&recipient.ledger).gaps.clone();
    for job in calm.jobs().await.unwrap() {
        if job.done != MEMBERS as u64 {
            let done = job.done;
            faults.push(format!("a job has done {done} of {MEMBERS} items"));
        }
    }
    let arrived = locked(&recipient.arrived).clone();
    for member in (0..MEMBERS).map(name) {
        let get = Operation::Get {
            entity: "Member".to_owned(),
            identity: vec![member.clone()],
            with_deleted: false,
        };
        let found = calm.run(&Caller::default(), get).await.unwrap();
        let Answer::Record(found) = found else {
            panic!("{member} is gone");
        };
        let ledger = locked(&recipient.ledger);
        let applied = ledger.members.get(&format!("Member/{member}"));
        let applied = applied.map(|(count, _)| *count);
        // It was created, and then it had its steps, turns, visits and calls.
        if applied != Some(1 + STEPS + 3 * TURNS) {
            faults.push(format!("of {member} {applied:?} changes were applied"));
        }
        drop(ledger);
        for name in ["turns", "visits", "calls"] {
            let had = found.attributes.get(name);
            let had = had.and_then(|one| one.as_number()?.to_i64());
            if had != Some(TURNS) {
                faults.push(format!("{member} had {had:?} {name} in {TURNS} hours"));
            }
        }
        for (channel, last) in [("mail", TURNS), ("send:bus", STEPS)] {
            let key = (channel.to_owned(), member.clone());
            let numbers = arrived.get(&key).cloned().unwrap_or_default();
            if numbers != (1..=last).collect::<Vec<_>>() {
                faults.push(format!("of {key:?} arrived {numbers:?}"));
            }
        }
    }
    faults
}

/// A sample, or as many as `PARTITA_AMAZON` says, from the seed `PARTITA_FROM` on.
#[test]
fn each_has_a_turn_once_in_an_hour_and_everything_arrives() {
    let seeds = seeds_on_amazon(2);
    let mut died = 0;
    let mut weather: BTreeMap<&str, u64> = BTreeMap::new();
    let mut failed = Vec::new();
    for seed in seeds.clone() {
        match catch_unwind(|| history(seed, None)) {
            Ok(past) => {
                died += past.crashes;
                for (name, count) in past.counts.named() {
                    *weather.entry(name).or_default() += count;
                }
                if !past.faults.is_empty() {
                    println!("PARTITA_SEED={seed}: {:#?}", past.faults);
                    failed.push(seed);
                }
            }
            Err(_) => failed.push(seed),
        }
        let done = seed + 1 - seeds.start;
        if done.is_multiple_of(25) {
            println!("{done} histories, {died} servers died, {weather:?}");
        }
    }
    assert!(failed.is_empty(), "these seeds failed: {failed:?}");
    println!(
        "{} histories, {died} servers died, {weather:?}",
        seeds.count()
    );
    assert!(died > 0);
    for name in ["late records", "repeated records", "expired iterators"] {
        assert!(weather[name] > 0, "no {name}");
    }
}

#[test]
fn planted_mistakes_are_found() {
    for (mistake, told) in [
        (Mistake::ForgetsThePeriod, "in 3 hours"),
        (Mistake::ForgetsMessages, "send:bus"),
        (Mistake::NamesAnew, "changes were applied"),
        (Mistake::AppliesTwice, "changes were applied"),
        // Who is met again further down the index, or when it is looked at again.
        (Mistake::ForgetsMarks, "calls in 3 hours"),
        // Marks keep items from being done twice even so, but the job does not know what it did.
        (Mistake::ForgetsTheLease, "a job has done"),
    ] {
        let found = (0..SEEDS_OF_A_MISTAKE).find_map(|seed| {
            let faults = history(seed, Some(mistake)).faults;
            faults.into_iter().find(|fault| fault.contains(told))
        });
        let found = found.unwrap_or_else(|| panic!("nobody noticed {mistake:?}"));
        println!("{mistake:?}: {found}");
    }
}
