//! Items on their way from exports into the tables of a design.
//!
//! Everything that can be refused is refused before anything is written. From then on a mark says
//! that the tables are not whole: no server starts on them, and the same import begins again. In the
//! embedded store nobody else reads or writes the tables meanwhile, so a server can go on.

use std::path::PathBuf;
use std::sync::Arc;

use partita_api::admin::answer::GivenDesign;
use partita_api::admin::{Failure, Installation};
use partita_design::{Design, time};
use partita_engine::{EngineStore, Filling};
use partita_plan::arrival::{Arrival, is_taken_over};
use partita_plan::moving::{Moving, Way};
use partita_plan::{prepare_tables, table_schemas};
use partita_store::request::{DeleteItem, PutItem, ReturnValues};
use partita_store::surroundings::SystemClock;
use partita_store::table::{TableName, TableSchema};
use partita_store::{Clock as _, Store, StoreError};
use partita_transfer::{Export, TransferError, exporting, exports};
use serde::{Deserialize, Serialize};

use crate::copy::{Tables, has_items};

/// Exports that a refusal lists.
const LISTED_MAX: usize = 20;

/// Asks for an import.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Import {
    pub(crate) design: GivenDesign,
    pub(crate) from: PathBuf,
    pub(crate) table: Option<String>,
    /// How the folders of the exports that are meant are called, or their names begin.
    #[serde(default)]
    pub(crate) exports: Vec<String>,
    pub(crate) overwrites: bool,
}

/// How far an import is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) stage: String,
    pub(crate) items: u64,
    pub(crate) of: u64,
}

/// What came from one export.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ImportedTable {
    pub(crate) table: String,
    pub(crate) items: u64,
}

/// Hears how far it is, and ends the work by an error.
pub(crate) type OnStep<'a> = &'a mut (dyn FnMut(Step) -> Result<(), Failure> + Send);

/// Where items arrive.
pub(crate) enum Into {
    Embedded(Arc<EngineStore>),
    Other(Arc<dyn Store>),
}

/// Carries an import out in a server that has the store open, whether it serves the design or not.
pub(crate) async fn carry_out(
    asked: &Import,
    engine: Arc<EngineStore>,
    installation: &Installation,
    on_step: OnStep<'_>,
) -> Result<Vec<ImportedTable>, Failure> {
    let given = asked.design.compile()?;
    let served = installation.served.with_data_of(&given)?;
    let arriving = asked.find(served)?.check(on_step).await?;
    arriving.fill(Into::Embedded(engine), on_step).await
}

impl Import {
    /// What is imported, as a mark names it: the same import has the same.
    fn place(&self) -> String {
        let names = self.exports.iter().map(|name| format!(" --export {name}"));
        let folder = self.from.display().to_string();
        names.fold(folder, |all, name| all + &name)
    }

    /// Finds the exports, and the table that each of them belongs to. A design that is served says
    /// which tables there are, whatever file was named.
    pub(crate) fn find(&self, served: Option<Design>) -> Result<Arriving, Failure> {
        let design = served.map_or_else(|| self.design.compile(), Ok)?;
        let of = Tables::of(&design).map_err(|error| Failure::new(format!("{error:#}")))?;
        let found =
            exports::find(&self.from, &self.exports).map_err(|error| Failure::of(&error))?;
        if self.exports.is_empty() {
            demand_one_moment(&found)?;
        }
        let places = places(&of, &found, self.table.as_deref())?;
        let schemas = table_schemas(&design)?;
        let loads = found.into_iter().zip(places).map(|(export, table)| Load {
            schema: Arc::new(schemas[table].1.clone()),
            table: schemas[table].0.clone(),
            at: table,
            export,
        });
        let mut loads: Vec<Load> = loads.collect();
        // In the order of the design, and the table beside it last, however their folders are called.
        loads.sort_by_key(|load| load.at);
        Ok(Arriving {
            of,
            design,
            loads,
            place: self.place(),
            overwrites: self.overwrites,
            arrival: Arrival::default(),
        })
    }
}

/// Refuses exports that are not of one moment: which of them are meant is not for us to say.
fn demand_one_moment(found: &[Export]) -> Result<(), Failure> {
    let moment = |export: &Export| export.summary.export_time.clone();
    if found
        .windows(2)
        .all(|two| moment(&two[0]) == moment(&two[1]))
    {
        return Ok(());
    }
    Err(several("there are exports of several moments", found))
}

