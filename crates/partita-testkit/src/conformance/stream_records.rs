//! The records of a stream: every change, once, in its order, and nothing else.

use partita_core::Item;
use partita_core::key::KeyType;

use super::bench::{Bench, Table};
use super::values::{With as _, bytes, condition, row, schema, update};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::request::{
    BatchWrite, BatchWriteItem, CreateTable, ItemAddress, ReturnValues, TableChange,
    TransactAction, TransactWriteItems,
};
use partita_store::stream::{
    DescribeStream, GetRecords, GetShardIterator, ShardStart, StreamEvent, StreamName,
    StreamRecord, StreamView,
};
use partita_store::table::KeySchema;

topic! {"stream_records":
    changes_are_told_with_both_images,
    changes_are_told_with_the_new_image,
    changes_are_told_with_the_old_image,
    changes_are_told_with_keys_only,
    a_write_that_changes_nothing_is_silent,
    a_refused_write_is_silent,
    a_transaction_is_told_item_by_item,
    a_repeated_transaction_is_told_once,
    a_batch_is_told_item_by_item,
    numbers_rise_and_do_not_change,
    keys_of_any_type_are_told,
    what_was_before_the_stream_is_not_told,
    streams_do_not_share_records,
}

/// A fresh table with a stream.
pub(super) async fn streamed<'a>(bench: &Bench<'a>, view: StreamView) -> StoreResult<Table<'a>> {
    let stream = |request: &mut CreateTable| request.settings.stream = Some(view);
    bench.table_as(stream, KeySchema::strings("PK", "SK")).await
}

/// The stream that a table has.
pub(super) async fn stream_of(table: &Table<'_>) -> StoreResult<StreamName> {
    let stream = table.describe().await?.latest_stream;
    Ok(stream.expect("the table has a stream"))
}

/// The iterator of a place in the stream's first shard.
pub(super) fn starting(stream: &StreamName, shard: &str, start: ShardStart) -> GetShardIterator {
    GetShardIterator {
        stream: stream.clone(),
        shard: shard.to_owned(),
        start,
    }
}

/// The names of a stream's shards.
pub(super) async fn shards_of(bench: &Bench<'_>, stream: &StreamName) -> StoreResult<Vec<String>> {
    let request = DescribeStream {
        stream: stream.clone(),
        start_after: None,
        limit: None,
    };
    let described = bench.store.0.describe_stream(request).await?;
    Ok(described.shards.into_iter().map(|shard| shard.id).collect())
}

/// All records of a stream, read to where it ends or has no more yet.
pub(super) async fn records_of(
    bench: &Bench<'_>,
    stream: &StreamName,
) -> StoreResult<Vec<StreamRecord>> {
    let mut records = Vec::new();
    for shard in shards_of(bench, stream).await? {
        let start = starting(stream, &shard, ShardStart::TrimHorizon);
        let mut next = Some(bench.store.0.get_shard_iterator(start).await?);
        while let Some(iterator) = next {
            let limit = None;
            let request = GetRecords { iterator, limit };
            let page = bench.store.0.get_records(request).await?;
            next = page.next.filter(|_| !page.records.is_empty());
            records.extend(page.records);
        }
    }
    Ok(records)
}

/// All records of a table's stream.
async fn told(bench: &Bench<'_>, table: &Table<'_>) -> StoreResult<Vec<StreamRecord>> {
    records_of(bench, &stream_of(table).await?).await
}

/// The events of a table's stream, with the sort keys of their items.
async fn events(bench: &Bench<'_>, table: &Table<'_>) -> StoreResult<Vec<(StreamEvent, String)>> {
    let sort = |record: &StreamRecord| {
        let sort = record.key["SK"].as_str();
        sort.expect("rows have string keys").to_owned()
    };
    let records = told(bench, table).await?;
    Ok(records.iter().map(|r| (r.event, sort(r))).collect())
}

fn event(event: StreamEvent, sort: &str) -> (StreamEvent, String) {
    (event, sort.to_owned())
}

