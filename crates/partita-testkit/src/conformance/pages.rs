//! Pages of a query: limits, cursors, filters and the megabyte.

use partita_core::Item;
use partita_core::limits::PAGE_BYTES_MAX;

use super::bench::{Bench, Table};
use super::values::{With as _, condition, keys, row};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::request::{Page, Query};

topic! {"pages":
    pages_add_up_to_the_whole,
    a_full_page_has_a_cursor_even_at_the_end,
    a_cursor_survives_the_deletion_of_its_item,
    a_cursor_may_point_between_items,
    items_put_meanwhile_are_found_behind_the_cursor,
    a_limit_counts_before_the_filter,
    a_filter_may_leave_nothing,
    a_filter_may_not_ask_for_keys,
    a_limit_is_at_least_one,
    a_cursor_must_be_a_key_of_the_query,
    a_page_ends_after_a_megabyte,
    the_megabyte_counts_before_the_filter,
}

/// Nine items in the partition `p`, with neighbours on both sides.
async fn nine<'a>(bench: &Bench<'a>) -> StoreResult<Table<'a>> {
    let table = bench.table().await?;
    for number in 1..=9_i64 {
        let item = row(&number.to_string()).with("n", number);
        table.put(item).await?;
    }
    for partition in ["o", "pa"] {
        table.put(row("5").with("PK", partition)).await?;
    }
    Ok(table)
}

fn of_p(table: &Table<'_>) -> Query {
    Query::new(table.name.clone(), keys("PK = 'p'"))
}

fn sorts<'a>(items: impl IntoIterator<Item = &'a Item>) -> String {
    let sort = |item: &'a Item| item["SK"].as_str().expect("a string key");
    items.into_iter().map(sort).collect()
}

async fn pages_add_up_to_the_whole(bench: &Bench<'_>) -> StoreResult<()> {
    let table = nine(bench).await?;
    for (text, ascending) in [
        ("PK = 'p'", "123456789"),
        ("PK = 'p' AND SK BETWEEN '3' AND '7'", "34567"),
        ("PK = 'p' AND SK < '4'", "123"),
        ("PK = 'p' AND SK > '6'", "789"),
    ] {
        for limit in [1, 2, 3, 4, 9, 10] {
            for descending in [false, true] {
                let query = Query {
                    limit: Some(limit),
                    descending,
                    ..Query::new(table.name.clone(), keys(text))
                };
                let pages = table.query_pages(query).await?;
                let found = sorts(pages.iter().flat_map(|page| &page.items));
                let expected: String = if descending {
                    ascending.chars().rev().collect()
                } else {
                    ascending.to_owned()
                };
                assert_eq!(
                    found, expected,
                    "{text} by {limit}, descending: {descending}"
                );
                assert!(pages.iter().all(|page| page.items.len() <= limit));
            }
        }
    }
    Ok(())
}

async fn a_full_page_has_a_cursor_even_at_the_end(bench: &Bench<'_>) -> StoreResult<()> {
    let table = nine(bench).await?;
    let page = async |limit| {
        let query = Query {
            limit: Some(limit),
            ..of_p(&table)
        };
        bench.store.query(query).await
    };
    assert_eq!(page(8).await?.last_key, Some(row("8")));
    assert_eq!(page(9).await?.last_key, Some(row("9")));
    assert_eq!(page(10).await?.last_key, None);
    let query = Query {
        start_after: Some(row("9")),
        ..of_p(&table)
    };
    assert_eq!(bench.store.query(query).await?, Page::default());
    Ok(())
}

async fn a_cursor_survives_the_deletion_of_its_item(bench: &Bench<'_>) -> StoreResult<()> {
    for (descending, expected) in [(false, "45"), (true, "65")] {
        let table = nine(bench).await?;
        let query = Query {
            limit: Some(3),
            descending,
            ..of_p(&table)
        };
        let page = bench.store.query(query.clone()).await?;
        let cursor = page.last_key.expect("there is more");
        table.delete(cursor.clone()).await?;
        let query = Query {
            limit: Some(2),
            start_after: Some(cursor),
            ..query
        };
        let rest = bench.store.query(query).await?;
        assert_eq!(sorts(&rest.items), expected);
    }
    Ok(())
}

async fn a_cursor_may_point_between_items(bench: &Bench<'_>) -> StoreResult<()> {
    let table = nine(bench).await?;
    for (descending, cursor, expected) in [
        (false, "6x", "789"),
        (true, "3x", "321"),
        (false, "0", "123456789"),
        (false, "z", ""),
        (true, "0", ""),
    ] {
        let query = Query {
            descending,
            start_after: Some(row(cursor)),
            ..of_p(&table)
        };
        let page = bench.store.query(query).await?;
        assert_eq!(sorts(&page.items), expected, "after {cursor}");
    }
    Ok(())
}

