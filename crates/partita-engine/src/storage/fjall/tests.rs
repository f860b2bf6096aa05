use std::ops::Bound::Unbounded;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

const KEYS: u32 = 500;

fn key(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// Every key with the same value.
fn generation(value: u32) -> Vec<Edit> {
    let value = value.to_be_bytes();
    (0..KEYS)
        .map(|number| Edit::Put(key(number), value.repeat(64)))
        .collect()
}

fn all(view: &dyn View) -> Vec<Bytes> {
    view.range((Unbounded, Unbounded), Direction::Ascending)
        .map(Result::unwrap)
        .filter(|(key, _)| &**key != keys::MARK)
        .map(|(_, value)| value)
        .collect()
}

#[test]
fn a_view_stays_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let (views, mut commits) =
        open(directory.path(), None, Durability::Sync, StorageRoom::SMALL).unwrap();
    let empty = views.view();
    commits.commit(generation(1), 0).unwrap();
    let first = views.view();
    commits.commit(generation(2), 0).unwrap();
    commits.flush();
    assert_eq!(all(&*empty).len(), 0);
    assert!(
        all(&*first)
            .iter()
            .all(|value| value[..4] == 1_u32.to_be_bytes())
    );
    assert_eq!(
        views.view().get(&key(9)).unwrap().unwrap()[..4],
        2_u32.to_be_bytes()
    );
}

/// A reader that has seen a commit, in a view or by a key, does not see the state before it again.
#[test]
fn what_is_known_by_its_key_is_never_behind_a_view() {
    let directory = tempfile::tempdir().unwrap();
    let room = StorageRoom {
        cache_bytes: 1_000_000,
        ..StorageRoom::SMALL
    };
    let (views, mut commits) = open(directory.path(), None, Durability::Buffered, room).unwrap();
    let number = |value: Option<Bytes>| {
        value.map_or(0, |value| {
            u32::from_be_bytes(value[..4].try_into().unwrap())
        })
    };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    for _ in 0..3 {
                        let seen = number(views.get(&key(9)).unwrap());
                        assert!(seen >= last, "{seen} by its key after {last}");
                        last = seen;
                    }
                    let seen = number(views.view().get(&key(9)).unwrap());
                    assert!(seen >= last, "{seen} in a view after {last}");
                    last = seen;
                }
            });
        }
        for value in 1..=2_000_u32 {
            let edit = Edit::Put(key(9), value.to_be_bytes().to_vec());
            commits.commit(vec![edit], 0).unwrap();
            assert_eq!(number(views.get(&key(9)).unwrap()), value);
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// Flushes raise the number that snapshots are taken at, and must not let a view see a part of
/// a commit. Without the pin this failed in every one of several runs.
#[test]
fn a_view_never_sees_half_a_commit() {
    let directory = tempfile::tempdir().unwrap();
    let (views, mut commits) =
        open(directory.path(), None, Durability::Sync, StorageRoom::SMALL).unwrap();
    let keyspace = commits.shared.keyspace.clone();
    let done = AtomicBool::new(false);
    let is_running = || !done.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while is_running() {
                keyspace.rotate_memtable_and_wait().unwrap();
            }
        });
        scope.spawn(|| {
            while is_running() {
                let view = views.view();
                let first = view.get(&key(0)).unwrap();
                let last = view.get(&key(KEYS - 1)).unwrap();
                let again = view.get(&key(0)).unwrap();
                if first != last || first != again {
                    done.store(true, Ordering::Relaxed);
                    panic!("a view saw half a commit");
                }
            }
        });
        for value in 0..400 {
            commits.commit(generation(value), 0).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path))
        } else {
            files.push(path)
        }
    }
    files.sort();
    files
}

/// One flipped bit in any table file: an error when it is opened or read, or the right value,
/// and never a wrong one.
#[test]
fn a_flipped_bit_is_never_data() {
    let directory = tempfile::tempdir().unwrap();
    let (views, mut commits) =
        open(directory.path(), None, Durability::Sync, StorageRoom::SMALL).unwrap();
    commits.commit(generation(1), 0).unwrap();
    commits.flush();
    drop((views, commits));
    let tables: Vec<_> = files(directory.path())
        .into_iter()
        .filter(|path| {
            path.parent()
                .is_some_and(|parent| parent.ends_with("tables"))
        })
        .collect();
    assert!(!tables.is_empty());
    let mut random = fastrand::Rng::with_seed(1);
    let mut noticed = 0;
    for _ in 0..150 {
        let path = &tables[random.usize(..tables.len())];
        let good = std::fs::read(path).unwrap();
        let mut bad = good.clone();
        let (at, bit) = (random.usize(..bad.len()), random.u32(..8));
        bad[at] ^= 1 << bit;
        std::fs::write(path, bad).unwrap();
        noticed += usize::from(!reads_right(directory.path(), &format!("{path:?} at {at}")));
        std::fs::write(path, good).unwrap();
    }
    assert!(noticed > 100, "only {noticed} were noticed at all");
}

/// Whether everything is there; an error is not, and a wrong value fails the test.
fn reads_right(directory: &Path, what: &str) -> bool {
    let Ok((views, _commits)) = open(directory, None, Durability::Sync, StorageRoom::SMALL) else {
        return false;
    };
    let view = views.view();
    let entries = view.range((Unbounded, Unbounded), Direction::Ascending);
    let mut count = 0;
    for entry in entries {
        match entry {
            Err(StorageError::Damaged(_)) => return false,
            Err(StorageError::Failed(error)) => panic!("{what}: {error}"),
            Ok((_, value)) => {
                assert!(*value == 1_u32.to_be_bytes().repeat(64), "{what}");
                count += 1;
            }
        }
    }
    assert_eq!(count, KEYS, "{what}");
    (0..KEYS).all(|number| view.get(&key(number)).is_ok_and(|value| value.is_some()))
}
