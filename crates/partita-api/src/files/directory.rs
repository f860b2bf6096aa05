//! A bucket that is a directory.

use std::fs;
use std::io;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{Error, ObjectStoreExt as _};

/// What a second link to an object is called, followed by `#` and a number, until it gets its name.
const LINK: &str = "copy";

/// The folder beside those of the buckets that removed files are moved to while it is there: a backup
/// is to ship them first.
pub const KEPT: &str = "kept-files";

/// A bucket that is a directory.
pub(super) struct Directory {
    /// The directory, without links in its path.
    pub(super) root: PathBuf,
    /// Where uploads are. A start removes from it what a crash has left unfinished.
    pub(super) staging: PathBuf,
    /// The folder of removed files, and what this bucket is called in it.
    pub(super) kept: (PathBuf, String),
    pub(super) files: Arc<LocalFileSystem>,
}

impl Directory {
    /// Moves an object to the folder of removed files. Whether there is such a folder, and the object.
    pub(super) async fn keep(&self, path: &Path) -> bool {
        let Ok(from) = self.files.path_to_filesystem(path) else {
            return false;
        };
        let (folder, bucket) = self.kept.clone();
        // An upload that no item has taken over is in no backup.
        if from.starts_with(&self.staging) || !folder.is_dir() {
            return false;
        }
        let steps: Vec<String> = path.parts().map(|part| part.as_ref().to_owned()).collect();
        let moved = tokio::task::spawn_blocking(move || {
            let mut to = folder.join(bucket);
            for step in &steps {
                match fs::create_dir(&to) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(error);
                    }
                    _ => to.push(step),
                }
            }
            // Another file of that name may be there; no object is called so.
            let mut free = to.clone();
            for number in 1.. {
                if !free.try_exists()? {
                    break;
                }
                free = to.clone();
                free.as_mut_os_string().push(format!("#{number}"));
            }
            fs::rename(from, free)
        });
        match moved.await.unwrap_or_else(|error| Err(error.into())) {
            Ok(()) => true,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::warn!(%error, %path, "a file is removed that a backup may not have");
                }
                false
            }
        }
    }

    /// Copies an object over whatever is there, by another link to its bytes, which nothing
    /// changes.
    ///
    /// `LocalFileSystem::copy` renames a link over the copy. Where the copy of an earlier attempt is
    /// there, both are links to the same bytes: such a rename does nothing, and the link stays.
    pub(super) async fn copy(&self, from: &Path, to: &Path) -> object_store::Result<()> {
        match self.files.copy_if_not_exists(from, to).await {
            Err(Error::AlreadyExists { .. }) => {}
            copied => return copied,
        }
        let from = self.files.path_to_filesystem(from)?;
        let to = self.files.path_to_filesystem(to)?;
        let staging = self.staging.clone();
        let path = from.display().to_string();
        let replaced = tokio::task::spawn_blocking(move || replace(&from, &to, &staging));
        let replaced = replaced.await.unwrap_or_else(|error| Err(error.into()));
        replaced.map_err(|error| {
            let kind = error.kind();
            let source = Box::new(error);
            if kind == io::ErrorKind::NotFound {
                Error::NotFound { path, source }
            } else {
                let store = "LocalFileSystem";
                Error::Generic { store, source }
            }
        })
    }
}

/// Replaces a file by a link to the bytes of another one. There is a whole file at every moment.
fn replace(from: &FilePath, to: &FilePath, staging: &FilePath) -> io::Result<()> {
    fs::create_dir_all(staging)?;
    let link = new_link(from, staging)?;
    let renamed = fs::rename(&link, to);
    match fs::remove_file(&link) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => renamed?,
    }
    sync(to.parent().unwrap_or(staging))
}

/// A link of a name that no object has, and that this process uses once: whoever has renamed a link
/// removes what is left of that name.
fn new_link(from: &FilePath, staging: &FilePath) -> io::Result<PathBuf> {
    static LINKS: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = LINKS.fetch_add(1, Ordering::Relaxed);
        // Servers on a shared directory have different process ids.
        let number = u64::from(std::process::id()) << 32 | number;
        let link = staging.join(format!("{LINK}#{number}"));
        match fs::hard_link(from, &link) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            linked => return linked.map(|()| link),
        }
    }
}

/// Has the names in a directory on disk.
#[cfg(unix)]
fn sync(directory: &FilePath) -> io::Result<()> {
    fs::File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync(_: &FilePath) -> io::Result<()> {
    Ok(())
}
