//! What random histories are made of.

use fastrand::Rng;
use partita_core::expression::{
    Bindings, Condition, KeyCondition, KeyRange, Path, Projection, Update,
};
use partita_core::key::KeyType;
use partita_core::{Item, Value};
use partita_store::index::{IndexKind, IndexProjection, IndexSchema};
use partita_store::request::{
    BatchWrite, ConditionCheck, DeleteItem, ItemAddress, PutItem, ReturnValues, Select,
    TransactAction, UpdateItem,
};
use partita_store::stream::StreamView;
use partita_store::table::{KeyAttribute, KeySchema, TableName, TableSchema};

use super::changing::{INDEXED, VIEWS};

/// Tables of every kind of key, with indexes of every kind and projection.
pub(super) fn tables() -> Vec<(TableName, TableSchema)> {
    let (n, t, u) = (("n", KeyType::N), ("t", KeyType::S), ("u", KeyType::B));
    let global = |name, partition: &[_], sort: &[_], projection| {
        index(name, IndexKind::Global, (partition, sort), projection)
    };
    let local = |name, partition, sort, projection| {
        let (partition, sort) = ([("P", partition)], [sort]);
        index(name, IndexKind::Local, (&partition, &sort), projection)
    };
    let include = |names: &[&str]| {
        IndexProjection::Include(names.iter().map(|name| (*name).to_owned()).collect())
    };
    vec![
        table(
            ("strings", KeyType::S, Some(KeyType::S)),
            vec![
                global("by-n", &[n], &[], IndexProjection::All),
                global("by-t-and-n", &[t], &[n], IndexProjection::KeysOnly),
                local("local", KeyType::S, n, include(&["title"])),
            ],
        ),
        table(
            ("numbers", KeyType::S, Some(KeyType::N)),
            vec![global(
                "by-all",
                &[t, n],
                &[u, ("S", KeyType::N)],
                include(&["tags", "t"]),
            )],
        ),
        table(
            ("binaries", KeyType::N, Some(KeyType::B)),
            vec![
                local("local", KeyType::N, t, IndexProjection::All),
                local("keys", KeyType::N, u, IndexProjection::KeysOnly),
            ],
        ),
        table(
            ("singles", KeyType::B, None),
            vec![global("by-t", &[t], &[], IndexProjection::All)],
        ),
        table(("bare", KeyType::S, Some(KeyType::S)), Vec::new()),
    ]
}

fn attribute(name: &str, kind: KeyType) -> KeyAttribute {
    let name = name.to_owned();
    KeyAttribute { name, kind }
}

fn table(
    (name, partition, sort): (&str, KeyType, Option<KeyType>),
    indexes: Vec<IndexSchema>,
) -> (TableName, TableSchema) {
    let key = KeySchema {
        partition: attribute("P", partition),
        sort: sort.map(|kind| attribute("S", kind)),
    };
    (name.parse().unwrap(), TableSchema { key, indexes })
}

