//! Bytes that come in: checked against what was signed, and in the store all or not at all.

use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::{HeaderMap, header};
use futures::StreamExt as _;
use object_store::MultipartUpload;
use partita_design::media_type;
use partita_plan::{Partita, PlanError, Sending};
use partita_store::StoreError;
use tokio::time::timeout;

use super::objects::BucketStore;
use super::sign::Signed;
use crate::problem::{Problem, ProblemKind};

/// Bytes of a part. S3 takes no smaller ones, except for the last.
const PART_BYTES: usize = 5 * 1_048_576;

/// What an upload holds in memory: a part that is sent on, and one that comes in.
pub(crate) const BYTES_HELD: usize = 2 * PART_BYTES;

/// For the next bytes of an upload, as many as these or the last.
const PAUSE_MAX: Duration = Duration::from_secs(30);
const PACE_BYTES_MIN: usize = 128 * 1024;

/// For all of them.
const TIME_MAX: Duration = Duration::from_secs(3_600);

/// What is read of a body that is refused, so that the client is still there for the answer.
const DRAINED_BYTES_MAX: usize = 4 * 1_048_576;
const DRAINED_TIME_MAX: Duration = Duration::from_secs(5);

/// For the store to put the parts together.
const COMPLETE_TIME_MAX: Duration = Duration::from_secs(300);

/// An upload whose bytes come in.
pub(super) struct Incoming<'a> {
    pub(super) partita: &'a Partita,
    pub(super) store: &'a BucketStore,
    pub(super) signed: &'a Signed,
    pub(super) name: &'a str,
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

impl Incoming<'_> {
    /// Receives an upload into the store; gives the name that an item is to be given.
    pub(super) async fn receive(&self, headers: &HeaderMap, body: Body) -> Result<String, Problem> {
        let mut bytes = body.into_data_stream();
        let received = self.take(headers, &mut bytes).await;
        if received.is_err() {
            let drained = timeout(DRAINED_TIME_MAX, drain(&mut bytes));
            // A client that is still sending does not read an answer yet.
            let _ = drained.await;
        }
        received
    }

    async fn take(
        &self,
        headers: &HeaderMap,
        bytes: &mut BodyDataStream,
    ) -> Result<String, Problem> {
        check_head(self.signed, headers)?;
        self.check_open().await?;
        demand_room(self.store)?;
        let begun = self.store.begin(self.name, &self.signed.media_type).await;
        let mut upload = begun.map_err(PlanError::from)?;
        let sent = send_parts(self.store, &mut *upload, self.signed, bytes);
        let sent = timeout(TIME_MAX, sent).await;
        let sent = sent.unwrap_or_else(|_| Err(Problem::too_slow(TIME_MAX.as_secs())));
        let done = match sent {
            Ok(()) => self.finish(&mut *upload).await,
            Err(problem) => Err(problem),
        };
        if done.is_err()
            && let Err(error) = upload.abort().await
        {
            let name = self.name;
            tracing::warn!(%error, name, "the parts of an upload that failed are left behind");
        }
        done?;
        let arrived = self.arrived().await;
        if let Err(problem) = &arrived
            && problem.kind == ProblemKind::Uploaded
        {
            // Its record was swept meanwhile, so nothing else would remove the object.
            self.store
                .remove(self.name)
                .await
                .map_err(PlanError::from)?;
        }
        arrived
    }

    /// Refuses what cannot be sent any more before a byte of it is read.
    async fn check_open(&self) -> Result<(), Problem> {
        let found = self.store.find(self.name).await;
        if found.map_err(PlanError::from)?.is_some() {
            // The request that sent it may have died before it recorded the arrival.
            let _ = self.arrived().await;
            return Err(Problem::uploaded_already());
        }
        let (bucket, name) = (&self.signed.bucket, self.name);
        refuse(self.partita.sending(bucket, name).await?)
    }

    /// Makes an object of what was received, unless another request has. After the claim no other
    /// request can; before it, a request that is cut off can be tried again.
    async fn finish(&self, upload: &mut dyn MultipartUpload) -> Result<(), Problem> {
        let (bucket, name) = (&self.signed.bucket, self.name);
        refuse(self.partita.begin_upload(bucket, name).await?)?;
        let completed = timeout(COMPLETE_TIME_MAX, upload.complete()).await;
        let failed = match completed {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => PlanError::from(self.store.failed(&error)).into(),
            Err(_) => Problem::too_slow(COMPLETE_TIME_MAX.as_secs()),
        };
        self.partita.give_up_upload(bucket, name).await?;
        Err(failed)
    }

    async fn arrived(&self) -> Result<String, Problem> {
        let arrived = self.partita.arrived(&self.signed.bucket, self.name).await;
        arrived.map_err(|refusal| match refusal {
            PlanError::Invalid { .. } => Problem::no_upload(),
            refusal => refusal.into(),
        })
    }
}

fn refuse(sending: Sending) -> Result<(), Problem> {
    match sending {
        Sending::Begun => Ok(()),
        Sending::Taken => Err(Problem::uploaded_already()),
        Sending::Gone => Err(Problem::no_upload()),
    }
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
        Some(length) if length > signed.size.largest() => Err(too_large(signed)),
        Some(length) => check_size(signed, length),
        None => Ok(()),
    }
}

/// A body has as many bytes as were announced.
fn check_size(signed: &Signed, bytes: u64) -> Result<(), Problem> {
    if signed.size.allows(bytes) {
        Ok(())
    } else {
        Err(Problem::wrong_size(bytes, signed.size.largest()))
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
        let before = part.len();
        let next = timeout(
            PAUSE_MAX,
            next_bytes(bytes, signed, &mut received, &mut part),
        )
        .await;
        next.map_err(|_| Problem::too_slow(PAUSE_MAX.as_secs()))??;
        if part.len() - before < PACE_BYTES_MIN {
            break;
        }
        if part.len() >= PART_BYTES {
            send_part(store, upload, std::mem::take(&mut part)).await?;
        }
    }
    check_size(signed, received)?;
    if !part.is_empty() || received == 0 {
        send_part(store, upload, part).await?;
    }
    Ok(())
}

/// Appends the next bytes of a body to a part: as many as have to come in time, or the last.
async fn next_bytes(
    bytes: &mut BodyDataStream,
    signed: &Signed,
    received: &mut u64,
    part: &mut Vec<u8>,
) -> Result<(), Problem> {
    let before = part.len();
    while part.len() - before < PACE_BYTES_MIN
        && let Some(chunk) = bytes.next().await
    {
        let chunk: Bytes =
            chunk.map_err(|_| Problem::bad_request("the body ends before its end"))?;
        *received = received.saturating_add(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
        if *received > signed.size.largest() {
            return Err(too_large(signed));
        }
        part.extend_from_slice(&chunk);
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
    Problem::too_large(usize::try_from(signed.size.largest()).unwrap_or(usize::MAX))
}
