//! Accounts on a simulated Amazon, with several servers.
//!
//! Several people sign up under one address at once, and one of them gets it. Whoever has an account
//! signs in, uses sessions and ends them, each time on another server. A session that was opened is
//! good on all of them from then on, and one that was ended on none: also where the index that lists
//! sessions is minutes behind.
//!
//! A history is a function of its seed. `PARTITA_AMAZON=n` plays so many, and `PARTITA_SEED=n` the one
//! of that seed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use partita_core::{Item, Map, Value};
use partita_plan::{
    Account, Partita, Patience, PlanError, Session, SignUp, SignedUp, Surroundings,
};
use partita_store::capacity::Metered;
use partita_store::request::{BatchGetItem, BatchGot, TransactAction, TransactWriteItems};
use partita_store::surroundings::SeededEntropy;
use partita_store::{Clock, Layer, Store, StoreResult};
use partita_testkit::amazon::behaviour::Lag;
use partita_testkit::amazon::{Behaviour, Network};
use partita_testkit::simulation::host::Host;
use partita_testkit::{Amazon, Simulation};
use partita_verify::Collected;

use super::amazon::{SKEWS, machine};
use super::seeds_on_amazon;
use crate::stage;

const DESIGN: &str = r#"
design = "circle"

[table]
name = "circle"
key  = ["PK", "SK"]
ttl  = "ttl"

[index]
bySession = ["sessionPK", "sessionSK"]

[caller]
type = "User"

[accounts]
entity    = "User"
login     = "email"
password  = "password"
signed-in = "signedInAt"
session   = { entity = "Session", user = "userId", secret = "secretHash", created = "createdAt", expires = "expiresAt" }

[entity.User]
PK = "USER#{userId}"
SK = "USER"

[entity.User.attributes]
userId     = "uuid, generated"
email      = "string email"
password   = "password?"
signedInAt = "timestamp?"
name       = "string"

[entity.User.unique]
email = "UNIQUE#EMAIL#{email}"

[entity.User.allow]
read   = "userId = caller"
update = "userId = caller"
"write email signedInAt" = "never"

[entity.Session]
PK        = "SESSION#{sessionId}"
SK        = "SESSION"
sessionPK = "USER#{userId}"
sessionSK = "{createdAt}#{sessionId}"

[entity.Session.attributes]
sessionId  = "uuid, generated"
userId     = "uuid, fixed"
secretHash = "string?, secret"
createdAt  = "timestamp = now on create"
expiresAt  = "timestamp"
ttl        = "expiry = expiresAt"

[entity.Session.refs]
user = "User, on delete cascade"

[entity.Session.allow]
"*" = "never"
"#;

/// 2036-01-01T00:30:00Z.
const START: i64 = 2_082_760_200_000;
const MINUTE: i64 = 60_000;

const PEOPLE: usize = 4;
/// Who sign up under one address at once.
const RIVALS: usize = 3;
/// What each does with an account.
const DEEDS: usize = 25;
/// How often something is tried until its outcome is known.
const TRIES: usize = 40;
/// Histories in which a planted mistake must show.
const SEEDS_OF_A_MISTAKE: u64 = 12;

/// Mistakes that a history must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    /// Sessions are ended by what the index shows of them.
    TrustsTheIndex,
    /// Accounts and sessions are read as some copy has them.
    ReadsCopies,
    /// A login is taken without a look.
    TakesLogins,
}

/// A store on which a mistake shows.
struct Mistaken {
    inner: Arc<dyn Store>,
    mistake: Mistake,
}

impl Mistaken {
    fn is_left_out(&self, action: &TransactAction) -> bool {
        let TransactAction::Put(put) = action else {
            return false;
        };
        let partition = put.item.get("PK").and_then(Value::as_str);
        let is_generation = partition.is_some_and(|one| one.starts_with("SESSIONS#"));
        self.mistake == Mistake::TrustsTheIndex && is_generation
    }
}

#[async_trait]
impl Layer for Mistaken {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn batch_get_item(
        &self,
        mut request: BatchGetItem,
    ) -> StoreResult<Metered<Vec<BatchGot>>> {
        if self.mistake == Mistake::ReadsCopies {
            let tables = request.addresses.iter().map(|one| one.table.clone());
            request.eventual = tables.collect();
        }
        self.inner.batch_get_item(request).await
    }

    async fn transact_write_items(
        &self,
        mut request: TransactWriteItems,
    ) -> StoreResult<Metered<()>> {
        request.actions.retain(|action| !self.is_left_out(action));
        if self.mistake == Mistake::TakesLogins {
            for action in &mut request.actions {
                if let TransactAction::Put(put) = action
                    && is_guard(&put.item)
                {
                    put.condition = None;
                }
            }
        }
        self.inner.transact_write_items(request).await
    }
}

