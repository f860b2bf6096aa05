//! Tables that take their time to come, to change and to go, and what runs behind them.

use std::collections::BTreeMap;
use std::sync::Arc;

use partita_core::Item;
use partita_store::index::IndexKind;
use partita_store::request::{
    CreateTable, Scan, TableChange, TableDescription, TableStatus, UpdateTable,
};
use partita_store::table::{KeySchema, TableName, TableSchema};
use partita_store::{ModelStore, Store as _, StoreError, StoreResult};

use super::Amazon;
use super::behaviour::{Behaviour, Lag};
use super::follower::{Change, Follower, at_once};

/// All tables.
#[derive(Default)]
pub(super) struct Tables(BTreeMap<TableName, Table>);

/// One table, and what runs behind it.
struct Table {
    schema: Arc<TableSchema>,
    /// Until when it is being created.
    created_millis: i64,
    /// Until when it is being changed.
    changed_millis: i64,
    /// The index that is being filled.
    building: Option<String>,
    /// What reads without consistency see.
    copy: Follower,
    indexes: BTreeMap<String, Follower>,
}

impl Tables {
    pub(super) fn schema(&self, table: &TableName) -> Option<Arc<TableSchema>> {
        Some(self.0.get(table)?.schema.clone())
    }

    /// Sends a change on to everything that runs behind a table; at once without a behaviour.
    pub(super) fn send(
        &mut self,
        table: &TableName,
        change: Change,
        behaviour: Option<&Behaviour>,
        now_millis: i64,
        random: &mut fastrand::Rng,
    ) {
        let Some(table) = self.0.get_mut(table) else {
            return;
        };
        let mut send = |follower: &mut Follower, lag: Option<&Lag>| {
            let delay = lag.map_or(0, |lag| lag.draw(random));
            let (key, item) = (change.key.clone(), change.item.clone());
            follower.send(Change { key, item }, now_millis + delay);
        };
        send(&mut table.copy, behaviour.map(|one| &one.replica_lag));
        for index in table.indexes.values_mut() {
            send(index, behaviour.map(|one| &one.index_lag));
        }
    }

    /// Lets everything take what has arrived by a time.
    pub(super) fn catch_up(&mut self, now_millis: i64) {
        for table in self.0.values_mut() {
            table.copy.catch_up(now_millis);
            let indexes = table.indexes.values_mut();
            indexes.for_each(|index| index.catch_up(now_millis));
        }
    }

    /// How many changes are on their way.
    pub(super) fn behind(&self) -> usize {
        let of = |table: &Table| {
            let indexes = table.indexes.values().map(Follower::behind);
            table.copy.behind() + indexes.sum::<usize>()
        };
        self.0.values().map(of).sum()
    }

    /// What a read without consistency sees, and whether it is behind: of the table, or of a
    /// global index. Local ones are a part of the table.
    pub(super) fn seen(
        &mut self,
        table: &TableName,
        index: Option<&str>,
        now_millis: i64,
    ) -> Option<(Arc<ModelStore>, bool)> {
        let table = self.0.get_mut(table)?;
        let global = index.and_then(|name| table.indexes.get_mut(name));
        let follower = global.unwrap_or(&mut table.copy);
        follower.catch_up(now_millis);
        Some((follower.store.clone(), follower.behind() > 0))
    }

    /// Whether an index belongs to the whole table.
    pub(super) fn is_global(&self, table: &TableName, index: &str) -> bool {
        let table = self.0.get(table);
        table.is_some_and(|table| table.indexes.contains_key(index))
    }

    /// The index of a table that is being filled.
    pub(super) fn building(&self, table: &TableName, now_millis: i64) -> Option<&str> {
        let table = self.0.get(table)?;
        let is_changing = table.changed_millis > now_millis;
        table.building.as_deref().filter(|_| is_changing)
    }

    /// How long a table is still being created.
    fn missing_millis(&self, table: &TableName, now_millis: i64) -> i64 {
        let created = self.0.get(table).map(|table| table.created_millis);
        created.map_or(0, |created| (created - now_millis).max(0))
    }
}

impl Table {
    fn new(name: &TableName, schema: TableSchema, created_millis: i64) -> Self {
        let globals = schema.indexes.iter();
        let globals = globals.filter(|index| index.kind == IndexKind::Global);
        let indexes = globals.map(|index| {
            let own = TableSchema {
                key: schema.key.clone(),
                indexes: vec![index.clone()],
            };
            (index.name.clone(), Follower::new(name, own))
        });
        let indexes = indexes.collect();
        let mut own = schema.clone();
        own.indexes.retain(|index| index.kind == IndexKind::Local);
        Table {
            schema: Arc::new(schema),
            created_millis,
            changed_millis: 0,
            building: None,
            copy: Follower::new(name, own),
            indexes,
        }
    }
}

