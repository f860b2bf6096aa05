//! Several writes, all or none.

use partita_core::Item;
use partita_core::expression::Update;
use partita_core::key::KeyType;
use partita_core::limits::TRANSACTION_ACTIONS_MAX;

use super::bench::{Bench, Table};
use super::values::{With as _, condition, number, row, schema, setting, update};
use super::{expect, topic};
use partita_store::error::{CancellationReason, ErrorKind, StoreError, StoreResult};
use partita_store::request::{ConditionCheck, DeleteItem, PutItem, TransactAction, UpdateItem};

topic! {"transactions":
    every_kind_of_action_is_carried_out,
    one_transaction_writes_several_tables,
    one_failed_condition_undoes_all,
    reasons_stand_in_the_order_of_the_actions,
    reasons_bring_items_on_request,
    conditions_see_the_items_before_the_transaction,
    an_update_that_does_not_fit_its_item_cancels,
    a_faulty_action_refuses_the_whole,
    an_update_needs_a_clause,
    an_item_may_be_written_once,
    an_item_may_not_be_checked_and_written,
    one_number_is_one_item,
    a_hundred_actions_are_the_most,
    all_items_share_four_megabytes,
}

fn put(table: &Table<'_>, item: Item) -> TransactAction {
    TransactAction::Put(table.putting(item))
}

fn change(table: &Table<'_>, key: Item, text: &str) -> TransactAction {
    TransactAction::Update(table.updating(key, update(text)))
}

fn delete(table: &Table<'_>, key: Item) -> TransactAction {
    TransactAction::Delete(table.deleting(key))
}

fn check(table: &Table<'_>, key: Item, text: &str) -> TransactAction {
    TransactAction::Check(table.checking(key, condition(text)))
}

async fn every_kind_of_action_is_carried_out(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for sort in ["checked", "updated", "deleted", "replaced"] {
        table.put(row(sort).with("n", 1)).await?;
    }
    table
        .transact(vec![
            put(&table, row("new")),
            put(&table, row("replaced").with("m", 2)),
            change(&table, row("updated"), "SET n = n + 1"),
            change(&table, row("created"), "SET n = if_not_exists(n, 5) + 1"),
            delete(&table, row("deleted")),
            delete(&table, row("never there")),
            check(&table, row("checked"), "n = 1"),
            check(&table, row("absent"), "attribute_not_exists(PK)"),
        ])
        .await?;
    for (sort, expected) in [
        ("new", Some(row("new"))),
        ("replaced", Some(row("replaced").with("m", 2))),
        ("updated", Some(row("updated").with("n", 2))),
        ("created", Some(row("created").with("n", 6))),
        ("deleted", None),
        ("never there", None),
        ("checked", Some(row("checked").with("n", 1))),
        ("absent", None),
    ] {
        assert_eq!(table.get(row(sort)).await?, expected, "{sort}");
    }
    Ok(())
}

async fn one_transaction_writes_several_tables(bench: &Bench<'_>) -> StoreResult<()> {
    let (one, two) = (bench.table().await?, bench.table().await?);
    one.transact(vec![
        put(&one, row("1").with("in", "one")),
        put(&two, row("1").with("in", "two")),
    ])
    .await?;
    assert_eq!(one.get(row("1")).await?, Some(row("1").with("in", "one")));
    assert_eq!(two.get(row("1")).await?, Some(row("1").with("in", "two")));

    let missing = Table {
        store: bench.store,
        name: bench.fresh_name(),
    };
    let actions = vec![put(&one, row("2")), put(&missing, row("2"))];
    let named = expect::table_not_found(one.transact(actions).await);
    assert_eq!(named, missing.name);
    assert_eq!(one.get(row("2")).await?, None);
    Ok(())
}

