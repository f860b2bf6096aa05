//! The live design: the one that the stored data follow.
//!
//! It is recorded in the sidecar at the first start, and again whenever another text is adopted.
//! A design that is opened is compared with it. On empty tables every design is adopted. On tables
//! with items a design is adopted if stored data need not follow what changed in it, and refused
//! otherwise, because counts, keys and types of what is stored would be wrong under it. Where
//! nothing is recorded beside items, nobody knows who wrote them: roles and rules would be read from
//! what a stranger put there. Such tables are taken over by command, not by a start.
//!
//! | module | what it holds |
//! |---|---|
//! | `live` | which design is served |
//! | `live::newcomers` | whether stored items would belong to what is new in a design |
//! | `live::record` | a design as it is stored |

pub(crate) mod newcomers;
pub(crate) mod record;

use std::collections::BTreeMap;
use std::sync::Arc;

use partita_core::limits::ITEM_BYTES_MAX;
use partita_design::Design;
use partita_design::design::Table;
use partita_design::difference::{Change, between, between_prints};
use partita_design::fingerprint;
use partita_design::sidecar::is_name as is_sidecar;
use partita_store::request::{ListTables, Scan};
use partita_store::table::TableName;
use partita_store::{Clock, Store, StoreError};
use tracing::{info, warn};

use crate::blueprint::Blueprint;
use crate::commit::run::Runner;
use crate::error::PlanError;
use crate::migration::{Designs, Migration, Stage, row};
use crate::moving::{self, Moving, Way};
use crate::partita::{Partita, Surroundings, runner};
use crate::sidecar;
use newcomers::Newcomers;
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
        differences: Vec<Change>,
    },
    /// Items are stored already that would belong to what is new in the design.
    #[error("{}", occupied(.table, .recorded, .difference, .key))]
    Occupied {
        /// The table.
        table: String,
        /// The design that the data follow.
        recorded: Box<Recorded>,
        /// The entity or view that is new.
        difference: Box<Change>,
        /// The key of such an item.
        key: (String, String),
    },
    /// There are items, and no design is recorded for them.
    #[error(
        "the table `{table}` has items, and no design is recorded for them: version 0.1.0 wrote them, \
         or another program, or they came over DynamoDB's protocol. `partita adopt DESIGN` reports how \
         far they follow the design `{design}`, and `partita adopt DESIGN --start` takes the table over"
    )]
    NotAdopted {
        /// The first table that has items.
        table: String,
        /// The design that was given.
        design: String,
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
    /// A migration between two other texts is not over.
    #[error(
        "migration {number} of the table `{table}` is not over, it is {}, and this is neither the \
         design that it comes from nor the one that it goes to: complete it with `partita migrate \
         complete`, or take it back with `partita migrate rollback`",
        .stage.word()
    )]
    Migrating {
        /// The first table of the design.
        table: String,
        /// The migration.
        number: u64,
        /// How far it is.
        stage: Stage,
    },
    /// The data is on its way to another store or from one.
    #[error("the design `{design}` is not opened on the table `{table}`: {moving}")]
    Moving {
        /// The design.
        design: String,
        /// The first table of the design.
        table: String,
        /// What a copy has made of it.
        moving: Moving,
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

/// The migration of the data in a design's tables that is not over.
pub async fn running_migration(
    design: &Design,
    store: Arc<dyn Store>,
) -> Result<Option<Migration>, PlanError> {
    let sidecar = sidecar::name(design)?;
    row::open(&sidecar, &runner(store, &Surroundings::default())).await
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
    /// The migration that it is in the middle of.
    amid: Option<Box<(Designs, Migration)>>,
    /// Why it is not the one that was given.
    pub(crate) note: Option<String>,
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
    TakenOver,
    FreeChanges,
}

impl Settled {
    fn recorded(design: Design) -> Self {
        Settled {
            design,
            adoption: None,
            amid: None,
            note: None,
        }
    }

    /// The same, in place of another one for a reason.
    fn because(self, note: Option<String>) -> Self {
        Settled { note, ..self }
    }

    /// Whether the items had no recorded design.
    pub(crate) fn is_taken_over(&self) -> bool {
        let reason = self.adoption.map(|adoption| adoption.reason);
        reason == Some(Reason::TakenOver)
    }

    /// What is planned with.
    pub(crate) fn blueprint(&self) -> Result<Blueprint, PlanError> {
        match self.amid.as_deref() {
            Some((designs, migration)) => designs.blueprint(migration),
            None => Blueprint::new(self.design.clone()),
        }
    }

    fn adopted(design: Design, number: u64, reason: Reason) -> Self {
        Settled {
            design,
            adoption: Some(Adoption { number, reason }),
            amid: None,
            note: None,
        }
    }
}

/// What becomes of items that no design is recorded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unrecorded {
    /// They are looked at as if they followed the given design.
    Looked,
    /// They are refused.
    Refused,
    /// They are taken to follow the given design from now on.
    TakenOver,
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
    unrecorded: Unrecorded,
) -> Result<Settled, PlanError> {
    let sidecar = sidecar::name(&given)?;
    let moving = moving::read(&sidecar, runner).await?;
    if let Some(moving) = moving.filter(|mark| mark.way != Way::Beside) {
        let error = DesignError::Moving {
            table: given.tables[0].name.clone(),
            design: given.name,
            moving,
        };
        return Err(error.into());
    }
    let records = record::read(&sidecar, runner).await?;
    let own = Recorded::new(&given, 0, 0);
    let bytes = own.bytes();
    if bytes > ITEM_BYTES_MAX {
        return Err(DesignError::TooLarge { bytes }.into());
    }
    // Another server has recorded a design since. It may serve it already, though the tables are
    // empty.
    let number = records.last().map_or(0, |live| live.number);
    let is_overtaken = *start.first.get_or_insert(number) != number;
    let Some((live, earlier)) = records.split_last() else {
        let reason = match filled(given.tables.iter(), runner).await? {
            None => Reason::NewTables,
            Some(table) if unrecorded == Unrecorded::Refused => {
                return Err(not_adopted(table, &given));
            }
            Some(_) => Reason::TakenOver,
        };
        return Ok(Settled::adopted(given, 1, reason));
    };
    refuse_other_name(&live.design, &given)?;
    if let Some(migration) = row::open(&sidecar, runner).await? {
        return amid(&given, migration, &records);
    }
    if live.is_of(&given) && live.has_prints(&own.prints) {
        return Ok(Settled::recorded(given));
    }
    if !is_overtaken && !has_any_items(&given, live, runner).await? {
        return Ok(Settled::adopted(
            given,
            live.number + 1,
            Reason::EmptyTables,
        ));
    }
    let settled = beside_items(given, live, earlier)?;
    if settled.adoption.is_some() {
        Newcomers::of(&settled.design, live)
            .refuse_stored(runner)
            .await?;
    }
    Ok(settled)
}

