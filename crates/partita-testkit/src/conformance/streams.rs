//! Streams: where reading them begins and ends, and which there are.

use super::bench::{Bench, Table};
use super::stream_records::{records_of, shards_of, starting, stream_of, streamed};
use super::values::row;
use super::{expect, topic};
use partita_store::error::{StoreError, StoreResult};
use partita_store::request::TableChange;
use partita_store::stream::{
    DescribeStream, GetRecords, ListStreams, Records, SequenceNumber, ShardIterator, ShardStart,
    StreamDescription, StreamName, StreamRecord, StreamView,
};

topic! {"streams":
    a_stream_is_described,
    a_table_without_a_stream_has_none,
    reading_begins_where_it_is_told,
    records_come_in_pages,
    a_reader_goes_on_where_it_was,
    the_newest_place_is_before_what_comes,
    numbers_that_never_were_are_refused,
    larger_numbers_are_refused,
    limits_are_checked,
    an_iterator_is_one_of_the_stores,
    what_is_not_there_is_not_found,
    a_stream_begins_and_ends_once,
    a_stream_that_has_ended_can_be_read,
    a_stream_begins_anew,
    a_stream_outlives_its_table,
    streams_are_listed_by_table,
    lists_come_in_pages,
}

const VIEW: StreamView = StreamView::NewAndOldImages;

async fn described(bench: &Bench<'_>, stream: &StreamName) -> StoreResult<StreamDescription> {
    let request = DescribeStream {
        stream: stream.clone(),
        start_after: None,
        limit: None,
    };
    bench.store.0.describe_stream(request).await
}

/// The iterator of a place in the only shard of a short-lived stream.
async fn iterator(
    bench: &Bench<'_>,
    stream: &StreamName,
    start: ShardStart,
) -> StoreResult<ShardIterator> {
    let shards = shards_of(bench, stream).await?;
    assert_eq!(shards.len(), 1);
    let request = starting(stream, &shards[0], start);
    bench.store.0.get_shard_iterator(request).await
}

async fn read(
    bench: &Bench<'_>,
    iterator: ShardIterator,
    limit: Option<usize>,
) -> StoreResult<Records> {
    let request = GetRecords { iterator, limit };
    bench.store.0.get_records(request).await
}

/// The sort keys of the records' items.
fn sorts(records: &[StreamRecord]) -> Vec<&str> {
    let sorts = records.iter().map(|record| record.key["SK"].as_str());
    sorts
        .map(|sort| sort.expect("rows have string keys"))
        .collect()
}

/// A stream of five inserts.
async fn five<'a>(bench: &Bench<'a>) -> StoreResult<(Table<'a>, StreamName, Vec<SequenceNumber>)> {
    let table = streamed(bench, VIEW).await?;
    for number in 0..5 {
        table.put(row(&number.to_string())).await?;
    }
    let stream = stream_of(&table).await?;
    let records = records_of(bench, &stream).await?;
    let numbers = records.iter().map(|record| record.number).collect();
    Ok((table, stream, numbers))
}

async fn a_stream_is_described(bench: &Bench<'_>) -> StoreResult<()> {
    let table = streamed(bench, StreamView::OldImage).await?;
    let stream = stream_of(&table).await?;
    let found = described(bench, &stream).await?;
    assert_eq!(found.stream, stream);
    assert_eq!(found.view, StreamView::OldImage);
    assert!(found.is_enabled && found.created_millis > 0);
    assert_eq!(found.key, ["PK", "SK"]);
    let [shard] = &found.shards[..] else {
        panic!("a new stream has one shard: {found:?}");
    };
    // Amazon's bounds, which its clients check.
    assert!((28..=65).contains(&shard.id.len()), "{}", shard.id);
    assert_eq!((&shard.parent, shard.last), (&None, None));
    let digits = shard.first.to_string().len();
    assert!((21..=40).contains(&digits), "{}", shard.first);
    Ok(())
}

async fn a_table_without_a_stream_has_none(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    assert_eq!(table.describe().await?.latest_stream, None);
    let request = ListStreams {
        table: Some(table.name.clone()),
        ..ListStreams::default()
    };
    let list = bench.store.0.list_streams(request).await?;
    assert_eq!((list.names, list.last), (vec![], None));
    Ok(())
}

