//! That items go once they have expired, on a store whose clock a test sets.

use partita_core::{Item, Value};

use super::bench::{Bench, Table};
use super::stream_records::{records_of, stream_of, streamed};
use super::values::{With as _, global, indexed, keys, row};
use partita_store::error::StoreResult;
use partita_store::request::UpdateTimeToLive;
use partita_store::store::Store;
use partita_store::stream::{StreamEvent, StreamView};
use partita_store::surroundings::ManualClock;

/// The time at which the items are written.
const START_SECONDS: i64 = 1_800_000_000;
const HOUR_SECONDS: i64 = 3_600;

/// Panics unless a store removes what has expired and nothing else.
///
/// The store runs on `clock`; `sweep` makes it look for what has expired, and returns once that
/// is gone.
pub async fn items_expire(
    store: &dyn Store,
    clock: &ManualClock,
    sweep: impl AsyncFn(),
) -> StoreResult<()> {
    let bench = Bench::new(store, "items-expire".to_owned());
    clock.set(START_SECONDS * 1000);
    only_what_has_expired_goes(&bench, clock, &sweep).await?;
    indexes_follow(&bench, clock, &sweep).await?;
    what_is_written_anew_stays(&bench, clock, &sweep).await
}

async fn enable(bench: &Bench<'_>, table: &Table<'_>, on: bool) -> StoreResult<()> {
    let request = UpdateTimeToLive {
        table: table.name.clone(),
        attribute: "expires".to_owned(),
        is_enabled: on,
    };
    bench.store.0.update_time_to_live(request).await
}

/// An item that expires so many seconds after its writing.
fn expiring(sort: &str, seconds: i64) -> Item {
    row(sort).with("expires", START_SECONDS + seconds)
}

async fn only_what_has_expired_goes(
    bench: &Bench<'_>,
    clock: &ManualClock,
    sweep: impl AsyncFn(),
) -> StoreResult<()> {
    let table = streamed(bench, StreamView::OldImage).await?;
    let soon = expiring("soon", 10);
    let fraction = Value::N(
        format!("{}.5", START_SECONDS + 10)
            .parse()
            .expect("a number"),
    );
    let fraction = row("fraction").with("expires", fraction);
    let staying = [
        expiring("later", HOUR_SECONDS),
        row("never"),
        row("text").with("expires", (START_SECONDS + 10).to_string()),
        row("zero").with("expires", 0),
        expiring("past", -6 * 365 * 24 * HOUR_SECONDS),
        row("far").with("expires", Value::N("9E125".parse().expect("a number"))),
    ];
    for item in staying.iter().chain([&soon, &fraction]) {
        table.put(item.clone()).await?;
    }
    let written = staying.len() + 2;

    // Nothing expires that was not asked to, nor before its time.
    clock.advance(HOUR_SECONDS * 1000 / 2);
    sweep().await;
    clock.set((START_SECONDS + 10) * 1000);
    enable(bench, &table, true).await?;
    sweep().await;
    assert_eq!(table.query(keys("PK = 'p'")).await?.len(), written);

    clock.set((START_SECONDS + 15) * 1000);
    sweep().await;
    let mut expected: Vec<Item> = staying.into();
    expected.sort_by(|one, two| one["SK"].as_str().cmp(&two["SK"].as_str()));
    assert_eq!(table.query(keys("PK = 'p'")).await?, expected);

    let mut records = records_of(bench, &stream_of(&table).await?).await?;
    let records = records.split_off(written);
    let mut gone: Vec<_> = records.iter().map(|record| record.old.as_ref()).collect();
    gone.sort_by_key(|item| item.and_then(|item| item["SK"].as_str()));
    assert_eq!(gone, [Some(&fraction), Some(&soon)]);
    assert!(records.iter().all(|record| record.is_expiry));
    assert!(records.iter().all(|r| r.event == StreamEvent::Remove));

    // What a table no longer expires stays.
    enable(bench, &table, false).await?;
    clock.advance(2 * HOUR_SECONDS * 1000);
    sweep().await;
    assert_eq!(table.query(keys("PK = 'p'")).await?, expected);
    clock.set(START_SECONDS * 1000);
    Ok(())
}

async fn indexes_follow(
    bench: &Bench<'_>,
    clock: &ManualClock,
    sweep: impl AsyncFn(),
) -> StoreResult<()> {
    let schema = indexed([global("by_a", ["a"], [])]);
    let table = bench.table_with(schema).await?;
    enable(bench, &table, true).await?;
    table.put(expiring("1", 10).with("a", "x")).await?;
    table
        .put(expiring("2", HOUR_SECONDS).with("a", "x"))
        .await?;
    clock.advance(60_000);
    sweep().await;
    let entries = table.entries("by_a", keys("a = 'x'")).await?;
    assert_eq!(entries, [expiring("2", HOUR_SECONDS).with("a", "x")]);
    let described = table.describe().await?;
    assert_eq!(described.totals.items, 1);
    assert_eq!(described.index_totals["by_a"].items, 1);
    clock.set(START_SECONDS * 1000);
    Ok(())
}

async fn what_is_written_anew_stays(
    bench: &Bench<'_>,
    clock: &ManualClock,
    sweep: impl AsyncFn(),
) -> StoreResult<()> {
    let table = bench.table().await?;
    enable(bench, &table, true).await?;
    for item in [expiring("1", 10), expiring("2", 10), expiring("3", 10)] {
        table.put(item).await?;
    }
    table.put(expiring("1", HOUR_SECONDS)).await?;
    table.put(row("2")).await?;
    table.delete(row("3")).await?;
    clock.advance(60_000);
    sweep().await;
    let expected = [expiring("1", HOUR_SECONDS), row("2")];
    assert_eq!(table.query(keys("PK = 'p'")).await?, expected);
    clock.set(START_SECONDS * 1000);
    Ok(())
}
