//! Bytes that come in: checked against what was signed, and in the store all or not at all.

use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::{HeaderMap, header};
use futures::StreamExt as _;
use object_store::MultipartUpload;
use partita_design::media_type;
use partita_plan::PlanError;
use partita_store::StoreError;
use tokio::time::timeout;

use super::objects::BucketStore;
use super::sign::Signed;
use crate::problem::Problem;

/// Bytes of a part. S3 takes no smaller ones, except for the last.
const PART_BYTES: usize = 5 * 1_048_576;

/// What an upload holds in memory: a part that is sent on, and one that comes in.
pub(crate) const BYTES_HELD: usize = 2 * PART_BYTES;

/// For the next bytes of an upload, however few.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// For all of them.
const TIME_MAX: Duration = Duration::from_secs(3_600);

/// What is read of a body that is refused, so that the client is still there for the answer.
const DRAINED_BYTES_MAX: usize = 4 * 1_048_576;
const DRAINED_TIME_MAX: Duration = Duration::from_secs(5);

/// Receives an upload into the store.
pub(super) async fn receive(
    store: &BucketStore,
    signed: &Signed,
    name: &str,
    headers: &HeaderMap,
    body: Body,
) -> Result<(), Problem> {
    let mut bytes = body.into_data_stream();
    let received = take(store, signed, name, headers, &mut bytes).await;
    if received.is_err() {
        let drained = timeout(DRAINED_TIME_MAX, drain(&mut bytes));
        // Whoever is still sending then does not wait for an answer.
        let _ = drained.await;
    }
    received
}

async fn drain(bytes: &mut BodyDataStream) {
    let mut drained = 0;
    while let Some(Ok(chunk)) = bytes.next().await {
        drained += chunk.len();
        if drained > DRAINED_BYTES_MAX {
            return;
        }
    }
}

async fn take(
    store: &BucketStore,
    signed: &Signed,
    name: &str,
    headers: &HeaderMap,
    bytes: &mut BodyDataStream,
) -> Result<(), Problem> {
    check_head(signed, headers)?;
    if store.find(name).await.map_err(PlanError::from)?.is_some() {
        return Err(Problem::uploaded_already());
    }
    demand_room(store)?;
    let begun = store.begin(name, &signed.media_type).await;
    let mut upload = begun.map_err(PlanError::from)?;
    let sent = timeout(TIME_MAX, send_parts(store, &mut *upload, signed, bytes)).await;
    let sent = sent.unwrap_or_else(|_| Err(Problem::too_slow(TIME_MAX.as_secs())));
    let done = match sent {
        Ok(()) => {
            let completed = upload.complete().await;
            let completed = completed.map_err(|error| store.failed(&error));
            completed
                .map(drop)
                .map_err(|error| PlanError::from(error).into())
        }
        Err(problem) => Err(problem),
    };
    if done.is_err()
        && let Err(error) = upload.abort().await
    {
        tracing::warn!(%error, name, "the parts of an upload that failed are left behind");
    }
    done
}

/// What the headers say must be what was signed.
fn check_head(signed: &Signed, headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let media_type = text(header::CONTENT_TYPE).and_then(media_type::normal);
    if media_type.as_deref() != Some(signed.media_type.as_str()) {
        return Err(Problem::wrong_type(&signed.media_type));
    }
    let length = text(header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    match length {
        Some(length) if length > signed.bytes_max => Err(too_large(signed)),
        _ => Ok(()),
    }
}

/// Sends the body on in parts, one after the other: what is read waits for what is written.
async fn send_parts(
    store: &BucketStore,
    upload: &mut dyn MultipartUpload,
    signed: &Signed,
    bytes: &mut BodyDataStream,
) -> Result<(), Problem> {
    let mut part = Vec::new();
    let mut received: u64 = 0;
    loop {
        let next = timeout(PAUSE_MAX, bytes.next()).await;
        let next = next.map_err(|_| Problem::too_slow(PAUSE_MAX.as_secs()))?;
        let Some(chunk) = next else {
            break;
        };
        let chunk: Bytes =
            chunk.map_err(|_| Problem::bad_request("the body ends before its end"))?;
        received = received.saturating_add(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
        if received > signed.bytes_max {
            return Err(too_large(signed));
        }
        part.extend_from_slice(&chunk);
        if part.len() >= PART_BYTES {
            send_part(store, upload, std::mem::take(&mut part)).await?;
        }
    }
    if !part.is_empty() || received == 0 {
        send_part(store, upload, part).await?;
    }
    Ok(())
}

async fn send_part(
    store: &BucketStore,
    upload: &mut dyn MultipartUpload,
    part: Vec<u8>,
) -> Result<(), Problem> {
    demand_room(store)?;
    let sent = upload.put_part(Bytes::from(part).into()).await;
    sent.map_err(|error| PlanError::from(store.failed(&error)).into())
}

/// Refuses bytes for which the disk has no room, before they take what the storage needs.
fn demand_room(store: &BucketStore) -> Result<(), Problem> {
    if store.has_room() {
        return Ok(());
    }
    let message = "there is no room for files".to_owned();
    Err(PlanError::from(StoreError::DiskFull { message }).into())
}

fn too_large(signed: &Signed) -> Problem {
    Problem::too_large(usize::try_from(signed.bytes_max).unwrap_or(usize::MAX))
}
