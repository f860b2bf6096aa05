//! The files that a chain has: for a restore, and for whoever removes what no moment needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Component, Path};

use sha2::{Digest as _, Sha256};

use super::{Content, Placed, parts, placing, unreadable};
use crate::catalog::{Chain, ChainObjects};
use crate::error::BackupError;
use crate::names;
use crate::sealing::hex;
use crate::target::Target;

impl ChainObjects {
    /// The placings from one on. None before the last may be missing, nor what they begin with.
    pub(super) fn placings_from(
        &self,
        chain: &Chain,
        at: usize,
    ) -> Result<&[(u64, bool)], BackupError> {
        let placings = &self.placings[at..];
        let first = match placings.first() {
            Some((number, true)) => *number,
            _ => 0,
        };
        for (expected, (number, _)) in (first..).zip(placings) {
            if *number != expected {
                let name = chain.name.placing(expected, false);
                return Err(BackupError::Missing { name });
            }
        }
        Ok(placings)
    }

    /// Refuses a chain without one of the placings that its last commit needs, or with a last one that
    /// is damaged.
    pub(crate) async fn demand_placings(
        &self,
        chain: &Chain,
        target: &dyn Target,
    ) -> Result<(), BackupError> {
        let whole = self.placings.iter().rposition(|(_, is_whole)| *is_whole);
        if let Some(last) = self.placings_from(chain, whole.unwrap_or(0))?.last() {
            placing(chain, target, *last).await?;
        }
        Ok(())
    }

    /// Where the placings begin that a commit needs: with the newest whole one that is of it or of an
    /// earlier commit.
    async fn placings_begin(
        &self,
        chain: &Chain,
        target: &dyn Target,
        commit: u64,
    ) -> Result<usize, BackupError> {
        for (at, named) in self.placings.iter().enumerate().rev() {
            if named.1 && placing(chain, target, *named).await?.from <= commit {
                return Ok(at);
            }
        }
        Ok(0)
    }
}

/// The files that a backup has for a commit.
#[derive(Clone)]
pub struct KeptFiles {
    chain: Chain,
    commit: u64,
    files: BTreeMap<String, Placed>,
}

impl KeptFiles {
    pub(crate) async fn at(
        chain: &Chain,
        target: &dyn Target,
        objects: &ChainObjects,
        commit: u64,
    ) -> Result<KeptFiles, BackupError> {
        let begin = objects.placings_begin(chain, target, commit).await?;
        let mut files = BTreeMap::new();
        for (at, named) in (begin..).zip(objects.placings_from(chain, begin)?) {
            // A whole one says nothing new to those who began before it.
            if named.1 && at > begin {
                continue;
            }
            let placing = placing(chain, target, *named).await?;
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
        Ok(KeptFiles {
            chain: chain.clone(),
            commit,
            files,
        })
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
            let reason = "its place is outside of the directory";
            return Err(BackupError::damaged(&name, reason));
        }
        let commit = self.commit;
        if commit < file.clear_from {
            let name = format!(
                "{chain}: the file {path} of commit {commit}, before another one took its place,"
            );
            return Err(BackupError::Missing { name });
        }
        let place = root.join(path);
        let failed = |error: io::Error| unreadable(&place, &error);
        let mut written = create(&place).map_err(failed)?;
        let mut hash = Sha256::new();
        for number in 0..parts(file.bytes) {
            let name = chain.part(&file.content(), number);
            let part = self.chain.seal.open(&name, &target.get(&name).await?)?;
            hash.update(&part);
            written.write_all(&part).map_err(failed)?;
        }
        written.sync_all().map_err(failed)?;
        let digest: [u8; 32] = hash.finalize().into();
        if hex(&digest) != file.sha256 {
            let name = chain.part(&file.content(), 0);
            return Err(BackupError::damaged(&name, "the file is not what it was"));
        }
        Ok(())
    }
}

/// The placings that no moment from a commit on needs, by their names.
pub(crate) async fn unneeded_placings(
    chain: &Chain,
    target: &dyn Target,
    objects: &ChainObjects,
    commit: u64,
) -> Result<Vec<String>, BackupError> {
    let begin = objects.placings_begin(chain, target, commit).await?;
    let older = objects.placings[..begin].iter();
    Ok(older
        .map(|(number, is_whole)| chain.name.placing(*number, *is_whole))
        .collect())
}

/// The objects with bytes that no moment from a commit on needs.
pub(crate) async fn unneeded_parts(
    chain: &Chain,
    target: &dyn Target,
    objects: &ChainObjects,
    commit: u64,
) -> Result<Vec<String>, BackupError> {
    let begin = objects.placings_begin(chain, target, commit).await?;
    let mut files = BTreeMap::<String, Content>::new();
    let (mut needed, mut next) = (BTreeSet::new(), 0);
    for (at, named) in (begin..).zip(objects.placings_from(chain, begin)?) {
        next = named.0 + 1;
        if named.1 && at > begin {
            continue;
        }
        let placing = placing(chain, target, *named).await?;
        if placing.until >= commit {
            needed.extend(files.values().cloned());
        }
        for path in &placing.went {
            files.remove(path);
        }
        let came = placing.came.into_iter();
        files.extend(came.map(|file| (file.path.clone(), file.content())));
    }
    needed.extend(files.into_values());
    // INVARIANT: what comes with a placing that is not there yet is on its way, and stays.
    let is_unneeded = |name: &&String| match names::parse(name) {
        Some((_, names::Kind::Part { content })) => {
            content.shipped_with < next && !needed.contains(&content)
        }
        _ => false,
    };
    Ok(objects.names.iter().filter(is_unneeded).cloned().collect())
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

/// Whether a path leads further down at every step. Whoever can write to a backup that is not
/// encrypted chooses the paths in it.
fn is_below(path: &str) -> bool {
    let mut steps = Path::new(path).components();
    steps.all(|step| matches!(step, Component::Normal(_)))
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
