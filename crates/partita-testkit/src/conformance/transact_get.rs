//! Reading several items as they are at one moment.

use futures::future::join;
use partita_core::Item;
use partita_core::limits::TRANSACTION_ACTIONS_MAX;

use super::bench::{Bench, Table};
use super::values::{With as _, parts, row, update};
use super::{expect, topic};
use partita_store::error::{ErrorKind, StoreResult};
use partita_store::request::{TransactAction, TransactGetItems};

topic! {"transact_get":
    answers_stand_in_the_order_of_the_request,
    one_request_reads_several_tables,
    an_item_may_be_read_once,
    a_hundred_items_are_the_most,
    every_key_must_fit_the_schema,
    a_missing_table_refuses_the_whole_request,
    all_items_share_four_megabytes,
    items_are_of_one_moment,
}

async fn get(table: &Table<'_>, keys: Vec<Item>) -> StoreResult<Vec<Option<Item>>> {
    let gets = keys.into_iter().map(|key| (table.address(key), None));
    let request = TransactGetItems {
        gets: gets.collect(),
    };
    table.store.transact_get_items(request).await
}

async fn answers_stand_in_the_order_of_the_request(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let item = |sort: &str| row(sort).with("a", sort);
    for sort in ["1", "2", "3"] {
        table.put(item(sort)).await?;
    }
    let found = get(&table, ["3", "missing", "1"].map(row).into()).await?;
    assert_eq!(found, [Some(item("3")), None, Some(item("1"))]);
    Ok(())
}

async fn one_request_reads_several_tables(bench: &Bench<'_>) -> StoreResult<()> {
    let (one, two) = (bench.table().await?, bench.table().await?);
    one.put(row("1").with("in", "one")).await?;
    two.put(row("1").with("in", "two")).await?;
    let request = TransactGetItems {
        gets: vec![
            (two.address(row("1")), Some(parts("in"))),
            (one.address(row("1")), None),
        ],
    };
    let expected = [
        Some(Item::new().with("in", "two")),
        Some(row("1").with("in", "one")),
    ];
    assert_eq!(bench.store.transact_get_items(request).await?, expected);
    Ok(())
}

async fn an_item_may_be_read_once(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    expect::invalid(get(&table, vec![row("1"), row("1")]).await);
    let request = TransactGetItems {
        gets: vec![
            (table.address(row("1")), Some(parts("a"))),
            (table.address(row("1")), Some(parts("b"))),
        ],
    };
    expect::invalid(bench.store.transact_get_items(request).await);
    Ok(())
}

async fn a_hundred_items_are_the_most(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(row("7")).await?;
    let keys = |count: usize| Vec::from_iter((0..count).map(|sort| row(&sort.to_string())));
    expect::invalid(get(&table, keys(0)).await);
    expect::invalid(get(&table, keys(TRANSACTION_ACTIONS_MAX + 1)).await);
    let found = get(&table, keys(TRANSACTION_ACTIONS_MAX)).await?;
    assert_eq!(found.len(), TRANSACTION_ACTIONS_MAX);
    assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), [row("7")]);
    Ok(())
}

async fn every_key_must_fit_the_schema(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for faulty in [
        Item::new().with("PK", "p"),
        row("2").with("extra", 1),
        row("2").with("SK", 2),
        row(""),
    ] {
        // Amazon reports some of these for the request and some for the item.
        let result = get(&table, vec![row("1"), faulty.clone()]).await;
        let kind = result.map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::FixRequest), "{faulty:?}");
    }
    Ok(())
}

async fn a_missing_table_refuses_the_whole_request(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let missing = Table {
        store: bench.store,
        name: bench.fresh_name(),
    };
    let request = TransactGetItems {
        gets: vec![
            (table.address(row("1")), None),
            (missing.address(row("1")), None),
        ],
    };
    let result = bench.store.transact_get_items(request).await;
    assert_eq!(expect::table_not_found(result), missing.name);
    Ok(())
}

async fn all_items_share_four_megabytes(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let sorts = Vec::from_iter((0..11).map(|sort| sort.to_string()));
    for sort in &sorts {
        table.put(row(sort).with("d", "x".repeat(400_000))).await?;
    }
    let keys = Vec::from_iter(sorts.iter().map(|sort| row(sort)));
    let result = get(&table, keys[..10].to_vec()).await?;
    assert!(result.iter().all(Option::is_some));
    let kind = get(&table, keys).await.map_err(|error| error.kind());
    assert_eq!(kind, Err(ErrorKind::FixRequest));
    Ok(())
}

/// Two items that are only ever written together are read so too.
async fn items_are_of_one_moment(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let write = async {
        for _ in 0..20 {
            let actions = ["1", "2"].map(|sort| {
                let change = update("SET n = if_not_exists(n, 0) + 1");
                TransactAction::Update(table.updating(row(sort), change))
            });
            table.transact(actions.into()).await?;
        }
        StoreResult::Ok(())
    };
    let read = async {
        for _ in 0..20 {
            let numbers = match get(&table, vec![row("1"), row("2")]).await {
                // Amazon may say that a write is under way.
                Err(error) if error.kind() == ErrorKind::Conflict => continue,
                found => found?
                    .into_iter()
                    .map(|item| item.map(|item| item["n"].clone())),
            };
            let numbers = Vec::from_iter(numbers);
            assert_eq!(numbers[0], numbers[1]);
        }
        StoreResult::Ok(())
    };
    let (wrote, read) = join(write, read).await;
    wrote.and(read)
}