async fn reading_begins_where_it_is_told(bench: &Bench<'_>) -> StoreResult<()> {
    let (_, stream, numbers) = five(bench).await?;
    for (start, expected) in [
        (ShardStart::TrimHorizon, &["0", "1", "2", "3", "4"][..]),
        (ShardStart::Latest, &[][..]),
        (ShardStart::At(numbers[0]), &["0", "1", "2", "3", "4"][..]),
        (ShardStart::At(numbers[3]), &["3", "4"][..]),
        (ShardStart::After(numbers[2]), &["3", "4"][..]),
        (ShardStart::After(numbers[4]), &[][..]),
    ] {
        let iterator = iterator(bench, &stream, start).await?;
        let records = read(bench, iterator, None).await?.records;
        assert_eq!(sorts(&records), expected, "{start:?}");
    }
    Ok(())
}

async fn records_come_in_pages(bench: &Bench<'_>) -> StoreResult<()> {
    let (_, stream, _) = five(bench).await?;
    let mut next = iterator(bench, &stream, ShardStart::TrimHorizon).await?;
    let mut found = Vec::new();
    for expected in [2, 2, 1, 0] {
        let page = read(bench, next, Some(2)).await?;
        assert_eq!(page.records.len(), expected);
        found.extend(page.records);
        next = page.next.expect("an open stream goes on");
    }
    assert_eq!(sorts(&found), ["0", "1", "2", "3", "4"]);
    Ok(())
}

async fn a_reader_goes_on_where_it_was(bench: &Bench<'_>) -> StoreResult<()> {
    let (table, stream, _) = five(bench).await?;
    let start = iterator(bench, &stream, ShardStart::TrimHorizon).await?;
    let first = read(bench, start.clone(), None).await?;
    let next = first.next.expect("an open stream goes on");
    table.put(row("5")).await?;
    let second = read(bench, next.clone(), None).await?;
    assert_eq!(sorts(&second.records), ["5"]);
    // An iterator can be used again, and gives the same records or more.
    table.put(row("6")).await?;
    let again = read(bench, next, None).await?;
    assert_eq!(sorts(&again.records), ["5", "6"]);
    assert_eq!(read(bench, start, Some(5)).await?.records, first.records);
    Ok(())
}

async fn the_newest_place_is_before_what_comes(bench: &Bench<'_>) -> StoreResult<()> {
    let (table, stream, _) = five(bench).await?;
    let latest = iterator(bench, &stream, ShardStart::Latest).await?;
    table.put(row("5")).await?;
    let found = read(bench, latest, None).await?;
    assert_eq!(sorts(&found.records), ["5"]);
    Ok(())
}

async fn numbers_that_never_were_are_refused(bench: &Bench<'_>) -> StoreResult<()> {
    let (_, stream, _) = five(bench).await?;
    let first = described(bench, &stream).await?.shards[0].first;
    let number = SequenceNumber(first.0 - 1);
    for start in [ShardStart::At(number), ShardStart::After(number)] {
        expect::invalid(iterator(bench, &stream, start).await);
    }
    Ok(())
}

async fn larger_numbers_are_refused(bench: &Bench<'_>) -> StoreResult<()> {
    let (_, stream, numbers) = five(bench).await?;
    let number = SequenceNumber(numbers[4].0 + 1_000_000);
    for start in [ShardStart::At(number), ShardStart::After(number)] {
        expect::invalid(iterator(bench, &stream, start).await);
    }
    Ok(())
}

async fn limits_are_checked(bench: &Bench<'_>) -> StoreResult<()> {
    let (_, stream, _) = five(bench).await?;
    let start = iterator(bench, &stream, ShardStart::TrimHorizon).await?;
    for limit in [0, 1_001] {
        expect::invalid(read(bench, start.clone(), Some(limit)).await);
    }
    assert_eq!(read(bench, start, Some(1_000)).await?.records.len(), 5);
    for limit in [0, 101] {
        let request = ListStreams {
            limit: Some(limit),
            ..ListStreams::default()
        };
        expect::invalid(bench.store.0.list_streams(request).await);
        let request = DescribeStream {
            stream: stream.clone(),
            start_after: None,
            limit: Some(limit),
        };
        expect::invalid(bench.store.0.describe_stream(request).await);
    }
    Ok(())
}

async fn an_iterator_is_one_of_the_stores(bench: &Bench<'_>) -> StoreResult<()> {
    for text in ["nonsense", "1|2|3", "|"] {
        let iterator = ShardIterator(text.to_owned());
        expect::invalid(read(bench, iterator, None).await);
    }
    Ok(())
}

