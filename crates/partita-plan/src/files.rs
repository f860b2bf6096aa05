//! Files: what is known of the objects in a design's buckets, and who may have them.
//!
//! Whoever implements [`Objects`] keeps the bytes. What is known about them stands in the sidecar
//! table and changes with the items that name them, in their transactions:
//!
//! | partition | sort | what it is |
//! |---|---|---|
//! | `FILE#`, a bucket, `#` and a name | `FILE` | an object: its type, who uploaded it, which item names it, when it is to be removed |
//! | the same | `OWNER#` and a digest | another item that names it |
//! | `FILE#DUE` | a time, a bucket and a name | that somebody has to look at this object then, and at others that the row lists |
//! | the same | a time, `OWNER#` and a digest | that an item expires then, and that somebody has to look at its files |
//! | `FILE#SLOT#` and a caller | a number | an upload of the caller that no item has taken over, or had not; it expires |
//!
//! An object comes and goes like this:
//!
//! 1. [`Partita::allow_upload`] records an upload under a name of the bucket's temporary prefix, with the
//!    time when it is to be removed. [`Partita::begin_upload`] lets one client send its bytes, and
//!    [`Partita::arrived`] says that they have come.
//! 2. An item is written that names the upload. The plan gives it the name that the design says;
//!    the object is copied there; the transaction that writes the item also turns the record of
//!    the upload into the record of the file, with the item as its owner. Last, the upload is
//!    removed.
//! 3. Another item takes the name over, because an effect, an action or a computed value reads it
//!    from the first. Where the file is in the right place for it too, it gets one more owner;
//!    elsewhere its object is copied as in 2, and the copy has an owner of its own.
//! 4. An item is deleted, or names another file: its transaction takes it from the owners. When
//!    none is left, it says that the object is to be removed, and then it is.
//! 5. An item expires, and the store removes it. Its files were noted down with the time; whoever
//!    sweeps takes them from it once it is gone.
//!
//! Before anything is copied, the sidecar says that the copy is due to be looked at. So a process
//! that dies at any point leaves an item whose object is there, or an object that
//! [`Partita::sweep_files`] finds and removes; never an item that names nothing, and never an
//! object that nobody knows of. What an item names is never swept, whatever the lifetime of its
//! prefix.
//!
//! Whoever knows the name of somebody else's file gains nothing by writing it into an item: a
//! caller can only name an upload of his own. An item owns what it names and what its history does.

mod expired;
mod named;
pub(crate) mod names;
pub(crate) mod owning;
mod placing;
mod record;
mod slots;
mod sweep;
mod uploads;

use async_trait::async_trait;
use partita_design::design::Rule;
use partita_store::request::{PutItem, Query, TransactAction};

use crate::commit::Step;
use crate::error::{Fault, PlanError};
use crate::operation::{Answer, Caller};
use crate::partita::Partita;
use crate::request::NamedItem;

pub(crate) use expired::until;
pub use named::{NamedFile, named_files};
pub use names::{staging, write_rule};
pub(crate) use record::{
    FileRecord, Owner, address, due_rows, has_owners_of, is_copy_of, is_open, key_of,
    owner_address, owner_due_row,
};
pub use sweep::Swept;
pub use uploads::Sending;

/// What the keys of all rows about files begin with. A transaction that lets an object come or go
/// writes one.
pub const KEY_PART: &str = "FILE#";

/// Items that name one file and are asked whether the caller sees the name there, at most.
const OWNERS_ASKED_MAX: usize = 1_000;

/// How much time an upload must have left when an item takes it over, so that nobody sweeps it
/// away meanwhile.
pub(crate) const MARGIN_MILLIS: i64 = 60_000;

/// Keeps the bytes of objects.
#[async_trait]
pub trait Objects: Send + Sync {
    /// Copies an object to another name in its bucket, over whatever is there. When this returns
    /// [`Copied::Done`], the copy is whole and stays.
    async fn copy(&self, bucket: &str, from: &str, to: &str) -> Result<Copied, ObjectsError>;

    /// Removes an object; one that is not there is no error.
    async fn remove(&self, bucket: &str, name: &str) -> Result<(), ObjectsError>;
}

/// What became of the copy of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// It is there.
    Done,
    /// There is nothing to copy.
    Missing,
    /// The store has no place of that name: in a directory, `a/b` cannot be beside a file `a`.
    NoPlace,
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
    /// How many bytes it must have, if the client has said so.
    pub bytes: Option<u64>,
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

