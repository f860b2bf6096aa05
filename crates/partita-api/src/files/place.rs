//! Where buckets are: directories, memory, or S3.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{Attributes, ObjectStore, ObjectStoreExt as _};
use partita_design::Design;
use partita_design::design::Bucket;

use super::directory::{Directory, KEPT};
use super::objects::Buckets;

/// Room that uploads leave free on the disk of a directory. The storage of items may be on the same
/// disk, which it needs 320 MB of to go on; the rest is for the parts of 32 uploads on their way.
const ROOM_BYTES_MIN: u64 = 480 * 1_048_576;

/// Where the buckets of all designs are.
#[derive(Clone, Debug)]
pub enum Place {
    /// Below a directory, each bucket in one of its name.
    Directory(PathBuf),
    /// In memory; everything is gone when the process ends.
    Memory,
    /// In S3, or in something that speaks its API; credentials come from the environment.
    #[cfg(feature = "s3")]
    S3 {
        /// The endpoint, if it is not Amazon's.
        endpoint: Option<String>,
        /// The region, if the environment does not name it.
        region: Option<String>,
    },
}

/// A bucket cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// There is no directory for it, and none can be made.
    #[error("cannot keep the files of the bucket `{bucket}` in {}", .directory.display())]
    Directory {
        /// The bucket.
        bucket: String,
        /// The directory.
        directory: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The store refuses to be opened so.
    #[error("cannot open the bucket `{bucket}`")]
    Store {
        /// The bucket.
        bucket: String,
        /// Why not.
        source: object_store::Error,
    },
}

/// A bucket that was opened.
pub(super) struct Opened {
    pub(super) store: Arc<dyn ObjectStore>,
    directory: Option<Directory>,
    #[cfg(feature = "s3")]
    signer: Option<Arc<dyn object_store::signer::Signer>>,
}

impl Place {
    /// Opens the buckets of some designs.
    pub fn open<'d>(
        &self,
        designs: impl IntoIterator<Item = &'d Design>,
    ) -> Result<Buckets, PlaceError> {
        let mut buckets = Buckets::default();
        for design in designs {
            for bucket in &design.buckets {
                let opened = match self {
                    Place::Directory(root) => directory(root.join(&bucket.bucket), bucket)?,
                    Place::Memory => memory(),
                    #[cfg(feature = "s3")]
                    Place::S3 { endpoint, region } => {
                        s3(&bucket.bucket, endpoint.as_deref(), region.as_deref())?
                    }
                };
                buckets.insert(&design.name, &bucket.name, opened);
            }
        }
        Ok(buckets)
    }
}

