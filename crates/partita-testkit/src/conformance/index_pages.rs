//! Pages of global indexes: order, cursors, filters, and what may be asked for.

use std::collections::BTreeSet;

use partita_core::key::KeyType;
use partita_core::{Item, Name};

use super::bench::{Bench, Table};
use super::values::{
    With as _, attribute, condition, global, including, indexed, keys, keys_only, number, parts,
    row, update,
};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::index::IndexSchema;
use partita_store::request::{Page, Query, Scan, Select};

topic! {"index_pages":
    entries_come_in_the_order_of_their_keys,
    pages_add_up_to_the_whole,
    a_cursor_has_the_keys_of_index_and_table,
    a_cursor_survives_its_entry,
    a_cursor_must_be_a_key_of_the_query,
    consistent_reads_are_refused,
    what_an_index_lacks_is_refused,
    a_filter_may_ask_for_the_tables_keys,
    a_filter_may_not_ask_for_what_is_lacking,
    a_scans_filter_sees_the_entry,
    only_numbers_may_be_asked_for,
}

/// Nine entries under `a` with three sort keys, and some elsewhere. Their rest stays outside.
async fn nine<'a>(bench: &Bench<'a>) -> StoreResult<Table<'a>> {
    let index = including(global("by_g", ["g"], ["h"]), ["n"]);
    let table = bench.table_with(indexed([index])).await?;
    for place in 1..=9_i64 {
        let item = row(&place.to_string()).with("g", "a").with("n", place);
        let item = item.with("h", format!("h{}", (place - 1) / 3));
        table.put(item.with("rest", "r")).await?;
    }
    table
        .put(row("other").with("g", "b").with("h", "h1"))
        .await?;
    table.put(row("sparse").with("g", "a")).await?;
    Ok(table)
}

fn numbers(pages: &[Page<Item>]) -> Vec<i64> {
    let items = pages.iter().flat_map(|page| &page.items);
    let number = |item: &Item| item["n"].as_number().and_then(|number| number.to_i64());
    items.filter_map(number).collect()
}

async fn entries_come_in_the_order_of_their_keys(bench: &Bench<'_>) -> StoreResult<()> {
    let index = IndexSchema {
        sort: vec![attribute("n", KeyType::N)],
        ..global("by_n", ["g"], ["n"])
    };
    let table = bench.table_with(indexed([index])).await?;
    let ascending = ["-10", "-9.5", "0", "2", "10", "1e3"];
    for (sort, text) in ["c", "a", "f", "b", "e", "d"].into_iter().zip(ascending) {
        table
            .put(row(sort).with("g", "a").with("n", number(text)))
            .await?;
    }
    for descending in [false, true] {
        let query = Query {
            descending,
            ..table.of_index("by_n", keys("g = 'a' AND n > -10"))
        };
        let page = bench.store.query(query).await?;
        let mut expected = ascending[1..].to_vec();
        if descending {
            expected.reverse();
        }
        let found: Vec<_> = page.items.iter().map(|item| item["n"].clone()).collect();
        assert_eq!(
            found,
            Vec::from_iter(expected.into_iter().map(|text| number(text).into()))
        );
    }
    Ok(())
}

async fn pages_add_up_to_the_whole(bench: &Bench<'_>) -> StoreResult<()> {
    let table = nine(bench).await?;
    for limit in [1, 2, 4, 9, 10] {
        let mut orders = Vec::new();
        for descending in [false, true] {
            let query = Query {
                limit: Some(limit),
                descending,
                ..table.of_index("by_g", keys("g = 'a' AND h >= 'h0'"))
            };
            let pages = table.query_pages(query).await?;
            assert!(pages.iter().all(|page| page.scanned <= limit));
            orders.push(numbers(&pages));
        }
        // Entries with equal keys come in any order, but in the same one both ways.
        orders[1].reverse();
        assert_eq!(orders[0], orders[1], "by {limit}");
        for (third, expected) in orders[0].chunks(3).zip([[1, 2, 3], [4, 5, 6], [7, 8, 9]]) {
            assert_eq!(BTreeSet::from_iter(third), BTreeSet::from_iter(&expected));
        }
        let scan = Scan {
            limit: Some(limit),
            filter: Some(condition("g = 'a'")),
            ..table.through("by_g")
        };
        let mut scanned = numbers(&table.scan_pages(scan).await?);
        scanned.sort_unstable();
        assert_eq!(scanned, Vec::from_iter(1..=9), "by {limit}");
    }
    Ok(())
}

