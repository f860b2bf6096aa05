//! The objects of all buckets.

use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Bytes;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetRange, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt as _,
    PutMultipartOptions,
};
use partita_plan::{Copied, Objects, ObjectsError, Readable};

use super::ByBucket;
use super::place::Opened;
use crate::problem::Problem;

/// The buckets of the designs that are served.
#[derive(Clone, Default)]
pub struct Buckets(ByBucket<Arc<BucketStore>>);

/// One bucket.
pub struct BucketStore {
    bucket: String,
    opened: Opened,
}

impl Buckets {
    pub(super) fn insert(&mut self, design: &str, bucket: &str, opened: Opened) {
        let store = BucketStore {
            bucket: bucket.to_owned(),
            opened,
        };
        let key = (design.to_owned(), bucket.to_owned());
        self.0.insert(key, Arc::new(store));
    }

    /// The objects of one design, for its planner.
    pub fn of_design(&self, design: &str) -> Arc<dyn Objects> {
        let theirs = self.0.iter().filter(|((of, _), _)| of == design);
        let theirs = theirs.map(|((_, bucket), store)| (bucket.clone(), store.clone()));
        Arc::new(DesignObjects(theirs.collect()))
    }

    pub(super) fn store(&self, design: &str, bucket: &str) -> Result<Arc<BucketStore>, Problem> {
        let key = (design.to_owned(), bucket.to_owned());
        self.0.get(&key).cloned().ok_or_else(Problem::no_object)
    }

    /// A URL of the store's own, where it makes such.
    pub(super) async fn presigned(
        &self,
        design: &str,
        file: &Readable,
    ) -> Result<Option<String>, ObjectsError> {
        let key = (design.to_owned(), file.bucket.clone());
        match self.0.get(&key) {
            Some(store) => store.presigned(file).await,
            None => Ok(None),
        }
    }
}

/// The buckets of one design, by the names that it has for them.
struct DesignObjects(Vec<(String, Arc<BucketStore>)>);

impl DesignObjects {
    fn store(&self, bucket: &str) -> Result<&BucketStore, ObjectsError> {
        let found = self.0.iter().find(|(known, _)| known == bucket);
        found
            .map(|(_, store)| &**store)
            .ok_or_else(|| ObjectsError {
                bucket: bucket.to_owned(),
                message: "it is not open".to_owned(),
            })
    }
}

#[async_trait]
impl Objects for DesignObjects {
    async fn copy(&self, bucket: &str, from: &str, to: &str) -> Result<Copied, ObjectsError> {
        let store = self.store(bucket)?;
        let (from, to) = (store.path(from)?, store.path(to)?);
        match store.opened.copy(&from, &to).await {
            Ok(()) => Ok(Copied::Done),
            Err(Error::NotFound { .. }) => Ok(Copied::Missing),
            Err(error) if is_no_place(&error) => Ok(Copied::NoPlace),
            Err(error) => Err(store.failed(&error)),
        }
    }

    async fn remove(&self, bucket: &str, name: &str) -> Result<(), ObjectsError> {
        self.store(bucket)?.remove(name).await
    }
}

/// Whether a file system says that a name cannot be that of a file: a step of it is a file, it is a
/// directory itself, or it is too long.
fn is_no_place(error: &Error) -> bool {
    let mut causes = std::iter::successors(Some(error as &dyn std::error::Error), |cause| {
        cause.source()
    });
    causes.any(|cause| {
        let system = cause.downcast_ref::<io::Error>();
        system.is_some_and(|system| {
            matches!(
                system.kind(),
                ErrorKind::NotADirectory
                    | ErrorKind::IsADirectory
                    | ErrorKind::AlreadyExists
                    | ErrorKind::InvalidFilename
            )
        })
    })
}

impl BucketStore {
    /// Removes an object; one that is not there is no error.
    pub(super) async fn remove(&self, name: &str) -> Result<(), ObjectsError> {
        match self.opened.remove(&self.path(name)?).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// What is known of an object.
    pub(super) async fn find(&self, name: &str) -> Result<Option<ObjectMeta>, ObjectsError> {
        let path = self.path(name)?;
        if !self.opened.is_inside(&path) {
            return Ok(None);
        }
        match self.opened.store.head(&path).await {
            Ok(meta) => Ok(Some(meta)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// A part of an object, as it is read.
    pub(super) async fn read(
        &self,
        name: &str,
        range: Range<u64>,
    ) -> Result<Option<BoxStream<'static, object_store::Result<Bytes>>>, ObjectsError> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(range)),
            ..GetOptions::default()
        };
        match self.opened.store.get_opts(&self.path(name)?, options).await {
            Ok(got) => Ok(Some(got.into_stream())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Whether there is room for more bytes.
    pub(super) fn has_room(&self) -> bool {
        self.opened.has_room()
    }

    /// Begins an object that is there when it is complete.
    pub(super) async fn begin(
        &self,
        name: &str,
        media_type: &str,
    ) -> Result<Box<dyn MultipartUpload>, ObjectsError> {
        let options = PutMultipartOptions {
            attributes: self.opened.attributes(media_type),
            ..PutMultipartOptions::default()
        };
        let path = self.path(name)?;
        let begun = self.opened.store.put_multipart_opts(&path, options);
        begun.await.map_err(|error| self.failed(&error))
    }

    async fn presigned(&self, file: &Readable) -> Result<Option<String>, ObjectsError> {
        let path = self.path(&file.name)?;
        let seconds = Duration::from_secs(file.seconds);
        let url = self
            .opened
            .presigned(&path, &file.media_type, seconds)
            .await;
        url.map_err(|error| self.failed(&error))
    }

    /// A name as a path of the store, which refuses every step that leads elsewhere.
    fn path(&self, name: &str) -> Result<Path, ObjectsError> {
        Path::parse(name).map_err(|error| ObjectsError {
            bucket: self.bucket.clone(),
            message: error.to_string(),
        })
    }

    /// What the store says, for the log.
    pub(super) fn failed(&self, error: &Error) -> ObjectsError {
        tracing::error!(%error, bucket = self.bucket, "objects cannot be reached");
        ObjectsError {
            bucket: self.bucket.clone(),
            message: error.to_string(),
        }
    }
}
