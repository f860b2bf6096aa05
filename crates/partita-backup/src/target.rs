//! Where objects are.

#[cfg(feature = "s3")]
pub mod s3;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use bytes::Bytes;
use partita_store::Entropy as _;
use partita_store::surroundings::SystemEntropy;

use crate::error::BackupError;
use crate::names;
use crate::sealing::hex;

/// Where objects are: names, and bytes that never change.
#[async_trait]
pub trait Target: fmt::Debug + Send + Sync {
    /// Puts an object that is not there yet, as a whole or not at all. It is there for good when this
    /// returns. One that is there stays as it is: [`BackupError::Exists`].
    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), BackupError>;

    /// The bytes of an object, or [`BackupError::Missing`]. One that is larger than any of its name is
    /// damaged, and not read.
    async fn get(&self, name: &str) -> Result<Bytes, BackupError>;

    /// The names of the objects below a prefix that ends in `/`, with their sizes, in their order.
    async fn list(&self, prefix: &str) -> Result<Vec<Listed>, BackupError>;

    /// Removes an object, if it is there.
    async fn remove(&self, name: &str) -> Result<(), BackupError>;
}

/// An object that was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// What it is called.
    pub name: String,
    /// How large it is.
    pub bytes: u64,
}

/// Puts an object. One that is there already with the same bytes was put before, and only the answer
/// was lost.
pub(crate) async fn put_once(
    target: &dyn Target,
    name: &str,
    bytes: &Bytes,
) -> Result<(), BackupError> {
    match target.put(name, bytes.clone()).await {
        Err(BackupError::Exists { .. }) if target.get(name).await? == *bytes => Ok(()),
        put => put,
    }
}

/// Refuses an object that is larger than any of its name.
pub(crate) fn demand_bounded(name: &str, bytes: u64) -> Result<(), BackupError> {
    let max = names::bytes_max(name);
    if bytes <= max {
        return Ok(());
    }
    let reason = format!("it has {bytes} bytes, and an object of this name has at most {max}");
    Err(BackupError::damaged(name, reason))
}

/// Objects in a directory: files, 0600 in directories of 0700.
#[derive(Debug)]
pub struct DirectoryTarget {
    root: PathBuf,
}

/// Where objects are until they have their name.
const DRAFTS: &str = "drafts";

impl DirectoryTarget {
    /// Objects in this directory, which is created when the first is put.
    pub fn new(root: impl Into<PathBuf>) -> DirectoryTarget {
        DirectoryTarget { root: root.into() }
    }

    fn path(&self, name: &str) -> Result<PathBuf, BackupError> {
        // Names are ours, but a list may come from elsewhere.
        let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        if name.split('/').all(is_plain) {
            Ok(self.root.join(name))
        } else {
            Err(failed(name, &io::Error::from(ErrorKind::InvalidInput)))
        }
    }

    fn put_here(root: &Path, draft: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let folder = path.parent().unwrap_or(root);
        make_folders(root, folder)?;
        let drafts = draft.parent().unwrap_or(root);
        make_folders(root, drafts)?;
        let file = create(draft)?;
        let written = write(file, bytes).and_then(|()| place(draft, path));
        let removed = fs::remove_file(draft);
        written?;
        match removed {
            // Where there are no links it was renamed.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            removed => removed?,
        }
        sync(folder)
    }
}

#[async_trait]
impl Target for DirectoryTarget {
    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), BackupError> {
        let path = self.path(name)?;
        let (root, draft) = (self.root.clone(), self.root.join(draft()));
        let put =
            on_blocking_thread(move || DirectoryTarget::put_here(&root, &draft, &path, &bytes))
                .await;
        put.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => BackupError::Exists {
                name: name.to_owned(),
            },
            _ => failed(name, &error),
        })
    }

    async fn get(&self, name: &str) -> Result<Bytes, BackupError> {
        let path = self.path(name)?;
        let max = names::bytes_max(name);
        let read = on_blocking_thread(move || {
            // What is no file may never end.
            let found = fs::metadata(&path)?;
            let mut bytes = Vec::new();
            if found.is_file() && found.len() <= max {
                File::open(&path)?.take(max).read_to_end(&mut bytes)?;
            }
            Ok((found, bytes))
        });
        let read = read.await.map_err(|error| match error.kind() {
            ErrorKind::NotFound => BackupError::Missing {
                name: name.to_owned(),
            },
            _ => failed(name, &error),
        });
        let (found, bytes) = read?;
        if !found.is_file() {
            return Err(BackupError::damaged(name, "it is no file"));
        }
        demand_bounded(name, found.len())?;
        Ok(Bytes::from(bytes))
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Listed>, BackupError> {
        let path = self.path(prefix.trim_end_matches('/'))?;
        let root = prefix.trim_end_matches('/').to_owned();
        let listed = on_blocking_thread(move || {
            let mut found = Vec::new();
            walk(&path, &root, &mut found)?;
            found.sort();
            Ok(found)
        });
        listed.await.map_err(|error| failed(prefix, &error))
    }

    async fn remove(&self, name: &str) -> Result<(), BackupError> {
        let path = self.path(name)?;
        let removed = on_blocking_thread(move || {
            fs::remove_file(&path)?;
            // A folder goes with its last object.
            let folders = path.ancestors().skip(1).take(2);
            let _ = folders.map(fs::remove_dir).all(|removed| removed.is_ok());
            Ok(())
        });
        match removed.await {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(|error| failed(name, &error)),
        }
    }
}

