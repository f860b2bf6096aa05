//! The units that operations on a table consume.
//!
//! Units read and written are compared as one number: DynamoDB separates them for transactions
//! only.

use partita_core::Item;
use partita_core::size::item_bytes;

use super::bench::{Bench, Table};
use super::topic;
use super::values::{With as _, condition, keys, parts, row, update};
use partita_store::capacity::Metered;
use partita_store::error::StoreResult;
use partita_store::request::{
    BatchGetItem, BatchWrite, BatchWriteItem, GetItem, Query, ReturnValues, Scan, Select,
    TransactAction, TransactGetItems, TransactWriteItems,
};

topic! {"capacity":
    reads_count_in_blocks_of_four_kilobytes,
    a_missing_item_is_read_too,
    a_projection_changes_nothing,
    writes_count_in_kilobytes,
    the_larger_of_two_states_counts,
    a_query_adds_up_before_it_rounds,
    what_a_filter_drops_counts,
    a_scan_counts_as_a_query,
    each_item_of_a_batch_counts,
    a_batch_reads_each_table_as_it_is_asked,
    a_missing_item_of_a_batch_counts,
    a_batch_deletes_a_missing_item_for_one_unit,
    each_table_is_told_apart,
    transactions_cost_twice,
    each_action_of_a_transaction_counts,
    a_transaction_pays_for_a_missing_item,
    a_check_costs_as_much_as_a_write,
    a_repeated_transaction_is_a_read,
}

/// An item of that many bytes.
fn sized(sort: &str, bytes: usize) -> Item {
    let item = row(sort).with("d", "");
    let missing = bytes - item_bytes(&item);
    item.with("d", "x".repeat(missing))
}

/// The units that an answer cost in all.
fn total<T>(metered: &Metered<T>) -> f64 {
    let consumed = metered.consumed.values();
    consumed.map(|consumed| consumed.total().units()).sum()
}

async fn put(table: &Table<'_>, item: Item) -> StoreResult<f64> {
    let store = table.store.0;
    let answer = store
        .put_item(table.putting(item), ReturnValues::None)
        .await?;
    Ok(total(&answer))
}

async fn get(table: &Table<'_>, sort: &str, consistent: bool) -> StoreResult<f64> {
    let request = GetItem {
        consistent,
        ..GetItem::new(table.name.clone(), row(sort))
    };
    Ok(total(&table.store.0.get_item(request).await?))
}

async fn query(table: &Table<'_>, filter: Option<&str>, consistent: bool) -> StoreResult<f64> {
    let request = Query {
        filter: filter.map(condition),
        consistent,
        ..Query::new(table.name.clone(), keys("PK = 'p'"))
    };
    Ok(total(&table.store.0.query(request).await?))
}

async fn transact(table: &Table<'_>, action: TransactAction) -> StoreResult<f64> {
    let request = TransactWriteItems {
        actions: vec![action],
        token: None,
    };
    Ok(total(&table.store.0.transact_write_items(request).await?))
}

async fn reads_count_in_blocks_of_four_kilobytes(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for (bytes, blocks) in [
        (100, 1.0),
        (4_096, 1.0),
        (4_097, 2.0),
        (8_192, 2.0),
        (8_193, 3.0),
    ] {
        table.put(sized("1", bytes)).await?;
        assert_eq!(get(&table, "1", true).await?, blocks, "{bytes} bytes");
        assert_eq!(
            get(&table, "1", false).await?,
            blocks / 2.0,
            "{bytes} bytes"
        );
    }
    Ok(())
}

async fn a_missing_item_is_read_too(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    assert_eq!(get(&table, "none", true).await?, 1.0);
    assert_eq!(get(&table, "none", false).await?, 0.5);
    Ok(())
}

async fn a_projection_changes_nothing(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(sized("1", 5_000)).await?;
    let request = GetItem {
        projection: Some(parts("SK")),
        ..GetItem::new(table.name.clone(), row("1"))
    };
    assert_eq!(total(&bench.store.0.get_item(request).await?), 2.0);
    for select in [Select::Parts(parts("SK")), Select::Count] {
        let request = Query {
            select,
            ..Query::new(table.name.clone(), keys("PK = 'p'"))
        };
        assert_eq!(total(&bench.store.0.query(request).await?), 2.0);
    }
    Ok(())
}

