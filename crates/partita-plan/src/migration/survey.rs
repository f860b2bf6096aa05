//! Stored items that are in the way of a migration, or of taking one back.
//!
//! All items are looked at before anything is written. What a caller gave is never overwritten: an
//! item that already has an attribute of a name that the new design derives is listed, and so is one
//! at a key of a record that the new design adds.

use std::collections::BTreeSet;
use std::sync::Arc;

use partita_core::limits::BATCH_GET_KEYS_MAX;
use partita_core::{Item, Map, printable};
use partita_design::Design;
use partita_design::design::record::UNIQUE_SORT;
use partita_design::design::{Attribute, Record, Source, Table};
use partita_design::nested;
use partita_design::stored::Stored;
use partita_design::union::Union;
use partita_store::StoreError;
use partita_store::request::Scan;
use partita_store::table::TableName;
use tokio::sync::OwnedRwLockWriteGuard;

use super::gate::Observer;
use super::removal::is_hollow;
use super::{Designs, MigrationError, Stage};
use crate::blueprint::Blueprint;
use crate::error::PlanError;
use crate::live::Recorded;
use crate::live::newcomers::Newcomers;
use crate::partita::Partita;
use crate::place::Address;

/// Items that are listed at most.
const LISTED_MAX: usize = 20;

/// Places that are looked at while no write passes.
const LOOKED_AT_MAX: usize = 1_000;

/// Places that are looked at on the way, before there are too many to note.
const WAITING_MAX: usize = 10_000;

/// How often it is looked at what was written meanwhile, until that is little.
const ROUNDS_MAX: usize = 10;

/// How often all is looked at, where more was written meanwhile than could be noted.
const PASSES_MAX: usize = 3;

/// All that is stored, looked at before a stage moves.
///
/// Looking takes as long as there are items, and callers write meanwhile. What they write is noted
/// and looked at in turn: first beside them, and the rest behind the closed gate
/// ([`Survey::settle`]), which is little and takes a moment. Where they write more than can be noted,
/// all is looked at once more. INVARIANT: when the stage moves, all that is stored was looked at since
/// it was last written.
pub(super) struct Survey {
    partita: Arc<Partita>,
    /// What is looked for in the items, if they can be in the way.
    sought: Option<(Union, Judge)>,
    /// What the new design adds, under whose keys nothing may be stored.
    newcomers: Option<Newcomers>,
    written: Observer,
}

impl Survey {
    /// Refuses a migration that would write over something, or to which items do not fit.
    pub(super) async fn of_start(
        designs: &Designs,
        live: &Recorded,
        next: &Blueprint,
        partita: &Arc<Partita>,
    ) -> Result<Survey, PlanError> {
        let union = designs.union(Stage::Kept)?;
        let judge: Judge = |union, table, record, item| {
            in_the_way(union, table, record, item).or_else(|| misfit(union, table, record, item))
        };
        let newcomers = Newcomers::of(&designs.new, live);
        let survey = Survey::begin(partita, Some((union, judge)), Some(newcomers)).await?;
        survey.look(next).await
    }

    /// Refuses a design that stored data need not follow, where items are under keys that it adds.
    pub(super) async fn of_adoption(
        new: &Design,
        live: &Recorded,
        next: &Blueprint,
        partita: &Arc<Partita>,
    ) -> Result<Survey, PlanError> {
        let newcomers = Newcomers::of(new, live);
        let survey = Survey::begin(partita, None, Some(newcomers)).await?;
        survey.look(next).await
    }

    /// Refuses a step after which jobs have no place.
    pub(super) async fn of_jobs(
        next: &Blueprint,
        partita: &Arc<Partita>,
    ) -> Result<Survey, PlanError> {
        let survey = Survey::begin(partita, None, None).await?;
        survey.look(next).await
    }

    /// Refuses to go back to a design that has no place for what callers have given since.
    pub(super) async fn of_return(
        designs: &Designs,
        next: &Blueprint,
        partita: &Arc<Partita>,
    ) -> Result<Survey, PlanError> {
        let union = designs.union(Stage::RollingBack)?;
        let survey = Survey::begin(partita, Some((union, unfit)), None).await?;
        survey.look(next).await
    }

    async fn begin(
        partita: &Arc<Partita>,
        sought: Option<(Union, Judge)>,
        newcomers: Option<Newcomers>,
    ) -> Result<Survey, PlanError> {
        Ok(Survey {
            partita: partita.clone(),
            sought,
            newcomers,
            written: partita.runner.gate.observe().await?,
        })
    }

    /// Looks at everything, and at what was written meanwhile until that is little.
    async fn look(self, next: &Blueprint) -> Result<Survey, PlanError> {
        for _ in 0..PASSES_MAX {
            self.written.begin_again();
            self.partita.refuse_lost_jobs(next).await?;
            if self.look_at_all(next).await? && self.catch_up(next).await? {
                return Ok(self);
            }
        }
        Err(MigrationError::Busy.into())
    }

    /// Looks at what was written meanwhile until that is little. False if it was too much to note.
    async fn catch_up(&self, next: &Blueprint) -> Result<bool, PlanError> {
        for _ in 0..ROUNDS_MAX {
            let is_little = !self.written.has_more_than(LOOKED_AT_MAX);
            if !self.look_at_written(next).await? {
                return Ok(false);
            }
            if is_little {
                return Ok(true);
            }
        }
        Err(MigrationError::Busy.into())
    }

