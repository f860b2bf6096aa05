//! Reading the changes of items.

use std::collections::HashMap;
use std::fmt::Display;

use aws_sdk_dynamodbstreams::types::{
    self, AttributeValue, KeyType, OperationType, ShardIteratorType, StreamStatus, StreamViewType,
};
use partita_core::Item;
use partita_store::stream::{
    DescribeStream, GetRecords, GetShardIterator, ListStreams, Records, SequenceNumber, Shard,
    ShardIterator, ShardStart, StreamDescription, StreamEvent, StreamName, StreamNames,
    StreamRecord, StreamView,
};
use partita_store::{StoreError, StoreResult};

use crate::arn;
use crate::connect::Clients;
use crate::convert::{Unreadable, from_attributes};
use crate::error::{Call, send};

/// Reads one page of the names of streams.
pub(crate) async fn list_streams(
    clients: &Clients,
    request: ListStreams,
) -> StoreResult<StreamNames> {
    let start = match &request.start_after {
        Some(stream) => Some(arn::of_stream(clients, stream).await?),
        None => None,
    };
    let call = Call::of_all_tables();
    let sent = clients
        .streams
        .list_streams()
        .set_table_name(request.table.map(String::from))
        .set_exclusive_start_stream_arn(start)
        .set_limit(request.limit.map(to_limit));
    let answer = send!(call, sent).map_err(|error| call.error(&error))?;
    let name = |arn: &str| arn::to_stream(arn).ok_or_else(|| unreadable("the name", arn));
    let names = answer
        .streams()
        .iter()
        .filter_map(|found| found.stream_arn());
    let last = answer.last_evaluated_stream_arn();
    Ok(StreamNames {
        names: names.map(name).collect::<StoreResult<_>>()?,
        last: last.map(name).transpose()?,
    })
}

/// Describes a stream.
pub(crate) async fn describe_stream(
    clients: &Clients,
    request: DescribeStream,
) -> StoreResult<StreamDescription> {
    let DescribeStream {
        stream,
        start_after,
        limit,
    } = request;
    let call = Call::of_all_tables();
    let sent = clients
        .streams
        .describe_stream()
        .stream_arn(arn::of_stream(clients, &stream).await?)
        .set_exclusive_start_shard_id(start_after)
        .set_limit(limit.map(to_limit));
    let answer = send!(call, sent).map_err(|error| match error.as_service_error() {
        Some(service) if service.is_resource_not_found_exception() => not_found(&stream),
        _ => call.error(&error),
    })?;
    let described = answer.stream_description;
    let described = described.ok_or_else(|| unreadable("the description", &stream))?;
    from_description(&stream, described)
}

fn from_description(
    stream: &StreamName,
    described: types::StreamDescription,
) -> StoreResult<StreamDescription> {
    let view = described.stream_view_type.as_ref().and_then(from_view);
    let created = described.creation_request_date_time;
    let created_millis = created.and_then(|time| time.to_millis().ok());
    let (partition, sort): (Vec<_>, Vec<_>) = described
        .key_schema
        .unwrap_or_default()
        .into_iter()
        .partition(|element| element.key_type == KeyType::Hash);
    let key = partition.into_iter().chain(sort);
    let shards = described.shards.unwrap_or_default().into_iter();
    Ok(StreamDescription {
        stream: stream.clone(),
        view: view.ok_or_else(|| unreadable("the view", stream))?,
        is_enabled: matches!(
            described.stream_status,
            Some(StreamStatus::Enabled | StreamStatus::Enabling)
        ),
        created_millis: created_millis.unwrap_or_default(),
        key: key.map(|element| element.attribute_name).collect(),
        shards: shards.map(from_shard).collect::<StoreResult<_>>()?,
        last: described.last_evaluated_shard_id,
    })
}

fn from_shard(shard: types::Shard) -> StoreResult<Shard> {
    let id = shard.shard_id.unwrap_or_default();
    let range = shard.sequence_number_range;
    let first = range
        .as_ref()
        .and_then(|range| range.starting_sequence_number());
    let last = range
        .as_ref()
        .and_then(|range| range.ending_sequence_number());
    Ok(Shard {
        first: from_number(first.ok_or_else(|| unreadable("the range", &id))?)?,
        last: last.map(from_number).transpose()?,
        parent: shard.parent_shard_id,
        id,
    })
}

