//! A lease as it is stored in the sidecar, and as it is shown.

use std::sync::Arc;

use partita_core::expression::{Condition, KeyCondition, Path};
use partita_core::{Item, Number, Value};
use partita_design::{Design, time};
use partita_store::request::{DeleteItem, GetItem, PutItem, Query};
use partita_store::table::TableName;
use partita_store::{Clock, Store, StoreError, StoreResult};

use super::LEASE_MILLIS;
use crate::error::PlanError;
use crate::sidecar;

/// The partition of the leases of servers.
pub(crate) const LEASES: &str = "LEASE";

/// After how long DynamoDB sweeps a row that nobody has removed.
const SWEPT_SECONDS: i64 = 24 * 3_600;

const RENEWED: &str = "renewed";

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The row of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Drawn when the lease is taken, so that nobody has that of another.
    pub(super) id: String,
    pub(super) name: String,
    /// The version of Partita that runs there.
    pub(super) by: String,
    /// The number of the design that it plans with.
    pub(super) design: u64,
    /// How often it was renewed; 0 where it is not stored yet.
    pub(super) renewed: u64,
    /// When, by the clock of the server.
    pub(super) at_millis: i64,
    pub(super) lasts_millis: i64,
}

impl Row {
    /// A row that is not stored yet.
    pub(super) fn new(id: String, name: &str) -> Row {
        Row {
            id,
            name: name.to_owned(),
            by: VERSION.to_owned(),
            design: 0,
            renewed: 0,
            at_millis: 0,
            lasts_millis: LEASE_MILLIS,
        }
    }

    /// The same, renewed once more.
    pub(super) fn next(&self, design: u64, at_millis: i64) -> Row {
        Row {
            design,
            at_millis,
            renewed: self.renewed + 1,
            ..self.clone()
        }
    }

    /// Stores it in the place of the one that was renewed once less.
    pub(super) fn put(&self, sidecar: &TableName) -> PutItem {
        let condition = match self.renewed {
            0 | 1 => sidecar::is_missing(),
            renewed => is_renewed(renewed - 1),
        };
        PutItem {
            condition: Some(condition),
            ..PutItem::new(sidecar.clone(), self.to_item())
        }
    }

    /// Removes it, unless it has been renewed.
    pub(super) fn delete(&self, sidecar: &TableName) -> DeleteItem {
        DeleteItem {
            table: sidecar.clone(),
            key: sidecar::key(LEASES, &self.id),
            condition: Some(is_renewed(self.renewed)),
            return_item_on_failure: false,
        }
    }

    fn to_item(&self) -> Item {
        let number = |value: i64| Value::N(Number::from(value));
        let signed = |value: u64| number(i64::try_from(value).unwrap_or(i64::MAX));
        let mut item = sidecar::key(LEASES, &self.id);
        item.insert("name", self.name.as_str().into());
        item.insert("by", self.by.as_str().into());
        item.insert("design", signed(self.design));
        item.insert(RENEWED, signed(self.renewed));
        item.insert("at", number(self.at_millis));
        item.insert("lasts", number(self.lasts_millis));
        let expires = self.at_millis / 1000 + SWEPT_SECONDS;
        item.insert(sidecar::EXPIRES, number(expires));
        item
    }

    fn from_item(item: &Item) -> Option<Row> {
        let text = |name: &str| Some(item.get(name)?.as_str()?.to_owned());
        let number = |name: &str| item.get(name)?.as_number()?.to_i64();
        let whole = |name: &str| u64::try_from(number(name)?).ok();
        Some(Row {
            id: text(sidecar::SORT)?,
            name: text("name")?,
            by: text("by")?,
            design: whole("design")?,
            renewed: whole(RENEWED)?,
            at_millis: number("at")?,
            lasts_millis: number("lasts")?,
        })
    }
}

fn is_renewed(renewed: u64) -> Condition {
    let renewed = i64::try_from(renewed).unwrap_or(i64::MAX);
    Condition::equals(Path::attribute(RENEWED), Value::N(Number::from(renewed)))
}

/// A row as it is stored.
pub(super) async fn find(
    id: &str,
    sidecar: &TableName,
    store: &dyn Store,
) -> StoreResult<Option<Row>> {
    let get = GetItem::new(sidecar.clone(), sidecar::key(LEASES, id));
    let found = store.get_item(get).await?.answer;
    let item = found.map(|found| found.into_item()).transpose()?;
    Ok(item.as_ref().and_then(Row::from_item))
}

/// All rows that this version can read.
pub(super) async fn all(sidecar: &TableName, store: &dyn Store) -> StoreResult<Vec<Row>> {
    let keys = KeyCondition::partition(sidecar::PARTITION, LEASES);
    let mut query = Query::new(sidecar.clone(), keys);
    query.consistent = true;
    let mut rows = Vec::new();
    loop {
        let page = store.query(query.clone()).await?.answer.into_parts()?;
        rows.extend(page.items.iter().filter_map(Row::from_item));
        match page.last_key {
            None => return Ok(rows),
            last => query.start_after = last,
        }
    }
}

/// A server that shares the tables of a design with others, or did a moment ago.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerLease {
    /// What it calls itself: its machine, port and process.
    pub name: String,
    /// The version of Partita that runs there.
    pub by: String,
    /// The number of the design that it plans with.
    pub design: u64,
    /// When it was last heard of, as a timestamp, by its own clock.
    pub renewed: String,
    /// Whether its lease has run out, as far as clocks agree. The row stays for a while.
    pub has_ended: bool,
}

/// The servers that share the tables of a design; none where one process has the store for itself.
pub async fn servers(
    design: &Design,
    store: Arc<dyn Store>,
    clock: &dyn Clock,
) -> Result<Vec<ServerLease>, PlanError> {
    if !store.is_shared() {
        return Ok(Vec::new());
    }
    let rows = match all(&sidecar::name(design)?, &*store).await {
        Err(StoreError::TableNotFound { .. }) => Vec::new(),
        rows => rows?,
    };
    let now = clock.now_millis();
    let shown = rows.into_iter().map(|row| ServerLease {
        renewed: time::format_millis(row.at_millis),
        has_ended: row.at_millis.saturating_add(row.lasts_millis) < now,
        name: row.name,
        by: row.by,
        design: row.design,
    });
    Ok(shown.collect())
}