/// Writes, changes and deletes an item, and finds its records as the view has them.
async fn check_view(bench: &Bench<'_>, view: StreamView, old: bool, new: bool) -> StoreResult<()> {
    let table = streamed(bench, view).await?;
    let first = row("1").with("a", 1).with("b", "x");
    let second = row("1").with("a", 2).with("b", "x");
    table.put(first.clone()).await?;
    table.update(row("1"), update("SET a = 2")).await?;
    table.delete(row("1")).await?;

    let records = told(bench, &table).await?;
    let expected = [
        (StreamEvent::Insert, None, Some(first.clone())),
        (StreamEvent::Modify, Some(first), Some(second.clone())),
        (StreamEvent::Remove, Some(second), None),
    ];
    assert_eq!(records.len(), expected.len(), "{records:?}");
    for (record, (event, before, after)) in records.into_iter().zip(expected) {
        let (before, after) = (before.filter(|_| old), after.filter(|_| new));
        // Six bytes of the key, and eleven of an image, the key among them.
        let images = before.iter().chain(&after).count();
        assert_eq!(record.size_bytes, 6 + images * 11);
        assert_eq!(record.event, event);
        assert_eq!(record.key, row("1"));
        assert_eq!((record.old, record.new), (before, after));
        assert_eq!((record.view, record.is_expiry), (view, false));
        assert!(record.created_seconds >= 0);
    }
    Ok(())
}

async fn changes_are_told_with_both_images(bench: &Bench<'_>) -> StoreResult<()> {
    check_view(bench, StreamView::NewAndOldImages, true, true).await
}

async fn changes_are_told_with_the_new_image(bench: &Bench<'_>) -> StoreResult<()> {
    check_view(bench, StreamView::NewImage, false, true).await
}

async fn changes_are_told_with_the_old_image(bench: &Bench<'_>) -> StoreResult<()> {
    check_view(bench, StreamView::OldImage, true, false).await
}

async fn changes_are_told_with_keys_only(bench: &Bench<'_>) -> StoreResult<()> {
    check_view(bench, StreamView::KeysOnly, false, false).await
}

async fn a_write_that_changes_nothing_is_silent(bench: &Bench<'_>) -> StoreResult<()> {
    let table = streamed(bench, StreamView::KeysOnly).await?;
    let item = row("1").with("a", 1);
    table.put(item.clone()).await?;
    table.put(item).await?;
    table.update(row("1"), update("SET a = 1")).await?;
    table.update(row("1"), update("REMOVE missing")).await?;
    table.delete(row("missing")).await?;
    let check = table.checking(row("1"), condition("a = 1"));
    table.transact(vec![TransactAction::Check(check)]).await?;
    table.put(row("2")).await?;
    let expected = [
        event(StreamEvent::Insert, "1"),
        event(StreamEvent::Insert, "2"),
    ];
    assert_eq!(events(bench, &table).await?, expected);
    Ok(())
}

async fn a_refused_write_is_silent(bench: &Bench<'_>) -> StoreResult<()> {
    let table = streamed(bench, StreamView::KeysOnly).await?;
    let mut put = table.putting(row("1"));
    put.condition = Some(condition("attribute_exists(PK)"));
    let none = ReturnValues::None;
    expect::condition_failed(bench.store.put_item(put.clone(), none).await);
    let fine = TransactAction::Put(table.putting(row("2")));
    let actions = vec![fine, TransactAction::Put(put)];
    expect::cancelled(table.transact(actions).await);
    assert_eq!(events(bench, &table).await?, []);
    Ok(())
}

/// Events in the order of their items: a transaction's have no other.
fn sorted(mut events: Vec<(StreamEvent, String)>) -> Vec<(StreamEvent, String)> {
    events.sort_by(|one, two| one.1.cmp(&two.1));
    events
}

async fn a_transaction_is_told_item_by_item(bench: &Bench<'_>) -> StoreResult<()> {
    let table = streamed(bench, StreamView::NewAndOldImages).await?;
    table.put(row("1").with("a", 1)).await?;
    table.put(row("2")).await?;
    let before = told(bench, &table).await?.len();
    let actions = vec![
        TransactAction::Update(table.updating(row("1"), update("SET a = 2"))),
        TransactAction::Delete(table.deleting(row("2"))),
        TransactAction::Put(table.putting(row("3"))),
        TransactAction::Check(table.checking(row("4"), condition("attribute_not_exists(PK)"))),
    ];
    table.transact(actions).await?;
    let expected = [
        event(StreamEvent::Modify, "1"),
        event(StreamEvent::Remove, "2"),
        event(StreamEvent::Insert, "3"),
    ];
    let found = events(bench, &table).await?.split_off(before);
    assert_eq!(sorted(found), expected);
    Ok(())
}

