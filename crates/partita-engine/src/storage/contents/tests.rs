use super::*;
use crate::options::{Durability, StorageRoom};
use crate::storage::fjall;
use crate::storage::{Commits as _, Edit};

/// A storage with a table file, closed.
fn stored() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let (views, mut commits) =
        fjall::open(directory.path(), None, Durability::Sync, StorageRoom::SMALL).unwrap();
    let edit = Edit::Put(b"key".to_vec(), b"value".to_vec());
    commits.commit(vec![edit], 0).unwrap();
    commits.flush();
    drop((views, commits));
    directory
}

/// The files below a directory whose names the choice takes.
fn files(directory: &Path, choice: fn(&str) -> bool) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in paths(directory).unwrap() {
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            files.extend(self::files(&path, choice));
        } else if choice(name) {
            files.push(path);
        }
    }
    files
}

fn is_damaged(directory: &Path) -> bool {
    matches!(check(directory), Err(StorageError::Damaged(_)))
}

#[test]
fn what_the_storage_has_written_is_whole() {
    let directory = stored();
    check(directory.path()).unwrap();
    check(&directory.path().join("missing")).unwrap();
}

/// Every single bit: lsm-tree itself holds a version against nothing.
#[test]
fn a_version_is_held_against_its_checksum() {
    let directory = stored();
    let currents = files(&directory.path().join("keyspaces"), |name| {
        name == "current"
    });
    assert_eq!(currents.len(), 2, "fjall keeps a keyspace of its own");
    let version_of = |current: &PathBuf| {
        let (version, _) = parse_current(&fs::read(current).unwrap()).unwrap();
        current.with_file_name(format!("v{version}"))
    };
    let versions: Vec<PathBuf> = currents.iter().map(version_of).collect();
    for path in currents.into_iter().chain(versions) {
        let good = fs::read(&path).unwrap();
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, bad).unwrap();
            assert!(is_damaged(directory.path()), "{path:?}, bit {bit}");
        }
        fs::write(&path, good).unwrap();
    }
    check(directory.path()).unwrap();
}

#[test]
fn an_archive_has_room_for_its_sections() {
    let directory = stored();
    let tables = files(&directory.path().join("keyspaces"), |name| {
        name.parse::<u64>().is_ok()
    });
    assert!(!tables.is_empty());
    for path in tables {
        let good = fs::read(&path).unwrap();
        let head = good.windows(4).rposition(|bytes| bytes == b"TOC!").unwrap();
        // 256 sections more, or 65,536, or 16 million. A few are for the checksum to notice.
        for at in head + 5..head + 8 {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, bad).unwrap();
            assert!(is_damaged(directory.path()), "{path:?} at {at}");
        }
        fs::write(&path, &good).unwrap();
        // A crash leaves a file without its end; whether it is missed is for a version to say.
        for length in [0, 20, good.len() / 2, good.len() - 1] {
            fs::write(&path, &good[..length]).unwrap();
            check(directory.path()).unwrap();
        }
        fs::write(&path, good).unwrap();
    }
}
