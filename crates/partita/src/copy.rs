//! `partita copy`: the data of a design in another store.
//!
//! A server that has the source open carries it out, because it alone knows what is written meanwhile;
//! or else the server that has the target open; without one this process does.
//!
//! | module | what it holds |
//! |---|---|
//! | `copy` | the command, and a copy that is carried out |
//! | `copy::arriving` | a copy into the store of a running server |
//! | `copy::inherited` | what a copy has of its source beside the tables |
//! | `copy::reopening` | a switch that is taken back |

pub(crate) mod arriving;
mod inherited;
pub(crate) mod reopening;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use partita_api::admin::Failure;
use partita_design::{Design, sidecar, time};
use partita_plan::moving::{self, Moving, Way};
use partita_store::surroundings::SystemClock;
use partita_store::table::TableName;
use partita_store::{Clock as _, Store};
use partita_transfer::{Copying, Marks, Progress, Stage, TransferError};
use serde::{Deserialize, Serialize};

use crate::cli::{CheckFormat, CopyFlags};
use crate::operator::{self, Reached};
use crate::output::print;
use crate::source::Source;
use crate::{json_text, store};
use reopening::Reopen;

/// What the command is called over the socket.
pub(crate) const NAME: &str = "copy";

/// A store, as another process of this machine understands it too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Place {
    Directory(PathBuf),
    Dynamodb {
        endpoint: Option<String>,
        region: Option<String>,
    },
}

impl Place {
    fn new(text: &str, flags: &CopyFlags) -> Result<Place> {
        if text == "dynamodb" {
            return Ok(Place::Dynamodb {
                endpoint: flags.endpoint.clone(),
                region: flags.region.clone(),
            });
        }
        if text.contains("://") {
            bail!("`{text}` is no store: name a data directory, or `dynamodb` with --endpoint");
        }
        let path = std::path::absolute(text)?;
        Ok(Place::Directory(path.canonicalize().unwrap_or(path)))
    }

    /// What people call it.
    pub(super) fn name(&self) -> String {
        match self {
            Place::Directory(path) => path.display().to_string(),
            Place::Dynamodb {
                endpoint: Some(endpoint),
                ..
            } => format!("DynamoDB at {endpoint}"),
            Place::Dynamodb {
                region: Some(region),
                ..
            } => format!("DynamoDB in {region}"),
            Place::Dynamodb { .. } => "Amazon DynamoDB".to_owned(),
        }
    }

    /// Whether it is what a mark names. A directory that did not exist yet may have been named by a
    /// path with links in it.
    fn is_called(&self, name: &str) -> bool {
        let is_path = |path: &PathBuf| {
            let named = PathBuf::from(name).canonicalize();
            named.is_ok_and(|named| named == *path)
        };
        self.name() == name || matches!(self, Place::Directory(path) if is_path(path))
    }

    /// The store there, which is created if it is a directory without one.
    pub(super) async fn fill(&self) -> Result<Arc<dyn Store>> {
        match self {
            Place::Directory(path) => {
                let opened = store::fill_embedded(path);
                let opened = opened.with_context(|| {
                    format!("the target is opened by the copy alone: {}", self.name())
                });
                Ok(opened?)
            }
            Place::Dynamodb { endpoint, region } => {
                store::connect(endpoint.clone(), region.clone(), Duration::ZERO).await
            }
        }
    }
}

/// The tables of a design.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tables {
    pub(crate) design: String,
    /// Those of the design, and the one beside them.
    pub(crate) tables: Vec<TableName>,
    pub(crate) sidecar: TableName,
}

impl Tables {
    pub(crate) fn of(design: &Design) -> Result<Tables> {
        let sidecar: TableName = sidecar::name(design).parse()?;
        let names = design.tables.iter().map(|table| table.name.parse());
        let mut tables = names.collect::<Result<Vec<TableName>, _>>()?;
        tables.push(sidecar.clone());
        Ok(Tables {
            design: design.name.clone(),
            tables,
            sidecar,
        })
    }
}

/// Asks for a copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Copy {
    of: Tables,
    from: Place,
    to: Place,
    switches: bool,
    replaces: bool,
}

/// How far a copy is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Step {
    stage: String,
    items: u64,
    of: u64,
}

impl From<Progress> for Step {
    fn from(progress: Progress) -> Step {
        let stage = match progress.stage {
            Stage::Filling => "copied",
            Stage::Comparing => "compared",
            Stage::Switching => "switching",
        };
        Step {
            stage: stage.to_owned(),
            items: progress.items,
            of: progress.of,
        }
    }
}

