//! Tables written to the files of an export, and filled from them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use partita_core::Item;
use partita_store::request::{BatchWrite, Scan};
use partita_store::table::{TableName, TableSchema};
use partita_store::write::check_put;
use partita_store::{Entropy, Snapshot, Store};
use tokio::task::spawn_blocking;

use crate::error::TransferError;
use crate::exports::{Begun, Export, ExportError, ExportWriter, Exported};
use crate::items;

/// Hears of so many items more, and ends the work by an error.
pub type OnItems<'a> = &'a mut (dyn FnMut(u64) -> Result<(), TransferError> + Send);

/// What is exported: a moment of a store where it has such reads, or what it has page by page.
pub enum Exporting {
    /// All tables as they are at one moment.
    Moment(Arc<dyn Snapshot>),
    /// Each page as it is when it is read.
    Now(Arc<dyn Store>),
}

impl Exporting {
    /// The tables of a store as they are now.
    pub fn of(store: Arc<dyn Store>) -> Exporting {
        match store.snapshot() {
            Some(snapshot) => Exporting::Moment(snapshot),
            None => Exporting::Now(store),
        }
    }

    /// Writes an export of one table into a folder.
    pub async fn write(
        &self,
        table: &TableName,
        into: &Path,
        begun: &Begun,
        ended: impl Fn() -> String,
        entropy: Box<dyn Entropy>,
        on_items: OnItems<'_>,
    ) -> Result<Exported, TransferError> {
        let mut writer = ExportWriter::begin(into, table, begun, entropy)?;
        let mut scan = Scan::new(table.clone());
        loop {
            let page = match self {
                Exporting::Moment(snapshot) => snapshot.scan(scan.clone()).await,
                Exporting::Now(store) => store.scan(scan.clone()).await,
            };
            let page = page.map_err(TransferError::Source)?.answer;
            let count = page.items.len() as u64;
            // Compressing is no work for a thread that others wait for.
            writer = blocking(move || {
                writer.add(&page.items)?;
                Ok(writer)
            })
            .await?;
            on_items(count)?;
            match page.last_key {
                None => break,
                last => scan.start_after = last,
            }
        }
        let ended = ended();
        blocking(move || Ok(writer.finish(ended)?)).await
    }
}

/// Sees items before they are written, and ends the work by an error.
pub type OnRun<'a> = &'a mut (dyn FnMut(&[Item]) -> Result<(), TransferError> + Send);

/// Reads an export whole: its files are what its manifests say, and a table of this schema takes
/// every item.
pub async fn check(
    export: &Export,
    schema: &Arc<TableSchema>,
    on_run: OnRun<'_>,
) -> Result<(), TransferError> {
    let whole = export.clone();
    blocking(move || Ok(whole.check()?)).await?;
    let mut runs = Runs::of(export, schema);
    while let Some(run) = runs.next().await? {
        on_run(&run)?;
    }
    Ok(())
}

/// Writes the items of an export that are wanted to a table, in place of those that have their keys.
pub async fn fill(
    export: &Export,
    store: &dyn Store,
    table: &TableName,
    schema: &Arc<TableSchema>,
    is_wanted: impl Fn(&Item) -> bool + Send,
    on_items: OnItems<'_>,
) -> Result<u64, TransferError> {
    let mut runs = Runs::of(export, schema);
    let mut written = 0;
    while let Some(run) = runs.next().await? {
        let count = run.len() as u64;
        let mut puts = BTreeMap::new();
        // Of two with one key the last one counts, as if they were written one by one.
        for item in run.into_iter().filter(&is_wanted) {
            let key = schema.key.key_of(&item).map_err(TransferError::Target)?;
            puts.insert(key, item);
        }
        let puts = puts.into_values().map(|item| BatchWrite::Put {
            table: table.clone(),
            item,
        });
        let done = items::write(store, puts.collect()).await;
        done.map_err(TransferError::Target)?;
        written += count;
        on_items(count)?;
    }
    Ok(written)
}

/// The items of an export, read by threads that nobody waits for.
struct Runs(Option<Box<dyn Iterator<Item = Result<Vec<Item>, ExportError>> + Send>>);

impl Runs {
    fn of(export: &Export, schema: &Arc<TableSchema>) -> Runs {
        let schema = schema.clone();
        let fits = move |item: &Item| {
            let checked = check_put(&schema, item);
            checked.map(drop).map_err(|error| error.to_string())
        };
        Runs(Some(Box::new(export.items(fits))))
    }

    async fn next(&mut self) -> Result<Option<Vec<Item>>, TransferError> {
        let Some(mut runs) = self.0.take() else {
            return Ok(None);
        };
        let (rest, run) = blocking(move || {
            let run = runs.next().transpose()?;
            Ok((runs, run))
        })
        .await?;
        self.0 = Some(rest);
        Ok(run)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TransferError> + Send + 'static,
) -> Result<T, TransferError> {
    spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(TransferError::Left))
}
