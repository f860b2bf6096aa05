//! The attribute with the time at which items expire. That they disappear needs a clock, which the
//! suite has not: see [`items_expire`](super::items_expire).

use super::bench::Bench;
use super::values::{With as _, keys, row};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::request::UpdateTimeToLive;
use partita_store::table::TableName;

topic! {"expiry":
    no_attribute_tells_at_first,
    an_attribute_tells_until_it_does_not,
    it_is_told_once,
    only_one_attribute_tells,
    names_are_checked,
    nothing_expires_without_the_table,
    what_does_not_expire_stays,
}

async fn set(
    bench: &Bench<'_>,
    table: &TableName,
    attribute: &str,
    is_enabled: bool,
) -> StoreResult<()> {
    let request = UpdateTimeToLive {
        table: table.clone(),
        attribute: attribute.to_owned(),
        is_enabled,
    };
    bench.store.0.update_time_to_live(request).await
}

async fn described(bench: &Bench<'_>, table: &TableName) -> StoreResult<Option<String>> {
    bench.store.0.describe_time_to_live(table).await
}

async fn no_attribute_tells_at_first(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?.name;
    assert_eq!(described(bench, &table).await?, None);
    expect::invalid(set(bench, &table, "a", false).await);
    Ok(())
}

async fn an_attribute_tells_until_it_does_not(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?.name;
    for attribute in ["expires at", "SK"] {
        set(bench, &table, attribute, true).await?;
        let found = described(bench, &table).await?;
        assert_eq!(found.as_deref(), Some(attribute));
        set(bench, &table, attribute, false).await?;
        assert_eq!(described(bench, &table).await?, None);
    }
    Ok(())
}

async fn it_is_told_once(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?.name;
    set(bench, &table, "a", true).await?;
    expect::invalid(set(bench, &table, "a", true).await);
    set(bench, &table, "a", false).await?;
    expect::invalid(set(bench, &table, "a", false).await);
    Ok(())
}

async fn only_one_attribute_tells(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?.name;
    set(bench, &table, "a", true).await?;
    expect::invalid(set(bench, &table, "b", true).await);
    expect::invalid(set(bench, &table, "b", false).await);
    assert_eq!(described(bench, &table).await?.as_deref(), Some("a"));
    Ok(())
}

async fn names_are_checked(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?.name;
    for name in [String::new(), "a".repeat(256)] {
        expect::invalid(set(bench, &table, &name, true).await);
    }
    set(bench, &table, &"a".repeat(255), true).await
}

async fn nothing_expires_without_the_table(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.fresh_name();
    expect::table_not_found(set(bench, &table, "a", true).await);
    expect::table_not_found(described(bench, &table).await);
    Ok(())
}

async fn what_does_not_expire_stays(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    set(bench, &table.name, "a", true).await?;
    // Another type, the far past, the far future.
    let items = [
        row("1"),
        row("2").with("a", "1700000000"),
        row("3").with("a", 1),
        row("4").with("a", 9_999_999_999_i64),
    ];
    for item in &items {
        table.put(item.clone()).await?;
    }
    assert_eq!(table.query(keys("PK = 'p'")).await?, items);
    Ok(())
}
