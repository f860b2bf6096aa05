//! Histories of files: items take them over from uploads and from each other, under conflicts, lost
//! answers and crashes between claim, copy, commit and remove.
//!
//! At every moment each name in an item has its object, with the bytes that the operations put
//! there; at the end, long after everything that has a time is over, there is nothing but that.
//! Some items expire, and are removed by the store at some time after that. Mistakes that are
//! planted in the planner's transactions must be found that way.
//!
//! On a simulated Amazon two to five servers share the objects: requests come late or twice, and
//! copies, claims and commits of one server lie between those of another.

mod ground;
mod model;
mod shelf;

use std::ops::Range;
use std::sync::Arc;

use partita_core::Item;
use partita_plan::{Answer, Caller, Operation, Partita, PlanError, UploadLimits};
use partita_remote::{RemoteStore, Timeouts};
use partita_store::request::Scan;
use partita_store::surroundings::ManualClock;
use partita_store::{ModelStore, Store};
use partita_testkit::Simulation;
use partita_testkit::dynamodb_local::DynamoDbLocal;

use crate::histories::defects::Spoil;
use crate::histories::seeds_on_amazon;
use crate::histories::witness::Witness;
use crate::histories::world::World;
use crate::stage;
use ground::{Clouds, Ground, SPOILT, Still};
use model::{Act, Model};
use shelf::Shelf;

const DAY: i64 = 86_400_000;

/// A time that no store's own clock comes to, so that what expires is removed by the history alone.
const START: i64 = 4_102_444_800_000;

/// One history.
struct History {
    servers: Vec<Partita>,
    ground: Arc<dyn Ground>,
    /// Where nothing goes wrong.
    store: Arc<dyn Store>,
    table: String,
    shelf: Arc<Shelf>,
    random: fastrand::Rng,
    model: Model,
    accepted: usize,
    crashes: usize,
}

/// An act with everything that it takes.
#[derive(Debug)]
struct Prepared {
    act: Act,
    uploads: Vec<(String, u64)>,
    version: Option<(String, Vec<u64>)>,
    operation: Option<Operation>,
}

/// The answer to an operation, if there was one.
type Answered = Option<Result<Answer, PlanError>>;

/// What a history is judged by.
type Judged = Result<(), String>;

impl History {
    /// With one server on a store.
    async fn begin(store: Arc<dyn Store>, clock: Arc<ManualClock>, table: &str, seed: u64) -> Self {
        let shelf = Arc::new(Shelf::default());
        let (still, servers) = Still::open(store.clone(), clock, (table, seed), &shelf).await;
        History::on(still, servers, (store, table), shelf, seed)
    }

    /// With several servers on a simulated Amazon, whose transactions may be spoilt.
    async fn begin_on_amazon(simulation: &Simulation, seed: u64, spoil: Option<Spoil>) -> Self {
        let clock = Arc::new(simulation.clone());
        let model = Arc::new(ModelStore::new(clock.clone()));
        let world = World::new(stage::design("archive", "archive"));
        let witness = Arc::new(Witness::new(model.clone(), world, clock, spoil));
        let shelf = Arc::new(Shelf::far_away(simulation, seed));
        let servers = (2 + (seed % 4) as usize, seed);
        let stores = (model.clone(), witness as Arc<dyn Store>);
        let (clouds, servers) = Clouds::open(simulation, stores, servers, &shelf).await;
        History::on(clouds, servers, (model, "archive"), shelf, seed)
    }

    fn on(
        ground: Arc<dyn Ground>,
        servers: Vec<Partita>,
        (store, table): (Arc<dyn Store>, &str),
        shelf: Arc<Shelf>,
        seed: u64,
    ) -> Self {
        History {
            servers,
            ground,
            store,
            table: table.to_owned(),
            shelf,
            random: fastrand::Rng::with_seed(seed),
            model: Model::default(),
            accepted: 0,
            crashes: 0,
        }
    }

