//! That records and iterators grow old, on a store whose clock a test sets.

use super::bench::Bench;
use super::expect;
use super::stream_records::{records_of, shards_of, starting, stream_of, streamed};
use super::values::row;
use partita_store::error::{StoreError, StoreResult};
use partita_store::request::TableChange;
use partita_store::store::Store;
use partita_store::stream::{GetRecords, ShardIterator, ShardStart, StreamName, StreamView};
use partita_store::surroundings::ManualClock;

const MINUTE_MILLIS: i64 = 60 * 1000;
const HOUR_MILLIS: i64 = 60 * MINUTE_MILLIS;

/// Panics unless a store forgets records after a day, and iterators after 15 minutes.
///
/// The store runs on `clock`; `sweep` makes it look for what is too old, and returns once that
/// is gone.
pub async fn streams_age(
    store: &dyn Store,
    clock: &ManualClock,
    sweep: impl AsyncFn(),
) -> StoreResult<()> {
    let bench = Bench::new(store, "streams-age".to_owned());
    clock.set(1_800_000_000_000);
    iterators_expire(&bench, clock).await?;
    records_are_trimmed(&bench, clock, &sweep).await?;
    streams_are_forgotten(&bench, clock, &sweep).await
}

async fn start(
    bench: &Bench<'_>,
    stream: &StreamName,
    start: ShardStart,
) -> StoreResult<ShardIterator> {
    let shards = shards_of(bench, stream).await?;
    let request = starting(stream, &shards[0], start);
    bench.store.0.get_shard_iterator(request).await
}

/// How many records are read.
async fn read(bench: &Bench<'_>, iterator: ShardIterator) -> StoreResult<usize> {
    let limit = None;
    let request = GetRecords { iterator, limit };
    let page = bench.store.0.get_records(request).await?;
    Ok(page.records.len())
}

async fn iterators_expire(bench: &Bench<'_>, clock: &ManualClock) -> StoreResult<()> {
    let table = streamed(bench, StreamView::KeysOnly).await?;
    table.put(row("1")).await?;
    let stream = stream_of(&table).await?;
    let iterator = start(bench, &stream, ShardStart::TrimHorizon).await?;
    clock.advance(15 * MINUTE_MILLIS);
    assert_eq!(read(bench, iterator.clone()).await?, 1);
    clock.advance(1);
    let late = read(bench, iterator).await;
    assert_eq!(late, Err(StoreError::IteratorExpired));
    Ok(())
}

async fn records_are_trimmed(
    bench: &Bench<'_>,
    clock: &ManualClock,
    sweep: impl AsyncFn(),
) -> StoreResult<()> {
    let table = streamed(bench, StreamView::KeysOnly).await?;
    table.put(row("old")).await?;
    clock.advance(12 * HOUR_MILLIS);
    table.put(row("young")).await?;
    let stream = stream_of(&table).await?;
    let records = records_of(bench, &stream).await?;
    let (old, young) = (records[0].number, records[1].number);

    clock.advance(12 * HOUR_MILLIS - MINUTE_MILLIS);
    sweep().await;
    assert_eq!(records_of(bench, &stream).await?, records);
    let at_old = start(bench, &stream, ShardStart::At(old)).await?;
    clock.advance(2 * MINUTE_MILLIS);
    sweep().await;
    assert_eq!(records_of(bench, &stream).await?, records[1..]);
    assert_eq!(read(bench, at_old).await, Err(StoreError::RecordsTrimmed));
    let again = start(bench, &stream, ShardStart::After(old)).await;
    assert_eq!(again, Err(StoreError::RecordsTrimmed));
    let at_young = start(bench, &stream, ShardStart::At(young)).await?;
    assert_eq!(read(bench, at_young).await?, 1);

    clock.advance(24 * HOUR_MILLIS);
    sweep().await;
    assert_eq!(records_of(bench, &stream).await?, []);
    table.put(row("new")).await?;
    assert_eq!(records_of(bench, &stream).await?.len(), 1);
    Ok(())
}

async fn streams_are_forgotten(
    bench: &Bench<'_>,
    clock: &ManualClock,
    sweep: impl AsyncFn(),
) -> StoreResult<()> {
    let table = streamed(bench, StreamView::KeysOnly).await?;
    table.put(row("1")).await?;
    let stream = stream_of(&table).await?;
    table.change(TableChange::Stream(None)).await?;
    clock.advance(24 * HOUR_MILLIS - MINUTE_MILLIS);
    sweep().await;
    assert_eq!(records_of(bench, &stream).await?.len(), 1);
    clock.advance(2 * MINUTE_MILLIS);
    sweep().await;
    expect::stream_not_found(records_of(bench, &stream).await);
    Ok(())
}
