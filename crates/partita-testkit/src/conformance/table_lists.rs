//! The names of tables, and tables that go.

use super::bench::Bench;
use super::values::{indexed, keys_only, local, row};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::request::{CreateTable, ListTables};
use partita_store::table::TableName;

topic! {"table_lists":
    names_come_in_order_page_by_page,
    a_page_may_begin_where_nothing_is,
    a_page_has_up_to_a_hundred_names,
    a_deleted_table_is_gone,
    a_name_is_free_again,
    a_table_is_deleted_once,
}

/// Three tables that are adjacent in every list, and a name just before them.
async fn three(bench: &Bench<'_>) -> StoreResult<(TableName, Vec<TableName>)> {
    let mut names = Vec::new();
    for _ in 0..3 {
        names.push(bench.table().await?.name);
    }
    let first = names[0].as_str();
    let before = first[..first.len() - 1].parse()?;
    Ok((before, names))
}

async fn names_come_in_order_page_by_page(bench: &Bench<'_>) -> StoreResult<()> {
    let (before, expected) = three(bench).await?;
    for limit in [1, 2, 3] {
        let mut request = ListTables {
            start_after: Some(before.clone()),
            limit: Some(limit),
        };
        let mut found = Vec::new();
        while found.len() < expected.len() {
            let page = bench.store.list_tables(request.clone()).await?;
            assert!(page.names.len() <= limit);
            assert!(page.last.is_none() || page.last.as_ref() == page.names.last());
            found.extend(page.names);
            request.start_after = page.last;
            if request.start_after.is_none() {
                break;
            }
        }
        assert_eq!(found[..expected.len()], expected, "by {limit}");
    }
    Ok(())
}

async fn a_page_may_begin_where_nothing_is(bench: &Bench<'_>) -> StoreResult<()> {
    let (_, names) = three(bench).await?;
    bench.store.delete_table(&names[1]).await?;
    let request = ListTables {
        start_after: Some(names[1].clone()),
        limit: Some(1),
    };
    let page = bench.store.list_tables(request).await?;
    assert_eq!(page.names, names[2..]);
    Ok(())
}

async fn a_page_has_up_to_a_hundred_names(bench: &Bench<'_>) -> StoreResult<()> {
    for limit in [0, 101] {
        let request = ListTables {
            limit: Some(limit),
            ..ListTables::default()
        };
        expect::invalid(bench.store.list_tables(request).await);
    }
    let request = ListTables {
        limit: Some(100),
        ..ListTables::default()
    };
    let page = bench.store.list_tables(request).await?;
    assert_eq!(page, bench.store.list_tables(ListTables::default()).await?);
    assert!(page.names.is_sorted());
    Ok(())
}

async fn a_deleted_table_is_gone(bench: &Bench<'_>) -> StoreResult<()> {
    let (before, names) = three(bench).await?;
    let described = bench.store.describe_table(&names[1]).await?;
    assert_eq!(bench.store.delete_table(&names[1]).await?, described);
    expect::table_not_found(bench.store.describe_table(&names[1]).await);
    let request = ListTables {
        start_after: Some(before),
        limit: Some(2),
    };
    let page = bench.store.list_tables(request).await?;
    assert_eq!(page.names, [names[0].clone(), names[2].clone()]);
    Ok(())
}

async fn a_name_is_free_again(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(row("1")).await?;
    bench.store.delete_table(&table.name).await?;
    expect::table_not_found(table.get(row("1")).await);
    let schema = indexed([keys_only(local("by_a", "a"))]);
    let request = CreateTable::new(table.name.clone(), schema.clone());
    assert_eq!(bench.store.create_table(request).await?.schema, schema);
    assert_eq!(table.get(row("1")).await?, None);
    Ok(())
}

async fn a_table_is_deleted_once(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    bench.store.delete_table(&table.name).await?;
    let missing = expect::table_not_found(bench.store.delete_table(&table.name).await);
    assert_eq!(missing, table.name);
    Ok(())
}
