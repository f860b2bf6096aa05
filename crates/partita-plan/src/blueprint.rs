//! A design, ready to be planned with: stored items to records and back.
//!
//! In memory an item is the map of its attributes, with those that are stored only inside its
//! key; in the table it has its keys and its discriminator instead.

use std::str::FromStr as _;

use partita_core::expression::{Path, Scope};
use partita_core::key::KeyType;
use partita_core::{Item, Map, Type, Value};
use partita_design::design::record::UNIQUE_SORT;
use partita_design::design::{
    Action, Attribute, Index, IndexKey, Pattern, Projection, Record, RecordId, RecordIndex, Table,
    TableId,
};
use partita_design::kernel::Reaction;
use partita_design::nested;
use partita_design::template::{PartError, Template};
use partita_design::union::{Aside, Demand, Union};
use partita_design::{Design, Occupant, occupant};
use partita_store::StoreError;
use partita_store::index::{IndexKind, IndexProjection, IndexSchema};
use partita_store::request::TransactAction;
use partita_store::table::{KeyAttribute, KeySchema, TableName, TableSchema};

use crate::error::{Fault, FaultRule, PlanError};
use crate::migration::Stage;
use crate::missing_target::MissingTargets;
use crate::operation;
use crate::place::{Address, KeyNames, Place};
use crate::shown::ShownForm;
use crate::sidecar;

/// A design, and the tables that it lives in.
pub(crate) struct Blueprint {
    /// What writes are planned with: the served design, or its union with another one. Some of its
    /// attributes may have interim names.
    pub(crate) design: Design,
    /// The design that callers know.
    pub(crate) served: Design,
    /// What is beside the served design, while a migration runs.
    pub(crate) beside: Option<Beside>,
    /// The union with a design that is no longer planned with, while what it left is removed.
    pub(crate) fading: Option<Box<Union>>,
    pub(crate) missing_targets: MissingTargets,
    /// What readers are shown of the items of each record, in their order.
    pub(crate) shown: Vec<ShownForm>,
    /// The design's tables in the store, in their order.
    pub(crate) tables: Vec<TableName>,
    /// The table of what is not the design's: one, however many tables the design has.
    pub(crate) sidecar: TableName,
    /// What the keys of all of these are called.
    pub(crate) keys: KeyNames,
    /// Whether the objects that items name are kept here.
    pub(crate) keeps_files: bool,
}

/// What is kept beside a served design for another one.
pub(crate) struct Beside {
    pub(crate) aside: Aside,
    /// What the new design demands of items beyond the served one, until it is served.
    pub(crate) demands: Vec<Demand>,
    /// Defaults of the served design that items have from now on, because the new one has others.
    pub(crate) settled: Vec<(RecordId, String)>,
    /// The number of the migration.
    pub(crate) migration: u64,
    /// How far it is.
    pub(crate) stage: Stage,
    /// A mistake that tests must notice.
    #[cfg(test)]
    pub(crate) mistake: Option<crate::migration::Mistake>,
}

impl Blueprint {
    pub(crate) fn new(design: Design) -> Result<Self, PlanError> {
        Blueprint::of(design, None)
    }

    /// The served design by itself, or its union with another one.
    pub(crate) fn of(design: Design, beside: Option<Beside>) -> Result<Self, PlanError> {
        let tables = design.tables.iter();
        let tables: Result<Vec<_>, _> = tables
            .map(|table| TableName::from_str(&table.name))
            .collect();
        let tables = tables?;
        let sidecar = sidecar::name(&design)?;
        check_apart(&design, &sidecar)?;
        let names = tables.iter().cloned();
        let keys = design.tables.iter();
        let keys = keys.map(|table| [table.partition.clone(), table.sort.clone()]);
        let aside = [sidecar::PARTITION, sidecar::SORT].map(str::to_owned);
        let keys = names.zip(keys).chain([(sidecar.clone(), aside)]);
        let records = design.records.iter();
        let shown = records.map(|record| ShownForm::of(&design, record));
        Ok(Blueprint {
            shown: shown.collect(),
            keys: KeyNames::new(keys),
            missing_targets: MissingTargets::of(&design),
            served: design.clone(),
            design,
            beside,
            fading: None,
            tables,
            sidecar,
            keeps_files: false,
        })
    }

