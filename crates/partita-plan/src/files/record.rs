//! What the sidecar knows of an object.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use partita_core::expression::{
    Condition, KeyCondition, KeyRange, Path, SetOperand, SetValue, Update,
};
use partita_core::{Item, Map, Number, Value};
use sha2::{Digest as _, Sha256};

use crate::blueprint::Blueprint;
use crate::place::Address;
use crate::sidecar;

const FILE: &str = "FILE";
/// What the sort key of an owner's row begins with.
const OWNER: &str = "OWNER#";
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
const OTHERS: &str = "others";
const ORIGIN: &str = "origin";
const BYTES: &str = "bytes";
const RECEIVING: &str = "receiving";
const RECEIVED: &str = "received";
const OBJECTS: &str = "objects";
const NOTED: &str = "noted";

/// An object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileRecord {
    pub(crate) bucket: String,
    pub(crate) name: String,
    /// The prefix that it was uploaded to, or that it is in since an item took it over.
    pub(crate) prefix: String,
    pub(crate) media_type: String,
    /// Who uploaded it.
    pub(crate) caller: Option<String>,
    /// How many bytes it has, where that was said when the upload was asked for.
    pub(crate) bytes: Option<u64>,
    /// The item that names it, or one of them.
    pub(crate) owner: Option<Owner>,
    /// How many other items name it; each has a row of its own beside this record.
    pub(crate) others: u64,
    /// The upload that its bytes are of.
    pub(crate) origin: Option<String>,
    /// When it is to be removed, in milliseconds since 1970.
    pub(crate) due_millis: Option<i64>,
    /// Whether somebody has begun to remove it.
    pub(crate) is_removing: bool,
    /// The upload or file that it is made of, while the write that needs it is not committed.
    pub(crate) copy_of: Option<String>,
    /// When somebody began to send its bytes, in milliseconds since 1970.
    pub(crate) receiving_since: Option<i64>,
    /// Whether all of its bytes have come.
    pub(crate) received: bool,
}

/// An item that names an object, itself or in a state that is kept of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Owner {
    pub(crate) entity: String,
    pub(crate) identity: Map,
}

impl Owner {
    /// The item as one text, which no other item has.
    pub(crate) fn spelled(&self) -> String {
        let identity = serde_json::to_string(&Value::M(self.identity.clone()));
        format!("{}#{}", self.entity, identity.unwrap_or_default())
    }

    /// An identity may be longer than a key.
    fn row_sort(&self) -> String {
        let digest = Sha256::digest(self.spelled().as_bytes());
        format!("{OWNER}{}", BASE64.encode(digest))
    }

    fn write(&self, item: &mut Item) {
        item.insert(ENTITY, Value::from(self.entity.as_str()));
        item.insert(IDENTITY, Value::M(self.identity.clone()));
    }

    pub(super) fn read(item: &Item) -> Option<Owner> {
        Some(Owner {
            entity: item.get(ENTITY)?.as_str()?.to_owned(),
            identity: item.get(IDENTITY).and_then(Value::as_map)?.clone(),
        })
    }
}