fn is_guard(item: &Item) -> bool {
    let partition = item.get("PK").and_then(Value::as_str);
    partition.is_some_and(|one| one.starts_with("UNIQUE#"))
}

struct Server {
    host: Arc<Host>,
    partita: Partita,
}

/// Everything of one history.
struct Circle {
    simulation: Simulation,
    amazon: Arc<Amazon>,
    mistake: Option<Mistake>,
    servers: Mutex<Vec<Arc<Server>>>,
    random: Mutex<fastrand::Rng>,
    faults: Mutex<Vec<String>>,
    /// How many sessions were opened and ended.
    turnover: Mutex<(u64, u64)>,
    at_work: Mutex<usize>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a person knows of a session.
struct Known {
    credential: String,
}

impl Circle {
    fn draw(&self, range: std::ops::Range<i64>) -> i64 {
        locked(&self.random).i64(range)
    }

    fn fault(&self, fault: String) {
        locked(&self.faults).push(fault);
    }

    async fn start(&self, number: usize) -> Option<Arc<Server>> {
        let seed = locked(&self.random).u64(..);
        let skew_millis = locked(&self.random).i64(SKEWS);
        let place = (&self.simulation, &self.amazon);
        let (host, store) = machine(place, number, None, (seed, skew_millis));
        let store: Arc<dyn Store> = match self.mistake {
            Some(mistake) => Arc::new(Mistaken {
                inner: store,
                mistake,
            }),
            None => store,
        };
        let partita = open(store, host.clone(), seed).await.ok()?;
        Some(Arc::new(Server { host, partita }))
    }

    /// Has some server do something, again and again until what came of it is known.
    async fn settled<T, F: Future<Output = Result<T, PlanError>>>(
        &self,
        ask: impl Fn(Arc<Server>) -> F,
    ) -> Option<Result<T, PlanError>> {
        for _ in 0..TRIES {
            let server = {
                let servers = locked(&self.servers);
                let drawn = locked(&self.random).usize(..servers.len());
                servers[drawn].clone()
            };
            if server.host.is_dead() {
                self.simulation.sleep(500).await;
                continue;
            }
            match server.host.while_alive(ask(server.clone())).await {
                Some(Ok(done)) => return Some(Ok(done)),
                Some(Err(error)) if !is_open(&error) => return Some(Err(error)),
                _ => self.simulation.sleep(200).await,
            }
        }
        None
    }

    /// Ends servers now and then, and has others take their places.
    async fn undertake(self: Arc<Self>) {
        while *locked(&self.at_work) > 0 {
            let millis = self.draw(20_000..90_000);
            self.simulation.sleep(millis).await;
            let count = locked(&self.servers).len();
            let number = locked(&self.random).usize(..count);
            locked(&self.servers)[number].host.die();
            let millis = self.draw(0..20_000);
            self.simulation.sleep(millis).await;
            if let Some(server) = self.start(number).await {
                locked(&self.servers)[number] = server;
            }
        }
    }

    /// Signs up, beside others who want the same login. Answers the id if the account is theirs.
    async fn sign_up(self: Arc<Self>, login: String, rival: usize) -> Option<String> {
        let sign_up = SignUp {
            login,
            password: format!("!{rival}"),
            given: Map::from([("name", Value::from(format!("rival {rival}")))]),
            public_url: String::new(),
        };
        // Whether it was this attempt is not known after a lost answer.
        let sign_up = &sign_up;
        let done = self.settled(|server| async move { server.partita.sign_up(sign_up).await });
        match done.await {
            Some(Ok(SignedUp::Created { id, .. })) => Some(id),
            Some(Ok(SignedUp::Taken)) | None => None,
            Some(Err(error)) => {
                self.fault(format!("a sign-up ends with {error}"));
                None
            }
        }
    }

    /// The account of a login, which is there.
    async fn account(&self, login: &str) -> Option<Account> {
        let found = self.settled(|server| async move { server.partita.account_with(login).await });
        match found.await? {
            Ok(Some(account)) => Some(account),
            Ok(None) => {
                self.fault(format!("{login} has signed up and has no account"));
                None
            }
            Err(error) => {
                self.fault(format!("{login} is looked for, and that ends with {error}"));
                None
            }
        }
    }

    /// Whom a server takes a session for, if somebody answers.
    async fn look(&self, known: &Known) -> Option<Option<(Session, Account)>> {
        let credential = &known.credential;
        let found = self.settled(|server| async move { server.partita.session(credential).await });
        found.await?.ok()
    }

