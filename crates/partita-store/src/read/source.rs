//! What is read: a table, or one of its indexes.

use std::collections::BTreeSet;

use partita_core::Item;
use partita_core::expression::{Condition, Path, listed};
use partita_core::key::KeyValue;

use super::RowPlace;
use crate::error::{StoreError, StoreResult};
use crate::index::{IndexKind, IndexProjection, IndexSchema};
use crate::request::Select;
use crate::table::{KeyAttribute, TableSchema};

/// What is read: a table, or one of its indexes.
#[derive(Clone, Copy, Debug)]
pub struct ReadSource<'s> {
    /// The table.
    pub schema: &'s TableSchema,
    /// The index, if it is one that is read.
    pub index: Option<&'s IndexSchema>,
}

impl<'s> ReadSource<'s> {
    pub(super) fn named(schema: &'s TableSchema, index: Option<&str>) -> StoreResult<Self> {
        let index = index.map(|name| schema.index(name)).transpose()?;
        Ok(ReadSource { schema, index })
    }

    /// The attributes of the partition key.
    pub fn partition(&self) -> &'s [KeyAttribute] {
        match self.index {
            Some(index) => &index.partition,
            None => std::slice::from_ref(&self.schema.key.partition),
        }
    }

    /// The attributes of the sort key.
    pub fn sort(&self) -> &'s [KeyAttribute] {
        match self.index {
            Some(index) => &index.sort,
            None => self.schema.key.sort.as_slice(),
        }
    }

    /// The values of a place that say which partition it is in.
    pub fn partition_of<'p>(&self, place: &'p RowPlace) -> &'p [KeyValue] {
        &place.values[..self.partition().len()]
    }

    /// Whether the attribute is part of the key.
    pub(super) fn has_key(&self, name: &str) -> bool {
        let mut attributes = self.partition().iter().chain(self.sort());
        attributes.any(|attribute| attribute.name == name)
    }

    /// Whether a row has the attribute, if its item does.
    fn has(&self, name: &str) -> bool {
        self.index
            .is_none_or(|index| index.projects(&self.schema.key, name))
    }

    /// The place of a stored item; an index may leave it out.
    pub fn place(&self, item: &Item) -> StoreResult<Option<RowPlace>> {
        match self.index {
            Some(index) => Ok(index.place_of(&self.schema.key, item)),
            None => {
                let item = self.schema.key.key_of(item)?;
                let values = item.values().cloned().collect();
                Ok(Some(RowPlace { values, item }))
            }
        }
    }

    /// What is there of an item.
    pub fn row(&self, item: &Item) -> Item {
        match self.index {
            Some(index) => index.projected(&self.schema.key, item),
            None => item.clone(),
        }
    }

    /// The key attributes at which a page ends.
    pub(super) fn end(&self, place: &RowPlace) -> Item {
        match self.index {
            Some(index) => index.attributes_of(&self.schema.key, place),
            None => self.schema.key.attributes_of(&place.item),
        }
    }

    /// What the service looks at in a start key before the key conditions: how many attributes
    /// there are, and those of the partition key.
    pub(super) fn check_start(&self, start_after: Option<&Item>) -> StoreResult<()> {
        let Some(key) = start_after else {
            return Ok(());
        };
        let is_new = |attribute: &&KeyAttribute| !self.has_key(&attribute.name);
        let of_table = self.schema.key.attributes().filter(is_new).count();
        if key.len() != self.partition().len() + self.sort().len() + of_table {
            return Err(StoreError::validation(START_INVALID));
        }
        check_start_values(self.partition(), key)
    }

    /// The place that such key attributes name.
    pub(super) fn start(&self, start_after: Option<&Item>) -> StoreResult<Option<RowPlace>> {
        let Some(key) = start_after else {
            return Ok(None);
        };
        let invalid = || StoreError::validation(START_INVALID);
        check_start_values(self.sort(), key)?;
        if self.index.is_some() {
            let mut of_table = self.schema.key.attributes();
            if !of_table.all(|attribute| attribute.fits(key.get(&attribute.name))) {
                let message = format!("{START_INVALID}: {WRONG_ELEMENT}");
                return Err(StoreError::validation(message));
            }
        }
        let place = self.place(key).map_err(|_| invalid())?;
        place.map(Some).ok_or_else(invalid)
    }

    /// Only a table, or an index inside one partition, has seen every acknowledged write.
    pub(super) fn check_consistency(&self, consistent: bool) -> StoreResult<()> {
        let is_global = |index: &IndexSchema| index.kind == IndexKind::Global;
        if consistent && self.index.is_some_and(is_global) {
            return Err(StoreError::validation(
                "Consistent reads are not supported on global secondary indexes",
            ));
        }
        Ok(())
    }

    /// Whether an index lacks what is asked for: a local one then reads the table, a global one
    /// refuses.
    pub(super) fn fetches_items(&self, select: &Select) -> StoreResult<bool> {
        let Some(index) = self.index else {
            return Ok(false);
        };
        let refusal = match select {
            Select::All if index.projection != IndexProjection::All => format!(
                "Select type ALL_ATTRIBUTES is not supported for global secondary index {} because its projection type is not ALL",
                index.name
            ),
            Select::Parts(parts) => {
                let lacking: Vec<&str> = self.lacking(parts.paths().iter()).collect();
                if lacking.is_empty() {
                    return Ok(false);
                }
                format!(
                    "Global secondary index {} does not project [{}]",
                    index.name,
                    listed(lacking).join(", ")
                )
            }
            Select::Projected | Select::All | Select::Count => return Ok(false),
        };
        match index.kind {
            IndexKind::Local => Ok(true),
            IndexKind::Global => Err(refuse(&refusal)),
        }
    }

    /// A query's filter sees what the keys let by: to ask for them again is a mistake, and so is
    /// to ask for what an index does not hold, even of one that could read the table. A scan may
    /// do both.
    pub(super) fn check_filter(&self, filter: &Condition) -> StoreResult<()> {
        let mut paths = Vec::new();
        filter.visit_paths(&mut |path| paths.push(path));
        if let Some(path) = paths.iter().find(|path| self.has_key(&path.root)) {
            return Err(StoreError::validation(format!(
                "Filter Expression can only contain non-primary key attributes: Primary key attribute: {}",
                path.root
            )));
        }
        // The service lists these in their order, and those of a projection in Java's.
        let lacking: BTreeSet<&str> = self.lacking(paths.into_iter()).collect();
        match self.index {
            Some(index) if !lacking.is_empty() => Err(refuse(&format!(
                "Secondary index {} does not project one or more filter attributes: [{}]",
                index.name,
                Vec::from_iter(lacking).join(", ")
            ))),
            _ => Ok(()),
        }
    }

    /// The attributes, of those that paths lead into, that rows do not have.
    fn lacking<'p>(&self, paths: impl Iterator<Item = &'p Path>) -> impl Iterator<Item = &'p str> {
        let roots = paths.map(|path| path.root.as_str());
        roots.filter(|root| !self.has(root))
    }
}

const START_INVALID: &str = "The provided starting key is invalid";
const WRONG_ELEMENT: &str = "The provided key element does not match the schema";

/// A missing part of the key and one of the wrong type have different messages.
fn check_start_values(attributes: &[KeyAttribute], key: &Item) -> StoreResult<()> {
    for attribute in attributes {
        let value = key.get(&attribute.name);
        if value.is_none() {
            return Err(StoreError::validation(START_INVALID));
        }
        if !attribute.fits(value) {
            return Err(StoreError::validation(WRONG_ELEMENT));
        }
    }
    Ok(())
}

fn refuse(detail: &str) -> StoreError {
    StoreError::validation(format!(
        "One or more parameter values were invalid: {detail}"
    ))
}
