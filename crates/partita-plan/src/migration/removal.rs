//! What a design that is no longer planned with has left: removed.
//!
//! Only what is derived goes. A value that a caller gave stays, and so does every item of an entity.

use futures::stream::{self, StreamExt as _};
use partita_core::expression::{Condition, Path, Step as PathStep, Update};
use partita_core::{Item, Value};
use partita_design::Design;
use partita_design::design::record::UNIQUE_SORT;
use partita_design::design::{Record, RecordId, Source, Table};
use partita_design::nested;
use partita_design::sidecar::{KEPT, KEPT_ENTITY, KEPT_NUMBERS, kept_partition};
use partita_design::template::dotted;
use partita_design::union::Union;
use partita_store::request::{
    DeleteItem, Scan, TableChange, TransactAction, TransactWriteItems, UpdateItem,
};
use partita_store::table::TableName;
use partita_store::{ErrorKind, StoreError};

use super::drive::change_table;
use crate::error::PlanError;
use crate::partita::Partita;
use crate::sidecar;

/// Items that are changed at the same time.
const AT_ONCE: usize = 64;

/// What is done to all items when one design alone is planned with.
#[derive(Default)]
pub(super) struct Leaving {
    /// What goes though callers gave it, by the names of its declarations.
    pub(super) drops: Vec<String>,
    /// Attributes that items get a default in.
    pub(super) defaults: Vec<(RecordId, String)>,
}

/// Removes from all items what is aside of a union.
pub(super) async fn remove_aside(
    partita: &Partita,
    union: &Union,
    leaving: &Leaving,
) -> Result<(), PlanError> {
    for table in &union.design.tables {
        let name: TableName = table.name.parse()?;
        let remove = |item: &Item| removal(union, leaving, table, &name, item);
        each_item(partita, &name, remove).await?;
    }
    let sidecar = &partita.blueprint.sidecar;
    let remove = |item: &Item| kept_removal(union, sidecar, item);
    each_item(partita, sidecar, remove).await
}

/// Passes over a table at most. Each finds what a writer kept the one before from removing.
const PASSES_MAX: usize = 16;

/// Removes the marks of a migration.
pub(super) async fn remove_marks(partita: &Partita, migration: u64) -> Result<(), PlanError> {
    let sidecar = &partita.blueprint.sidecar;
    let prefix = sidecar::marks(migration);
    let remove = |item: &Item| {
        let partition = item.get(sidecar::PARTITION)?.as_str()?;
        let sort = item.get(sidecar::SORT)?.as_str()?;
        let is_mark = partition.starts_with(&prefix);
        is_mark.then(|| delete(sidecar, sidecar::key(partition, sort)))
    };
    each_item(partita, sidecar, remove).await
}

/// Removes the indexes that are aside of a union.
pub(super) async fn delete_indexes(partita: &Partita, union: &Union) -> Result<(), PlanError> {
    let store = &*partita.runner.store;
    for (at, table) in union.design.tables.iter().enumerate() {
        let name: TableName = table.name.parse()?;
        let found = match store.describe_table(&name).await {
            Err(StoreError::TableNotFound { .. }) => continue,
            found => found?,
        };
        for index in union.aside.indexes(table, at) {
            if found
                .schema
                .indexes
                .iter()
                .any(|one| one.name == index.name)
            {
                let change = TableChange::DeleteIndex(index.name.clone());
                change_table(store, &name, change).await?;
            }
        }
    }
    Ok(())
}

/// Does to every item of a table what is to be done to it.
async fn each_item(
    partita: &Partita,
    table: &TableName,
    action: impl Fn(&Item) -> Option<TransactAction>,
) -> Result<(), PlanError> {
    for _ in 0..PASSES_MAX {
        if !pass(partita, table, &action).await? {
            return Ok(());
        }
    }
    Err(PlanError::Conflict)
}

