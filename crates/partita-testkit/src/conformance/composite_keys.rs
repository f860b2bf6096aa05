//! Global indexes whose keys consist of several attributes.

use partita_core::Item;
use partita_core::key::KeyType;
use partita_core::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};

use super::bench::{Bench, Table};
use super::values::{With as _, attribute, bytes, global, indexed, keys, row, setting};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::index::IndexSchema;
use partita_store::request::Query;

topic! {"composite_keys":
    attributes_are_compared_one_after_another,
    equalities_and_then_a_range,
    conditions_may_stand_in_any_order,
    a_gap_is_refused,
    an_item_must_have_them_all,
    attributes_of_several_types,
    a_cursor_has_every_attribute,
    one_side_shares_its_bytes,
    four_and_four_are_the_most,
}

/// Matches by tournament and region, sorted by round, bracket and day.
async fn matches<'a>(bench: &Bench<'a>) -> StoreResult<Table<'a>> {
    let index = global("matches", ["t", "r"], ["x", "y", "z"]);
    let table = bench.table_with(indexed([index])).await?;
    // The order of the table's keys is not that of the index.
    for (sort, x, y, z) in [
        ("1", "final", "upper", "1"),
        ("2", "first", "lower", "2"),
        ("3", "final", "lower", "9"),
        ("4", "first", "upper", "1"),
        ("5", "first", "lower", "1"),
        ("6", "fi", "upper", "5"),
    ] {
        let item = row(sort).with("t", "cup").with("r", "north");
        table
            .put(item.with("x", x).with("y", y).with("z", z))
            .await?;
    }
    let elsewhere = row("7").with("t", "cup").with("r", "south");
    table
        .put(
            elsewhere
                .with("x", "final")
                .with("y", "upper")
                .with("z", "1"),
        )
        .await?;
    Ok(table)
}

async fn finds(table: &Table<'_>, text: &str, expected: &str) -> StoreResult<()> {
    let found = table.entries("matches", keys(text)).await?;
    let found: String = found
        .iter()
        .filter_map(|item| item["SK"].as_str())
        .collect();
    assert_eq!(found, expected, "{text}");
    Ok(())
}

async fn attributes_are_compared_one_after_another(bench: &Bench<'_>) -> StoreResult<()> {
    let table = matches(bench).await?;
    finds(&table, "t = 'cup' AND r = 'north'", "631524").await?;
    finds(&table, "t = 'cup' AND r = 'south'", "7").await?;
    finds(&table, "t = 'cup' AND r = 'west'", "").await?;
    let query = Query {
        descending: true,
        ..table.of_index("matches", keys("t = 'cup' AND r = 'north'"))
    };
    let page = bench.store.query(query).await?;
    let found: String = page
        .items
        .iter()
        .filter_map(|item| item["SK"].as_str())
        .collect();
    assert_eq!(found, "425136");
    Ok(())
}

async fn equalities_and_then_a_range(bench: &Bench<'_>) -> StoreResult<()> {
    let table = matches(bench).await?;
    for (rest, expected) in [
        ("x = 'first'", "524"),
        ("x = 'fi'", "6"),
        ("x > 'final'", "524"),
        ("begins_with(x, 'fi')", "631524"),
        ("x = 'first' AND y = 'lower'", "52"),
        ("x = 'first' AND y > 'lower'", "4"),
        ("x = 'first' AND y BETWEEN 'a' AND 'upper'", "524"),
        ("x = 'first' AND y = 'lower' AND z = '2'", "2"),
        ("x = 'first' AND y = 'lower' AND z <= '1'", "5"),
        ("x = 'first' AND y = 'lower' AND begins_with(z, '3')", ""),
    ] {
        let text = format!("t = 'cup' AND r = 'north' AND {rest}");
        finds(&table, &text, expected).await?;
    }
    Ok(())
}

async fn conditions_may_stand_in_any_order(bench: &Bench<'_>) -> StoreResult<()> {
    let table = matches(bench).await?;
    finds(
        &table,
        "y > 'a' AND x = 'final' AND r = 'north' AND t = 'cup'",
        "31",
    )
    .await
}

async fn a_gap_is_refused(bench: &Bench<'_>) -> StoreResult<()> {
    let table = matches(bench).await?;
    for text in [
        "t = 'cup'",
        "r = 'north'",
        "t = 'cup' AND x = 'final'",
        "t = 'cup' AND r > 'a'",
        "t = 'cup' AND begins_with(r, 'n')",
        "t = 'cup' AND r = 'north' AND y = 'upper'",
        "t = 'cup' AND r = 'north' AND y > 'a'",
        "t = 'cup' AND r = 'north' AND x = 'final' AND z = '1'",
        "t = 'cup' AND r = 'north' AND x > 'a' AND y = 'upper'",
        "t = 'cup' AND r = 'north' AND PK = 'p'",
    ] {
        let result = table.entries("matches", keys(text)).await;
        assert!(result.is_err(), "{text}");
        expect::invalid(result);
    }
    Ok(())
}

