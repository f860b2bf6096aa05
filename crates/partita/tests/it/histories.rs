//! Random operations of concurrent clients on every design, under conflicts, unknown outcomes,
//! crashes and retries.
//!
//! After every history `partita-verify` finds no drift, every unique value has one owner, every
//! number is in its range, coins and credits are where the operations put them, every trigger did
//! what it says exactly once, and no state went where no step leads.
//!
//! | module | what it holds |
//! |---|---|
//! | `world` | what a table holds, as its design names it |
//! | `scene` | what expressions see of it |
//! | `values`, `generator` | operations, made up from a design and from what there is |
//! | `drawn` | designs that are drawn |
//! | `cast` | who takes part |
//! | `prelude`, `history`, `step` | one history from its beginning to its end |
//! | `amazon`, `misuse` | histories with several servers on a simulated Amazon, and mistakes in its use |
//! | `outgoing` | what is scheduled and what leaves, with several servers on a simulated Amazon |
//! | `people` | accounts and sessions, with several servers on a simulated Amazon |
//! | `witness` | a store that sees every commit |
//! | `laws`, `accounts` | what must be so of every commit, and at the end |
//! | `defects` | mistakes that a history must find |
//! | `shorten` | the operations of a failing history that matter |
//!
//! A history is a function of its seed: `PARTITA_SEED=n` runs that one alone. A failing one prints
//! its seed and the operations that are enough for it.

mod accounts;
mod amazon;
pub(crate) mod cast;
pub(crate) mod defects;
pub(crate) mod drawn;
mod generator;
pub(crate) mod history;
mod laws;
mod misuse;
mod outgoing;
mod people;
mod prelude;
mod scene;
mod shorten;
mod step;
mod values;
pub(crate) mod witness;
pub(crate) mod world;

use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use generator::{Kind, Scores};
use history::{Outcome, Plan, Weather};
use partita_design::Design;

use crate::stage;

/// Histories in which a planted mistake must show.
const SEEDS_OF_A_DEFECT: u64 = 32;

/// What Amazon does that no history of operations meets: servers read consistently, and who reads
/// streams and who expires is in `outgoing` and `file_histories`.
const ELSEWHERE: [&str; 5] = [
    "old copies",
    "expired items",
    "late records",
    "repeated records",
    "expired iterators",
];

/// Histories of one design, and what they came to together.
#[derive(Default)]
struct Chronicle {
    scores: Scores,
    covered: BTreeSet<String>,
    injected: u64,
    crashes: u64,
    chunks: u64,
    weather: Weather,
}

impl Chronicle {
    fn add(&mut self, outcome: Outcome) {
        for (kind, score) in outcome.scores {
            self.scores.entry(kind).or_default().add(score);
        }
        self.covered.extend(outcome.covered);
        self.injected += outcome.injected;
        self.crashes += outcome.crashes;
        self.chunks += outcome.chunks;
        for (name, count) in outcome.weather {
            *self.weather.entry(name).or_default() += count;
        }
    }

