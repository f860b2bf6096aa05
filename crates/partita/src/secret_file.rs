//! The installation's secret: found or made.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use partita_api::Secret;
use partita_api::secret::SECRET_BYTES_MIN;
use partita_store::Entropy as _;
use partita_store::surroundings::SystemEntropy;
use tracing::info;

use crate::cli::SecretFlags;

/// Reads the given secret, or the one in the data directory, which is made at the first start.
pub(crate) fn load(flags: &SecretFlags) -> Result<Secret> {
    let path = match &flags.secret_file {
        Some(path) => path.clone(),
        None => find_or_make(&flags.data)?,
    };
    let bytes =
        fs::read(&path).with_context(|| format!("cannot read the secret {}", path.display()))?;
    Secret::new(bytes).with_context(|| format!("the secret {} is no good", path.display()))
}

fn find_or_make(data: &Path) -> Result<PathBuf> {
    let path = data.join("secret");
    if path.exists() {
        return Ok(path);
    }
    fs::create_dir_all(data)
        .with_context(|| format!("cannot create the data directory {}", data.display()))?;
    make(&path).with_context(|| format!("cannot create the secret {}", path.display()))?;
    info!(path = %path.display(), "made a new secret");
    Ok(path)
}

/// Writes a new secret beside the path and links it there, so that whoever finds the file finds
/// it whole, and the first of two processes wins.
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
