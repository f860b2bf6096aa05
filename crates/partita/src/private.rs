//! The data directory is its owner's: directories are 0700 and files 0600.

use std::path::Path;

/// Makes what this process creates from now on, and its own files in a data directory, unreadable
/// to other users.
#[cfg(unix)]
pub(crate) fn keep(data: &Path) {
    close_new();
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

/// Makes what this process creates from now on unreadable to other users.
#[cfg(unix)]
pub(crate) fn close_new() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
}

/// Elsewhere a file has the rights of the directory around it.
#[cfg(not(unix))]
pub(crate) fn close_new() {}

/// Refuses a directory that is another user's, or that others can write: what is put there could
/// be replaced, or be written through a link.
#[cfg(unix)]
pub(crate) fn demand_alone(directory: &Path) -> anyhow::Result<()> {
    use anyhow::Context as _;
    use std::os::unix::fs::MetadataExt as _;
    let shown = directory.display();
    let found = directory.metadata();
    let found = found.with_context(|| format!("cannot look at {shown}"))?;
    let owner = found.uid();
    anyhow::ensure!(
        owner == rustix::process::geteuid().as_raw(),
        "{shown} belongs to another user ({owner}): run as that user, or name a directory that is not there"
    );
    anyhow::ensure!(
        found.mode() & 0o022 == 0,
        "others can write to {shown}: take that away with `chmod go-w`, or name a directory that is not there"
    );
    Ok(())
}

/// Elsewhere users are not told apart by numbers.
#[cfg(not(unix))]
pub(crate) fn demand_alone(_: &Path) -> anyhow::Result<()> {
    Ok(())
}

/// Refuses a data directory that another user has made, or filled. Whoever knows the secret in it
/// makes tokens for anybody, and links in it lead where they like.
#[cfg(unix)]
pub(crate) fn demand_own(data: &Path) -> anyhow::Result<()> {
    unix::demand_own(data)
}

/// Elsewhere users are not told apart by numbers.
#[cfg(not(unix))]
pub(crate) fn demand_own(_: &Path) -> anyhow::Result<()> {
    Ok(())
}

/// Refuses a store of another user, also to root: what root makes in it that user cannot open.
#[cfg(unix)]
pub(crate) fn demand_owner(store: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(found) = store.metadata() else {
        // It is made by whoever needs it.
        return Ok(());
    };
    let owner = found.uid();
    anyhow::ensure!(
        owner == rustix::process::geteuid().as_raw(),
        "{} belongs to the user {owner}, who could not open the files that this command makes there: \
         run it as that user, with `sudo -u '#{owner}'`, or ask a running server",
        store.display()
    );
    Ok(())
}

/// Elsewhere users are not told apart by numbers.
#[cfg(not(unix))]
pub(crate) fn demand_owner(_: &Path) -> anyhow::Result<()> {
    Ok(())
}

/// Refuses settings that somebody else could have written: a file that everybody can write, and
/// one of another user that nobody named.
#[cfg(unix)]
pub(crate) fn demand_trusted(file: &std::fs::Metadata, is_named: bool) -> anyhow::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let (owner, user) = (file.uid(), rustix::process::geteuid().as_raw());
    anyhow::ensure!(
        is_named || owner == user || owner == 0,
        "it belongs to another user ({owner}), who decides by it what this server does: name it with \
         --config if that is meant, or run where there is none"
    );
    anyhow::ensure!(
        file.mode() & 0o002 == 0,
        "everybody can write to it: take that away with `chmod o-w`"
    );
    Ok(())
}

