//! Tags of tables.

use super::bench::Bench;
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::request::{CreateTable, Tags};
use partita_store::table::KeySchema;

topic! {"tags":
    a_table_has_no_tags_at_first,
    a_table_is_created_with_its_tags,
    tags_are_added_and_replaced,
    tags_are_taken_off,
    tags_are_checked,
    there_are_fifty_at_most,
    there_are_no_tags_without_the_table,
}

fn tags<const N: usize>(entries: [(&str, &str); N]) -> Tags {
    entries
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

async fn a_table_has_no_tags_at_first(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?.name;
    let found = bench.store.0.list_tags_of_resource(&table).await?;
    assert_eq!(found, Tags::new());
    Ok(())
}

async fn a_table_is_created_with_its_tags(bench: &Bench<'_>) -> StoreResult<()> {
    let given = tags([("stage", "test"), ("empty", "")]);
    let tag = |request: &mut CreateTable| request.tags = given.clone();
    let keys = KeySchema::strings("PK", "SK");
    let table = bench.table_as(tag, keys).await?.name;
    let found = bench.store.0.list_tags_of_resource(&table).await?;
    assert_eq!(found, given);
    Ok(())
}

async fn tags_are_added_and_replaced(bench: &Bench<'_>) -> StoreResult<()> {
    let store = bench.store.0;
    let table = bench.table().await?.name;
    let first = tags([("a", "1"), ("b", "2")]);
    store.tag_resource(&table, first).await?;
    let second = tags([("b", "3"), ("B", "4")]);
    store.tag_resource(&table, second).await?;
    let expected = tags([("a", "1"), ("b", "3"), ("B", "4")]);
    assert_eq!(store.list_tags_of_resource(&table).await?, expected);
    Ok(())
}

async fn tags_are_taken_off(bench: &Bench<'_>) -> StoreResult<()> {
    let store = bench.store.0;
    let table = bench.table().await?.name;
    let given = tags([("a", "1"), ("b", "2"), ("c", "3")]);
    store.tag_resource(&table, given).await?;
    let keys = ["a", "c", "missing"].map(str::to_owned);
    store.untag_resource(&table, keys.into()).await?;
    let expected = tags([("b", "2")]);
    assert_eq!(store.list_tags_of_resource(&table).await?, expected);
    Ok(())
}

async fn tags_are_checked(bench: &Bench<'_>) -> StoreResult<()> {
    let store = bench.store.0;
    let table = bench.table().await?.name;
    let (key, value) = ("k".repeat(129), "v".repeat(257));
    for faulty in [("", "v"), (&key, "v"), ("k", &value), ("aws:k", "v")] {
        let result = store.tag_resource(&table, tags([faulty])).await;
        assert!(result.is_err(), "{faulty:?}");
        expect::invalid(result);
    }
    let longest = tags([(&key[1..], &value[1..])]);
    store.tag_resource(&table, longest.clone()).await?;
    assert_eq!(store.list_tags_of_resource(&table).await?, longest);
    Ok(())
}

async fn there_are_fifty_at_most(bench: &Bench<'_>) -> StoreResult<()> {
    let store = bench.store.0;
    let table = bench.table().await?.name;
    let numbered = |range: std::ops::Range<usize>| -> Tags {
        range.map(|n| (format!("k{n}"), n.to_string())).collect()
    };
    store.tag_resource(&table, numbered(0..50)).await?;
    expect::invalid(store.tag_resource(&table, numbered(50..51)).await);
    store.tag_resource(&table, numbered(0..2)).await?;
    let found = store.list_tags_of_resource(&table).await?;
    assert_eq!(found, numbered(0..50));
    Ok(())
}

async fn there_are_no_tags_without_the_table(bench: &Bench<'_>) -> StoreResult<()> {
    let store = bench.store.0;
    let table = bench.fresh_name();
    expect::table_not_found(store.list_tags_of_resource(&table).await);
    let given = tags([("a", "1")]);
    expect::table_not_found(store.tag_resource(&table, given).await);
    let keys = vec!["a".to_owned()];
    expect::table_not_found(store.untag_resource(&table, keys).await);
    Ok(())
}