/// Refuses a design where there are items and nothing is recorded.
pub(crate) async fn refuse_unadopted(design: &Design, runner: &Runner) -> Result<(), PlanError> {
    if !record::read(&sidecar::name(design)?, runner)
        .await?
        .is_empty()
    {
        return Ok(());
    }
    let table = filled(design.tables.iter(), runner).await?;
    table.map_or(Ok(()), |table| Err(not_adopted(table, design)))
}

fn not_adopted(table: &Table, design: &Design) -> PlanError {
    let error = DesignError::NotAdopted {
        table: table.name.clone(),
        design: design.name.clone(),
    };
    error.into()
}

/// Refuses a design where the data are of one that has another name.
pub(crate) fn refuse_other_name(recorded: &str, given: &Design) -> Result<(), PlanError> {
    if recorded == given.name {
        return Ok(());
    }
    let error = DesignError::OtherName {
        table: given.tables[0].name.clone(),
        recorded: recorded.to_owned(),
        given: given.name.clone(),
    };
    Err(error.into())
}

/// The design that a migration has come to, whichever of its two designs is given.
fn amid(given: &Design, migration: Migration, records: &[Recorded]) -> Result<Settled, PlanError> {
    let designs = designs_of(&migration, records, &given.origin.given)?;
    let is_of = |one: &Design| one.origin.text == given.origin.text;
    if !given.origin.is_shipped && !is_of(&designs.old) && !is_of(&designs.new) {
        let error = DesignError::Migrating {
            table: given.tables[0].name.clone(),
            number: migration.number,
            stage: migration.stage,
        };
        return Err(error.into());
    }
    let served = designs.served(migration.stage);
    let mut design = served.clone();
    design.origin.is_shipped = given.origin.is_shipped;
    Ok(Settled {
        design,
        adoption: None,
        amid: Some(Box::new((designs, migration))),
        note: None,
    })
}

/// The live design of the tables that a design names; that one itself if none is recorded.
pub(crate) async fn compiled(given: &Design, runner: &Runner) -> Result<Design, PlanError> {
    let records = record::read(&sidecar::name(given)?, runner).await?;
    match records.last() {
        Some(live) => again(given, live, &given.origin.given),
        None => Ok(given.clone()),
    }
}

/// Both designs of a migration, compiled with the given values of variables, or else the recorded
/// ones.
pub(crate) fn designs_of(
    migration: &Migration,
    records: &[Recorded],
    given: &BTreeMap<String, String>,
) -> Result<Designs, PlanError> {
    let unreadable = |what: String| {
        let number = migration.number;
        let message = format!("the {what} design of migration {number} cannot be read");
        PlanError::Store(StoreError::Corrupt { message })
    };
    let old = records.iter().find(|one| one.number == migration.from);
    let old = old.and_then(|old| old.compile(given).0);
    let new = partita_design::check(&migration.text, &|name| {
        let value = given.get(name).or_else(|| migration.variables.get(name));
        value.cloned()
    });
    Designs::new(
        old.ok_or_else(|| unreadable("old".to_owned()))?,
        new.0.ok_or_else(|| unreadable("new".to_owned()))?,
    )
}