impl Place {
    /// Removes what uploads that a crash cut off have left in directories: all of it, or what was
    /// last written before a time, where others may be receiving uploads.
    pub fn tidy<'d>(
        &self,
        designs: impl IntoIterator<Item = &'d Design>,
        before: Option<SystemTime>,
    ) -> io::Result<()> {
        let Place::Directory(root) = self else {
            return Ok(());
        };
        for bucket in designs.into_iter().flat_map(|design| &design.buckets) {
            let staging = partita_plan::files::staging(bucket);
            let entries = match fs::read_dir(root.join(&bucket.bucket).join(staging)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                entries => entries?,
            };
            for entry in entries {
                let entry = entry?;
                if !is_unfinished(&entry.file_name().to_string_lossy()) {
                    continue;
                }
                if let Some(before) = before
                    && entry.metadata()?.modified()? >= before
                {
                    continue;
                }
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

/// Whether a file is one that gets its name when it is complete: `name#1`. `object_store` takes no
/// object that is called so, and takes one that is called `name#1#1`.
fn is_unfinished(name: &str) -> bool {
    let number = name.split_once('#').map(|(_, number)| number);
    number.is_some_and(|number| {
        !number.is_empty() && number.chars().all(|letter| letter.is_ascii_digit())
    })
}

fn directory(directory: PathBuf, bucket: &Bucket) -> Result<Opened, PlaceError> {
    let failed = |source| PlaceError::Directory {
        bucket: bucket.bucket.clone(),
        directory: directory.clone(),
        source,
    };
    let beside = directory.parent().map(|folder| folder.with_file_name(KEPT));
    let kept = (beside.unwrap_or_default(), bucket.bucket.clone());
    fs::create_dir_all(&directory).map_err(failed)?;
    let root = fs::canonicalize(&directory).map_err(failed)?;
    let files = LocalFileSystem::new_with_prefix(&root).map_err(|source| PlaceError::Store {
        bucket: bucket.bucket.clone(),
        source,
    })?;
    // An object that was answered for is on disk, as items are.
    let files = Arc::new(files.with_fsync(true));
    Ok(Opened {
        store: files.clone(),
        directory: Some(Directory {
            staging: root.join(partita_plan::files::staging(bucket)),
            kept,
            root,
            files,
        }),
        #[cfg(feature = "s3")]
        signer: None,
    })
}

#[cfg(unix)]
fn free_bytes(directory: &std::path::Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(directory).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_: &std::path::Path) -> Option<u64> {
    None
}

fn memory() -> Opened {
    Opened {
        store: Arc::new(InMemory::new()),
        directory: None,
        #[cfg(feature = "s3")]
        signer: None,
    }
}

#[cfg(feature = "s3")]
fn s3(bucket: &str, endpoint: Option<&str>, region: Option<&str>) -> Result<Opened, PlaceError> {
    let store = Arc::new(s3_client(bucket, endpoint, region)?);
    Ok(Opened {
        store: store.clone(),
        directory: None,
        signer: Some(store),
    })
}

/// A bucket of S3 as it is, for what is not a file of a design.
#[cfg(feature = "s3")]
pub fn s3_bucket(
    bucket: &str,
    endpoint: Option<&str>,
    region: Option<&str>,
) -> Result<Arc<dyn ObjectStore>, PlaceError> {
    Ok(Arc::new(s3_client(bucket, endpoint, region)?))
}

#[cfg(feature = "s3")]
fn s3_client(
    bucket: &str,
    endpoint: Option<&str>,
    region: Option<&str>,
) -> Result<object_store::aws::AmazonS3, PlaceError> {
    use object_store::aws::AmazonS3Builder;
    // Objects are removed one by one; not everything that speaks S3 can do it otherwise.
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(bucket)
        .with_http_connector(super::s3_client::Connector)
        .with_disable_bulk_delete(true);
    if let Some(region) = region {
        builder = builder.with_region(region);
    }
    if let Some(endpoint) = endpoint {
        let is_plain = endpoint.starts_with("http://");
        builder = builder.with_endpoint(endpoint).with_allow_http(is_plain);
    }
    builder.build().map_err(|source| PlaceError::Store {
        bucket: bucket.to_owned(),
        source,
    })
}

impl Opened {
    /// Removes an object; where a backup is to ship it first, it is moved there.
    pub(super) async fn remove(&self, path: &Path) -> object_store::Result<()> {
        if let Some(directory) = &self.directory
            && directory.keep(path).await
        {
            return Ok(());
        }
        self.store.delete(path).await
    }

    /// Copies an object over whatever is there.
    pub(super) async fn copy(&self, from: &Path, to: &Path) -> object_store::Result<()> {
        match &self.directory {
            Some(directory) => directory.copy(from, to).await,
            None => self.store.copy(from, to).await,
        }
    }

    /// Whether nothing on the way to an object leads out of the directory. Partita makes no links;
    /// somebody else may have.
    pub(super) fn is_inside(&self, path: &Path) -> bool {
        let Some(Directory { root, .. }) = &self.directory else {
            return true;
        };
        let parts = path.parts();
        let file = parts.fold(root.clone(), |file, part| file.join(part.as_ref()));
        // What is not there leads nowhere.
        fs::canonicalize(file).is_ok_and(|real| real.starts_with(root))
    }

    /// Whether there is room for more bytes. Places other than directories do not report it.
    pub(super) fn has_room(&self) -> bool {
        let directory = self.directory.as_ref();
        let free_bytes = directory.and_then(|directory| free_bytes(&directory.root));
        free_bytes.is_none_or(|free_bytes| free_bytes >= ROOM_BYTES_MIN)
    }

    /// What the store keeps beside the bytes. A directory keeps nothing, and refuses to.
    pub(super) fn attributes(&self, media_type: &str) -> Attributes {
        let mut attributes = Attributes::new();
        if self.directory.is_none() {
            let media_type = media_type.to_owned();
            attributes.insert(object_store::Attribute::ContentType, media_type.into());
        }
        attributes
    }

    /// A URL of the store's own for reading an object.
    #[cfg(feature = "s3")]
    pub(super) async fn presigned(
        &self,
        path: &Path,
        media_type: &str,
        lifetime: Duration,
    ) -> object_store::Result<Option<String>> {
        use object_store::signer::SignedUrlOptions;
        let Some(signer) = &self.signer else {
            return Ok(None);
        };
        let mut options =
            SignedUrlOptions::new().with_query([("response-content-type", media_type)]);
        if !super::download::is_shown(media_type) {
            options = options.with_query([("response-content-disposition", "attachment")]);
        }
        let method = axum::http::Method::GET;
        let url = signer
            .signed_url_opts(method, path, lifetime, &options)
            .await?;
        Ok(Some(url.to_string()))
    }

    /// A directory makes none.
    #[cfg(not(feature = "s3"))]
    pub(super) async fn presigned(
        &self,
        _: &Path,
        _: &str,
        _: Duration,
    ) -> object_store::Result<Option<String>> {
        Ok(None)
    }
}
