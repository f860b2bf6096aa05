//! What a table holds, as its design names it. It is kept in step with every committed write, so
//! that the generator knows which items there are, and the laws know what was there before a
//! write.
//!
//! Nothing here is the planner's: items are recognised by the templates of the design alone.

use std::collections::BTreeMap;

use partita_core::{Item, Map, Value};
use partita_design::Design;
use partita_design::design::Record;
use partita_design::design::record::UNIQUE_SORT;
use partita_design::template::{Format, dotted};
use partita_design::time::TimeForm;
use partita_design::types::AttributeType;

/// The parts of an identity, as paths spell them.
pub(crate) type Identity = Vec<String>;

/// An entity or a view.
pub(crate) type Shape<'d> = &'d Record;

/// Everything that a table holds.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) design: Design,
    records: BTreeMap<String, BTreeMap<Identity, Map>>,
    /// The guards of unique values, by their partition keys.
    pub(crate) guards: BTreeMap<String, Item>,
}

impl World {
    pub(crate) fn new(design: Design) -> World {
        World {
            design,
            records: BTreeMap::new(),
            guards: BTreeMap::new(),
        }
    }

    /// All records of an entity or a view.
    pub(crate) fn all(&self, record: &str) -> impl Iterator<Item = (&Identity, &Map)> + Clone {
        self.records.get(record).into_iter().flatten()
    }

    pub(crate) fn get(&self, record: &str, identity: &[String]) -> Option<&Map> {
        self.records.get(record)?.get(identity)
    }

    pub(crate) fn shape(&self, name: &str) -> Option<Shape<'_>> {
        self.design.find_record(name)
    }

    /// Which record a stored item is, and its attributes, those of its key too.
    pub(crate) fn recognise(&self, item: &Item) -> Option<(Shape<'_>, Map)> {
        self.design.records.iter().find_map(|shape| {
            let attributes = self.attributes(shape, item)?;
            Some((shape, attributes))
        })
    }

    fn attributes(&self, shape: Shape<'_>, item: &Item) -> Option<Map> {
        let table = &self.design.tables[0];
        let stored = table.discriminator.as_ref();
        let stored = stored.and_then(|name| item.get(name)?.as_str());
        if shape
            .discriminator
            .as_deref()
            .is_some_and(|own| stored != Some(own))
        {
            return None;
        }
        let mut attributes = item.clone();
        let (partition, sort) = (item.get(&table.partition)?, item.get(&table.sort)?);
        let templates = &shape.key;
        let partition = templates.partition.read(partition.as_str()?)?;
        let sort = templates.sort.read(sort.as_str()?)?;
        for (name, text) in partition.into_iter().chain(sort) {
            if nested(&attributes, &name).is_none() {
                let attribute = shape.attribute(&name);
                let kind = attribute.map_or(AttributeType::string(), |one| one.kind.clone());
                set_nested(&mut attributes, &name, kind.from_text(text).ok()?);
            }
        }
        Some(attributes)
    }

    /// Whether a stored item is the guard of a unique value.
    pub(crate) fn guard_key<'i>(&self, item: &'i Item) -> Option<&'i str> {
        let table = &self.design.tables[0];
        let is_guard = item.get(&table.sort)?.as_str() == Some(UNIQUE_SORT);
        let key = item.get(&table.partition)?.as_str()?;
        let guards = self.design.entities().flat_map(|one| &one.unique);
        let mut templates = guards.map(|guard| &guard.partition);
        (is_guard && templates.any(|template| template.read(key).is_some())).then_some(key)
    }

    /// Whether an item counts as missing because its time is over.
    pub(crate) fn is_over(&self, item: &Map, now_millis: i64) -> bool {
        is_over(self.design.tables[0].ttl.as_deref(), item, now_millis)
    }

    /// Forgets the guards, or everything else, whose time is over. Gives their keys.
    pub(crate) fn sweep(&mut self, guards: bool, now_millis: i64) -> Vec<Item> {
        let table = &self.design.tables[0];
        let key = |item: &Map| {
            let names = [&table.partition, &table.sort];
            let key = names.map(|name| (name.clone(), item[name].clone()));
            Item::from(key)
        };
        let mut swept = Vec::new();
        let mut is_left = |item: &Map| {
            let is_over = is_over(table.ttl.as_deref(), item, now_millis);
            swept.extend(is_over.then(|| key(item)));
            !is_over
        };
        if guards {
            self.guards.retain(|_, guard| is_left(guard));
        } else {
            for records in self.records.values_mut() {
                records.retain(|_, item| is_left(item));
            }
        }
        swept
    }

    pub(crate) fn put(&mut self, record: &str, identity: Identity, attributes: Map) {
        let records = self.records.entry(record.to_owned()).or_default();
        records.insert(identity, attributes);
    }

    pub(crate) fn remove(&mut self, record: &str, identity: &[String]) {
        if let Some(records) = self.records.get_mut(record) {
            records.remove(identity);
        }
    }
}

/// Whether the time of an item is over that expires by an attribute.
fn is_over(ttl: Option<&str>, item: &Map, now_millis: i64) -> bool {
    let until = ttl.and_then(|ttl| TimeForm::Epoch.read(item.get(ttl)?));
    until.is_some_and(|until| until < now_millis)
}

/// The identity that an item has.
pub(crate) fn identity_of(record: &Record, item: &Map) -> Option<Identity> {
    let parts = record.identity.iter();
    let texts = parts.map(|part| {
        let value = nested(item, &part.attribute)?;
        Format::Plain.text(value).ok()
    });
    texts.collect()
}

/// The value of an attribute whose name may have dots.
pub(crate) fn nested<'i>(item: &'i Map, name: &str) -> Option<&'i Value> {
    dotted(name).find(item)
}

/// Sets an attribute whose name may have dots.
pub(crate) fn set_nested(item: &mut Map, name: &str, value: Value) {
    match name.split_once('.') {
        None => {
            item.insert(name, value);
        }
        Some((first, rest)) => {
            let inner = item.get_or_insert_with(first, || Value::M(Map::new()));
            if let Value::M(inner) = inner {
                set_nested(inner, rest, value);
            }
        }
    }
}