type Attributes<'a> = &'a [(&'a str, KeyType)];

fn index(
    name: &str,
    kind: IndexKind,
    (partition, sort): (Attributes<'_>, Attributes<'_>),
    projection: IndexProjection,
) -> IndexSchema {
    let attributes = |list: Attributes<'_>| {
        let list = list.iter().map(|(name, kind)| attribute(name, *kind));
        list.collect()
    };
    IndexSchema {
        name: name.to_owned(),
        kind,
        partition: attributes(partition),
        sort: attributes(sort),
        projection,
    }
}

/// An index that a table may get, also one of a name that is taken.
pub(super) fn new_index(random: &mut Rng) -> IndexSchema {
    let attribute = |random: &mut Rng| INDEXED[random.usize(..INDEXED.len())];
    let name = ["new", "newer", "newest", "by-n"][random.usize(..4)];
    let (partition, sort) = (attribute(random), attribute(random));
    let projection = match random.u32(..3) {
        0 => IndexProjection::All,
        1 => IndexProjection::KeysOnly,
        _ => IndexProjection::Include(vec!["tags".to_owned(), "ends".to_owned()]),
    };
    let sort = if partition == sort {
        vec![]
    } else {
        vec![sort]
    };
    index(name, IndexKind::Global, (&[partition], &sort), projection)
}

pub(super) fn view(random: &mut Rng) -> StreamView {
    VIEWS[random.usize(..VIEWS.len())]
}

/// One of a few values, many of them neighbours, in bytes or in value.
fn value(random: &mut Rng, kind: KeyType) -> Value {
    match kind {
        KeyType::S => {
            let texts = ["a", "a\0", "a\0b", "aa", "ab", "b", "é", "\u{10FFFF}"];
            Value::from(texts[random.usize(..texts.len())])
        }
        KeyType::N => {
            let texts = ["-1E+20", "-1.5", "-1", "0", "1E-9", "1", "1.5", "2", "10"];
            Value::N(texts[random.usize(..texts.len())].parse().unwrap())
        }
        KeyType::B => {
            let length = random.usize(1..4);
            let bytes = (0..length).map(|_| [0, 1, 255][random.usize(..3)]);
            Value::B(bytes.collect())
        }
    }
}

/// The value of an attribute. Those that indexes look at have fewer, so that they meet.
fn value_of(random: &mut Rng, attribute: &KeyAttribute) -> Value {
    match attribute.name.as_str() {
        "n" => Value::from(random.i64(0..4)),
        "t" => Value::from(["a", "a\0", "ab"][random.usize(..3)]),
        "title" => Value::from("new"),
        "u" => Value::B(vec![0; random.usize(1..3)]),
        _ => value(random, attribute.kind),
    }
}

pub(super) fn key<'a>(
    random: &mut Rng,
    attributes: impl Iterator<Item = &'a KeyAttribute>,
) -> Item {
    attributes
        .map(|attribute| (attribute.name.clone(), value_of(random, attribute)))
        .collect()
}

/// An item, with some of the attributes that indexes look at.
fn item(random: &mut Rng, schema: &TableSchema) -> Item {
    let mut item = key(random, schema.key.attributes());
    for (name, kind) in [("n", KeyType::N), ("t", KeyType::S), ("u", KeyType::B)] {
        if random.u32(..4) > 0 {
            let value = value_of(random, &attribute(name, kind));
            item.insert(name.to_owned(), value);
        }
    }
    if random.bool() {
        let tags = ["x", "y"].map(str::to_owned).into();
        item.insert("tags".to_owned(), Value::Ss(tags));
    }
    if random.u32(..8) == 0 {
        // Too large for an index to copy.
        item.insert("big".to_owned(), Value::from("z".repeat(5_000).as_str()));
    }
    if random.bool() {
        // Some of it is past, and some will be.
        item.insert("ends".to_owned(), Value::from(random.i64(900..4_000)));
    }
    if random.u32(..20) == 0 {
        // What no index takes as a key.
        item.insert("t".to_owned(), Value::from(1));
    }
    item
}

fn condition(random: &mut Rng) -> Option<Condition> {
    let texts = [
        "attribute_exists(P)",
        "attribute_not_exists(P)",
        "n > 2",
        "n < 3 OR attribute_not_exists(n)",
        "contains(tags, 'x')",
    ];
    let text = *texts.get(random.usize(..2 * texts.len()))?;
    Some(Condition::parse(text, &Bindings::Literals).unwrap())
}

/// Mostly one that a query may have.
pub(super) fn filter(random: &mut Rng) -> Option<Condition> {
    let texts = ["contains(tags, 'x')", "attribute_exists(title)", "n > 1"];
    let text = *texts.get(random.usize(..3 * texts.len()))?;
    Some(Condition::parse(text, &Bindings::Literals).unwrap())
}

fn update(random: &mut Rng) -> Update {
    let texts = [
        "SET n = if_not_exists(n, 0) + 1",
        "ADD n 1",
        "ADD n -1.5",
        "SET n = n + 1",
        "SET title = 'new' REMOVE n",
        "REMOVE title",
        "REMOVE t",
        "SET t = 'a'",
        "SET t = 'ab', n = 1",
        "SET t = 1",
        "SET ends = 1100",
        "REMOVE ends",
        "SET ends = 'never'",
        "SET tags = tags",
        "REMOVE big",
        "SET P = 'no key may change'",
        "ADD title 1",
    ];
    Update::parse(texts[random.usize(..texts.len())], &Bindings::Literals).unwrap()
}

