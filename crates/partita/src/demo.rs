//! `partita demo`: a design filled with items that belong together.
//!
//! | module | what it holds |
//! |---|---|
//! | `script` | a demo as text: statements and blocks |
//! | `expression` | values: written down, referred to, drawn |
//! | `draw` | what names stand for, and what is drawn |
//! | `player` | a demo, carried out through the planner |
//!
//! A demo stands as text beside its design: `storyhub.demo` beside `storyhub.toml`. Everything in
//! it is asked for by somebody who may do so, so that rules, counts and notifications are as they
//! would have become.

mod draw;
mod expression;
mod player;
mod script;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use async_trait::async_trait;
use indicatif::ProgressBar;
use partita_api::admin::Failure;
use partita_api::admin::demo::{Demo, Demos, Filled, ShownQuery};
use partita_api::admin::events::Gone;
use partita_core::{Value, printable};
use partita_design::{Design, Occupant, occupant, shipped};
use partita_plan::{Partita, Surroundings};
use partita_store::request::Scan;
use partita_store::surroundings::{ManualClock, SeededEntropy, SystemClock, SystemEntropy};
use partita_store::{Clock as _, Store};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value as Json, json};

use crate::cli::{CheckFormat, DemoFlags};
use crate::door::Door;
use crate::invocation;
use crate::json_text;
use crate::output::print;
use player::{Shown, Stage, play};

/// Where `partita serve` listens unless it is told otherwise.
const SERVER: &str = "http://127.0.0.1:8000";

