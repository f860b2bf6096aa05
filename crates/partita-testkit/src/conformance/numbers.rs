//! Exact decimals.

use partita_core::Item;
use partita_core::key::KeyType;

use super::bench::{Bench, Table};
use super::topic;
use super::update::{becomes, refuses};
use super::values::{With as _, keys, number, row, schema, update};
use partita_store::error::StoreResult;

topic! {"numbers":
    every_digit_is_kept,
    spellings_of_one_number_are_equal,
    spellings_of_one_number_are_one_key,
    sums_are_exact_or_refused,
}

async fn every_digit_is_kept(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for text in [
        "0",
        "-1",
        "12345678901234567890123456789012345678",
        "-0.12345678901234567890123456789012345678",
        "9007199254740993",
        "0.1",
        "1e-130",
        "-1e-130",
        "9.9999999999999999999999999999999999999e125",
        "-9.9999999999999999999999999999999999999e125",
        "1e125",
    ] {
        let item = row("1").with("n", number(text));
        table.put(item.clone()).await?;
        assert_eq!(table.get(row("1")).await?, Some(item), "{text}");
    }
    Ok(())
}

async fn spellings_of_one_number_are_equal(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for (one, two) in [("1", "1.0"), ("00042", "42"), ("1.5e2", "150"), ("-0", "0")] {
        table.put(row("1").with("n", number(one))).await?;
        let expected = row("1").with("n", number(two));
        assert_eq!(table.get(row("1")).await?, Some(expected));
    }
    Ok(())
}

async fn spellings_of_one_number_are_one_key(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench
        .table_with(schema(KeyType::N, Some(KeyType::N)))
        .await?;
    let key = |partition, sort| {
        Item::new()
            .with("PK", number(partition))
            .with("SK", number(sort))
    };
    table.put(key("1", "100").with("a", 1)).await?;
    table.put(key("1.0", "1e2").with("a", 2)).await?;
    let expected = key("1", "100").with("a", 2);
    assert_eq!(
        table.get(key("01", "1.00e2")).await?,
        Some(expected.clone())
    );
    assert_eq!(table.query(keys("PK = 1.00")).await?, [expected]);
    table.delete(key("1.000", "100.0")).await?;
    assert_eq!(table.get(key("1", "100")).await?, None);
    Ok(())
}

async fn sums_are_exact_or_refused(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let item = |text| row("1").with("n", number(text));
    for (before, text, after) in [
        ("0.1", "SET n = n + 0.2", "0.3"),
        ("9007199254740992", "SET n = n + 1", "9007199254740993"),
        (
            "1e37",
            "SET n = n + 1",
            "10000000000000000000000000000000000001",
        ),
        ("1e-130", "SET n = n - n", "0"),
        (
            "99999999999999999999999999999999999999",
            "SET n = n + 1",
            "1e38",
        ),
    ] {
        becomes(&table, &item(before), update(text), item(after)).await?;
    }
    doubles(&table, "4e125", Some("8e125")).await?;
    doubles(&table, "5e125", None).await?;
    for before in ["1e50", "1e38", "0.1234567890123456789012345678901234567"] {
        refuses(&table, &item(before), update("SET n = n + 10.1")).await?;
    }
    Ok(())
}

async fn doubles(table: &Table<'_>, before: &str, after: Option<&str>) -> StoreResult<()> {
    let item = |text| row("1").with("n", number(text));
    let double = update("SET n = n + n");
    match after {
        Some(after) => becomes(table, &item(before), double, item(after)).await,
        None => refuses(table, &item(before), double).await,
    }
}
