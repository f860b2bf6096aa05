//! A store that is there: opened to look at it, and never made.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use partita_engine::{EngineError, EngineStore, Options, Upkeep};
use partita_store::Store;
use partita_store::surroundings::SystemClock;

use crate::cli::{StoreFlags, StoreKind};
use crate::private;
use crate::serve::connect;

/// Opens the store that `serve` works on. Whoever only looks leaves what is expired and unfinished
/// to the server.
pub(crate) async fn open(place: &StoreFlags, data: &Path) -> Result<Arc<dyn Store>> {
    if place.store == StoreKind::Dynamodb {
        return connect(place).await;
    }
    let options = Options::new(Arc::new(SystemClock)).upkeep(Upkeep::OnRequest);
    Ok(Arc::new(embedded(data, options)?))
}

/// Opens the embedded store in a data directory that has one.
pub(crate) fn embedded(data: &Path, options: Options) -> Result<EngineStore> {
    let directory = data.join("store");
    if !data.is_dir() {
        bail!(
            "there is no data directory {}: check the path, or start `partita serve` there first",
            data.display()
        );
    }
    if !directory.exists() {
        bail!("there is no store in {}", data.display());
    }
    private::keep(data);
    match EngineStore::open(&directory, options) {
        Err(EngineError::InUse { .. }) => bail!(
            "a server has the store in {} open, and it can be open in one process only: stop the \
             server and ask again, or copy the data directory while it is stopped and name the \
             copy with --data",
            data.display()
        ),
        opened => opened.with_context(|| format!("cannot open the store in {}", data.display())),
    }
}
