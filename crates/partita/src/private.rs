//! The data directory is its owner's: directories are 0700 and files 0600.

use std::path::Path;

/// Lets nobody else read what this process creates from now on, and what it finds of its own in a
/// data directory.
#[cfg(unix)]
pub(crate) fn keep(data: &Path) {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let closed = unix::close(data);
    if closed.entries > 0 {
        tracing::info!(
            path = %data.display(),
            entries = closed.entries,
            "others could read the data directory; now only its owner can"
        );
    }
    if let Some((path, error)) = closed.failure {
        tracing::warn!(path = %path.display(), "others can still read this: {error}");
    }
}

/// Elsewhere a directory has the rights of the one around it.
#[cfg(not(unix))]
pub(crate) fn keep(_: &Path) {}

#[cfg(unix)]
mod unix {
    use std::fs::{self, Metadata, Permissions};
    use std::io;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::{Path, PathBuf};

    /// The directories and files that Partita makes in a data directory.
    const OURS: [&str; 4] = ["store", "files", "secret", crate::socket::NAME];

    /// What was closed to others, and what could not be.
    #[derive(Debug, Default)]
    pub(super) struct Closed {
        pub(super) entries: usize,
        /// The first that could not be.
        pub(super) failure: Option<(PathBuf, io::Error)>,
    }

    /// Closes what is ours in a data directory. The directory itself is ours if there is nothing
    /// else in it.
    pub(super) fn close(data: &Path) -> Closed {
        let mut closed = Closed::default();
        for name in OURS {
            closed.tree(&data.join(name));
        }
        if is_all_ours(data) {
            closed.one(data);
        }
        closed
    }

    fn is_all_ours(data: &Path) -> bool {
        let Ok(entries) = fs::read_dir(data) else {
            return false;
        };
        let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
        let is_ours = |name: std::ffi::OsString| OURS.iter().any(|ours| name == **ours);
        names.into_iter().all(is_ours)
    }

    fn is_open(found: &Metadata) -> bool {
        found.permissions().mode() & 0o077 != 0
    }

    impl Closed {
        /// Closes a file, or a directory with everything in it. One that is closed hides what is
        /// in it, so that nobody goes through it again.
        fn tree(&mut self, path: &Path) {
            let Ok(found) = path.symlink_metadata() else {
                return;
            };
            if found.is_dir() && is_open(&found) {
                let entries = fs::read_dir(path).into_iter().flatten();
                for entry in entries.flatten() {
                    self.inner(&entry.path());
                }
            }
            self.one(path);
        }

        fn inner(&mut self, path: &Path) {
            if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                let entries = fs::read_dir(path).into_iter().flatten();
                for entry in entries.flatten() {
                    self.inner(&entry.path());
                }
            }
            self.one(path);
        }

        fn one(&mut self, path: &Path) {
            let Ok(found) = path.symlink_metadata() else {
                return;
            };
            if found.is_symlink() || !is_open(&found) {
                return;
            }
            let mode = found.permissions().mode() & 0o700;
            match fs::set_permissions(path, Permissions::from_mode(mode)) {
                Ok(()) => self.entries += 1,
                Err(error) => {
                    self.failure.get_or_insert((path.to_owned(), error));
                }
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn set(path: &Path, mode: u32) {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }

        fn mode(path: &Path) -> u32 {
            fs::metadata(path).unwrap().permissions().mode() & 0o777
        }

        #[test]
        fn what_is_ours_is_closed_and_nothing_else() {
            let folder = tempfile::tempdir().unwrap();
            let data = folder.path();
            let inner = data.join("store/data/keyspaces");
            fs::create_dir_all(&inner).unwrap();
            let (file, other) = (inner.join("0"), data.join("notes.txt"));
            for path in [&file, &data.join("secret"), &other] {
                fs::write(path, "x").unwrap();
                set(path, 0o644);
            }
            for path in [data, &data.join("store"), &data.join("store/data"), &inner] {
                set(path, 0o755);
            }
            assert_eq!(close(data).entries, 5);
            assert_eq!((mode(&inner), mode(&file)), (0o700, 0o600));
            assert_eq!(mode(&data.join("secret")), 0o600);
            // Somebody keeps other things here, so the directory is not ours.
            assert_eq!((mode(data), mode(&other)), (0o755, 0o644));
            fs::remove_file(other).unwrap();
            assert_eq!(close(data).entries, 1);
            assert_eq!(mode(data), 0o700);
            assert_eq!(close(data).entries, 0);
        }
    }
}