    /// Closes the gate when all that was written since is looked at.
    pub(super) async fn settle(
        &self,
        next: &Blueprint,
    ) -> Result<OwnedRwLockWriteGuard<u64>, PlanError> {
        for _ in 0..ROUNDS_MAX {
            let closed = self.partita.runner.gate.close().await?;
            if !self.written.has_more_than(LOOKED_AT_MAX) {
                self.look_at_written(next).await?;
                return Ok(closed);
            }
            drop(closed);
            if !self.catch_up(next).await? {
                break;
            }
        }
        Err(MigrationError::Busy.into())
    }

    /// Looks at what was written since it was asked before. False if it was too much to note.
    async fn look_at_written(&self, next: &Blueprint) -> Result<bool, PlanError> {
        let Some(written) = self.written.take() else {
            return Ok(false);
        };
        let mut found = Obstructing::default();
        let written = written.into_iter().collect();
        self.look_at(next, written, &mut found).await?;
        found.refuse()?;
        Ok(true)
    }

    async fn look_at(
        &self,
        next: &Blueprint,
        places: Vec<Address>,
        found: &mut Obstructing,
    ) -> Result<(), PlanError> {
        let Partita {
            runner, blueprint, ..
        } = &*self.partita;
        let mut jobs = Vec::new();
        for places in places.chunks(BATCH_GET_KEYS_MAX) {
            let items = runner.read_items(places).await?;
            for (place, item) in places.iter().zip(items) {
                let Some(item) = item else { continue };
                if place.table == blueprint.sidecar {
                    jobs.extend(self.partita.lost_job(place, &item, next)?);
                } else {
                    self.judge(&place.table, &item, found)?;
                }
            }
        }
        if jobs.is_empty() {
            Ok(())
        } else {
            Err(MigrationError::Jobs { jobs }.into())
        }
    }

    /// Looks at everything, and on the way at what is written where that is much. False if it was too
    /// much to note.
    async fn look_at_all(&self, next: &Blueprint) -> Result<bool, PlanError> {
        // An item that is written on the way is also among all, and is to be counted once.
        let (mut found, mut meanwhile) = (Obstructing::default(), Obstructing::default());
        for name in self.tables()? {
            let mut scan = Scan {
                consistent: true,
                ..Scan::new(name)
            };
            loop {
                let page = match self.partita.runner.scan(&scan).await {
                    Err(PlanError::Store(StoreError::TableNotFound { .. })) => break,
                    page => page?,
                };
                for item in &page.items {
                    self.judge(&scan.table, item, &mut found)?;
                }
                if self.written.has_more_than(WAITING_MAX) {
                    let Some(written) = self.written.take() else {
                        return Ok(false);
                    };
                    let written = written.into_iter().collect();
                    self.look_at(next, written, &mut meanwhile).await?;
                }
                match page.last_key {
                    None => break,
                    last_key => scan.start_after = last_key,
                }
            }
        }
        found.refuse()?;
        meanwhile.refuse()?;
        Ok(true)
    }

    /// The tables in which something may be in the way.
    fn tables(&self) -> Result<Vec<TableName>, PlanError> {
        let sought = self
            .sought
            .iter()
            .flat_map(|(union, _)| &union.design.tables);
        let newcomers = self.newcomers.iter().flat_map(Newcomers::tables);
        let names: BTreeSet<&str> = sought
            .chain(newcomers)
            .map(|one| one.name.as_str())
            .collect();
        let names = names.into_iter().map(|name| Ok(name.parse()?));
        names.collect()
    }

    fn judge(
        &self,
        name: &TableName,
        item: &Item,
        found: &mut Obstructing,
    ) -> Result<(), PlanError> {
        if let Some(newcomers) = &self.newcomers {
            newcomers.refuse(name, item)?;
        }
        let Some((union, judge)) = &self.sought else {
            return Ok(());
        };
        let mut tables = union.design.tables.iter().enumerate();
        let Some((at, table)) = tables.find(|(_, table)| table.name == name.as_str()) else {
            return Ok(());
        };
        let mut records = union.design.records.iter();
        let record = records.find(|record| {
            record.table.index() == at
                && record.is_marked(table, item)
                && record.attributes_of(table, item).is_some()
        });
        if let Some(record) = record
            && let Some(what) = judge(union, table, record, item)
        {
            found.count += 1;
            if found.items.len() < LISTED_MAX {
                found.items.push(line(table, record, item, &what));
            }
        }
        Ok(())
    }
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

fn in_the_way(union: &Union, table: &Table, record: &Record, item: &Item) -> Option<String> {
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
    let what = name.map(|name| format!("has `{name}` already, which the new design derives"));
    what.or_else(|| lost(union, table, record, item))
}

/// What an item would lose that comes under another key, because the design does not know it.
fn lost(union: &Union, table: &Table, record: &Record, item: &Item) -> Option<String> {
    union.aside.moved(record.id)?;
    let mut rest = item.clone();
    let stored = record.attributes.iter().filter(|one| !one.is_virtual);
    stored.for_each(|one| nested::remove(&mut rest, &one.name));
    let reserved = [
        Some(&table.partition),
        Some(&table.sort),
        table.discriminator.as_ref(),
    ];
    let reserved = reserved.into_iter().flatten().map(String::as_str);
    for name in reserved.chain(table.made_keys()) {
        rest.remove(name);
    }
    let is_inside = |name: &str| {
        let mut names = record.attributes.iter().map(|one| one.name.split_once('.'));
        names.any(|one| one.is_some_and(|(outer, _)| outer == name))
    };
    rest.retain(|name, value| !(is_inside(name) && is_hollow(value)));
    let (name, _) = rest.iter().next()?;
    Some(format!(
        "has something in `{name}` that the design does not list, and comes under another key"
    ))
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