    /// The design that callers know.
    pub(crate) fn served(&self) -> &Design {
        &self.served
    }

    #[cfg(test)]
    pub(crate) fn has(&self, mistake: crate::migration::Mistake) -> bool {
        let beside = self.beside.as_ref();
        beside.is_some_and(|beside| beside.mistake == Some(mistake))
    }

    /// Whether a record is only another design's, so that callers cannot name it.
    pub(crate) fn is_aside(&self, record: &Record) -> bool {
        let beside = self.beside.as_ref();
        beside.is_some_and(|beside| beside.aside.has_record(record.id))
    }

    /// Whether an attribute is only another design's.
    pub(crate) fn is_aside_attribute(&self, record: &Record, name: &str) -> bool {
        let beside = self.beside.as_ref();
        beside.is_some_and(|beside| beside.aside.has_attribute(record, name))
    }

    /// Whether two states of an item are the same to the served design.
    pub(crate) fn is_same_served(&self, record: &Record, one: &Map, two: &Map) -> bool {
        let Some(beside) = &self.beside else {
            return one == two;
        };
        let without = |item: &Map| {
            let mut item = item.clone();
            let aside = beside.aside.attributes(record).iter();
            aside.for_each(|one| nested::remove(&mut item, &one.name));
            let maps = beside.aside.maps(record);
            item.retain(|name, _| !maps.contains(name.as_str()));
            item
        };
        one == two || without(one) == without(two)
    }

    /// What is kept for another design while items may still lack it.
    pub(crate) fn filling(&self) -> Option<&Beside> {
        let beside = self.beside.as_ref();
        beside.filter(|beside| beside.stage.is_filling())
    }

    /// What a migration demands beyond the served design, in front of what is wrong.
    pub(crate) fn demanded(&self) -> String {
        let beside = self.beside.as_ref();
        let (number, stage) = beside.map_or((0, ""), |one| (one.migration, one.stage.word()));
        format!("does not fit the design of migration {number}, which is {stage}: it ")
    }

    /// Whether what a reaction keeps may still be missing.
    pub(crate) fn is_filled_by(&self, reaction: &Reaction) -> bool {
        let filling = self.filling();
        filling.is_some_and(|beside| beside.aside.has_reaction(reaction))
    }

