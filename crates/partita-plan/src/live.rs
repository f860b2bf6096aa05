//! The live design: the one that the stored data follow.
//!
//! It is recorded in the sidecar at the first start, and again whenever another text is adopted.
//! A design that is opened is compared with it. On empty tables every design is adopted. On tables
//! with items a design is adopted if stored data need not follow what changed in it, and refused
//! otherwise, because counts, keys and types of what is stored would be wrong under it.
//!
//! | module | what it holds |
//! |---|---|
//! | `live` | which design is served |
//! | `live::record` | a design as it is stored |

mod record;

use std::collections::BTreeMap;
use std::sync::Arc;

use partita_core::limits::ITEM_BYTES_MAX;
use partita_design::Design;
use partita_design::design::Table;
use partita_design::difference::{Difference, between, between_prints};
use partita_design::fingerprint::{self, Prints};
use partita_design::sidecar::is_name as is_sidecar;
use partita_store::request::{ListTables, Scan};
use partita_store::table::TableName;
use partita_store::{Clock, Store, StoreError};
use tracing::{info, warn};

use crate::commit::run::Runner;
use crate::error::PlanError;
use crate::partita::{Partita, Surroundings, runner};
use crate::sidecar;
pub use record::Recorded;
pub(crate) use record::Written;

/// Why a design is not opened on tables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DesignError {
    /// The stored data follow another design.
    #[error("{}", differs(.table, .recorded, .differences))]
    Differs {
        /// The first table of the design.
        table: String,
        /// The design that they follow.
        recorded: Box<Recorded>,
        /// The declarations that differ and that stored data follow.
        differences: Vec<Difference>,
    },
    /// The tables belong to a design of another name.
    #[error(
        "the table `{table}` belongs to the design `{recorded}`, and this design is called \
         `{given}`: name another table in it, or call it `{recorded}`"
    )]
    OtherName {
        /// The first table of the design.
        table: String,
        /// The name of the design that is recorded.
        recorded: String,
        /// The name of the design that was given.
        given: String,
    },
    /// This version does not accept the recorded text.
    #[error(
        "the data of the table `{table}` follow a design that Partita {} recorded, and this \
         version, {VERSION}, does not accept its text: {reason}; use Partita {} with this data",
        .recorded.by, .recorded.by
    )]
    Unreadable {
        /// The first table of the design.
        table: String,
        /// The design that is recorded.
        recorded: Box<Recorded>,
        /// The first mistake that this version finds in it.
        reason: String,
    },
    /// The text and its prints do not fit into an item.
    #[error(
        "a design is recorded beside its data, in an item of at most 400 KB: this one takes \
         {bytes} bytes; make two designs of it"
    )]
    TooLarge {
        /// The size of the item.
        bytes: usize,
    },
}

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Partita {
    /// The designs that the stored data follow or followed, in their order; the last one is live.
    pub async fn history(&self) -> Result<Vec<Recorded>, PlanError> {
        record::read(&self.blueprint.sidecar, &self.runner).await
    }
}

/// The designs that the data in a design's tables follow or followed, in their order; the last one
/// is live. The design itself need not be one of them.
pub async fn history(design: &Design, store: Arc<dyn Store>) -> Result<Vec<Recorded>, PlanError> {
    let sidecar = sidecar::name(design)?;
    record::read(&sidecar, &runner(store, &Surroundings::default())).await
}

/// The live designs of all data in a store, whether they are served or not, as far as this version
/// can read them.
pub async fn recorded_designs(store: Arc<dyn Store>) -> Result<Vec<Design>, PlanError> {
    let runner = runner(store.clone(), &Surroundings::default());
    let mut designs = Vec::new();
    let mut request = ListTables::default();
    loop {
        let page = store.list_tables(request.clone()).await?;
        for sidecar in page.names.iter().filter(|name| is_sidecar(name.as_str())) {
            match record::read(sidecar, &runner).await {
                Ok(records) => {
                    let live = records.last();
                    designs.extend(live.and_then(|live| live.compile(&live.variables).0));
                }
                Err(error) => warn!(%sidecar, %error, "the design beside this table is not read"),
            }
        }
        match page.last {
            None => return Ok(designs),
            last => request.start_after = last,
        }
    }
}

/// A design that may be served.
pub(crate) struct Settled {
    pub(crate) design: Design,
    /// What is to be recorded, if it is not.
    adoption: Option<Adoption>,
}