    /// One person with everything that they do.
    async fn live(self: Arc<Self>, login: String) {
        let rivals = (0..RIVALS).map(|rival| {
            let signing_up = self.clone().sign_up(login.clone(), rival);
            self.simulation.spawn(signing_up)
        });
        let rivals: Vec<_> = rivals.collect();
        let mut ids = Vec::new();
        for rival in rivals {
            ids.extend(rival.await.unwrap());
        }
        if ids.len() > 1 {
            self.fault(format!("{login} belongs to {ids:?}"));
        }
        let account = self.account(&login).await;
        if let (Some(account), Some(id)) = (&account, ids.first())
            && account.id != *id
        {
            self.fault(format!("{login} belongs to {id} and to {}", account.id));
        }
        let (mut open, mut ended) = (Vec::new(), Vec::new());
        for number in 0..DEEDS {
            self.act(&login, number, &mut open, &mut ended).await;
            let millis = self.draw(0..4_000);
            self.simulation.sleep(millis).await;
        }
        *locked(&self.at_work) -= 1;
    }

    async fn act(&self, login: &str, number: usize, open: &mut Vec<Known>, ended: &mut Vec<Known>) {
        let deed = if open.is_empty() { 0 } else { self.draw(0..10) };
        match deed {
            0..4 => self.sign_in(login, open).await,
            4..6 => self.end_one(open, ended).await,
            6..8 => self.end_others(login, open, ended).await,
            8 => self.change_password(login, number, open, ended).await,
            _ => {}
        }
        self.judge(login, open, ended).await;
    }

    async fn sign_in(&self, login: &str, open: &mut Vec<Known>) {
        let Some(account) = self.account(login).await else {
            return;
        };
        let account = &account;
        let opened =
            self.settled(|server| async move { server.partita.sign_in(account, None).await });
        if let Some(Ok(session)) = opened.await {
            locked(&self.turnover).0 += 1;
            open.push(Known {
                credential: session.credential,
            });
        }
    }

    async fn end_one(&self, open: &mut Vec<Known>, ended: &mut Vec<Known>) {
        let drawn = locked(&self.random).usize(..open.len());
        let Some(Some((session, account))) = self.look(&open[drawn]).await else {
            return;
        };
        let known = open.swap_remove(drawn);
        let (account, id) = (&account, &session.id);
        let done =
            self.settled(|server| async move { server.partita.end_session(account, id).await });
        if matches!(done.await, Some(Ok(_))) {
            ended.push(known);
        }
    }

    async fn end_others(&self, login: &str, open: &mut Vec<Known>, ended: &mut Vec<Known>) {
        let drawn = locked(&self.random).usize(..open.len());
        let kept = open.swap_remove(drawn);
        let others = std::mem::take(open);
        let mut is_done = false;
        for _ in 0..TRIES {
            let Some(Some((session, account))) = self.look(&kept).await else {
                break;
            };
            let (account, session) = (&account, Some(&session));
            let done = self.settled(|server| async move {
                server.partita.end_other_sessions(account, session).await
            });
            match done.await {
                Some(Ok(_)) => is_done = true,
                // An attempt without an answer was carried out, and has bound the session anew.
                Some(Err(PlanError::Outdated)) => continue,
                Some(Err(error)) => self.fault(format!("{login} ends sessions: {error}")),
                None => {}
            }
            break;
        }
        open.push(kept);
        if is_done {
            ended.extend(others);
        }
    }

    async fn change_password(
        &self,
        login: &str,
        number: usize,
        open: &mut Vec<Known>,
        ended: &mut Vec<Known>,
    ) {
        let drawn = locked(&self.random).usize(..open.len());
        let Some(Some((session, account))) = self.look(&open[drawn]).await else {
            return;
        };
        let kept = open.swap_remove(drawn);
        let others = std::mem::take(open);
        let password = format!("!{login}-{number}");
        let (account, password, session) = (&account, &password, Some(&session));
        let done = self.settled(|server| async move {
            let changed = server.partita.change_password(account, password, session);
            changed.await
        });
        match done.await {
            // The second attempt finds what the first has done.
            Some(Ok(()) | Err(PlanError::Outdated)) => {
                ended.extend(others);
                open.push(kept);
            }
            Some(Err(error)) => self.fault(format!("{login} changes a password: {error}")),
            None => {}
        }
    }