    /// All tables, each with its name in the store.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (&Table, &TableName)> {
        self.design.tables.iter().zip(&self.tables)
    }

    /// The table that a record lives in.
    pub(crate) fn table_of(&self, record: &Record) -> (&Table, &TableName) {
        self.table(record.table)
    }

    /// A table, and its name in the store.
    pub(crate) fn table(&self, table: TableId) -> (&Table, &TableName) {
        (&self.design[table], &self.tables[table.index()])
    }

    pub(crate) fn entity(&self, name: &str) -> Result<&Record, PlanError> {
        let found = self.design.find_entity(name);
        let found = found.filter(|record| !self.is_aside(record));
        found.ok_or_else(|| PlanError::UnknownEntity {
            name: name.to_owned(),
        })
    }

    /// The entity or view of that name.
    pub(crate) fn named_record(&self, name: &str) -> Result<&Record, PlanError> {
        let found = self.design.find_record(name);
        let found = found.filter(|record| !self.is_aside(record));
        found.ok_or_else(|| PlanError::UnknownEntity {
            name: name.to_owned(),
        })
    }

    pub(crate) fn pattern(&self, name: &str) -> Result<&Pattern, PlanError> {
        let found = self.design.find_pattern(name);
        found.ok_or_else(|| PlanError::UnknownPattern {
            name: name.to_owned(),
        })
    }

    pub(crate) fn action(&self, name: &str) -> Result<&Action, PlanError> {
        let found = self.design.find_action(name);
        found.ok_or_else(|| PlanError::UnknownAction {
            name: name.to_owned(),
        })
    }

    /// The path of the partition key, which every existing item of a record's table has.
    pub(crate) fn partition(&self, record: &Record) -> Path {
        Path::attribute(&self.table_of(record).0.partition)
    }

    /// The address of a record with these attributes.
    pub(crate) fn address(
        &self,
        record: &Record,
        scope: &impl Scope,
    ) -> Result<Address, PlanError> {
        match record.key.parts(scope)? {
            (Some(partition), Some(sort)) => {
                self.check_no_guard(record, &partition, &sort)?;
                let (_, table) = self.table_of(record);
                Ok(Place::address(table, partition, sort))
            }
            (partition, sort) => Err(incomplete(record, partition.is_none(), sort.is_none())),
        }
    }

    /// Refuses a record in the place of a guard, where it would take a value or give it away.
    /// `check` refuses designs that could spell such a key.
    fn check_no_guard(
        &self,
        record: &Record,
        partition: &str,
        sort: &str,
    ) -> Result<(), PlanError> {
        if sort != UNIQUE_SORT {
            return Ok(());
        }
        let table = &self.design[record.table].name;
        let Some(Occupant::Guard { entity }) = occupant(&self.design, table, partition, sort)
        else {
            return Ok(());
        };
        let parts = record.identity.iter().map(|part| part.name.as_str());
        let parts = parts.collect::<Vec<_>>().join("/");
        let message = format!("is the key of a guard of `{}`", entity.name);
        Err(PlanError::Invalid {
            faults: vec![Fault::of(&record.name, parts, FaultRule::KeyPart, message)],
        })
    }

    /// The address that an action writes to.
    pub(crate) fn place_of(&self, action: &TransactAction) -> Address {
        let item = match action {
            TransactAction::Put(put) => &put.item,
            TransactAction::Update(update) => &update.key,
            TransactAction::Delete(delete) => &delete.key,
            TransactAction::Check(check) => &check.key,
        };
        self.keys.place(action.table(), item)
    }

    /// The attribute that says when items of a record expire.
    pub(crate) fn expiry<'d>(&self, record: &'d Record) -> Option<&'d Attribute> {
        let ttl = self.table_of(record).0.ttl.as_deref()?;
        let expiry = record.stored(ttl);
        expiry.filter(|one| !one.key_only && !one.is_virtual)
    }

    /// A record as it is stored, with keys and discriminator.
    pub(crate) fn stored(&self, record: &Record, place: &Place, attributes: Map) -> Item {
        let mut item = attributes;
        let key_only = record.attributes.iter().filter(|one| one.key_only);
        key_only.for_each(|one| drop(item.remove(&one.name)));
        self.keys.put_key(place, &mut item);
        let (table, _) = self.table_of(record);
        if let (Some(name), Some(value)) = (&table.discriminator, record.discriminator.as_deref()) {
            item.insert(name.as_str(), Value::from(value));
        }
        item
    }

    /// The keys of a record in one index; none while a part of one is missing.
    pub(crate) fn index_keys(
        &self,
        record: &Record,
        index: &RecordIndex,
        scope: &impl Scope,
    ) -> Result<Vec<(&str, String)>, PartError> {
        self.design.index_keys(record, index, scope)
    }

    /// The names of an index's keys that are made for it.
    pub(crate) fn made_keys(
        &self,
        record: &Record,
        index: &RecordIndex,
    ) -> impl Iterator<Item = &str> {
        self.design.index_of(record, index.index).made_keys()
    }

    /// Whether an attribute of a record is one that Partita keeps for itself.
    pub(crate) fn is_reserved(&self, record: &Record, name: &str) -> bool {
        let (table, _) = self.table_of(record);
        let names = [&table.discriminator, &table.ttl];
        names.iter().any(|one| one.as_deref() == Some(name)) || table.is_key(name)
    }

    /// What readers are shown of a record's items.
    pub(crate) fn shown_form(&self, record: &Record) -> &ShownForm {
        &self.shown[record.id.index()]
    }

    /// Takes out of an item what nobody is shown: what its record does not list, unless that is
    /// open, and what a design has left that is no longer planned with.
    pub(crate) fn retain_listed(&self, record: &Record, item: &mut Map) {
        if let Some(listed) = &self.shown_form(record).listed {
            return listed.retain(item);
        }
        let Some(union) = &self.fading else { return };
        for attribute in union.aside.attributes(&union.design[record.id]) {
            nested::remove(item, &attribute.name);
        }
        for (position, table) in union.design.tables.iter().enumerate() {
            let indexes = union.aside.indexes(table, position).iter();
            for key in indexes.flat_map(Index::made_keys) {
                item.remove(key);
            }
        }
    }

    /// The attributes of a stored item of this record.
    pub(crate) fn attributes(&self, record: &Record, item: &Item) -> Result<Map, PlanError> {
        record
            .attributes_of(self.table_of(record).0, item)
            .ok_or_else(|| {
                PlanError::Store(StoreError::Corrupt {
                    message: format!("an item has a key of `{}` but not its form", &record.name),
                })
            })
    }

    /// The first of the named records that a stored item is.
    pub(crate) fn recognise(&self, records: &[RecordId], item: &Item) -> Option<(&Record, Map)> {
        records.iter().find_map(|record| {
            let record = &self.design[*record];
            let (table, _) = self.table_of(record);
            let is_marked = record.is_marked(table, item);
            let attributes = is_marked.then(|| record.attributes_of(table, item))??;
            Some((record, attributes))
        })
    }

    /// What is stored of a record beside its primary key and its discriminator, with its keys in
    /// indexes.
    pub(crate) fn without_keys(&self, record: &Record, item: &Item) -> Map {
        let (table, _) = self.table_of(record);
        let mut attributes = item.clone();
        attributes.remove(&table.partition);
        attributes.remove(&table.sort);
        if let Some(name) = &table.discriminator {
            attributes.remove(name);
        }
        attributes
    }

    /// A record as callers see it, with its discriminator.
    pub(crate) fn record(&self, record: &Record, mut attributes: Map) -> operation::Record {
        let (table, _) = self.table_of(record);
        if let (Some(name), Some(value)) = (&table.discriminator, record.discriminator.as_deref()) {
            attributes.insert(name.as_str(), Value::from(value));
        }
        operation::Record {
            name: record.name.clone(),
            attributes,
        }
    }
}