    /// One of the servers.
    fn server(&mut self) -> usize {
        self.random.usize(..self.servers.len())
    }

    /// Some operations, each judged by itself, and what is left of them all.
    async fn live(&mut self, operations: usize) -> Judged {
        for number in 0..operations {
            let now = self.now_seconds();
            self.model.expire(now);
            let Some(act) = self.model.next(&mut self.random, now) else {
                continue;
            };
            let told = format!("{number}: {act:?}");
            let judged = self.step(act).await;
            judged.map_err(|fault| format!("{told}: {fault}"))?;
        }
        self.end().await
    }

    async fn step(&mut self, act: Act) -> Judged {
        if let Act::Wait(hours) = act {
            self.ground.pass(hours * 3_600_000).await;
            // The store removes what has expired, sooner or later.
            if self.random.bool() {
                self.remove_expired().await;
            }
            // What cannot be done now is done the next time.
            let server = self.server();
            let _ = self.servers[server].sweep_files(100).await;
            let unchanged = self.model.clone();
            return self.judge(&[unchanged]).await;
        }
        let Some(first) = self.prepared(act).await else {
            return Ok(());
        };
        // Some are done at the same time as another one.
        let now = self.now_seconds();
        let second = match self.random.u8(0..3) {
            0 => self.model.next(&mut self.random, now),
            _ => None,
        };
        let second = second.filter(|act| !matches!(act, Act::Wait(_)));
        let second = match second {
            Some(act) => self.prepared(act).await,
            None => None,
        };
        // Of two, one could die while the other waits for the store, which goes on by itself.
        let may_die = second.is_none() && self.random.bool();
        let fuse = may_die.then(|| self.random.u32(0..9));
        self.shelf.light(fuse);
        let servers = [self.server(), self.server()];
        let work = async {
            tokio::join!(
                self.run(servers[0], first.operation.clone()),
                self.run(
                    servers[1],
                    second.as_ref().and_then(|one| one.operation.clone())
                ),
            )
        };
        let answers = tokio::select! {
            answers = work => Some(answers),
            () = self.shelf.burnt() => None,
            () = self.ground.death(), if may_die => None,
        };
        self.shelf.light(None);
        self.settle(&answers).await;
        self.accepted += usize::from(matches!(&answers, Some((Some(Ok(_)), _))));
        self.crashes += usize::from(answers.is_none());
        let possible = match &answers {
            Some((first_answer, second_answer)) => {
                let ends = |answer: &Answered| match answer {
                    Some(Ok(_)) => vec![true],
                    Some(Err(PlanError::OutcomeUnknown)) => vec![true, false],
                    Some(Err(_)) | None => vec![false],
                };
                let mut possible = Vec::new();
                for is_first in ends(first_answer) {
                    for is_second in ends(second_answer) {
                        possible.extend(self.outcomes(
                            &first,
                            second.as_ref(),
                            is_first,
                            is_second,
                        ));
                    }
                }
                possible
            }
            // A process that died has done it or has not.
            None => {
                let ends = [true, false].into_iter();
                ends.flat_map(|is_first| self.outcomes(&first, None, is_first, false))
                    .collect()
            }
        };
        let judged = self.judge(&possible).await;
        judged.map_err(|fault| format!("{second:?}: {answers:?}: {fault}"))
    }

    async fn run(&self, server: usize, operation: Option<Operation>) -> Answered {
        let ann = Caller::user("ann");
        Some(self.servers[server].run(&ann, operation?).await)
    }

    /// What there can be when one or both of two acts were done, in either order.
    fn outcomes(
        &self,
        first: &Prepared,
        second: Option<&Prepared>,
        is_first: bool,
        is_second: bool,
    ) -> Vec<Model> {
        let first = is_first.then_some(first);
        let second = second.filter(|_| is_second);
        let orders = [[first, second], [second, first]];
        let done = orders.into_iter().filter_map(|order| {
            let mut model = self.model.clone();
            for act in order.into_iter().flatten() {
                model.apply(&act.act, &act.uploads, act.version.as_ref())?;
            }
            Some(model)
        });
        done.collect()
    }