async fn writes_count_in_kilobytes(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for (bytes, units) in [(100, 1.0), (1_024, 1.0), (1_025, 2.0), (5_000, 5.0)] {
        let sort = bytes.to_string();
        assert_eq!(
            put(&table, sized(&sort, bytes)).await?,
            units,
            "{bytes} bytes"
        );
        let deleted = table.deleting(row(&sort));
        let answer = bench
            .store
            .0
            .delete_item(deleted, ReturnValues::None)
            .await?;
        assert_eq!(total(&answer), units, "{bytes} bytes");
    }
    let deleted = table.deleting(row("none"));
    let answer = bench
        .store
        .0
        .delete_item(deleted, ReturnValues::None)
        .await?;
    assert_eq!(total(&answer), 1.0);
    Ok(())
}

async fn the_larger_of_two_states_counts(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    assert_eq!(put(&table, sized("1", 100)).await?, 1.0);
    assert_eq!(put(&table, sized("1", 3_000)).await?, 3.0);
    assert_eq!(put(&table, sized("1", 100)).await?, 3.0);
    assert_eq!(put(&table, sized("1", 3_000)).await?, 3.0);
    for (text, units) in [("SET a = 1", 3.0), ("REMOVE d", 3.0), ("SET a = 2", 1.0)] {
        let request = table.updating(row("1"), update(text));
        let answer = bench
            .store
            .0
            .update_item(request, ReturnValues::None)
            .await?;
        assert_eq!(total(&answer), units, "{text}");
    }
    Ok(())
}

async fn a_query_adds_up_before_it_rounds(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for sort in ["1", "2", "3"] {
        table.put(sized(sort, 1_400)).await?;
    }
    assert_eq!(query(&table, None, true).await?, 2.0);
    assert_eq!(query(&table, None, false).await?, 1.0);
    let limited = Query {
        limit: Some(2),
        ..Query::new(table.name.clone(), keys("PK = 'p'"))
    };
    assert_eq!(total(&bench.store.0.query(limited).await?), 1.0);
    Ok(())
}

async fn what_a_filter_drops_counts(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(sized("1", 9_000)).await?;
    let filter = Some("attribute_exists(missing)");
    assert_eq!(query(&table, filter, true).await?, 3.0);
    assert_eq!(query(&table, filter, false).await?, 1.5);
    Ok(())
}

async fn a_scan_counts_as_a_query(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for (sort, bytes) in [("1", 3_000), ("2", 3_000)] {
        table.put(sized(sort, bytes).with("PK", sort)).await?;
    }
    for (consistent, units) in [(true, 2.0), (false, 1.0)] {
        let scan = Scan {
            consistent,
            ..Scan::new(table.name.clone())
        };
        assert_eq!(total(&bench.store.0.scan(scan).await?), units);
    }
    Ok(())
}

async fn each_item_of_a_batch_counts(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let sizes = [("1", 100), ("2", 1_500), ("3", 5_000)];
    let puts = sizes.map(|(sort, bytes)| BatchWrite::Put {
        table: table.name.clone(),
        item: sized(sort, bytes),
    });
    let writes = puts.into();
    let answer = bench
        .store
        .0
        .batch_write_item(BatchWriteItem { writes })
        .await?;
    assert_eq!(total(&answer), 1.0 + 2.0 + 5.0);
    for (consistent, units) in [(true, 4.0), (false, 2.0)] {
        let addresses = sizes.map(|(sort, _)| table.address(row(sort)));
        let eventual = (!consistent).then(|| table.name.clone());
        let request = BatchGetItem {
            eventual: eventual.into_iter().collect(),
            ..BatchGetItem::new(addresses.into())
        };
        assert_eq!(total(&bench.store.0.batch_get_item(request).await?), units);
    }
    Ok(())
}

async fn a_batch_reads_each_table_as_it_is_asked(bench: &Bench<'_>) -> StoreResult<()> {
    let (one, two) = (bench.table().await?, bench.table().await?);
    one.put(row("1")).await?;
    two.put(row("1")).await?;
    let addresses = vec![one.address(row("1")), two.address(row("1"))];
    let request = BatchGetItem {
        eventual: [two.name.clone()].into(),
        ..BatchGetItem::new(addresses)
    };
    let metered = bench.store.0.batch_get_item(request).await?;
    let units = |table: &Table<'_>| metered.consumed[&table.name].total().units();
    assert_eq!((units(&one), units(&two)), (1.0, 0.5));
    Ok(())
}