impl Amazon {
    /// Refuses what needs a table that is not there yet.
    pub(super) fn check_created<'t>(
        &self,
        tables: impl IntoIterator<Item = &'t TableName>,
    ) -> StoreResult<()> {
        let now = self.now();
        let state = self.state();
        let mut tables = tables.into_iter();
        match tables.find(|table| state.tables.missing_millis(table, now) > 0) {
            Some(table) => Err(StoreError::TableNotFound {
                table: table.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Creates a table, and waits until it can be used, as the remote store does.
    pub(super) async fn create(&self, request: CreateTable) -> StoreResult<TableDescription> {
        let name = request.table.clone();
        let schema = request.schema.clone();
        let created = self.primary.create_table(request).await?;
        let takes = self.drawn(&self.behaviour.table_millis);
        let table = Table::new(&name, schema, self.now() + takes);
        self.state().tables.0.insert(name, table);
        self.simulation.sleep(takes).await;
        Ok(created)
    }

    /// Describes a table, once it can be used.
    pub(super) async fn describe(&self, table: &TableName) -> StoreResult<TableDescription> {
        let now = self.now();
        let missing = self.state().tables.missing_millis(table, now);
        self.simulation.sleep(missing).await;
        let described = self.primary.describe_table(table).await?;
        Ok(self.with_changes(described))
    }

    /// Deletes a table, and waits until it is gone.
    pub(super) async fn delete(&self, table: &TableName) -> StoreResult<TableDescription> {
        self.check_free(table)?;
        let described = self.primary.delete_table(table).await?;
        self.state().tables.0.remove(table);
        let takes = self.drawn(&self.behaviour.table_millis);
        self.simulation.sleep(takes).await;
        Ok(described)
    }

    /// Changes a table. An index that it gets is filled afterwards.
    pub(super) async fn update(&self, request: UpdateTable) -> StoreResult<TableDescription> {
        let name = request.table.clone();
        let _turn = self.turn.lock().await;
        self.check_changes(&request)?;
        let updated = self.primary.update_table(request.clone()).await?;
        let takes = self.drawn(&self.behaviour.table_millis);
        let mut takes_whole = takes;
        for change in &request.changes {
            match change {
                TableChange::CreateIndex(index) => {
                    let filled = self.backfill(&updated, &index.name);
                    takes_whole = takes_whole.max(filled);
                }
                TableChange::DeleteIndex(index) => {
                    if let Some(table) = self.state().tables.0.get_mut(&name) {
                        table.indexes.remove(index);
                    }
                }
                _ => {}
            }
        }
        if let Some(table) = self.state().tables.0.get_mut(&name) {
            table.schema = Arc::new(updated.schema.clone());
            table.changed_millis = self.now() + takes_whole;
        }
        Ok(self.with_changes(updated))
    }

    /// Sends every item on its way into a new index. Says when the last is there.
    fn backfill(&self, table: &TableDescription, index: &str) -> i64 {
        let Ok(index) = table.schema.index(index) else {
            return 0;
        };
        let own = TableSchema {
            key: table.schema.key.clone(),
            indexes: vec![index.clone()],
        };
        let mut follower = Follower::new(&table.table, own);
        let whole = if self.is_calm() {
            0
        } else {
            self.behaviour.backfill_millis
        };
        let now = self.now();
        let mut state = self.state();
        for item in self.stored(&table.table) {
            let Ok(key) = KeySchema::key_of(&table.schema.key, &item) else {
                continue;
            };
            let due = now + state.random.i64(0..=whole);
            let item = Some(item);
            follower.send(Change { key, item }, due);
        }
        if let Some(kept) = state.tables.0.get_mut(&table.table) {
            kept.indexes.insert(index.name.clone(), follower);
            kept.building = Some(index.name.clone());
        }
        whole
    }

    /// Every item of a table.
    fn stored(&self, table: &TableName) -> Vec<Item> {
        let mut items = Vec::new();
        let mut scan = Scan::new(table.clone());
        while let Ok(page) = at_once(self.model.scan(scan.clone())) {
            let found = page.answer.items.into_iter();
            items.extend(found.filter_map(|one| one.into_item().ok()));
            scan.start_after = page.answer.last_key;
            if scan.start_after.is_none() {
                break;
            }
        }
        items
    }

    /// A description with what is under way.
    fn with_changes(&self, mut described: TableDescription) -> TableDescription {
        let now = self.now();
        let state = self.state();
        if let Some(table) = state.tables.0.get(&described.table)
            && table.changed_millis > now
        {
            described.status = TableStatus::Updating;
            described.building = table.building.iter().cloned().collect();
        }
        described
    }

    /// One index is created or deleted at once, and a table that is being changed is not changed
    /// otherwise.
    fn check_changes(&self, request: &UpdateTable) -> StoreResult<()> {
        let now = self.now();
        let is_of_index = |change: &TableChange| {
            matches!(
                change,
                TableChange::CreateIndex(_) | TableChange::DeleteIndex(_)
            )
        };
        let is_building = self.state().tables.building(&request.table, now).is_some();
        if is_building && request.changes.iter().any(is_of_index) {
            return Err(StoreError::LimitExceeded {
                message: "Subscriber limit exceeded: Only 1 online index can be created or \
                          deleted simultaneously per table"
                    .to_owned(),
            });
        }
        self.check_free(&request.table)
    }

    /// Refuses to change a table that is being created or changed.
    fn check_free(&self, name: &TableName) -> StoreResult<()> {
        let now = self.now();
        let state = self.state();
        let doing = match state.tables.0.get(name) {
            Some(table) if table.created_millis > now => "created",
            Some(table) if table.changed_millis > now => "updated",
            _ => return Ok(()),
        };
        Err(StoreError::ResourceInUse {
            message: format!(
                "Attempt to change a resource which is still in use: Table is being {doing}: {name}"
            ),
        })
    }
}
