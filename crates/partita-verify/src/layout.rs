//! Where the records of a design are stored, and which record a stored item is.
//!
//! This reads the compiled design only. A record that is stored carries its keys and its
//! discriminator; its attributes are what remains, and what only its key holds.

use partita_core::expression::Scope;
use partita_core::{Item, Map, Value};
use partita_design::Design;
use partita_design::design::entity::UNIQUE_SORT;
use partita_design::design::{
    Attribute, Entity, IdentityPart, Index, KeyTemplates, KeyValue, RecordIndex, RecordName, Ref,
    Source, Table, Unique, View, ViewAttribute,
};
use partita_design::types::AttributeType;
use partita_store::StoreResult;
use partita_store::request::ItemAddress;
use partita_store::table::TableName;

use crate::nested;

/// An entity, or a view and the entity that it is derived from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Record<'d> {
    Entity(&'d Entity),
    View(&'d View, &'d Entity),
}

/// What a stored item is.
pub(crate) enum Stored<'d> {
    /// A record with these attributes.
    Record(Record<'d>, Map),
    /// The guard of a unique value.
    Guard(&'d Entity, &'d Unique),
    /// Nothing that the design speaks of.
    Stranger,
}

/// A design and its tables.
pub(crate) struct Layout<'d> {
    pub(crate) design: &'d Design,
    tables: Vec<(TableName, &'d Table)>,
}

impl<'d> Record<'d> {
    pub(crate) fn name(self) -> &'d str {
        match self {
            Record::Entity(entity) => &entity.name,
            Record::View(view, _) => &view.name,
        }
    }

    pub(crate) fn is(self, name: &RecordName) -> bool {
        match (self, name) {
            (Record::Entity(entity), RecordName::Entity(name)) => entity.name == *name,
            (Record::View(view, _), RecordName::View(name)) => view.name == *name,
            _ => false,
        }
    }

    /// The entity, or the one that the view is derived from.
    pub(crate) fn source(self) -> &'d Entity {
        match self {
            Record::Entity(entity) | Record::View(_, entity) => entity,
        }
    }

    pub(crate) fn key(self) -> &'d KeyTemplates {
        match self {
            Record::Entity(entity) => &entity.key,
            Record::View(view, _) => &view.key,
        }
    }

    pub(crate) fn indexes(self) -> &'d [RecordIndex] {
        match self {
            Record::Entity(entity) => &entity.indexes,
            Record::View(view, _) => &view.indexes,
        }
    }

    pub(crate) fn identity(self) -> &'d [IdentityPart] {
        match self {
            Record::Entity(entity) => &entity.identity,
            Record::View(view, _) => &view.identity,
        }
    }

    pub(crate) fn refs(self) -> &'d [Ref] {
        match self {
            Record::Entity(entity) => &entity.refs,
            Record::View(..) => &[],
        }
    }

    pub(crate) fn discriminator(self) -> Option<&'d str> {
        match self {
            Record::Entity(entity) => entity.discriminator.as_deref(),
            Record::View(view, _) => view.discriminator.as_deref(),
        }
    }

    /// The declared attribute of that stored name; what a view keeps is its source's.
    pub(crate) fn attribute(self, name: &str) -> Option<&'d Attribute> {
        if let Record::View(view, _) = self {
            match view.attributes.iter().find(|one| one.name() == name) {
                Some(ViewAttribute::Own(own)) => return Some(&**own),
                Some(ViewAttribute::Derived { .. }) => return None,
                None => {}
            }
        }
        let mut attributes = self.source().attributes.iter();
        attributes.find(|one| one.name == name)
    }

    /// What the attribute of that stored name may hold.
    pub(crate) fn kind(self, name: &str) -> Option<&'d AttributeType> {
        if let Record::View(view, _) = self
            && let Some(own) = view.attributes.iter().find(|one| one.name() == name)
        {
            return Some(own.kind());
        }
        self.attribute(name).map(|attribute| &attribute.kind)
    }

    /// Whether the item is soft-deleted. A view's record exists or does not.
    pub(crate) fn is_deleted(self, item: &Map) -> bool {
        match self {
            Record::Entity(entity) => {
                let soft_delete = entity.soft_delete.as_ref();
                soft_delete.is_some_and(|soft_delete| soft_delete.is_deleted(item))
            }
            Record::View(..) => false,
        }
    }
}

/// Whether an attribute is a number that begins with 0.
pub(crate) fn begins_with_zero(attribute: &Attribute) -> bool {
    attribute.kind == AttributeType::Counter || matches!(attribute.source, Source::Aggregate(_))
}