async fn a_missing_item_of_a_batch_counts(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(row("1")).await?;
    let addresses = ["1", "none", "nor this"].map(|sort| table.address(row(sort)));
    let request = BatchGetItem::new(addresses.into());
    assert_eq!(total(&bench.store.0.batch_get_item(request).await?), 3.0);
    Ok(())
}

async fn a_batch_deletes_a_missing_item_for_one_unit(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let writes = vec![BatchWrite::Delete(table.address(row("none")))];
    let request = BatchWriteItem { writes };
    assert_eq!(total(&bench.store.0.batch_write_item(request).await?), 1.0);
    Ok(())
}

async fn each_table_is_told_apart(bench: &Bench<'_>) -> StoreResult<()> {
    let (one, two) = (bench.table().await?, bench.table().await?);
    let units = |metered: &Metered<()>, table: &Table<'_>| {
        let consumed = metered.consumed.get(&table.name);
        consumed.map(|consumed| consumed.total().units())
    };
    let writes = vec![
        BatchWrite::Put {
            table: one.name.clone(),
            item: sized("1", 100),
        },
        BatchWrite::Put {
            table: two.name.clone(),
            item: sized("1", 1_500),
        },
    ];
    let answer = bench
        .store
        .0
        .batch_write_item(BatchWriteItem { writes })
        .await?;
    let answer = Metered {
        answer: (),
        consumed: answer.consumed,
    };
    assert_eq!(
        (units(&answer, &one), units(&answer, &two)),
        (Some(1.0), Some(2.0))
    );

    let gets = [&one, &two].map(|table| (table.address(row("1")), None));
    let request = TransactGetItems { gets: gets.into() };
    let answer = bench.store.0.transact_get_items(request).await?;
    let answer = Metered {
        answer: (),
        consumed: answer.consumed,
    };
    assert_eq!(
        (units(&answer, &one), units(&answer, &two)),
        (Some(2.0), Some(2.0))
    );
    Ok(())
}

async fn transactions_cost_twice(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let put = TransactAction::Put(table.putting(sized("1", 1_500)));
    assert_eq!(transact(&table, put).await?, 4.0);
    let change = TransactAction::Update(table.updating(row("1"), update("SET a = 1")));
    assert_eq!(transact(&table, change).await?, 4.0);
    let request = TransactGetItems {
        gets: vec![
            (table.address(row("1")), Some(parts("a"))),
            (table.address(row("2")), None),
        ],
    };
    assert_eq!(
        total(&bench.store.0.transact_get_items(request).await?),
        4.0
    );
    let delete = TransactAction::Delete(table.deleting(row("1")));
    assert_eq!(transact(&table, delete).await?, 4.0);
    Ok(())
}

async fn each_action_of_a_transaction_counts(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let puts = ["1", "2"].map(|sort| TransactAction::Put(table.putting(row(sort))));
    let request = TransactWriteItems {
        actions: puts.into(),
        token: None,
    };
    assert_eq!(
        total(&bench.store.0.transact_write_items(request).await?),
        4.0
    );
    Ok(())
}

async fn a_transaction_pays_for_a_missing_item(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let delete = TransactAction::Delete(table.deleting(row("none")));
    assert_eq!(transact(&table, delete).await?, 2.0);
    Ok(())
}

async fn a_check_costs_as_much_as_a_write(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(sized("1", 1_500)).await?;
    let check = table.checking(row("1"), condition("attribute_exists(PK)"));
    assert_eq!(transact(&table, TransactAction::Check(check)).await?, 4.0);
    Ok(())
}

/// It reads what the first one wrote, and writes nothing.
async fn a_repeated_transaction_is_a_read(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let request = TransactWriteItems {
        actions: vec![TransactAction::Put(table.putting(sized("1", 1_500)))],
        token: Some(bench.token()),
    };
    let store = bench.store.0;
    assert_eq!(
        total(&store.transact_write_items(request.clone()).await?),
        4.0
    );
    assert_eq!(total(&store.transact_write_items(request).await?), 2.0);
    Ok(())
}
