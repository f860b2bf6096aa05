use super::*;

fn capacity(units: Option<f64>, read: Option<f64>, write: Option<f64>) -> Capacity {
    Capacity::builder()
        .set_capacity_units(units)
        .set_read_capacity_units(read)
        .set_write_capacity_units(write)
        .build()
}

fn consumed(kind: CapacityKind, capacity: ConsumedCapacity) -> Consumed {
    let metered = metered((), kind, [capacity]);
    let table: TableName = "notes".parse().unwrap();
    metered.consumed[&table].clone()
}

#[test]
fn units_are_of_the_operations_kind() {
    let answer = || {
        ConsumedCapacity::builder()
            .table_name("notes")
            .capacity_units(3.5)
            .table(capacity(Some(0.5), None, None))
            .global_secondary_indexes("global", capacity(Some(1.0), None, None))
            .local_secondary_indexes("local", capacity(Some(2.0), None, None))
            .build()
    };
    let read = consumed(CapacityKind::Read, answer());
    assert_eq!((read.read, read.write), (HalfUnits(1), HalfUnits(0)));
    let indexes = |units: fn(u64) -> (HalfUnits, HalfUnits)| -> BTreeMap<_, _> {
        let index = |(name, kind, half_units): (&str, _, _)| {
            let (read, write) = units(half_units);
            (name.to_owned(), IndexUnits { kind, read, write })
        };
        [
            ("global", IndexKind::Global, 2),
            ("local", IndexKind::Local, 4),
        ]
        .map(index)
        .into()
    };
    let expected = indexes(|units| (HalfUnits(units), HalfUnits(0)));
    assert_eq!(read.indexes, expected);

    let written = consumed(CapacityKind::Write, answer());
    assert_eq!((written.read, written.write), (HalfUnits(0), HalfUnits(1)));
    let expected = indexes(|units| (HalfUnits(0), HalfUnits(units)));
    assert_eq!(written.indexes, expected);
    assert_eq!(written.total(), HalfUnits(7));
}

#[test]
fn transactions_say_which_kind_it_is() {
    // A transaction that is sent again reads what it wrote.
    let answer = ConsumedCapacity::builder()
        .table_name("notes")
        .table(capacity(Some(2.0), Some(2.0), None))
        .build();
    let repeated = consumed(CapacityKind::Write, answer);
    assert_eq!(
        (repeated.read, repeated.write),
        (HalfUnits(4), HalfUnits(0))
    );
}

#[test]
fn a_total_alone_is_the_tables() {
    let answer = ConsumedCapacity::builder()
        .table_name("notes")
        .capacity_units(1.5)
        .build();
    assert_eq!(consumed(CapacityKind::Read, answer).read, HalfUnits(3));
    let nameless = ConsumedCapacity::builder().capacity_units(1.5).build();
    assert!(
        metered((), CapacityKind::Read, [nameless])
            .consumed
            .is_empty()
    );
}
