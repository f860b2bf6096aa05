//! Local indexes: partitions in another order, with the table behind them.

use partita_core::{Item, Name};

use super::bench::{Bench, Table};
use super::values::{With as _, condition, indexed, keys, keys_only, local, parts, row, update};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::request::{Query, Scan, Select};

topic! {"local_indexes":
    a_partition_is_sorted_anew,
    an_item_that_lacks_the_key_is_left_out,
    a_key_that_does_not_fit_refuses_the_write,
    a_key_that_does_not_fit_refuses_the_update,
    reads_may_be_consistent,
    what_the_index_lacks_is_fetched,
    a_scan_fetches_too,
    a_filter_may_not_ask_for_what_is_lacking,
    pages_add_up_to_the_whole,
}

/// Four items of the partition `p` by their dates, and a neighbour.
async fn dated<'a>(bench: &Bench<'a>) -> StoreResult<Table<'a>> {
    let table = bench
        .table_with(indexed([keys_only(local("by_date", "date"))]))
        .await?;
    for (sort, date) in [("1", "d3"), ("2", "d1"), ("3", "d2"), ("4", "d2")] {
        table.put(item(sort, date)).await?;
    }
    table.put(item("5", "d1").with("PK", "q")).await?;
    table.put(row("6").with("rest", "r")).await?;
    Ok(table)
}

fn item(sort: &str, date: &str) -> Item {
    row(sort)
        .with("date", date)
        .with("rest", format!("r{sort}"))
}

/// A consistent query, which a local index allows.
fn of_p(table: &Table<'_>, rest: &str) -> Query {
    Query {
        consistent: true,
        ..table.of_index("by_date", keys(&format!("PK = 'p'{rest}")))
    }
}

fn dates(items: &[Item]) -> Vec<&str> {
    items
        .iter()
        .filter_map(|item| item["date"].as_str())
        .collect()
}

async fn a_partition_is_sorted_anew(bench: &Bench<'_>) -> StoreResult<()> {
    let table = dated(bench).await?;
    for (rest, expected) in [
        ("", &["d1", "d2", "d2", "d3"][..]),
        (" AND date = 'd2'", &["d2", "d2"]),
        (" AND date > 'd2'", &["d3"]),
        (" AND begins_with(date, 'd')", &["d1", "d2", "d2", "d3"]),
    ] {
        let query = of_p(&table, rest);
        let page = bench.store.query(query.clone()).await?;
        assert_eq!(dates(&page.items), expected, "{rest}");
        let query = Query {
            descending: true,
            ..query
        };
        let page = bench.store.query(query).await?;
        let mut reversed = expected.to_vec();
        reversed.reverse();
        assert_eq!(dates(&page.items), reversed, "{rest}");
    }
    expect::invalid(table.entries("by_date", keys("date = 'd1'")).await);
    Ok(())
}

async fn an_item_that_lacks_the_key_is_left_out(bench: &Bench<'_>) -> StoreResult<()> {
    let table = dated(bench).await?;
    table.update(row("1"), update("REMOVE date")).await?;
    table.update(row("6"), update("SET date = 'd0'")).await?;
    let page = bench.store.query(of_p(&table, "")).await?;
    assert_eq!(dates(&page.items), ["d0", "d1", "d2", "d2"]);
    Ok(())
}

async fn a_key_that_does_not_fit_refuses_the_write(bench: &Bench<'_>) -> StoreResult<()> {
    let table = dated(bench).await?;
    expect::invalid(table.put(row("7").with("date", true)).await);
    expect::invalid(table.put(row("7").with("date", "")).await);
    expect::invalid(table.put(item("7", &"d".repeat(1_025))).await);
    table.put(item("7", &"d".repeat(1_024))).await?;
    Ok(())
}

async fn a_key_that_does_not_fit_refuses_the_update(bench: &Bench<'_>) -> StoreResult<()> {
    let table = dated(bench).await?;
    for text in ["SET date = 1", "SET date = ''"] {
        expect::invalid(table.update(row("1"), update(text)).await);
    }
    assert_eq!(table.get(row("1")).await?, Some(item("1", "d3")));
    Ok(())
}