/// An object that a write puts in its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placement {
    /// The entity and the attribute that name it; no entity where it is an upload by itself.
    pub(crate) entity: Option<String>,
    pub(crate) attribute: String,
    pub(crate) bucket: String,
    pub(crate) from: String,
    pub(crate) to: String,
    /// What is taken.
    pub(crate) what: Taken,
}

/// What a write takes an object from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// An upload, of which nothing is left then.
    Upload,
    /// The file of another item, which is not touched.
    File,
    /// What another item names and nobody knows anything of, because it was there before files were
    /// kept here. It is not touched, and it may not be there.
    Unknown,
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

    /// Plans as where the files of the design are kept, for whoever looks at plans and carries none
    /// out.
    #[must_use]
    pub fn as_if_keeping_files(mut self) -> Self {
        self.blueprint.keeps_files = true;
        self
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
        let record = found.iter().flatten().find_map(FileRecord::read);
        let record = record.filter(|record| {
            let due = record.due_millis.filter(|_| !record.is_owned());
            let is_over = due.is_some_and(|due| due <= self.clock.now_millis());
            !is_over && !record.is_removing
        });
        let record = record.ok_or_else(refused)?;
        let (bucket, prefix) = names::prefix(design, &record.prefix).ok_or_else(refused)?;
        match &prefix.read {
            Some(rule) => permit(caller, rule, "read", "file").map_err(|_| refused())?,
            None if self.is_shown(caller, &record).await? => {}
            None => return Err(refused()),
        }
        Ok(Readable {
            bucket: record.bucket,
            name: record.name,
            media_type: record.media_type,
            seconds: bucket.signed_url_seconds,
        })
    }

    /// Whether a caller sees the name of a file in one of the items that own it.
    async fn is_shown(&self, caller: &Caller, record: &FileRecord) -> Result<bool, PlanError> {
        if let Some(owner) = &record.owner
            && self.shows(caller, owner, &record.name).await?
        {
            return Ok(true);
        }
        let keys = record::owner_keys(&record.bucket, &record.name);
        let mut request = Query::new(self.blueprint.sidecar.clone(), keys);
        let mut asked = 0;
        while record.others > 0 && asked < OWNERS_ASKED_MAX {
            let page = self.runner.query(&request).await?;
            for owner in page.items.iter().filter_map(Owner::read) {
                if self.shows(caller, &owner, &record.name).await? {
                    return Ok(true);
                }
            }
            asked += page.items.len();
            match page.last_key {
                None => break,
                last_key => request.start_after = last_key,
            }
        }
        Ok(false)
    }

    /// Whether a caller sees the name of a file in an item that owns it.
    async fn shows(&self, caller: &Caller, owner: &Owner, name: &str) -> Result<bool, PlanError> {
        let record = self.blueprint.named_record(&owner.entity)?;
        let on = NamedItem::new(record, owner.identity.clone());
        match self.read_one(caller, &on).await {
            Ok(Answer::Record(record)) => {
                let files = names::all(on.record, &record.attributes);
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

    /// Commits a few steps on the sidecar, which are the same whenever they are tried.
    async fn commit_files(&self, steps: Vec<Step>) -> Result<(), PlanError> {
        if self.runner.commit_unless_failed(steps).await? {
            return Ok(());
        }
        Err(PlanError::Conflict)
    }

    async fn record(&self, bucket: &str, name: &str) -> Result<Option<FileRecord>, PlanError> {
        let address = record::address(&self.blueprint, bucket, name);
        let read = self.runner.read_items(&[address]).await?;
        Ok(read.iter().flatten().find_map(FileRecord::read))
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
            afterwards: false,
        }),
    }
}

fn invalid(attribute: &str, message: &str) -> PlanError {
    PlanError::Invalid {
        faults: vec![Fault::new(attribute, message)],
    }
}

fn put(put: PutItem) -> Step {
    Step::or_stale(TransactAction::Put(put))
}

/// A record where there was none.
fn new(sidecar: &partita_store::table::TableName, record: &FileRecord) -> Step {
    put(PutItem {
        condition: Some(crate::sidecar::is_missing()),
        ..PutItem::new(sidecar.clone(), record.item())
    })
}