/// That a key cannot be made, because it has parts that are missing.
fn incomplete(record: &Record, lacks_partition: bool, lacks_sort: bool) -> PlanError {
    let templates = &record.key;
    let partition = lacks_partition.then_some(&templates.partition);
    let sort = lacks_sort.then_some(&templates.sort);
    let names = partition.into_iter().chain(sort).flat_map(Template::names);
    let faults = names.map(|name| {
        let message = "is part of the key and is missing";
        Fault::of(&record.name, name, FaultRule::Required, message)
    });
    PlanError::Invalid {
        faults: faults.collect(),
    }
}

/// Two tables of one name in the store would be one, with the items of both mixed up.
fn check_apart(design: &Design, sidecar: &TableName) -> Result<(), PlanError> {
    let mut names: Vec<&str> = vec![sidecar.as_str()];
    for table in &design.tables {
        let name = table.name.as_str();
        if names.contains(&name) {
            let design = &design.name;
            let message = format!("two tables of `{design}` are called `{name}`; rename one");
            return Err(PlanError::Store(StoreError::validation(message)));
        }
        names.push(name);
    }
    Ok(())
}

/// The keys and indexes of a table.
pub(crate) fn schema(table: &Table) -> Result<TableSchema, PlanError> {
    let indexes: Result<_, PlanError> = table.indexes.iter().map(index_schema).collect();
    Ok(TableSchema {
        key: KeySchema::strings(&table.partition, &table.sort),
        indexes: indexes?,
    })
}

pub(crate) fn index_schema(
    index: &partita_design::design::Index,
) -> Result<IndexSchema, PlanError> {
    let keys = |keys: &mut dyn Iterator<Item = &IndexKey>| -> Result<Vec<KeyAttribute>, PlanError> {
        keys.map(key_attribute).collect()
    };
    Ok(IndexSchema {
        name: index.name.clone(),
        kind: IndexKind::Global,
        partition: keys(&mut std::iter::once(&index.partition))?,
        sort: keys(&mut index.sort.iter())?,
        projection: match &index.projection {
            Projection::All => IndexProjection::All,
            Projection::KeysOnly => IndexProjection::KeysOnly,
            Projection::Include(names) => IndexProjection::Include(names.clone()),
        },
    })
}

fn key_attribute(key: &IndexKey) -> Result<KeyAttribute, PlanError> {
    let kind = match key.kind {
        Type::S => KeyType::S,
        Type::N => KeyType::N,
        Type::B => KeyType::B,
        other => {
            let name = &key.name;
            let message = format!("`{name}` is of the type {other}, which no key can have");
            return Err(PlanError::Store(StoreError::validation(message)));
        }
    };
    Ok(KeyAttribute {
        name: key.name.clone(),
        kind,
    })
}
