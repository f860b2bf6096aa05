//! What the sidecar knows of an object.

use partita_core::expression::{Condition, Path};
use partita_core::{Item, Map, Number, Value};

use crate::blueprint::Blueprint;
use crate::place::Address;
use crate::sidecar;

const FILE: &str = "FILE";
/// The partition of what is to be looked at, in the order of time.
pub(super) const DUE: &str = "FILE#DUE";

const BUCKET: &str = "bucket";
const NAME: &str = "name";
const PREFIX: &str = "prefix";
const TYPE: &str = "type";
const CALLER: &str = "caller";
const ENTITY: &str = "entity";
const IDENTITY: &str = "identity";
const DUE_AT: &str = "due";
const REMOVING: &str = "removing";
const COPY_OF: &str = "copyOf";

/// An object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) bucket: String,
    pub(crate) name: String,
    /// The prefix that it was uploaded to.
    pub(crate) prefix: String,
    pub(crate) media_type: String,
    /// Who uploaded it.
    pub(crate) caller: Option<String>,
    /// The item that names it.
    pub(crate) owner: Option<Owner>,
    /// When it is to be removed, in milliseconds since 1970.
    pub(crate) due_millis: Option<i64>,
    /// Whether somebody has begun to remove it.
    pub(crate) is_removing: bool,
    /// The upload that it is made of, while the write that needs it is not committed.
    pub(crate) copy_of: Option<String>,
}

/// The item that names an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Owner {
    pub(crate) entity: String,
    pub(crate) identity: Map,
}

impl Record {
    /// The record as it is stored.
    pub(crate) fn item(&self) -> Item {
        let mut item = key_of(&self.bucket, &self.name);
        let mut set = |name: &str, value: Value| item.insert(name, value);
        set(BUCKET, Value::from(self.bucket.as_str()));
        set(NAME, Value::from(self.name.as_str()));
        set(PREFIX, Value::from(self.prefix.as_str()));
        set(TYPE, Value::from(self.media_type.as_str()));
        if let Some(caller) = &self.caller {
            set(CALLER, Value::from(caller.as_str()));
        }
        if let Some(owner) = &self.owner {
            set(ENTITY, Value::from(owner.entity.as_str()));
            set(IDENTITY, Value::M(owner.identity.clone()));
        }
        if let Some(due) = self.due_millis {
            set(DUE_AT, Value::N(Number::from(due)));
        }
        if let Some(upload) = &self.copy_of {
            set(COPY_OF, Value::from(upload.as_str()));
        }
        if self.is_removing {
            set(REMOVING, Value::Bool(true));
        }
        item
    }

    /// The record that an item of the sidecar is.
    pub(crate) fn read(item: &Item) -> Option<Record> {
        let text = |name: &str| Some(item.get(name)?.as_str()?.to_owned());
        let owner = text(ENTITY).zip(item.get(IDENTITY).and_then(Value::as_map));
        Some(Record {
            bucket: text(BUCKET)?,
            name: text(NAME)?,
            prefix: text(PREFIX)?,
            media_type: text(TYPE)?,
            caller: text(CALLER),
            owner: owner.map(|(entity, identity)| Owner {
                entity,
                identity: identity.clone(),
            }),
            due_millis: item
                .get(DUE_AT)
                .and_then(Value::as_number)
                .and_then(|due| due.to_i64()),
            is_removing: item.contains_key(REMOVING),
            copy_of: text(COPY_OF),
        })
    }
}

/// Where the record of an object stands.
pub(crate) fn key_of(bucket: &str, name: &str) -> Item {
    sidecar::key(&partition_of(bucket, name), FILE)
}

fn partition_of(bucket: &str, name: &str) -> String {
    format!("{FILE}#{bucket}#{name}")
}

/// The address of the record of an object.
pub(crate) fn address(blueprint: &Blueprint, bucket: &str, name: &str) -> Address {
    sidecar::address(&blueprint.sidecar, &partition_of(bucket, name), FILE)
}

/// Says that an object is to be looked at.
pub(crate) fn due_row(bucket: &str, name: &str, due_millis: i64) -> Item {
    let mut row = sidecar::key(DUE, &format!("{:015}#{bucket}#{name}", due_millis.max(0)));
    row.insert(BUCKET.to_owned(), Value::from(bucket));
    row.insert(NAME.to_owned(), Value::from(name));
    row
}

/// The bucket and the name of an object that is to be looked at.
pub(super) fn read_due(row: &Item) -> Option<(String, String)> {
    let text = |name: &str| Some(row.get(name)?.as_str()?.to_owned());
    Some((text(BUCKET)?, text(NAME)?))
}

/// That an upload is this caller's, and nobody has taken it over or begun to remove it.
pub(crate) fn is_open(caller: Option<&str>) -> Condition {
    let path = Path::attribute(CALLER);
    let is_theirs = match caller {
        Some(caller) => Condition::equals(path, caller),
        None => Condition::NotExists(path),
    };
    Condition::Exists(Path::attribute(NAME))
        .and(is_theirs)
        .and(Condition::NotExists(Path::attribute(ENTITY)))
        .and(Condition::NotExists(Path::attribute(REMOVING)))
}

/// That this is a copy of the upload, which nobody has begun to remove.
pub(crate) fn is_copy_of(upload: &str) -> Condition {
    Condition::equals(Path::attribute(COPY_OF), upload)
        .and(Condition::NotExists(Path::attribute(REMOVING)))
}

/// That an item of this entity with this identity names the object.
pub(crate) fn is_owned_by(owner: &Owner) -> Condition {
    Condition::equals(Path::attribute(ENTITY), owner.entity.as_str()).and(Condition::equals(
        Path::attribute(IDENTITY),
        Value::M(owner.identity.clone()),
    ))
}

/// That a record is as it was when its object was found to be due, and nobody else removes it.
pub(super) fn is_still_due(due_millis: i64) -> Condition {
    Condition::equals(Path::attribute(DUE_AT), Number::from(due_millis))
}
