use crate::Durability;
use crate::commit::Edit;
use crate::directory;
use crate::options::StorageRoom;
use crate::storage::Commits as _;

use super::*;

/// More commits of a megabyte than any journal has, should the storage never give one up.
const COMMITS_MAX: u32 = 500;

/// A storage that gives up its first journal. What a reader finds who comes afterwards, and how many
/// commits there were.
fn read_later(is_lasting: bool) -> (Result<Vec<Commit>, LogError>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let opened = directory::open(folder.path(), Durability::Buffered, StorageRoom::SMALL);
    let (views, mut committed) = opened.unwrap();
    let keeper = committed.keeper().unwrap();
    keeper.set_lasting(is_lasting);
    let first = views.durable();
    let journal = folder.path().join("data/0.jnl");
    let mut written = 0;
    while journal.exists() {
        assert!(written < COMMITS_MAX, "the storage gives no journal up");
        let key = [b"x".as_slice(), &written.to_be_bytes()].concat();
        let edit = Edit::Put(key, vec![b'y'; 1_048_576]);
        committed.commit(vec![edit], i64::from(written)).unwrap();
        written += 1;
    }
    committed.sync().unwrap();
    let mut log = CommitLog::new(Arc::new(views), keeper, first);
    let mut read = Vec::new();
    let read = loop {
        match log.read(10_000_000) {
            Err(error) => break Err(error),
            Ok(commits) if commits.is_empty() => break Ok(read),
            Ok(commits) => {
                assert!(commits.len() <= 10);
                read.extend(commits);
                log.release();
            }
        }
    };
    drop(log);
    assert_eq!(folder.path().join("kept").is_dir(), is_lasting);
    (read, written as usize)
}

#[test]
fn commits_are_read_from_journals_that_the_storage_has_given_up() {
    let (read, written) = read_later(true);
    let read = read.unwrap();
    assert_eq!(read.len(), written);
    let is_next = |pair: &[Commit]| pair[1].follows(pair[0].id);
    assert!(read.windows(2).all(is_next));
}

#[test]
fn commits_whose_journals_nobody_kept_are_lost() {
    let (read, _) = read_later(false);
    let lost = read.unwrap_err();
    assert!(matches!(lost, LogError::Lost { .. }), "{lost}");
}

/// A directory that was copied without its links keeps the journals that are written there.
#[cfg(unix)]
#[test]
fn commits_of_a_copied_directory_are_read() {
    let commit = |folder: &std::path::Path, keys: std::ops::Range<u8>| {
        let opened = directory::open(folder, Durability::Sync, StorageRoom::SMALL);
        let (views, mut committed) = opened.unwrap();
        let keeper = committed.keeper().unwrap();
        keeper.set_lasting(true);
        let first = views.durable();
        for key in keys {
            let edit = Edit::Put(vec![b'x', key], b"y".to_vec());
            committed.commit(vec![edit], i64::from(key)).unwrap();
        }
        committed.sync().unwrap();
        let mut log = CommitLog::new(Arc::new(views), keeper, first);
        log.read(10_000_000).map(|commits| commits.len())
    };
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    assert_eq!(commit(&one, 0..3).unwrap(), 3);
    copy(&one, &other);
    assert_eq!(commit(&other, 3..8).unwrap(), 5);
}

/// Copies a directory as `cp -r` does.
#[cfg(unix)]
fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &place);
        } else {
            std::fs::copy(entry.path(), place).unwrap();
        }
    }
}