    /// Every session that was opened is good, and none that was ended.
    async fn judge(&self, login: &str, open: &[Known], ended: &mut Vec<Known>) {
        for known in open {
            if let Some(None) = self.look(known).await {
                self.fault(format!("a session of {login} that was opened is not good"));
            }
        }
        for known in ended.iter() {
            if let Some(Some(_)) = self.look(known).await {
                self.fault(format!("a session of {login} that was ended is good"));
            }
        }
        locked(&self.turnover).1 += ended.len() as u64;
        // The latest are those that an index may not have noticed.
        let old = ended.len().saturating_sub(6);
        ended.drain(..old);
    }
}

/// Whether an answer leaves open what became of the request, or asks to try again.
fn is_open(error: &PlanError) -> bool {
    matches!(
        error,
        PlanError::OutcomeUnknown
            | PlanError::Conflict
            | PlanError::Drift { .. }
            | PlanError::Hot(_)
            | PlanError::Store(_)
    )
}

async fn open(
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
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
    let design = stage::compiled("circle", DESIGN, "circle");
    Partita::open_with(design, store, surroundings).await
}

/// Carries a history out. Answers how many sessions were opened, and what is wrong.
fn history(seed: u64, mistake: Option<Mistake>) -> (u64, Vec<String>) {
    let simulation = Simulation::new(seed, START);
    simulation.run(carry_out(&simulation, seed, mistake))
}

async fn carry_out(
    simulation: &Simulation,
    seed: u64,
    mistake: Option<Mistake>,
) -> (u64, Vec<String>) {
    let usual = Behaviour::rough();
    let behaviour = Behaviour {
        // Tables are there before the history begins.
        table_millis: 0..=0,
        // Somebody who ends sessions has often opened one that the index does not show.
        index_lag: Lag {
            rare: 0.3,
            ..usual.index_lag.clone()
        },
        ..usual
    };
    let amazon = Arc::new(Amazon::new(simulation, behaviour, seed));
    amazon.calm();
    let clock: Arc<dyn Clock> = Arc::new(simulation.clone());
    let calm = open(amazon.clone(), clock, seed + 1_000_000).await.unwrap();
    let circle = Arc::new(Circle {
        simulation: simulation.clone(),
        amazon: amazon.clone(),
        mistake,
        servers: Mutex::default(),
        random: Mutex::new(fastrand::Rng::with_seed(seed + 3_000_000)),
        faults: Mutex::default(),
        turnover: Mutex::default(),
        at_work: Mutex::new(PEOPLE),
    });
    for number in 0..2 + (seed % 4) as usize {
        let server = loop {
            if let Some(server) = circle.start(number).await {
                break server;
            }
        };
        locked(&circle.servers).push(server);
    }
    amazon.begin();
    let people = (0..PEOPLE).map(|number| {
        let living = circle.clone().live(format!("p{number}@example.org"));
        simulation.spawn(living)
    });
    let people: Vec<_> = people.collect();
    drop(simulation.spawn(circle.clone().undertake()));
    for person in people {
        person.await.unwrap();
    }
    // What is late comes late.
    simulation
        .sleep(Network::rough().late_millis_max + 2 * MINUTE)
        .await;
    amazon.calm();
    let mut found = Collected::default();
    let report = calm.verify(&mut found).await.unwrap();
    if !report.is_clean() {
        circle.fault(format!("verify: {report:?}"));
    }
    let opened = locked(&circle.turnover).0;
    let faults = std::mem::take(&mut *locked(&circle.faults));
    (opened, faults)
}

/// A sample, or as many as `PARTITA_AMAZON` says, from the seed `PARTITA_FROM` on.
#[test]
fn a_session_is_good_until_it_is_ended_and_not_longer() {
    let seeds = seeds_on_amazon(2);
    let mut all = 0;
    let mut failed = Vec::new();
    for seed in seeds.clone() {
        let (opened, faults) = history(seed, None);
        if !faults.is_empty() {
            println!("PARTITA_SEED={seed}: {faults:#?}");
            failed.push(seed);
        }
        all += opened;
    }
    assert!(failed.is_empty(), "these seeds failed: {failed:?}");
    println!("{} histories of accounts, {all} sessions", seeds.count());
    assert!(all > 0);
}

#[test]
fn planted_mistakes_are_found() {
    for (mistake, told) in [
        (Mistake::TrustsTheIndex, "that was ended is good"),
        // Any of them: an account that is not there, or a session that is, or is not.
        (Mistake::ReadsCopies, ""),
        (Mistake::TakesLogins, "belongs to"),
    ] {
        let found = (0..SEEDS_OF_A_MISTAKE).find_map(|seed| {
            let (_, faults) = history(seed, Some(mistake));
            faults.into_iter().find(|fault| fault.contains(told))
        });
        let found = found.unwrap_or_else(|| panic!("nobody noticed {mistake:?}"));
        println!("{mistake:?}: {found}");
    }
}
