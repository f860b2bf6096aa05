//! A target and its keys, by their flags.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use partita_backup::files::{FileSource, RemovedFiles};
use partita_backup::{BackupKey, DirectoryTarget, Target};
use partita_engine::EngineStore;
use partita_plan::recorded_designs;
use serde::{Deserialize, Serialize};

use crate::cli::{TargetFlags, TargetS3Flags};

/// Where a backup is, as another process of this machine understands it too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TargetPlace {
    target: String,
    endpoint: Option<String>,
    region: Option<String>,
}

impl TargetPlace {
    /// The place that the flags name. Directories are relative to this process's.
    pub(crate) fn new(target: &str, s3: &TargetS3Flags) -> Result<TargetPlace> {
        let is_s3 = target.starts_with("s3://");
        if !is_s3 && target.contains("://") {
            bail!("`{target}` is no target: name a directory, or s3://BUCKET/PREFIX");
        }
        let target = if is_s3 {
            target.to_owned()
        } else {
            let path = std::path::absolute(target)?;
            let text = path.to_str().context("the path of the target is no text")?;
            text.to_owned()
        };
        Ok(TargetPlace {
            target,
            endpoint: s3.backup_endpoint.clone(),
            region: s3.backup_region.clone(),
        })
    }

    /// Opens the target. Nothing is created.
    pub(crate) fn open(&self) -> Result<Arc<dyn Target>> {
        match self.target.strip_prefix("s3://") {
            Some(rest) => self.open_s3(rest),
            None => Ok(Arc::new(DirectoryTarget::new(&self.target))),
        }
    }

    #[cfg(feature = "s3")]
    fn open_s3(&self, rest: &str) -> Result<Arc<dyn Target>> {
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            bail!("`{}` names no bucket: s3://BUCKET/PREFIX", self.target);
        }
        let (endpoint, region) = (self.endpoint.as_deref(), self.region.as_deref());
        let store = partita_api::files::s3_bucket(bucket, endpoint, region)?;
        Ok(Arc::new(partita_backup::target::s3::S3Target::new(
            store, prefix,
        )))
    }

    #[cfg(not(feature = "s3"))]
    fn open_s3(&self, _: &str) -> Result<Arc<dyn Target>> {
        bail!(
            "this build has no client for S3; build it with `cargo build --release --features s3`"
        )
    }

    /// What people call it.
    pub(crate) fn name(&self) -> &str {
        &self.target
    }

    /// The directory, if it is one.
    pub(crate) fn directory(&self) -> Option<&Path> {
        let is_s3 = self.target.starts_with("s3://");
        (!is_s3).then(|| Path::new(&self.target))
    }
}

/// The target of a command that reads, which must be there.
pub(crate) fn existing(flags: &TargetFlags) -> Result<Arc<dyn Target>> {
    let place = TargetPlace::new(&flags.target, &flags.s3)?;
    if let Some(directory) = place.directory()
        && !directory.is_dir()
    {
        bail!(
            "there is no backup in {}: check the path",
            directory.display()
        );
    }
    place.open()
}

/// Where the removed files of the buckets of a data directory are, until they are shipped.
pub(crate) fn removed_files(data: &Path, is_lasting: bool) -> Result<Arc<RemovedFiles>> {
    let folder = std::path::absolute(data.join(partita_api::files::KEPT))?;
    let shown = folder.display().to_string();
    let removed = RemovedFiles::new(folder, is_lasting);
    Ok(Arc::new(
        removed.with_context(|| format!("cannot use {shown}"))?,
    ))
}

/// The files of the buckets of a data directory. Uploads that no item has taken over are left out.
pub(crate) async fn files(
    data: &Path,
    store: Arc<EngineStore>,
    removed: Option<Arc<RemovedFiles>>,
) -> Result<FileSource> {
    let root = std::path::absolute(data.join("files"))?;
    let mut left_out = Vec::new();
    for design in recorded_designs(store).await? {
        for bucket in &design.buckets {
            let staging = partita_plan::files::staging(bucket);
            left_out.push(
                root.join(&bucket.bucket)
                    .join(staging.trim_end_matches('/')),
            );
        }
    }
    Ok(FileSource {
        root,
        left_out,
        removed,
        key_part: partita_plan::files::KEY_PART.into(),
    })
}

/// The secret of a data directory, if it has one, for a backup that is encrypted.
pub(crate) fn secret(data: &Path, key: Option<&BackupKey>) -> Result<Option<Vec<u8>>> {
    let path = data.join("secret");
    match std::fs::read(&path) {
        _ if key.is_none() => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => {
            let read = read.with_context(|| format!("cannot read the secret {}", path.display()));
            read.map(Some)
        }
    }
}

/// The keys in these files.
pub(crate) fn keys(files: &[PathBuf]) -> Result<Vec<Arc<BackupKey>>> {
    files.iter().map(|file| key(file)).collect()
}

/// The key in a file, which must be its owner's alone.
pub(crate) fn key(file: &Path) -> Result<Arc<BackupKey>> {
    let shown = file.display();
    let bytes = std::fs::read(file).with_context(|| format!("cannot read the key {shown}"))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = file.metadata()?.permissions().mode();
        if mode & 0o077 != 0 {
            bail!("others can read the key {shown}: `chmod 600 {shown}` makes it yours alone");
        }
    }
    let key = BackupKey::new(&bytes);
    let key = key.with_context(|| {
        let count = bytes.len();
        format!("the key {shown} has {count} bytes, and a key has 32: `head -c 32 /dev/urandom > {shown}` makes one")
    })?;
    Ok(Arc::new(key))
}
