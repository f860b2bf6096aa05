//! Files: what is known of the objects in a design's buckets, and who may have them.
//!
//! Whoever implements [`Objects`] keeps the bytes. What is known about them stands in the sidecar
//! table and changes with the items that name them, in their transactions:
//!
//! | partition | sort | what it is |
//! |---|---|---|
//! | `FILE#`, a bucket, `#` and a name | `FILE` | an object: its type, who uploaded it, which item names it, when it is to be removed |
//! | `FILE#DUE` | a time, a bucket and a name | that somebody has to look at this object then |
//! | `FILE#SLOT#` and a caller | a number | an upload of the caller that no item has taken over, or had not; it expires |
//!
//! An object comes and goes like this:
//!
//! 1. [`Partita::allow_upload`] records an upload under a name of the bucket's temporary prefix, with the
//!    time when it is to be removed. Then the bytes come.
//! 2. An item is written that names the upload. The plan gives it the name that the design says;
//!    the object is copied there; the transaction that writes the item also turns the record of
//!    the upload into the record of the file, with the item as its owner. Last, the upload is
//!    removed.
//! 3. The item is deleted, or names another file: its transaction says that the object is to be
//!    removed, and then it is.
//!
//! Before anything is copied, the sidecar says that the copy is due to be looked at. So a process
//! that dies at any point leaves an item whose object is there, or an object that
//! [`Partita::sweep_files`] finds and removes; never an item that names nothing, and never an
//! object that nobody knows of.
//!
//! A file has one owner. Whoever knows the name of somebody else's file gains nothing by writing
//! it into an item: only an upload of one's own can be named.

pub(crate) mod names;
mod record;
mod slots;
mod sweep;

use async_trait::async_trait;
use partita_core::expression::Condition;
use partita_design::design::{Prefix, Rule};
use partita_design::media_type;
use partita_store::request::{DeleteItem, PutItem, TransactAction};
use ulid::Ulid;

use crate::draft::Refusal;
use crate::error::{Fault, FaultRule, PlanError};
use crate::operation::{Answer, Caller};
use crate::partita::Partita;
use crate::planner::request::On;
use crate::planner::{Step, WritePlan};
use crate::run::Committed;

pub use names::{staging, write_rule};
pub(crate) use record::{
    Owner, Record, address, due_row, is_copy_of, is_open, is_owned_by, key_of,
};
pub use sweep::Swept;

/// How long a copy may stand before somebody looks whether its item was written: far longer than
/// a write takes.
const COPY_MILLIS: i64 = 3_600_000;

/// How much time an upload must have left when an item takes it over, so that nobody sweeps it
/// away meanwhile.
pub(crate) const MARGIN_MILLIS: i64 = 60_000;

/// Keeps the bytes of objects.
#[async_trait]
pub trait Objects: Send + Sync {
    /// Copies an object to another name in its bucket, over whatever is there; says whether there
    /// was one to copy. When this returns, the copy is whole and stays.
    async fn copy(&self, bucket: &str, from: &str, to: &str) -> Result<bool, ObjectsError>;

    /// Removes an object; one that is not there is no error.
    async fn remove(&self, bucket: &str, name: &str) -> Result<(), ObjectsError>;
}

/// The place where objects are kept does not answer as it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the objects of `{bucket}` cannot be reached: {message}")]
pub struct ObjectsError {
    /// The bucket.
    pub bucket: String,
    /// What went wrong.
    pub message: String,
}

impl From<ObjectsError> for PlanError {
    fn from(error: ObjectsError) -> Self {
        PlanError::Objects(error)
    }
}

/// What a caller is granted, beside what the design says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UploadLimits {
    /// Bytes of an upload. A prefix may take less.
    pub bytes: u64,
    /// Uploads of one caller that no item has taken over yet.
    pub open: usize,
}

/// Bytes that somebody may upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// The bucket.
    pub bucket: String,
    /// The name that the object has until an item takes it over, and that the item is given.
    pub name: String,
    /// Its type.
    pub media_type: String,
    /// How many bytes it may have.
    pub bytes_max: u64,
    /// When it is removed, in milliseconds since 1970, if no item has taken it over by then.
    pub due_millis: i64,
}

