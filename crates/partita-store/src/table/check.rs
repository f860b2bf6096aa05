//! What a table's schema may be.

use std::collections::{BTreeMap, BTreeSet};

use partita_core::key::KeyType;

use super::{KeyAttribute, TableSchema, is_name, refuse};
use crate::error::{StoreError, StoreResult};
use crate::index::{IndexKind, IndexProjection, IndexSchema};

const GLOBAL_INDEXES_MAX: usize = 20;
const LOCAL_INDEXES_MAX: usize = 5;
/// Attributes of one side of a global index's key.
const INDEX_KEY_ATTRIBUTES_MAX: usize = 4;
/// Attributes that one index includes, and all of a table's together.
const INCLUDED_MAX: usize = 20;
const INCLUDED_TOGETHER_MAX: usize = 100;
/// Bytes of the name of a key attribute, or of one that an index includes.
const KEY_NAME_BYTES_MAX: usize = 255;

impl TableSchema {
    /// Refuses a schema that DynamoDB would refuse.
    pub fn check(&self) -> StoreResult<()> {
        check_key(self.key.attributes())?;
        self.check_counts()?;
        let mut names = BTreeSet::new();
        for index in &self.indexes {
            if !names.insert(&index.name) {
                return Err(refuse(format!("Duplicate index name: {}", index.name)));
            }
            index.check()?;
            self.check_local(index)?;
        }
        self.check_types()
    }

    fn check_counts(&self) -> StoreResult<()> {
        let count = |kind| {
            let indexes = self.indexes.iter();
            indexes.filter(|index| index.kind == kind).count()
        };
        if count(IndexKind::Global) > GLOBAL_INDEXES_MAX
            || count(IndexKind::Local) > LOCAL_INDEXES_MAX
        {
            return Err(refuse(format!(
                "a table has at most {GLOBAL_INDEXES_MAX} global and {LOCAL_INDEXES_MAX} local secondary indexes"
            )));
        }
        let included: usize = self
            .indexes
            .iter()
            .map(|index| index.included().len())
            .sum();
        if included > INCLUDED_TOGETHER_MAX {
            return Err(refuse(format!(
                "the indexes of a table include at most {INCLUDED_TOGETHER_MAX} attributes together, not {included}"
            )));
        }
        Ok(())
    }

    /// A local index sorts the table's partitions anew, so they must be sorted in the first place.
    fn check_local(&self, index: &IndexSchema) -> StoreResult<()> {
        let fits = index.partition == [self.key.partition.clone()]
            && index.sort.len() == 1
            && self.key.sort.is_some();
        if index.kind == IndexKind::Global || fits {
            Ok(())
        } else {
            Err(refuse(format!(
                "the local index {} needs the table's partition key and a sort key of its own, and a table that has a sort key",
                index.name
            )))
        }
    }

    /// An attribute is defined once, whatever it is a key of.
    fn check_types(&self) -> StoreResult<()> {
        let mut kinds: BTreeMap<&str, KeyType> = BTreeMap::new();
        let of_indexes = self.indexes.iter().flat_map(IndexSchema::attributes);
        for KeyAttribute { name, kind } in self.key.attributes().chain(of_indexes) {
            if *kinds.entry(name).or_insert(*kind) != *kind {
                return Err(refuse(format!("the key attribute {name} has two types")));
            }
        }
        Ok(())
    }
}

impl IndexSchema {
    fn check(&self) -> StoreResult<()> {
        let name = &self.name;
        if !is_name(name) {
            return Err(refuse(format!(
                "the index name `{}` must have 3 to 255 letters, digits, `_`, `-` or `.`",
                name.escape_debug()
            )));
        }
        if self.partition.is_empty() {
            return Err(refuse(format!("the index {name} has no partition key")));
        }
        for (side, role) in [(&self.partition, "HASH"), (&self.sort, "RANGE")] {
            if side.len() > INDEX_KEY_ATTRIBUTES_MAX {
                return Err(refuse(format!(
                    "The KeySchema exceeds the maximum allowed number of {role} key attributes"
                )));
            }
        }
        check_key(self.attributes())?;
        match &self.projection {
            IndexProjection::All | IndexProjection::KeysOnly => Ok(()),
            IndexProjection::Include(names) => check_included(name, names),
        }
    }

    fn included(&self) -> &[String] {
        match &self.projection {
            IndexProjection::All | IndexProjection::KeysOnly => &[],
            IndexProjection::Include(names) => names,
        }
    }
}

fn check_included(index: &str, names: &[String]) -> StoreResult<()> {
    if !(1..=INCLUDED_MAX).contains(&names.len()) {
        return Err(refuse(format!(
            "the index {index} includes 1 to {INCLUDED_MAX} attributes, not {}",
            names.len()
        )));
    }
    check_names(names.iter(), |name| {
        refuse(format!("Duplicate element in NonKeyAttributes: {name}"))
    })
}

fn check_key<'a>(attributes: impl Iterator<Item = &'a KeyAttribute>) -> StoreResult<()> {
    let names = attributes.map(|attribute| &attribute.name);
    check_names(names, |_| {
        StoreError::validation("The KeySchema contains multiple key attributes with the same name")
    })
}

fn check_names<'a>(
    names: impl Iterator<Item = &'a String>,
    twice: impl FnOnce(&str) -> StoreError,
) -> StoreResult<()> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !(1..=KEY_NAME_BYTES_MAX).contains(&name.len()) {
            return Err(refuse(format!(
                "the name of a key attribute or of one in an index has 1 to {KEY_NAME_BYTES_MAX} bytes"
            )));
        }
        if !seen.insert(name) {
            return Err(twice(name));
        }
    }
    Ok(())
}