/// What a copy came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Copied {
    design: String,
    from: String,
    to: String,
    items: u64,
    written: u64,
    comparisons: u32,
    /// The commit of the embedded source that the target is equal to.
    commit: Option<u64>,
    switch_millis: Option<i64>,
    /// Whether mails, events and schedules of the copy wait for the operator.
    waits: bool,
}

/// Copies, or takes a switch back.
pub(crate) async fn run(flags: &CopyFlags) -> Result<ExitCode> {
    let design = Source::find(&flags.design)?.compile(&flags.variables)?;
    let of = Tables::of(&design)?;
    let from = Place::new(&flags.from, flags)?;
    let to = flags.to.as_deref().map(|to| Place::new(to, flags));
    let to = to.transpose()?;
    if flags.reopen {
        return reopening::run(Reopen { of, from, to }).await;
    }
    let Some(to) = to else {
        bail!("a copy goes to a store: name it with --to");
    };
    if from == to {
        bail!(
            "a copy goes from one store to another, and both are {}",
            to.name()
        );
    }
    let copy = Copy {
        of,
        from,
        to,
        switches: flags.switch,
        replaces: flags.replace,
    };
    let bar = ProgressBar::new(0);
    bar.set_style(ProgressStyle::with_template(
        "{bar:30} {pos} of {len} items {msg}",
    )?);
    let mut show = |step: Step| {
        bar.set_length(step.of);
        bar.set_position(step.items);
        bar.set_message(step.stage);
    };
    let copied = reach(&copy, &mut show).await?;
    bar.finish_and_clear();
    let text = match flags.format {
        CheckFormat::Json => json_text(&serde_json::to_value(&copied)?),
        CheckFormat::Text => copied.text(&copy, &design),
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

impl Copied {
    fn text(&self, copy: &Copy, design: &Design) -> String {
        let Copied {
            design: name,
            from,
            to,
            items,
            written,
            ..
        } = self;
        let commit = self.commit;
        let commit = commit.map_or_else(String::new, |commit| format!(", as of commit {commit}"));
        let mut text = format!(
            "{name}: {items} items of {from} are in {to}{commit}; {written} writes, compared {}\n",
            match self.comparisons {
                1 => "once".to_owned(),
                times => format!("{times} times"),
            }
        );
        let Some(millis) = self.switch_millis else {
            text += "both can be used, and are no longer kept equal\n";
            return text + &self.told_of_waiting();
        };
        text +=
            &format!("{from} takes no more writes of {name}: nobody could write for {millis} ms\n");
        text += &match &copy.to {
            Place::Directory(path) => format!("serve it with --data {}\n", path.display()),
            Place::Dynamodb { endpoint, .. } => {
                let endpoint = endpoint.as_ref();
                let endpoint =
                    endpoint.map_or_else(String::new, |url| format!(" --endpoint {url}"));
                format!(
                    "serve it with --store dynamodb{endpoint}, and the --data of before: the secret stays there\n"
                )
            }
        };
        if !design.buckets.is_empty() {
            text += "the files of its buckets stay where they are: move a directory of files by hand if --data is another\n";
        }
        text + &self.told_of_waiting()
    }

    fn told_of_waiting(&self) -> String {
        if !self.waits {
            return String::new();
        }
        format!(
            "mails, events and schedules of the copy wait until `partita outbox {} resume` there\n",
            self.design
        )
    }
}

/// Has the copy carried out by the server that has one of the two stores open, or carries it out here.
async fn reach(copy: &Copy, show: &mut (dyn FnMut(Step) + Send)) -> Result<Copied> {
    if let Some(copied) = arriving::ask(copy, show).await? {
        return Ok(copied);
    }
    let data = match &copy.from {
        Place::Dynamodb { .. } => {
            let source = partita_transfer::Source::Other(copy.from.fill().await?);
            return Ok(carry_out(copy, source, |step| {
                show(step);
                Ok(())
            })
            .await?);
        }
        Place::Directory(data) => data,
    };
    let open = || store::look_embedded(data);
    let source = match operator::reach(data, NAME, copy, show, open).await? {
        Reached::Asked(copied) => return Ok(copied),
        Reached::Opened(engine) => partita_transfer::Source::Embedded(engine),
    };
    let copied = carry_out(copy, source, |step| {
        show(step);
        Ok(())
    });
    Ok(copied.await?)
}

/// Carries a copy out from a source that this process has open.
pub(crate) async fn carry_out(
    copy: &Copy,
    source: partita_transfer::Source,
    on_step: impl FnMut(Step) -> Result<(), Failure> + Send,
) -> Result<Copied, Failure> {
    let failed = |error: anyhow::Error| Failure::new(format!("{error:#}"));
    inherited::keep_era(copy).map_err(failed)?;
    let target = copy.to.fill().await.map_err(failed)?;
    demand_free(copy, source.store(), target.clone()).await?;
    fill(copy, source, target, on_step).await
}

/// Copies into tables that are free for it.
async fn fill(
    copy: &Copy,
    source: partita_transfer::Source,
    target: Arc<dyn Store>,
    mut on_step: impl FnMut(Step) -> Result<(), Failure> + Send,
) -> Result<Copied, Failure> {
    let waiting = inherited::waiting(copy, source.store()).await?;
    let clock = Arc::new(SystemClock);
    let since = time::format_millis(clock.now_millis());
    let mark = |way, place: &Place| {
        let place = place.name();
        let since = since.clone();
        Moving {
            way,
            place,
            since,
            waited: false,
        }
    };
    let gone = Moving {
        waited: waiting.is_some(),
        ..mark(Way::Out, &copy.to)
    };
    let whole = if copy.switches {
        waiting
    } else {
        Some(mark(Way::Beside, &copy.from))
    };
    let waits = whole.is_some();
    let before = Moving::read(&copy.of.sidecar, source.store()).await?;
    let before = before.filter(|mark| mark.way == Way::Beside);
    let copying = Copying {
        source,
        target,
        tables: copy.of.tables.clone(),
        marks: Marks {
            table: copy.of.sidecar.clone(),
            key: Moving::key(),
            arriving: mark(Way::In, &copy.from).item(),
            gone: gone.item(),
            before: before.as_ref().map(Moving::item),
            whole: whole.as_ref().map(Moving::item),
        },
        switches: copy.switches,
        reason: format!("`{}` takes no writes here: {gone}", copy.of.design),
        clock,
    };
    let mut step = |progress: Progress| {
        let told = on_step(progress.into());
        told.map_err(|_| TransferError::Left)
    };
    let copied = copying.carry_out(&mut step).await;
    let copied = copied.map_err(|error| Failure::of(&error))?;
    Ok(Copied {
        design: copy.of.design.clone(),
        from: copy.from.name(),
        to: copy.to.name(),
        items: copied.items,
        written: copied.written,
        comparisons: copied.rounds,
        commit: copied.commit,
        switch_millis: copied.switch_millis,
        waits,
    })
}

/// Refuses what would write over items that are not those of this copy.
async fn demand_free(
    copy: &Copy,
    source: Arc<dyn Store>,
    target: Arc<dyn Store>,
) -> Result<(), Failure> {
    let Tables {
        design, sidecar, ..
    } = &copy.of;
    let (from, to) = (copy.from.name(), copy.to.name());
    let settled = moving::demand_settled(design, sidecar, source.clone()).await;
    settled.map_err(|error| Failure::from(error).within(&from))?;
    let arrives = Moving::read(sidecar, target.clone()).await?;
    let is_resumed = arrives
        .as_ref()
        .is_some_and(|mark| mark.way == Way::In && mark.place == from);
    match Moving::read(sidecar, source).await? {
        Some(mark) if matches!(mark.way, Way::In | Way::Import) => {
            return Err(Failure::new(format!("{from} cannot be copied: {mark}")));
        }
        Some(mark) if mark.way == Way::Out && !is_resumed => {
            return Err(Failure::new(format!("{from} cannot be copied: {mark}")));
        }
        _ => {}
    }
    if is_resumed || copy.replaces {
        return Ok(());
    }
    if let Some(mark) = arrives {
        let detail =
            format!("{to} has tables of `{design}`: {mark}. --replace makes them equal to {from}");
        return Err(Failure::new(detail));
    }
    for table in &copy.of.tables {
        if has_items(&*target, table).await? {
            return Err(Failure::new(format!(
                "the table `{table}` of {to} has items: --replace makes it equal to {from}, and removes what is not there"
            )));
        }
    }
    Ok(())
}

pub(crate) async fn has_items(store: &dyn Store, table: &TableName) -> Result<bool, Failure> {
    let mut scan = partita_store::request::Scan::new(table.clone());
    scan.limit = Some(1);
    match store.scan(scan).await {
        Err(partita_store::StoreError::TableNotFound { .. }) => Ok(false),
        page => Ok(!page?.answer.items.is_empty()),
    }
}