/// A refusal that lists the exports.
fn several(what: &str, found: &[Export]) -> Failure {
    let mut detail = format!(
        "{what}: say with --export which are meant, by their names or how these begin; it may be \
         given more than once"
    );
    for export in found.iter().take(LISTED_MAX) {
        let summary = &export.summary;
        let time = summary.export_time.as_deref().unwrap_or("unknown time");
        let (name, table, items) = (export.name(), summary.table(), summary.item_count);
        detail += &format!("\n  {name}  {time}  {table}, {items} items");
    }
    if found.len() > LISTED_MAX {
        detail += &format!("\n  and {} more", found.len() - LISTED_MAX);
    }
    Failure::new(detail)
}

/// The number of each export's table among those of the design.
fn places(of: &Tables, found: &[Export], table: Option<&str>) -> Result<Vec<usize>, Failure> {
    let position = |name: &str| of.tables.iter().position(|one| one.as_str() == name);
    if let Some(table) = table {
        let Some(at) = position(table) else {
            let detail = format!("`{}` has no table `{table}`", of.design);
            return Err(Failure::new(detail));
        };
        if found.len() != 1 {
            return Err(several("--table is for one export", found));
        }
        return Ok(vec![at]);
    }
    let mut places: Vec<usize> = Vec::new();
    for export in found {
        let name = export.summary.table();
        let Some(at) = position(name) else {
            let tables = of.tables.iter().map(|table| format!("`{table}`"));
            let tables = tables.collect::<Vec<_>>().join(", ");
            let what = format!(
                "there is an export of the table `{name}`, and `{}` has {tables}",
                of.design
            );
            return Err(if found.len() == 1 {
                Failure::new(format!("{what}: say with --table where it goes"))
            } else {
                several(&what, found)
            });
        };
        if places.contains(&at) {
            let what = format!("there are several exports of the table `{name}`");
            return Err(several(&what, found));
        }
        places.push(at);
    }
    Ok(places)
}

/// Exports and the tables that they go to.
pub(crate) struct Arriving {
    of: Tables,
    design: Design,
    loads: Vec<Load>,
    place: String,
    overwrites: bool,
    /// What the rows for the sidecar say.
    arrival: Arrival,
}

/// An export and its table.
struct Load {
    export: Export,
    table: TableName,
    /// Which table of the design it is.
    at: usize,
    schema: Arc<TableSchema>,
}

/// What an import finds in the tables.
struct Found {
    /// Whether an earlier attempt of the same import has begun.
    is_resumed: bool,
}

impl Arriving {
    fn items(&self) -> u64 {
        let counts = self.loads.iter().map(|load| load.export.summary.item_count);
        counts.fold(0, u64::saturating_add)
    }

    /// Reads every export whole, so that whatever is damaged is found before anything is written.
    pub(crate) async fn check(mut self, on_step: OnStep<'_>) -> Result<Arriving, Failure> {
        let mut count = Count::new("checked", self.items());
        for load in &self.loads {
            let is_sidecar = load.table == self.of.sidecar;
            let arrival = &mut self.arrival;
            let mut trouble = None;
            let mut see = |run: &[partita_core::Item]| {
                let mut rows = run.iter().filter(|_| is_sidecar);
                if let Err(error) = rows.try_for_each(|row| arrival.see(row)) {
                    trouble = Some(Failure::from(error));
                    return Err(TransferError::Left);
                }
                count.more(run.len() as u64, on_step)
            };
            let checked = exporting::check(&load.export, &load.schema, &mut see).await;
            if let Some(trouble) = trouble {
                return Err(trouble);
            }
            checked.map_err(|error| Failure::of(&error))?;
        }
        Ok(self)
    }

    /// Fills the tables.
    pub(crate) async fn fill(
        self,
        into: Into,
        on_step: OnStep<'_>,
    ) -> Result<Vec<ImportedTable>, Failure> {
        let engine = match into {
            Into::Embedded(engine) => engine,
            Into::Other(store) => {
                self.demand_free(&store).await?;
                prepare_tables(&self.design, &*store).await?;
                self.mark(&*store, Way::Import).await?;
                return self.write(&*store, on_step).await;
            }
        };
        let (design, place) = (&self.of.design, &self.place);
        let reason = format!(
            "`{design}` is filled from {place}, and nobody reads or writes a part of it: wait for \
             `partita import`, or run the same one again if it was interrupted"
        );
        let filling = Arc::new(engine.fill_tables(&self.of.tables, &reason).await?);
        let store: Arc<dyn Store> = filling.clone();
        let found = self.demand_free(&store).await?;
        prepare_tables(&self.design, &*store).await?;
        filling.close();
        self.begin(&filling, &found).await?;
        let imported = self.write(&*store, on_step).await?;
        filling.open();
        Ok(imported)
    }