/// One pass over a table; false if there was nothing to do.
async fn pass(
    partita: &Partita,
    table: &TableName,
    action: &impl Fn(&Item) -> Option<TransactAction>,
) -> Result<bool, PlanError> {
    let mut has_done = false;
    let mut scan = Scan {
        consistent: true,
        ..Scan::new(table.clone())
    };
    loop {
        let page = match partita.runner.scan(&scan).await {
            Err(PlanError::Store(StoreError::TableNotFound { .. })) => return Ok(false),
            page => page?,
        };
        let actions: Vec<TransactAction> = page.items.iter().filter_map(action).collect();
        has_done |= !actions.is_empty();
        let writes = actions.into_iter().map(|one| partita.remove_once(one));
        let mut writes = stream::iter(writes).buffer_unordered(AT_ONCE);
        while let Some(written) = writes.next().await {
            written?;
        }
        match page.last_key {
            None => return Ok(has_done),
            last_key => scan.start_after = last_key,
        }
    }
}

impl Partita {
    /// Carries out a removal, which may be done already.
    async fn remove_once(&self, action: TransactAction) -> Result<(), PlanError> {
        let _passed = self.runner.gate.pass().await?;
        let mut attempts = self.runner.attempts();
        loop {
            let request = TransactWriteItems {
                actions: vec![action.clone()],
                token: None,
            };
            match self.runner.store.transact_write_items(request).await {
                Ok(_) => return Ok(()),
                Err(error) => match error.kind() {
                    // Somebody else came first: the next pass looks at what there is then.
                    ErrorKind::ConditionFailed => return Ok(()),
                    ErrorKind::Conflict | ErrorKind::Retry | ErrorKind::OutcomeUnknown => {
                        attempts.again(PlanError::Store(error)).await?;
                    }
                    _ => return Err(error.into()),
                },
            }
        }
    }
}

/// What becomes of a stored item; nothing if it has nothing that is aside.
fn removal(
    union: &Union,
    leaving: &Leaving,
    table: &Table,
    name: &TableName,
    item: &Item,
) -> Option<TransactAction> {
    let Union { design, aside, .. } = union;
    let partition = item.get(&table.partition)?.as_str()?;
    let sort = item.get(&table.sort)?.as_str()?;
    let key = Item::from([
        (table.partition.clone(), Value::from(partition)),
        (table.sort.clone(), Value::from(sort)),
    ]);
    let records = design.records.iter();
    let records = records.filter(|one| design[one.table].name == table.name);
    let is_of = |record: &&Record| {
        record.is_marked(table, item) && record.attributes_of(table, item).is_some()
    };
    if sort == UNIQUE_SORT {
        let reads = |is_aside: bool| {
            records.clone().any(|record| {
                let own = record.unique.len() - aside.unique(record).len();
                let (own, aside) = record.unique.split_at(own);
                let unique = if is_aside { aside } else { own };
                unique
                    .iter()
                    .any(|one| one.partition.read(partition).is_some())
            })
        };
        if reads(true) && !reads(false) {
            return Some(delete(name, key));
        }
    }
    let record = records.clone().find(is_of)?;
    if aside.has_record(record.id) {
        let place = format!("entity.{}", record.name);
        let goes = !record.is_entity() || leaving.drops.contains(&place);
        return goes.then(|| delete(name, key));
    }
    let mut update = Update {
        remove: derived_paths(union, &leaving.drops, record, item),
        ..Update::default()
    };
    let keys = aside.made_keys(design, record).into_iter();
    let keys = keys.filter(|key| item.contains_key(key));
    update.remove.extend(keys.map(Path::attribute));
    let defaults = leaving.defaults.iter().filter(|(of, _)| *of == record.id);
    for (_, name) in defaults.filter(|(_, name)| nested::get(item, name).is_none()) {
        if let Some(value) = record.when_missing(item, name) {
            update = update.setting(dotted(name), value);
        }
    }
    if let (Some(name), Some(mark)) = (&table.discriminator, &record.discriminator)
        && record.also_marked.is_some()
        && item.get(name).and_then(Value::as_str) != Some(mark)
    {
        update = update.setting(Path::attribute(name), Value::from(mark.as_str()));
    }
    let condition = Condition::Exists(Path::attribute(&table.partition));
    (!update.is_empty()).then(|| TransactAction::Update(change(name, key, update, condition)))
}

