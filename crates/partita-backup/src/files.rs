//! The files of buckets that are directories, beside the commits of the items that name them.
//!
//! A file is in its place before the commit of the item that names it, and its bytes do not change
//! there; it goes after the last commit that names it. So before a segment is shipped, the
//! directory is looked at, and what is new in it is shipped first. A *placing* says which files
//! came and went, from which commit on; all placings up to a commit give the files there may be at
//! that commit. The store itself says which of them its items name.
//!
//! The bytes are under their SHA-256, in parts, so a file that two places have is shipped once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use partita_engine::{Commit, Edit};
use partita_store::Entropy;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::catalog::{Chain, ChainObjects};
use crate::error::BackupError;
use crate::names;
use crate::sealing::hex;
use crate::target::Target;

/// Bytes of one part of a file.
const PART_BYTES: usize = 8 * 1_048_576;

/// A directory with files, and the places in it that are not for good.
#[derive(Clone, Debug, Default)]
pub struct FileSource {
    /// The directory.
    pub root: PathBuf,
    /// Paths below it that are left out: uploads that no item has taken over.
    pub left_out: Vec<PathBuf>,
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
    pub(crate) bytes: u64,
    /// When it was written, in milliseconds since 1970, so that it is not read again.
    pub(crate) modified_millis: i64,
}

/// Files that came and went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Placing {
    /// No commit before this one names what came.
    pub(crate) from: u64,
    /// No commit after this one names what went.
    pub(crate) until: u64,
    pub(crate) came: Vec<Placed>,
    pub(crate) went: Vec<String>,
}

/// The files that a chain has, while it is written.
#[derive(Debug, Default)]
pub(crate) struct ShippedFiles {
    files: BTreeMap<String, Placed>,
    /// The bytes that are in the target.
    digests: BTreeSet<String>,
    /// The number of the next placing.
    next: u64,
}

impl ShippedFiles {
    /// What a chain has so far.
    pub(crate) async fn of(
        chain: &Chain,
        target: &dyn Target,
        objects: &ChainObjects,
    ) -> Result<ShippedFiles, BackupError> {
        let mut shipped = ShippedFiles::default();
        for number in &objects.placings {
            let placing = placing(chain, target, *number).await?;
            for path in &placing.went {
                shipped.files.remove(path);
            }
            for file in placing.came {
                shipped.digests.insert(file.sha256.clone());
                shipped.files.insert(file.path.clone(), file);
            }
            shipped.next = number + 1;
        }
        Ok(shipped)
    }

    /// Ships what is new in a directory, before the commits from one to another are shipped, and notes
    /// what came and went.
    pub(crate) async fn ship(
        &mut self,
        source: &FileSource,
        chain: &Chain,
        target: &dyn Target,
        entropy: &dyn Entropy,
        (from, until): (u64, u64),
    ) -> Result<u64, BackupError> {
        let looked = source.clone();
        let found = blocking(move || list(&looked)).await;
        let found = found.map_err(|error| unreadable(&source.root, &error))?;
        let mut placing = Placing {
            from,
            until,
            ..Placing::default()
        };
        let gone = self.files.keys().filter(|path| !found.contains_key(*path));
        placing.went = gone.cloned().collect();
        let mut bytes = 0;
        for (path, (size, modified_millis)) in found {
            let is_known = self.files.get(&path).is_some_and(|known| {
                (known.bytes, known.modified_millis) == (size, modified_millis)
            });
            if is_known {
                continue;
            }
            let shipped = self
                .ship_file(&source.root.join(&path), chain, target, entropy)
                .await?;
            let Some((sha256, size)) = shipped else {
                // It went meanwhile, so no commit from here on names it.
                continue;
            };
            bytes += size;
            placing.came.push(Placed {
                path,
                sha256,
                bytes: size,
                modified_millis,
            });
        }
        if placing.came.is_empty() && placing.went.is_empty() {
            return Ok(bytes);
        }
        let name = chain.name.placing(self.next);
        let content = serde_json::json!(placing).to_string();
        let object = chain.seal.close(&name, content.as_bytes(), entropy);
        target.put(&name, object.into()).await?;
        self.next += 1;
        for path in &placing.went {
            self.files.remove(path);
        }
        for file in placing.came {
            self.digests.insert(file.sha256.clone());
            self.files.insert(file.path.clone(), file);
        }
        Ok(bytes)
    }

