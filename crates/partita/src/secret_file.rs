//! The installation's secret: found or made.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use partita_api::Secret;
use partita_api::secret::SECRET_BYTES_MIN;
use partita_store::Entropy as _;
use partita_store::surroundings::SystemEntropy;
use tracing::{info, warn};

use crate::cli::SecretFlags;
use crate::private;

/// Reads the given secret, or the one in the data directory, which is made at the first start.
pub(crate) fn find_or_make(flags: &SecretFlags) -> Result<Secret> {
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
    read(&path)
}

/// Reads the given secret, or the one in the data directory. None is made: tokens of a secret that
/// no server has are good for nothing.
pub(crate) fn find(flags: &SecretFlags) -> Result<Secret> {
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
    read(&path)
}

fn place(flags: &SecretFlags) -> PathBuf {
    let given = flags.secret_file.clone();
    given.unwrap_or_else(|| flags.data.join("secret"))
}

fn read(path: &Path) -> Result<Secret> {
    #[cfg(unix)]
    demand_safe(path)?;
    let bytes =
        fs::read(path).with_context(|| format!("cannot read the secret {}", path.display()))?;
    Secret::new(bytes).with_context(|| format!("the secret {} is no good", path.display()))
}

/// Refuses a secret that others can write: with it they make tokens for anybody. So does everybody
/// who can read it.
#[cfg(unix)]
fn demand_safe(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let Ok(found) = path.metadata() else {
        return Ok(());
    };
    let mode = found.permissions().mode();
    if mode & 0o022 != 0 {
        let path = path.display();
        bail!("others can write the secret {path}: make a new one that is yours alone (mode 0600)");
    }
    if mode & 0o004 != 0 {
        warn!(path = %path.display(), "everybody on this machine can read the secret; mode 0600 is yours alone");
    }
    Ok(())
}

/// Writes a new secret beside the path and links it there, so that a reader finds the file
/// whole, and the first of two processes wins.
fn make(path: &Path) -> std::io::Result<()> {
    let mut secret = [0; SECRET_BYTES_MIN];
    SystemEntropy.fill(&mut secret);
    // A name that no draft of a process that died can have.
    let mut random = [0; 8];
    SystemEntropy.fill(&mut random);
    let draft = path.with_extension(format!("{:016x}.draft", u64::from_le_bytes(random)));
    let mut file = private_file(&draft)?;
    file.write_all(&secret)?;
    file.sync_all()?;
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        linked => linked?,
    }
    sync_directory(path)
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
