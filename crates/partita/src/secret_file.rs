//! The installation's secrets: found, made, and read again when their file changes.
//!
//! | module | what it holds |
//! |---|---|
//! | `list` | the form of a file with several secrets |

pub(crate) mod list;

use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use partita_api::Secrets;
use partita_api::secret::SECRET_BYTES_MIN;
use partita_store::Entropy as _;
use partita_store::surroundings::SystemEntropy;
use tracing::{info, warn};

use crate::cli::SecretFlags;
use crate::draft::Draft;
use crate::private;
use list::SecretList;

/// Bytes of a file with secrets, at most.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// How often a server looks whether the file has changed.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Reads the given secret, or the one in the data directory, which is made at the first start.
pub(crate) fn find_or_make(flags: &SecretFlags) -> Result<Followed> {
    let path = place(flags);
    if flags.secret_file.is_none() {
        private::demand_own(&flags.data)?;
    }
    if flags.secret_file.is_none() && !path.exists() {
        fs::create_dir_all(&flags.data).with_context(|| {
            format!("cannot create the data directory {}", flags.data.display())
        })?;
        make(&path).with_context(|| format!("cannot create the secret {}", path.display()))?;
        info!(path = %path.display(), "made a new secret");
    }
    Followed::read(path)
}

/// Reads the given secret, or the one in the data directory. None is made: tokens of a secret that
/// no server has are good for nothing.
pub(crate) fn find(flags: &SecretFlags) -> Result<Secrets> {
    let path = find_place(flags)?;
    report_readable(&path);
    Ok(Secrets::new(read(&path)?.accepted())?)
}

/// Where the given secret is, or the one in the data directory, if it is there.
pub(crate) fn find_place(flags: &SecretFlags) -> Result<PathBuf> {
    let path = place(flags);
    if flags.secret_file.is_none() {
        private::demand_own(&flags.data)?;
    }
    if flags.secret_file.is_none() && !path.exists() {
        let data = flags.data.display();
        let what = if flags.data.is_dir() {
            "secret in the data directory"
        } else {
            "data directory"
        };
        bail!(
            "there is no {what} {data}: check the path, start `partita serve` there once, or give \
             a secret with --secret-file"
        );
    }
    Ok(path)
}

fn place(flags: &SecretFlags) -> PathBuf {
    let given = flags.secret_file.clone();
    given.unwrap_or_else(|| flags.data.join("secret"))
}

/// The secrets in a file. It is a regular file that no other user can write or replace unnoticed:
/// whoever decides what is in it makes tokens for anybody.
pub(crate) fn read(path: &Path) -> Result<SecretList> {
    let shown = path.display();
    let bytes = read_safe(path).with_context(|| format!("cannot read the secret {shown}"))?;
    SecretList::parse(bytes).with_context(|| format!("the secret {shown} is no good"))
}

fn read_safe(path: &Path) -> Result<Vec<u8>> {
    #[cfg(unix)]
    let file = open_safe(path, rustix::fs::OFlags::empty())?;
    #[cfg(not(unix))]
    let file = File::open(path)?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        bail!("it has more than {FILE_BYTES_MAX} bytes");
    }
    Ok(bytes)
}

/// Opens a file with secrets, and looks at what was opened: its name may lead elsewhere meanwhile.
#[cfg(unix)]
fn open_safe(path: &Path, flags: rustix::fs::OFlags) -> Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    // Opening a pipe would wait for somebody who writes to it.
    let flags = flags | rustix::fs::OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true);
    options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    let file = options.open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        bail!("it is no regular file");
    }
    demand_safe(&found)?;
    Ok(file)
}

/// The secrets of a server. They follow their file.
#[derive(Clone)]
pub(crate) struct Followed {
    pub(crate) secrets: Secrets,
    path: PathBuf,
    /// What the file had when it was last read.
    read: Arc<Mutex<SecretList>>,
}

impl Followed {
    fn read(path: PathBuf) -> Result<Followed> {
        report_readable(&path);
        let list = read(&path)?;
        Ok(Followed {
            secrets: Secrets::new(list.accepted())?,
            path,
            read: Arc::new(Mutex::new(list)),
        })
    }

    /// Reads the file again and answers with the names of its secrets. What was signed with a secret
    /// that is no longer in it is refused from now on.
    pub(crate) fn reload(&self) -> Result<Vec<String>> {
        let mut known = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let list = read(&self.path)?;
        if *known != list {
            self.secrets.replace(list.accepted())?;
            *known = list;
            info!(path = %self.path.display(), "the secrets have changed");
        }
        known.names()
    }

    /// Reads the file again whenever it changes. While it cannot be read, the secrets stay.
    pub(crate) fn start_following(self) {
        tokio::spawn(async move {
            let mut last_error = None;
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                // A disk or a mount that hangs keeps this task waiting, and nobody else.
                let followed = self.clone();
                let reloaded = tokio::task::spawn_blocking(move || followed.reload()).await;
                let error = match reloaded {
                    Ok(Ok(_)) => None,
                    Ok(Err(error)) => Some(format!("{error:#}")),
                    Err(error) => Some(error.to_string()),
                };
                if let Some(error) = &error
                    && last_error.as_ref() != Some(error)
                {
                    warn!("the secrets stay as they were: {error}");
                }
                last_error = error;
            }
        });
    }
}