/// Finds a place in a shard of a stream.
pub(crate) async fn get_shard_iterator(
    clients: &Clients,
    request: GetShardIterator,
) -> StoreResult<ShardIterator> {
    let GetShardIterator {
        stream,
        shard,
        start,
    } = request;
    let (kind, number) = match start {
        ShardStart::TrimHorizon => (ShardIteratorType::TrimHorizon, None),
        ShardStart::Latest => (ShardIteratorType::Latest, None),
        ShardStart::At(number) => (ShardIteratorType::AtSequenceNumber, Some(number)),
        ShardStart::After(number) => (ShardIteratorType::AfterSequenceNumber, Some(number)),
    };
    let call = Call::of_all_tables();
    let sent = clients
        .streams
        .get_shard_iterator()
        .stream_arn(arn::of_stream(clients, &stream).await?)
        .shard_id(&shard)
        .shard_iterator_type(kind)
        .set_sequence_number(number.map(|number| number.to_string()));
    let answer = match send!(call, sent) {
        Ok(answer) => answer,
        Err(error) => {
            let is_missing = error
                .as_service_error()
                .is_some_and(|service| service.is_resource_not_found_exception());
            return Err(if is_missing {
                missing(clients, stream, shard).await
            } else {
                call.error(&error)
            });
        }
    };
    let iterator = answer.shard_iterator;
    let iterator = iterator.ok_or_else(|| unreadable("an iterator", &stream))?;
    Ok(ShardIterator(iterator))
}

/// What is not there: the service says it of the stream and of the shard alike.
async fn missing(clients: &Clients, stream: StreamName, shard: String) -> StoreError {
    let request = DescribeStream {
        stream: stream.clone(),
        start_after: None,
        limit: None,
    };
    match describe_stream(clients, request).await {
        Ok(_) => StoreError::ShardNotFound { stream, shard },
        Err(error) => error,
    }
}

/// Reads the changes of a table's items.
pub(crate) async fn get_records(clients: &Clients, request: GetRecords) -> StoreResult<Records> {
    let ShardIterator(iterator) = request.iterator;
    let call = Call::of_all_tables();
    let sent = clients
        .streams
        .get_records()
        .shard_iterator(&iterator)
        .set_limit(request.limit.map(to_limit));
    let answer = send!(call, sent).map_err(|error| match error.as_service_error() {
        Some(service) if service.is_resource_not_found_exception() => {
            // The service's iterators begin with the name of their stream.
            let arn = iterator.split('|').next().and_then(arn::to_stream);
            arn.map_or_else(|| call.error(&error), |stream| not_found(&stream))
        }
        _ => call.error(&error),
    })?;
    let records = answer.records.unwrap_or_default().into_iter();
    Ok(Records {
        records: records.map(from_record).collect::<StoreResult<_>>()?,
        next: answer.next_shard_iterator.map(ShardIterator),
    })
}

fn from_record(record: types::Record) -> StoreResult<StreamRecord> {
    let event = record.event_name.as_ref().and_then(from_event);
    let identity = record.user_identity.as_ref();
    let is_expiry = identity.is_some_and(is_the_service);
    let change = record
        .dynamodb
        .ok_or_else(|| unreadable("a record", "it"))?;
    let number = change.sequence_number.unwrap_or_default();
    let view = change.stream_view_type.as_ref().and_then(from_view);
    let created = change.approximate_creation_date_time;
    let size = change
        .size_bytes
        .and_then(|bytes| usize::try_from(bytes).ok());
    Ok(StreamRecord {
        event: event.ok_or_else(|| unreadable("the event", &number))?,
        created_seconds: created.map(|time| time.secs()).unwrap_or_default(),
        key: from_image(change.keys)?.unwrap_or_default(),
        old: from_image(change.old_image)?,
        new: from_image(change.new_image)?,
        view: view.ok_or_else(|| unreadable("the view", &number))?,
        size_bytes: size.unwrap_or_default(),
        number: from_number(&number)?,
        is_expiry,
    })
}

/// Whether it is the service itself that deleted an item, because it had expired.
fn is_the_service(identity: &types::Identity) -> bool {
    identity.principal_id() == Some("dynamodb.amazonaws.com")
}

fn from_event(event: &OperationType) -> Option<StreamEvent> {
    match event {
        OperationType::Insert => Some(StreamEvent::Insert),
        OperationType::Modify => Some(StreamEvent::Modify),
        OperationType::Remove => Some(StreamEvent::Remove),
        _ => None,
    }
}

fn from_view(view: &StreamViewType) -> Option<StreamView> {
    match view {
        StreamViewType::KeysOnly => Some(StreamView::KeysOnly),
        StreamViewType::NewImage => Some(StreamView::NewImage),
        StreamViewType::OldImage => Some(StreamView::OldImage),
        StreamViewType::NewAndOldImages => Some(StreamView::NewAndOldImages),
        _ => None,
    }
}

fn from_number(text: &str) -> StoreResult<SequenceNumber> {
    let number = text.parse().map(SequenceNumber);
    number.map_err(|_| unreadable("a sequence number", text))
}

fn from_image(image: Option<HashMap<String, AttributeValue>>) -> StoreResult<Option<Item>> {
    let item = image.map(from_attributes).transpose();
    item.map_err(Unreadable::after_read)
}

/// A limit beyond what the protocol can say is beyond what is allowed.
fn to_limit(limit: usize) -> i32 {
    i32::try_from(limit).unwrap_or(i32::MAX)
}

fn not_found(stream: &StreamName) -> StoreError {
    let stream = stream.clone();
    StoreError::StreamNotFound { stream }
}

fn unreadable(what: &str, of: impl Display) -> StoreError {
    StoreError::Unavailable {
        message: format!("{what} of `{of}` cannot be read by this release"),
    }
}