    /// What a history on Amazon is to go through, and none did.
    fn unseen(&self) -> Vec<&'static str> {
        let weather = self.weather.iter();
        let unseen = weather.filter(|(name, count)| **count == 0 && !ELSEWHERE.contains(name));
        unseen.map(|(name, _)| *name).collect()
    }

    fn tried(&self) -> u64 {
        self.scores.values().map(|score| score.tried).sum()
    }

    fn accepted(&self) -> u64 {
        self.scores.values().map(|score| score.accepted).sum()
    }

    fn share(&self) -> f64 {
        self.accepted() as f64 / self.tried() as f64
    }

    /// The parts of a design that no history came to.
    fn missing(&self, design: &Design) -> Vec<String> {
        let entities = design.entities().map(|one| format!("entity.{}", one.name));
        let views = design.views().map(|(one, _)| format!("view.{}", one.name));
        let triggers = design
            .triggers
            .iter()
            .map(|one| format!("trigger.{}", one.name));
        let is_covered = |part: &String| self.covered.contains(part);
        let parts = entities.chain(views).chain(triggers);
        let mut missing: Vec<_> = parts.filter(|part| !is_covered(part)).collect();
        let was_accepted = |action: &str| {
            let of = |kind: &Kind| matches!(kind, Kind::Act(name, _) if name == action);
            let mut scores = self.scores.iter().filter(|(kind, _)| of(kind));
            scores.any(|(_, score)| score.accepted > 0)
        };
        let actions = design.actions.iter().filter(|one| !was_accepted(&one.name));
        missing.extend(actions.map(|one| format!("action.{}", one.name)));
        missing
    }

    /// How the operations ended, kind by kind, with what most of the others were refused for.
    fn summary(&self, design: &str) -> String {
        let (tried, accepted) = (self.tried(), self.accepted());
        let share = self.share();
        let Chronicle {
            injected,
            crashes,
            chunks,
            ..
        } = self;
        let mut lines = vec![format!(
            "{design}: {accepted} of {tried} accepted ({share:.2}), {injected} faults, \
             {crashes} crashes, {chunks} chunks of jobs"
        )];
        let weather = self.weather.iter();
        let weather: Vec<_> = weather
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        lines.push(format!("  {}", weather.join(", ")));
        for (kind, score) in &self.scores {
            let most = score.refusals.iter().max_by_key(|(_, count)| **count);
            let most = most.map(|(refusal, count)| format!("; {count} times: {refusal}"));
            let most = most.unwrap_or_default();
            lines.push(format!(
                "  {kind}: {} of {}{most}",
                score.accepted, score.tried
            ));
        }
        lines.join("\n")
    }
}

/// Histories of a design, each judged by itself.
fn histories(design: &'static str, seeds: Range<u64>, operations: usize) -> Chronicle {
    let mut chronicle = Chronicle::default();
    for seed in seeds {
        let plan = Plan {
            design,
            text: None,
            seed,
            operations,
            has_crowds: seed % 4 == 1,
            has_crashes: true,
            spoil: None,
            focus: &[],
            script: None,
        };
        let outcome = history::run(&plan);
        assert!(
            outcome.faults.is_empty(),
            "{}",
            shorten::told(&plan, outcome)
        );
        chronicle.add(outcome);
    }
    chronicle
}

/// What every design is held to: a sample, or ten thousand operations with `PARTITA_LONG`.
fn stays_right(design: &'static str) -> String {
    let is_long = std::env::var_os("PARTITA_LONG").is_some();
    let seed = std::env::var("PARTITA_SEED").ok();
    let seed: Option<u64> = seed.map(|seed| seed.parse().unwrap());
    let (operations, count) = if is_long { (500, 20) } else { (180, 2) };
    let seeds = seed.map_or(0..count, |seed| seed..seed + 1);
    let chronicle = histories(design, seeds, operations);
    let summary = chronicle.summary(design);
    assert!(chronicle.share() > 0.6, "too many were refused: {summary}");
    assert!(chronicle.injected > 20, "{design}: hardly any faults");
    assert!(chronicle.crashes > 2, "{design}: hardly any crashes");
    if is_long && seed.is_none() {
        let missing = chronicle.missing(&stage::design(design, design));
        assert!(missing.is_empty(), "{missing:?} never took part: {summary}");
    }
    summary
}

macro_rules! designs {
    ($($design:ident)*) => {$(
        #[test]
        fn $design() {
            println!("{}", stays_right(stringify!($design)));
        }
    )*};
}

designs! { stories storyhub mediahub holdthatthought figureforge helpdesk clubs }

