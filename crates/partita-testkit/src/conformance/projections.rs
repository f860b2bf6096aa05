//! Parts of items.

use std::collections::BTreeMap;

use partita_core::{Item, Value};

use super::bench::{Bench, Table};
use super::topic;
use super::values::{With as _, condition, keys, list, map, parts, row};
use partita_store::error::StoreResult;
use partita_store::request::{
    BatchGetItem, BatchGot, GetItem, Query, Scan, Select, TransactGetItems,
};

topic! {"projections":
    a_get_answers_parts,
    elements_of_a_list_move_together,
    an_item_without_the_parts_is_there_even_so,
    a_batch_answers_parts_by_table,
    a_batch_finds_items_by_keys_that_are_not_answered,
    a_transaction_answers_parts_of_each_item,
    queries_and_scans_answer_parts,
    a_filter_sees_the_whole_item,
}

fn deep(sort: &str) -> Item {
    let inner = map([("y", 2.into()), ("z", list([3.into()]))]);
    row(sort)
        .with("a", 1)
        .with("m", map([("x", 1.into()), ("inner", inner)]))
        .with(
            "l",
            list([
                10.into(),
                map([("q", 1.into()), ("r", 2.into())]),
                12.into(),
            ]),
        )
}

async fn get(table: &Table<'_>, paths: &str) -> StoreResult<Option<Item>> {
    let request = GetItem {
        projection: Some(parts(paths)),
        ..GetItem::new(table.name.clone(), row("1"))
    };
    table.store.get_item(request).await
}

async fn answers(table: &Table<'_>, paths: &str, name: &str, value: Value) -> StoreResult<()> {
    let expected = Item::new().with(name, value);
    assert_eq!(get(table, paths).await?, Some(expected), "{paths}");
    Ok(())
}

async fn a_get_answers_parts(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(deep("1")).await?;
    answers(&table, "a", "a", 1.into()).await?;
    answers(&table, "SK, nothing", "SK", "1".into()).await?;
    answers(&table, "m.x", "m", map([("x", 1.into())])).await?;
    let inner = map([("y", 2.into())]);
    let expected = map([("inner", inner), ("x", 1.into())]);
    answers(&table, "m.x, m.inner.y, m.none", "m", expected).await?;
    let keys = row("1");
    assert_eq!(get(&table, "PK, SK").await?, Some(keys));
    Ok(())
}

async fn elements_of_a_list_move_together(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(deep("1")).await?;
    answers(&table, "l[2]", "l", list([12.into()])).await?;
    answers(
        &table,
        "l[2], l[0], l[9]",
        "l",
        list([10.into(), 12.into()]),
    )
    .await?;
    answers(&table, "l[1].r", "l", list([map([("r", 2.into())])])).await?;
    let whole = map([("q", 1.into()), ("r", 2.into())]);
    answers(
        &table,
        "l[1].r, l[2], l[1].q",
        "l",
        list([whole, 12.into()]),
    )
    .await
}

async fn an_item_without_the_parts_is_there_even_so(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    assert_eq!(get(&table, "a").await?, None);
    table.put(deep("1")).await?;
    for paths in ["none", "m.none", "m.x.none", "l[9]", "a[0]", "l.q", "m[0]"] {
        assert_eq!(get(&table, paths).await?, Some(Item::new()), "{paths}");
    }
    Ok(())
}

async fn a_batch_answers_parts_by_table(bench: &Bench<'_>) -> StoreResult<()> {
    let (one, two) = (bench.table().await?, bench.table().await?);
    one.put(deep("1")).await?;
    two.put(deep("1")).await?;
    let addresses = vec![one.address(row("1")), two.address(row("1"))];
    let request = BatchGetItem {
        projections: BTreeMap::from([(two.name.clone(), parts("SK, l[2]"))]),
        ..BatchGetItem::new(addresses)
    };
    let part = Item::new().with("SK", "1").with("l", list([12.into()]));
    let expected = [BatchGot::Found(deep("1")), BatchGot::Found(part)];
    assert_eq!(bench.store.batch_get_item(request).await?, expected);
    Ok(())
}

async fn a_batch_finds_items_by_keys_that_are_not_answered(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for sort in ["1", "2", "3"] {
        table.put(deep(sort).with("a", sort)).await?;
    }
    table.put(row("bare")).await?;
    let sorts = ["3", "missing", "1", "bare"];
    let addresses = sorts.map(|sort| table.address(row(sort)));
    let request = BatchGetItem {
        projections: BTreeMap::from([(table.name.clone(), parts("a, b.none"))]),
        ..BatchGetItem::new(addresses.into())
    };
    let found = |sort: &str| BatchGot::Found(Item::new().with("a", sort));
    let bare = BatchGot::Found(Item::new());
    let expected = [found("3"), BatchGot::Missing, found("1"), bare];
    assert_eq!(bench.store.batch_get_item(request).await?, expected);
    Ok(())
}

async fn a_transaction_answers_parts_of_each_item(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(deep("1")).await?;
    table.put(deep("2")).await?;
    let get = |sort: &str, paths: Option<&str>| (table.address(row(sort)), paths.map(parts));
    let request = TransactGetItems {
        gets: vec![
            get("2", Some("a")),
            get("missing", Some("a")),
            get("1", None),
            get("bare", None),
        ],
    };
    table.put(row("bare")).await?;
    let expected = [
        Some(Item::new().with("a", 1)),
        None,
        Some(deep("1")),
        Some(row("bare")),
    ];
    assert_eq!(bench.store.transact_get_items(request).await?, expected);
    Ok(())
}

async fn queries_and_scans_answer_parts(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(deep("1")).await?;
    table.put(row("2")).await?;
    let query = Query {
        select: Select::Parts(parts("m.x, nothing")),
        ..Query::new(table.name.clone(), keys("PK = 'p'"))
    };
    let part = Item::new().with("m", map([("x", 1.into())]));
    let page = bench.store.query(query).await?;
    assert_eq!(page.items, [part.clone(), Item::new()]);
    assert_eq!((page.count, page.scanned), (2, 2));
    let scan = Scan {
        select: Select::Parts(parts("m.x, nothing")),
        limit: Some(1),
        ..Scan::new(table.name.clone())
    };
    let page = bench.store.scan(scan).await?;
    assert_eq!(page.items, [part]);
    assert_eq!(
        page.last_key,
        Some(row("1")),
        "a cursor is a key, whatever was asked for"
    );
    Ok(())
}

async fn a_filter_sees_the_whole_item(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(deep("1")).await?;
    table.put(deep("2").with("a", 2)).await?;
    let query = Query {
        select: Select::Parts(parts("SK")),
        filter: Some(condition("a = 2")),
        ..Query::new(table.name.clone(), keys("PK = 'p'"))
    };
    let page = bench.store.query(query).await?;
    assert_eq!(page.items, [Item::new().with("SK", "2")]);
    Ok(())
}
