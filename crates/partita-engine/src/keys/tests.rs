use partita_core::Number;
use partita_store::index::{IndexKind, IndexProjection, IndexSchema};
use partita_store::table::{KeySchema, TableSchema};

use super::*;

fn number(text: &str) -> KeyValue {
    KeyValue::N(text.parse::<Number>().unwrap())
}

/// Sort keys that are prefixes and neighbours of each other, in bytes and in value.
fn sorts() -> Vec<Vec<KeyValue>> {
    let strings = [
        "a",
        "a\0",
        "a\0b",
        "a\u{1}",
        "aa",
        "ab",
        "b",
        "é",
        "\u{10FFFF}",
    ];
    let numbers = [
        "-1E+20", "-1.5", "-1", "-0.001", "0", "1E-9", "1", "1.5", "2", "10",
    ];
    let binaries: [&[u8]; 8] = [
        &[0],
        &[0, 0],
        &[0, 1],
        &[0, 255],
        &[1],
        &[254, 255],
        &[255],
        &[255, 255],
    ];
    vec![
        strings.map(|text| KeyValue::S(text.to_owned())).to_vec(),
        numbers.map(number).to_vec(),
        binaries.map(|bytes| KeyValue::B(bytes.to_vec())).to_vec(),
    ]
}

fn ranges(sorts: &[KeyValue]) -> Vec<Option<SortRange>> {
    let mut ranges = vec![None];
    for sort in sorts {
        ranges.push(Some(SortRange::Less(sort.clone())));
        ranges.push(Some(SortRange::LessOrEqual(sort.clone())));
        ranges.push(Some(SortRange::Greater(sort.clone())));
        ranges.push(Some(SortRange::GreaterOrEqual(sort.clone())));
        if !matches!(sort, KeyValue::N(_)) {
            ranges.push(Some(SortRange::BeginsWith(sort.clone())));
        }
        for high in sorts.iter().filter(|high| *high >= sort) {
            ranges.push(Some(SortRange::Between(sort.clone(), high.clone())));
        }
    }
    ranges
}

fn contains(bounds: &Bounds, key: &Vec<u8>) -> bool {
    use std::ops::RangeBounds as _;
    bounds.contains(key)
}

/// Places of a table and of an index with two sort attributes.
fn places(sorts: &[KeyValue]) -> Vec<RowPlace> {
    let mut places = Vec::new();
    for partition in ["p", "p\0", "q"].map(|text| KeyValue::S(text.to_owned())) {
        for sort in sorts {
            for (last, own) in [("a", "z"), ("a\0", "a"), ("b", "y")] {
                let last = KeyValue::S(last.to_owned());
                places.push(RowPlace {
                    values: vec![partition.clone(), sort.clone(), last],
                    item: Key {
                        partition: KeyValue::S(own.to_owned()),
                        sort: Some(sort.clone()),
                    },
                });
            }
        }
    }
    places
}

/// Every range over every sort key, after every start: the bytes say what the values say.
#[test]
fn bytes_agree_with_values() {
    for sorts in sorts() {
        let places = places(&sorts);
        for range in ranges(&sorts) {
            let prefix = vec![KeyValue::S("p".to_owned())];
            check(&KeyQuery { prefix, range }, &places);
        }
        let prefix = vec![KeyValue::S("p".to_owned()), sorts[1].clone()];
        for range in ranges(&[KeyValue::S("a".to_owned()), KeyValue::S("b".to_owned())]) {
            let prefix = prefix.clone();
            check(&KeyQuery { prefix, range }, &places);
        }
        check(&KeyQuery::default(), &places);
    }
}

fn check(asked: &KeyQuery, places: &[RowPlace]) {
    let starts = places.iter().filter(|place| asked.contains(&place.values));
    for start in std::iter::once(None).chain(starts.map(Some)) {
        for direction in [Direction::Ascending, Direction::Descending] {
            let start_bytes = start.map(|start| entry(7, start));
            let bounds = after(query(7, asked), start_bytes, direction);
            for place in places {
                let is_after = start.is_none_or(|start| match direction {
                    Direction::Ascending => place > start,
                    Direction::Descending => place < start,
                });
                let found = bounds
                    .as_ref()
                    .is_some_and(|bounds| contains(bounds, &entry(7, place)));
                assert_eq!(
                    found,
                    asked.contains(&place.values) && is_after,
                    "{place:?} in {asked:?} after {start:?}, {direction:?}"
                );
            }
        }
    }
}

