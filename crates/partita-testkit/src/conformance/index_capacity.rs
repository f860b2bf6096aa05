//! The units that indexes consume, each for itself.

use std::collections::BTreeMap;

use partita_core::Item;

use super::bench::{Bench, Table};
use super::topic;
use super::values::{
    With as _, global, including, indexed, keys, keys_only, local, parts, row, update,
};
use partita_store::capacity::{IndexUnits, Metered};
use partita_store::error::StoreResult;
use partita_store::index::IndexKind;
use partita_store::request::{
    BatchWrite, BatchWriteItem, Query, ReturnValues, Scan, Select, TransactAction,
    TransactWriteItems, UpdateItem,
};

topic! {"index_capacity":
    every_index_that_is_written_counts,
    an_index_that_stays_as_it_is_costs_nothing,
    a_changed_key_is_a_removal_and_a_put,
    an_entry_counts_with_what_it_holds,
    a_batch_adds_up,
    a_transaction_costs_twice_for_the_table,
    an_index_pays_for_its_query,
    an_index_pays_for_its_scan,
    a_local_index_pays_and_the_table_pays_for_what_is_fetched,
    what_the_index_holds_is_not_fetched,
}

/// Units of the table, and of every index that has any.
type MeasuredUnits = (f64, BTreeMap<String, f64>);

fn units<const N: usize>(table: f64, indexes: [(&str, f64); N]) -> MeasuredUnits {
    (
        table,
        indexes.map(|(name, units)| (name.to_owned(), units)).into(),
    )
}

fn of<T>(table: &Table<'_>, metered: &Metered<T>) -> MeasuredUnits {
    let consumed = &metered.consumed[&table.name];
    let named = |(name, units): (&String, &IndexUnits)| {
        let is_local = name.starts_with("local");
        assert_eq!(units.kind == IndexKind::Local, is_local, "{name}");
        (name.clone(), (units.read + units.write).units())
    };
    let own = (consumed.read + consumed.write).units();
    (own, consumed.indexes.iter().map(named).collect())
}

/// A table with an index of whole items, one with `x` in it, and one with keys only.
async fn indexed_table<'a>(bench: &Bench<'a>) -> StoreResult<Table<'a>> {
    let indexes = [
        global("whole", ["g"], []),
        including(global("some", ["g"], ["h"]), ["x"]),
        keys_only(local("local", "l")),
    ];
    bench.table_with(indexed(indexes)).await
}

fn full() -> Item {
    row("1").with("g", "g").with("h", "h").with("l", "l")
}

async fn put(table: &Table<'_>, item: Item) -> StoreResult<MeasuredUnits> {
    let request = table.putting(item);
    let answer = table.store.0.put_item(request, ReturnValues::None).await?;
    Ok(of(table, &answer))
}

async fn change(table: &Table<'_>, text: &str) -> StoreResult<MeasuredUnits> {
    let request: UpdateItem = table.updating(row("1"), update(text));
    let answer = table
        .store
        .0
        .update_item(request, ReturnValues::None)
        .await?;
    Ok(of(table, &answer))
}

async fn every_index_that_is_written_counts(bench: &Bench<'_>) -> StoreResult<()> {
    let table = indexed_table(bench).await?;
    let all = units(1.0, [("whole", 1.0), ("some", 1.0), ("local", 1.0)]);
    assert_eq!(put(&table, full()).await?, all);
    let request = table.deleting(row("1"));
    let answer = table
        .store
        .0
        .delete_item(request, ReturnValues::None)
        .await?;
    assert_eq!(of(&table, &answer), all);
    let sparse = row("1").with("g", "g");
    assert_eq!(put(&table, sparse).await?, units(1.0, [("whole", 1.0)]));
    assert_eq!(put(&table, row("2")).await?, units(1.0, []));
    let answer = change(&table, "REMOVE g").await?;
    assert_eq!(answer, units(1.0, [("whole", 1.0)]));
    Ok(())
}

async fn an_index_that_stays_as_it_is_costs_nothing(bench: &Bench<'_>) -> StoreResult<()> {
    let table = indexed_table(bench).await?;
    table.put(full()).await?;
    assert_eq!(put(&table, full()).await?, units(1.0, []));
    assert_eq!(change(&table, "SET g = 'g'").await?, units(1.0, []));
    let answer = change(&table, "SET x = 1").await?;
    assert_eq!(answer, units(1.0, [("whole", 1.0), ("some", 1.0)]));
    let answer = change(&table, "SET y = 1").await?;
    assert_eq!(answer, units(1.0, [("whole", 1.0)]));
    Ok(())
}

async fn a_changed_key_is_a_removal_and_a_put(bench: &Bench<'_>) -> StoreResult<()> {
    let table = indexed_table(bench).await?;
    table.put(full()).await?;
    let answer = change(&table, "SET g = 'other'").await?;
    assert_eq!(answer, units(1.0, [("whole", 2.0), ("some", 2.0)]));
    let answer = change(&table, "SET h = 'other'").await?;
    assert_eq!(answer, units(1.0, [("whole", 1.0), ("some", 2.0)]));
    let answer = change(&table, "SET l = 'other'").await?;
    assert_eq!(answer, units(1.0, [("whole", 1.0), ("local", 2.0)]));
    Ok(())
}

