//! Tables, indexes, buckets and constants.

use std::collections::BTreeMap;

use partita_core::{Map, Type};

use super::IndexId;
use crate::expression::{Predicate, Reading};
use crate::template::Template;

/// A table of a design.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name in the design; empty where there is only one.
    pub id: String,
    /// Its name in the store, variables replaced.
    pub name: String,
    /// The name of the partition key.
    pub partition: String,
    /// The name of the sort key.
    pub sort: String,
    /// The attribute that says which record an item is.
    pub discriminator: Option<String>,
    /// The attribute that says when an item expires.
    pub ttl: Option<String>,
    /// How the partition keys of other programs begin, whose items are left alone.
    pub ignore: Vec<String>,
    /// Its indexes.
    pub indexes: Vec<Index>,
    /// How it is to be created elsewhere.
    pub settings: Settings,
}

/// What the store is told of a table beyond its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Whether capacity is paid by request.
    pub pay_per_request: bool,
    /// The key that encrypts it.
    pub encryption: Encryption,
    /// What its stream shows of a change.
    pub stream: Option<String>,
    /// Whether it can be brought back to any moment.
    pub point_in_time_recovery: bool,
    /// Whether it can only be deleted after this is taken back.
    pub deletion_protection: bool,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
}

/// The key that Amazon encrypts a table with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    /// One of Amazon's own, which every table has.
    #[default]
    Owned,
    /// The one that KMS keeps for the account.
    Managed,
    /// This key of KMS: its id, ARN or alias.
    Key(String),
    /// A key of KMS whose variable has no value; what the design says.
    Unset(String),
}

/// An index of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    /// What requests to the store call it.
    pub name: String,
    /// The partition key.
    pub partition: IndexKey,
    /// The sort key.
    pub sort: Option<IndexKey>,
    /// What it holds of an item.
    pub projection: Projection,
}

/// A key attribute of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexKey {
    /// The attribute.
    pub name: String,
    /// The type of its values.
    pub kind: Type,
    /// Whether it is an attribute of the entities, and not one made for the index.
    pub native: bool,
}

/// What an index holds of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Projection {
    /// Everything.
    #[default]
    All,
    /// The keys.
    KeysOnly,
    /// The keys and these attributes.
    Include(Vec<String>),
}

/// The primary key of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyTemplates {
    /// The partition key.
    pub partition: Template,
    /// The sort key.
    pub sort: Template,
}

impl KeyTemplates {
    /// The attributes that the key is made of.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.partition.names().chain(self.sort.names()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// The keys of a record in an index. An item is in the index while all of them are there.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordIndex {
    /// The index, of the table that the record lives in.
    pub index: IndexId,
    /// The partition key.
    pub partition: KeyValue,
    /// The sort key.
    pub sort: Option<KeyValue>,
    /// What the keys and their conditions read.
    pub reads: Vec<Reading>,
}

/// Where a key of an index comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyValue {
    /// From the attribute of the same name.
    Native(String),
    /// From the first of these whose condition holds.
    Cases(Vec<KeyCase>),
}

/// One case of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyCase {
    /// The case is taken when this holds, or always.
    pub when: Option<Predicate>,
    /// The key.
    pub is: Template,
}

/// A place for files.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    /// Its name in the design.
    pub name: String,
    /// Its name in the store, variables replaced.
    pub bucket: String,
    /// How long a signed URL is good for, in seconds.
    pub signed_url_seconds: u64,
    /// Where in it which files are.
    pub prefixes: Vec<Prefix>,
}

/// A part of a bucket.
#[derive(Clone, Debug, PartialEq)]
pub struct Prefix {
    /// Its name, by which attributes speak of it.
    pub name: String,
    /// How the names of its objects begin.
    pub path: Template,
    /// The media types that it takes; all if there are none.
    pub accepts: Vec<String>,
    /// Who may read its objects, where the item does not decide.
    pub read: Option<super::Rule>,
    /// Who may upload to it, where no item decides what becomes of an upload.
    pub write: Option<super::Rule>,
    /// How many bytes an object may have; as many as the server takes if nothing is said.
    pub largest_bytes: Option<u64>,
    /// After how many seconds an object is removed.
    pub lifetime_seconds: Option<u64>,
}

/// Values that are written in the design.
#[derive(Clone, Debug, PartialEq)]
pub struct Constants {
    /// Their name.
    pub name: String,
    /// The rows.
    pub rows: BTreeMap<String, Map>,
}
