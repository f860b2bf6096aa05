//! Reading one item.

use partita_core::Item;

use super::bench::Bench;
use super::values::{With as _, bytes, row};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::request::GetItem;

topic! {"get":
    an_item_is_found_by_its_key,
    an_item_may_consist_of_its_key,
    a_missing_item_is_no_error,
    neighbouring_keys_are_not_confused,
    the_key_must_fit_the_schema,
    a_consistent_read_sees_every_acknowledged_write,
}

async fn an_item_is_found_by_its_key(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let item = row("1").with("title", "Dune").with("pages", 412);
    table.put(item.clone()).await?;
    assert_eq!(table.get(row("1")).await?, Some(item.clone()));
    let request = GetItem {
        consistent: false,
        ..GetItem::new(table.name.clone(), row("1"))
    };
    // An eventually consistent read may miss a write this fresh, but it may not fail.
    let found = bench.store.get_item(request).await?;
    assert!(found.is_none() || found == Some(item));
    Ok(())
}

async fn an_item_may_consist_of_its_key(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(row("1")).await?;
    assert_eq!(table.get(row("1")).await?, Some(row("1")));
    Ok(())
}

async fn a_missing_item_is_no_error(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(row("1")).await?;
    assert_eq!(table.get(row("2")).await?, None);
    assert_eq!(table.get(row("1").with("PK", "q")).await?, None);
    Ok(())
}

async fn neighbouring_keys_are_not_confused(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    // Each pair joins to the same text, with and without the usual separators and terminators.
    let pairs = [
        ("a", "bc"),
        ("ab", "c"),
        ("a#b", "c"),
        ("a", "b#c"),
        ("a\0", "b"),
        ("a", "\0b"),
        ("a\u{1}", "b"),
        ("a\0\u{1}", "b"),
    ];
    let key = |(partition, sort)| row(sort).with("PK", partition);
    for (number, pair) in (0_i64..).zip(pairs) {
        table.put(key(pair).with("number", number)).await?;
    }
    for (number, pair) in (0_i64..).zip(pairs) {
        let expected = key(pair).with("number", number);
        assert_eq!(table.get(key(pair)).await?, Some(expected));
    }
    Ok(())
}

async fn the_key_must_fit_the_schema(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let nameless = Item::new();
    let without_sort = Item::new().with("PK", "p");
    let other_name = without_sort.clone().with("sk", "1");
    for key in [
        nameless,
        without_sort,
        other_name,
        row("1").with("extra", "x"),
        row("1").with("SK", 1),
        row("1").with("PK", true),
        row("1").with("SK", bytes([1])),
        row(""),
        row("1").with("PK", ""),
    ] {
        expect::invalid(table.get(key).await);
    }
    Ok(())
}

async fn a_consistent_read_sees_every_acknowledged_write(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for version in 0..20_i64 {
        let item = row("1").with("version", version);
        table.put(item.clone()).await?;
        assert_eq!(table.get(row("1")).await?, Some(item));
    }
    table.delete(row("1")).await?;
    assert_eq!(table.get(row("1")).await?, None);
    Ok(())
}
