//! The files of buckets that are directories, beside the commits of the items that name them.
//!
//! A file is in its place before the commit of the item that names it, and its bytes do not change
//! there; it goes after the last commit that names it. So before a segment is shipped, the
//! directory is looked at, and what is new in it is shipped first. A *placing* says which files
//! came and went, from which commit on; all placings up to a commit give the files there may be at
//! that commit. The store itself says which of them its items name. Now and then a *whole* placing
//! has all files that there are, so that neither a server that starts nor a restore reads those
//! before it.
//!
//! The bytes are under the number of the placing that they came with and their SHA-256, in parts. A
//! file that two places have at the same time is shipped once; one that comes back is shipped again,
//! because retention may be about to remove what was shipped before.

mod kept;
mod removed;
mod shipped;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use partita_engine::{Commit, Edit};
use serde::{Deserialize, Serialize};

use crate::catalog::Chain;
use crate::error::BackupError;
use crate::target::Target;

pub use kept::KeptFiles;
pub(crate) use kept::{unneeded_parts, unneeded_placings};
pub use removed::{Hold, RemovedFiles};
pub(crate) use shipped::{ShippedFiles, Way};

/// Bytes of one part of a file.
const PART_BYTES: usize = 8 * 1_048_576;

/// A directory with files, and the places in it that are not for good.
#[derive(Clone, Debug, Default)]
pub struct FileSource {
    /// The directory.
    pub root: PathBuf,
    /// Paths below it that are left out: uploads that no item has taken over.
    pub left_out: Vec<PathBuf>,
    /// Where files are that were removed and may not be shipped yet, at the same paths.
    pub removed: Option<Arc<RemovedFiles>>,
    /// What a key has in it that is written when a file comes or goes. The directory is not looked at
    /// for other commits.
    pub key_part: Vec<u8>,
}

impl FileSource {
    /// Whether a file may have come or gone with one of these commits.
    pub(crate) fn concerns(&self, commits: &[Commit]) -> bool {
        let part = &self.key_part;
        let has_part =
            |key: &[u8]| part.is_empty() || key.windows(part.len()).any(|one| one == part);
        commits.iter().flat_map(|commit| &commit.edits).any(|edit| {
            let (Edit::Put(key, _) | Edit::Remove(key)) = edit;
            has_part(key)
        })
    }
}

/// A file, as a placing has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Placed {
    /// The path below the directory, with `/` between its parts.
    pub(crate) path: String,
    pub(crate) sha256: String,
    /// The number of the placing that its bytes came with.
    pub(crate) shipped_with: u64,
    pub(crate) bytes: u64,
    /// When it was written, in milliseconds since 1970, so that it is not read again.
    pub(crate) modified_millis: i64,
    /// Commits before this one may mean other bytes, which were at the same path until just before.
    pub(crate) clear_from: u64,
}

impl Placed {
    /// A path of which it cannot be told what commits before one mean. No later one names it.
    fn unclear(path: String, clear_from: u64) -> Placed {
        Placed {
            path,
            sha256: String::new(),
            shipped_with: 0,
            bytes: 0,
            modified_millis: 0,
            clear_from,
        }
    }

    fn is(&self, found: &Found) -> bool {
        (self.bytes, self.modified_millis) == (found.bytes, found.modified_millis)
    }

    fn content(&self) -> Content {
        Content {
            sha256: self.sha256.clone(),
            shipped_with: self.shipped_with,
        }
    }
}

/// Bytes that were shipped, as the names of their parts say it.
///
/// Bytes that are shipped again have another name, so whoever removes the old ones, at whatever
/// moment, does not take them from a file that came back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Content {
    pub(crate) shipped_with: u64,
    pub(crate) sha256: String,
}

/// Files that came and went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Placing {
    /// No commit before this one names what came. Of a whole placing: no commit from this one on
    /// names a file that is neither in it nor in a later one.
    pub(crate) from: u64,
    /// No commit after this one names what went.
    pub(crate) until: u64,
    pub(crate) came: Vec<Placed>,
    pub(crate) went: Vec<String>,
}

#[derive(Clone, Debug)]
struct Found {
    path: String,
    /// Where it is.
    place: PathBuf,
    bytes: u64,
    modified_millis: i64,
    clear_from: u64,
}

impl Found {
    fn is_same(&self, other: &Found) -> bool {
        (self.bytes, self.modified_millis) == (other.bytes, other.modified_millis)
    }
}

/// The files of one path.
#[derive(Debug, Default)]
struct Versions {
    there: Option<Found>,
    removed: Vec<Found>,
}

/// How many parts a file has; an empty one has one.
fn parts(bytes: u64) -> u64 {
    bytes.div_ceil(PART_BYTES as u64).max(1)
}

async fn placing(
    chain: &Chain,
    target: &dyn Target,
    (number, is_whole): (u64, bool),
) -> Result<Placing, BackupError> {
    let name = chain.name.placing(number, is_whole);
    let content = chain.seal.open(&name, &target.get(&name).await?)?;
    serde_json::from_slice(&content).map_err(|error| BackupError::damaged(&name, error.to_string()))
}

/// The files of a source, by their paths.
fn list(source: &FileSource) -> io::Result<BTreeMap<String, Versions>> {
    let mut files = Vec::new();
    walk(&source.left_out, &source.root, "", &mut files)?;
    // A name with `#` is of one that is being written.
    files.retain(|file| !file.path.contains('#'));
    let mut found = BTreeMap::<String, Versions>::new();
    for file in files {
        let versions = found.entry(file.path.clone()).or_default();
        versions.there = Some(file);
    }
    // Looked at last, because a file goes from the directory to those that were removed.
    if let Some(removed) = &source.removed {
        for file in removed.list()? {
            let versions = found.entry(file.path.clone()).or_default();
            versions.removed.push(file);
        }
    }
    Ok(found)
}

fn walk(left_out: &[PathBuf], folder: &Path, name: &str, found: &mut Vec<Found>) -> io::Result<()> {
    if left_out.iter().any(|left_out| folder == left_out) {
        return Ok(());
    }
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        let Some(own) = entry.file_name().to_str().map(str::to_owned) else {
            continue;
        };
        let below = if name.is_empty() {
            own.clone()
        } else {
            format!("{name}/{own}")
        };
        let metadata = match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        if metadata.is_dir() {
            walk(left_out, &path, &below, found)?;
        } else if metadata.is_file() {
            found.push(Found {
                path: below,
                place: path,
                bytes: metadata.len(),
                modified_millis: modified_millis(&metadata)?,
                clear_from: 0,
            });
        }
    }
    Ok(())
}

fn modified_millis(metadata: &fs::Metadata) -> io::Result<i64> {
    let modified = metadata.modified()?.duration_since(UNIX_EPOCH);
    let millis = modified.unwrap_or_default().as_millis();
    Ok(i64::try_from(millis).unwrap_or(i64::MAX))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(io::Error::other(error)))
}

fn unreadable(path: &Path, error: &io::Error) -> BackupError {
    BackupError::File {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}