async fn items_put_meanwhile_are_found_behind_the_cursor(bench: &Bench<'_>) -> StoreResult<()> {
    let table = nine(bench).await?;
    let query = Query {
        limit: Some(5),
        ..of_p(&table)
    };
    let first = bench.store.query(query.clone()).await?;
    // The first is on the page that was read; the second is still to come.
    table.put(row("4x")).await?;
    table.put(row("6x")).await?;
    let query = Query {
        limit: None,
        start_after: first.last_key,
        ..query
    };
    let rest = bench.store.query(query).await?;
    assert_eq!(sorts(&rest.items), "66x789");
    Ok(())
}

async fn a_limit_counts_before_the_filter(bench: &Bench<'_>) -> StoreResult<()> {
    let table = nine(bench).await?;
    let query = Query {
        filter: Some(condition("n IN (2, 3, 8)")),
        limit: Some(4),
        ..of_p(&table)
    };
    let pages = table.query_pages(query).await?;
    let found: Vec<_> = pages
        .iter()
        .map(|page| (sorts(&page.items), page.scanned))
        .collect();
    let expected = [("23", 4), ("8", 4), ("", 1)].map(|(found, n)| (found.to_owned(), n));
    assert_eq!(found, expected);
    Ok(())
}

async fn a_filter_may_leave_nothing(bench: &Bench<'_>) -> StoreResult<()> {
    let table = nine(bench).await?;
    let query = Query {
        filter: Some(condition("n > 9")),
        ..of_p(&table)
    };
    let page = bench.store.query(query).await?;
    assert_eq!((page.items, page.scanned, page.last_key), (vec![], 9, None));
    Ok(())
}

async fn a_filter_may_not_ask_for_keys(bench: &Bench<'_>) -> StoreResult<()> {
    let table = nine(bench).await?;
    for text in ["SK > '3'", "n = 1 OR PK = 'p'", "attribute_exists(SK)"] {
        let query = Query {
            filter: Some(condition(text)),
            ..of_p(&table)
        };
        expect::invalid(bench.store.query(query).await);
    }
    Ok(())
}

async fn a_limit_is_at_least_one(bench: &Bench<'_>) -> StoreResult<()> {
    let table = nine(bench).await?;
    let query = Query {
        limit: Some(0),
        ..of_p(&table)
    };
    expect::invalid(bench.store.query(query).await);
    Ok(())
}

async fn a_cursor_must_be_a_key_of_the_query(bench: &Bench<'_>) -> StoreResult<()> {
    let table = nine(bench).await?;
    let start = async |text, cursor| {
        let query = Query {
            start_after: Some(cursor),
            ..Query::new(table.name.clone(), keys(text))
        };
        bench.store.query(query).await
    };
    for cursor in [
        Item::new(),
        Item::new().with("PK", "p"),
        row("5").with("n", 5),
        row("5").with("SK", 5),
        row(""),
        row("5").with("PK", "o"),
    ] {
        expect::invalid(start("PK = 'p'", cursor).await);
    }
    // Outside of the range, on either side.
    for cursor in ["2", "8"] {
        let text = "PK = 'p' AND SK BETWEEN '3' AND '7'";
        expect::invalid(start(text, row(cursor)).await);
    }
    Ok(())
}

/// Two megabytes in seven items.
async fn two_megabytes<'a>(bench: &Bench<'a>) -> StoreResult<Table<'a>> {
    let table = bench.table().await?;
    for sort in ["1", "2", "3", "4", "5", "6", "7"] {
        table.put(row(sort).with("d", "x".repeat(300_000))).await?;
    }
    Ok(table)
}

/// Whether the item that crosses the line still belongs to the page, we leave open.
const SCANNED_MAX: usize = PAGE_BYTES_MAX / 300_000 + 1;

async fn a_page_ends_after_a_megabyte(bench: &Bench<'_>) -> StoreResult<()> {
    let table = two_megabytes(bench).await?;
    let pages = table.query_pages(of_p(&table)).await?;
    assert!(pages.iter().all(|page| page.scanned <= SCANNED_MAX));
    let found = sorts(pages.iter().flat_map(|page| &page.items));
    assert_eq!(found, "1234567");
    Ok(())
}

async fn the_megabyte_counts_before_the_filter(bench: &Bench<'_>) -> StoreResult<()> {
    let table = two_megabytes(bench).await?;
    let query = Query {
        filter: Some(condition("attribute_exists(missing)")),
        ..of_p(&table)
    };
    let pages = table.query_pages(query).await?;
    assert!(pages.iter().all(|page| page.scanned <= SCANNED_MAX));
    assert_eq!(pages.iter().map(|page| page.scanned).sum::<usize>(), 7);
    Ok(())
}