/// Where an item has values that are aside and that nobody gave or that are named, and maps for
/// nothing else.
fn derived_paths(union: &Union, drops: &[String], record: &Record, item: &Item) -> Vec<Path> {
    let aside = union.aside.attributes(record);
    let mut rest = item.clone();
    let mut names: Vec<&str> = Vec::new();
    for attribute in aside.iter().filter(|one| !one.key_only) {
        let value = nested::get(item, &attribute.name);
        let is_given = matches!(attribute.source, Source::Given { .. } | Source::Generated);
        let place = format!("entity.{}.attributes.{}", record.name, attribute.name);
        let is_derived = !is_given
            || !record.is_entity()
            || drops.contains(&place)
            || value == attribute.when_missing(item).as_ref();
        if is_derived {
            nested::remove(&mut rest, &attribute.name);
            names.extend(value.map(|_| attribute.name.as_str()));
        }
    }
    let is_in = |map: &str, name: &str| name.split('.').next() == Some(map);
    let mut maps = union.aside.maps(record);
    maps.retain(|map| rest.get(map).is_some_and(is_hollow));
    names.retain(|name| !maps.iter().any(|map| is_in(map, name)));
    maps.into_iter().chain(names).map(dotted).collect()
}

/// Whether a value is a map in which there is nothing but such maps.
pub(super) fn is_hollow(value: &Value) -> bool {
    matches!(value, Value::M(map) if map.values().all(is_hollow))
}

/// What becomes of numbers that are kept of an item that is gone.
fn kept_removal(union: &Union, sidecar: &TableName, row: &Item) -> Option<TransactAction> {
    let partition = row.get(sidecar::PARTITION)?.as_str()?;
    let sort = row.get(sidecar::SORT)?.as_str()?;
    if !partition.starts_with(KEPT) {
        return None;
    }
    let key = sidecar::key(partition, sort);
    let entity = row.get(KEPT_ENTITY)?.as_str()?;
    let record = union.design.find_entity(entity);
    let record = record.or_else(|| owner(&union.design, partition, sort))?;
    let Value::M(numbers) = row.get(KEPT_NUMBERS)? else {
        return None;
    };
    let is_aside = |name: &str| union.aside.has_attribute(record, name);
    let names = numbers.keys().filter(|name| is_aside(name));
    let paths: Vec<Path> = names
        .map(|name| {
            let mut path = Path::attribute(KEPT_NUMBERS);
            path.steps.push(PathStep::Field(name.clone()));
            path
        })
        .collect();
    if paths.is_empty() {
        return None;
    }
    let rest = numbers.iter().filter(|(name, _)| !is_aside(name));
    let is_rest_zero = rest
        .into_iter()
        .all(|(_, value)| value.as_number() == Some(&partita_core::Number::ZERO));
    if is_rest_zero {
        // A writer may add to one of them meanwhile.
        let numbers = Value::M(numbers.clone());
        let condition = Condition::equals(Path::attribute(KEPT_NUMBERS), numbers);
        return Some(TransactAction::Delete(DeleteItem {
            table: sidecar.clone(),
            key,
            condition: Some(condition),
            return_item_on_failure: false,
        }));
    }
    let update = Update {
        remove: paths,
        ..Update::default()
    };
    Some(TransactAction::Update(change(
        sidecar,
        key,
        update,
        sidecar::is_there(),
    )))
}

/// The entity whose numbers a row keeps, which may have had another name when they were put there.
fn owner<'d>(design: &'d Design, kept: &str, sort: &str) -> Option<&'d Record> {
    design.entities().find(|entity| {
        let prefix = kept_partition(&design[entity.table].name, "");
        let partition = kept.strip_prefix(&prefix);
        partition.is_some_and(|partition| entity.key.partition.read(partition).is_some())
            && entity.key.sort.read(sort).is_some()
    })
}

fn change(table: &TableName, key: Item, update: Update, condition: Condition) -> UpdateItem {
    UpdateItem {
        table: table.clone(),
        key,
        update,
        condition: Some(condition),
        return_item_on_failure: false,
    }
}

fn delete(table: &TableName, key: Item) -> TransactAction {
    TransactAction::Delete(DeleteItem {
        table: table.clone(),
        key,
        condition: None,
        return_item_on_failure: false,
    })
}
