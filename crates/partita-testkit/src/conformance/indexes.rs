//! Global indexes: which items they hold, and what of each.

use partita_core::key::KeyType;
use partita_core::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use partita_core::{Item, Value};

use super::bench::{Bench, Table};
use super::values::{
    With as _, attribute, bytes, condition, global, including, indexed, keys, keys_only, map, row,
    setting, update,
};
use super::{expect, topic};
use partita_store::error::{ErrorKind, StoreResult};
use partita_store::index::IndexSchema;
use partita_store::request::{BatchWrite, BatchWriteItem, PutItem, ReturnValues, TransactAction};

topic! {"indexes":
    an_index_follows_its_items,
    an_item_that_lacks_a_key_is_left_out,
    a_key_that_does_not_fit_refuses_the_write,
    a_key_has_to_fit_even_alone,
    keys_have_the_sizes_of_a_tables,
    entries_hold_what_is_projected,
    an_index_may_turn_the_tables_keys_around,
    indexes_do_not_mind_each_other,
    batches_and_transactions_are_followed,
    a_refused_write_leaves_the_index_alone,
    a_missing_index_is_an_error,
}

/// A table of books by their authors, sorted by title.
async fn books<'a>(bench: &Bench<'a>) -> StoreResult<Table<'a>> {
    let index = global("by_author", ["author"], ["title"]);
    bench.table_with(indexed([index])).await
}

fn book(sort: &str, author: &str, title: &str) -> Item {
    row(sort).with("author", author).with("title", title)
}

/// The sort keys, in the table, of what an author wrote.
async fn by(table: &Table<'_>, author: &str) -> StoreResult<String> {
    let found = table
        .entries("by_author", keys(&format!("author = '{author}'")))
        .await?;
    Ok(found
        .iter()
        .filter_map(|item| item["SK"].as_str())
        .collect())
}

async fn an_index_follows_its_items(bench: &Bench<'_>) -> StoreResult<()> {
    let table = books(bench).await?;
    table.put(book("1", "Ann", "B")).await?;
    table.put(book("2", "Bob", "C")).await?;
    table.put(book("3", "Ann", "A")).await?;
    assert_eq!(by(&table, "Ann").await?, "31");
    assert_eq!(by(&table, "Bob").await?, "2");
    assert_eq!(by(&table, "Cat").await?, "");

    table.put(book("1", "Bob", "B")).await?;
    assert_eq!(
        (by(&table, "Ann").await?, by(&table, "Bob").await?),
        ("3".into(), "12".into())
    );
    table.update(row("3"), update("SET author = 'Bob'")).await?;
    assert_eq!(
        (by(&table, "Ann").await?, by(&table, "Bob").await?),
        ("".into(), "312".into())
    );
    table.update(row("3"), update("SET title = 'Z'")).await?;
    assert_eq!(by(&table, "Bob").await?, "123");
    table.delete(row("1")).await?;
    assert_eq!(by(&table, "Bob").await?, "23");

    // What is no key follows too.
    table.update(row("2"), update("SET pages = 7")).await?;
    let found = table.entries("by_author", keys("author = 'Bob' AND title = 'C'"));
    assert_eq!(found.await?, [book("2", "Bob", "C").with("pages", 7)]);
    Ok(())
}

async fn an_item_that_lacks_a_key_is_left_out(bench: &Bench<'_>) -> StoreResult<()> {
    let table = books(bench).await?;
    table.put(row("1").with("author", "Ann")).await?;
    table.put(row("2").with("title", "A")).await?;
    table.put(row("3")).await?;
    assert_eq!(by(&table, "Ann").await?, "");
    assert_eq!(
        table.scan_pages(table.through("by_author")).await?[0].scanned,
        0
    );

    table.update(row("1"), update("SET title = 'T'")).await?;
    assert_eq!(by(&table, "Ann").await?, "1");
    table.update(row("1"), update("REMOVE title")).await?;
    assert_eq!(by(&table, "Ann").await?, "");
    table.put(book("1", "Ann", "T")).await?;
    assert_eq!(by(&table, "Ann").await?, "1");
    table.put(row("1")).await?;
    assert_eq!(by(&table, "Ann").await?, "");
    Ok(())
}