    /// What is still on its way comes, and whatever a crash has left to others is done by them.
    async fn settle(&mut self, answers: &Option<(Answered, Answered)>) {
        let is_open = |answer: &Answered| matches!(answer, Some(Err(PlanError::OutcomeUnknown)));
        let is_known = answers
            .as_ref()
            .is_some_and(|(first, second)| !is_open(first) && !is_open(second));
        if !is_known {
            self.ground.late().await;
        }
        for _ in 0..20 {
            let server = self.server();
            if self.ground.take_over(&self.servers[server]).await {
                return;
            }
        }
    }

    /// An act with the uploads that it needs; none where it cannot be done.
    async fn prepared(&mut self, act: Act) -> Option<Prepared> {
        let mut uploads = Vec::new();
        for prefix in act.uploads() {
            uploads.push(self.upload(prefix).await?);
        }
        let version = match &act {
            Act::Revert(title) => Some(self.some_version(title).await?),
            _ => None,
        };
        let mut after = self.model.clone();
        let operation = Some(after.apply(&act, &uploads, version.as_ref())?);
        Some(Prepared {
            act,
            uploads,
            version,
            operation,
        })
    }

    /// An upload whose bytes have come; none where something went wrong on the way.
    async fn upload(&mut self, prefix: &str) -> Option<(String, u64)> {
        let limits = UploadLimits {
            bytes: 1_000,
            open: 1_000,
        };
        let ann = Caller::user("ann");
        let server = self.server();
        let server = &self.servers[server];
        let asked = server.allow_upload(&ann, prefix, "image/png", Some(3), limits);
        let upload = asked.await.ok()?;
        let bytes = self.shelf.put(&upload.name);
        let arrived = server.arrived(&upload.bucket, &upload.name).await;
        Some((arrived.ok()?, bytes))
    }

    /// A state of a letter, and the bytes that it names.
    async fn some_version(&mut self, title: &str) -> Option<(String, Vec<u64>)> {
        let rows = self.rows().await;
        let versions: Vec<_> = rows
            .iter()
            .filter(|row| row.kind == "Version" && row.id == title)
            .collect();
        let version = self.random.choice(versions)?;
        let bytes = version.names.iter().map(|name| self.shelf.bytes(name));
        Some((version.at.clone(), bytes.collect::<Option<_>>()?))
    }

    /// Each name has its object, with the bytes of one of the models.
    async fn judge(&mut self, possible: &[Model]) -> Judged {
        let mut found = Model::default();
        for row in self.rows().await {
            let mut bytes = Vec::new();
            for name in &row.names {
                let (kind, id) = (&row.kind, &row.id);
                let lost = || format!("{kind} {id} names {name}, which is gone");
                bytes.push(self.shelf.bytes(name).ok_or_else(lost)?);
            }
            // What has expired and is still stored has its file too, but is no item any more.
            let is_over = row.until.is_some_and(|until| until < self.now_seconds());
            if row.kind != "Version" && !is_over {
                found.add(row, bytes);
            }
        }
        // Some of it may have expired since it was done.
        let now = self.now_seconds();
        let possible = possible.iter().cloned().map(|mut model| {
            model.expire(now);
            model
        });
        let mut possible: Vec<Model> = possible.collect();
        let Some(fits) = possible.iter().position(|model| model.is(&found)) else {
            let expected: Vec<_> = possible.iter().map(|model| &model.items).collect();
            return Err(format!("there is {:?}, not {expected:?}", found.items));
        };
        self.model = possible.swap_remove(fits);
        Ok(())
    }

