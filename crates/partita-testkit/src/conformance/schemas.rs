//! Which keys and indexes a table may have.

use partita_core::key::KeyType;

use super::bench::Bench;
use super::values::{attribute, global, including, indexed, keys_only, local, schema};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::index::{IndexProjection, IndexSchema};
use partita_store::table::TableSchema;

topic! {"schemas":
    indexes_are_described,
    twenty_global_and_five_local_indexes_are_the_most,
    names_are_checked,
    keys_are_checked,
    a_local_index_needs_a_sort_key,
    included_names_are_checked,
    a_table_includes_a_hundred_names,
    an_index_includes_twenty_names,
}

/// Creates the table, and finds it described as it was asked for.
async fn fits(bench: &Bench<'_>, schema: impl Into<TableSchema>) -> StoreResult<()> {
    let schema = schema.into();
    let table = bench.table_with(schema.clone()).await?;
    let described = bench.store.describe_table(&table.name).await?;
    assert_eq!(by_name(described.schema), by_name(schema));
    Ok(())
}

/// Indexes are described in no particular order.
fn by_name(mut schema: TableSchema) -> TableSchema {
    schema.indexes.sort_by(|one, two| one.name.cmp(&two.name));
    schema
}

async fn refused(bench: &Bench<'_>, schema: impl Into<TableSchema>) {
    let schema = schema.into();
    let text = format!("{schema:.300?}");
    let result = bench.table_with(schema).await.map(drop);
    assert!(result.is_err(), "{text}");
    expect::invalid(result);
}

fn numbered(count: usize, index: impl Fn(&str) -> IndexSchema) -> Vec<IndexSchema> {
    let names = (0..count).map(|number| format!("index{number}"));
    names.map(|name| index(&name)).collect()
}

fn with_names(name: &str, names: impl IntoIterator<Item = String>) -> IndexSchema {
    IndexSchema {
        projection: IndexProjection::Include(names.into_iter().collect()),
        ..global(name, ["a"], [])
    }
}

async fn indexes_are_described(bench: &Bench<'_>) -> StoreResult<()> {
    let several = IndexSchema {
        partition: vec![attribute("a", KeyType::S), attribute("n", KeyType::N)],
        sort: vec![attribute("b", KeyType::B), attribute("SK", KeyType::S)],
        ..global("several", [], [])
    };
    fits(
        bench,
        indexed([
            several,
            including(global("included", ["a"], []), ["x", "y"]),
            keys_only(global("turned", ["SK"], ["PK"])),
            local("local", "a"),
            keys_only(local("another.local", "c")),
        ]),
    )
    .await
}

async fn twenty_global_and_five_local_indexes_are_the_most(bench: &Bench<'_>) -> StoreResult<()> {
    let of_a = |name: &str| global(name, ["a"], []);
    let local_of_a = |name: &str| local(name, "a");
    fits(bench, indexed(numbered(20, of_a))).await?;
    refused(bench, indexed(numbered(21, of_a))).await;
    fits(bench, indexed(numbered(5, local_of_a))).await?;
    refused(bench, indexed(numbered(6, local_of_a))).await;
    Ok(())
}

async fn names_are_checked(bench: &Bench<'_>) -> StoreResult<()> {
    for name in ["ab", "", "with space", "umlaut-ü", "a/b"] {
        refused(bench, indexed([global(name, ["a"], [])])).await;
    }
    let twice = [global("twice", ["a"], []), global("twice", ["b"], [])];
    refused(bench, indexed(twice)).await;
    refused(
        bench,
        indexed([global("twice", ["a"], []), local("twice", "b")]),
    )
    .await;
    fits(bench, indexed([global("a-b_c.9", ["a"], [])])).await
}

async fn keys_are_checked(bench: &Bench<'_>) -> StoreResult<()> {
    for index in [
        global("index", [], ["a"]),
        global("index", ["a"], ["a"]),
        global("index", ["a", "a"], []),
        global("index", ["a"], ["b", "b"]),
        global("index", [""], []),
        global("index", [&"a".repeat(256)], []),
        IndexSchema {
            partition: vec![attribute("SK", KeyType::N)],
            ..global("index", [], [])
        },
    ] {
        refused(bench, indexed([index])).await;
    }
    let mut twice = schema(KeyType::S, Some(KeyType::S));
    twice.partition.name = "SK".to_owned();
    refused(bench, twice).await;
    fits(bench, indexed([global("index", [&"a".repeat(255)], [])])).await
}

async fn a_local_index_needs_a_sort_key(bench: &Bench<'_>) -> StoreResult<()> {
    let unsorted = IndexSchema {
        sort: Vec::new(),
        ..local("index", "a")
    };
    let elsewhere = IndexSchema {
        partition: vec![attribute("b", KeyType::S)],
        ..local("index", "a")
    };
    let two = IndexSchema {
        sort: vec![attribute("a", KeyType::S), attribute("b", KeyType::S)],
        ..local("index", "a")
    };
    for index in [unsorted, elsewhere, two, local("index", "PK")] {
        refused(bench, indexed([index])).await;
    }
    let of_unsorted_table = TableSchema {
        key: schema(KeyType::S, None),
        indexes: vec![local("index", "a")],
    };
    refused(bench, of_unsorted_table).await;
    fits(bench, indexed([local("index", "a")])).await
}

async fn included_names_are_checked(bench: &Bench<'_>) -> StoreResult<()> {
    for names in [
        vec![],
        vec!["x".to_owned(), "x".to_owned()],
        vec![String::new()],
        vec!["x".repeat(256)],
    ] {
        refused(bench, indexed([with_names("index", names)])).await;
    }
    let largest = vec!["x".repeat(255), "PK".to_owned()];
    fits(bench, indexed([with_names("index", largest)])).await
}

async fn a_table_includes_a_hundred_names(bench: &Bench<'_>) -> StoreResult<()> {
    let twenty = |name: &str| with_names(name, (0..20).map(|number| format!("x{number}")));
    fits(bench, indexed(numbered(5, twenty))).await?;
    let mut indexes = numbered(5, twenty);
    indexes.push(with_names("more", ["x0".to_owned()]));
    refused(bench, indexed(indexes)).await;
    Ok(())
}

async fn an_index_includes_twenty_names(bench: &Bench<'_>) -> StoreResult<()> {
    let names = (0..21).map(|number| format!("x{number}"));
    refused(bench, indexed([with_names("index", names)])).await;
    Ok(())
}