async fn an_entry_counts_with_what_it_holds(bench: &Bench<'_>) -> StoreResult<()> {
    let table = indexed_table(bench).await?;
    let large = full().with("d", "x".repeat(2_500));
    let answer = put(&table, large.clone()).await?;
    assert_eq!(
        answer,
        units(3.0, [("whole", 3.0), ("some", 1.0), ("local", 1.0)])
    );
    let answer = put(&table, large.with("g", "other")).await?;
    assert_eq!(answer, units(3.0, [("whole", 6.0), ("some", 2.0)]));
    let answer = put(&table, full().with("g", "other")).await?;
    assert_eq!(answer, units(3.0, [("whole", 3.0)]));
    Ok(())
}

async fn a_batch_adds_up(bench: &Bench<'_>) -> StoreResult<()> {
    let table = indexed_table(bench).await?;
    let items = [full(), full().with("SK", "2"), row("3").with("g", "g")];
    let puts = items.map(|item| BatchWrite::Put {
        table: table.name.clone(),
        item,
    });
    let request = BatchWriteItem {
        writes: puts.into(),
    };
    let answer = table.store.0.batch_write_item(request).await?;
    let expected = units(3.0, [("whole", 3.0), ("some", 2.0), ("local", 2.0)]);
    assert_eq!(of(&table, &answer), expected);
    Ok(())
}

async fn a_transaction_costs_twice_for_the_table(bench: &Bench<'_>) -> StoreResult<()> {
    let table = indexed_table(bench).await?;
    table.put(full()).await?;
    let change = table.updating(row("1"), update("SET g = 'other'"));
    let request = TransactWriteItems {
        actions: vec![TransactAction::Update(change)],
        token: None,
    };
    let answer = table.store.0.transact_write_items(request).await?;
    // Of the table alone; dynoxide's tests record that Amazon charges indexes as outside.
    let expected = units(2.0, [("whole", 2.0), ("some", 2.0)]);
    assert_eq!(of(&table, &answer), expected);
    Ok(())
}

async fn an_index_pays_for_its_query(bench: &Bench<'_>) -> StoreResult<()> {
    let table = indexed_table(bench).await?;
    table.put(full().with("d", "x".repeat(5_000))).await?;
    for (index, expected) in [("whole", 1.0), ("some", 0.5)] {
        let query = table.of_index(index, keys("g = 'g'"));
        let answer = table.store.0.query(query).await?;
        assert_eq!(of(&table, &answer), units(0.0, [(index, expected)]));
    }
    Ok(())
}

async fn an_index_pays_for_its_scan(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench
        .table_with(indexed([global("whole", ["g"], [])]))
        .await?;
    table
        .put(row("1").with("g", "g").with("d", "x".repeat(5_000)))
        .await?;
    table.put(row("2").with("d", "x".repeat(5_000))).await?;
    let answer = table.store.0.scan(table.through("whole")).await?;
    assert_eq!(of(&table, &answer), units(0.0, [("whole", 1.0)]));
    Ok(())
}

async fn a_local_index_pays_and_the_table_pays_for_what_is_fetched(
    bench: &Bench<'_>,
) -> StoreResult<()> {
    let table = indexed_table(bench).await?;
    for (sort, bytes) in [("1", 100), ("2", 5_000)] {
        let item = full().with("SK", sort).with("d", "x".repeat(bytes));
        table.put(item).await?;
    }
    for (select, consistent, fetched, read) in [
        (Select::Projected, true, 0.0, 1.0),
        (Select::Count, true, 0.0, 1.0),
        // Every item that is fetched is rounded up by itself.
        (Select::All, true, 3.0, 1.0),
        (Select::All, false, 1.5, 0.5),
        (Select::Parts(parts("d")), true, 3.0, 1.0),
    ] {
        let query = Query {
            select: select.clone(),
            consistent,
            ..table.of_index("local", keys("PK = 'p'"))
        };
        let answer = table.store.0.query(query).await?;
        let expected = units(fetched, [("local", read)]);
        assert_eq!(of(&table, &answer), expected, "{select:?}");
    }
    Ok(())
}

async fn what_the_index_holds_is_not_fetched(bench: &Bench<'_>) -> StoreResult<()> {
    let table = indexed_table(bench).await?;
    table.put(full().with("d", "x".repeat(5_000))).await?;
    let query = Query {
        select: Select::Parts(parts("l, SK")),
        ..table.of_index("local", keys("PK = 'p'"))
    };
    let answer = table.store.0.query(query).await?;
    assert_eq!(of(&table, &answer), units(0.0, [("local", 0.5)]));
    let scan = Scan {
        select: Select::Parts(parts("l, SK")),
        ..table.through("local")
    };
    let answer = table.store.0.scan(scan).await?;
    assert_eq!(of(&table, &answer), units(0.0, [("local", 0.5)]));
    Ok(())
}