/// A design that becomes the live one.
#[derive(Clone, Copy)]
struct Adoption {
    number: u64,
    reason: Reason,
}

/// Why a design becomes the live one, for the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    NewTables,
    EmptyTables,
    /// The items are of version 0.1.0, or of other programs.
    NothingRecorded,
    FreeChanges,
}

impl Settled {
    fn recorded(design: Design) -> Self {
        Settled {
            design,
            adoption: None,
        }
    }

    fn adopted(design: Design, number: u64, reason: Reason) -> Self {
        Settled {
            design,
            adoption: Some(Adoption { number, reason }),
        }
    }
}

/// What a server that starts has seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    /// The number of the live design at the first look; 0 where there was none.
    first: Option<u64>,
}

/// Finds the design that is to be served when one is given. Nothing is written.
pub(crate) async fn settle(
    given: Design,
    runner: &Runner,
    start: &mut Start,
) -> Result<Settled, PlanError> {
    let sidecar = sidecar::name(&given)?;
    let records = record::read(&sidecar, runner).await?;
    let bytes = Recorded::new(&given, 0, 0).bytes();
    if bytes > ITEM_BYTES_MAX {
        return Err(DesignError::TooLarge { bytes }.into());
    }
    // Another server has recorded a design since. It may serve it already, though the tables are
    // empty.
    let number = records.last().map_or(0, |live| live.number);
    let is_overtaken = *start.first.get_or_insert(number) != number;
    let Some((live, earlier)) = records.split_last() else {
        let reason = if has_items(given.tables.iter(), runner).await? {
            Reason::NothingRecorded
        } else {
            Reason::NewTables
        };
        return Ok(Settled::adopted(given, 1, reason));
    };
    if live.design != given.name {
        let error = DesignError::OtherName {
            table: given.tables[0].name.clone(),
            recorded: live.design.clone(),
            given: given.name,
        };
        return Err(error.into());
    }
    if live.is_of(&given) && live.has_prints(&fingerprint::prints(&given)) {
        return Ok(Settled::recorded(given));
    }
    if !is_overtaken && !has_any_items(&given, live, runner).await? {
        return Ok(Settled::adopted(
            given,
            live.number + 1,
            Reason::EmptyTables,
        ));
    }
    beside_items(given, live, earlier)
}

/// Finds the design that is to be served where there are items.
fn beside_items(
    given: Design,
    live: &Recorded,
    earlier: &[Recorded],
) -> Result<Settled, PlanError> {
    let given = if given.origin.is_shipped && given.origin.text != live.text {
        warn!(
            design = given.name,
            "this version of Partita ships another text of the design; the recorded one, of \
             version {}, is used. To compare the new text with it, give it as a file",
            live.by
        );
        again(&given, live, &given.origin.given)?
    } else {
        given
    };
    let prints = fingerprint::prints(&given);
    if live.is_of(&given) && live.has_prints(&prints) {
        return Ok(Settled::recorded(given));
    }
    if earlier.iter().any(|one| one.is_of(&given)) {
        return newer(&given, live);
    }
    let mut differences = differences(&given, &prints, live);
    differences.retain(|difference| !difference.is_free);
    if !differences.is_empty() {
        return Err(refused(&given, live, differences));
    }
    let number = live.number + 1;
    Ok(Settled::adopted(given, number, Reason::FreeChanges))
}

/// The live design, where one is given that was live before. An old server that is started again
/// takes nothing back, so what differs between the two does not matter.
fn newer(given: &Design, live: &Recorded) -> Result<Settled, PlanError> {
    let design = again(given, live, &live.variables)?;
    let prints = fingerprint::prints(&design);
    if live.forms == fingerprint::VERSION && live.prints != prints {
        let differences = between_prints(&live.prints, &prints);
        return Err(refused(&design, live, differences));
    }
    warn!(
        design = given.name,
        "this text was live before, and another one has been adopted since (number {}, {}); the \
         newer one is used. To compare this one with it as a new text, change a comment in it",
        live.number,
        live.adopted
    );
    Ok(Settled::recorded(design))
}