    /// Long after everything: all that items name is there and can be read, and nothing else.
    async fn end(&mut self) -> Judged {
        self.ground.pass(100 * DAY).await;
        self.ground.calm();
        self.remove_expired().await;
        let mut quiet = 0;
        while quiet < 3 {
            let server = self.server();
            let swept = self.servers[server].sweep_files(100).await;
            let is_quiet = swept.is_ok_and(|swept| !swept.has_more && swept.removed == 0);
            quiet = if is_quiet { quiet + 1 } else { 0 };
        }
        let unchanged = self.model.clone();
        self.judge(&[unchanged]).await?;
        let rows = self.rows().await;
        let ann = Caller::user("ann");
        for row in rows.iter().filter(|row| row.kind != "Version") {
            for name in &row.names {
                let server = &self.servers[0];
                let mut read = server.file(&ann, name).await;
                while matches!(
                    read,
                    Err(PlanError::Store(_) | PlanError::Conflict | PlanError::Hot(_))
                ) {
                    read = server.file(&ann, name).await;
                }
                let (kind, id) = (&row.kind, &row.id);
                read.map_err(|error| format!("{kind} {id} names {name}: {error}"))?;
            }
        }
        let mut named: Vec<String> = rows.into_iter().flat_map(|row| row.names).collect();
        named.sort();
        named.dedup();
        if self.shelf.names() == named {
            Ok(())
        } else {
            Err(format!("there are {:?}, not {named:?}", self.shelf.names()))
        }
    }

    fn now_seconds(&self) -> i64 {
        self.ground.now_millis() / 1000
    }

    /// Does what the store does with items that have expired, by the clock of the history.
    async fn remove_expired(&self) {
        let items = self.all(&self.table).await;
        self.ground.sweep(&items).await;
    }

    async fn rows(&self) -> Vec<model::Row> {
        let items = self.all(&self.table).await;
        items.iter().filter_map(model::row).collect()
    }

    /// All items of a table.
    async fn all(&self, table: &str) -> Vec<Item> {
        let mut request = Scan::new(table.parse().unwrap());
        request.consistent = true;
        let mut rows = Vec::new();
        loop {
            let page = self.store.scan(request.clone()).await.unwrap();
            let page = page.answer.into_parts().unwrap();
            rows.extend(page.items);
            match page.last_key {
                None => return rows,
                last_key => request.start_after = last_key,
            }
        }
    }
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(START))
}

/// Histories, each with a table of its own, on the stores that they are given.
async fn go_well(store: impl Fn() -> Arc<dyn Store>, seeds: Range<u64>, operations: usize) {
    let (mut accepted, mut crashes) = (0, 0);
    let all = seeds.clone().count() * operations;
    for seed in seeds {
        let table = format!("archive-{seed}");
        let mut history = History::begin(store(), clock(), &table, seed).await;
        if let Err(fault) = history.live(operations).await {
            panic!("seed {seed}: {fault}");
        }
        accepted += history.accepted;
        crashes += history.crashes;
    }
    // One history alone may be a quiet one.
    let is_alone = std::env::var_os("PARTITA_SEED").is_some();
    assert!(
        is_alone || accepted > all / 3,
        "only {accepted} of {all} were accepted"
    );
    assert!(is_alone || crashes > all / 40, "only {crashes} crashes");
}

