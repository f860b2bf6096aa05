use partita_core::Number;

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
        ranges.push(Some(SortRange::Equal(sort.clone())));
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

/// Every range over every sort key, after every start: the bytes say what the values say.
#[test]
fn bytes_agree_with_values() {
    for sorts in sorts() {
        let partitions = ["p", "p\0", "q"].map(|text| KeyValue::S(text.to_owned()));
        let keys: Vec<Key> = partitions
            .iter()
            .flat_map(|partition| {
                sorts.iter().map(|sort| Key {
                    partition: partition.clone(),
                    sort: Some(sort.clone()),
                })
            })
            .collect();
        for range in ranges(&sorts) {
            let asked = KeyQuery {
                partition: partitions[0].clone(),
                range,
            };
            check(&asked, &keys);
        }
    }
}

fn check(asked: &KeyQuery, keys: &[Key]) {
    let wanted = |key: &Key| {
        let sort = key.sort.as_ref().unwrap();
        let in_range = asked
            .range
            .as_ref()
            .is_none_or(|range| range.contains(sort));
        key.partition == asked.partition && in_range
    };
    for start in std::iter::once(None).chain(keys.iter().map(Some)) {
        for direction in [Direction::Ascending, Direction::Descending] {
            let start_bytes = start.map(|start| item(7, start));
            let bounds = after(query(7, asked), start_bytes, direction);
            for key in keys {
                let is_after = start.is_none_or(|start| match direction {
                    Direction::Ascending => key > start,
                    Direction::Descending => key < start,
                });
                let found = bounds
                    .as_ref()
                    .is_some_and(|bounds| contains(bounds, &item(7, key)));
                assert_eq!(
                    found,
                    wanted(key) && is_after,
                    "{key:?} in {asked:?} after {start:?}, {direction:?}"
                );
            }
        }
    }
}

#[test]
fn a_table_ends_where_the_next_begins() {
    let key = Key {
        partition: KeyValue::B(vec![255, 255]),
        sort: None,
    };
    for (id, other) in [(1, 2), (255, 256), (u32::MAX, 0)] {
        assert!(contains(&items(id), &item(id, &key)));
        assert!(!contains(&items(id), &item(other, &key)));
    }
}

#[test]
fn the_kinds_of_keys_stay_apart() {
    let name: TableName = "notes".parse().unwrap();
    assert!(contains(&tables(), &table(&name)));
    assert!(contains(&tokens(), &token("abc")));
    assert!(!contains(&tokens(), &table(&name)));
    assert!(!contains(&items(0x6E6F_7465), &table(&name)));
    assert_eq!(token_of(&token("ébc")), Some("ébc"));
    assert_eq!(token_of(&table(&name)), None);
}