/// Designs that nobody wrote, each with a history of its own.
#[test]
fn drawn_designs() {
    let is_long = std::env::var_os("PARTITA_LONG").is_some();
    let seed = std::env::var("PARTITA_SEED").ok();
    let seed: Option<u64> = seed.map(|seed| seed.parse().unwrap());
    let count = if is_long { 2_000 } else { 30 };
    let seeds = seed.map_or(0..count, |seed| seed..seed + 1);
    let mut chronicle = Chronicle::default();
    let mut broken = Vec::new();
    for seed in seeds {
        let text: Arc<str> = drawn::design(seed).into();
        let plan = Plan {
            design: "drawn",
            text: Some(text.clone()),
            seed,
            operations: 120,
            has_crowds: false,
            has_crashes: seed % 2 == 0,
            spoil: None,
            focus: &[],
            script: None,
        };
        let outcome = history::run(&plan);
        if outcome.faults.is_empty() {
            chronicle.add(outcome);
        } else {
            broken.push(format!("{text}\n{}", shorten::told(&plan, outcome)));
        }
    }
    assert!(
        broken.is_empty(),
        "{} broken:\n{}",
        broken.len(),
        broken.join("\n\n")
    );
    println!("{}", chronicle.summary("drawn"));
}

/// Every planted mistake is found by some history, and for what it is.
#[test]
fn find_every_planted_mistake() {
    let mut missed = Vec::new();
    for defect in defects::DEFECTS {
        let found = (0..SEEDS_OF_A_DEFECT).find_map(|seed| {
            let plan = Plan {
                design: defect.design,
                text: None,
                seed,
                operations: defect.operations,
                has_crowds: defect.has_crowds,
                has_crashes: true,
                spoil: Some(defect.spoil),
                focus: defect.focus,
                script: None,
            };
            let mut faults = history::run(&plan).faults.into_iter();
            let fault = faults.find(|fault| fault.contains(defect.told))?;
            Some((seed, fault))
        });
        let mistake = defect.mistake;
        match found {
            Some((seed, fault)) => println!("{mistake}: seed {seed}: {fault}"),
            None => missed.push(mistake),
        }
    }
    assert!(missed.is_empty(), "nobody noticed that {missed:?}");
}

/// The mistakes that a store of another kind must show as well: those of one design.
fn finds_mistakes(design: &'static str, store: &std::sync::Arc<dyn partita_store::Store>) {
    let plan = |seed, spoil, operations, focus| Plan {
        design,
        text: None,
        seed,
        operations,
        has_crowds: false,
        has_crashes: false,
        spoil,
        focus,
        script: None,
    };
    for seed in 0..2 {
        let table = format!("{design}-{seed}");
        let outcome = history::run_on(&plan(seed, None, 90, &[]), &table, store.clone());
        assert!(outcome.faults.is_empty(), "{seed}: {:#?}", outcome.faults);
    }
    let defects = defects::DEFECTS.iter().enumerate();
    for (number, defect) in defects.filter(|(_, one)| one.design == design) {
        let is_found = (0..SEEDS_OF_A_DEFECT).any(|seed| {
            let table = format!("{design}-{number}-{seed}");
            let plan = plan(seed, Some(defect.spoil), 90, defect.focus);
            let mut faults = history::run_on(&plan, &table, store.clone())
                .faults
                .into_iter();
            faults.any(|fault| fault.contains(defect.told))
        });
        assert!(is_found, "nobody noticed that {}", defect.mistake);
    }
}

#[test]
fn on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let store: std::sync::Arc<dyn partita_store::Store> =
        std::sync::Arc::new(stage::engine(folder.path()));
    finds_mistakes("clubs", &store);
}

#[test]
fn on_dynamodb_local() {
    let Some(local) = partita_testkit::dynamodb_local::DynamoDbLocal::start() else {
        return;
    };
    let timeouts = partita_remote::Timeouts::default();
    let store: std::sync::Arc<dyn partita_store::Store> = std::sync::Arc::new(
        partita_remote::RemoteStore::local(&local.endpoint(), timeouts),
    );
    finds_mistakes("clubs", &store);
}

