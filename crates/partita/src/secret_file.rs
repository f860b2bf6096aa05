//! The installation's secrets: found, made, and read again when their file changes.
//!
//! | module | what it holds |
//! |---|---|
//! | `list` | the form of a file with several secrets |

pub(crate) mod list;

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
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
    let mut options = OpenOptions::new();
    options.read(true);
    // Opening a pipe would wait for somebody who writes to it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default(),
    );
    let file = options.open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        bail!("it is no regular file");
    }
    #[cfg(unix)]
    demand_safe(&found)?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        bail!("it has more than {FILE_BYTES_MAX} bytes");
    }
    Ok(bytes)
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
    let draft = write_draft(path, &new_secret())?;
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        linked => linked?,
    }
    sync_directory(path)
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
    let replace = || {
        let draft = write_draft(path, list.to_text().as_bytes())?;
        let replaced = keep_owner(path, &draft).and_then(|()| fs::rename(&draft, path));
        replaced.inspect_err(|_| {
            let _ = fs::remove_file(&draft);
        })?;
        sync_directory(path)
    };
    replace().with_context(|| format!("cannot write the secrets {}", path.display()))
}

/// Gives a file the owner, group and mode of another one.
#[cfg(unix)]
fn keep_owner(of: &Path, to: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let (wanted, found) = (fs::symlink_metadata(of)?, fs::symlink_metadata(to)?);
    if !wanted.is_file() {
        return Err(std::io::Error::other("it is no regular file any more"));
    }
    if (wanted.uid(), wanted.gid()) != (found.uid(), found.gid()) {
        chown(to, Some(wanted.uid()), Some(wanted.gid()))?;
    }
    fs::set_permissions(to, wanted.permissions())
}

#[cfg(not(unix))]
fn keep_owner(_: &Path, _: &Path) -> std::io::Result<()> {
    Ok(())
}

/// A secret that nobody has seen.
pub(crate) fn new_secret() -> Vec<u8> {
    let mut secret = vec![0; SECRET_BYTES_MIN];
    SystemEntropy.fill(&mut secret);
    secret
}

/// Writes a file beside the path, for its owner alone.
fn write_draft(path: &Path, bytes: &[u8]) -> std::io::Result<PathBuf> {
    // A name that no draft of a process that died can have.
    let mut random = [0; 8];
    SystemEntropy.fill(&mut random);
    let draft = path.with_extension(format!("{:016x}.draft", u64::from_le_bytes(random)));
    let mut file = private_file(&draft)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.inspect_err(|_| {
        let _ = fs::remove_file(&draft);
    })?;
    Ok(draft)
}

fn private_file(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn sync_directory(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(directory) if cfg!(unix) => File::open(directory)?.sync_all(),
        _ => Ok(()),
    }
}