    /// Ships the bytes of a file, unless they are there. Its digest and size; none if it is gone.
    async fn ship_file(
        &mut self,
        path: &Path,
        chain: &Chain,
        target: &dyn Target,
        entropy: &dyn Entropy,
    ) -> Result<Option<(String, u64)>, BackupError> {
        let failed = |error: io::Error| unreadable(path, &error);
        let hashed = path.to_owned();
        let (sha256, size) = match blocking(move || digest(&hashed)).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            hashed => hashed.map_err(failed)?,
        };
        if self.digests.contains(&sha256) {
            return Ok(Some((sha256, size)));
        }
        let opened = path.to_owned();
        let mut file = match blocking(move || File::open(opened)).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(failed)?,
        };
        for number in 0..parts(size) {
            let read = blocking(move || {
                let mut part = Vec::new();
                (&mut file).take(PART_BYTES as u64).read_to_end(&mut part)?;
                Ok((file, part))
            });
            let (next, part) = read.await.map_err(failed)?;
            file = next;
            let name = chain.name.part(&sha256, number);
            let object = chain.seal.close(&name, &part, entropy);
            match target.put(&name, object.into()).await {
                // The name says what is in it, so an earlier attempt has put it.
                Ok(()) | Err(BackupError::Exists { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.digests.insert(sha256.clone());
        Ok(Some((sha256, size)))
    }
}

/// How many parts a file has; an empty one has one.
fn parts(bytes: u64) -> u64 {
    bytes.div_ceil(PART_BYTES as u64).max(1)
}

async fn placing(chain: &Chain, target: &dyn Target, number: u64) -> Result<Placing, BackupError> {
    let name = chain.name.placing(number);
    let content = chain.seal.open(&name, &target.get(&name).await?)?;
    serde_json::from_slice(&content).map_err(|error| BackupError::damaged(&name, error.to_string()))
}

/// The files that a backup has for a commit.
#[derive(Clone)]
pub struct KeptFiles {
    chain: Chain,
    files: BTreeMap<String, Placed>,
}

impl KeptFiles {
    pub(crate) async fn at(
        chain: &Chain,
        target: &dyn Target,
        placings: &[u64],
        commit: u64,
    ) -> Result<KeptFiles, BackupError> {
        let mut files = BTreeMap::new();
        for (expected, number) in (0..).zip(placings) {
            if *number != expected {
                let name = chain.name.placing(expected);
                return Err(BackupError::Missing { name });
            }
            let placing = placing(chain, target, *number).await?;
            if placing.from > commit {
                break;
            }
            for path in placing.went.iter().filter(|_| placing.until < commit) {
                files.remove(path);
            }
            for file in placing.came {
                files.insert(file.path.clone(), file);
            }
        }
        let chain = chain.clone();
        Ok(KeptFiles { chain, files })
    }

    /// Whether there is a file for this path.
    pub fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Puts a file below a directory as it was. An error if the backup does not have it.
    pub async fn restore(
        &self,
        target: &dyn Target,
        path: &str,
        root: &Path,
    ) -> Result<(), BackupError> {
        let chain = self.chain.name;
        let missing = || BackupError::Missing {
            name: format!("{chain}: the file {path}"),
        };
        let file = self.files.get(path).ok_or_else(missing)?;
        if !is_below(path) {
            let name = format!("{chain}: the file {path:?}");
            return Err(BackupError::damaged(
                &name,
                "its place is outside of the directory",
            ));
        }
        let place = root.join(path);
        let failed = |error: io::Error| unreadable(&place, &error);
        let mut written = create(&place).map_err(failed)?;
        let mut hash = Sha256::new();
        for number in 0..parts(file.bytes) {
            let name = chain.part(&file.sha256, number);
            let part = self.chain.seal.open(&name, &target.get(&name).await?)?;
            hash.update(&part);
            written.write_all(&part).map_err(failed)?;
        }
        written.sync_all().map_err(failed)?;
        let digest: [u8; 32] = hash.finalize().into();
        if hex(&digest) != file.sha256 {
            let name = chain.part(&file.sha256, 0);
            return Err(BackupError::damaged(&name, "the file is not what it was"));
        }
        Ok(())
    }
}

/// Whether a path leads further down at every step. Whoever can write to a backup that is not
/// encrypted chooses the paths in it.
fn is_below(path: &str) -> bool {
    let mut steps = Path::new(path).components();
    steps.all(|step| matches!(step, Component::Normal(_)))
}

/// The objects with bytes that no moment from a commit on needs.
pub(crate) async fn unneeded(
    chain: &Chain,
    target: &dyn Target,
    objects: &ChainObjects,
    commit: u64,
) -> Result<Vec<String>, BackupError> {
    let (mut files, mut needed) = (BTreeMap::<String, String>::new(), BTreeSet::new());
    for number in &objects.placings {
        let placing = placing(chain, target, *number).await?;
        if placing.until >= commit {
            needed.extend(files.values().cloned());
        }
        for path in &placing.went {
            files.remove(path);
        }
        files.extend(
            placing
                .came
                .into_iter()
                .map(|file| (file.path, file.sha256)),
        );
    }
    needed.extend(files.into_values());
    let is_unneeded = |name: &&String| match names::parse(name) {
        Some((_, names::Kind::Part { sha256 })) => !needed.contains(&sha256),
        _ => false,
    };
    Ok(objects.names.iter().filter(is_unneeded).cloned().collect())
}

/// The files below a directory: their sizes, and when they were written.
fn list(source: &FileSource) -> io::Result<BTreeMap<String, (u64, i64)>> {
    let mut found = BTreeMap::new();
    walk(source, &source.root, "", &mut found)?;
    Ok(found)
}

fn walk(
    source: &FileSource,
    folder: &Path,
    name: &str,
    found: &mut BTreeMap<String, (u64, i64)>,
) -> io::Result<()> {
    if source.left_out.iter().any(|left_out| folder == left_out) {
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
            walk(source, &path, &below, found)?;
        } else if metadata.is_file() && !own.contains('#') {
            // A name with `#` is of one that is being written.
            let modified = metadata
                .modified()?
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            let millis = i64::try_from(modified.as_millis()).unwrap_or(i64::MAX);
            found.insert(below, (metadata.len(), millis));
        }
    }
    Ok(())
}

fn digest(path: &Path) -> io::Result<(String, u64)> {
    let mut file = File::open(path)?;
    let (mut hash, mut size) = (Sha256::new(), 0);
    let mut buffer = vec![0; 65_536];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            let digest: [u8; 32] = hash.finalize().into();
            return Ok((hex(&digest), size));
        }
        hash.update(&buffer[..read]);
        size += read as u64;
    }
}

fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
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

#[cfg(test)]
mod tests {
    use super::is_below;

    #[test]
    fn paths_that_lead_elsewhere_are_none() {
        assert!(is_below("bucket/photos/1.jpg"));
        for path in ["bucket/../../1.jpg", "../1.jpg", "/etc/cron.d/1", "./1.jpg"] {
            assert!(!is_below(path), "{path}");
        }
    }
}
