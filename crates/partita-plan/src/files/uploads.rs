//! Uploads: asked for, sent once, and put in their place where no item will name them.

use partita_design::design::Prefix;
use partita_design::media_type;
use partita_store::request::{DeleteItem, PutItem, TransactAction};
use ulid::Ulid;

use super::record::{self, FileRecord, due_row, is_copy_of, is_open, key_of};
use super::{Placement, Taken, Upload, UploadLimits, invalid, names, put};
use crate::commit::Step;
use crate::error::{Fault, PlanError};
use crate::operation::Caller;
use crate::partita::Partita;

/// How long it takes until whoever began to make an object of an upload is known to be gone: longer
/// than that may take.
const BEGUN_MILLIS_MAX: i64 = 600_000;

/// Whether a client may send the bytes of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// It may.
    Begun,
    /// They have been sent already.
    Taken,
    /// It is no upload, or none any more.
    Gone,
}

impl Partita {
    /// Lets somebody upload a file of a type and size to a prefix, if its rule allows it.
    pub async fn allow_upload(
        &self,
        caller: &Caller,
        prefix: &str,
        media_type: &str,
        bytes: Option<u64>,
        limits: UploadLimits,
    ) -> Result<Upload, PlanError> {
        let design = &self.blueprint.design;
        let (bucket, prefix) =
            names::prefix(design, prefix).ok_or_else(|| PlanError::UnknownPrefix {
                name: prefix.to_owned(),
            })?;
        self.permit_upload(caller, &prefix.name)?;
        let largest = prefix.largest_bytes.unwrap_or(limits.bytes);
        let bytes_max = largest.min(limits.bytes);
        let media_type = acceptable(prefix, media_type, bytes, bytes_max)?;
        let now = self.clock.now_millis();
        let due_millis = now.saturating_add(names::staging_millis(bucket));
        let name = format!(
            "{}{}.{}",
            names::staging(bucket),
            self.new_name(now),
            media_type::ending(&media_type)
        );
        let record = FileRecord {
            prefix: prefix.name.clone(),
            media_type: media_type.clone(),
            bytes,
            caller: caller.id.clone(),
            due_millis: Some(due_millis),
            origin: Some(name.clone()),
            ..FileRecord::at(&bucket.name, &name)
        };
        self.record_upload(&record, due_millis, limits.open).await?;
        Ok(Upload {
            bucket: bucket.name.clone(),
            name,
            media_type,
            bytes,
            bytes_max,
            due_millis,
        })
    }

    /// Records an upload, in a slot of its caller. Whoever meets another in a slot takes another one.
    async fn record_upload(
        &self,
        record: &FileRecord,
        due_millis: i64,
        slots: usize,
    ) -> Result<(), PlanError> {
        let sidecar = &self.blueprint.sidecar;
        let mut attempts = self.runner.attempts();
        loop {
            let mut steps = self.take_slot(record, slots).await?;
            steps.extend([
                put(PutItem::new(sidecar.clone(), record.item())),
                put(PutItem::new(
                    sidecar.clone(),
                    due_row(&record.bucket, &record.name, due_millis),
                )),
            ]);
            match self.commit_files(steps).await {
                Err(error @ PlanError::Conflict) => attempts.again(error).await?,
                committed => return committed,
            }
        }
    }

    /// Whether a client may send the bytes of an upload now.
    pub async fn sending(&self, bucket: &str, name: &str) -> Result<Sending, PlanError> {
        let record = self.record(bucket, name).await?;
        Ok(self.sending_of(record.as_ref()))
    }

    fn sending_of(&self, record: Option<&FileRecord>) -> Sending {
        let now = self.clock.now_millis();
        let is_upload = |record: &&FileRecord| {
            let is_over = record.due_millis.is_none_or(|due| due <= now);
            !is_over && !record.is_owned() && !record.is_removing && record.copy_of.is_none()
        };
        let Some(record) = record.filter(is_upload) else {
            return Sending::Gone;
        };
        let since = record.receiving_since;
        let is_begun = since.is_some_and(|since| !is_stale(since, now));
        if record.received || is_begun {
            Sending::Taken
        } else {
            Sending::Begun
        }
    }

    /// Lets one client make an object of the bytes that it has sent: of several that send to one
    /// upload, one. It says how that ended with [`Partita::arrived`] or
    /// [`Partita::give_up_upload`]; if it does neither for some minutes, another one may.
    pub async fn begin_upload(&self, bucket: &str, name: &str) -> Result<Sending, PlanError> {
        let record = self.record(bucket, name).await?;
        let sending = self.sending_of(record.as_ref());
        let (Sending::Begun, Some(record)) = (sending, record) else {
            return Ok(sending);
        };
        let begun = FileRecord {
            receiving_since: Some(self.clock.now_millis()),
            ..record.clone()
        };
        match self.change_upload(&record, begun).await {
            Ok(()) => Ok(Sending::Begun),
            Err(PlanError::Conflict) => Ok(Sending::Taken),
            Err(error) => Err(error),
        }
    }

    /// Says that no object was made of the bytes of an upload: whoever has the URL may try again.
    pub async fn give_up_upload(&self, bucket: &str, name: &str) -> Result<(), PlanError> {
        let Some(record) = self.record(bucket, name).await? else {
            return Ok(());
        };
        let open = FileRecord {
            receiving_since: None,
            ..record.clone()
        };
        match self.change_upload(&record, open).await {
            Err(PlanError::Conflict) => Ok(()),
            changed => changed,
        }
    }

