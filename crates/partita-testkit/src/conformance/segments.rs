//! Parallel scans: parts that are disjoint and complete.

use std::collections::BTreeSet;

use partita_core::Item;

use super::bench::{Bench, Table};
use super::values::{With as _, global, indexed, row};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::request::{Scan, Segment};

topic! {"segments":
    segments_are_disjoint_and_complete,
    segments_of_an_index_are_too,
    more_segments_than_items_are_allowed,
    a_cursor_belongs_to_its_segment,
    a_segment_is_one_of_its_total,
}

/// Forty items in twenty partitions; half of them are in the index.
async fn forty<'a>(bench: &Bench<'a>) -> StoreResult<Table<'a>> {
    let table = bench
        .table_with(indexed([global("by_g", ["g"], [])]))
        .await?;
    for number in 0..40 {
        let key = row(&format!("{}", number % 2)).with("PK", format!("p{}", number / 2));
        let item = match number % 2 {
            0 => key.with("g", format!("g{number}")),
            _ => key,
        };
        table.put(item).await?;
    }
    Ok(table)
}

fn part(scan: Scan, number: u32, total: u32) -> Scan {
    Scan {
        segment: Some(Segment { number, total }),
        ..scan
    }
}

/// The items of all parts, each of which is read in pages.
async fn read(table: &Table<'_>, scan: &Scan, total: u32) -> StoreResult<Vec<Item>> {
    let mut items = Vec::new();
    for number in 0..total {
        let scan = Scan {
            limit: Some(3),
            ..part(scan.clone(), number, total)
        };
        let pages = table.scan_pages(scan).await?;
        items.extend(pages.into_iter().flat_map(|page| page.items));
    }
    Ok(items)
}

fn keys_of(items: &[Item]) -> BTreeSet<String> {
    let key = |item: &Item| format!("{:?} {:?}", item["PK"].as_str(), item["SK"].as_str());
    let keys: BTreeSet<_> = items.iter().map(key).collect();
    assert_eq!(keys.len(), items.len(), "an item came twice");
    keys
}

async fn segments_are_disjoint_and_complete(bench: &Bench<'_>) -> StoreResult<()> {
    let table = forty(bench).await?;
    let scan = Scan::new(table.name.clone());
    let whole = keys_of(&read(&table, &scan, 1).await?);
    assert_eq!(whole.len(), 40);
    for total in [2, 3, 7] {
        assert_eq!(
            keys_of(&read(&table, &scan, total).await?),
            whole,
            "{total} parts"
        );
    }
    Ok(())
}

async fn segments_of_an_index_are_too(bench: &Bench<'_>) -> StoreResult<()> {
    let table = forty(bench).await?;
    let scan = table.through("by_g");
    assert_eq!(keys_of(&read(&table, &scan, 4).await?).len(), 20);
    Ok(())
}

async fn more_segments_than_items_are_allowed(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(row("1")).await?;
    table.put(row("2")).await?;
    let scan = Scan::new(table.name.clone());
    // A partition is in one part as a whole.
    let mut found = Vec::new();
    for number in 0..16 {
        let page = bench.store.scan(part(scan.clone(), number, 16)).await?;
        found.extend((page.count > 0).then_some(page.count));
    }
    assert_eq!(found, [2]);
    bench.store.scan(part(scan, 999_999, 1_000_000)).await?;
    Ok(())
}

async fn a_cursor_belongs_to_its_segment(bench: &Bench<'_>) -> StoreResult<()> {
    let table = forty(bench).await?;
    let first = Scan {
        limit: Some(1),
        ..part(Scan::new(table.name.clone()), 0, 2)
    };
    let start_after = bench.store.scan(first.clone()).await?.last_key;
    assert!(
        start_after.is_some(),
        "twenty partitions are in both halves"
    );
    let scan = |number| Scan {
        start_after: start_after.clone(),
        ..part(first.clone(), number, 2)
    };
    bench.store.scan(scan(0)).await?;
    expect::invalid(bench.store.scan(scan(1)).await);
    Ok(())
}

async fn a_segment_is_one_of_its_total(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let scan = Scan::new(table.name.clone());
    for (number, total) in [(0, 0), (1, 1), (5, 4), (0, 1_000_001)] {
        let result = bench.store.scan(part(scan.clone(), number, total)).await;
        assert!(result.is_err(), "{number} of {total}");
        expect::invalid(result);
    }
    Ok(())
}