async fn reads_may_be_consistent(bench: &Bench<'_>) -> StoreResult<()> {
    let table = dated(bench).await?;
    for round in 0..10 {
        let date = format!("e{round}");
        table.put(item("1", &date)).await?;
        let page = bench.store.query(of_p(&table, " AND date > 'd9'")).await?;
        assert_eq!(dates(&page.items), [date]);
        let scan = Scan {
            consistent: true,
            ..table.through("by_date")
        };
        assert_eq!(bench.store.scan(scan).await?.count, 5);
    }
    Ok(())
}

async fn what_the_index_lacks_is_fetched(bench: &Bench<'_>) -> StoreResult<()> {
    let table = dated(bench).await?;
    let whole = item("2", "d1");
    let entry = row("2").with("date", "d1");
    let rest = Item::new().with("rest", "r2");
    for (select, expected) in [
        (Select::Projected, entry),
        (Select::All, whole),
        (Select::Parts(parts("rest")), rest.clone()),
        (Select::Parts(parts("date, rest")), rest.with("date", "d1")),
        (Select::Parts(parts("date")), Item::new().with("date", "d1")),
        (Select::Parts(parts("missing")), Item::new()),
    ] {
        let query = Query {
            select: select.clone(),
            ..of_p(&table, " AND date = 'd1'")
        };
        let page = bench.store.query(query).await?;
        assert_eq!(page.items, [expected], "{select:?}");
        assert_eq!((page.count, page.scanned), (1, 1));
    }
    Ok(())
}

async fn a_scan_fetches_too(bench: &Bench<'_>) -> StoreResult<()> {
    let table = dated(bench).await?;
    for (select, has_rest) in [(Select::Projected, false), (Select::All, true)] {
        let scan = Scan {
            select,
            ..table.through("by_date")
        };
        let page = bench.store.scan(scan).await?;
        assert_eq!(page.items.len(), 5);
        let with_rest = |item: &Item| item.contains_key("rest") == has_rest;
        assert!(page.items.iter().all(with_rest), "{page:?}");
    }
    Ok(())
}

async fn a_filter_may_not_ask_for_what_is_lacking(bench: &Bench<'_>) -> StoreResult<()> {
    let table = dated(bench).await?;
    for (text, select) in [
        ("rest = 'r1'", Select::Projected),
        ("rest = 'r1'", Select::All),
        ("rest = 'r1'", Select::Parts(parts("rest"))),
        ("date = 'd1'", Select::Projected),
        ("PK = 'p'", Select::Projected),
    ] {
        let query = Query {
            filter: Some(condition(text)),
            select,
            ..of_p(&table, "")
        };
        expect::invalid(bench.store.query(query).await);
    }
    let query = Query {
        filter: Some(condition("SK > '2'")),
        ..of_p(&table, "")
    };
    let page = bench.store.query(query).await?;
    assert_eq!(dates(&page.items), ["d2", "d2"]);
    Ok(())
}

async fn pages_add_up_to_the_whole(bench: &Bench<'_>) -> StoreResult<()> {
    let table = dated(bench).await?;
    for (limit, descending) in [(1, false), (2, true), (3, false), (4, true)] {
        let query = Query {
            limit: Some(limit),
            descending,
            ..of_p(&table, "")
        };
        let pages = table.query_pages(query).await?;
        let cursors = pages.iter().filter_map(|page| page.last_key.as_ref());
        for cursor in cursors {
            let names: Vec<_> = cursor.keys().map(Name::as_str).collect();
            assert_eq!(names, ["PK", "SK", "date"]);
        }
        let mut sorts: Vec<_> = pages.iter().flat_map(|page| &page.items).collect();
        sorts.sort_by_key(|item| item["SK"].as_str());
        let sorts: String = sorts
            .iter()
            .filter_map(|item| item["SK"].as_str())
            .collect();
        assert_eq!(sorts, "1234");
    }
    Ok(())
}