    /// Says that the bytes of an upload have come, and gives the name that an item is to be given.
    /// Where no item can name it, because its prefix has none, the object is moved to its place
    /// at once, and this is its name there.
    pub async fn arrived(&self, bucket: &str, name: &str) -> Result<String, PlanError> {
        let design = &self.blueprint.design;
        let gone = || invalid("file", "is no upload any more; ask for another");
        let (received, prefix) = loop {
            let record = self.record(bucket, name).await?.ok_or_else(gone)?;
            let found = names::prefix(design, &record.prefix);
            let (_, prefix) = found.ok_or_else(gone)?;
            if record.due_millis.is_none() || record.is_owned() {
                return Ok(record.name);
            }
            if record.is_removing {
                return Err(gone());
            }
            if record.received {
                break (record, prefix);
            }
            let received = FileRecord {
                received: true,
                receiving_since: None,
                ..record.clone()
            };
            match self.change_upload(&record, received.clone()).await {
                // Somebody who found the object has said so meanwhile, or it was swept.
                Err(PlanError::Conflict) => {}
                changed => {
                    changed?;
                    break (received, prefix);
                }
            }
        };
        if names::is_named(design, prefix) {
            Ok(received.name)
        } else {
            self.settle_upload(received, prefix).await
        }
    }

    /// Changes what is known of an upload that no item has taken over, if it is as it was read.
    async fn change_upload(&self, was: &FileRecord, is: FileRecord) -> Result<(), PlanError> {
        let condition = is_open(was.caller.as_deref()).and(record::is_sent_as(was));
        self.commit_files(vec![put(PutItem {
            condition: Some(condition),
            ..PutItem::new(self.blueprint.sidecar.clone(), is.item())
        })])
        .await
    }

    /// Moves an upload that no item will name to its place.
    async fn settle_upload(
        &self,
        record: FileRecord,
        prefix: &Prefix,
    ) -> Result<String, PlanError> {
        let bucket = record.bucket.clone();
        let path = names::path(prefix, &partita_core::Map::new());
        let path = path.map_err(|message| invalid("file", &message))?;
        let last = record.name.rsplit('/').next().unwrap_or_default();
        let placement = Placement {
            entity: None,
            attribute: "file".to_owned(),
            bucket: bucket.clone(),
            from: record.name.clone(),
            to: format!("{path}{last}"),
            what: Taken::Upload,
        };
        let placements = [placement];
        self.place(&placements).await?;
        let [placement] = placements;
        let due_millis = prefix.lifetime_seconds.map(|seconds| self.after(seconds));
        let sidecar = &self.blueprint.sidecar;
        let take = DeleteItem {
            table: sidecar.clone(),
            key: key_of(&bucket, &record.name),
            condition: Some(is_open(record.caller.as_deref())),
            return_item_on_failure: false,
        };
        let file = FileRecord {
            name: placement.to.clone(),
            due_millis,
            ..record
        };
        let is_copy = put(PutItem {
            condition: Some(is_copy_of(&placement.from)),
            ..PutItem::new(sidecar.clone(), file.item())
        });
        let mut steps = vec![Step::or_stale(TransactAction::Delete(take)), is_copy];
        if let Some(due) = due_millis {
            let row = due_row(&bucket, &file.name, due);
            steps.push(put(PutItem::new(sidecar.clone(), row)));
        }
        self.commit_files(steps).await?;
        self.unstage(std::slice::from_ref(&placement)).await;
        Ok(placement.to)
    }

    /// So many seconds from now, in milliseconds since 1970.
    fn after(&self, seconds: u64) -> i64 {
        let millis = i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
        self.clock.now_millis().saturating_add(millis)
    }

    fn new_name(&self, now_millis: i64) -> Ulid {
        let mut random = [0; 16];
        self.runner.entropy.fill(&mut random);
        let millis = u64::try_from(now_millis).unwrap_or(0);
        Ulid::from_parts(millis, u128::from_le_bytes(random))
    }
}

fn is_stale(since_millis: i64, now_millis: i64) -> bool {
    now_millis.saturating_sub(since_millis) > BEGUN_MILLIS_MAX
}

/// The type of an upload in its normal form, if the prefix takes it.
fn acceptable(
    prefix: &Prefix,
    media_type: &str,
    bytes: Option<u64>,
    bytes_max: u64,
) -> Result<String, PlanError> {
    let mut faults = Vec::new();
    let normal = media_type::normal(media_type);
    match &normal {
        None => faults.push(Fault::new(
            "contentType",
            "must be a type such as `image/png`",
        )),
        Some(kind) if !media_type::is_accepted(&prefix.accepts, kind) => {
            let accepted = prefix.accepts.join("` or `");
            let message = format!("must be `{accepted}` here");
            faults.push(Fault::new("contentType", message));
        }
        Some(_) => {}
    }
    if bytes.is_some_and(|bytes| bytes > bytes_max) {
        let message = format!("must be at most {bytes_max} bytes");
        faults.push(Fault::new("size", message));
    }
    crate::request::input::refuse(faults)?;
    Ok(normal.unwrap_or_default())
}
