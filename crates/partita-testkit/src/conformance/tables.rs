//! Tables: creating and describing them, and what happens without them.

use partita_core::Item;
use partita_core::key::KeyType;

use super::bench::{Bench, Table};
use super::values::{With as _, condition, keys, row, schema, update};
use super::{expect, topic};
use partita_store::error::{ErrorKind, StoreError, StoreResult};
use partita_store::request::{CreateTable, Query, Scan, TransactAction};
use partita_store::table::KeySchema;

topic! {"tables":
    a_created_table_is_described,
    keys_may_be_strings_numbers_or_binaries,
    a_sort_key_may_be_absent,
    a_table_is_created_once,
    nothing_works_without_the_table,
    tables_do_not_share_items,
}

async fn a_created_table_is_described(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.fresh_name();
    let schema = KeySchema::strings("PK", "SK");
    let request = CreateTable::new(table.clone(), schema.clone());
    let created = bench.store.create_table(request).await?;
    assert_eq!((&created.table, &created.schema), (&table, &schema.into()));
    assert_eq!(bench.store.describe_table(&table).await?, created);
    Ok(())
}

async fn keys_may_be_strings_numbers_or_binaries(bench: &Bench<'_>) -> StoreResult<()> {
    use KeyType::{B, N, S};
    for (partition, sort) in [(S, N), (N, B), (B, S)] {
        let schema = schema(partition, Some(sort));
        let table = bench.table_with(schema.clone()).await?;
        let described = bench.store.describe_table(&table.name).await?;
        assert_eq!(described.schema, schema.into());
    }
    Ok(())
}

async fn a_sort_key_may_be_absent(bench: &Bench<'_>) -> StoreResult<()> {
    let schema = schema(KeyType::S, None);
    let table = bench.table_with(schema.clone()).await?;
    let described = bench.store.describe_table(&table.name).await?;
    assert_eq!(described.schema, schema.into());

    let key = Item::new().with("PK", "a");
    let item = key.clone().with("SK", "no key here");
    table.put(item.clone()).await?;
    assert_eq!(table.get(key.clone()).await?, Some(item.clone()));
    assert_eq!(table.query(keys("PK = 'a'")).await?, [item]);
    table.delete(key.clone()).await?;
    assert_eq!(table.get(key).await?, None);
    Ok(())
}

async fn a_table_is_created_once(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(row("1")).await?;
    let request = CreateTable::new(table.name.clone(), schema(KeyType::N, None));
    let error = bench.store.create_table(request).await.err();
    let name = table.name.clone();
    assert_eq!(error, Some(StoreError::TableExists { table: name }));
    assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::FixRequest));

    let described = bench.store.describe_table(&table.name).await?;
    assert_eq!(described.schema, KeySchema::strings("PK", "SK").into());
    assert_eq!(table.get(row("1")).await?, Some(row("1")));
    Ok(())
}

async fn nothing_works_without_the_table(bench: &Bench<'_>) -> StoreResult<()> {
    let store = bench.store;
    let name = bench.fresh_name();
    let table = Table {
        store,
        name: name.clone(),
    };
    expect::table_not_found(store.describe_table(&name).await);
    expect::table_not_found(table.get(row("1")).await);
    expect::table_not_found(table.batch_get(vec![row("1")]).await);
    let query = Query::new(name.clone(), keys("PK = 'p'"));
    expect::table_not_found(store.query(query).await);
    expect::table_not_found(store.scan(Scan::new(name)).await);
    expect::table_not_found(table.put(row("1")).await);
    expect::table_not_found(table.update(row("1"), update("SET a = 1")).await);
    expect::table_not_found(table.delete(row("1")).await);
    let actions = [
        TransactAction::Put(table.putting(row("1"))),
        TransactAction::Update(table.updating(row("1"), update("SET a = 1"))),
        TransactAction::Delete(table.deleting(row("1"))),
        TransactAction::Check(table.checking(row("1"), condition("a = 1"))),
    ];
    for action in actions {
        expect::table_not_found(table.transact(vec![action]).await);
    }
    Ok(())
}

async fn tables_do_not_share_items(bench: &Bench<'_>) -> StoreResult<()> {
    let (one, two) = (bench.table().await?, bench.table().await?);
    one.put(row("1").with("in", "one")).await?;
    assert_eq!(two.get(row("1")).await?, None);
    two.put(row("1").with("in", "two")).await?;
    one.delete(row("1")).await?;
    assert_eq!(two.get(row("1")).await?, Some(row("1").with("in", "two")));
    assert_eq!(one.get(row("1")).await?, None);
    Ok(())
}