#[tokio::test]
async fn on_the_model() {
    let is_long = std::env::var_os("PARTITA_LONG").is_some();
    let seed = std::env::var("PARTITA_SEED").ok();
    let seeds = match seed.map(|seed| seed.parse().unwrap()) {
        Some(seed) => seed..seed + 1,
        None if is_long => 0..300,
        None => 0..12,
    };
    go_well(|| Arc::new(ModelStore::default()), seeds, 150).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(stage::engine(folder.path()));
    go_well(|| store.clone(), 0..2, 100).await;
    find_mistakes(|| store.clone(), &DEFECTS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_dynamodb_local() {
    let Some(local) = DynamoDbLocal::start() else {
        return;
    };
    let store = RemoteStore::local(&local.endpoint(), Timeouts::default());
    let store = Arc::new(store);
    go_well(|| store.clone(), 0..2, 80).await;
    find_mistakes(|| store.clone(), &DEFECTS[..3]).await;
}

/// A history with two to five servers on a simulated Amazon. Answers how many operations were
/// accepted, and how many crashes there were.
fn on_amazon(seed: u64, operations: usize, spoil: Option<Spoil>) -> Result<(usize, usize), String> {
    let simulation = Simulation::new(seed, START);
    simulation.run(async {
        let mut history = History::begin_on_amazon(&simulation, seed, spoil).await;
        history.live(operations).await?;
        Ok((history.accepted, history.crashes))
    })
}

/// A sample, or as many histories as `PARTITA_AMAZON` says, from the seed `PARTITA_FROM` on.
#[test]
fn amazon_files() {
    let seeds = seeds_on_amazon(3);
    let (mut accepted, mut crashes, mut failed) = (0, 0, Vec::new());
    for seed in seeds.clone() {
        match on_amazon(seed, 150, None) {
            Ok((more, died)) => {
                accepted += more;
                crashes += died;
            }
            Err(fault) => {
                println!("PARTITA_SEED={seed} replays this one of amazon_files: {fault}");
                failed.push(seed);
            }
        }
    }
    assert!(failed.is_empty(), "these seeds failed: {failed:?}");
    let all = seeds.count();
    println!("{all} histories of files: {accepted} operations accepted, {crashes} crashes");
    assert!(accepted > all * 30, "hardly anything was accepted");
}

/// A mistake, how it is made, and a word of the law that finds it.
const DEFECTS: [(&str, Spoil, &str); 6] = [
    (
        "one owner is not counted",
        Spoil::NotSet("others"),
        "is gone",
    ),
    ("one owner has no row", Spoil::NotPut("OWNER#"), "there are"),
    (
        "a file is not handed over",
        Spoil::NotPut("FILE#files#letters/"),
        "names letters/",
    ),
    (
        "what is released is not due",
        Spoil::NotPut("FILE#DUE"),
        "there are",
    ),
    (
        "files of items that expire are not noted down",
        Spoil::NotPut("#OWNER#"),
        "there are",
    ),
    (
        "owners are changed without a look",
        Spoil::Unconditional("FILE#files#"),
        "",
    ),
];

#[tokio::test]
async fn find_every_planted_mistake() {
    find_mistakes(|| Arc::new(ModelStore::default()), &DEFECTS).await;
}

/// Plants each mistake, in a table of its own for each history.
async fn find_mistakes(store: impl Fn() -> Arc<dyn Store>, defects: &[(&str, Spoil, &str)]) {
    let mut missed = Vec::new();
    for (number, &(mistake, spoil, told)) in defects.iter().enumerate() {
        let mut found = None;
        for seed in 0..24 {
            let clock = clock();
            let table = format!("{SPOILT}-{number}-{seed}");
            let world = World::new(stage::design("archive", &table));
            let witness = Arc::new(Witness::new(store(), world, clock.clone(), Some(spoil)));
            let mut history = History::begin(witness, clock, &table, seed).await;
            let judged = history.live(150).await;
            found = judged.err().filter(|fault| fault.contains(told));
            if found.is_some() {
                break;
            }
        }
        match found {
            Some(_) => {}
            None => missed.push(mistake),
        }
    }
    assert!(missed.is_empty(), "nobody noticed that {missed:?}");
}

/// The same mistakes, where several servers make them.
#[test]
fn amazon_finds_every_planted_mistake() {
    let mut missed = Vec::new();
    for (mistake, spoil, told) in DEFECTS {
        let mut seeds = 0..24;
        let is_found = seeds.any(|seed| {
            let judged = on_amazon(seed, 150, Some(spoil));
            judged.is_err_and(|fault| fault.contains(told))
        });
        if !is_found {
            missed.push(mistake);
        }
    }
    assert!(missed.is_empty(), "nobody noticed that {missed:?}");
}