async fn a_cursor_has_the_keys_of_index_and_table(bench: &Bench<'_>) -> StoreResult<()> {
    let table = nine(bench).await?;
    let query = Query {
        limit: Some(1),
        ..table.of_index("by_g", keys("g = 'a' AND h = 'h1'"))
    };
    let page = bench.store.query(query).await?;
    let mut expected = page.items[0].clone();
    expected.remove("n");
    assert_eq!(page.last_key, Some(expected));

    let scan = Scan {
        limit: Some(1),
        ..table.through("by_g")
    };
    let last = bench.store.scan(scan).await?.last_key.unwrap_or_default();
    let names: Vec<_> = last.keys().map(Name::as_str).collect();
    assert_eq!(names, ["PK", "SK", "g", "h"]);
    Ok(())
}

async fn a_cursor_survives_its_entry(bench: &Bench<'_>) -> StoreResult<()> {
    let table = nine(bench).await?;
    for (descending, gone) in [(false, true), (true, false)] {
        let query = Query {
            limit: Some(4),
            descending,
            ..table.of_index("by_g", keys("g = 'a'"))
        };
        let first = bench.store.query(query.clone()).await?;
        let cursor = first.last_key.clone().expect("there is more");
        let key = Item::new()
            .with("PK", cursor["PK"].clone())
            .with("SK", cursor["SK"].clone());
        let item = table.get(key.clone()).await?.expect("it was just read");
        if gone {
            table.delete(key).await?
        } else {
            // It leaves the index, not the table.
            drop(table.update(key, update("REMOVE h")).await?)
        }
        let query = Query {
            start_after: Some(cursor),
            limit: None,
            ..query
        };
        let rest = bench.store.query(query).await?;
        let mut found = numbers(&[first, rest]);
        found.sort_unstable();
        assert_eq!(found, Vec::from_iter(1..=9));
        table.put(item).await?;
    }
    Ok(())
}

async fn a_cursor_must_be_a_key_of_the_query(bench: &Bench<'_>) -> StoreResult<()> {
    let table = nine(bench).await?;
    let good = row("1").with("g", "a").with("h", "h0");
    let without = |name: &str| {
        let mut key = good.clone();
        key.remove(name);
        key
    };
    for cursor in [
        without("h"),
        without("g"),
        without("PK"),
        without("SK"),
        row("1"),
        good.clone().with("n", 1),
        good.clone().with("h", 1),
        good.clone().with("g", "b"),
        good.clone().with("h", "h2"),
    ] {
        let query = Query {
            start_after: Some(cursor.clone()),
            ..table.of_index("by_g", keys("g = 'a' AND h < 'h2'"))
        };
        let result = bench.store.query(query).await;
        assert!(result.is_err(), "{cursor:?}");
        expect::invalid(result);
    }
    // A place where nothing is will do.
    let query = Query {
        start_after: Some(row("none").with("g", "a").with("h", "h1z")),
        ..table.of_index("by_g", keys("g = 'a'"))
    };
    let mut found = numbers(&table.query_pages(query).await?);
    found.sort_unstable();
    assert_eq!(found, [7, 8, 9]);
    Ok(())
}

