//! Where the records of a design are stored, and which record a stored item is.
//!
//! This reads the compiled design only. A record that is stored carries its keys and its
//! discriminator; its attributes are what remains, and what only its key holds.

use partita_core::expression::Scope;
use partita_core::{Item, Map, Value};
use partita_design::Design;
use partita_design::design::record::UNIQUE_SORT;
use partita_design::design::{Record, Table, Unique};
use partita_store::StoreResult;
use partita_store::request::ItemAddress;
use partita_store::table::TableName;

/// What a stored item is.
pub(crate) enum Stored<'d> {
    /// A record with these attributes.
    Record(&'d Record, Map),
    /// The guard of a unique value.
    Guard(&'d Record, &'d Unique),
    /// Nothing that the design speaks of.
    Stranger,
    /// An item of another program, which the table says to ignore.
    Foreign,
}

/// A design and its tables.
pub(crate) struct Layout<'d> {
    pub(crate) design: &'d Design,
    tables: Vec<(TableName, &'d Table)>,
}

impl<'d> Layout<'d> {
    pub(crate) fn new(design: &'d Design) -> StoreResult<Layout<'d>> {
        let tables = design.tables.iter();
        let tables = tables.map(|table| Ok((table.name.parse()?, table)));
        Ok(Layout {
            design,
            tables: tables.collect::<StoreResult<_>>()?,
        })
    }

    /// The names of the tables in the store.
    pub(crate) fn names(&self) -> impl Iterator<Item = &TableName> {
        self.tables.iter().map(|(name, _)| name)
    }

    /// The table of that name in the store.
    pub(crate) fn table(&self, name: &TableName) -> Option<&'d Table> {
        let found = self.tables.iter().find(|(known, _)| known == name);
        found.map(|(_, table)| *table)
    }

    /// The attribute by which the store lets items of a table expire.
    pub(crate) fn ttl(&self, name: &TableName) -> Option<&'d str> {
        self.table(name)?.ttl.as_deref()
    }

    /// The table that a record lives in.
    fn home(&self, record: &Record) -> &(TableName, &'d Table) {
        &self.tables[record.table.index()]
    }

    /// The address of a record; none while a part of its key is missing or cannot be one.
    pub(crate) fn address(&self, record: &'d Record, scope: &impl Scope) -> Option<ItemAddress> {
        let (name, table) = self.home(record);
        let (partition, sort) = record.key.render(scope).ok()??;
        Some(ItemAddress {
            table: name.clone(),
            key: Item::from([
                (table.partition.clone(), Value::S(partition)),
                (table.sort.clone(), Value::S(sort)),
            ]),
        })
    }

    /// The address of the guard of an item's value; none while a part of the value is missing.
    pub(crate) fn guard(
        &self,
        entity: &Record,
        unique: &Unique,
        scope: &impl Scope,
    ) -> Option<ItemAddress> {
        let (name, table) = self.home(entity);
        let partition = unique.partition.key(scope).ok()??;
        Some(ItemAddress {
            table: name.clone(),
            key: Item::from([
                (table.partition.clone(), Value::S(partition)),
                (table.sort.clone(), Value::from(UNIQUE_SORT)),
            ]),
        })
    }

    /// Whether an item holds only what guards of an entity hold: its key, the identity of an owner,
    /// and when that expires.
    pub(crate) fn is_only_guard(&self, entity: &'d Record, item: &Item) -> bool {
        let (_, table) = self.home(entity);
        let root = |name: &'d str| name.split('.').next().unwrap_or(name);
        let parts = entity.identity.iter().map(|part| part.attribute.as_str());
        let held: Vec<&str> = parts.chain(self.expiry(entity)).map(root).collect();
        let is_key = |name: &str| name == table.partition || name == table.sort;
        item.keys()
            .all(|name| is_key(name.as_str()) || held.contains(&name.as_str()))
    }

    /// The attribute that says when items of an entity expire.
    pub(crate) fn expiry(&self, entity: &'d Record) -> Option<&'d str> {
        let ttl = self.home(entity).1.ttl.as_deref()?;
        let expiry = entity.expiry()?;
        (expiry.name == ttl).then_some(expiry.name.as_str())
    }

    /// The address of a stored item.
    pub(crate) fn address_of(&self, table: &TableName, item: &Item) -> Option<ItemAddress> {
        let layout = self.table(table)?;
        let names = [&layout.partition, &layout.sort];
        let key = names.map(|name| Some((name.clone(), item.get(name)?.clone())));
        Some(ItemAddress {
            table: table.clone(),
            key: key.into_iter().collect::<Option<_>>()?,
        })
    }

    /// What a stored item is.
    pub(crate) fn recognise(&self, name: &TableName, item: &Item) -> Stored<'d> {
        let Some(table) = self.table(name) else {
            return Stored::Stranger;
        };
        let partition = item.get(&table.partition).and_then(Value::as_str);
        if partition.is_some_and(|partition| table.ignores(partition)) {
            return Stored::Foreign;
        }
        let records = self.design.records.iter();
        let records = records.filter(|record| self.home(record).0 == *name);
        if let Some(found) = records
            .clone()
            .find_map(|record| guard_of(table, record, item))
        {
            return found;
        }
        let mut marked = records.filter(|record| record.is_marked(table, item));
        let found = marked.find_map(|record| Some((record, attributes(table, record, item)?)));
        found.map_or(Stored::Stranger, |(record, attributes)| {
            Stored::Record(record, attributes)
        })
    }

    /// The attributes of an item that is stored where such a record is.
    pub(crate) fn attributes(
        &self,
        record: &'d Record,
        name: &TableName,
        item: &Item,
    ) -> Option<Map> {
        attributes(self.table(name)?, record, item)
    }

    /// The keys that a record has in the indexes. An index has all of its keys or none; where
    /// two share one, the first that has it gives it.
    pub(crate) fn index_keys(&self, record: &'d Record, scope: &impl Scope) -> Map {
        let mut keys = Map::new();
        for index in &record.indexes {
            let made = self.design.index_keys(record, index, scope);
            for (name, text) in made.unwrap_or_default() {
                keys.get_or_insert_with(name, || Value::S(text));
            }
        }
        keys
    }

    /// The names of all keys that are made for the indexes of a table.
    pub(crate) fn made_keys(&self, table: &TableName) -> impl Iterator<Item = &'d str> {
        self.table(table).into_iter().flat_map(Table::made_keys)
    }
}

fn guard_of<'d>(table: &Table, entity: &'d Record, item: &Item) -> Option<Stored<'d>> {
    let mark = table.discriminator.as_deref();
    let is_marked = mark.is_some_and(|name| item.contains_key(name));
    if is_marked || item.get(&table.sort)?.as_str()? != UNIQUE_SORT {
        return None;
    }
    let partition = item.get(&table.partition)?.as_str()?;
    let mut guards = entity.unique.iter();
    let found = guards.find(|unique| unique.partition.read(partition).is_some())?;
    Some(Stored::Guard(entity, found))
}

/// What a stored item holds beside its keys and its discriminator, and in its key; `None` if its
/// key is not that of such a record.
fn attributes(table: &Table, record: &Record, item: &Item) -> Option<Map> {
    let mut attributes = record.attributes_of(table, item)?;
    if let Some(mark) = &table.discriminator {
        attributes.remove(mark);
    }
    Some(attributes)
}