async fn a_repeated_transaction_is_told_once(bench: &Bench<'_>) -> StoreResult<()> {
    let table = streamed(bench, StreamView::KeysOnly).await?;
    let add = update("SET n = if_not_exists(n, 0) + 1");
    let request = TransactWriteItems {
        actions: vec![TransactAction::Update(table.updating(row("1"), add))],
        token: Some(bench.token()),
    };
    bench.store.transact_write_items(request.clone()).await?;
    bench.store.transact_write_items(request).await?;
    let expected = [event(StreamEvent::Insert, "1")];
    assert_eq!(events(bench, &table).await?, expected);
    Ok(())
}

async fn a_batch_is_told_item_by_item(bench: &Bench<'_>) -> StoreResult<()> {
    let table = streamed(bench, StreamView::KeysOnly).await?;
    table.put(row("1")).await?;
    table.put(row("2")).await?;
    let put = |item: Item| BatchWrite::Put {
        table: table.name.clone(),
        item,
    };
    let delete = |sort: &str| {
        BatchWrite::Delete(ItemAddress {
            table: table.name.clone(),
            key: row(sort),
        })
    };
    let writes = vec![
        put(row("1").with("a", 1)),
        delete("2"),
        put(row("3")),
        delete("4"),
    ];
    let request = BatchWriteItem { writes };
    assert_eq!(bench.store.batch_write_item(request).await?, []);
    let expected = [
        event(StreamEvent::Modify, "1"),
        event(StreamEvent::Remove, "2"),
        event(StreamEvent::Insert, "3"),
    ];
    let found = events(bench, &table).await?.split_off(2);
    assert_eq!(sorted(found), expected);
    Ok(())
}

async fn numbers_rise_and_do_not_change(bench: &Bench<'_>) -> StoreResult<()> {
    let table = streamed(bench, StreamView::KeysOnly).await?;
    for number in 0..5 {
        table.put(row(&number.to_string())).await?;
    }
    let records = told(bench, &table).await?;
    let numbers: Vec<_> = records.iter().map(|record| record.number).collect();
    assert_eq!(numbers.len(), 5);
    assert!(numbers.is_sorted_by(|one, two| one < two), "{numbers:?}");
    table.put(row("5")).await?;
    let again = told(bench, &table).await?;
    assert_eq!(again[..5], records);
    assert!(again[5].number > records[4].number);
    Ok(())
}

async fn keys_of_any_type_are_told(bench: &Bench<'_>) -> StoreResult<()> {
    let stream = |request: &mut CreateTable| {
        request.settings.stream = Some(StreamView::KeysOnly);
    };
    let schema = schema(KeyType::N, Some(KeyType::B));
    let table = bench.table_as(stream, schema).await?;
    let key = Item::new().with("PK", 1).with("SK", bytes([0, 255]));
    table.put(key.clone().with("a", 1)).await?;
    let records = told(bench, &table).await?;
    let keys: Vec<_> = records.into_iter().map(|record| record.key).collect();
    assert_eq!(keys, [key]);
    Ok(())
}

async fn what_was_before_the_stream_is_not_told(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(row("1").with("a", 1)).await?;
    let view = StreamView::NewAndOldImages;
    let begin = TableChange::Stream(Some(view));
    table.change(begin).await?;
    table.put(row("2")).await?;
    table.put(row("1").with("a", 2)).await?;
    let expected = [
        event(StreamEvent::Insert, "2"),
        event(StreamEvent::Modify, "1"),
    ];
    assert_eq!(events(bench, &table).await?, expected);
    Ok(())
}

async fn streams_do_not_share_records(bench: &Bench<'_>) -> StoreResult<()> {
    let one = streamed(bench, StreamView::KeysOnly).await?;
    let two = streamed(bench, StreamView::KeysOnly).await?;
    one.put(row("1")).await?;
    two.put(row("2")).await?;
    assert_eq!(
        events(bench, &one).await?,
        [event(StreamEvent::Insert, "1")]
    );
    assert_eq!(
        events(bench, &two).await?,
        [event(StreamEvent::Insert, "2")]
    );
    Ok(())
}
