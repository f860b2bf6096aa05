use partita_core::key::KeyType;

use super::*;

fn attribute(name: &str, kind: KeyType) -> KeyAttribute {
    let name = name.to_owned();
    KeyAttribute { name, kind }
}

fn table() -> KeySchema {
    KeySchema::strings("PK", "SK")
}

/// By `s` and `n`, sorted by `b` and `t`.
fn index(projection: IndexProjection) -> IndexSchema {
    IndexSchema {
        name: "index".to_owned(),
        kind: IndexKind::Global,
        partition: vec![attribute("s", KeyType::S), attribute("n", KeyType::N)],
        sort: vec![attribute("b", KeyType::B), attribute("t", KeyType::S)],
        projection,
    }
}

fn item() -> Item {
    [
        ("PK", Value::from("p")),
        ("SK", Value::from("1")),
        ("s", Value::from("s")),
        ("n", Value::from(1_i64)),
        ("b", Value::B(vec![1])),
        ("t", Value::from("t")),
        ("other", Value::from(true)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

fn with(name: &str, value: impl Into<Value>) -> Item {
    let mut item = item();
    item.insert(name.to_owned(), value.into());
    item
}

fn without(name: &str) -> Item {
    let mut item = item();
    item.remove(name);
    item
}

#[test]
fn a_key_is_its_values_in_order_and_the_items_own() {
    let index = index(IndexProjection::All);
    let key = index.key_of(&table(), &item()).unwrap().unwrap();
    let expected = [
        KeyValue::S("s".to_owned()),
        KeyValue::N(1_i64.into()),
        KeyValue::B(vec![1]),
        KeyValue::S("t".to_owned()),
    ];
    assert_eq!(key.values, expected);
    assert_eq!(key.item, table().key_of(&item()).unwrap());
    let attributes = index.attributes_of(&table(), &key);
    assert_eq!(attributes, without("other"));
}

#[test]
fn one_missing_attribute_leaves_the_item_out() {
    let index = index(IndexProjection::All);
    for name in ["s", "n", "b", "t"] {
        let key = index.key_of(&table(), &without(name));
        assert_eq!(key, Ok(None), "{name}");
    }
}

#[test]
fn what_is_there_must_fit_even_if_something_is_missing() {
    let index = index(IndexProjection::All);
    for mut faulty in [
        with("s", 1_i64),
        with("s", ""),
        with("n", "1"),
        with("b", Value::B(Vec::new())),
        with("t", Value::Null),
        with("s", "s".repeat(2_049)),
        with("t", "t".repeat(1_025)),
    ] {
        assert!(index.key_of(&table(), &faulty).is_err(), "{faulty:.80?}");
        // Whichever is not at fault goes.
        let fitting = item();
        let missing = fitting
            .keys()
            .find(|name| index.contains(name) && faulty.get(name) == fitting.get(name));
        faulty.remove(missing.unwrap());
        assert!(index.key_of(&table(), &faulty).is_err(), "{faulty:.80?}");
    }
}

#[test]
fn the_attributes_of_one_side_share_its_bytes() {
    let index = index(IndexProjection::All);
    // `n` has two bytes, and `b` one.
    for (item, fits) in [
        (with("s", "s".repeat(2_046)), true),
        (with("s", "s".repeat(2_047)), false),
        (with("t", "t".repeat(1_023)), true),
        (with("t", "t".repeat(1_024)), false),
    ] {
        assert_eq!(index.key_of(&table(), &item).is_ok(), fits, "{item:.40?}");
    }
}

#[test]
fn an_entry_holds_keys_and_what_is_included() {
    let check = |projection, expected: Item| {
        let index = index(projection);
        assert_eq!(index.projected(&table(), &item()), expected);
        for name in item().keys() {
            let is_held = expected.contains_key(name);
            assert_eq!(index.projects(&table(), name), is_held, "{name}");
        }
    };
    check(IndexProjection::All, item());
    check(IndexProjection::KeysOnly, without("other"));
    check(
        IndexProjection::Include(vec!["missing".to_owned()]),
        without("other"),
    );
    check(IndexProjection::Include(vec!["other".to_owned()]), item());
}
