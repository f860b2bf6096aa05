//! Secondary indexes: their keys, which items they hold, and what of each.

use partita_core::key::KeyValue;
use partita_core::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use partita_core::{Item, Name, Type, Value};

use crate::error::{StoreError, StoreResult};
use crate::table::{Key, KeyAttribute, KeySchema, is_empty};

/// A secondary index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IndexSchema {
    /// Its name, unique within its table.
    pub name: String,
    /// Global or local.
    pub kind: IndexKind,
    /// The attributes of its partition key: one, or up to four for a global index.
    pub partition: Vec<KeyAttribute>,
    /// The attributes of its sort key: at most one, or up to four for a global index.
    pub sort: Vec<KeyAttribute>,
    /// What an entry holds besides keys.
    pub projection: IndexProjection,
}

/// Where an index looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexKind {
    /// Over the whole table.
    Global,
    /// Within the partitions of the table, under another sort key.
    Local,
}

/// What an index entry holds besides the keys of index and table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum IndexProjection {
    /// Everything.
    All,
    /// Nothing.
    KeysOnly,
    /// These attributes.
    Include(Vec<String>),
}

/// The place of an entry in an index. Its order is the order of a query.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IndexKey {
    /// The values of the partition key and, behind them, of the sort key.
    pub values: Vec<KeyValue>,
    /// The item's own key, which distinguishes entries that agree in all of them.
    pub item: Key,
}

impl IndexSchema {
    /// The attributes of the index's key.
    pub fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        self.partition.iter().chain(&self.sort)
    }

    /// Whether the attribute is part of the index's key.
    pub fn contains(&self, name: &str) -> bool {
        self.attributes().any(|attribute| attribute.name == name)
    }

    /// The place in the index of an item that is written; none if it lacks one of the key's
    /// attributes.
    ///
    /// Whatever it has of them must fit, even in an item that the index leaves out.
    pub fn key_of(&self, table: &KeySchema, item: &Item) -> StoreResult<Option<IndexKey>> {
        let partition = self.values(&self.partition, item, PARTITION_KEY_BYTES_MAX)?;
        let sort = self.values(&self.sort, item, SORT_KEY_BYTES_MAX)?;
        let (Some(partition), Some(sort)) = (partition, sort) else {
            return Ok(None);
        };
        Ok(Some(IndexKey {
            values: partition.into_iter().chain(sort).collect(),
            item: table.key_of(item)?,
        }))
    }

    /// The place in the index of an item that is stored.
    ///
    /// It may have been there before the index was, and its attributes need not fit; then it
    /// has no place, as at Amazon.
    pub fn place_of(&self, table: &KeySchema, stored: &Item) -> Option<IndexKey> {
        self.key_of(table, stored).ok().flatten()
    }

    /// The values of one side of the key, which share its bytes; none if one is missing.
    fn values(
        &self,
        attributes: &[KeyAttribute],
        item: &Item,
        bytes_max: usize,
    ) -> StoreResult<Option<Vec<KeyValue>>> {
        let mut values = Vec::with_capacity(attributes.len());
        for attribute in attributes {
            if let Some(value) = item.get(&attribute.name) {
                values.push(self.value(attribute, value)?);
            }
        }
        let bytes: usize = values.iter().map(KeyValue::size_bytes).sum();
        if bytes > bytes_max {
            let names: Vec<&str> = attributes.iter().map(|key| key.name.as_str()).collect();
            return Err(StoreError::validation(format!(
                "Aggregate size for key attributes {} of index {} has exceeded limit {bytes_max} bytes, with actual size {bytes} bytes",
                names.join(", "),
                self.name
            )));
        }
        Ok((values.len() == attributes.len()).then_some(values))
    }

    fn value(&self, attribute: &KeyAttribute, value: &Value) -> StoreResult<KeyValue> {
        let key = KeyValue::from_value(value).filter(|key| key.kind() == attribute.kind);
        let key = key.ok_or_else(|| self.type_mismatch(attribute, value.kind()))?;
        if is_empty(&key) {
            Err(self.empty(attribute))
        } else {
            Ok(key)
        }
    }

    /// What is said of an empty value of one of the key's attributes.
    pub(crate) fn empty(&self, attribute: &KeyAttribute) -> StoreError {
        StoreError::validation(format!(
            "One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty {} value. IndexName: {}, IndexKey: {}",
            attribute.kind_name(),
            self.name,
            attribute.name
        ))
    }

    /// Refuses an update that empties one of the key's attributes: the service has words of its
    /// own for it, and looks before it asks for the type.
    pub(crate) fn check_emptied(&self, old: Option<&Item>, new: &Item) -> StoreResult<()> {
        for KeyAttribute { name, .. } in self.attributes() {
            let kind = match new.get(name) {
                Some(Value::S(text)) if text.is_empty() => "string",
                Some(Value::B(bytes)) if bytes.is_empty() => "binary",
                _ => continue,
            };
            if old.and_then(|old| old.get(name)) != new.get(name) {
                return Err(StoreError::validation(format!(
                    "One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty {kind} value."
                )));
            }
        }
        Ok(())
    }

    fn type_mismatch(&self, attribute: &KeyAttribute, actual: Type) -> StoreError {
        StoreError::validation(format!(
            "One or more parameter values were invalid: Type mismatch for Index Key {} Expected: {} Actual: {actual} IndexName: {}",
            attribute.name,
            Type::from(attribute.kind),
            self.name
        ))
    }

    /// What the index holds of an item.
    pub fn projected(&self, table: &KeySchema, item: &Item) -> Item {
        let attributes = self.attributes_held(table, item);
        attributes
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// The same, without copying it.
    pub fn attributes_held<'a>(
        &'a self,
        table: &'a KeySchema,
        item: &'a Item,
    ) -> impl Iterator<Item = (&'a Name, &'a Value)> {
        item.iter().filter(|(name, _)| self.projects(table, name))
    }

    /// Whether the index holds an attribute.
    pub fn projects(&self, table: &KeySchema, name: &str) -> bool {
        let is_key = || table.contains(name) || self.contains(name);
        match &self.projection {
            IndexProjection::All => true,
            IndexProjection::KeysOnly => is_key(),
            IndexProjection::Include(names) => is_key() || names.iter().any(|kept| kept == name),
        }
    }

    /// The key attributes of index and table of an entry: where a page ends.
    pub fn attributes_of(&self, table: &KeySchema, key: &IndexKey) -> Item {
        let mut attributes = table.attributes_of(&key.item);
        for (attribute, value) in self.attributes().zip(&key.values) {
            attributes.insert(attribute.name.as_str(), value.clone().into());
        }
        attributes
    }
}

#[cfg(test)]
mod tests;