/// Fills a design, and tells what it is filled with.
pub(crate) async fn run(flags: &DemoFlags) -> Result<ExitCode> {
    let door = Door::to(&flags.door, &flags.place);
    let subject = door.find(&flags.design, &flags.variables)?;
    let (name, script) = find_script(flags)?;
    let demo = Demo {
        name,
        script,
        seed: flags.seed,
    };
    // It draws to standard error, and only if that is a terminal.
    let spinner = ProgressBar::new_spinner().with_message(format!("filling {}", subject.name));
    let filled = door.ask(&subject, demo, &mut |()| spinner.tick()).await;
    spinner.finish_and_clear();
    let told = Told {
        flags,
        design: &subject.name,
        filled: filled?,
    };
    let text = match flags.format {
        CheckFormat::Json => json_text(&told.to_json()),
        CheckFormat::Text => printable::lines(&told.to_text()).into_owned(),
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Plays demos, in a server or in a command of its own.
pub(crate) struct Stages;

#[async_trait]
impl Demos for Stages {
    async fn play(
        &self,
        design: Design,
        store: Arc<dyn Store>,
        demo: &Demo,
        watch: &(dyn Fn() -> Result<(), Gone> + Sync),
    ) -> Result<Filled, Failure> {
        let script = script::parse(&demo.script);
        let filled = match script {
            Ok(script) => fill(&design, &store, &script, demo.seed, watch).await,
            Err(error) => Err(error),
        };
        let filled = filled.with_context(|| demo.name.clone());
        filled.map_err(|error| Failure::new(format!("{error:#}")))
    }
}

/// The demo that was named, the one beside the design, or the shipped one, with its name.
fn find_script(flags: &DemoFlags) -> Result<(String, String)> {
    let path = Path::new(&flags.design);
    let beside = path.is_file().then(|| path.with_extension("demo"));
    if let Some(path) = flags.script.clone().or(beside) {
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read the demo {}", path.display()))?;
        return Ok((path.display().to_string(), text));
    }
    let shipped = shipped::find(&flags.design).context("there is no demo of that name")?;
    Ok((format!("{}.demo", shipped.name), shipped.demo.to_owned()))
}

async fn fill(
    design: &Design,
    store: &Arc<dyn Store>,
    script: &script::Block,
    seed: u64,
    watch: &(dyn Fn() -> Result<(), Gone> + Sync),
) -> Result<Filled> {
    let clock = Arc::new(ManualClock::at(SystemClock.now_millis()));
    let surroundings = Surroundings {
        clock: clock.clone(),
        // The same ids every time. Whoever wants secrets does not want a demo.
        entropy: Arc::new(SeededEntropy::new(seed)),
        ..Surroundings::default()
    };
    let partita = Partita::open_with(design.clone(), store.clone(), surroundings).await?;
    let partita = partita.with_tokens_from(Arc::new(SystemEntropy));
    refuse_if_filled(design, &**store).await?;
    let stage = Stage {
        partita: &partita,
        store: &**store,
        clock: &clock,
        watch: &|| watch().map_err(|gone| Failure::from(gone).into()),
    };
    let shown = play(script, stage, SystemClock.now_millis(), seed).await?;
    Ok(Filled {
        records: count(design, &**store).await?,
        queries: shown.into_iter().map(ShownQuery::from).collect(),
    })
}

/// A demo twice, or among somebody's items, would be neither.
async fn refuse_if_filled(design: &Design, store: &dyn Store) -> Result<()> {
    for table in design.tables.iter() {
        let scan = Scan {
            limit: Some(1),
            ..Scan::new(table.name.parse()?)
        };
        if store.scan(scan).await?.answer.count > 0 {
            bail!(
                "there are items in the table `{}` already, and a demo fills an empty design: \
                 choose another directory with --data",
                table.name
            );
        }
    }
    Ok(())
}

/// How many items there are of each entity and view.
async fn count(design: &Design, store: &dyn Store) -> Result<BTreeMap<String, u64>> {
    let mut records: BTreeMap<String, u64> = BTreeMap::new();
    for table in design.tables.iter() {
        let mut scan = Scan::new(table.name.parse()?);
        loop {
            let page = store.scan(scan.clone()).await?.answer;
            for item in page.items {
                let item = item.into_item()?;
                let part = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
                let (partition, sort) = (part(&table.partition), part(&table.sort));
                let name = match occupant(design, &table.name, partition, sort) {
                    Some(Occupant::Guard { .. }) => "unique values",
                    Some(Occupant::Record { record, .. }) => &record.name,
                    None => "others",
                };
                *records.entry(name.to_owned()).or_default() += 1;
            }
            match page.last_key {
                None => break,
                last => scan.start_after = last,
            }
        }
    }
    Ok(records)
}

impl From<Shown> for ShownQuery {
    fn from(shown: Shown) -> Self {
        ShownQuery {
            pattern: shown.pattern,
            caller: shown.caller.id,
            role: shown.caller.role,
            parameters: shown.parameters,
            rows: shown.rows,
        }
    }
}

/// What is told of a design that was filled.
struct Told<'f> {
    flags: &'f DemoFlags,
    design: &'f str,
    filled: Filled,
}

impl Told<'_> {
    fn to_json(&self) -> Json {
        let queries = self.filled.queries.iter().map(|query| {
            json!({
                "pattern": query.pattern,
                "caller": query.caller,
                "role": query.role,
                "parameters": query.parameters,
                "rows": query.rows,
                "curl": self.curl(query),
            })
        });
        json!({
            "design": self.design,
            "records": self.filled.records,
            "queries": queries.collect::<Vec<_>>(),
        })
    }

    fn to_text(&self) -> String {
        let Told { flags, filled, .. } = self;
        let items: u64 = filled.records.values().sum();
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{items} items in {}", self.design);
        for (name, number) in &filled.records {
            let _ = writeln!(text, "{number:>8} {name}");
        }
        let serve = invocation::serve(&flags.design, &flags.door.secret, &flags.variables);
        let _ = writeln!(text, "\nserve them:\n  {serve}");
        let _ = writeln!(text, "\nand look at them:");
        for query in filled.queries.iter().take(SHOWN_MAX) {
            let _ = writeln!(text, "  {}", self.curl(query));
        }
        if let Some(rest) = filled.queries.len().checked_sub(SHOWN_MAX + 1) {
            let _ = writeln!(text, "\n{} more with --format json", rest + 1);
        }
        text
    }

    /// A command that asks a server on this machine for what is shown.
    fn curl(&self, query: &ShownQuery) -> String {
        let flags = self.flags;
        let mut url = format!("{SERVER}/{}/query/{}", self.design, query.pattern);
        for (at, (name, value)) in query.parameters.iter().enumerate() {
            let before = if at == 0 { '?' } else { '&' };
            let value = utf8_percent_encode(value, NON_ALPHANUMERIC);
            // Writing to a text cannot fail.
            let _ = write!(url, "{before}{name}={value}");
        }
        let token = query.caller.as_ref().map(|user| {
            let (role, secret) = (query.role.as_deref(), &flags.door.secret);
            invocation::token(&flags.design, user, role, secret, &flags.variables)
        });
        invocation::curl(token.as_deref(), &url)
    }
}

/// Examples that are printed.
const SHOWN_MAX: usize = 5;
