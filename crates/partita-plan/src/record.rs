//! Stored items to records and back.
//!
//! In memory an item is the map of its attributes, with those that are stored only inside its
//! key; in the table it has its keys and its discriminator instead.

use std::str::FromStr as _;

use partita_core::{Item, Map, Value};
use partita_design::Design;
use partita_design::design::{Entity, KeyTemplates, RecordName, View};
use partita_store::StoreError;
use partita_store::request::ItemAddress;
use partita_store::table::{KeySchema, TableName};

use crate::error::{Fault, PlanError};
use crate::operation::Record;
use crate::support;

/// A design and the table that it lives in.
pub(crate) struct Blueprint {
    pub(crate) design: Design,
    pub(crate) table: TableName,
}

impl Blueprint {
    pub(crate) fn new(design: Design) -> Result<Self, PlanError> {
        support::check(&design)?;
        let table = TableName::from_str(&design.table.name)?;
        Ok(Blueprint { design, table })
    }

    /// The keys of the table.
    pub(crate) fn schema(&self) -> KeySchema {
        let table = &self.design.table;
        KeySchema::strings(&table.partition, &table.sort)
    }

    pub(crate) fn entity(&self, name: &str) -> Result<&Entity, PlanError> {
        let found = self.design.entity(name);
        found.ok_or_else(|| PlanError::UnknownEntity {
            name: name.to_owned(),
        })
    }

    /// The address that templates give for these attributes.
    pub(crate) fn address(
        &self,
        templates: &KeyTemplates,
        attributes: &Map,
    ) -> Result<ItemAddress, PlanError> {
        let mut key = Item::new();
        let names = [&self.design.table.partition, &self.design.table.sort];
        for (name, template) in names
            .into_iter()
            .zip([&templates.partition, &templates.sort])
        {
            let rendered = template.key(attributes)?;
            let text = rendered.ok_or_else(|| PlanError::Invalid {
                faults: template
                    .names()
                    .filter(|name| !attributes.contains_key(name))
                    .map(|name| Fault::new(name, "is part of the key and is missing"))
                    .collect(),
            })?;
            key.insert(name.clone(), Value::S(text));
        }
        Ok(ItemAddress {
            table: self.table.clone(),
            key,
        })
    }

    /// An entity's attributes as they are stored, with keys and discriminator.
    pub(crate) fn entity_item(&self, entity: &Entity, attributes: &Map) -> Result<Item, PlanError> {
        let mut item = self.address(&entity.key, attributes)?.key;
        let key_only = |name: &str| entity.attribute(name).is_some_and(|known| known.key_only);
        for (name, value) in attributes.iter().filter(|(name, _)| !key_only(name)) {
            item.insert(name.clone(), value.clone());
        }
        self.mark(&mut item, entity.discriminator.as_deref());
        Ok(item)
    }

    /// A view's record of these attributes.
    pub(crate) fn view_item(&self, view: &View, attributes: &Map) -> Result<Item, PlanError> {
        let mut item = self.address(&view.key, attributes)?.key;
        for name in &view.keep {
            if let Some(value) = attributes.get(name) {
                item.insert(name.clone(), value.clone());
            }
        }
        self.mark(&mut item, view.discriminator.as_deref());
        Ok(item)
    }

    fn mark(&self, item: &mut Item, discriminator: Option<&str>) {
        if let (Some(name), Some(value)) = (&self.design.table.discriminator, discriminator) {
            item.insert(name.clone(), Value::from(value));
        }
    }

    /// The attributes of a stored item of this entity.
    pub(crate) fn attributes(&self, entity: &Entity, item: &Item) -> Result<Map, PlanError> {
        self.read(entity, &entity.key, item).ok_or_else(|| {
            PlanError::Store(StoreError::Corrupt {
                message: format!("an item has a key of `{}` but not its form", entity.name),
            })
        })
    }

    /// The first of the named records that a stored item is.
    pub(crate) fn recognise<'n>(
        &self,
        names: &'n [RecordName],
        item: &Item,
    ) -> Option<(&'n RecordName, Record)> {
        names.iter().find_map(|record| {
            let (name, source, key, discriminator) = self.shape(record)?;
            let marked = match &self.design.table.discriminator {
                Some(attribute) => item.get(attribute).and_then(Value::as_str) == discriminator,
                None => true,
            };
            let attributes = marked.then(|| self.read(source, key, item)).flatten()?;
            let name = name.to_owned();
            Some((record, Record { name, attributes }))
        })
    }

    /// Everything that tells one record from another: name, source, keys, discriminator.
    fn shape(&self, name: &RecordName) -> Option<(&str, &Entity, &KeyTemplates, Option<&str>)> {
        match name {
            RecordName::Entity(name) => {
                let entity = self.design.entity(name)?;
                let discriminator = entity.discriminator.as_deref();
                Some((&entity.name, entity, &entity.key, discriminator))
            }
            RecordName::View(name) => {
                let view = self.design.view(name)?;
                let source = self.design.entity(&view.of)?;
                Some((&view.name, source, &view.key, view.discriminator.as_deref()))
            }
        }
    }

    /// The entity whose rules a record follows (its own, or its source's), and its keys.
    pub(crate) fn shape_of(&self, name: &RecordName) -> Option<(&Entity, &KeyTemplates)> {
        self.shape(name).map(|(_, source, key, _)| (source, key))
    }

    /// An item without its keys, but with what its keys hold.
    fn read(&self, source: &Entity, templates: &KeyTemplates, item: &Item) -> Option<Map> {
        let table = &self.design.table;
        let mut attributes = item.clone();
        let partition = attributes.remove(&table.partition)?;
        let sort = attributes.remove(&table.sort)?;
        let parts = [
            templates.partition.read(partition.as_str()?)?,
            templates.sort.read(sort.as_str()?)?,
        ];
        for (name, text) in parts.into_iter().flatten() {
            if attributes.contains_key(&name) {
                continue;
            }
            let value = source.attribute(&name)?.kind.from_text(text).ok()?;
            attributes.insert(name, value);
        }
        Some(attributes)
    }
}
