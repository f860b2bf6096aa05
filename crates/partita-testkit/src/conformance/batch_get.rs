//! Reading several items at once.

use std::collections::BTreeSet;

use partita_core::Item;
use partita_core::key::KeyType;
use partita_core::limits::BATCH_GET_KEYS_MAX;

use super::bench::{Bench, Table};
use super::values::{With as _, number, row, schema};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::request::{BatchGetItem, BatchGot};

topic! {"batch_get":
    answers_stand_in_the_order_of_the_addresses,
    one_request_reads_several_tables,
    a_key_may_stand_there_once,
    one_number_is_one_key,
    a_hundred_keys_are_the_most,
    every_key_must_fit_the_schema,
    a_missing_table_refuses_the_whole_request,
    what_does_not_fit_comes_later,
}

async fn answers_stand_in_the_order_of_the_addresses(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let item = |sort: &str| row(sort).with("a", sort);
    for sort in ["1", "2", "3", "4"] {
        table.put(item(sort)).await?;
    }
    let keys = ["4", "nothing", "1", "3", "nor this"].map(row).into();
    let expected = [
        BatchGot::Found(item("4")),
        BatchGot::Missing,
        BatchGot::Found(item("1")),
        BatchGot::Found(item("3")),
        BatchGot::Missing,
    ];
    assert_eq!(table.batch_get(keys).await?, expected);
    Ok(())
}

async fn one_request_reads_several_tables(bench: &Bench<'_>) -> StoreResult<()> {
    let (one, two) = (bench.table().await?, bench.table().await?);
    one.put(row("1").with("in", "one")).await?;
    two.put(row("1").with("in", "two")).await?;
    let addresses = [(&two, "1"), (&one, "1"), (&two, "2")];
    let addresses = addresses.map(|(table, sort)| table.address(row(sort)));
    let request = BatchGetItem::new(addresses.into());
    let expected = [
        BatchGot::Found(row("1").with("in", "two")),
        BatchGot::Found(row("1").with("in", "one")),
        BatchGot::Missing,
    ];
    assert_eq!(bench.store.batch_get_item(request).await?, expected);
    Ok(())
}

async fn a_key_may_stand_there_once(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(row("1")).await?;
    let keys = ["1", "2", "1"].map(row).into();
    expect::invalid(table.batch_get(keys).await);
    Ok(())
}

async fn one_number_is_one_key(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table_with(schema(KeyType::N, None)).await?;
    let key = |text| Item::new().with("PK", number(text));
    table.put(key("1")).await?;
    expect::invalid(table.batch_get(vec![key("1"), key("1.0")]).await);
    let found = table.batch_get(vec![key("1.00")]).await?;
    assert_eq!(found, [BatchGot::Found(key("1"))]);
    Ok(())
}

async fn a_hundred_keys_are_the_most(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(row("99")).await?;
    let keys = |count: usize| (0..count).map(|sort| row(&sort.to_string())).collect();
    let found = table.batch_get(keys(BATCH_GET_KEYS_MAX)).await?;
    assert_eq!(found.len(), BATCH_GET_KEYS_MAX);
    assert_eq!(found[99], BatchGot::Found(row("99")));
    assert!(found[..99].iter().all(|got| *got == BatchGot::Missing));
    expect::invalid(table.batch_get(keys(BATCH_GET_KEYS_MAX + 1)).await);
    expect::invalid(table.batch_get(keys(0)).await);
    Ok(())
}

async fn every_key_must_fit_the_schema(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for key in [
        Item::new().with("PK", "p"),
        row("1").with("extra", 1),
        row("1").with("SK", 1),
        row(""),
    ] {
        expect::invalid(table.batch_get(vec![row("1"), key]).await);
    }
    Ok(())
}

async fn a_missing_table_refuses_the_whole_request(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(row("1")).await?;
    let missing = Table {
        store: bench.store,
        name: bench.fresh_name(),
    };
    let addresses = vec![table.address(row("1")), missing.address(row("1"))];
    let request = BatchGetItem::new(addresses);
    let named = expect::table_not_found(bench.store.batch_get_item(request).await);
    assert_eq!(named, missing.name);
    Ok(())
}

async fn what_does_not_fit_comes_later(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    // Seventeen megabytes, of which one answer holds sixteen.
    let sorts: BTreeSet<String> = (0..44).map(|sort| sort.to_string()).collect();
    for sort in &sorts {
        table.put(row(sort).with("d", "x".repeat(400_000))).await?;
    }
    let mut wanted = sorts;
    let mut rounds = 0;
    while !wanted.is_empty() {
        let before = wanted.clone();
        let keys = before.iter().map(|sort| row(sort)).collect();
        for (sort, got) in before.iter().zip(table.batch_get(keys).await?) {
            match got {
                BatchGot::Found(item) => {
                    assert_eq!(item["SK"].as_str(), Some(sort.as_str()));
                    wanted.remove(sort);
                }
                BatchGot::Missing => panic!("{sort} was put and is missing"),
                BatchGot::Unprocessed => {}
            }
        }
        assert!(
            wanted.len() < before.len(),
            "every round makes some progress"
        );
        rounds += 1;
    }
    assert!(rounds > 1, "one answer is not that large");
    Ok(())
}
