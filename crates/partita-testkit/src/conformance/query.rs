//! Reading a partition: which sort keys a range holds, and in what order.

use partita_core::expression::{KeyCondition, KeyRange};
use partita_core::key::KeyType;
use partita_core::{Item, Value};

use super::bench::{Bench, Table};
use super::values::{With as _, bytes, keys, number, row, schema};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::request::Query;

topic! {"query":
    strings_are_ordered_by_their_bytes,
    numbers_are_ordered_by_value,
    binaries_are_ordered_by_their_bytes,
    a_partition_is_no_prefix_of_another,
    a_prefix_ends_where_it_ends,
    an_empty_partition_has_an_empty_page,
    items_come_whole,
    keys_must_fit_the_schema,
    a_range_must_make_sense,
    a_query_sees_every_acknowledged_write,
}

async fn strings_are_ordered_by_their_bytes(bench: &Bench<'_>) -> StoreResult<()> {
    // The last two change places where text is compared in UTF-16.
    let sorts = [
        "A",
        "B",
        "a",
        "a#",
        "a#1",
        "a0",
        "aa",
        "b",
        "é",
        "\u{ffee}",
        "\u{1f600}",
    ];
    let sorts = sorts.map(Value::from);
    let table = bench.table().await?;
    ranges_work(&table, "p".into(), &sorts).await?;
    let prefix = |text: &str| KeyRange::BeginsWith(text.into());
    holds(&table, "p".into(), prefix("a"), &sorts[2..7]).await?;
    holds(&table, "p".into(), prefix("a#"), &sorts[3..5]).await?;
    holds(&table, "p".into(), prefix("é"), &sorts[8..9]).await?;
    holds(&table, "p".into(), prefix("c"), &[]).await
}

async fn numbers_are_ordered_by_value(bench: &Bench<'_>) -> StoreResult<()> {
    let sorts = [
        "-9e125",
        "-100",
        "-20",
        "-3",
        "-0.5",
        "-1e-130",
        "0",
        "1e-130",
        "0.05",
        "0.5",
        "1",
        "1.0000000000000000000000000000000000001",
        "2",
        "10",
        "99",
        "1e30",
        "9e125",
    ];
    let sorts = sorts.map(|text| number(text).into());
    let table = bench
        .table_with(schema(KeyType::S, Some(KeyType::N)))
        .await?;
    ranges_work(&table, "p".into(), &sorts).await
}

async fn binaries_are_ordered_by_their_bytes(bench: &Bench<'_>) -> StoreResult<()> {
    let sorts: [&[u8]; 10] = [
        &[0],
        &[0, 0],
        &[0, 1],
        &[0, 255],
        &[1],
        &[127],
        &[128],
        &[255],
        &[255, 0],
        &[255, 255],
    ];
    let sorts = sorts.map(bytes);
    let table = bench
        .table_with(schema(KeyType::B, Some(KeyType::B)))
        .await?;
    let partition = bytes([0, 255]);
    ranges_work(&table, partition.clone(), &sorts).await?;
    let prefix = |prefix: &[u8]| KeyRange::BeginsWith(bytes(prefix));
    holds(&table, partition.clone(), prefix(&[0]), &sorts[..4]).await?;
    // There is no next prefix after one of ones only.
    holds(&table, partition.clone(), prefix(&[255]), &sorts[7..]).await?;
    holds(&table, partition, prefix(&[255, 255]), &sorts[9..]).await
}

async fn a_partition_is_no_prefix_of_another(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let partitions = ["a", "ab", "a\0", "a#b", "b"];
    for partition in partitions {
        table.put(row("1").with("PK", partition)).await?;
        table.put(row("b1").with("PK", partition)).await?;
    }
    for partition in partitions {
        let expected = ["1", "b1"].map(|sort| row(sort).with("PK", partition));
        let found = table
            .query(KeyCondition::partition("PK", partition))
            .await?;
        assert_eq!(found, expected, "{partition:?}");
    }
    Ok(())
}

async fn a_prefix_ends_where_it_ends(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for sort in ["a", "a#1", "ab", "ab#1", "b"] {
        table.put(row(sort)).await?;
    }
    let found = async |text| -> StoreResult<Vec<Item>> { table.query(keys(text)).await };
    let rows = |sorts: &[&str]| -> Vec<Item> { sorts.iter().map(|sort| row(sort)).collect() };
    for (text, sorts) in [
        ("PK = 'p' AND begins_with(SK, 'a#')", &["a#1"][..]),
        ("PK = 'p' AND begins_with(SK, 'ab')", &["ab", "ab#1"]),
        (
            "PK = 'p' AND begins_with(SK, 'a')",
            &["a", "a#1", "ab", "ab#1"],
        ),
        ("PK = 'p' AND SK = 'a'", &["a"]),
        ("SK = 'ab' AND PK = 'p'", &["ab"]),
    ] {
        assert_eq!(found(text).await?, rows(sorts), "{text}");
    }
    Ok(())
}

