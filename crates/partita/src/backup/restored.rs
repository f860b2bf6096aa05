//! The mark of a data directory that was restored, and of one that is being restored.
//!
//! A restored store is a store of the past: its mails were sent long ago, its schedules were done,
//! and people have signed out since. So its outbox and its schedules wait until the operator lets
//! them go on (`partita resume`), and sessions and links of before are void for good.
//!
//! ```text
//! restoring   there while a restore is under way; nobody opens the directory
//! restored    there for good afterwards: which commit it is from, when, and whether it goes on
//! ```

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use partita_engine::CommitId;
use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use super::identity;
use crate::{draft, private};

/// What a directory that is being restored has in it.
pub(crate) const UNDER_WAY: &str = "restoring";

/// What the file of that name says. Another one of that name is somebody's own.
const UNDER_WAY_TEXT: &str = "partita restores into this directory\n";

/// What one that was restored has in it.
pub(crate) const DONE: &str = "restored";

/// What else a restore makes. Nothing but this is removed when one is begun again.
const MADE: [&str; 5] = ["store", "files", "secret", DONE, identity::NAME];

/// The mark of a restored directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// The last commit that was restored.
    pub(crate) commit: u64,
    /// When that was made, in milliseconds since 1970.
    pub(crate) commit_millis: i64,
    /// The chain that it is from.
    pub(crate) chain: u32,
    /// When it was restored.
    pub(crate) restored_millis: i64,
    /// Random: sessions and links of before the restore do not have it.
    pub(crate) era: String,
    /// Whether mails, events and schedules wait for the operator.
    pub(crate) is_paused: bool,
}

impl Mark {
    pub(crate) fn new(commit: CommitId, chain: u32, restored_millis: i64, era: String) -> Mark {
        Mark {
            commit: commit.number,
            commit_millis: commit.time_millis,
            chain,
            restored_millis,
            era,
            is_paused: true,
        }
    }

    /// The mark of a data directory; none if it was not restored.
    pub(crate) fn of(data: &Path) -> Result<Option<Mark>> {
        let path = data.join(DONE);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let mark = serde_json::from_slice(&text);
        Ok(Some(mark.with_context(|| {
            format!(
                "{} is damaged: it says that the directory was restored",
                path.display()
            )
        })?))
    }

    /// Whether what a data directory would send and begin by itself waits for the operator.
    pub(crate) fn is_waiting(data: &Path) -> Result<bool> {
        Ok(Mark::of(data)?.is_some_and(|mark| mark.is_paused))
    }

