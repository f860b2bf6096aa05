//! Transactions with a token may be repeated.

use super::bench::{Bench, Table};
use super::values::{With as _, condition, row, update};
use super::{expect, topic};
use partita_store::error::{ErrorKind, StoreError, StoreResult};
use partita_store::request::{TransactAction, TransactWriteItems, UpdateItem};

topic! {"tokens":
    a_repeated_transaction_happens_once,
    a_repetition_ignores_what_has_happened_since,
    another_token_is_another_transaction,
    one_token_does_not_stand_for_two_transactions,
    a_cancelled_transaction_does_not_use_its_token_up,
    a_token_has_one_to_thirty_six_characters,
}

fn counting(table: &Table<'_>, token: &str) -> TransactWriteItems {
    let update = update("SET n = if_not_exists(n, 0) + 1");
    TransactWriteItems {
        actions: vec![TransactAction::Update(table.updating(row("1"), update))],
        token: Some(token.to_owned()),
    }
}

async fn a_repeated_transaction_happens_once(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let token = bench.token();
    for _ in 0..3 {
        let request = counting(&table, &token);
        bench.store.transact_write_items(request).await?;
    }
    assert_eq!(table.get(row("1")).await?, Some(row("1").with("n", 1)));
    Ok(())
}

async fn a_repetition_ignores_what_has_happened_since(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let update = UpdateItem {
        condition: Some(condition("attribute_not_exists(PK)")),
        ..table.updating(row("1"), update("SET n = 1"))
    };
    let request = TransactWriteItems {
        actions: vec![TransactAction::Update(update)],
        token: Some(bench.token()),
    };
    bench.store.transact_write_items(request.clone()).await?;
    // The condition would fail now, but the answer is the first one's.
    bench.store.transact_write_items(request.clone()).await?;
    table.delete(row("1")).await?;
    bench.store.transact_write_items(request).await?;
    assert_eq!(table.get(row("1")).await?, None);
    Ok(())
}

async fn another_token_is_another_transaction(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for token in [bench.token(), bench.token()] {
        let request = counting(&table, &token);
        bench.store.transact_write_items(request).await?;
    }
    assert_eq!(table.get(row("1")).await?, Some(row("1").with("n", 2)));
    Ok(())
}

async fn one_token_does_not_stand_for_two_transactions(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let token = bench.token();
    let first = counting(&table, &token);
    bench.store.transact_write_items(first.clone()).await?;
    let second = TransactWriteItems {
        actions: vec![TransactAction::Put(table.putting(row("2")))],
        ..first
    };
    let error = bench.store.transact_write_items(second).await.err();
    assert_eq!(error, Some(StoreError::IdempotentParameterMismatch));
    assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::FixRequest));
    assert_eq!(table.get(row("2")).await?, None);
    Ok(())
}

async fn a_cancelled_transaction_does_not_use_its_token_up(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let update = UpdateItem {
        condition: Some(condition("n = 1")),
        ..table.updating(row("1"), update("SET n = n + 1"))
    };
    let request = TransactWriteItems {
        actions: vec![TransactAction::Update(update)],
        token: Some(bench.token()),
    };
    expect::cancelled(bench.store.transact_write_items(request.clone()).await);
    table.put(row("1").with("n", 1)).await?;
    bench.store.transact_write_items(request).await?;
    assert_eq!(table.get(row("1")).await?, Some(row("1").with("n", 2)));
    Ok(())
}

async fn a_token_has_one_to_thirty_six_characters(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for token in [String::new(), "x".repeat(37)] {
        let request = counting(&table, &token);
        expect::invalid(bench.store.transact_write_items(request).await);
    }
    assert_eq!(table.get(row("1")).await?, None);
    let longest = format!("{:x<36}", bench.token());
    let request = counting(&table, &longest);
    bench.store.transact_write_items(request).await
}