#[cfg(unix)]
fn demand_safe(found: &fs::Metadata) -> Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::geteuid().as_raw();
    if found.mode() & 0o022 != 0 {
        bail!("others can write the secret: make a new one that is yours alone (mode 0600)");
    }
    if found.uid() != user && found.uid() != 0 && user != 0 {
        bail!("it belongs to another user: make one that is yours");
    }
    Ok(())
}

/// Says so where everybody on the machine can read a secret.
fn report_readable(path: &Path) {
    #[cfg(unix)]
    if let Ok(found) = path.metadata() {
        use std::os::unix::fs::PermissionsExt as _;
        if found.permissions().mode() & 0o004 != 0 {
            warn!(path = %path.display(), "everybody on this machine can read the secret; mode 0600 is yours alone");
        }
    }
    #[cfg(not(unix))]
    let _ = path;
}

/// Writes a new secret beside the path and links it there, so that a reader finds the file
/// whole, and the first of two processes wins.
fn make(path: &Path) -> std::io::Result<()> {
    Draft::write(path, &new_secret())?.take(path)
}

/// The file that a path leads to, resolved once: every later step uses the same file, whatever
/// becomes of a link meanwhile. A link of another user is not followed to a file that is not
/// theirs, because whoever runs a command as root would replace that file for them.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf> {
    let resolved = || {
        let file = fs::canonicalize(path)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            let link = fs::symlink_metadata(path)?.uid();
            let user = rustix::process::geteuid().as_raw();
            if link != user && link != 0 && link != file.symlink_metadata()?.uid() {
                bail!("a link of another user leads to {}", file.display());
            }
        }
        Ok(file)
    };
    resolved().with_context(|| format!("cannot find the secret {}", path.display()))
}

/// Keeps other commands from the secrets in a file until it is dropped. The lock is a file of its own,
/// because the secrets' is replaced. It belongs to the owner of the secrets, who locks it too.
pub(crate) fn lock(path: &Path) -> Result<File> {
    let lock = path.with_extension("lock");
    let locked = || {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        {
            use rustix::fs::OFlags;
            use std::os::unix::fs::OpenOptionsExt as _;
            // A link would have a file made elsewhere, and a pipe would wait for its reader.
            let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
            options.mode(0o600);
            options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
        }
        let file = options.open(&lock)?;
        if !file.metadata()?.is_file() {
            bail!("it is no regular file");
        }
        #[cfg(unix)]
        give_to_owner(path, &file)?;
        file.lock()?;
        Ok(file)
    };
    locked().with_context(|| format!("cannot lock {}", lock.display()))
}

/// Gives a lock that root has made to the owner of the secrets. One that has a second name is
/// somebody's file.
#[cfg(unix)]
fn give_to_owner(secrets: &Path, lock: &File) -> std::io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let (owner, found) = (fs::symlink_metadata(secrets)?, lock.metadata()?);
    let is_roots = found.uid() == 0 && found.nlink() == 1 && found.len() == 0;
    if is_roots && rustix::process::geteuid().is_root() && owner.uid() != 0 {
        fchown(lock, Some(owner.uid()), Some(owner.gid()))?;
    }
    Ok(())
}

/// Replaces the secrets in a resolved file, which a reader finds whole, as it was or as it will be.
/// It stays its owner's, with the mode that it has.
pub(crate) fn write(path: &Path, list: &SecretList) -> Result<()> {
    let replace = || -> Result<()> {
        #[cfg(unix)]
        let found = open_safe(path, rustix::fs::OFlags::NOFOLLOW)?.metadata()?;
        let draft = Draft::write(path, list.to_text().as_bytes())?;
        #[cfg(unix)]
        {
            draft.give(&found)?;
            draft.allow(&found)?;
        }
        Ok(draft.replace(path)?)
    };
    replace().with_context(|| format!("cannot write the secrets {}", path.display()))
}

/// A secret that nobody has seen.
pub(crate) fn new_secret() -> Vec<u8> {
    let mut secret = vec![0; SECRET_BYTES_MIN];
    SystemEntropy.fill(&mut secret);
    secret
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};

    use super::*;

    #[test]
    fn secrets_that_are_replaced_stay_their_owners() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        make(&path).unwrap();
        let list = read(&path).unwrap();
        // A mode that lets a program act as its owner is none of a secret's.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o4640)).unwrap();
        let is_given = chown(&path, Some(65_534), Some(65_534)).is_ok();
        if is_given {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o4640)).unwrap();
        }
        write(&path, &list).unwrap();
        let found = path.metadata().unwrap();
        assert_eq!(found.permissions().mode() & 0o7777, 0o640);
        assert_eq!(found.uid() == 65_534, is_given);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

        // Somebody has put a link there since it was resolved.
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert!(write(&path, &list).is_err());
        assert!(path.is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