async fn one_failed_condition_undoes_all(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let items = ["1", "2", "3"].map(|sort| row(sort).with("n", 1));
    for item in &items {
        table.put(item.clone()).await?;
    }
    for guard in [
        check(&table, row("guard"), "attribute_exists(PK)"),
        TransactAction::Put(PutItem {
            condition: Some(condition("attribute_exists(PK)")),
            ..table.putting(row("guard"))
        }),
        TransactAction::Update(UpdateItem {
            condition: Some(condition("n > 1")),
            ..table.updating(row("guard"), update("SET n = 1"))
        }),
        TransactAction::Delete(DeleteItem {
            condition: Some(condition("n > 1")),
            ..table.deleting(row("guard"))
        }),
    ] {
        let actions = vec![
            put(&table, row("1").with("n", 2)),
            change(&table, row("2"), "SET n = 2"),
            guard,
            delete(&table, row("3")),
            put(&table, row("4")),
        ];
        let result = table.transact(actions).await;
        let kind = result.as_ref().err().map(|error| error.kind());
        assert_eq!(kind, Some(ErrorKind::ConditionFailed));
        let failed = CancellationReason::ConditionalCheckFailed { item: None };
        let mut reasons = vec![CancellationReason::None; 5];
        reasons[2] = failed;
        assert_eq!(expect::cancelled(result), reasons);
        let found = table.query(super::values::keys("PK = 'p'")).await?;
        assert_eq!(found, items);
    }
    Ok(())
}

async fn reasons_stand_in_the_order_of_the_actions(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let failing = |sort: &str| check(&table, row(sort), "attribute_exists(PK)");
    let fine = |sort: &str| check(&table, row(sort), "attribute_not_exists(PK)");
    let actions = vec![fine("5"), failing("1"), fine("4"), fine("2"), failing("3")];
    let reasons = expect::cancelled(table.transact(actions).await);
    let codes: Vec<_> = reasons.iter().map(CancellationReason::code).collect();
    let (fine, failed) = ("None", "ConditionalCheckFailed");
    assert_eq!(codes, [fine, failed, fine, fine, failed]);
    Ok(())
}

async fn reasons_bring_items_on_request(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let item = |sort: &str| row(sort).with("n", 1);
    for sort in ["1", "2", "3", "4", "silent"] {
        table.put(item(sort)).await?;
    }
    let two = || condition("n = 2");
    let actions = vec![
        TransactAction::Put(PutItem {
            condition: Some(two()),
            return_item_on_failure: true,
            ..table.putting(row("1"))
        }),
        TransactAction::Update(UpdateItem {
            condition: Some(two()),
            return_item_on_failure: true,
            ..table.updating(row("2"), update("SET n = 2"))
        }),
        TransactAction::Delete(DeleteItem {
            condition: Some(two()),
            return_item_on_failure: true,
            ..table.deleting(row("3"))
        }),
        TransactAction::Check(ConditionCheck {
            return_item_on_failure: true,
            ..table.checking(row("4"), two())
        }),
        TransactAction::Check(table.checking(row("silent"), two())),
        TransactAction::Check(ConditionCheck {
            return_item_on_failure: true,
            ..table.checking(row("missing"), two())
        }),
    ];
    let failed = |item| CancellationReason::ConditionalCheckFailed { item };
    let mut expected: Vec<_> = ["1", "2", "3", "4"]
        .map(|sort| failed(Some(item(sort))))
        .into();
    expected.extend([failed(None), failed(None)]);
    assert_eq!(expect::cancelled(table.transact(actions).await), expected);
    Ok(())
}

async fn conditions_see_the_items_before_the_transaction(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let fresh = |sort| {
        TransactAction::Put(PutItem {
            condition: Some(condition("attribute_not_exists(PK)")),
            ..table.putting(row(sort))
        })
    };
    table.transact(vec![fresh("1"), fresh("2")]).await?;
    let reasons = expect::cancelled(table.transact(vec![fresh("3"), fresh("2")]).await);
    assert_eq!(reasons[0], CancellationReason::None);
    assert_eq!(table.get(row("3")).await?, None);
    Ok(())
}

async fn an_update_that_does_not_fit_its_item_cancels(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(row("2").with("text", "x")).await?;
    for text in [
        "SET missing.a = 1",
        "SET text = text + 1",
        "SET a = missing",
        "SET text.a = 1",
    ] {
        let actions = vec![put(&table, row("1")), change(&table, row("2"), text)];
        let result = table.transact(actions).await;
        let kind = result.as_ref().err().map(|error| error.kind());
        assert_eq!(kind, Some(ErrorKind::FixRequest), "{text}");
        // DynamoDB Local says it of the request; a caller does the same about both.
        if let Err(StoreError::TransactionCanceled { reasons }) = result {
            let codes: Vec<_> = reasons.iter().map(CancellationReason::code).collect();
            assert_eq!(codes, ["None", "ValidationError"], "{text}");
        }
        assert_eq!(table.get(row("1")).await?, None);
    }
    Ok(())
}