/// The plan of a history on the simulated Amazon.
fn plan_on_amazon(design: &'static str, seed: u64, operations: usize) -> Plan {
    Plan {
        design,
        text: None,
        seed,
        operations,
        has_crowds: false,
        has_crashes: true,
        spoil: None,
        focus: &[],
        script: None,
    }
}

/// The seeds of histories on a simulated Amazon: a sample, or as many as `PARTITA_AMAZON` says, from
/// `PARTITA_FROM` on. `PARTITA_SEED` replays one.
pub(crate) fn seeds_on_amazon(sample: u64) -> Range<u64> {
    let number = |name: &str| {
        let text = std::env::var(name).ok();
        text.map(|text| text.parse::<u64>().unwrap())
    };
    let from = number("PARTITA_FROM").unwrap_or(0);
    match number("PARTITA_SEED") {
        Some(seed) => seed..seed + 1,
        None => from..from + number("PARTITA_AMAZON").unwrap_or(sample),
    }
}

/// Histories of a design with two to five servers on a simulated Amazon.
///
/// One that fails is told with the command that replays it, and the others go on.
fn stays_right_on_amazon(design: &'static str, tell: impl Fn(String)) -> String {
    let is_long = std::env::var_os("PARTITA_AMAZON").is_some();
    let seeds = seeds_on_amazon(1);
    let operations = if is_long { 200 } else { 60 };
    let mut chronicle = Chronicle::default();
    let mut failed = Vec::new();
    for seed in seeds.clone() {
        let servers = 2 + (seed % 4) as usize;
        let plan = Plan {
            has_crowds: is_long && seed % 8 == 3,
            ..plan_on_amazon(design, seed, operations)
        };
        let run = AssertUnwindSafe(|| amazon::run(&plan, servers, None));
        let outcome = catch_unwind(run).unwrap_or_else(|_| Outcome {
            faults: vec!["it panicked".to_owned()],
            ..Outcome::default()
        });
        if !outcome.faults.is_empty() {
            let faults = &outcome.faults;
            let command = replay(design, seed);
            tell(format!(
                "{design} with {servers} servers: {faults:#?}\n{command}"
            ));
            failed.push(seed);
        }
        chronicle.add(outcome);
        let done = seed + 1 - seeds.start;
        if done.is_multiple_of(100) {
            let (tried, bad) = (chronicle.tried(), failed.len());
            tell(format!(
                "{design} on Amazon: {done} histories, {tried} operations, {bad} failed"
            ));
        }
    }
    let commands: Vec<_> = failed.iter().map(|seed| replay(design, *seed)).collect();
    assert!(failed.is_empty(), "{}", commands.join("\n"));
    let Range { start, end } = seeds;
    chronicle.summary(&format!("{design} on Amazon, seeds {start} to {}", end - 1))
}

/// Designs that nobody wrote, with two to five servers there: every part of the language where the
/// finders of what follows go by indexes that are behind.
#[test]
fn amazon_drawn_designs() {
    let mut chronicle = Chronicle::default();
    let mut failed = Vec::new();
    for seed in seeds_on_amazon(3) {
        let text: Arc<str> = drawn::design(seed).into();
        let plan = Plan {
            text: Some(text.clone()),
            ..plan_on_amazon("drawn", seed, 120)
        };
        let servers = 2 + (seed % 4) as usize;
        let outcome = amazon::run(&plan, servers, None);
        if !outcome.faults.is_empty() {
            println!("{text}\nPARTITA_SEED={seed}: {:#?}", outcome.faults);
            failed.push(seed);
        }
        chronicle.add(outcome);
    }
    assert!(failed.is_empty(), "these seeds failed: {failed:?}");
    println!("{}", chronicle.summary("drawn on Amazon"));
}

