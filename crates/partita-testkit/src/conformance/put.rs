//! Writing whole items.

use partita_core::{Item, Value};

use super::bench::Bench;
use super::values::{With as _, condition, row};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::request::{PutItem, ReturnValues};

topic! {"put":
    a_put_replaces_the_whole_item,
    the_old_item_is_returned_on_request,
    the_new_item_cannot_be_asked_for,
    a_condition_that_holds_lets_the_put_pass,
    a_condition_that_fails_changes_nothing,
    a_failed_condition_brings_the_item_on_request,
    the_item_must_have_its_key,
}

async fn a_put_replaces_the_whole_item(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(row("1").with("a", 1).with("b", 1)).await?;
    table.put(row("1").with("b", 2)).await?;
    assert_eq!(table.get(row("1")).await?, Some(row("1").with("b", 2)));
    Ok(())
}

async fn the_old_item_is_returned_on_request(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let (old, new) = (row("1").with("a", 1), row("1").with("a", 2));
    let put = async |item: &Item, returns| {
        let request = table.putting(item.clone());
        bench.store.put_item(request, returns).await
    };
    assert_eq!(put(&old, ReturnValues::AllOld).await?, None);
    assert_eq!(put(&new, ReturnValues::AllOld).await?, Some(old));
    assert_eq!(put(&new, ReturnValues::None).await?, None);
    Ok(())
}

async fn the_new_item_cannot_be_asked_for(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let request = table.putting(row("1"));
    expect::invalid(bench.store.put_item(request, ReturnValues::AllNew).await);
    assert_eq!(table.get(row("1")).await?, None);
    Ok(())
}

async fn a_condition_that_holds_lets_the_put_pass(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for (version, text) in [
        (1, "attribute_not_exists(PK)"),
        (2, "version = 1"),
        (3, "attribute_exists(PK) AND version < 3"),
    ] {
        let request = PutItem {
            condition: Some(condition(text)),
            ..table.putting(row("1").with("version", version))
        };
        bench.store.put_item(request, ReturnValues::None).await?;
    }
    let expected = row("1").with("version", 3);
    assert_eq!(table.get(row("1")).await?, Some(expected));
    Ok(())
}

async fn a_condition_that_fails_changes_nothing(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let put = async |item: Item, text| {
        let request = PutItem {
            condition: Some(condition(text)),
            ..table.putting(item)
        };
        bench.store.put_item(request, ReturnValues::AllOld).await
    };
    expect::condition_failed(put(row("1"), "attribute_exists(PK)").await);
    assert_eq!(table.get(row("1")).await?, None);

    let item = row("1").with("a", 1);
    table.put(item.clone()).await?;
    expect::condition_failed(put(row("1"), "attribute_not_exists(PK)").await);
    expect::condition_failed(put(row("1"), "a > 1").await);
    assert_eq!(table.get(row("1")).await?, Some(item));
    Ok(())
}

async fn a_failed_condition_brings_the_item_on_request(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let put = async |return_item_on_failure| {
        let request = PutItem {
            condition: Some(condition("version = 7")),
            return_item_on_failure,
            ..table.putting(row("1"))
        };
        bench.store.put_item(request, ReturnValues::None).await
    };
    assert_eq!(expect::condition_failed(put(true).await), None);
    let item = row("1").with("version", 8);
    table.put(item.clone()).await?;
    assert_eq!(expect::condition_failed(put(true).await), Some(item));
    assert_eq!(expect::condition_failed(put(false).await), None);
    Ok(())
}

async fn the_item_must_have_its_key(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for item in [
        Item::new(),
        Item::new().with("PK", "p").with("a", 1),
        Item::new().with("SK", "1").with("a", 1),
        row("1").with("PK", 1),
        row("1").with("SK", Value::Null),
        row("").with("a", 1),
        row("1").with("PK", "").with("a", 1),
    ] {
        expect::invalid(table.put(item).await);
    }
    Ok(())
}