impl<'d> Layout<'d> {
    pub(crate) fn new(design: &'d Design) -> StoreResult<Layout<'d>> {
        let tables = design.tables();
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

    /// The name of the table that a record lives in.
    pub(crate) fn table_of(&self, record: Record<'d>) -> Option<&TableName> {
        self.home(record.source()).map(|(name, _)| name)
    }

    /// The table that a record lives in; views stand beside their sources.
    fn home(&self, entity: &Entity) -> Option<&(TableName, &'d Table)> {
        let home = self.design.table_of(entity);
        self.tables.iter().find(|(_, table)| table.id == home.id)
    }

    pub(crate) fn record(&self, name: &RecordName) -> Option<Record<'d>> {
        match name {
            RecordName::Entity(name) => self.design.entity(name).map(Record::Entity),
            RecordName::View(name) => {
                let view = self.design.view(name)?;
                Some(Record::View(view, self.design.entity(&view.of)?))
            }
        }
    }

    /// The address of a record; none while a part of its key is missing or cannot be one.
    pub(crate) fn address(&self, record: Record<'d>, scope: &impl Scope) -> Option<ItemAddress> {
        let (name, table) = self.home(record.source())?;
        let partition = record.key().partition.key(scope).ok()??;
        let sort = record.key().sort.key(scope).ok()??;
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
        entity: &Entity,
        unique: &Unique,
        scope: &impl Scope,
    ) -> Option<ItemAddress> {
        let (name, table) = self.home(entity)?;
        let partition = unique.partition.key(scope).ok()??;
        Some(ItemAddress {
            table: name.clone(),
            key: Item::from([
                (table.partition.clone(), Value::S(partition)),
                (table.sort.clone(), Value::from(UNIQUE_SORT)),
            ]),
        })
    }

    /// The attribute that says when items of an entity expire.
    pub(crate) fn expiry(&self, entity: &'d Entity) -> Option<&'d str> {
        let ttl = self.home(entity)?.1.ttl.as_deref()?;
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
        let is_here = |entity: &Entity| self.home(entity).is_some_and(|(known, _)| known == name);
        let entities = self.design.entities.iter();
        let entities = entities.filter(|entity| is_here(entity));
        if let Some(found) = entities
            .clone()
            .find_map(|entity| guard_of(table, entity, item))
        {
            return found;
        }
        let views = self.design.views.iter();
        let views = views.filter_map(|view| {
            let source = self.design.entity(&view.of)?;
            is_here(source).then_some(Record::View(view, source))
        });
        for record in entities.map(Record::Entity).chain(views) {
            let mark = table.discriminator.as_ref();
            let is_marked = mark.is_none_or(|mark| {
                item.get(mark).and_then(Value::as_str) == record.discriminator()
            });
            if let (true, Some(attributes)) = (is_marked, attributes(table, record, item)) {
                return Stored::Record(record, attributes);
            }
        }
        Stored::Stranger
    }

    /// The attributes of an item that is stored where such a record is.
    pub(crate) fn attributes(
        &self,
        record: Record<'d>,
        name: &TableName,
        item: &Item,
    ) -> Option<Map> {
        attributes(self.table(name)?, record, item)
    }

    /// The index of that name, in the table of a record.
    pub(crate) fn index(&self, record: Record<'d>, name: &str) -> Option<&'d Index> {
        let (_, table) = self.home(record.source())?;
        table.indexes.iter().find(|index| index.name == name)
    }

    /// The keys that a record has in the indexes. An index has all of its keys or none; where
    /// two share one, the first that has it gives it.
    pub(crate) fn index_keys(&self, record: Record<'d>, scope: &impl Scope) -> Map {
        let mut keys = Map::new();
        for index in record.indexes() {
            let Some(schema) = self.index(record, &index.index) else {
                continue;
            };
            let sides = [
                (Some(&schema.partition), Some(&index.partition)),
                (schema.sort.as_ref(), index.sort.as_ref()),
            ];
            let made = sides.into_iter().filter_map(|(key, value)| match value? {
                KeyValue::Native(_) => None,
                KeyValue::Cases(cases) => {
                    let holds = |when: &partita_design::expression::Predicate| when.holds(scope);
                    let case = cases
                        .iter()
                        .find(|case| case.when.as_ref().is_none_or(holds));
                    let text = case.and_then(|case| case.is.key(scope).ok().flatten());
                    Some((key?.name.clone(), text))
                }
            });
            let made: Vec<(String, Option<String>)> = made.collect();
            if made.iter().all(|(_, text)| text.is_some()) {
                for (name, text) in made {
                    keys.get_or_insert_with(&name, || Value::S(text.unwrap_or_default()));
                }
            }
        }
        keys
    }

    /// The names of all keys that are made for the indexes of a table.
    pub(crate) fn made_keys(&self, table: &TableName) -> impl Iterator<Item = &'d str> {
        let indexes = self.table(table).into_iter().flat_map(|one| &one.indexes);
        indexes.flat_map(made_keys)
    }
}

/// The names of the keys that are made for an index.
pub(crate) fn made_keys(index: &Index) -> impl Iterator<Item = &str> {
    let keys = std::iter::once(&index.partition).chain(&index.sort);
    keys.filter(|key| !key.native).map(|key| key.name.as_str())
}

fn guard_of<'d>(table: &Table, entity: &'d Entity, item: &Item) -> Option<Stored<'d>> {
    if item.get(&table.sort)?.as_str()? != UNIQUE_SORT {
        return None;
    }
    let partition = item.get(&table.partition)?.as_str()?;
    let mut guards = entity.unique.iter();
    let found = guards.find(|unique| unique.partition.read(partition).is_some())?;
    Some(Stored::Guard(entity, found))
}

/// What a stored item holds beside its keys and its discriminator, and in its key; `None` if its
/// key is not that of such a record.
fn attributes(table: &Table, record: Record<'_>, item: &Item) -> Option<Map> {
    let templates = record.key();
    let partition = item.get(&table.partition)?.as_str()?;
    let sort = item.get(&table.sort)?.as_str()?;
    let parts = [
        templates.partition.read(partition)?,
        templates.sort.read(sort)?,
    ];
    let is_kept = |name: &str| {
        let is_key = name == table.partition || name == table.sort;
        let mut made = table.indexes.iter().flat_map(made_keys);
        !is_key && table.discriminator.as_deref() != Some(name) && made.all(|key| key != name)
    };
    let kept = item.iter().filter(|(name, _)| is_kept(name));
    let mut attributes: Map = kept
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    for (name, text) in parts.into_iter().flatten() {
        if nested::get(&attributes, &name).is_some() {
            continue;
        }
        let value = match record.kind(&name) {
            Some(kind) => kind.from_text(text).ok()?,
            // An element of a view's list has no type of its own.
            None => Value::from(text),
        };
        nested::set(&mut attributes, &name, value);
    }
    Some(attributes)
}
