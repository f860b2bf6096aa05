//! Where items are.

use std::hash::{BuildHasher as _, Hash, Hasher};
use std::sync::Arc;

use partita_core::{Item, Value};
use partita_store::request::ItemAddress;
use partita_store::table::TableName;
use rustc_hash::FxBuildHasher;

/// Where an item is. Shared, because a plan comes back to the same few places again and again.
pub(crate) type Address = Arc<Place>;

/// A table and a key in it. Both parts of every key are strings, so that two texts are enough:
/// places are made, compared and hashed much more often than the store is asked for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    // In the order in which two places are likely to differ.
    hash: u64,
    pub(crate) sort: String,
    pub(crate) partition: String,
    pub(crate) table: TableName,
}

impl Place {
    /// The place of a key in a table.
    pub(crate) fn address(table: &TableName, partition: String, sort: String) -> Address {
        Address::new(Place {
            hash: FxBuildHasher.hash_one((&sort, &partition)),
            sort,
            partition,
            table: table.clone(),
        })
    }
}

/// A place is looked up several times for each time that it is made.
impl Hash for Place {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

/// What the keys of each table are called.
#[derive(Clone)]
pub(crate) struct KeyNames(Arc<[(TableName, [String; 2])]>);

impl KeyNames {
    pub(crate) fn new(tables: impl IntoIterator<Item = (TableName, [String; 2])>) -> KeyNames {
        KeyNames(tables.into_iter().collect())
    }

    /// The names of the partition key and the sort key of a table.
    pub(crate) fn of(&self, table: &TableName) -> [&str; 2] {
        let found = self.0.iter().find(|(known, _)| known == table);
        found.map_or([""; 2], |(_, names)| names.each_ref().map(String::as_str))
    }

    /// The key of a place.
    pub(crate) fn key(&self, place: &Place) -> Item {
        let [partition, sort] = self.of(&place.table);
        Item::from([
            (partition, Value::S(place.partition.clone())),
            (sort, Value::S(place.sort.clone())),
        ])
    }

    /// Puts the key of its place into an item.
    pub(crate) fn put_key(&self, place: &Place, item: &mut Item) {
        let [partition, sort] = self.of(&place.table);
        item.insert(partition, Value::S(place.partition.clone()));
        item.insert(sort, Value::S(place.sort.clone()));
    }

    /// A place as the store calls it.
    pub(crate) fn address(&self, place: &Place) -> ItemAddress {
        ItemAddress {
            table: place.table.clone(),
            key: self.key(place),
        }
    }

    /// The place of an item that is stored in a table.
    pub(crate) fn place(&self, table: &TableName, item: &Item) -> Address {
        let text = |name: &str| {
            let text = item.get(name).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let [partition, sort] = self.of(table).map(text);
        Place::address(table, partition, sort)
    }
}