/// The designs that are recorded in a sidecar.
pub(crate) async fn recorded_in(
    sidecar: &TableName,
    runner: &Runner,
) -> Result<Vec<Recorded>, PlanError> {
    record::read(sidecar, runner).await
}

/// The live design, if its number is greater than this.
pub(crate) async fn recorded_after(
    number: u64,
    sidecar: &TableName,
    runner: &Runner,
) -> Result<Option<Recorded>, PlanError> {
    record::read_after(number, sidecar, runner).await
}

/// The designs that the data of an open design follow or followed.
pub(crate) async fn recorded(partita: &Partita) -> Result<Vec<Recorded>, PlanError> {
    record::read(&partita.blueprint.sidecar, &partita.runner).await
}

/// Finds the design that is to be served where there are items.
fn beside_items(
    given: Design,
    live: &Recorded,
    earlier: &[Recorded],
) -> Result<Settled, PlanError> {
    let mut note = None;
    let given = if given.origin.is_shipped && given.origin.text != live.text {
        note = Some(format!(
            "this version of Partita ships another text of the design `{}`; the recorded one, of \
             version {}, is used. To compare the new text with it, give it as a file",
            given.name, live.by
        ));
        again(&given, live, &given.origin.given)?
    } else {
        given
    };
    let prints = fingerprint::prints(&given);
    if live.is_of(&given) && live.has_prints(&prints) {
        return Ok(Settled::recorded(given).because(note));
    }
    if earlier.iter().any(|one| one.is_of(&given)) {
        return newer(&given, live);
    }
    let mut differences = differences(&given, live);
    differences.retain(|difference| !difference.is_free());
    if !differences.is_empty() {
        return Err(refused(&given, live, differences));
    }
    let number = live.number + 1;
    Ok(Settled::adopted(given, number, Reason::FreeChanges).because(note))
}

/// The live design, where one is given that was live before. An old server that is started again
/// takes nothing back, so what differs between the two does not matter.
fn newer(given: &Design, live: &Recorded) -> Result<Settled, PlanError> {
    let design = followed(given, live)?;
    let note = format!(
        "this text of the design `{}` was live before, and another one has been adopted since \
         (number {}, {}); the newer one is used. `partita migrate start` makes this one live again",
        given.name, live.number, live.adopted
    );
    Ok(Settled::recorded(design).because(Some(note)))
}

/// The live design as this version compiles it, if that is what was recorded.
pub(crate) fn followed(given: &Design, live: &Recorded) -> Result<Design, PlanError> {
    let design = again(given, live, &live.variables)?;
    if live.forms == fingerprint::VERSION && live.prints != fingerprint::prints(&design) {
        let differences = between_prints(&live.prints, &design);
        return Err(refused(&design, live, differences));
    }
    Ok(design)
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
pub(crate) fn differences(given: &Design, live: &Recorded) -> Vec<Change> {
    let is_current = live.forms == fingerprint::VERSION;
    match live.compile(&live.variables).0 {
        Some(old) if !is_current || fingerprint::prints(&old) == live.prints => {
            between(&old, given)
        }
        _ => between_prints(&live.prints, given),
    }
}

fn refused(given: &Design, live: &Recorded, differences: Vec<Change>) -> PlanError {
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
        Reason::TakenOver => info!(
            design,
            number, "the design is recorded: tables that had no recorded design are taken over"
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
    Ok(filled(tables, runner).await?.is_some())
}

/// The first table that has anything in it.
async fn filled<'t>(
    tables: impl Iterator<Item = &'t Table>,
    runner: &Runner,
) -> Result<Option<&'t Table>, PlanError> {
    for table in tables {
        let scan = Scan {
            limit: Some(1),
            ..Scan::new(table.name.parse::<TableName>()?)
        };
        match runner.scan(&scan).await {
            // A page can end behind an item that it does not show.
            Ok(page) if page.count > 0 || page.last_key.is_some() => return Ok(Some(table)),
            Ok(_) | Err(PlanError::Store(StoreError::TableNotFound { .. })) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn differs(table: &str, recorded: &Recorded, differences: &[Change]) -> String {
    let lines = differences.iter().map(ToString::to_string);
    unfollowed(table, recorded, lines.collect())
}

fn occupied(
    table: &str,
    recorded: &Recorded,
    difference: &Change,
    (partition, sort): &(String, String),
) -> String {
    let line = format!(
        "{difference}: an item with such a key is stored already, `{partition}` `{sort}`, and \
         nothing that is derived from it"
    );
    unfollowed(table, recorded, vec![line])
}

fn unfollowed(table: &str, recorded: &Recorded, lines: Vec<String>) -> String {
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
    for line in lines {
        text += &format!("  {line}\n");
    }
    text + "`partita migrate plan DESIGN` says what can be carried out, `partita migrate start \
            DESIGN` begins it, and `partita serve --migrate` does all of it. `partita history DESIGN \
            --show` prints the recorded design."
}

#[cfg(test)]
mod tests;
