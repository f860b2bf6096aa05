//! Files that take the place of others: a reader finds one whole, as it was or as it will be.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use partita_store::Entropy as _;
use partita_store::surroundings::SystemEntropy;

/// A new file beside another one. It is removed, unless it has taken the place of that.
pub(crate) struct Draft {
    path: PathBuf,
    file: File,
}

impl Draft {
    /// Writes a file beside a path, for its owner alone. Nobody knows its name before it is there, so
    /// nobody has put a link in its place, and no draft of a process that died has it.
    pub(crate) fn write(beside: &Path, bytes: &[u8]) -> io::Result<Draft> {
        let mut random = [0; 8];
        SystemEntropy.fill(&mut random);
        let extension = format!("{:016x}.draft", u64::from_le_bytes(random));
        let path = beside.with_extension(extension);
        let file = create(&path)?;
        let mut draft = Draft { path, file };
        draft.file.write_all(bytes)?;
        draft.file.sync_all()?;
        Ok(draft)
    }

    /// Gives the file to the owner and the group of another one. It is this file whatever has become
    /// of its name meanwhile.
    #[cfg(unix)]
    pub(crate) fn give(&self, wanted: &fs::Metadata) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let found = self.file.metadata()?;
        if (wanted.uid(), wanted.gid()) != (found.uid(), found.gid()) {
            fchown(&self.file, Some(wanted.uid()), Some(wanted.gid()))?;
        }
        Ok(())
    }

    /// Gives the file the rights of another one, none of which lets a program act as its owner.
    #[cfg(unix)]
    pub(crate) fn allow(&self, wanted: &fs::Metadata) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = wanted.permissions().mode() & 0o777;
        self.file.set_permissions(fs::Permissions::from_mode(mode))
    }

    /// Takes the place of a file.
    pub(crate) fn replace(self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        sync_directory(path)
    }

    /// Takes a place, unless there is something already: the first of two processes wins.
    pub(crate) fn take(self, path: &Path) -> io::Result<()> {
        match fs::hard_link(&self.path, path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            linked => linked?,
        }
        drop(self);
        sync_directory(path)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // It is not there any more if it has taken a place.
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes a file for its owner alone, as a whole or not at all. What root writes in the place of
/// another user's file is that user's, who could not open it otherwise.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = Draft::write(path, bytes)?;
    match path.symlink_metadata() {
        Ok(found) if !found.is_file() => return Err(io::Error::other("it is no regular file")),
        #[cfg(unix)]
        Ok(found) if rustix::process::geteuid().is_root() => draft.give(&found)?,
        _ => {}
    }
    draft.replace(path)
}

/// Creates a file that is not there, for its owner alone.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(directory) if cfg!(unix) => File::open(directory)?.sync_all(),
        _ => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};

    use super::*;

    #[test]
    fn what_is_replaced_keeps_its_owner_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (folder.path().join("mark"), folder.path().join("elsewhere"));
        fs::write(&elsewhere, "mine").unwrap();
        symlink(&elsewhere, folder.path().join("mark.draft")).unwrap();
        put(&path, b"first").unwrap();
        let is_given = chown(&path, Some(65_534), None).is_ok();
        put(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        let found = path.metadata().unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o600);
        assert_eq!(found.uid() == 65_534, is_given);
        // A link in its own place is refused, and the draft is gone.
        fs::remove_file(&path).unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert!(put(&path, b"third").is_err());
        assert_eq!(fs::read(&elsewhere).unwrap(), b"mine");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}
