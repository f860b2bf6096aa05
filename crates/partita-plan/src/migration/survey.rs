//! Stored items that are in the way of a migration, or of taking one back.
//!
//! All items are looked at before anything is written. What a caller gave is never overwritten: an
//! item that already has an attribute of a name that the new design derives is listed, and so is one
//! at a key of a record that the new design adds.

use partita_core::{Item, Map, printable};
use partita_design::design::record::UNIQUE_SORT;
use partita_design::design::{Attribute, Record, Source, Table};
use partita_design::nested;
use partita_design::stored::Stored;
use partita_design::union::Union;
use partita_store::StoreError;
use partita_store::request::Scan;
use partita_store::table::TableName;

use super::{Designs, MigrationError, Stage};
use crate::commit::run::Runner;
use crate::error::PlanError;
use crate::live::{Recorded, newcomers};

/// Items that are listed at most.
const LISTED_MAX: usize = 20;

/// Refuses a migration that would write over something, or to which items do not fit.
pub(super) async fn refuse_in_the_way(
    designs: &Designs,
    live: &Recorded,
    runner: &Runner,
) -> Result<(), PlanError> {
    newcomers::refuse_stored(&designs.new, live, runner).await?;
    let union = designs.union(Stage::Kept)?;
    let found = list(&union, runner, |union, table, record, item| {
        in_the_way(union, table, record, item).or_else(|| misfit(union, table, record, item))
    });
    found.await?.refuse()
}

/// Refuses to go back to a design that has no place for what callers have given since.
pub(super) async fn refuse_unfit(designs: &Designs, runner: &Runner) -> Result<(), PlanError> {
    let union = designs.union(Stage::RollingBack)?;
    let found = list(&union, runner, |union, table, record, item| {
        unfit(union, table, record, item)
    });
    found.await?.refuse()
}

/// Items that are in the way.
#[derive(Default)]
struct Obstructing {
    count: u64,
    /// The first of them.
    items: Vec<String>,
}

impl Obstructing {
    fn refuse(self) -> Result<(), PlanError> {
        let Obstructing { count, items } = self;
        match count {
            0 => Ok(()),
            _ => Err(MigrationError::InTheWay { count, items }.into()),
        }
    }
}

/// What is wrong with an item of a record.
type Judge = fn(&Union, &Table, &Record, &Item) -> Option<String>;

async fn list(union: &Union, runner: &Runner, judge: Judge) -> Result<Obstructing, PlanError> {
    let mut found = Obstructing::default();
    for (at, table) in union.design.tables.iter().enumerate() {
        let records = union.design.records.iter();
        let records: Vec<&Record> = records.filter(|one| one.table.index() == at).collect();
        let mut scan = Scan {
            consistent: true,
            ..Scan::new(table.name.parse::<TableName>()?)
        };
        loop {
            let page = match runner.scan(&scan).await {
                Err(PlanError::Store(StoreError::TableNotFound { .. })) => break,
                page => page?,
            };
            for item in &page.items {
                let is_of = |record: &&&Record| {
                    record.is_marked(table, item) && record.attributes_of(table, item).is_some()
                };
                let Some(record) = records.iter().find(is_of) else {
                    continue;
                };
                if let Some(what) = judge(union, table, record, item) {
                    found.count += 1;
                    if found.items.len() < LISTED_MAX {
                        found.items.push(line(table, record, item, &what));
                    }
                }
            }
            match page.last_key {
                None => break,
                last_key => scan.start_after = last_key,
            }
        }
    }
    Ok(found)
}

fn line(table: &Table, record: &Record, item: &Item, what: &str) -> String {
    let key = |name: &str| item.get(name).and_then(|one| one.as_str()).unwrap_or("");
    let key = format!("{} {}", key(&table.partition), key(&table.sort));
    let key = printable::line(&key);
    format!("`{}` {key} {what}", record.name)
}

/// What of an item does not fit the new design.
fn misfit(union: &Union, table: &Table, record: &Record, item: &Item) -> Option<String> {
    let demand = union.demands.iter().find(|one| one.record == record.id)?;
    let attributes = record.attributes_of(table, item)?;
    let mut found = demand.attributes.iter();
    let found = found.find_map(|one| wrong_value(one, &attributes));
    found.or_else(|| {
        let require = demand.require.as_ref()?;
        let item = &attributes;
        let is_kept = require.holds(&Stored { item, record });
        (!is_kept).then(|| format!("breaks the rule `{}`", require.text))
    })
}

/// What is wrong with the value that an item has in an attribute.
fn wrong_value(attribute: &Attribute, item: &Map) -> Option<String> {
    let name = &attribute.name;
    let is_stored = !attribute.is_virtual && !attribute.key_only;
    match nested::get(item, name) {
        Some(value) => {
            let expected = attribute.kind.check(value).err().filter(|_| is_stored)?;
            Some(format!("has a value in `{name}` that is not {expected}"))
        }
        None => {
            let is_given = matches!(attribute.source, Source::Given { .. } | Source::Generated);
            let is_lacking = is_given && is_stored && !attribute.optional;
            let is_lacking = is_lacking && attribute.when_missing(item).is_none();
            is_lacking.then(|| format!("lacks `{name}`"))
        }
    }
}

fn in_the_way(union: &Union, _: &Table, record: &Record, item: &Item) -> Option<String> {
    let Union { design, aside, .. } = union;
    if aside.has_record(record.id) || !record.is_entity() {
        return None;
    }
    let attributes = aside.attributes(record).iter();
    let mut attributes = attributes.filter(|one| !one.is_virtual && !one.key_only);
    let attribute = attributes.find(|one| nested::get(item, &one.name).is_some());
    let name = attribute.map(|one| one.name.as_str());
    let keys = aside.made_keys(design, record);
    let name = name.or_else(|| keys.into_iter().find(|key| item.contains_key(key)));
    name.map(|name| format!("has `{name}` already, which the new design derives"))
}

/// What an item has that callers gave under the new design, and that the old one does not know. The
/// union is that of the old design with the new one beside it.
fn unfit(union: &Union, table: &Table, record: &Record, item: &Item) -> Option<String> {
    let aside = &union.aside;
    if record.is_entity() && aside.has_record(record.id) {
        return Some("is of an entity that the old design does not have".to_owned());
    }
    let sort = item.get(&table.sort).and_then(|one| one.as_str());
    if !record.is_entity() || sort == Some(UNIQUE_SORT) {
        return None;
    }
    let attributes = record.attributes_of(table, item)?;
    let own = record.attributes.len() - aside.attributes(record).len();
    let mut own = record.attributes[..own].iter();
    if let Some(what) = own.find_map(|one| wrong_value(one, &attributes)) {
        return Some(what);
    }
    let given = aside.attributes(record).iter().filter(|one| {
        let is_given = matches!(one.source, Source::Given { .. } | Source::Generated);
        is_given && !one.is_virtual && !one.key_only
    });
    let mut given = given.filter(|one| {
        let value = nested::get(item, &one.name);
        value.is_some() && value != one.when_missing(item).as_ref()
    });
    let name = &given.next()?.name;
    Some(format!(
        "has a value in `{name}`, which the old design does not have"
    ))
}