    /// Writes the mark, as a whole or not at all.
    pub(crate) fn write(&self, data: &Path) -> Result<()> {
        let path = data.join(DONE);
        let text = format!("{:#}\n", serde_json::json!(self));
        draft::put(&path, text.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Whether what a restored directory would send and begin by itself waits.
#[derive(Clone)]
pub(crate) struct Pause {
    era: Option<String>,
    is_paused: Arc<AtomicBool>,
}

/// How often a server looks whether the operator has let things go on.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Pause {
    /// Of a data directory. If it waits, it is looked at again until it does not.
    pub(crate) fn of(data: &Path) -> Result<Pause> {
        let mark = Mark::of(data)?;
        let is_paused = mark.as_ref().is_some_and(|mark| mark.is_paused);
        let pause = Pause {
            era: mark.map(|mark| mark.era),
            is_paused: Arc::new(AtomicBool::new(is_paused)),
        };
        if is_paused {
            warn!(
                "this directory was restored: mails, events and schedules wait until `partita resume --data {}`",
                data.display()
            );
            let (data, is_paused) = (data.to_owned(), pause.is_paused.clone());
            tokio::spawn(async move {
                while !matches!(Mark::of(&data), Ok(Some(mark)) if !mark.is_paused) {
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                is_paused.store(false, Ordering::Relaxed);
                info!("mails, events and schedules go on");
            });
        }
        Ok(pause)
    }

    /// What sessions and links are bound to.
    pub(crate) fn era(&self) -> Option<String> {
        self.era.clone()
    }

    /// Becomes false when things go on.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.is_paused.clone()
    }

    /// Waits until things go on.
    pub(crate) async fn end(&self) {
        while self.is_paused.load(Ordering::Relaxed) {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Refuses a data directory that a restore has not finished.
pub(crate) fn demand_finished(data: &Path) -> Result<()> {
    if is_under_way(data) {
        bail!(
            "a restore into {} was not finished: run it again, or remove the directory",
            data.display()
        );
    }
    Ok(())
}

/// Whether a restore into a data directory is under way, or was cut short.
pub(crate) fn is_under_way(data: &Path) -> bool {
    data.join(UNDER_WAY).exists()
}

/// A directory that is being restored into, until this is dropped.
pub(crate) struct UnderWay {
    data: PathBuf,
    /// Locked, so that two restores do not meet.
    _file: File,
}

impl UnderWay {
    /// Begins a restore into a directory that is not there, is empty, or was left by one that did
    /// not come to its end; what that one left is removed.
    pub(crate) fn begin(data: &Path) -> Result<UnderWay> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(data)
            .with_context(|| format!("cannot create {}", data.display()))?;
        private::demand_alone(data)?;
        let path = data.join(UNDER_WAY);
        let is_left = is_left(&path);
        if is_left {
            demand_made(data)?;
        }
        if !is_left && !is_empty(data)? {
            bail!(
                "{} is not empty, and a restore writes over nothing: name a directory that is not there",
                data.display()
            );
        }
        let mut file = mark_begun(&path)?;
        if file.try_lock().is_err() {
            bail!("another restore into {} is under way", data.display());
        }
        file.write_all(UNDER_WAY_TEXT.as_bytes())?;
        file.sync_all()?;
        sync(data)?;
        if is_left {
            for entry in fs::read_dir(data)? {
                let entry = entry?;
                if !is_made(&entry.file_name()) {
                    continue;
                }
                if entry.file_type()?.is_dir() {
                    fs::remove_dir_all(entry.path())?;
                } else {
                    fs::remove_file(entry.path())?;
                }
            }
        }
        Ok(UnderWay {
            data: data.to_owned(),
            _file: file,
        })
    }

    /// The restore is done, and the directory can be used.
    pub(crate) fn finish(self) -> Result<()> {
        fs::remove_file(self.data.join(UNDER_WAY))?;
        sync(&self.data)
    }
}

/// Whether a restore of this user has left a file. Its text alone says nothing: whoever can write to
/// a directory can write the same, and have the next restore remove what is there.
fn is_left(path: &Path) -> bool {
    let Ok(found) = path.symlink_metadata() else {
        return false;
    };
    #[cfg(unix)]
    let is_own = std::os::unix::fs::MetadataExt::uid(&found) == rustix::process::geteuid().as_raw();
    #[cfg(not(unix))]
    let is_own = true;
    found.is_file() && is_own && fs::read(path).is_ok_and(|text| text == UNDER_WAY_TEXT.as_bytes())
}

/// Refuses a directory of a restore that was cut short if somebody has put something there since.
fn demand_made(data: &Path) -> Result<()> {
    for entry in fs::read_dir(data)? {
        let entry = entry?;
        let name = entry.file_name();
        if name != UNDER_WAY && !is_made(&name) {
            bail!(
                "{} is nothing that a restore makes: move it elsewhere, or name a directory that is not there",
                entry.path().display()
            );
        }
    }
    Ok(())
}

/// Whether a restore makes something of a name, or writes it before it takes another one's place.
fn is_made(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    MADE.iter().any(|made| {
        let rest = name.strip_prefix(made);
        rest.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with('.') && rest.ends_with(".draft")
        })
    })
}

/// Whether there is nothing in a directory, or nothing but the file that a restore had just begun.
fn is_empty(directory: &Path) -> Result<bool> {
    let entries = fs::read_dir(directory);
    let entries = entries.with_context(|| format!("cannot look into {}", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        if entry.file_name() != UNDER_WAY || entry.metadata()?.len() > 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Creates the file that says that a restore is under way, or opens it, and follows no link.
fn mark_begun(path: &Path) -> Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.mode(0o600);
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    }
    options
        .open(path)
        .with_context(|| format!("cannot write {}", path.display()))
}

fn sync(directory: &Path) -> Result<()> {
    if cfg!(unix) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_restore_has_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        fs::create_dir_all(data.join("photos")).unwrap();
        // A file of that name that somebody else made.
        for text in ["", "my notes\n"] {
            fs::write(data.join(UNDER_WAY), text).unwrap();
            let refused = UnderWay::begin(&data).err().unwrap().to_string();
            assert!(refused.contains("is not empty"), "{refused}");
            assert_eq!(fs::read_to_string(data.join(UNDER_WAY)).unwrap(), text);
            assert!(data.join("photos").exists());
        }
        // One that was cut short, at its first step and later.
        let data = folder.path().join("other");
        fs::create_dir(&data).unwrap();
        fs::write(data.join(UNDER_WAY), "").unwrap();
        drop(UnderWay::begin(&data).unwrap());
        fs::create_dir_all(data.join("store")).unwrap();
        for draft in ["restored.draft", "backup-id.00ff.draft"] {
            fs::write(data.join(draft), "").unwrap();
        }
        // What somebody has put there since stays, and is named.
        fs::write(data.join("notes.txt"), "mine").unwrap();
        let refused = UnderWay::begin(&data).err().unwrap().to_string();
        assert!(refused.contains("notes.txt is nothing"), "{refused}");
        assert!(data.join("store").exists());
        fs::remove_file(data.join("notes.txt")).unwrap();
        UnderWay::begin(&data).unwrap().finish().unwrap();
        assert!(fs::read_dir(&data).unwrap().next().is_none());
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_that_others_can_write_is_refused() {
        use std::os::unix::fs::{PermissionsExt as _, chown};
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        let refused = |why| {
            let refused = UnderWay::begin(&data).err().unwrap().to_string();
            assert!(refused.contains(why), "{refused}");
            assert!(is_empty(&data).unwrap() && !is_under_way(&data));
        };
        for mode in [0o777, 0o1777, 0o720] {
            fs::set_permissions(&data, fs::Permissions::from_mode(mode)).unwrap();
            refused("others can write to");
        }
        fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
        // Only root can give a directory away.
        if chown(&data, Some(65_534), None).is_ok() {
            refused("belongs to another user (65534)");
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_another_user_says_of_a_restore_removes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (data, text) = (folder.path().join("data"), folder.path().join("text"));
        fs::create_dir_all(data.join("files")).unwrap();
        fs::write(&text, UNDER_WAY_TEXT).unwrap();
        std::os::unix::fs::symlink(&text, data.join(UNDER_WAY)).unwrap();
        let refused = || {
            let refused = UnderWay::begin(&data).err().unwrap().to_string();
            assert!(refused.contains("is not empty"), "{refused}");
            assert!(data.join("files").exists());
        };
        refused();
        fs::remove_file(data.join(UNDER_WAY)).unwrap();
        fs::rename(&text, data.join(UNDER_WAY)).unwrap();
        // Only root can give a file away.
        if std::os::unix::fs::chown(data.join(UNDER_WAY), Some(65_534), None).is_ok() {
            refused();
        }
    }
}