async fn a_key_that_does_not_fit_refuses_the_write(bench: &Bench<'_>) -> StoreResult<()> {
    let table = books(bench).await?;
    let good = book("1", "Ann", "A").with("n", 7);
    table.put(good.clone()).await?;
    for (name, value) in [
        ("author", 1.into()),
        ("author", "".into()),
        ("author", Value::Null),
        ("author", map([])),
        ("title", bytes([1])),
        ("title", "".into()),
    ] {
        let faulty = book("1", "Ann", "B").with(name, value.clone());
        expect::invalid(table.put(faulty.clone()).await);
        let faulty_update = setting(name, value);
        expect::invalid(table.update(row("1"), faulty_update.clone()).await);
        expect::invalid(table.update(row("new"), faulty_update).await);
        let put = TransactAction::Put(table.putting(faulty.clone()));
        let kind = table
            .transact(vec![put])
            .await
            .map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::FixRequest));
        let writes = vec![
            BatchWrite::Put {
                table: table.name.clone(),
                item: book("2", "Ann", "C"),
            },
            BatchWrite::Put {
                table: table.name.clone(),
                item: faulty,
            },
        ];
        expect::invalid(
            bench
                .store
                .batch_write_item(BatchWriteItem { writes })
                .await,
        );
    }
    // What is computed counts as well.
    expect::invalid(table.update(row("1"), update("SET author = n")).await);
    assert_eq!(table.query(keys("PK = 'p'")).await?, [good]);
    assert_eq!(by(&table, "Ann").await?, "1");
    Ok(())
}

async fn a_key_has_to_fit_even_alone(bench: &Bench<'_>) -> StoreResult<()> {
    let table = books(bench).await?;
    expect::invalid(table.put(row("1").with("title", 1)).await);
    expect::invalid(table.put(row("1").with("title", "")).await);
    expect::invalid(table.update(row("1"), update("SET title = 1")).await);
    assert_eq!(table.get(row("1")).await?, None);
    Ok(())
}

async fn keys_have_the_sizes_of_a_tables(bench: &Bench<'_>) -> StoreResult<()> {
    let table = books(bench).await?;
    let sized = |author: usize, title: usize| book("1", &"a".repeat(author), &"t".repeat(title));
    let (author, title) = (PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX);
    table.put(sized(author, title)).await?;
    assert_eq!(by(&table, &"a".repeat(author)).await?, "1");
    expect::invalid(table.put(sized(author + 1, title)).await);
    expect::invalid(table.put(sized(author, title + 1)).await);
    Ok(())
}

async fn entries_hold_what_is_projected(bench: &Bench<'_>) -> StoreResult<()> {
    let index = |name: &str| global(name, ["author"], ["title"]);
    let table = bench
        .table_with(indexed([
            index("everything"),
            keys_only(index("nothing")),
            including(index("pages"), ["pages", "missing", "author"]),
        ]))
        .await?;
    let entry = book("1", "Ann", "A");
    let item = entry.clone().with("pages", 7).with("year", 1999);
    table.put(item.clone()).await?;
    for (name, expected) in [
        ("everything", item),
        ("nothing", entry.clone()),
        ("pages", entry.with("pages", 7)),
    ] {
        let found = table.entries(name, keys("author = 'Ann'")).await?;
        let pages = table.scan_pages(table.through(name)).await?;
        assert_eq!(found, pages[0].items, "{name}");
        assert_eq!(found, [expected], "{name}");
    }
    Ok(())
}

async fn an_index_may_turn_the_tables_keys_around(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench
        .table_with(indexed([global("turned", ["SK"], ["PK"])]))
        .await?;
    for (partition, sort) in [("a", "1"), ("c", "2"), ("b", "1")] {
        table.put(row(sort).with("PK", partition)).await?;
    }
    let found = table.entries("turned", keys("SK = '1' AND PK > 'a'"));
    assert_eq!(found.await?, [row("1").with("PK", "b")]);
    let found = table.entries("turned", keys("SK = '1'"));
    assert_eq!(
        found.await?,
        ["a", "b"].map(|partition| row("1").with("PK", partition))
    );
    Ok(())
}