#[test]
fn a_place_comes_back() {
    use partita_core::key::KeyType::{B, N, S};
    let attribute = |name: &str, kind| KeyAttribute {
        name: name.to_owned(),
        kind,
    };
    let index = IndexSchema {
        name: "index".to_owned(),
        kind: IndexKind::Global,
        partition: vec![attribute("a", S), attribute("b", N)],
        sort: vec![attribute("c", B)],
        projection: IndexProjection::All,
    };
    let schema = TableSchema {
        key: KeySchema::strings("PK", "SK"),
        indexes: vec![index.clone()],
    };
    let of_index = ReadSource {
        schema: &schema,
        index: Some(&index),
    };
    let of_table = ReadSource {
        schema: &schema,
        index: None,
    };
    let text = |text: &str| KeyValue::S(text.to_owned());
    let item = Key {
        partition: text("p\0"),
        sort: Some(text("")),
    };
    let values = vec![text("é"), number("-1.5"), KeyValue::B(vec![0, 255, 0])];
    let in_index = RowPlace {
        values,
        item: item.clone(),
    };
    let key = entry(1, &in_index);
    assert_eq!(place(&of_index, &key), Some(in_index));
    assert_eq!(place(&of_index, &key[..key.len() - 1]), None);
    assert_eq!(place(&of_index, &[&key[..], b"x"].concat()), None);
    assert_eq!(place(&of_index, b""), None);
    let key = self::item(1, &item);
    assert_eq!(place(&of_table, &key), Some(place_of_item(item)));
}

#[test]
fn a_table_ends_where_the_next_begins() {
    let key = Key {
        partition: KeyValue::B(vec![255, 255]),
        sort: None,
    };
    for (id, other) in [(1, 2), (255, 256), (u32::MAX, 0)] {
        assert!(contains(&rows(id), &item(id, &key)));
        assert!(!contains(&rows(id), &item(other, &key)));
    }
}

#[test]
fn the_kinds_of_keys_stay_apart() {
    let name: TableName = "notes".parse().unwrap();
    assert!(contains(&tables(), &table(&name)));
    assert!(contains(&tokens(), &token("abc")));
    assert!(!contains(&tokens(), &table(&name)));
    assert!(!contains(&rows(0x6E6F_7465), &table(&name)));
    assert!(contains(&all_dropped(), &dropped(7)));
    assert_eq!(dropped_id(&dropped(7)), Some(7));
    assert_eq!(dropped_id(b"d"), None);
    assert_eq!(row_id(&row_prefix(7)), Some(7));
    assert_eq!(row_id(&dropped(7)), None);
    for key in [CLOSED, FORMAT, LAST_ID] {
        for bounds in [tables(), tokens(), all_dropped(), all_rows()] {
            assert!(!contains(&bounds, &key.to_vec()));
        }
    }
    assert_eq!(token_of(&token("ébc")), Some("ébc"));
    assert_eq!(token_of(&table(&name)), None);
}

#[test]
fn expiries_sort_by_their_seconds() {
    let item = numbered(ROW, 3);
    let seconds = [i64::MIN, -1, 0, 1, 255, 256, 1_800_000_000, i64::MAX];
    let keys = seconds.map(|seconds| expiry(7, seconds, &item));
    assert!(keys.is_sorted());
    for (key, seconds) in keys.iter().zip(seconds) {
        assert_eq!(expiring(3, key), Some((seconds, item.clone())));
    }
    let (first, last) = expiries(7, 0, 256).unwrap();
    let is_within = |key: &Vec<u8>| {
        is_at_or_after(key, &first)
            && is_at_or_before(key, &last)
            && !is_empty(&(first.clone(), last.clone()))
    };
    let within: Vec<bool> = keys.iter().map(is_within).collect();
    assert_eq!(within, [false, false, true, true, true, true, false, false]);
    assert!(expiries(7, 1, 0).is_none());
}

/// A commit knows the partition of a key without knowing the table.
#[test]
fn a_partition_is_found_in_the_keys_of_its_rows() {
    let [texts, _, binaries] = sorts().try_into().unwrap();
    for first in texts.iter().chain(&binaries) {
        let mut expected = row_prefix(7);
        first.write(&mut expected);
        assert_eq!(partition(&expected), Some(expected.as_slice()));
        for second in sorts().concat() {
            let mut key = expected.clone();
            second.write(&mut key);
            assert_eq!(
                partition(&key),
                Some(expected.as_slice()),
                "{first:?} {second:?}"
            );
        }
    }
    for key in [
        &b"r"[..],
        b"r\0\0\0",
        b"r\0\0\0\x07",
        b"r\0\0\0\x07a",
        b"r\0\0\0\x07a\0",
        b"f",
    ] {
        assert_eq!(partition(key), None, "{}", key.escape_ascii());
    }
}
