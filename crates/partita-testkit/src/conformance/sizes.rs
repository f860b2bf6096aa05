//! How large keys and items may be.

use partita_core::key::KeyType;
use partita_core::limits::{ITEM_BYTES_MAX, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use partita_core::size::item_bytes;
use partita_core::{Item, Value};

use super::bench::Bench;
use super::values::{
    With as _, binaries, bytes, keys, list, map, number, numbers, row, schema, setting, strings,
};
use super::{expect, topic};
use partita_store::error::StoreResult;

topic! {"sizes":
    an_item_has_four_hundred_kilobytes,
    every_type_has_its_size,
    an_update_may_not_make_an_item_too_large,
    names_count,
    a_partition_key_has_two_kilobytes,
    a_sort_key_has_one_kilobyte,
    keys_may_not_be_empty,
}

/// The item, filled up with text to the given size.
fn filled(item: Item, size: usize) -> Item {
    let item = item.with("fill", "");
    let missing = size - item_bytes(&item);
    item.with("fill", "x".repeat(missing))
}

async fn an_item_has_four_hundred_kilobytes(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let largest = filled(row("1"), ITEM_BYTES_MAX);
    table.put(largest.clone()).await?;
    assert_eq!(table.get(row("1")).await?, Some(largest));
    expect::invalid(table.put(filled(row("2"), ITEM_BYTES_MAX + 1)).await);
    assert_eq!(table.get(row("2")).await?, None);
    Ok(())
}

async fn every_type_has_its_size(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for value in [
        "né漢字".into(),
        0.into(),
        7.into(),
        (-7).into(),
        100.into(),
        12345.into(),
        number("-123.456").into(),
        number("0.00012").into(),
        number("1e-130").into(),
        number("9.9e125").into(),
        number("12345678901234567890123456789012345678").into(),
        bytes([1, 2, 3]),
        true.into(),
        Value::Null,
        list([]),
        list([1.into(), "a".into(), list([Value::Null])]),
        map([]),
        map([("a", 1.into()), ("bc", map([("d", "e".into())]))]),
        strings(["a", "bcd"]),
        numbers([1, 22, -333]),
        binaries([b"a", b"bcd"]),
    ] {
        let item = row("1").with("value", value.clone());
        let largest = table.put(filled(item.clone(), ITEM_BYTES_MAX)).await;
        assert_eq!(largest, Ok(()), "{value:?}");
        let larger = table.put(filled(item, ITEM_BYTES_MAX + 1)).await;
        assert!(larger.is_err(), "accepted beyond the limit: {value:?}");
        expect::invalid(larger);
    }
    Ok(())
}

async fn an_update_may_not_make_an_item_too_large(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let before = filled(row("1"), ITEM_BYTES_MAX - 10);
    table.put(before.clone()).await?;
    // One byte for the name.
    let fits = setting("a", "x".repeat(9));
    let item = table.update(row("1"), fits).await?;
    assert_eq!(item_bytes(&item), ITEM_BYTES_MAX);
    table.put(before.clone()).await?;
    let too_much = setting("a", "x".repeat(10));
    expect::invalid(table.update(row("1"), too_much).await);
    assert_eq!(table.get(row("1")).await?, Some(before));
    Ok(())
}

async fn names_count(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let named = row("1").with(&"é".repeat(1000), 1);
    table.put(filled(named.clone(), ITEM_BYTES_MAX)).await?;
    expect::invalid(table.put(filled(named, ITEM_BYTES_MAX + 1)).await);
    Ok(())
}

async fn a_partition_key_has_two_kilobytes(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let key = |length| row("1").with("PK", "x".repeat(length));
    let largest = key(PARTITION_KEY_BYTES_MAX);
    table.put(largest.clone()).await?;
    assert_eq!(table.get(largest.clone()).await?, Some(largest));
    let too_large = key(PARTITION_KEY_BYTES_MAX + 1);
    expect::invalid(table.put(too_large.clone()).await);
    expect::invalid(table.get(too_large.clone()).await);
    expect::invalid(table.update(too_large.clone(), setting("a", 1)).await);
    expect::invalid(table.delete(too_large).await);
    // Bytes count, not characters.
    let wide = row("1").with("PK", "é".repeat(PARTITION_KEY_BYTES_MAX / 2 + 1));
    expect::invalid(table.put(wide).await);
    Ok(())
}

async fn a_sort_key_has_one_kilobyte(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench
        .table_with(schema(KeyType::S, Some(KeyType::B)))
        .await?;
    let key = |length| row("").with("SK", Value::B(vec![0; length]));
    let largest = key(SORT_KEY_BYTES_MAX);
    table.put(largest.clone()).await?;
    assert_eq!(table.get(largest.clone()).await?, Some(largest.clone()));
    assert_eq!(table.query(keys("PK = 'p'")).await?, [largest]);
    let too_large = key(SORT_KEY_BYTES_MAX + 1);
    expect::invalid(table.put(too_large.clone()).await);
    expect::invalid(table.get(too_large.clone()).await);
    expect::invalid(table.delete(too_large).await);
    Ok(())
}

async fn keys_may_not_be_empty(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    expect::invalid(table.put(row("")).await);
    expect::invalid(table.put(row("1").with("PK", "")).await);
    let binary = bench
        .table_with(schema(KeyType::B, Some(KeyType::B)))
        .await?;
    let key = |partition: &[u8], sort: &[u8]| {
        Item::new()
            .with("PK", bytes(partition))
            .with("SK", bytes(sort))
    };
    expect::invalid(binary.put(key(&[], &[0])).await);
    expect::invalid(binary.put(key(&[0], &[])).await);
    binary.put(key(&[0], &[0])).await
}