async fn indexes_do_not_mind_each_other(bench: &Bench<'_>) -> StoreResult<()> {
    let numbers = IndexSchema {
        partition: vec![attribute("n", KeyType::N)],
        ..global("by_number", ["n"], [])
    };
    let binaries = IndexSchema {
        sort: vec![attribute("b", KeyType::B)],
        ..global("by_bytes", ["author"], ["b"])
    };
    let table = bench.table_with(indexed([numbers, binaries])).await?;
    table.put(row("1").with("n", 1)).await?;
    table
        .put(row("2").with("author", "Ann").with("b", bytes([2])))
        .await?;
    let both = row("3")
        .with("n", 1)
        .with("author", "Ann")
        .with("b", bytes([1]));
    table.put(both).await?;
    let sorts = |items: Vec<Item>| -> Vec<String> {
        let sorts = items.iter().filter_map(|item| item["SK"].as_str());
        sorts.map(str::to_owned).collect()
    };
    let mut found = sorts(table.entries("by_number", keys("n = 1")).await?);
    // Entries with equal keys come in no particular order.
    found.sort();
    assert_eq!(found, ["1", "3"]);
    let found = sorts(table.entries("by_bytes", keys("author = 'Ann'")).await?);
    assert_eq!(found, ["3", "2"]);
    Ok(())
}

async fn batches_and_transactions_are_followed(bench: &Bench<'_>) -> StoreResult<()> {
    let table = books(bench).await?;
    for sort in ["1", "2", "3"] {
        table.put(book(sort, "Ann", sort)).await?;
    }
    table
        .transact(vec![
            TransactAction::Put(table.putting(book("4", "Ann", "0"))),
            TransactAction::Update(table.updating(row("1"), update("SET author = 'Bob'"))),
            TransactAction::Delete(table.deleting(row("2"))),
            TransactAction::Check(table.checking(row("3"), condition("title = '3'"))),
        ])
        .await?;
    assert_eq!(
        (by(&table, "Ann").await?, by(&table, "Bob").await?),
        ("43".into(), "1".into())
    );
    let writes = vec![
        BatchWrite::Put {
            table: table.name.clone(),
            item: book("3", "Bob", "0"),
        },
        BatchWrite::Delete(table.address(row("4"))),
    ];
    bench
        .store
        .batch_write_item(BatchWriteItem { writes })
        .await?;
    assert_eq!(
        (by(&table, "Ann").await?, by(&table, "Bob").await?),
        ("".into(), "31".into())
    );
    Ok(())
}

async fn a_refused_write_leaves_the_index_alone(bench: &Bench<'_>) -> StoreResult<()> {
    let table = books(bench).await?;
    table.put(book("1", "Ann", "A")).await?;
    let request = PutItem {
        condition: Some(condition("attribute_not_exists(PK)")),
        ..table.putting(book("1", "Bob", "A"))
    };
    let result = bench.store.put_item(request, ReturnValues::None).await;
    expect::condition_failed(result);
    let cancelled = table
        .transact(vec![
            TransactAction::Update(table.updating(row("1"), update("SET author = 'Bob'"))),
            TransactAction::Check(table.checking(row("2"), condition("attribute_exists(PK)"))),
        ])
        .await;
    expect::cancelled(cancelled);
    assert_eq!(
        (by(&table, "Ann").await?, by(&table, "Bob").await?),
        ("1".into(), "".into())
    );
    Ok(())
}

async fn a_missing_index_is_an_error(bench: &Bench<'_>) -> StoreResult<()> {
    let table = books(bench).await?;
    expect::invalid(table.entries("by_title", keys("title = 'A'")).await);
    expect::invalid(table.scan_pages(table.through("by_title")).await);
    // An index is asked for its own keys.
    expect::invalid(table.entries("by_author", keys("PK = 'p'")).await);
    expect::invalid(
        table
            .entries("by_author", keys("author = 'Ann' AND SK = '1'"))
            .await,
    );
    expect::invalid(table.entries("by_author", keys("author = 1")).await);
    Ok(())
}
