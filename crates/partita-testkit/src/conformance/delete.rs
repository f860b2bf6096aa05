//! Removing items.

use partita_core::Item;

use super::bench::Bench;
use super::values::{With as _, condition, row};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::request::{DeleteItem, ReturnValues};

topic! {"delete":
    a_deleted_item_is_gone,
    a_missing_item_may_be_deleted,
    the_old_item_is_returned_on_request,
    the_new_item_cannot_be_asked_for,
    a_condition_decides,
    a_failed_condition_brings_the_item_on_request,
    the_key_must_fit_the_schema,
}

async fn a_deleted_item_is_gone(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for sort in ["1", "2", "3"] {
        table.put(row(sort)).await?;
    }
    table.delete(row("2")).await?;
    assert_eq!(table.get(row("2")).await?, None);
    assert_eq!(table.get(row("1")).await?, Some(row("1")));
    assert_eq!(table.get(row("3")).await?, Some(row("3")));
    Ok(())
}

async fn a_missing_item_may_be_deleted(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.delete(row("1")).await?;
    let request = DeleteItem {
        condition: Some(condition("attribute_not_exists(PK)")),
        ..table.deleting(row("1"))
    };
    let returned = bench
        .store
        .delete_item(request, ReturnValues::AllOld)
        .await?;
    assert_eq!(returned, None);
    assert_eq!(table.get(row("1")).await?, None);
    Ok(())
}

async fn the_old_item_is_returned_on_request(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let item = row("1").with("a", 1);
    for (returns, expected) in [
        (ReturnValues::AllOld, Some(item.clone())),
        (ReturnValues::None, None),
    ] {
        table.put(item.clone()).await?;
        let request = table.deleting(row("1"));
        assert_eq!(bench.store.delete_item(request, returns).await?, expected);
    }
    Ok(())
}

async fn the_new_item_cannot_be_asked_for(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(row("1")).await?;
    let request = table.deleting(row("1"));
    expect::invalid(bench.store.delete_item(request, ReturnValues::AllNew).await);
    assert_eq!(table.get(row("1")).await?, Some(row("1")));
    Ok(())
}

async fn a_condition_decides(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let delete = async |text| {
        let request = DeleteItem {
            condition: Some(condition(text)),
            ..table.deleting(row("1"))
        };
        bench.store.delete_item(request, ReturnValues::None).await
    };
    expect::condition_failed(delete("attribute_exists(PK)").await);
    let item = row("1").with("state", "open");
    table.put(item.clone()).await?;
    expect::condition_failed(delete("state = 'closed'").await);
    assert_eq!(table.get(row("1")).await?, Some(item));
    delete("state = 'open'").await?;
    assert_eq!(table.get(row("1")).await?, None);
    Ok(())
}

async fn a_failed_condition_brings_the_item_on_request(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let delete = async |return_item_on_failure| {
        let request = DeleteItem {
            condition: Some(condition("state = 'closed'")),
            return_item_on_failure,
            ..table.deleting(row("1"))
        };
        bench.store.delete_item(request, ReturnValues::None).await
    };
    assert_eq!(expect::condition_failed(delete(true).await), None);
    let item = row("1").with("state", "open");
    table.put(item.clone()).await?;
    assert_eq!(expect::condition_failed(delete(true).await), Some(item));
    assert_eq!(expect::condition_failed(delete(false).await), None);
    Ok(())
}

async fn the_key_must_fit_the_schema(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for key in [
        Item::new(),
        Item::new().with("PK", "p"),
        row("1").with("extra", 1),
        row("1").with("SK", 1),
        row(""),
    ] {
        expect::invalid(table.delete(key).await);
    }
    Ok(())
}