/// Does what may take its time on a thread that may be kept waiting.
async fn on_blocking_thread<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(io::Error::other(error)))
}

fn make_folders(root: &Path, folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    // A backup has everything that the store has.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    let made = folder.ancestors().take_while(|path| path.starts_with(root));
    for path in made.chain(root.parent()) {
        if !path.as_os_str().is_empty() {
            sync(path)?;
        }
    }
    Ok(())
}

/// A name that nobody else has: neither another backup of this process, nor a process of another
/// container or machine that has the same id.
fn draft() -> String {
    let mut random = [0; 16];
    SystemEntropy.fill(&mut random);
    format!("{DRAFTS}/{}", hex(&random))
}

fn create(draft: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(draft)
}

fn write(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_all()
}

/// Gives a file its name, unless something else has it.
fn place(draft: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(draft, path) {
        // Some file systems have no links. There is one writer then, so nobody comes in between.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::Unsupported | ErrorKind::PermissionDenied
            ) =>
        {
            if path.try_exists()? {
                return Err(ErrorKind::AlreadyExists.into());
            }
            fs::rename(draft, path)
        }
        linked => linked,
    }
}

/// A new name is on disk when its directory is.
fn sync(folder: &Path) -> io::Result<()> {
    // Windows has no such operation and needs none.
    if cfg!(windows) {
        return Ok(());
    }
    File::open(folder)?.sync_all()
}

fn walk(folder: &Path, name: &str, found: &mut Vec<Listed>) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        let metadata = match entry.metadata() {
            // It was removed meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        if metadata.is_dir() {
            walk(&entry.path(), &name, found)?;
        } else {
            found.push(Listed {
                name,
                bytes: metadata.len(),
            });
        }
    }
    Ok(())
}

fn failed(name: &str, error: &io::Error) -> BackupError {
    BackupError::Target {
        name: name.to_owned(),
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_object_is_put_once() {
        let folder = tempfile::tempdir().unwrap();
        let target = DirectoryTarget::new(folder.path().join("a/b"));
        assert_eq!(target.list("chains/").await.unwrap(), []);
        target
            .put("chains/1/x", Bytes::from_static(b"one"))
            .await
            .unwrap();
        let again = target.put("chains/1/x", Bytes::from_static(b"two")).await;
        assert!(
            matches!(again, Err(BackupError::Exists { .. })),
            "{again:?}"
        );
        assert_eq!(target.get("chains/1/x").await.unwrap(), b"one"[..]);
        let listed = target.list("chains/").await.unwrap();
        assert_eq!(listed[0].name, "chains/1/x");
        assert_eq!(listed.len(), 1, "no draft is left");
        target.remove("chains/1/x").await.unwrap();
        target.remove("chains/1/x").await.unwrap();
        let missing = target.get("chains/1/x").await;
        assert!(matches!(missing, Err(BackupError::Missing { .. })));
        assert!(target.get("../secret").await.is_err());
    }

    /// What somebody else has put in the place of an object fills no memory, and nobody waits for it.
    #[cfg(unix)]
    #[tokio::test]
    async fn what_is_no_object_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let target = DirectoryTarget::new(folder.path());
        let large = "chains/000001/bases/00000000000000000001-00000001/000000";
        target.put(large, Bytes::from_static(b"x")).await.unwrap();
        let file = File::options().write(true).open(folder.path().join(large));
        file.unwrap().set_len(1 << 40).unwrap();
        let pipe = "chains/000001/chain.json";
        let made = std::process::Command::new("mkfifo")
            .arg(folder.path().join(pipe))
            .status();
        assert!(made.unwrap().success());
        for (name, reason) in [(large, "at most 33554432"), (pipe, "it is no file")] {
            let read = target.get(name).await.unwrap_err();
            assert!(matches!(read, BackupError::Damaged { .. }), "{read}");
            assert!(read.to_string().contains(reason), "{read}");
        }
    }

    /// Backups at the same time, each with a target of its own on the same directory.
    #[tokio::test(flavor = "multi_thread")]
    async fn backups_at_the_same_time_have_drafts_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let puts = (0..8_u8).map(|backup| {
            let target = DirectoryTarget::new(folder.path());
            tokio::spawn(async move {
                for number in 0..20 {
                    let bytes = Bytes::from(vec![backup; 100_000]);
                    let name = format!("chains/{backup}/{number}");
                    target.put(&name, bytes).await.unwrap();
                }
            })
        });
        for put in puts.collect::<Vec<_>>() {
            put.await.unwrap();
        }
        let target = DirectoryTarget::new(folder.path());
        for backup in 0..8_u8 {
            for number in 0..20 {
                let bytes = target.get(&format!("chains/{backup}/{number}")).await;
                assert_eq!(bytes.unwrap(), vec![backup; 100_000]);
            }
        }
    }
}