async fn what_is_not_there_is_not_found(bench: &Bench<'_>) -> StoreResult<()> {
    let (_, stream, _) = five(bench).await?;
    let shard = "shardId-00000000000000000001-12345678";
    let request = starting(&stream, shard, ShardStart::Latest);
    let result = bench.store.0.get_shard_iterator(request).await;
    assert!(
        matches!(result, Err(StoreError::ShardNotFound { .. })),
        "{result:?}"
    );
    let missing = StreamName {
        label: "2020-01-31T10:15:00.000".to_owned(),
        ..stream
    };
    expect::stream_not_found(described(bench, &missing).await);
    let request = starting(&missing, shard, ShardStart::Latest);
    expect::stream_not_found(bench.store.0.get_shard_iterator(request).await);
    Ok(())
}

async fn a_stream_begins_and_ends_once(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let begin = || TableChange::Stream(Some(VIEW));
    expect::invalid(table.change(TableChange::Stream(None)).await);
    let updated = table.change(begin()).await?;
    assert_eq!(updated.settings.stream, Some(VIEW));
    assert!(updated.latest_stream.is_some());
    expect::invalid(table.change(begin()).await);
    let updated = table.change(TableChange::Stream(None)).await?;
    assert_eq!(updated.settings.stream, None);
    expect::invalid(table.change(TableChange::Stream(None)).await);
    Ok(())
}

async fn a_stream_that_has_ended_can_be_read(bench: &Bench<'_>) -> StoreResult<()> {
    let (table, stream, numbers) = five(bench).await?;
    table.change(TableChange::Stream(None)).await?;
    table.put(row("5")).await?;
    let found = described(bench, &stream).await?;
    assert!(!found.is_enabled);
    assert_eq!(found.shards[0].last, Some(numbers[4]));

    let start = iterator(bench, &stream, ShardStart::TrimHorizon).await?;
    let page = read(bench, start.clone(), Some(4)).await?;
    let rest = page.next.expect("there is one more");
    let end = read(bench, rest, None).await?;
    assert_eq!(sorts(&end.records), ["4"]);
    // It may take another page to notice.
    if let Some(next) = end.next {
        let page = read(bench, next, None).await?;
        assert_eq!((page.records, page.next), (vec![], None));
    }
    Ok(())
}

async fn a_stream_begins_anew(bench: &Bench<'_>) -> StoreResult<()> {
    let (table, old, _) = five(bench).await?;
    table.change(TableChange::Stream(None)).await?;
    let without = table.describe().await?;
    assert_eq!(without.latest_stream.as_ref(), Some(&old));
    table.put(row("untold")).await?;
    let begin = TableChange::Stream(Some(StreamView::KeysOnly));
    table.change(begin).await?;
    let new = stream_of(&table).await?;
    assert!(new.label > old.label, "{new} after {old}");
    table.put(row("told")).await?;
    let records = records_of(bench, &new).await?;
    assert_eq!(sorts(&records), ["told"]);
    let records = records_of(bench, &old).await?;
    assert_eq!(sorts(&records), ["0", "1", "2", "3", "4"]);
    Ok(())
}

async fn a_stream_outlives_its_table(bench: &Bench<'_>) -> StoreResult<()> {
    let (table, stream, _) = five(bench).await?;
    bench.store.delete_table(&table.name).await?;
    assert!(!described(bench, &stream).await?.is_enabled);
    let records = records_of(bench, &stream).await?;
    assert_eq!(sorts(&records), ["0", "1", "2", "3", "4"]);
    Ok(())
}

async fn streams_are_listed_by_table(bench: &Bench<'_>) -> StoreResult<()> {
    let (table, old, _) = five(bench).await?;
    table.change(TableChange::Stream(None)).await?;
    table.change(TableChange::Stream(Some(VIEW))).await?;
    let new = stream_of(&table).await?;
    let request = ListStreams {
        table: Some(table.name.clone()),
        ..ListStreams::default()
    };
    let mut names = bench.store.0.list_streams(request).await?.names;
    names.sort();
    assert_eq!(names, [old, new]);
    Ok(())
}

async fn lists_come_in_pages(bench: &Bench<'_>) -> StoreResult<()> {
    let mut expected = Vec::new();
    for _ in 0..3 {
        expected.push(stream_of(&streamed(bench, VIEW).await?).await?);
    }
    let mut request = ListStreams {
        limit: Some(2),
        ..ListStreams::default()
    };
    let mut found = Vec::new();
    loop {
        let page = bench.store.0.list_streams(request.clone()).await?;
        assert!(page.names.len() <= 2);
        found.extend(page.names);
        request.start_after = page.last;
        if request.start_after.is_none() {
            break;
        }
    }
    for name in expected {
        let times = found.iter().filter(|found| **found == name).count();
        assert_eq!(times, 1, "{name}");
    }
    Ok(())
}
