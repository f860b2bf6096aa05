//! Reading whole tables.

use std::collections::BTreeSet;

use partita_core::Item;

use super::bench::{Bench, Table};
use super::values::{With as _, condition, row};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::request::{Page, Scan};

topic! {"scan":
    a_scan_finds_every_item,
    pages_add_up_to_the_whole,
    a_limit_counts_before_the_filter,
    a_filter_may_ask_for_keys,
    a_cursor_survives_the_deletion_of_its_item,
    an_empty_table_has_an_empty_page,
    limit_and_cursor_are_checked,
}

/// Twelve items in four partitions.
async fn twelve<'a>(bench: &Bench<'a>) -> StoreResult<Table<'a>> {
    let table = bench.table().await?;
    for (number, key) in (0_i64..).zip(twelve_keys()) {
        table.put(key.with("n", number)).await?;
    }
    Ok(table)
}

fn twelve_keys() -> impl Iterator<Item = Item> {
    let partitions = ["a", "ab", "b", "c#1"];
    partitions
        .into_iter()
        .flat_map(|partition| ["1", "2", "3"].map(|sort| row(sort).with("PK", partition)))
}

/// The numbers of the items, which come in no particular order.
fn numbers(pages: &[Page<Item>]) -> BTreeSet<i64> {
    let items: Vec<_> = pages.iter().flat_map(|page| &page.items).collect();
    let number = |item: &&Item| item["n"].as_number().and_then(|number| number.to_i64());
    let numbers: BTreeSet<_> = items.iter().filter_map(number).collect();
    assert_eq!(numbers.len(), items.len(), "an item came twice");
    numbers
}

async fn a_scan_finds_every_item(bench: &Bench<'_>) -> StoreResult<()> {
    let table = twelve(bench).await?;
    let page = bench.store.scan(Scan::new(table.name.clone())).await?;
    assert_eq!((page.scanned, page.last_key.as_ref()), (12, None));
    assert_eq!(numbers(&[page]), (0..12).collect());
    Ok(())
}

async fn pages_add_up_to_the_whole(bench: &Bench<'_>) -> StoreResult<()> {
    let table = twelve(bench).await?;
    for limit in [1, 2, 5, 11, 12, 13] {
        let scan = Scan {
            limit: Some(limit),
            ..Scan::new(table.name.clone())
        };
        let pages = table.scan_pages(scan).await?;
        assert!(pages.iter().all(|page| page.scanned <= limit));
        assert_eq!(numbers(&pages), (0..12).collect(), "by {limit}");
    }
    Ok(())
}

async fn a_limit_counts_before_the_filter(bench: &Bench<'_>) -> StoreResult<()> {
    let table = twelve(bench).await?;
    let scan = Scan {
        filter: Some(condition("n BETWEEN 3 AND 6")),
        limit: Some(5),
        ..Scan::new(table.name.clone())
    };
    let pages = table.scan_pages(scan).await?;
    let scanned: Vec<_> = pages.iter().map(|page| page.scanned).collect();
    assert_eq!(scanned, [5, 5, 2]);
    assert_eq!(numbers(&pages), (3..=6).collect());
    Ok(())
}

async fn a_filter_may_ask_for_keys(bench: &Bench<'_>) -> StoreResult<()> {
    let table = twelve(bench).await?;
    let scan = Scan {
        filter: Some(condition("begins_with(PK, 'a') AND SK = '2'")),
        ..Scan::new(table.name.clone())
    };
    assert_eq!(numbers(&table.scan_pages(scan).await?), [1, 4].into());
    Ok(())
}

async fn a_cursor_survives_the_deletion_of_its_item(bench: &Bench<'_>) -> StoreResult<()> {
    let table = twelve(bench).await?;
    let scan = Scan {
        limit: Some(5),
        ..Scan::new(table.name.clone())
    };
    let first = bench.store.scan(scan.clone()).await?;
    let cursor = first.last_key.clone().expect("there is more");
    table.delete(cursor.clone()).await?;
    let scan = Scan {
        start_after: Some(cursor),
        ..scan
    };
    let mut pages = table.scan_pages(scan).await?;
    pages.push(first);
    assert_eq!(numbers(&pages), (0..12).collect());
    Ok(())
}

async fn an_empty_table_has_an_empty_page(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let scan = Scan::new(table.name.clone());
    assert_eq!(bench.store.scan(scan).await?, Page::default());
    Ok(())
}

async fn limit_and_cursor_are_checked(bench: &Bench<'_>) -> StoreResult<()> {
    let table = twelve(bench).await?;
    let limited = Scan {
        limit: Some(0),
        ..Scan::new(table.name.clone())
    };
    expect::invalid(bench.store.scan(limited).await);
    for cursor in [
        Item::new(),
        Item::new().with("PK", "a"),
        row("1").with("n", 1),
        row("1").with("SK", 1),
    ] {
        let scan = Scan {
            start_after: Some(cursor),
            ..Scan::new(table.name.clone())
        };
        expect::invalid(bench.store.scan(scan).await);
    }
    Ok(())
}
