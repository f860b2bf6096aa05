use super::*;

fn begin(now_millis: i64, last: Option<i64>) -> KeptStream {
    let table = "notes".parse().unwrap();
    let key = KeySchema::strings("PK", "SK");
    let first = SequenceNumber(10);
    KeptStream::begin(table, StreamView::KeysOnly, key, now_millis, last, first)
}

/// Records 10 to 19, of which those below 15 are gone.
fn used() -> KeptStream {
    KeptStream {
        horizon: SequenceNumber(15),
        next: SequenceNumber(20),
        ..begin(0, None)
    }
}

fn position(stream: &KeptStream, start: ShardStart) -> StoreResult<u128> {
    let request = GetShardIterator {
        stream: stream.name.clone(),
        shard: stream.shard_id(),
        start,
    };
    let position = stream.position(&request, 5)?;
    assert_eq!((&position.stream, position.made_millis), (&stream.name, 5));
    Ok(position.next.0)
}

#[test]
fn no_label_is_given_twice() {
    let first = begin(1_000, None);
    assert_eq!(first.name.label, "1970-01-01T00:00:01.000");
    // The clock has not moved, is set back, goes on.
    for (now, label) in [
        (1_000, "1970-01-01T00:00:01.001"),
        (0, "1970-01-01T00:00:01.001"),
        (2_000, "1970-01-01T00:00:02.000"),
    ] {
        let second = begin(now, Some(first.created_millis));
        assert_eq!(second.name.label, label);
        assert_ne!(second.shard_id(), first.shard_id());
    }
}

#[test]
fn a_shard_has_a_name_of_dynamodbs_form_and_ends_with_its_stream() {
    let mut stream = used();
    assert_eq!(stream.shard_id(), "shardId-00000000000000000000-00000000");
    let (first, last) = (stream.shard().first, stream.shard().last);
    assert_eq!((first, last), (SequenceNumber(10), None));
    stream.ended_millis = Some(1);
    assert_eq!(stream.shard().last, Some(SequenceNumber(19)));
}

#[test]
fn a_start_is_a_number() {
    let stream = used();
    let at = |number| ShardStart::At(SequenceNumber(number));
    let after = |number| ShardStart::After(SequenceNumber(number));
    assert_eq!(position(&stream, ShardStart::TrimHorizon), Ok(15));
    assert_eq!(position(&stream, ShardStart::Latest), Ok(20));
    assert_eq!(position(&stream, at(15)), Ok(15));
    assert_eq!(position(&stream, at(19)), Ok(19));
    assert_eq!(position(&stream, after(19)), Ok(20));
}

#[test]
fn an_empty_shard_starts_at_and_after_its_own_first_number() {
    let mut stream = used();
    (stream.horizon, stream.next) = (stream.first, stream.first);
    let first = stream.first;
    assert_eq!(position(&stream, ShardStart::At(first)), Ok(first.0));
    assert_eq!(position(&stream, ShardStart::After(first)), Ok(first.0));
    let next = ShardStart::At(SequenceNumber(first.0 + 1));
    assert!(position(&stream, next).is_err());
}

#[test]
fn numbers_that_are_gone_differ_from_those_that_never_were() {
    let stream = used();
    let unknown = Err(StoreError::validation(
        "Invalid SequenceNumber for the shard",
    ));
    for (number, expected) in [
        (9, unknown.clone()),
        (10, Err(StoreError::RecordsTrimmed)),
        (14, Err(StoreError::RecordsTrimmed)),
        (20, unknown.clone()),
        (u128::MAX, unknown),
    ] {
        let number = SequenceNumber(number);
        assert_eq!(position(&stream, ShardStart::At(number)), expected);
        assert_eq!(position(&stream, ShardStart::After(number)), expected);
    }
}

#[test]
fn another_shard_is_not_found() {
    let stream = used();
    let request = GetShardIterator {
        stream: stream.name.clone(),
        shard: "shardId-00000000000000000001-00000000".to_owned(),
        start: ShardStart::Latest,
    };
    let error = stream.position(&request, 0).unwrap_err();
    assert!(matches!(error, StoreError::ShardNotFound { .. }), "{error}");
}

#[test]
fn a_stream_is_forgotten_a_day_after_its_end() {
    let mut stream = used();
    assert!(!stream.is_forgotten(i64::MAX));
    stream.ended_millis = Some(1_000);
    assert!(!stream.is_forgotten(0));
    assert!(!stream.is_forgotten(1_000 + RETENTION_MILLIS));
    assert!(stream.is_forgotten(1_001 + RETENTION_MILLIS));
}
