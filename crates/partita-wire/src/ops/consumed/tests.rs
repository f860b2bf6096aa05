use partita_store::capacity::IndexUnits;

use super::*;

fn consumed() -> ByTable {
    let units = |kind, read, write| IndexUnits {
        kind,
        read: HalfUnits(read),
        write: HalfUnits(write),
    };
    let mut consumed = Consumed {
        read: HalfUnits(1),
        write: HalfUnits(4),
        ..Consumed::default()
    };
    consumed.add_index("index", units(IndexKind::Global, 2, 4));
    consumed.add_index("other", units(IndexKind::Local, 0, 8));
    [("notes".parse().unwrap(), consumed)].into()
}

fn check(asked: ReturnConsumedCapacity, is_transaction: bool, expected: &str) {
    let list = asked.by_table(&consumed(), is_transaction);
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
        r#"[{"TableName":"notes","CapacityUnits":9.5,"Table":{"CapacityUnits":2.5},"LocalSecondaryIndexes":{"other":{"CapacityUnits":4.0}},"GlobalSecondaryIndexes":{"index":{"CapacityUnits":3.0}}}]"#,
    );
}

#[test]
fn nothing_consumed_is_nothing_said() {
    let none = ByTable::new();
    assert!(ReturnConsumedCapacity::Total.of_one(&none).is_none());
}