async fn a_faulty_action_refuses_the_whole(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for faulty in [
        put(&table, Item::new().with("PK", "p")),
        put(&table, row("2").with("SK", 2)),
        put(&table, row("")),
        put(&table, row("2").with("d", "x".repeat(409_600))),
        change(&table, row("2"), "SET PK = 'q'"),
        change(&table, row("2").with("extra", 1), "SET a = 1"),
        delete(&table, Item::new().with("PK", "p")),
        check(&table, row("2").with("SK", true), "n = 1"),
        TransactAction::Update(table.updating(row("2"), setting("d", "x".repeat(409_600)))),
    ] {
        // Amazon reports some of these for the request and some for the action; a caller does
        // the same about both.
        let text = format!("{faulty:.200?}");
        let result = table.transact(vec![put(&table, row("1")), faulty]).await;
        let kind = result.as_ref().err().map(|error| error.kind());
        assert_eq!(kind, Some(ErrorKind::FixRequest), "{text}: {result:?}");
        assert_eq!(table.get(row("1")).await?, None);
    }
    Ok(())
}

async fn an_update_needs_a_clause(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let nothing = table.updating(row("1"), Update::default());
    expect::invalid(table.transact(vec![TransactAction::Update(nothing)]).await);
    assert_eq!(table.get(row("1")).await?, None);
    Ok(())
}

async fn an_item_may_be_written_once(bench: &Bench<'_>) -> StoreResult<()> {
    let (table, other) = (bench.table().await?, bench.table().await?);
    for second in [
        put(&table, row("1")),
        change(&table, row("1"), "SET a = 1"),
        delete(&table, row("1")),
    ] {
        let actions = vec![put(&table, row("1")), put(&table, row("2")), second];
        expect::invalid(table.transact(actions).await);
        assert_eq!(table.get(row("2")).await?, None);
    }
    // The same key in another table is another item.
    let actions = vec![put(&table, row("1")), put(&other, row("1"))];
    table.transact(actions).await
}

async fn an_item_may_not_be_checked_and_written(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let check = || check(&table, row("1"), "attribute_not_exists(PK)");
    let put = || put(&table, row("1"));
    for actions in [vec![check(), put()], vec![put(), check()]] {
        expect::invalid(table.transact(actions).await);
        assert_eq!(table.get(row("1")).await?, None);
    }
    Ok(())
}

async fn one_number_is_one_item(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table_with(schema(KeyType::N, None)).await?;
    let key = |text| Item::new().with("PK", number(text));
    let actions = vec![put(&table, key("1")), delete(&table, key("1.0"))];
    expect::invalid(table.transact(actions).await);
    Ok(())
}

async fn a_hundred_actions_are_the_most(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let puts = |count: usize| {
        let puts = (0..count).map(|sort| put(&table, row(&format!("{sort:03}"))));
        puts.collect::<Vec<_>>()
    };
    expect::invalid(table.transact(puts(TRANSACTION_ACTIONS_MAX + 1)).await);
    expect::invalid(table.transact(puts(0)).await);
    assert_eq!(table.get(row("000")).await?, None);
    table.transact(puts(TRANSACTION_ACTIONS_MAX)).await?;
    let found = table.query(super::values::keys("PK = 'p'")).await?;
    assert_eq!(found.len(), TRANSACTION_ACTIONS_MAX);
    Ok(())
}

async fn all_items_share_four_megabytes(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let puts = |count: usize| {
        let item = |sort: usize| row(&sort.to_string()).with("d", "x".repeat(400_000));
        (0..count).map(|sort| put(&table, item(sort))).collect()
    };
    let kind = table
        .transact(puts(11))
        .await
        .err()
        .map(|error| error.kind());
    assert_eq!(kind, Some(ErrorKind::FixRequest));
    assert_eq!(table.get(row("0")).await?, None);
    table.transact(puts(10)).await?;
    assert!(table.get(row("9")).await?.is_some());
    Ok(())
}