pub(super) fn returns(random: &mut Rng) -> ReturnValues {
    super::RETURNS[random.usize(..super::RETURNS.len())]
}

pub(super) fn action(random: &mut Rng, table: &TableName, schema: &TableSchema) -> TransactAction {
    let table = table.clone();
    let key = key(random, schema.key.attributes());
    let condition = condition(random);
    let return_item_on_failure = random.bool();
    match random.u32(..8) {
        0..3 => TransactAction::Put(PutItem {
            table,
            item: item(random, schema),
            condition,
            return_item_on_failure,
        }),
        3..6 => TransactAction::Update(UpdateItem {
            table,
            key,
            update: update(random),
            condition,
            return_item_on_failure,
        }),
        6 => TransactAction::Delete(DeleteItem {
            table,
            key,
            condition,
            return_item_on_failure,
        }),
        _ => match condition {
            None => action(random, &table, schema),
            Some(condition) => TransactAction::Check(ConditionCheck {
                table,
                key,
                condition,
                return_item_on_failure,
            }),
        },
    }
}

pub(super) fn batch_write(random: &mut Rng, table: &TableName, schema: &TableSchema) -> BatchWrite {
    let table = table.clone();
    match random.u32(..3) {
        0 => BatchWrite::Delete(ItemAddress {
            table,
            key: key(random, schema.key.attributes()),
        }),
        _ => BatchWrite::Put {
            table,
            item: item(random, schema),
        },
    }
}

/// One of the table's indexes, or none.
pub(super) fn index_of<'a>(random: &mut Rng, schema: &'a TableSchema) -> Option<&'a IndexSchema> {
    schema.indexes.get(random.usize(..schema.indexes.len() + 1))
}

pub(super) fn projection(random: &mut Rng) -> Option<Projection> {
    let names = ["n", "t", "title", "P", "nothing"];
    let count = random.usize(..3);
    let start = random.usize(..names.len() - count);
    let paths = names[start..start + count].iter();
    let paths: Vec<_> = paths.map(|name| Path::attribute(*name)).collect();
    Projection::new(paths)
        .ok()
        .filter(|parts| !parts.paths().is_empty())
}

pub(super) fn select(random: &mut Rng) -> Select {
    match random.u32(..8) {
        0 => Select::All,
        1 => Select::Count,
        2..4 => projection(random).map_or(Select::Projected, Select::Parts),
        _ => Select::Projected,
    }
}

/// The key attributes of a table or index.
fn sides<'a>(
    schema: &'a TableSchema,
    index: Option<&'a IndexSchema>,
) -> (&'a [KeyAttribute], &'a [KeyAttribute]) {
    match index {
        Some(index) => (&index.partition, &index.sort),
        None => {
            let KeySchema { partition, sort } = &schema.key;
            (std::slice::from_ref(partition), sort.as_slice())
        }
    }
}

/// The partition, equalities on the first sort attributes, and a range on the next.
pub(super) fn key_condition(
    random: &mut Rng,
    schema: &TableSchema,
    index: Option<&IndexSchema>,
) -> KeyCondition {
    let (partition, sort) = sides(schema, index);
    let equals = random.usize(..sort.len() + 1);
    let mut keys = KeyCondition {
        equals: Vec::new(),
        range: None,
    };
    for attribute in partition.iter().chain(&sort[..equals]) {
        let value = value_of(random, attribute);
        keys.equals.push((attribute.name.clone(), value));
    }
    if let Some(next) = sort.get(equals) {
        let (low, high) = (value_of(random, next), value_of(random, next));
        let range = match random.u32(..8) {
            0..2 => None,
            2 => Some(KeyRange::Less(low)),
            3 => Some(KeyRange::LessOrEqual(low)),
            4 => Some(KeyRange::Greater(low)),
            5 => Some(KeyRange::GreaterOrEqual(low)),
            6 => Some(KeyRange::Between(low, high)),
            _ => Some(KeyRange::BeginsWith(low)),
        };
        keys.range = range.map(|range| (next.name.clone(), range));
    }
    keys
}

/// Where a page may have ended.
pub(super) fn start(random: &mut Rng, schema: &TableSchema, index: Option<&IndexSchema>) -> Item {
    let of_index = index.into_iter().flat_map(IndexSchema::attributes);
    key(random, schema.key.attributes().chain(of_index))
}
