use partita_core::key::KeyType;
use partita_store::index::IndexKind;
use partita_store::request::{CreateTable, Totals};
use partita_store::table::{KeyAttribute, KeySchema, TableSchema};

use super::*;

/// A table with an index of each projection, all on `g`.
fn table() -> Table {
    let index = |name: &str, projection| IndexSchema {
        name: name.to_owned(),
        kind: IndexKind::Global,
        partition: vec![KeyAttribute {
            name: "g".to_owned(),
            kind: KeyType::S,
        }],
        sort: Vec::new(),
        projection,
    };
    let schema = TableSchema {
        key: KeySchema::strings("PK", "SK"),
        indexes: vec![
            index("all", IndexProjection::All),
            index("some", IndexProjection::Include(vec!["x".to_owned()])),
            index("keys", IndexProjection::KeysOnly),
        ],
    };
    let request = CreateTable::new("notes".parse().unwrap(), schema);
    Table::new(request, 1, vec![2, 3, 4], 0)
}

/// What becomes of the entries, and their numbers.
fn changed(before: Option<&Item>, after: Option<&Item>) -> (Vec<Edit>, TableTotals) {
    let table = table();
    let bytes = after.map(item::encode).unwrap_or_default();
    let change = RowChange {
        then: Some(&table),
        now: &table,
        stored_key: b"k",
        before,
        after,
        after_bytes: &bytes,
    };
    let mut totals = TableTotals::default();
    (edits(&change, &mut totals), totals)
}

/// An item from pairs such as `g=a x=1`.
fn item(text: &str) -> Item {
    let pairs = ["PK=p", "SK=s"].into_iter().chain(text.split_whitespace());
    let pairs = pairs.filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), Value::from(value)))
        .collect()
}

/// What a change writes: `+` and `-` with the ids of the indexes.
fn check(before: Option<&str>, after: Option<&str>, wanted: &str) {
    let table = table();
    let (before_item, after_item) = (before.map(item), after.map(item));
    let (edits, _) = changed(before_item.as_ref(), after_item.as_ref());
    let told: Vec<String> = edits
        .iter()
        .map(|edit| match edit {
            Edit::Put(key, _) => format!("+{}", keys::row_id(key).unwrap()),
            Edit::Remove(key) => format!("-{}", keys::row_id(key).unwrap()),
        })
        .collect();
    assert_eq!(told.join(" "), wanted, "{before:?} to {after:?}");
    for edit in &edits {
        if let Edit::Put(key, bytes) = edit {
            let id = keys::row_id(key).unwrap();
            let (_, index) = table.indexes().find(|(other, _)| *other == id).unwrap();
            let (place, row) = row(&table, index, key, bytes).unwrap();
            super::check(&table, index, (&place, row.as_ref()), after_item.as_ref()).unwrap();
        }
    }
}

#[test]
fn only_what_changes_is_written() {
    check(None, Some("x=1"), "");
    check(None, Some("g=a x=1"), "+2 +3 +4");
    check(Some("g=a x=1"), Some("g=a x=1"), "");
    check(Some("g=a x=1"), Some("g=a x=1 y=2"), "+2");
    check(Some("g=a x=1"), Some("g=a x=2"), "+2 +3");
    check(Some("g=a x=1"), Some("g=b x=1"), "-2 +2 -3 +3 -4 +4");
    check(Some("g=a x=1"), Some("x=1"), "-2 -3 -4");
    check(Some("g=a x=1"), None, "-2 -3 -4");
    check(Some("x=1"), None, "");
}

#[test]
fn damage_is_told_by_index_and_key() {
    let table = table();
    let of = |position: usize| &table.schema.indexes[position];
    let check = |position: usize, key: &[u8], bytes: &[u8], word: &str| match row(
        &table,
        of(position),
        key,
        bytes,
    ) {
        Err(StoreError::Corrupt { message }) => {
            assert!(
                message.contains(&format!("`{}`", of(position).name)),
                "{message}"
            );
            assert!(message.contains(word), "{message}");
        }
        other => panic!("{other:?}"),
    };
    let whole = item("g=a x=1");
    let place = of(0).key_of(&table.schema.key, &whole).unwrap().unwrap();
    let key = keys::entry(2, &place);
    check(0, &key, b"garbage", "JSON");
    check(0, &key, b"\0\0\0\0{\"PK\"}", "JSON");
    check(0, &key, b"\0\0\0\0{}", "another key");
    check(0, &key, &item::encode(&item("g=b x=1")), "another key");
    check(
        0,
        &key[..key.len() - 1],
        &item::encode(&whole),
        "not under a key",
    );
    let json = &item::encode(&whole)[4..];
    check(1, &key, json, "holds the attribute `PK`");
    check(2, &key, br#"{"x": {"S": "1"}}"#, "holds the attribute `x`");
    for row in [None, Some(&whole)] {
        let check =
            |item: Option<&Item>| super::check(&table, of(0), (&place, row), item).unwrap_err();
        let lost = check(None).to_string();
        assert!(lost.contains("has no item"), "{lost}");
        let other = check(Some(&item("g=b x=1"))).to_string();
        assert!(other.contains("disagrees"), "{other}");
    }
}

#[test]
fn a_large_item_is_pointed_to() {
    let text = "z".repeat(COPY_BYTES_MAX);
    let (small, large) = ("g=a x=1".to_owned(), format!("g=a x=1 y={text}"));
    let larger = format!("{large}z");
    check(None, Some(&large), "+2 +3 +4");
    check(Some(&small), Some(&large), "+2");
    check(Some(&large), Some(&small), "+2");
    check(Some(&large), Some(&larger), "");
    for edit in changed(None, Some(&item(&large))).0 {
        let Edit::Put(_, value) = edit else {
            panic!("it was not there before")
        };
        assert!(value.len() < 100);
    }
}

#[test]
fn entries_are_counted_as_they_are_projected() {
    let (_, totals) = changed(None, Some(&item("g=a x=1 y=22")));
    let counted = [2, 3, 4].map(|id| totals.of(id));
    // `PK=p`, `SK=s` and `g=a` have 3, 3 and 2 bytes, `x=1` has 2, `y=22` has 3.
    let wanted = [13, 10, 8].map(|bytes| Totals { items: 1, bytes });
    assert_eq!(counted, wanted);
    let (_, totals) = changed(None, Some(&item("x=1")));
    assert_eq!(totals, TableTotals::default());
}
