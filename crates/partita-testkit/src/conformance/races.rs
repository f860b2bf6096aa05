//! Several callers at once.

use futures::future::join_all;

use super::bench::Bench;
use super::topic;
use super::values::{With as _, condition, row, update};
use partita_store::error::{ErrorKind, StoreResult};
use partita_store::request::{PutItem, ReturnValues, TransactAction, UpdateItem};

topic! {"races":
    every_addition_counts,
    one_of_many_wins,
    a_transfer_neither_makes_nor_loses_anything,
}

const CALLERS: i64 = 16;

async fn every_addition_counts(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let change = || update("SET n = if_not_exists(n, 0) + 1");
    let add = || persist(|| table.update(row("1"), change()));
    for result in join_all((0..CALLERS).map(|_| add())).await {
        result?;
    }
    let expected = row("1").with("n", CALLERS);
    assert_eq!(table.get(row("1")).await?, Some(expected));
    Ok(())
}

async fn one_of_many_wins(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let claim = |caller: i64| {
        let request = PutItem {
            condition: Some(condition("attribute_not_exists(PK)")),
            ..table.putting(row("1").with("caller", caller))
        };
        persist(move || bench.store.put_item(request.clone(), ReturnValues::None))
    };
    let results = join_all((0..CALLERS).map(claim)).await;
    let winners: Vec<_> = (0..CALLERS)
        .zip(&results)
        .filter(|(_, result)| result.is_ok())
        .map(|(caller, _)| caller)
        .collect();
    let &[winner] = winners.as_slice() else {
        panic!("not one winner: {winners:?}");
    };
    for error in results.into_iter().filter_map(Result::err) {
        assert_eq!(error.kind(), ErrorKind::ConditionFailed);
    }
    let expected = row("1").with("caller", winner);
    assert_eq!(table.get(row("1")).await?, Some(expected));
    Ok(())
}

async fn a_transfer_neither_makes_nor_loses_anything(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    // Enough for half of the callers.
    table.put(row("from").with("n", CALLERS / 2)).await?;
    table.put(row("to").with("n", 0)).await?;
    let actions = || {
        let take = UpdateItem {
            condition: Some(condition("n > 0")),
            ..table.updating(row("from"), update("SET n = n - 1"))
        };
        let give = table.updating(row("to"), update("SET n = n + 1"));
        [take, give].map(TransactAction::Update).into()
    };
    let transfer = || persist(|| table.transact(actions()));
    let results = join_all((0..CALLERS).map(|_| transfer())).await;
    let carried_out = results.iter().filter(|result| result.is_ok()).count();
    assert_eq!(i64::try_from(carried_out), Ok(CALLERS / 2));
    for error in results.into_iter().filter_map(Result::err) {
        assert_eq!(error.kind(), ErrorKind::ConditionFailed);
    }
    assert_eq!(
        table.get(row("from")).await?,
        Some(row("from").with("n", 0))
    );
    let expected = row("to").with("n", CALLERS / 2);
    assert_eq!(table.get(row("to")).await?, Some(expected));
    Ok(())
}

/// Tries again while somebody else is faster, as Amazon lets one of two transactions fail.
async fn persist<T, F>(attempt: impl Fn() -> F) -> StoreResult<T>
where
    F: Future<Output = StoreResult<T>>,
{
    loop {
        match attempt().await {
            Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Retry) => {}
            result => return result,
        }
    }
}