async fn an_empty_partition_has_an_empty_page(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(row("1")).await?;
    for text in ["PK = 'q'", "PK = 'p' AND SK > '1'", "PK = 'p' AND SK = '2'"] {
        let query = Query::new(table.name.clone(), keys(text));
        let page = bench.store.query(query).await?;
        assert_eq!((page.items, page.scanned, page.last_key), (vec![], 0, None));
    }
    Ok(())
}

async fn items_come_whole(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let item = row("1").with("a", "x").with("b", Value::Null);
    table.put(item.clone()).await?;
    assert_eq!(table.query(keys("PK = 'p'")).await?, [item]);
    Ok(())
}

async fn keys_must_fit_the_schema(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(row("1").with("a", "1")).await?;
    for text in [
        "SK = '1'",
        "a = '1'",
        "PK = 1",
        "PK = 'p' AND SK = 1",
        "PK = 'p' AND SK > 1",
        "PK = 'p' AND a = '1'",
        "PK = 'p' AND a > '1'",
        "PK = 'p' AND PK = 'p'",
        "PK = 'p' AND SK = '1' AND SK = '1'",
        "PK = 'p' AND SK = '1' AND SK > '0'",
        "PK = 'p' AND SK = '1' AND a = '1'",
        "PK = ''",
        "PK = 'p' AND SK = ''",
        "PK = 'p' AND SK > ''",
        "PK = 'p' AND begins_with(SK, '')",
    ] {
        let result = table.query(keys(text)).await;
        assert!(result.is_err(), "accepted: {text}");
        expect::invalid(result);
    }
    Ok(())
}

async fn a_range_must_make_sense(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    expect::invalid(
        table
            .query(keys("PK = 'p' AND SK BETWEEN 'b' AND 'a'"))
            .await,
    );
    let numbers = bench
        .table_with(schema(KeyType::S, Some(KeyType::N)))
        .await?;
    expect::invalid(numbers.query(keys("PK = 'p' AND SK BETWEEN 2 AND 1")).await);
    expect::invalid(numbers.query(keys("PK = 'p' AND begins_with(SK, 1)")).await);
    Ok(())
}

async fn a_query_sees_every_acknowledged_write(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for count in 1..=20 {
        table.put(row(&format!("{count:02}"))).await?;
        assert_eq!(table.query(keys("PK = 'p'")).await?.len(), count);
    }
    for count in (0..20).rev() {
        table.delete(row(&format!("{:02}", count + 1))).await?;
        assert_eq!(table.query(keys("PK = 'p'")).await?.len(), count);
    }
    Ok(())
}

/// Fills a partition and asks for each kind of range at each of its keys.
async fn ranges_work(table: &Table<'_>, partition: Value, sorts: &[Value]) -> StoreResult<()> {
    // Neither in order nor in reverse.
    let (even, odd): (Vec<_>, Vec<_>) = (0..sorts.len()).partition(|index| index % 2 == 0);
    for index in odd.into_iter().rev().chain(even) {
        table.put(item(&partition, &sorts[index])).await?;
    }
    for (at, sort) in sorts.iter().enumerate() {
        let sort = || sort.clone();
        for (range, expected) in [
            (KeyRange::Less(sort()), &sorts[..at]),
            (KeyRange::LessOrEqual(sort()), &sorts[..=at]),
            (KeyRange::Greater(sort()), &sorts[at + 1..]),
            (KeyRange::GreaterOrEqual(sort()), &sorts[at..]),
            (KeyRange::Between(sort(), sort()), &sorts[at..=at]),
            (KeyRange::Between(sorts[0].clone(), sort()), &sorts[..=at]),
        ] {
            holds(table, partition.clone(), range, expected).await?;
        }
    }
    let mut whole = KeyCondition::partition("PK", partition.clone());
    finds(table, whole.clone(), &partition, sorts).await?;
    whole.equals.push(("SK".to_owned(), sorts[1].clone()));
    finds(table, whole, &partition, &sorts[1..2]).await
}

/// The range holds exactly these sort keys.
async fn holds(
    table: &Table<'_>,
    partition: Value,
    range: KeyRange,
    expected: &[Value],
) -> StoreResult<()> {
    let keys = KeyCondition {
        range: Some(("SK".to_owned(), range)),
        ..KeyCondition::partition("PK", partition.clone())
    };
    finds(table, keys, &partition, expected).await
}

/// Asks in both directions.
async fn finds(
    table: &Table<'_>,
    keys: KeyCondition,
    partition: &Value,
    expected: &[Value],
) -> StoreResult<()> {
    let mut expected: Vec<Item> = expected.iter().map(|sort| item(partition, sort)).collect();
    for descending in [false, true] {
        let query = Query {
            descending,
            ..Query::new(table.name.clone(), keys.clone())
        };
        let page = table.store.query(query).await?;
        assert_eq!(page.items, expected, "{keys:?}, descending: {descending}");
        assert_eq!((page.scanned, page.last_key), (expected.len(), None));
        expected.reverse();
    }
    Ok(())
}

fn item(partition: &Value, sort: &Value) -> Item {
    Item::new()
        .with("PK", partition.clone())
        .with("SK", sort.clone())
}