/// An object that a caller may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readable {
    /// The bucket.
    pub bucket: String,
    /// The name of the object.
    pub name: String,
    /// Its type.
    pub media_type: String,
    /// For how long it may be read without asking again.
    pub seconds: u64,
}

/// An upload that a write takes over.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placement {
    /// The attribute that names it.
    pub(crate) attribute: String,
    pub(crate) bucket: String,
    pub(crate) from: String,
    pub(crate) to: String,
}

impl Placement {
    /// Whether the object stays where it was uploaded.
    pub(crate) fn stays(&self) -> bool {
        self.from == self.to
    }
}

impl Partita {
    /// Keeps the files of the design here: from now on an item can only name what was uploaded.
    #[must_use]
    pub fn with_objects(mut self, objects: std::sync::Arc<dyn Objects>) -> Self {
        self.blueprint.keeps_files = true;
        self.objects = Some(objects);
        self
    }

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
        let record = Record {
            bucket: bucket.name.clone(),
            name: name.clone(),
            prefix: prefix.name.clone(),
            media_type: media_type.clone(),
            caller: caller.id.clone(),
            owner: None,
            due_millis: Some(due_millis),
            is_removing: false,
            copy_of: None,
        };
        self.record_upload(&record, due_millis, limits.open).await?;
        Ok(Upload {
            bucket: bucket.name.clone(),
            name,
            media_type,
            bytes_max,
            due_millis,
        })
    }

    /// Refuses whoever may not upload to a prefix. Nothing of the upload has to be known for that.
    pub fn permit_upload(&self, caller: &Caller, prefix: &str) -> Result<(), PlanError> {
        let design = &self.blueprint.design;
        let Some((_, prefix)) = names::prefix(design, prefix) else {
            let name = prefix.to_owned();
            return Err(PlanError::UnknownPrefix { name });
        };
        let rule = names::write_rule(design, prefix);
        permit(caller, &rule, "upload to", &prefix.name)
    }

    /// Records an upload, in a slot of its caller. Whoever meets another in a slot takes another one.
    async fn record_upload(
        &self,
        record: &Record,
        due_millis: i64,
        slots: usize,
    ) -> Result<(), PlanError> {
        let sidecar = &self.blueprint.sidecar;
        let mut last = PlanError::Conflict;
        for attempt in 0..self.runner.patience.attempts {
            let mut steps = self.take_slot(record, slots).await?;
            steps.extend([
                put(PutItem::new(sidecar.clone(), record.item())),
                put(PutItem::new(
                    sidecar.clone(),
                    due_row(&record.bucket, &record.name, due_millis),
                )),
            ]);
            match self.commit_files(steps).await {
                Err(error @ PlanError::Conflict) => last = error,
                committed => return committed,
            }
            self.runner.pause(attempt).await;
        }
        Err(last)
    }

    /// Says that the bytes of an upload have come, and gives the name that an item is to be given.
    /// Where no item can name it, because its prefix has none, the object is moved to its place
    /// at once, and this is its name there.
    pub async fn arrived(&self, bucket: &str, name: &str) -> Result<String, PlanError> {
        let design = &self.blueprint.design;
        let gone = || invalid("file", "is no upload any more; ask for another");
        let record = self.record(bucket, name).await?.ok_or_else(gone)?;
        let found = names::prefix(design, &record.prefix);
        let (_, prefix) = found.ok_or_else(gone)?;
        if names::is_named(design, prefix) || record.due_millis.is_none() {
            return Ok(record.name);
        }
        let path = names::path(prefix, &partita_core::Map::new());
        let path = path.map_err(|message| invalid("file", &message))?;
        let last = record.name.rsplit('/').next().unwrap_or_default();
        let placement = Placement {
            attribute: "file".to_owned(),
            bucket: bucket.to_owned(),
            from: record.name.clone(),
            to: format!("{path}{last}"),
        };
        let placements = [placement];
        self.place(&placements).await?;
        let [placement] = placements;
        let due_millis = prefix.lifetime_seconds.map(|seconds| self.after(seconds));
        let sidecar = &self.blueprint.sidecar;
        let take = DeleteItem {
            table: sidecar.clone(),
            key: key_of(bucket, &record.name),
            condition: Some(is_open(record.caller.as_deref())),
            return_item_on_failure: false,
        };
        let file = Record {
            name: placement.to.clone(),
            due_millis,
            ..record
        };
        let is_copy = put(PutItem {
            condition: Some(record::is_copy_of(&placement.from)),
            ..PutItem::new(sidecar.clone(), file.item())
        });
        let mut steps = vec![step(TransactAction::Delete(take)), is_copy];
        if let Some(due) = due_millis {
            let row = due_row(bucket, &file.name, due);
            steps.push(put(PutItem::new(sidecar.clone(), row)));
        }
        self.commit_files(steps).await?;
        self.unstage(std::slice::from_ref(&placement)).await;
        Ok(placement.to)
    }

    /// The object of that name, if the caller may read it: because the prefix says so, or because
    /// the caller sees the name in the item that has it.
    pub async fn file(&self, caller: &Caller, name: &str) -> Result<Readable, PlanError> {
        let design = &self.blueprint.design;
        // Somebody without a token learns nothing of what there is.
        let refused = || match caller.id {
            Some(_) => PlanError::NotFound {
                entity: "file".to_owned(),
                deleted: false,
            },
            None => PlanError::Unauthenticated {
                access: "read".to_owned(),
                entity: "file".to_owned(),
            },
        };
        let addresses = design.buckets.iter();
        let addresses: Vec<_> = addresses
            .map(|bucket| record::address(&self.blueprint, &bucket.name, name))
            .collect();
        let found = self.runner.read_items(&addresses).await?;
        let record = found.iter().flatten().find_map(Record::read);
        let record = record.filter(|record| {
            let is_over = record
                .due_millis
                .is_some_and(|due| due <= self.clock.now_millis());
            !is_over && !record.is_removing
        });
        let record = record.ok_or_else(refused)?;
        let (bucket, prefix) = names::prefix(design, &record.prefix).ok_or_else(refused)?;
        match &prefix.read {
            Some(rule) => permit(caller, rule, "read", "file").map_err(|_| refused())?,
            None => {
                let owner = record.owner.as_ref().ok_or_else(refused)?;
                if !self.shows(caller, owner, name).await? {
                    return Err(refused());
                }
            }
        }
        Ok(Readable {
            bucket: record.bucket,
            name: record.name,
            media_type: record.media_type,
            seconds: bucket.signed_url_seconds,
        })
    }

    /// Whether a caller sees the name of a file in the item that owns it.
    async fn shows(&self, caller: &Caller, owner: &Owner, name: &str) -> Result<bool, PlanError> {
        let on = On {
            shape: self.shape_named(&owner.entity)?,
            identity: owner.identity.clone(),
            with_deleted: false,
            version: None,
        };
        match self.read_one(caller, &on).await {
            Ok(Answer::Record(record)) => {
                let files = names::all(on.shape.source(), &record.attributes);
                Ok(files.iter().any(|file| file.name == name))
            }
            Ok(_) => Ok(false),
            Err(
                PlanError::NotFound { .. }
                | PlanError::Forbidden { .. }
                | PlanError::Unauthenticated { .. },
            ) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Copies the uploads of a write to their places, before it is committed.
    pub(crate) async fn place(&self, placements: &[Placement]) -> Result<(), PlanError> {
        let Some(objects) = &self.objects else {
            return Ok(());
        };
        let moving: Vec<&Placement> = placements.iter().filter(|one| !one.stays()).collect();
        let mut faults = Vec::new();
        for placement in moving {
            let Placement {
                bucket, from, to, ..
            } = placement;
            self.claim_place(placement).await?;
            if !objects.copy(bucket, from, to).await? {
                let message = "has not been uploaded yet: send its bytes to the URL first";
                faults.push(Fault {
                    rule: FaultRule::File,
                    ..Fault::new(&placement.attribute, message)
                });
            }
        }
        crate::input::refuse(faults)
    }

    /// Says that an object is about to be copied to its place, and that somebody has to look at it
    /// there if no write takes it. Of two that want one place, one is refused before it copies
    /// anything; the same upload may try again.
    async fn claim_place(&self, placement: &Placement) -> Result<(), PlanError> {
        let sidecar = &self.blueprint.sidecar;
        let due_millis = self.clock.now_millis().saturating_add(COPY_MILLIS);
        let copy = Record {
            bucket: placement.bucket.clone(),
            name: placement.to.clone(),
            prefix: String::new(),
            media_type: String::new(),
            caller: None,
            owner: None,
            due_millis: Some(due_millis),
            is_removing: false,
            copy_of: Some(placement.from.clone()),
        };
        let is_free = Condition::Any(vec![
            crate::sidecar::is_missing(),
            is_copy_of(&placement.from),
        ]);
        self.commit_files(vec![
            put(PutItem {
                condition: Some(is_free),
                ..PutItem::new(sidecar.clone(), copy.item())
            }),
            put(PutItem::new(
                sidecar.clone(),
                due_row(&placement.bucket, &placement.to, due_millis),
            )),
        ])
        .await
    }

    /// Removes uploads that have been copied. What is left of them is swept.
    pub(crate) async fn unstage(&self, placements: &[Placement]) {
        for placement in placements.iter().filter(|one| !one.stays()) {
            self.remove_object(&placement.bucket, &placement.from).await;
        }
    }

    /// Removes objects that no item names any more. What is left of them is swept.
    pub(crate) async fn discard(&self, released: &[(String, String)]) {
        for (bucket, name) in released {
            self.remove_object(bucket, name).await;
        }
    }

    async fn remove_object(&self, bucket: &str, name: &str) {
        if let Some(objects) = &self.objects
            && let Err(error) = objects.remove(bucket, name).await
        {
            tracing::warn!(%error, name, "a file that is not needed is left to the sweeper");
        }
    }

    /// Commits a few steps on the sidecar, which are the same whenever they are tried.
    async fn commit_files(&self, steps: Vec<Step>) -> Result<(), PlanError> {
        let plan = WritePlan::aside(steps);
        let mut last = PlanError::Conflict;
        for attempt in 0..self.runner.patience.attempts {
            match self.runner.commit(&plan).await? {
                Committed::Done => return Ok(()),
                // A condition that does not hold will not hold the next time.
                Committed::NotYet { cause, failed } if !failed.is_empty() => return Err(cause),
                Committed::NotYet { cause, .. } => last = cause,
            }
            self.runner.pause(attempt).await;
        }
        Err(last)
    }

    async fn record(&self, bucket: &str, name: &str) -> Result<Option<Record>, PlanError> {
        let address = record::address(&self.blueprint, bucket, name);
        let read = self.runner.read_items(&[address]).await?;
        Ok(read.iter().flatten().find_map(Record::read))
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

/// Whether a rule of a prefix lets somebody do something. Such a rule is one word.
fn permit(caller: &Caller, rule: &Rule, access: &str, what: &str) -> Result<(), PlanError> {
    let (access, entity) = (access.to_owned(), what.to_owned());
    match (rule, &caller.id) {
        (Rule::Public, _) | (Rule::SignedIn, Some(_)) => Ok(()),
        (Rule::SignedIn, None) => Err(PlanError::Unauthenticated { access, entity }),
        (Rule::Never | Rule::When(_), _) => Err(PlanError::Forbidden {
            access,
            entity,
            rule: "never".to_owned(),
        }),
    }
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
    crate::input::refuse(faults)?;
    Ok(normal.unwrap_or_default())
}

fn invalid(attribute: &str, message: &str) -> PlanError {
    PlanError::Invalid {
        faults: vec![Fault::new(attribute, message)],
    }
}

fn step(action: TransactAction) -> Step {
    Step {
        action,
        refusal: Refusal::Stale,
    }
}

fn put(put: PutItem) -> Step {
    step(TransactAction::Put(put))
}

/// A record where there was none.
fn new(sidecar: &partita_store::table::TableName, record: &Record) -> Step {
    put(PutItem {
        condition: Some(crate::sidecar::is_missing()),
        ..PutItem::new(sidecar.clone(), record.item())
    })
}
