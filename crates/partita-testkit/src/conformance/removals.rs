//! Updates that only remove, on items that do not exist: they create nothing.

use partita_core::Item;
use partita_core::expression::{Path, Update};

use super::bench::{Bench, Table};
use super::stream_records::{records_of, stream_of, streamed};
use super::values::{With as _, condition, row, strings, update};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::request::{ReturnValues, TransactAction};
use partita_store::stream::StreamView;

topic! {"removals":
    a_removal_creates_nothing,
    a_removal_in_a_transaction_creates_nothing,
    a_condition_is_asked_all_the_same,
    a_removal_of_nothing_costs_one_unit,
    a_removal_of_nothing_is_not_in_the_stream,
    a_removal_beside_another_clause_creates_the_item,
}

/// Every kind of update that only removes.
fn removals() -> [Update; 4] {
    let deleting = |path: Path| Update {
        delete: vec![(path, strings(["x"]))],
        ..Update::default()
    };
    let both = Update {
        remove: vec![Path::attribute("b")],
        ..deleting(Path::attribute("a"))
    };
    [
        update("REMOVE a"),
        // Where there is an item without `a`, this path is refused.
        update("REMOVE a.b, c[0]"),
        deleting(Path::attribute("a")),
        both,
    ]
}

const RETURNS: [ReturnValues; 5] = [
    ReturnValues::None,
    ReturnValues::AllOld,
    ReturnValues::AllNew,
    ReturnValues::UpdatedOld,
    ReturnValues::UpdatedNew,
];

async fn is_missing(table: &Table<'_>) -> StoreResult<bool> {
    Ok(table.get(row("1")).await?.is_none())
}

async fn a_removal_creates_nothing(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for removal in removals() {
        for returns in RETURNS {
            let request = table.updating(row("1"), removal.clone());
            let returned = bench.store.update_item(request, returns).await?;
            assert_eq!(returned, None, "{removal:?}, {returns:?}");
            assert!(is_missing(&table).await?, "{removal:?}, {returns:?}");
        }
    }
    Ok(())
}

async fn a_removal_in_a_transaction_creates_nothing(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for removal in removals() {
        let updating = TransactAction::Update(table.updating(row("1"), removal.clone()));
        let putting = TransactAction::Put(table.putting(row("2")));
        table.transact(vec![updating, putting]).await?;
        assert!(is_missing(&table).await?, "{removal:?}");
        assert_eq!(table.get(row("2")).await?, Some(row("2")));
        table.delete(row("2")).await?;
    }
    Ok(())
}

async fn a_condition_is_asked_all_the_same(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let request = |text| {
        let mut request = table.updating(row("1"), update("REMOVE a"));
        request.condition = Some(condition(text));
        request
    };
    let fails = request("attribute_exists(PK)");
    let passes = request("attribute_not_exists(PK)");
    let returns = ReturnValues::AllNew;
    expect::condition_failed(bench.store.update_item(fails.clone(), returns).await);
    expect::cancelled(table.transact(vec![TransactAction::Update(fails)]).await);
    let returned = bench.store.update_item(passes.clone(), returns).await?;
    assert_eq!(returned, None);
    table.transact(vec![TransactAction::Update(passes)]).await?;
    assert!(is_missing(&table).await?);
    Ok(())
}

async fn a_removal_of_nothing_costs_one_unit(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let request = table.updating(row("1"), update("REMOVE a"));
    let store = bench.store.0;
    for _ in 0..2 {
        let answer = store
            .update_item(request.clone(), ReturnValues::None)
            .await?;
        let consumed = answer.consumed.values();
        let units: f64 = consumed.map(|consumed| consumed.total().units()).sum();
        assert_eq!(units, 1.0);
    }
    Ok(())
}

async fn a_removal_of_nothing_is_not_in_the_stream(bench: &Bench<'_>) -> StoreResult<()> {
    let table = streamed(bench, StreamView::NewAndOldImages).await?;
    let request = table.updating(row("1"), update("REMOVE a"));
    let returns = ReturnValues::None;
    bench.store.update_item(request.clone(), returns).await?;
    let action = TransactAction::Update(request);
    table.transact(vec![action]).await?;
    let records = records_of(bench, &stream_of(&table).await?).await?;
    assert!(records.is_empty(), "{records:?}");
    Ok(())
}

async fn a_removal_beside_another_clause_creates_the_item(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let add = |value| Update {
        add: vec![(Path::attribute("n"), value)],
        ..update("REMOVE a")
    };
    let members = || strings(["x"]);
    let cases: [(Update, Item); 4] = [
        (update("SET b = 1 REMOVE a"), row("1").with("b", 1)),
        (add(0.into()), row("1").with("n", 0)),
        (add(members()), row("1").with("n", members())),
        // An update without any clause is none that only removes.
        (Update::default(), row("1")),
    ];
    for (update, expected) in cases {
        assert_eq!(table.update(row("1"), update).await?, expected);
        assert_eq!(table.get(row("1")).await?, Some(expected));
        table.delete(row("1")).await?;
    }
    Ok(())
}
