//! `partita copy --reopen`: a switch is taken back.
//!
//! INVARIANT: an embedded store that took the place of the source takes no more writes before the source
//! takes them again. Otherwise both would, and each would lack what the other has answered. On DynamoDB
//! no server starts any more, but those that run are not stopped: the operator is told to.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use partita_api::admin::Failure;
use partita_design::time;
use partita_engine::EngineStore;
use partita_plan::moving::{Moving, Way};
use partita_store::request::{PutItem, ReturnValues};
use partita_store::surroundings::SystemClock;
use partita_store::{Clock as _, Store};
use serde::{Deserialize, Serialize};

use super::{Place, Tables};
use crate::operator::{self, Reached};
use crate::output::print;
use crate::store;

/// What the command is called over the socket.
pub(crate) const NAME: &str = "reopen";
/// What the server of the other store is asked.
pub(crate) const CLOSE: &str = "close";

/// Asks for a source to take writes again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Reopen {
    pub(super) of: Tables,
    pub(super) from: Place,
    /// The store that took its place; none where it is lost.
    pub(super) to: Option<Place>,
}

/// Takes a switch back.
pub(super) async fn run(asked: Reopen) -> Result<ExitCode> {
    match &asked.from {
        Place::Dynamodb { .. } => asked.carry_out(asked.from.fill().await?, None).await?,
        Place::Directory(data) => {
            let open = || store::look_embedded(data);
            match operator::reach(data, NAME, &asked, &mut |()| {}, open).await? {
                Reached::Asked(()) => {}
                Reached::Opened(engine) => asked.carry_out(engine, None).await?,
            }
        }
    }
    print(&asked.told())?;
    Ok(ExitCode::SUCCESS)
}

impl Reopen {
    fn told(&self) -> String {
        let (design, from) = (&self.of.design, self.from.name());
        let mut text = format!("{from} takes writes of {design} again\n");
        if let Some(to) = &self.to {
            let name = to.name();
            text += &format!(
                "{name} takes no more; what was written there since the switch is there alone\n"
            );
            if matches!(to, Place::Dynamodb { .. }) {
                text += "no server starts there any more; stop those that run\n";
            }
        }
        text + &format!(
            "its mails, events and schedules wait until `partita outbox {design} resume` there: the \
             other store has them too\n"
        )
    }

    /// Lets callers write to the source of a switch again. A server that has it open gives its engine.
    pub(crate) async fn carry_out(
        &self,
        source: Arc<dyn Store>,
        served: Option<&EngineStore>,
    ) -> Result<(), Failure> {
        let gone = self.demand_gone(source.clone()).await?;
        if let Some(to) = &self.to {
            self.close(to, &gone).await?;
        }
        if let Some(engine) = served {
            engine.thaw(&self.of.tables);
        }
        // The other store has the same mails, and may have delivered them.
        self.mark(&*source, Way::Beside, gone.place).await
    }

    /// Refuses to take back what was no switch: a copy that arrives is not whole.
    async fn demand_gone(&self, source: Arc<dyn Store>) -> Result<Moving, Failure> {
        let design = &self.of.design;
        match Moving::read(&self.of.sidecar, source).await? {
            Some(mark) if mark.way == Way::Out => Ok(mark),
            Some(mark) if mark.way == Way::Beside => {
                let detail = format!("`{design}` was not moved from there: {mark}");
                Err(Failure::new(detail))
            }
            Some(mark) => Err(Failure::new(format!("`{design}` cannot be opened: {mark}"))),
            None => Err(Failure::new(format!("`{design}` was not moved from there"))),
        }
    }

    /// Has the store that took the place of the source take no more writes.
    async fn close(&self, to: &Place, gone: &Moving) -> Result<(), Failure> {
        let name = to.name();
        if !to.is_called(&gone.place) {
            return Err(Failure::new(format!(
                "`{}` was moved to {}, not to {name}: name that store with --to, or say with --lost \
                 that nobody will serve it again",
                self.of.design, gone.place
            )));
        }
        let failed = |error: anyhow::Error| {
            Failure::new(format!(
                "{name} cannot be closed to writes, and nothing was changed: {error:#}. If nobody \
                 will ever serve it again, say so with --lost"
            ))
        };
        let Place::Directory(data) = to else {
            let target = to.fill().await.map_err(failed)?;
            return self.close_target(target).await.map(drop);
        };
        let open = || store::look_embedded(data);
        let reached = operator::reach(data, CLOSE, self, &mut |()| {}, open).await;
        match reached.map_err(failed)? {
            Reached::Asked(()) => Ok(()),
            Reached::Opened(engine) => self.close_target(engine).await.map(drop),
        }
    }

    /// The same, by the server that has that store open.
    pub(crate) async fn close_served(&self, engine: &Arc<EngineStore>) -> Result<(), Failure> {
        let mark = self.close_target(engine.clone()).await?;
        let reason = format!("`{}` takes no writes here: {mark}", self.of.design);
        Ok(engine.freeze(&self.of.tables, &reason).await?)
    }

    /// Marks the store that took the place of the source, so that no server starts on it.
    async fn close_target(&self, target: Arc<dyn Store>) -> Result<Moving, Failure> {
        let Tables {
            design, sidecar, ..
        } = &self.of;
        let from = self.from.name();
        match Moving::read(sidecar, target.clone()).await? {
            // A switch that did not end, or a command like this one that did not.
            Some(mark) if mark.place == from && matches!(mark.way, Way::In | Way::Out) => Ok(mark),
            Some(mark) if mark.way != Way::Beside => Err(Failure::new(format!(
                "`{design}` is not where it was moved to: {mark}"
            ))),
            _ => {
                self.mark(&*target, Way::Out, from.clone()).await?;
                let read = Moving::read(sidecar, target).await?;
                read.ok_or_else(|| Failure::new("the mark that was written is gone"))
            }
        }
    }

    async fn mark(&self, store: &dyn Store, way: Way, place: String) -> Result<(), Failure> {
        let mark = Moving {
            way,
            place,
            since: time::format_millis(SystemClock.now_millis()),
            waited: false,
        };
        let put = PutItem::new(self.of.sidecar.clone(), mark.item());
        store.put_item(put, ReturnValues::None).await?;
        Ok(())
    }
}