/// Elsewhere users are not told apart by numbers.
#[cfg(not(unix))]
pub(crate) fn demand_trusted(_: &std::fs::Metadata, _: bool) -> anyhow::Result<()> {
    Ok(())
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, Metadata, Permissions};
    use std::io;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::path::{Path, PathBuf};

    use anyhow::{Result, bail};

    use crate::backup::{identity, restored};

    /// The directories and files that Partita makes in a data directory.
    const OURS: [&str; 9] = [
        "store",
        "files",
        partita_api::files::KEPT,
        "secret",
        "secret.lock",
        crate::socket::NAME,
        restored::UNDER_WAY,
        restored::DONE,
        identity::NAME,
    ];

    /// What was closed to others, and what could not be.
    #[derive(Debug, Default)]
    pub(super) struct Closed {
        pub(super) entries: usize,
        /// The first that could not be.
        pub(super) failure: Option<(PathBuf, io::Error)>,
    }

    pub(super) fn demand_own(data: &Path) -> Result<()> {
        let Ok(found) = data.metadata() else {
            // It is made by whoever needs it.
            return Ok(());
        };
        let user = rustix::process::geteuid().as_raw();
        let owner = found.uid();
        if owner != user && owner != 0 && !(user == 0 && is_arranged(data)) {
            bail!(
                "the data directory {} belongs to another user ({owner}), who could have put anything in it: \
                 run as that user, or use a directory of your own",
                data.display()
            );
        }
        if owner == user {
            demand_unwritable(data, &found)?;
        }
        refuse_links(data, owner == user)?;
        for name in OURS {
            let path = data.join(name);
            let Ok(found) = path.metadata() else {
                continue;
            };
            if ![user, owner, 0].contains(&found.uid()) {
                let other = found.uid();
                bail!(
                    "{} belongs to another user ({other}): look who has put it there",
                    path.display()
                );
            }
        }
        Ok(())
    }

    /// Takes the right to write from others where a directory has nothing but what is ours, and
    /// refuses one that they share: they could put anything in any place there, at any time.
    fn demand_unwritable(data: &Path, found: &Metadata) -> Result<()> {
        let mode = found.permissions().mode();
        if mode & 0o022 == 0 {
            return Ok(());
        }
        let closed = Permissions::from_mode(mode & 0o7755);
        if !is_all_ours(data) || fs::set_permissions(data, closed).is_err() {
            bail!(
                "others can write to the data directory {}, so they could put anything in it: take that \
                 away with `chmod go-w`, or use a directory of your own",
                data.display()
            );
        }
        Ok(())
    }

    /// Refuses links at the places of a data directory: all of them in one of another user, who
    /// could have this process, which may do more, read and write what they lead to, and those that
    /// another user has made in one's own.
    fn refuse_links(data: &Path, is_own_directory: bool) -> Result<()> {
        let buckets = fs::read_dir(data.join("files")).into_iter().flatten();
        let buckets = buckets.flatten().map(|entry| entry.path());
        let ours = OURS.iter().map(|name| data.join(name));
        for path in ours.chain(buckets) {
            let Ok(found) = path.symlink_metadata() else {
                continue;
            };
            if !found.is_symlink() || is_own_directory && (is_own(&found) || found.uid() == 0) {
                continue;
            }
            if is_own_directory {
                bail!(
                    "{} is a link that another user ({}) has made: look who has put it there",
                    path.display(),
                    found.uid()
                );
            }
            bail!(
                "{} is a link in a data directory of another user: run as that user, or put the directory itself there",
                path.display()
            );
        }
        Ok(())
    }

    /// Whether a directory of another user is where not everybody can make one: root runs on a
    /// service's or a container's directory, and not on one that somebody was quicker to make.
    fn is_arranged(data: &Path) -> bool {
        let whole = fs::canonicalize(data).ok();
        let parent = whole.as_deref().and_then(Path::parent);
        let mode = parent.and_then(|parent| Some(parent.metadata().ok()?.permissions().mode()));
        mode.is_some_and(|mode| mode & 0o002 == 0)
    }

    /// Closes what is ours in a data directory. The directory itself is ours if there is nothing
    /// else in it. The outermost comes first: nobody else changes then what is in it. In a directory
    /// of another user nothing is closed, since that user could put anything in a place meanwhile.
    pub(super) fn close(data: &Path) -> Closed {
        let mut closed = Closed::default();
        if !data.metadata().is_ok_and(|found| is_own(&found)) {
            return closed;
        }
        if is_all_ours(data) {
            closed.one(data);
        }
        for name in OURS {
            closed.tree(&data.join(name));
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

    fn is_own(found: &Metadata) -> bool {
        found.uid() == rustix::process::geteuid().as_raw()
    }

    fn is_open(found: &Metadata) -> bool {
        found.permissions().mode() & 0o077 != 0
    }

    impl Closed {
        /// Closes a file, or a directory with everything in it. A directory that is closed already
        /// protects its contents, so it is not walked again.
        fn tree(&mut self, path: &Path) {
            let Ok(found) = path.symlink_metadata() else {
                return;
            };
            if found.is_dir() && is_open(&found) {
                self.inner(path);
            } else {
                self.one(path);
            }
        }

        fn inner(&mut self, path: &Path) {
            self.one(path);
            let found = path.symlink_metadata();
            if found.is_ok_and(|found| found.is_dir() && is_own(&found)) {
                let entries = fs::read_dir(path).into_iter().flatten();
                for entry in entries.flatten() {
                    self.inner(&entry.path());
                }
            }
        }

        fn one(&mut self, path: &Path) {
            let Ok(found) = path.symlink_metadata() else {
                return;
            };
            if found.is_symlink() || !is_open(&found) {
                return;
            }
            let mode = found.permissions().mode() & 0o700;
            let closed = if is_own(&found) {
                fs::set_permissions(path, Permissions::from_mode(mode))
            } else {
                Err(io::Error::other("it belongs to another user"))
            };
            match closed {
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
        fn links_of_another_user_are_refused() {
            let folder = tempfile::tempdir().unwrap();
            let data = folder.path();
            let elsewhere = tempfile::tempdir().unwrap();
            fs::create_dir_all(data.join("files/photos")).unwrap();
            assert!(refuse_links(data, false).is_ok());
            for place in ["store", "secret", "files/letters"] {
                std::os::unix::fs::symlink(elsewhere.path(), data.join(place)).unwrap();
                let refused = refuse_links(data, false).unwrap_err().to_string();
                assert!(refused.contains(place), "{refused}");
                fs::remove_file(data.join(place)).unwrap();
            }
            // In a directory of one's own they are followed where they are one's own.
            let link = data.join("store");
            std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();
            assert!(demand_own(data).is_ok());
            // Only root can give a link away.
            if std::os::unix::fs::lchown(&link, Some(65_534), None).is_ok() {
                let refused = demand_own(data).unwrap_err().to_string();
                assert!(refused.contains("another user (65534)"), "{refused}");
            }
        }

        #[test]
        fn a_directory_that_others_can_write_is_closed_or_refused() {
            let folder = tempfile::tempdir().unwrap();
            let data = folder.path();
            let other = data.join("notes.txt");
            fs::create_dir(data.join("store")).unwrap();
            fs::write(data.join("backup-id"), "0").unwrap();
            fs::write(&other, "x").unwrap();
            for open in [0o777, 0o775] {
                set(data, open);
                let refused = demand_own(data).unwrap_err().to_string();
                assert!(refused.contains("others can write"), "{refused}");
                assert_eq!(mode(data), open);
            }
            fs::remove_file(other).unwrap();
            demand_own(data).unwrap();
            assert_eq!(mode(data), 0o755);
        }

        #[test]
        fn what_is_ours_is_closed_and_nothing_else() {
            let folder = tempfile::tempdir().unwrap();
            let data = folder.path();
            let inner = data.join("store/data/keyspaces");
            fs::create_dir_all(&inner).unwrap();
            let (file, other) = (inner.join("0"), data.join("notes.txt"));
            for path in [&file, &data.join("secret"), &data.join("backup-id"), &other] {
                fs::write(path, "x").unwrap();
                set(path, 0o644);
            }
            for path in [data, &data.join("store"), &data.join("store/data"), &inner] {
                set(path, 0o755);
            }
            assert_eq!(close(data).entries, 6);
            assert_eq!((mode(&inner), mode(&file)), (0o700, 0o600));
            assert_eq!(mode(&data.join("secret")), 0o600);
            // Somebody keeps other things here, so the directory is not ours.
            assert_eq!((mode(data), mode(&other)), (0o755, 0o644));
            fs::remove_file(other).unwrap();
            assert_eq!(close(data).entries, 1);
            assert_eq!(mode(data), 0o700);
            assert_eq!(close(data).entries, 0);
        }

        #[test]
        fn what_is_another_users_is_not_closed() {
            let folder = tempfile::tempdir().unwrap();
            let data = folder.path().join("data");
            let files = data.join("files/photos");
            fs::create_dir_all(&files).unwrap();
            for path in [&data, &data.join("files"), &files] {
                set(path, 0o755);
            }
            // Only root can give a directory away.
            if std::os::unix::fs::chown(data.join("files"), Some(65_534), None).is_err() {
                return;
            }
            let closed = close(&data);
            assert_eq!((closed.entries, mode(&data)), (1, 0o700));
            assert_eq!((mode(&data.join("files")), mode(&files)), (0o755, 0o755));
            assert_eq!(closed.failure.unwrap().0, data.join("files"));
            set(&data, 0o755);
            std::os::unix::fs::chown(&data, Some(65_534), None).unwrap();
            assert_eq!(close(&data).entries, 0);
            assert_eq!(mode(&data), 0o755);
        }
    }
}