async fn an_item_must_have_them_all(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench
        .table_with(indexed([global("matches", ["t", "r"], ["x", "y"])]))
        .await?;
    let names = ["t", "r", "x", "y"];
    for missing in names {
        let present = names.into_iter().filter(|name| *name != missing);
        let item = present.fold(row(missing), |item, name| item.with(name, "v"));
        table.put(item).await?;
    }
    finds(&table, "t = 'v' AND r = 'v'", "").await?;
    for name in names {
        table.update(row(name), setting(name, "v")).await?;
    }
    let found = table
        .entries("matches", keys("t = 'v' AND r = 'v'"))
        .await?;
    assert_eq!(found.len(), names.len());
    for name in names {
        expect::invalid(table.put(row("new").with(name, 1)).await);
    }
    Ok(())
}

async fn attributes_of_several_types(bench: &Bench<'_>) -> StoreResult<()> {
    let index = IndexSchema {
        partition: vec![attribute("s", KeyType::S), attribute("n", KeyType::N)],
        sort: vec![attribute("m", KeyType::N), attribute("b", KeyType::B)],
        ..global("matches", [], [])
    };
    let table = bench.table_with(indexed([index])).await?;
    for (sort, m, b) in [("1", 10, 1), ("2", 9, 2), ("3", 9, 1), ("4", -1, 0)] {
        let item = row(sort).with("s", "a").with("n", 1);
        table.put(item.with("m", m).with("b", bytes([b]))).await?;
    }
    finds(&table, "s = 'a' AND n = 1", "4321").await?;
    finds(&table, "s = 'a' AND n = 1 AND m = 9", "32").await?;
    finds(&table, "s = 'a' AND n = 1 AND m > 9", "1").await?;
    finds(&table, "s = 'a' AND n = 2", "").await
}

async fn a_cursor_has_every_attribute(bench: &Bench<'_>) -> StoreResult<()> {
    let table = matches(bench).await?;
    let query = Query {
        limit: Some(2),
        ..table.of_index("matches", keys("t = 'cup' AND r = 'north'"))
    };
    let page = bench.store.query(query.clone()).await?;
    let expected = page.items[1].clone();
    assert_eq!(
        page.last_key,
        Some(expected),
        "all attributes here are keys"
    );
    let pages = table.query_pages(query.clone()).await?;
    let items = pages.iter().flat_map(|page| &page.items);
    let found: String = items.filter_map(|item| item["SK"].as_str()).collect();
    assert_eq!(found, "631524");

    let mut short: Item = page.last_key.unwrap_or_default();
    short.remove("y");
    let query = Query {
        start_after: Some(short),
        ..query
    };
    expect::invalid(bench.store.query(query).await);
    Ok(())
}

async fn one_side_shares_its_bytes(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench
        .table_with(indexed([global("matches", ["t", "r"], ["x", "y"])]))
        .await?;
    let sized = |partition: usize, sort: usize| {
        let item = row("1").with("t", "t").with("x", "x");
        item.with("r", "r".repeat(partition - 1))
            .with("y", "y".repeat(sort - 1))
    };
    let (partition, sort) = (PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX);
    table.put(sized(partition, sort)).await?;
    expect::invalid(table.put(sized(partition + 1, sort)).await);
    expect::invalid(table.put(sized(partition, sort + 1)).await);
    Ok(())
}

async fn four_and_four_are_the_most(bench: &Bench<'_>) -> StoreResult<()> {
    let four = ["a", "b", "c", "d"];
    let index = global("matches", four, ["e", "f", "g", "h"]);
    let table = bench.table_with(indexed([index])).await?;
    let names = four.into_iter().chain(["e", "f", "g", "h"]);
    table
        .put(names.fold(row("1"), |item, name| item.with(name, "v")))
        .await?;
    finds(
        &table,
        "a = 'v' AND b = 'v' AND c = 'v' AND d = 'v' AND e < 'w'",
        "1",
    )
    .await?;
    for index in [
        global("matches", ["a", "b", "c", "d", "e"], []),
        global("matches", ["a"], ["b", "c", "d", "e", "f"]),
        global("matches", [], ["a"]),
    ] {
        expect::invalid(bench.table_with(indexed([index])).await.map(drop));
    }
    Ok(())
}
