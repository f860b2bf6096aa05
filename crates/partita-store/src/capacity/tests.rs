use partita_core::Value;
use partita_core::key::KeyType;

use super::*;
use crate::index::{IndexKind, IndexProjection};
use crate::table::KeyAttribute;

#[test]
fn reads_round_up_to_four_kilobytes() {
    for (bytes, eventual, standard, transaction) in [
        (0, 0.5, 1.0, 2.0),
        (1, 0.5, 1.0, 2.0),
        (4_096, 0.5, 1.0, 2.0),
        (4_097, 1.0, 2.0, 4.0),
        (409_600, 50.0, 100.0, 200.0),
    ] {
        for (rate, expected) in [
            (Rate::Eventual, eventual),
            (Rate::Standard, standard),
            (Rate::Transaction, transaction),
        ] {
            assert_eq!(
                read_units(bytes, rate).units(),
                expected,
                "{bytes} {rate:?}"
            );
        }
    }
}

/// An item of the key `k`, the index key `g` and so many bytes more.
fn item(g: Option<&str>, more: usize) -> Item {
    let mut item = Item::from([("k".to_owned(), Value::from("k"))]);
    if let Some(g) = g {
        item.insert("g".to_owned(), g.into());
    }
    item.insert("d".to_owned(), "x".repeat(more).into());
    item
}

/// The units of the table, of an index of whole items, and of one of keys.
fn check(old: Option<Item>, new: Option<Item>, expected: (f64, Option<f64>, Option<f64>)) {
    let attribute = |name: &str| KeyAttribute {
        name: name.to_owned(),
        kind: KeyType::S,
    };
    let key = KeySchema {
        partition: attribute("k"),
        sort: None,
    };
    let index = |name: &str, projection| IndexSchema {
        name: name.to_owned(),
        kind: IndexKind::Global,
        partition: vec![attribute("g")],
        sort: Vec::new(),
        projection,
    };
    let indexes = [
        index("whole", IndexProjection::All),
        index("keys", IndexProjection::KeysOnly),
    ];
    for (rate, factor) in [(Rate::Standard, 1.0), (Rate::Transaction, 2.0)] {
        let consumed = written(&key, &indexes, old.as_ref(), new.as_ref(), rate);
        let of = |name: &str| {
            let units = consumed.indexes.get(name);
            units.map(|units| units.write.units())
        };
        let found = (consumed.write.units() / factor, of("whole"), of("keys"));
        assert_eq!(found, expected, "{old:.60?} to {new:.60?}");
    }
}

#[test]
fn every_index_pays_for_what_changes_in_it() {
    let (a, b) = (Some("a"), Some("b"));
    // Put and removed, with and without an entry.
    check(None, Some(item(a, 10)), (1.0, Some(1.0), Some(1.0)));
    check(Some(item(a, 2_000)), None, (2.0, Some(2.0), Some(1.0)));
    check(None, Some(item(None, 10)), (1.0, None, None));
    check(None, None, (1.0, None, None));
    // Into the index, and out of it.
    check(
        Some(item(None, 10)),
        Some(item(a, 10)),
        (1.0, Some(1.0), Some(1.0)),
    );
    check(
        Some(item(a, 10)),
        Some(item(None, 10)),
        (1.0, Some(1.0), Some(1.0)),
    );
    // Unchanged, changed in place, moved.
    check(Some(item(a, 10)), Some(item(a, 10)), (1.0, None, None));
    check(
        Some(item(a, 10)),
        Some(item(a, 2_000)),
        (2.0, Some(2.0), None),
    );
    check(
        Some(item(a, 2_000)),
        Some(item(a, 10)),
        (2.0, Some(2.0), None),
    );
    check(
        Some(item(a, 10)),
        Some(item(b, 2_000)),
        (2.0, Some(3.0), Some(2.0)),
    );
}

#[test]
fn what_is_consumed_adds_up() {
    let table: TableName = "notes".parse().unwrap();
    let mut one = Consumed {
        read: HalfUnits(1),
        write: HalfUnits(4),
        ..Consumed::default()
    };
    let of_index = IndexUnits {
        kind: IndexKind::Local,
        read: HalfUnits(0),
        write: HalfUnits(2),
    };
    one.add_index("g", of_index);
    let mut metered = Metered::<()>::default();
    metered.add(&BTreeMap::from([(table.clone(), one.clone())]));
    metered.add(&BTreeMap::from([(table.clone(), one)]));
    let sum = &metered.consumed[&table];
    assert_eq!(sum.indexes["g"].kind, IndexKind::Local);
    assert_eq!(sum.indexes["g"].write, HalfUnits(4));
    let (read, write) = (sum.total_read(), sum.total_write());
    assert_eq!((read, write), (HalfUnits(2), HalfUnits(12)));
    assert_eq!(sum.total().units(), 7.0);
}