async fn consistent_reads_are_refused(bench: &Bench<'_>) -> StoreResult<()> {
    let table = nine(bench).await?;
    let query = Query {
        consistent: true,
        ..table.of_index("by_g", keys("g = 'a'"))
    };
    expect::invalid(bench.store.query(query).await);
    let scan = Scan {
        consistent: true,
        ..table.through("by_g")
    };
    expect::invalid(bench.store.scan(scan).await);
    Ok(())
}

async fn what_an_index_lacks_is_refused(bench: &Bench<'_>) -> StoreResult<()> {
    let table = nine(bench).await?;
    for select in [Select::All, Select::Parts(parts("n, rest"))] {
        let query = Query {
            select: select.clone(),
            ..table.of_index("by_g", keys("g = 'a'"))
        };
        expect::invalid(bench.store.query(query).await);
        let scan = Scan {
            select,
            ..table.through("by_g")
        };
        expect::invalid(bench.store.scan(scan).await);
    }
    let query = Query {
        select: Select::Parts(parts("n, SK")),
        limit: Some(1),
        ..table.of_index("by_g", keys("g = 'a' AND h = 'h0'"))
    };
    let page = bench.store.query(query).await?;
    let names: Vec<_> = page.items[0].keys().map(Name::as_str).collect();
    assert_eq!(names, ["SK", "n"]);

    let whole = bench
        .table_with(indexed([global("whole", ["g"], [])]))
        .await?;
    let item = row("1").with("g", "a").with("rest", "r");
    whole.put(item.clone()).await?;
    let query = Query {
        select: Select::All,
        ..whole.of_index("whole", keys("g = 'a'"))
    };
    assert_eq!(bench.store.query(query).await?.items, [item]);
    Ok(())
}

async fn a_filter_may_ask_for_the_tables_keys(bench: &Bench<'_>) -> StoreResult<()> {
    let table = nine(bench).await?;
    let filtered = |text: &str| Query {
        filter: Some(condition(text)),
        ..table.of_index("by_g", keys("g = 'a'"))
    };
    let pages = table.query_pages(filtered("SK = '5' OR n > 8")).await?;
    assert_eq!(numbers(&pages), [5, 9]);
    assert_eq!((pages[0].count, pages[0].scanned), (2, 9));
    for text in ["h = 'h1'", "g = 'a'", "n = 1 AND size(h) > 1"] {
        expect::invalid(bench.store.query(filtered(text)).await);
    }
    Ok(())
}

async fn a_filter_may_not_ask_for_what_is_lacking(bench: &Bench<'_>) -> StoreResult<()> {
    let table = nine(bench).await?;
    let query = Query {
        filter: Some(condition("rest = 'r' OR n = 1")),
        ..table.of_index("by_g", keys("g = 'a'"))
    };
    expect::invalid(bench.store.query(query).await);
    Ok(())
}

async fn a_scans_filter_sees_the_entry(bench: &Bench<'_>) -> StoreResult<()> {
    let table = nine(bench).await?;
    let scan = Scan {
        filter: Some(condition("rest = 'r'")),
        ..table.through("by_g")
    };
    let page = bench.store.scan(scan).await?;
    assert_eq!((page.count, page.scanned), (0, 10));
    Ok(())
}

async fn only_numbers_may_be_asked_for(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench
        .table_with(indexed([keys_only(global("by_g", ["g"], []))]))
        .await?;
    for sort in ["1", "2", "3"] {
        table.put(row(sort).with("g", "a")).await?;
    }
    let expected = Page {
        count: 2,
        scanned: 3,
        ..Page::default()
    };
    let query = Query {
        filter: Some(condition("SK > '1'")),
        select: Select::Count,
        ..table.of_index("by_g", keys("g = 'a'"))
    };
    assert_eq!(bench.store.query(query).await?, expected);
    let scan = Scan {
        filter: Some(condition("SK > '1'")),
        select: Select::Count,
        ..Scan::new(table.name.clone())
    };
    assert_eq!(bench.store.scan(scan).await?, expected);
    Ok(())
}