    /// Marks tables that nobody reads. Without the mark nothing is written, and they are as before.
    async fn begin(&self, filling: &Filling, found: &Found) -> Result<(), Failure> {
        let marked = self.mark(filling, Way::Import).await;
        if marked.is_err() && !found.is_resumed {
            filling.open();
        }
        marked
    }

    /// Refuses to write over items, unless that was asked for or they are of the same import, and
    /// items that follow another design than what is there.
    async fn demand_free(&self, store: &Arc<dyn Store>) -> Result<Found, Failure> {
        let Tables {
            design,
            tables,
            sidecar,
        } = &self.of;
        // An import that goes on may be asked for with another text of the design.
        let fitting = self
            .arrival
            .demand_fitting(&self.design, sidecar, store.clone());
        fitting.await?;
        match Moving::read(sidecar, store.clone()).await? {
            Some(mark) if mark.way == Way::Import && mark.place == self.place => {
                return Ok(Found { is_resumed: true });
            }
            // What an import has left can be written over by another one.
            Some(mark) if mark.way == Way::Import && self.overwrites => {}
            Some(mark) if mark.way == Way::Beside => {}
            Some(mark) => {
                let detail = format!("`{design}` is not filled: {mark}");
                return Err(Failure::new(detail));
            }
            None => {}
        }
        // What is in the table beside them belongs to items of these.
        for table in tables.iter().filter(|table| *table != sidecar) {
            if !self.overwrites && has_items(&**store, table).await? {
                return Err(Failure::new(format!(
                    "the table `{table}` has items: --overwrite writes over those with the same keys"
                )));
            }
        }
        Ok(Found { is_resumed: false })
    }

    /// Marks the tables, so that no server starts on a part of the items.
    async fn mark(&self, store: &dyn Store, way: Way) -> Result<(), Failure> {
        let mark = Moving {
            way,
            place: self.place.clone(),
            since: time::format_millis(SystemClock.now_millis()),
            waited: false,
        };
        let put = PutItem::new(self.of.sidecar.clone(), mark.item());
        store.put_item(put, ReturnValues::None).await?;
        Ok(())
    }

    /// Writes all items to tables that are marked, and takes the mark away.
    async fn write(
        &self,
        store: &dyn Store,
        on_step: OnStep<'_>,
    ) -> Result<Vec<ImportedTable>, Failure> {
        let mut count = Count::new("imported", self.items());
        let mut imported = Vec::new();
        for load in &self.loads {
            let is_sidecar = load.table == self.of.sidecar;
            let is_wanted = |item: &_| !is_sidecar || is_taken_over(item);
            let mut hear = |items: u64| count.more(items, on_step);
            let (export, table, schema) = (&load.export, &load.table, &load.schema);
            let filled = exporting::fill(export, store, table, schema, is_wanted, &mut hear).await;
            let items = filled.map_err(|error| {
                Failure::of(&error).within(&format!(
                    "the import into `{table}` is not whole, and the same command begins it again"
                ))
            })?;
            let table = table.to_string();
            imported.push(ImportedTable { table, items });
        }
        self.record(store).await?;
        if self.has_outbox() {
            self.mark(store, Way::Beside).await?;
        } else {
            self.unmark(store).await?;
        }
        Ok(imported)
    }

    /// Records the design that was named, unless one is recorded.
    async fn record(&self, store: &dyn Store) -> Result<(), Failure> {
        let now_millis = SystemClock.now_millis();
        let Some(put) = self.arrival.recording(&self.design, now_millis)? else {
            return Ok(());
        };
        match store.put_item(put, ReturnValues::None).await {
            Ok(_) | Err(StoreError::ConditionFailed { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether messages may come that the store of the export delivers, too.
    fn has_outbox(&self) -> bool {
        self.loads.iter().any(|load| load.table == self.of.sidecar)
    }

    async fn unmark(&self, store: &dyn Store) -> Result<(), Failure> {
        let delete = DeleteItem {
            table: self.of.sidecar.clone(),
            key: Moving::key(),
            condition: None,
            return_item_on_failure: false,
        };
        store.delete_item(delete, ReturnValues::None).await?;
        Ok(())
    }
}

/// Items of all exports so far.
struct Count {
    stage: &'static str,
    items: u64,
    of: u64,
}

impl Count {
    fn new(stage: &'static str, of: u64) -> Count {
        Count {
            stage,
            items: 0,
            of,
        }
    }

    fn more(
        &mut self,
        items: u64,
        on_step: &mut dyn FnMut(Step) -> Result<(), Failure>,
    ) -> Result<(), TransferError> {
        self.items += items;
        let step = Step {
            stage: self.stage.to_owned(),
            items: self.items,
            of: self.of,
        };
        on_step(step).map_err(|_| TransferError::Left)
    }
}