/// The recorded text with the given values of its variables, or else the recorded ones.
fn again(
    given: &Design,
    live: &Recorded,
    variables: &BTreeMap<String, String>,
) -> Result<Design, PlanError> {
    let (design, diagnostics) = live.compile(variables);
    let Some(mut design) = design else {
        let mut mistakes = diagnostics.into_iter();
        let error = DesignError::Unreadable {
            table: given.tables[0].name.clone(),
            recorded: Box::new(live.clone()),
            reason: mistakes.next().map(|one| one.message).unwrap_or_default(),
        };
        return Err(error.into());
    };
    design.origin.is_shipped = given.origin.is_shipped;
    Ok(design)
}

/// What differs from the recorded design. Where this version does not compile its text to what
/// was recorded, only the prints can be compared, and nothing that differs is known to be free.
fn differences(given: &Design, prints: &Prints, live: &Recorded) -> Vec<Difference> {
    let is_current = live.forms == fingerprint::VERSION;
    match live.compile(&live.variables).0 {
        Some(old) if !is_current || fingerprint::prints(&old) == live.prints => {
            between(&old, given)
        }
        _ => {
            let mut differences = between_prints(&live.prints, prints);
            for difference in &mut differences {
                difference.new_line = prints
                    .get(&difference.name)
                    .and_then(|_| given.origin.line(&difference.name));
            }
            differences
        }
    }
}

fn refused(given: &Design, live: &Recorded, differences: Vec<Difference>) -> PlanError {
    let error = DesignError::Differs {
        table: given.tables[0].name.clone(),
        recorded: Box::new(live.clone()),
        differences,
    };
    error.into()
}

/// Records a design that is adopted; one that is recorded already is done.
pub(crate) async fn record(
    settled: &Settled,
    runner: &Runner,
    clock: &dyn Clock,
) -> Result<Written, PlanError> {
    let Some(Adoption { number, reason }) = settled.adoption else {
        return Ok(Written::Done);
    };
    let design = &settled.design;
    let recorded = Recorded::new(design, number, clock.now_millis());
    let sidecar = sidecar::name(design)?;
    let written = record::write(&recorded, &sidecar, runner).await?;
    if written == Written::Done {
        log(&design.name, number, reason);
    }
    Ok(written)
}

fn log(design: &str, number: u64, reason: Reason) {
    match reason {
        Reason::NewTables => info!(design, number, "the design is recorded: the tables are new"),
        Reason::EmptyTables => info!(
            design,
            number, "the design is recorded: the tables are empty"
        ),
        Reason::NothingRecorded => warn!(
            design,
            number,
            "the design is recorded: there are items and no design was recorded, so that they are \
             taken to follow this one; `partita verify` finds what does not"
        ),
        Reason::FreeChanges => info!(
            design,
            number, "the design is recorded: stored items need not follow what has changed"
        ),
    }
}

/// Whether there is anything in the tables of the given design or of the recorded one.
async fn has_any_items(
    given: &Design,
    live: &Recorded,
    runner: &Runner,
) -> Result<bool, PlanError> {
    let (recorded, _) = live.compile(&live.variables);
    let recorded = recorded.as_ref();
    let recorded = recorded.into_iter().flat_map(|design| &design.tables);
    let tables = given.tables.iter().chain(recorded);
    has_items(tables, runner).await
}

/// Whether there is anything in tables.
async fn has_items(
    tables: impl Iterator<Item = &Table>,
    runner: &Runner,
) -> Result<bool, PlanError> {
    for table in tables {
        let scan = Scan {
            limit: Some(1),
            ..Scan::new(table.name.parse::<TableName>()?)
        };
        match runner.scan(&scan).await {
            // A page can end behind an item that it does not show.
            Ok(page) if page.count > 0 || page.last_key.is_some() => return Ok(true),
            Ok(_) | Err(PlanError::Store(StoreError::TableNotFound { .. })) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

fn differs(table: &str, recorded: &Recorded, differences: &[Difference]) -> String {
    let Recorded {
        number,
        adopted,
        by,
        ..
    } = recorded;
    let mut text = format!(
        "the data of the table `{table}` follow the recorded design (number {number}, adopted \
         {adopted} by Partita {by}), and would have to follow what differs in this one:\n"
    );
    for difference in differences {
        text += &format!("  {difference}\n");
    }
    text + "Designs cannot evolve yet: go back to the recorded design, which `partita history \
            DESIGN --show` prints, or name a new table in this one."
}

#[cfg(test)]
mod tests;