impl FileRecord {
    /// A record that says nothing but where the object is.
    pub(crate) fn at(bucket: &str, name: &str) -> FileRecord {
        FileRecord {
            bucket: bucket.to_owned(),
            name: name.to_owned(),
            prefix: String::new(),
            media_type: String::new(),
            caller: None,
            bytes: None,
            owner: None,
            others: 0,
            origin: None,
            due_millis: None,
            is_removing: false,
            copy_of: None,
            receiving_since: None,
            received: false,
        }
    }

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
        if let Some(bytes) = self.bytes {
            set(BYTES, Value::N(Number::from(bytes)));
        }
        if self.others > 0 {
            set(OTHERS, Value::N(Number::from(self.others)));
        }
        if let Some(origin) = &self.origin {
            set(ORIGIN, Value::from(origin.as_str()));
        }
        if let Some(due) = self.due_millis {
            set(DUE_AT, Value::N(Number::from(due)));
        }
        if let Some(upload) = &self.copy_of {
            set(COPY_OF, Value::from(upload.as_str()));
        }
        if let Some(since) = self.receiving_since {
            set(RECEIVING, Value::N(Number::from(since)));
        }
        if self.received {
            set(RECEIVED, Value::Bool(true));
        }
        if self.is_removing {
            set(REMOVING, Value::Bool(true));
        }
        if let Some(owner) = &self.owner {
            owner.write(&mut item);
        }
        item
    }

    /// The record that an item of the sidecar is.
    pub(crate) fn read(item: &Item) -> Option<FileRecord> {
        let text = |name: &str| Some(item.get(name)?.as_str()?.to_owned());
        let number = |name: &str| item.get(name)?.as_number()?.to_i64();
        let count = |name: &str| u64::try_from(number(name)?).ok();
        Some(FileRecord {
            bucket: text(BUCKET)?,
            name: text(NAME)?,
            prefix: text(PREFIX)?,
            media_type: text(TYPE)?,
            caller: text(CALLER),
            bytes: count(BYTES),
            owner: Owner::read(item),
            others: count(OTHERS).unwrap_or_default(),
            origin: text(ORIGIN),
            due_millis: number(DUE_AT),
            is_removing: item.contains_key(REMOVING),
            copy_of: text(COPY_OF),
            receiving_since: number(RECEIVING),
            received: item.contains_key(RECEIVED),
        })
    }

    /// Whether an item names it.
    pub(crate) fn is_owned(&self) -> bool {
        self.owner.is_some() || self.others > 0
    }

    /// The upload that its bytes are of. What was taken over by an older version does not say so,
    /// and is nothing but itself.
    pub(crate) fn origin(&self) -> &str {
        self.origin.as_deref().unwrap_or(&self.name)
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

/// The row that says that an item names an object, where it is not the first.
pub(crate) fn owner_row(bucket: &str, name: &str, owner: &Owner) -> Item {
    let mut row = sidecar::key(&partition_of(bucket, name), &owner.row_sort());
    owner.write(&mut row);
    row
}

/// The key of that row.
pub(crate) fn owner_key(bucket: &str, name: &str, owner: &Owner) -> Item {
    sidecar::key(&partition_of(bucket, name), &owner.row_sort())
}

/// The address of that row.
pub(crate) fn owner_address(
    blueprint: &Blueprint,
    bucket: &str,
    name: &str,
    owner: &Owner,
) -> Address {
    let partition = partition_of(bucket, name);
    sidecar::address(&blueprint.sidecar, &partition, &owner.row_sort())
}

/// The keys of the rows of all owners of an object but the first.
pub(super) fn owner_keys(bucket: &str, name: &str) -> KeyCondition {
    KeyCondition {
        equals: vec![(
            sidecar::PARTITION.to_owned(),
            Value::S(partition_of(bucket, name)),
        )],
        range: Some((
            sidecar::SORT.to_owned(),
            KeyRange::BeginsWith(Value::from(OWNER)),
        )),
    }
}

/// Says that an object is to be looked at.
pub(crate) fn due_row(bucket: &str, name: &str, due_millis: i64) -> Item {
    let mut row = sidecar::key(DUE, &format!("{:015}#{bucket}#{name}", due_millis.max(0)));
    row.insert(BUCKET.to_owned(), Value::from(bucket));
    row.insert(NAME.to_owned(), Value::from(name));
    row
}

/// Says the same of several objects, in one row.
pub(crate) fn due_rows(objects: &[(String, String)], due_millis: i64) -> Option<Item> {
    let (bucket, name) = objects.first()?;
    let mut row = due_row(bucket, name, due_millis);
    let objects = objects.iter().map(|(bucket, name)| {
        Value::M(Map::from([
            (BUCKET.to_owned(), Value::from(bucket.as_str())),
            (NAME.to_owned(), Value::from(name.as_str())),
        ]))
    });
    row.insert(OBJECTS.to_owned(), Value::L(objects.collect()));
    Some(row)
}

/// Says that the files of an item that expires are to be looked at then. The time at which they were
/// noted down is a part of its key, so that no row takes the place of another that lists others.
pub(crate) fn owner_due_row(
    owner: &Owner,
    files: &[(String, String)],
    due_millis: i64,
    noted_millis: i64,
) -> Option<Item> {
    let mut row = due_rows(files, due_millis)?;
    let digest = owner.row_sort();
    let sort = format!("{:015}#{digest}#{noted_millis}", due_millis.max(0));
    row.extend(sidecar::key(DUE, &sort));
    row.insert(NOTED.to_owned(), Value::N(Number::from(noted_millis)));
    owner.write(&mut row);
    Some(row)
}

/// Whose files a row lists, and when they were noted down, if that item expires.
pub(super) fn read_owner_due(row: &Item) -> Option<(Owner, i64)> {
    let noted = row.get(NOTED)?.as_number()?.to_i64()?;
    Some((Owner::read(row)?, noted))
}

/// The buckets and names of the objects that are to be looked at.
pub(super) fn read_due(row: &Item) -> Vec<(String, String)> {
    let pair = |map: &Item| {
        let text = |name: &str| Some(map.get(name)?.as_str()?.to_owned());
        Some((text(BUCKET)?, text(NAME)?))
    };
    match row.get(OBJECTS) {
        Some(Value::L(objects)) => {
            let maps = objects.iter().filter_map(Value::as_map);
            maps.filter_map(pair).collect()
        }
        _ => pair(row).into_iter().collect(),
    }
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
        .and(is_unowned())
        .and(Condition::NotExists(Path::attribute(REMOVING)))
}

fn is_unowned() -> Condition {
    let path = Path::attribute;
    Condition::NotExists(path(ENTITY)).and(Condition::NotExists(path(OTHERS)))
}

/// That an upload has been sent as far as it was when its record was read.
pub(super) fn is_sent_as(record: &FileRecord) -> Condition {
    let path = Path::attribute;
    let receiving = match record.receiving_since {
        Some(since) => Condition::equals(path(RECEIVING), Number::from(since)),
        None => Condition::NotExists(path(RECEIVING)),
    };
    if record.received {
        receiving.and(Condition::Exists(path(RECEIVED)))
    } else {
        receiving.and(Condition::NotExists(path(RECEIVED)))
    }
}

/// That this is a copy of the upload or file, which nobody has begun to remove.
pub(crate) fn is_copy_of(upload: &str) -> Condition {
    Condition::equals(Path::attribute(COPY_OF), upload)
        .and(Condition::NotExists(Path::attribute(REMOVING)))
}

/// That an object has the owners that it had when its record was read.
pub(crate) fn has_owners_of(record: &FileRecord) -> Condition {
    let path = Path::attribute;
    let owner = match &record.owner {
        Some(owner) => Condition::equals(path(ENTITY), owner.entity.as_str()).and(
            Condition::equals(path(IDENTITY), Value::M(owner.identity.clone())),
        ),
        None => Condition::NotExists(path(ENTITY)),
    };
    let others = match record.others {
        0 => Condition::NotExists(path(OTHERS)),
        others => Condition::equals(path(OTHERS), Number::from(others)),
    };
    owner.and(others).and(is_kept())
}

/// That there is an object which nobody has begun to remove.
pub(crate) fn is_kept() -> Condition {
    let path = Path::attribute;
    Condition::Exists(path(NAME)).and(Condition::NotExists(path(REMOVING)))
}

/// So many more items name an object.
pub(crate) fn with_more_owners(count: u64) -> Update {
    let path = Path::attribute(OTHERS);
    let zero = SetOperand::Value(Value::N(Number::ZERO));
    let now = SetOperand::IfNotExists(path.clone(), Box::new(zero));
    let more = SetOperand::Value(Value::N(Number::from(count)));
    Update {
        set: vec![(path, SetValue::Plus(now, more))],
        ..Update::default()
    }
}

/// That a record is as it was when its object was found to be due: no item names it, and nobody
/// else removes it.
pub(super) fn is_still_due(due_millis: i64) -> Condition {
    Condition::equals(Path::attribute(DUE_AT), Number::from(due_millis)).and(is_unowned())
}
