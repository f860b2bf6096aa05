use futures::executor::block_on;
use partita_store::ModelStore;

use super::*;

fn consumed() -> ByTable {
    let units = |name: &str, half_units| (name.to_owned(), HalfUnits(half_units));
    let consumed = Consumed {
        read: HalfUnits(1),
        write: HalfUnits(4),
        index_read: [units("index", 2)].into(),
        index_write: [units("index", 4), units("other", 8)].into(),
    };
    [("notes".parse().unwrap(), consumed)].into()
}

/// Of a table that is gone, so that nobody knows which index was local.
fn check(asked: ReturnConsumedCapacity, is_transaction: bool, expected: &str) {
    let list = block_on(asked.by_table(&ModelStore::default(), &consumed(), is_transaction));
    assert_eq!(serde_json::to_string(&list).unwrap(), expected);
}

#[test]
fn as_much_is_said_as_was_asked() {
    check(ReturnConsumedCapacity::None, true, "null");
    check(
        ReturnConsumedCapacity::Total,
        false,
        r#"[{"TableName":"notes","CapacityUnits":9.5}]"#,
    );
    check(
        ReturnConsumedCapacity::Total,
        true,
        r#"[{"TableName":"notes","CapacityUnits":9.5,"ReadCapacityUnits":1.5,"WriteCapacityUnits":8.0}]"#,
    );
    check(
        ReturnConsumedCapacity::Indexes,
        false,
        r#"[{"TableName":"notes","CapacityUnits":9.5,"Table":{"CapacityUnits":2.5},"GlobalSecondaryIndexes":{"index":{"CapacityUnits":3.0},"other":{"CapacityUnits":4.0}}}]"#,
    );
}

#[test]
fn nothing_consumed_is_nothing_said() {
    let (store, none) = (ModelStore::default(), ByTable::new());
    let one = ReturnConsumedCapacity::Total.of_one(&store, &none);
    assert!(block_on(one).is_none());
}
