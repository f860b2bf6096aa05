//! The mark of data that is on its way from one store to another.
//!
//! It stands in the sidecar of both: where a copy arrives, until it is whole, and where it came from,
//! once the copy has taken its place. A design is not opened on tables with such a mark.
//!
//! A copy that takes nobody's place has a mark as well, and so has a store that is used again after
//! another took its place. Both can be opened. What waits in their outbox may be delivered by the
//! other store, so that their mails, events and schedules wait until the operator lets them go on.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use partita_core::expression::{Condition, KeyCondition, Path};
use partita_core::{Item, Value};
use partita_store::request::{DeleteItem, Query};
use partita_store::table::TableName;
use partita_store::{Store, StoreError};

use crate::commit::run::Runner;
use crate::error::PlanError;
use crate::live;
use crate::migration::row;
use crate::partita::{Partita, Surroundings, runner};
use crate::sidecar;

/// The partition of the mark, and its sort key.
pub(crate) const MOVING: &str = "MOVING";
/// The attribute that says which of the marks it is.
const WAY: &str = "way";
/// The attribute with the other place.
const PLACE: &str = "place";
/// The attribute with the time at which it began.
const SINCE: &str = "since";
/// The attribute that says that mails, events and schedules waited before.
const WAITED: &str = "waited";

/// What a copy or an import has made of tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moving {
    /// Which of the two it is.
    pub way: Way,
    /// The other store, as the operator calls it.
    pub place: String,
    /// Since when.
    pub since: String,
    /// Whether mails, events and schedules waited for the operator before the mark was written.
    pub waited: bool,
}

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It arrives, and is not whole yet.
    In,
    /// The same, from files.
    Import,
    /// It has gone, and what is here is no longer kept up.
    Out,
    /// It is whole, and so is the other store: both are used.
    Beside,
}

impl Way {
    fn word(self) -> &'static str {
        match self {
            Way::In => "in",
            Way::Import => "import",
            Way::Out => "out",
            Way::Beside => "beside",
        }
    }
}

impl fmt::Display for Moving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Moving {
            way, place, since, ..
        } = self;
        match way {
            Way::In => write!(
                f,
                "a copy from {place} arrives there since {since} and is not whole: let \
                 `partita copy` go on"
            ),
            Way::Import => write!(
                f,
                "an import from {place} arrives there since {since} and is not whole: the same \
                 `partita import` begins it again"
            ),
            Way::Out => write!(
                f,
                "its data was moved to {place} at {since}: serve it there, or take it back with \
                 `partita copy --reopen`"
            ),
            Way::Beside => write!(
                f,
                "it is used beside {place} since {since}, so mails, events and schedules wait until \
                 `partita outbox DESIGN resume`"
            ),
        }
    }
}

impl Moving {
    /// The key of the mark in a sidecar.
    pub fn key() -> Item {
        sidecar::key(MOVING, MOVING)
    }

    /// The mark as it is stored.
    pub fn item(&self) -> Item {
        let mut item = Moving::key();
        item.insert(WAY, self.way.word().into());
        item.insert(PLACE, self.place.as_str().into());
        item.insert(SINCE, self.since.as_str().into());
        if self.waited {
            item.insert(WAITED, Value::Bool(true));
        }
        item
    }

    fn from_item(item: &Item) -> Option<Moving> {
        let text = |name: &str| item.get(name).and_then(Value::as_str);
        let way = text(WAY)?;
        let ways = [Way::In, Way::Import, Way::Out, Way::Beside];
        Some(Moving {
            way: ways.into_iter().find(|one| one.word() == way)?,
            place: text(PLACE)?.to_owned(),
            since: text(SINCE)?.to_owned(),
            waited: item.get(WAITED) == Some(&Value::Bool(true)),
        })
    }

    /// The mark in a sidecar, if there is one.
    pub async fn read(
        sidecar: &TableName,
        store: Arc<dyn Store>,
    ) -> Result<Option<Moving>, PlanError> {
        read(sidecar, &runner(store, &Surroundings::default())).await
    }
}

impl Partita {
    /// Why mails, events and schedules wait, if they do: another store has the same.
    pub async fn waits_beside(&self) -> Result<Option<Moving>, PlanError> {
        let address = sidecar::address(&self.blueprint.sidecar, MOVING, MOVING);
        let mark = self.found(&address).await?;
        let mark = mark.as_ref().and_then(Moving::from_item);
        Ok(mark.filter(|mark| mark.way == Way::Beside))
    }

    /// Why nothing leaves this store before the operator lets it go on, if it is so.
    pub async fn why_outbox_waits(&self) -> Result<Option<String>, PlanError> {
        if self.is_paused.load(Ordering::Relaxed) {
            let why = "this directory was restored, so mails, events and schedules wait until \
                       `partita resume`";
            return Ok(Some(why.to_owned()));
        }
        Ok(self.waits_beside().await?.map(|mark| mark.to_string()))
    }

    /// Lets mails, events and schedules go on that wait because another store has the same. Says
    /// whether they did wait.
    pub async fn resume_outbox(&self) -> Result<bool, PlanError> {
        if self.waits_beside().await?.is_none() {
            return Ok(false);
        }
        self.remove_row(DeleteItem {
            table: self.blueprint.sidecar.clone(),
            key: Moving::key(),
            condition: Some(Condition::equals(Path::attribute(WAY), Way::Beside.word())),
            return_item_on_failure: false,
        })
        .await?;
        self.outbox.wake();
        Ok(true)
    }
}

pub(crate) async fn read(
    sidecar: &TableName,
    runner: &Runner,
) -> Result<Option<Moving>, PlanError> {
    let keys = KeyCondition::partition(sidecar::PARTITION, MOVING);
    let page = match runner.query(&Query::new(sidecar.clone(), keys)).await {
        Err(PlanError::Store(StoreError::TableNotFound { .. })) => return Ok(None),
        page => page?,
    };
    let Some(item) = page.items.first() else {
        return Ok(None);
    };
    let mark = Moving::from_item(item).ok_or_else(|| {
        let message = format!("the mark of a copy in `{sidecar}` cannot be read");
        PlanError::Store(StoreError::Corrupt { message })
    })?;
    Ok(Some(mark))
}

/// Refuses to move tables that are not a design's, or whose data is between two designs.
pub async fn demand_settled(
    design: &str,
    sidecar: &TableName,
    store: Arc<dyn Store>,
) -> Result<(), PlanError> {
    let runner = runner(store, &Surroundings::default());
    let refuse = |message: String| Err(PlanError::Store(StoreError::validation(message)));
    match live::recorded_in(sidecar, &runner).await?.last() {
        None => return refuse(format!("there is no data of `{design}` there")),
        Some(live) if live.design != design => {
            let live = &live.design;
            return refuse(format!("the tables there belong to `{live}`"));
        }
        Some(_) => {}
    }
    match row::open(sidecar, &runner).await? {
        None => Ok(()),
        Some(migration) => refuse(format!(
            "migration {} of `{design}` is not over: complete it or roll it back first",
            migration.number
        )),
    }
}