/// A limit holds, whichever server counts. Histories of everything seldom reach one.
#[test]
fn amazon_limits() {
    let mut reached = 0;
    for seed in seeds_on_amazon(1) {
        let plan = Plan {
            focus: &["create Comment"],
            ..plan_on_amazon("holdthatthought", seed, 420)
        };
        let outcome = amazon::run(&plan, 2 + (seed % 4) as usize, None);
        let faults = outcome.faults;
        assert!(faults.is_empty(), "PARTITA_SEED={seed}: {faults:#?}");
        let refusals = outcome.scores.values().flat_map(|score| &score.refusals);
        let of_limits = refusals.filter(|(refusal, _)| refusal.contains("times in"));
        reached += of_limits.map(|(_, count)| count).sum::<u64>();
    }
    println!("{reached} operations were refused by a limit");
    assert!(reached > 0);
}

/// Nothing that is documented of Amazon is only there to be switched on: histories meet all of it.
#[test]
fn amazon_does_to_them_what_it_documents() {
    let designs = ["mediahub", "helpdesk", "holdthatthought"];
    let mut chronicle = Chronicle::default();
    let mut seed = 0;
    while seed < 30 && (seed == 0 || !chronicle.unseen().is_empty()) {
        let design = designs[seed as usize % designs.len()];
        let outcome = amazon::run(&plan_on_amazon(design, seed, 60), 3, None);
        assert!(outcome.faults.is_empty(), "{design}: {:#?}", outcome.faults);
        chronicle.add(outcome);
        seed += 1;
    }
    let summary = chronicle.summary("some designs on Amazon");
    let unseen = chronicle.unseen();
    assert!(unseen.is_empty(), "{unseen:?} never happened: {summary}");
    println!("{seed} histories: {:?}", chronicle.weather);
}

/// The command that replays a long history on Amazon.
fn replay(design: &str, seed: u64) -> String {
    format!(
        "PARTITA_AMAZON=1 PARTITA_SEED={seed} cargo test --release --workspace --all-features \
         --locked --test it histories::amazon_{design} -- --nocapture"
    )
}

macro_rules! designs_on_amazon {
    ($($name:ident $design:ident)*) => {$(
        #[test]
        fn $name() {
            let tell = |line| println!("{line}");
            tell(stays_right_on_amazon(stringify!($design), tell));
        }
    )*};
}

designs_on_amazon! {
    amazon_stories stories
    amazon_storyhub storyhub
    amazon_mediahub mediahub
    amazon_holdthatthought holdthatthought
    amazon_figureforge figureforge
    amazon_helpdesk helpdesk
    amazon_clubs clubs
}

/// Every mistake in the use of Amazon is found by a history with several servers; with
/// `PARTITA_AMAZON` some of a planner's are looked for, too.
#[test]
fn amazon_finds_every_planted_mistake() {
    let mut missed = Vec::new();
    for (misuse, design, focus, has_crowds) in misuse::MISUSES {
        let found = (0..SEEDS_OF_A_DEFECT).find_map(|seed| {
            let plan = Plan {
                focus,
                has_crowds: *has_crowds,
                ..plan_on_amazon(design, seed, 90)
            };
            amazon::run(&plan, 3, Some(*misuse))
                .faults
                .into_iter()
                .next()
        });
        match found {
            Some(fault) => println!("{misuse:?}: {fault}"),
            None => missed.push(format!("{misuse:?}")),
        }
    }
    let is_long = std::env::var_os("PARTITA_AMAZON").is_some();
    let on_amazon = |one: &&defects::Defect| is_long && defects::ON_AMAZON.contains(&one.mistake);
    for defect in defects::DEFECTS.iter().filter(on_amazon) {
        let found = (0..SEEDS_OF_A_DEFECT).any(|seed| {
            let plan = Plan {
                spoil: Some(defect.spoil),
                focus: defect.focus,
                ..plan_on_amazon(defect.design, seed, defect.operations.max(120))
            };
            let faults = amazon::run(&plan, 3, None).faults;
            faults.iter().any(|fault| fault.contains(defect.told))
        });
        if !found {
            missed.push(defect.mistake.to_owned());
        }
    }
    assert!(missed.is_empty(), "nobody noticed {missed:?}");
}
