use partita_core::Item;

use super::*;
use crate::stream::{ShardIterator, StreamEvent, StreamView};
use crate::table::KeySchema;

/// The numbers 1 to 3000, with gaps where a caller leaves them.
fn stream() -> KeptStream {
    let table = "notes".parse().unwrap();
    let key = KeySchema::strings("PK", "SK");
    let first = SequenceNumber(1);
    KeptStream {
        next: SequenceNumber(3_001),
        ..KeptStream::begin(table, StreamView::KeysOnly, key, 0, None, first)
    }
}

fn record(number: u128, size_bytes: usize) -> StreamRecord {
    StreamRecord {
        number: SequenceNumber(number),
        created_seconds: 0,
        event: StreamEvent::Insert,
        key: Item::new(),
        old: None,
        new: None,
        view: StreamView::KeysOnly,
        size_bytes,
        is_expiry: false,
    }
}

fn page(stream: &KeptStream, next: u128, limit: Option<usize>) -> StoreResult<RecordPage> {
    let position = Position {
        stream: stream.name.clone(),
        next: SequenceNumber(next),
        made_millis: 0,
    };
    let iterator = ShardIterator(String::new());
    RecordPage::new(stream, position, &GetRecords { iterator, limit })
}

/// How many records of such sizes a page takes, and where it goes on.
fn filled(limit: Option<usize>, sizes: impl Iterator<Item = usize>) -> (usize, Option<u128>) {
    let stream = stream();
    let mut page = page(&stream, 1, limit).unwrap();
    for (number, size) in (1..).zip(sizes) {
        if !page.push(record(number, size)) {
            break;
        }
    }
    let Records { records, next } = page.finish(&stream, 77);
    let next = next.map(|next| Position::of(&next, 77).unwrap());
    (records.len(), next.map(|position| position.next.0))
}

#[test]
fn a_page_has_a_thousand_records_a_megabyte_or_fewer() {
    let mib = 1_048_576;
    for (limit, size, expected) in [
        (None, 100, 1_000),
        (Some(3), 100, 3),
        (Some(1_000), 1_048, 1_000),
        (None, mib / 4, 4),
        (None, mib / 4 + 1, 3),
        (None, mib + 1, 1),
    ] {
        let sizes = std::iter::repeat_n(size, 2_000);
        let (count, next) = filled(limit, sizes);
        assert_eq!(count, expected, "{limit:?} of {size} bytes");
        assert_eq!(next, Some(count as u128 + 1));
    }
}

#[test]
fn limits_are_checked() {
    for limit in [0, 1_001] {
        assert!(page(&stream(), 1, Some(limit)).is_err(), "{limit}");
    }
}

#[test]
fn a_page_of_what_is_gone_is_refused() {
    let stream = KeptStream {
        horizon: SequenceNumber(5),
        ..stream()
    };
    let error = page(&stream, 4, None).unwrap_err();
    assert_eq!(error, StoreError::RecordsTrimmed);
    assert!(page(&stream, 5, None).is_ok());
}

#[test]
fn an_empty_page_goes_on_where_it_was_until_its_stream_has_ended() {
    let mut stream = stream();
    let read = |stream: &KeptStream, next| {
        let records = page(stream, next, None).unwrap().finish(stream, 0);
        records
            .next
            .map(|next| Position::of(&next, 0).unwrap().next.0)
    };
    assert_eq!(read(&stream, 3_001), Some(3_001));
    stream.ended_millis = Some(0);
    assert_eq!(read(&stream, 3_000), Some(3_000));
    assert_eq!(read(&stream, 3_001), None);
}

#[test]
fn the_shard_is_on_the_first_page_only() {
    let stream = stream();
    let shards = |start_after: Option<&str>| {
        let request = DescribeStream {
            stream: stream.name.clone(),
            start_after: start_after.map(str::to_owned),
            limit: None,
        };
        stream.describe(&request).unwrap().shards.len()
    };
    assert_eq!(shards(None), 1);
    assert_eq!(shards(Some(&stream.shard_id())), 0);
}

#[test]
fn names_come_by_table_and_in_pages() {
    let name = |table: &str, label: &str| StreamName {
        table: table.parse().unwrap(),
        label: label.to_owned(),
    };
    let names = [name("aaa", "1"), name("aaa", "2"), name("bbb", "1")];
    let list = |request: &ListStreams| request.page(names.iter().cloned()).unwrap();
    let all = list(&ListStreams::default());
    assert_eq!((&all.names[..], all.last), (&names[..], None));

    let mut request = ListStreams {
        table: Some("aaa".parse().unwrap()),
        limit: Some(1),
        ..ListStreams::default()
    };
    let first = list(&request);
    assert_eq!(first.names, names[..1]);
    assert_eq!(first.last.as_ref(), Some(&names[0]));
    request.start_after = first.last;
    let second = list(&request);
    assert_eq!((&second.names[..], second.last), (&names[1..2], None));

    for limit in [0, 101] {
        request.limit = Some(limit);
        assert!(request.page(names.iter().cloned()).is_err());
    }
}
