//! Writing several items, each for itself.

use partita_core::Item;
use partita_core::key::KeyType;
use partita_core::limits::BATCH_WRITE_ITEMS_MAX;

use super::bench::{Bench, Table};
use super::values::{With as _, keys, number, row, schema};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::request::{BatchWrite, BatchWriteItem};

topic! {"batch_write":
    puts_and_deletes_are_carried_out,
    one_request_writes_several_tables,
    an_item_may_be_written_once,
    one_number_is_one_item,
    twenty_five_writes_are_the_most,
    one_faulty_write_refuses_all,
    a_missing_table_refuses_all,
    large_items_are_written,
}

fn put(table: &Table<'_>, item: Item) -> BatchWrite {
    BatchWrite::Put {
        table: table.name.clone(),
        item,
    }
}

fn delete(table: &Table<'_>, key: Item) -> BatchWrite {
    BatchWrite::Delete(table.address(key))
}

/// Writes until nothing is left over; every round has to get somewhere.
async fn write(table: &Table<'_>, mut writes: Vec<BatchWrite>) -> StoreResult<()> {
    while !writes.is_empty() {
        let before = writes.len();
        let request = BatchWriteItem { writes };
        writes = table.store.batch_write_item(request).await?;
        assert!(writes.len() < before, "{} are left over", writes.len());
    }
    Ok(())
}

async fn refused(table: &Table<'_>, writes: Vec<BatchWrite>) {
    let text = format!("{writes:.200?}");
    let request = BatchWriteItem { writes };
    let result = table.store.batch_write_item(request).await;
    assert!(result.is_err(), "{text}");
    expect::invalid(result);
}

async fn puts_and_deletes_are_carried_out(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for sort in ["1", "2", "3"] {
        table.put(row(sort).with("a", 1).with("b", 1)).await?;
    }
    let writes = vec![
        put(&table, row("1").with("a", 2)),
        delete(&table, row("2")),
        put(&table, row("4").with("a", 4)),
        delete(&table, row("never there")),
    ];
    write(&table, writes).await?;
    let expected = [
        row("1").with("a", 2),
        row("3").with("a", 1).with("b", 1),
        row("4").with("a", 4),
    ];
    assert_eq!(table.query(keys("PK = 'p'")).await?, expected);
    Ok(())
}

async fn one_request_writes_several_tables(bench: &Bench<'_>) -> StoreResult<()> {
    let (one, two) = (bench.table().await?, bench.table().await?);
    two.put(row("2")).await?;
    let writes = vec![
        put(&one, row("1").with("in", "one")),
        put(&two, row("1").with("in", "two")),
        delete(&two, row("2")),
    ];
    write(&one, writes).await?;
    assert_eq!(one.get(row("1")).await?, Some(row("1").with("in", "one")));
    let expected = [row("1").with("in", "two")];
    assert_eq!(two.query(keys("PK = 'p'")).await?, expected);
    Ok(())
}

async fn an_item_may_be_written_once(bench: &Bench<'_>) -> StoreResult<()> {
    let (table, other) = (bench.table().await?, bench.table().await?);
    for writes in [
        vec![
            put(&table, row("1").with("a", 1)),
            put(&table, row("1").with("a", 2)),
        ],
        vec![put(&table, row("1")), delete(&table, row("1"))],
        vec![
            delete(&table, row("1")),
            put(&table, row("2")),
            delete(&table, row("1")),
        ],
    ] {
        refused(&table, writes).await;
    }
    assert_eq!(table.query(keys("PK = 'p'")).await?, []);
    write(&table, vec![put(&table, row("1")), put(&other, row("1"))]).await
}

async fn one_number_is_one_item(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table_with(schema(KeyType::N, None)).await?;
    let item = |text: &str| Item::new().with("PK", number(text));
    let writes = vec![put(&table, item("1")), put(&table, item("1.0"))];
    refused(&table, writes).await;
    assert_eq!(table.get(item("1")).await?, None);
    Ok(())
}

async fn twenty_five_writes_are_the_most(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let puts = |count: usize| -> Vec<_> {
        let numbers = 0..count;
        numbers
            .map(|number| put(&table, row(&format!("{number:02}"))))
            .collect()
    };
    refused(&table, puts(0)).await;
    refused(&table, puts(BATCH_WRITE_ITEMS_MAX + 1)).await;
    assert_eq!(table.query(keys("PK = 'p'")).await?, []);
    write(&table, puts(BATCH_WRITE_ITEMS_MAX)).await?;
    let found = table.query(keys("PK = 'p'")).await?;
    assert_eq!(found.len(), BATCH_WRITE_ITEMS_MAX);
    Ok(())
}

async fn one_faulty_write_refuses_all(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for faulty in [
        put(&table, Item::new().with("PK", "p")),
        put(&table, row("2").with("SK", 2)),
        put(&table, row("")),
        put(&table, row("2").with("d", "x".repeat(409_600))),
        delete(&table, Item::new().with("PK", "p")),
        delete(&table, row("2").with("extra", 1)),
        delete(&table, row("2").with("SK", true)),
    ] {
        refused(&table, vec![put(&table, row("1")), faulty]).await;
        assert_eq!(table.get(row("1")).await?, None);
    }
    Ok(())
}

async fn a_missing_table_refuses_all(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let missing = Table {
        store: bench.store,
        name: bench.fresh_name(),
    };
    let writes = vec![put(&table, row("1")), put(&missing, row("1"))];
    let result = bench
        .store
        .batch_write_item(BatchWriteItem { writes })
        .await;
    assert_eq!(expect::table_not_found(result), missing.name);
    assert_eq!(table.get(row("1")).await?, None);
    Ok(())
}

async fn large_items_are_written(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let sorts = Vec::from_iter((0..BATCH_WRITE_ITEMS_MAX).map(|number| format!("{number:02}")));
    let item = |sort: &String| row(sort).with("d", "x".repeat(400_000));
    let puts = sorts.iter().map(|sort| put(&table, item(sort)));
    write(&table, puts.collect()).await?;
    for sort in &sorts {
        assert_eq!(table.get(row(sort)).await?, Some(item(sort)));
    }
    Ok(())
}
