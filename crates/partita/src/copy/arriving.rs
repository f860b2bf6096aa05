//! A copy that the server carries out which has the target open.
//!
//! Nobody else reads or writes the tables until they are whole, as with an import. A server that has
//! the source open carries a copy out itself, because it alone knows what is written there meanwhile.

use std::sync::Arc;

use anyhow::{Result, bail};
use partita_api::admin::{Failure, Installation};
use partita_engine::EngineStore;
use partita_plan::moving::{Moving, Way};
use partita_store::Store;
use partita_transfer::Source;

use super::{Copied, Copy, Place, Step, demand_free, fill, inherited};
use crate::{operator, store};

/// What the command is called over the socket.
pub(crate) const NAME: &str = "arrive";

/// Has the server carry a copy out that has the target open, if there is one.
pub(super) async fn ask(
    copy: &Copy,
    show: &mut (dyn FnMut(Step) + Send),
) -> Result<Option<Copied>> {
    let Place::Directory(to) = &copy.to else {
        return Ok(None);
    };
    if !operator::is_served(to).await? {
        return Ok(None);
    }
    if let Place::Directory(from) = &copy.from
        && operator::is_served(from).await?
    {
        bail!(
            "servers have both {} and {} open, and one process carries a copy out: copy to a directory \
             that no server has open, and serve that",
            from.display(),
            to.display()
        );
    }
    operator::ask(to, NAME, copy, show).await
}

/// Carries a copy out into the store that this server has open.
pub(crate) async fn carry_out(
    copy: &Copy,
    engine: Arc<EngineStore>,
    installation: &Installation,
    on_step: impl FnMut(Step) -> Result<(), Failure> + Send,
) -> Result<Copied, Failure> {
    refuse_served(copy, installation)?;
    let failed = |error: anyhow::Error| Failure::new(format!("{error:#}"));
    inherited::keep_era(copy).map_err(failed)?;
    let source = match &copy.from {
        Place::Directory(data) => Source::Embedded(store::look_embedded(data).map_err(failed)?),
        Place::Dynamodb { .. } => Source::Other(copy.from.fill().await.map_err(failed)?),
    };
    let (design, from) = (&copy.of.design, copy.from.name());
    let reason = format!(
        "`{design}` is copied from {from}, and nobody reads or writes a part of it: wait for \
         `partita copy`, or run the same one again if it was interrupted"
    );
    let filling = Arc::new(engine.fill_tables(&copy.of.tables, &reason).await?);
    let target: Arc<dyn Store> = filling.clone();
    demand_free(copy, source.store(), target.clone()).await?;
    filling.close();
    let copied = fill(copy, source, target.clone(), on_step).await;
    if copied.is_ok() || is_as_before(copy, target).await {
        filling.open();
    }
    copied
}

/// The rules, jobs and feeds of a design that is served go by what was there.
fn refuse_served(copy: &Copy, installation: &Installation) -> Result<(), Failure> {
    let served = installation.served.all();
    let names: Vec<String> = served
        .iter()
        .flat_map(|current| current.get().design().tables.clone())
        .map(|table| table.name)
        .collect();
    let mut tables = copy.of.tables.iter();
    match tables.find(|table| names.iter().any(|name| name == table.as_str())) {
        None => Ok(()),
        Some(table) => Err(Failure::new(format!(
            "the server of {} serves the table `{table}`: copy to a directory that no server has open, \
             and serve that",
            copy.to.name()
        ))),
    }
}

/// Whether nothing has arrived, so that callers may have the tables again.
async fn is_as_before(copy: &Copy, target: Arc<dyn Store>) -> bool {
    let mark = Moving::read(&copy.of.sidecar, target).await;
    mark.is_ok_and(|mark| mark.is_none_or(|mark| mark.way != Way::In))
}
