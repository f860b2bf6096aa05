//! Tables written to the files of an export, and filled from them.

use std::path::Path;
use std::sync::Arc;

use partita_core::Item;
use partita_store::request::{BatchWrite, Scan};
use partita_store::table::TableName;
use partita_store::{Entropy, Snapshot, Store};
use tokio::task::spawn_blocking;

use crate::error::TransferError;
use crate::exports::{Begun, Export, ExportWriter, Exported};
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

/// Writes the items of an export to a table, in place of those that have their keys.
pub async fn fill(
    export: &Export,
    store: &dyn Store,
    table: &TableName,
    on_items: OnItems<'_>,
) -> Result<u64, TransferError> {
    let mut runs = export.items();
    let mut written = 0;
    loop {
        let (rest, run) = blocking(move || {
            let run = runs.next().transpose()?;
            Ok((runs, run))
        })
        .await?;
        runs = rest;
        let Some(run) = run else {
            return Ok(written);
        };
        let count = run.len() as u64;
        let puts = run.into_iter().map(|item: Item| BatchWrite::Put {
            table: table.clone(),
            item,
        });
        let done = items::write(store, puts.collect()).await;
        done.map_err(TransferError::Target)?;
        written += count;
        on_items(count)?;
    }
}

/// Holds the files of exports against their manifests.
pub async fn check(exports: Vec<Export>) -> Result<(), TransferError> {
    blocking(move || {
        for export in &exports {
            export.check()?;
        }
        Ok(())
    })
    .await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TransferError> + Send + 'static,
) -> Result<T, TransferError> {
    spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(TransferError::Left))
}
