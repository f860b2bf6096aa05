use std::ops::Bound::Unbounded;

use super::*;
use crate::options::{Durability, StorageRoom};
use crate::storage::fjall::open;
use crate::storage::{Commits as _, Direction, Edit, Views as _};

const BATCHES: u8 = 6;
/// Each of two pages and a little, so that some pages lie in one of them as a whole.
const EDITS: u8 = 4;
const PAGE_BYTES: usize = 4_096;
const PAGES: usize = 7;
/// The one after which a storage that does not sync each is synced.
const SYNCED: u8 = 2;

/// A storage with as many batches as there are numbers, each of some pages, and its journal.
fn storage(durability: Durability) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let (views, mut commits) =
        open(directory.path(), None, durability, StorageRoom::SMALL).unwrap();
    for number in 0..BATCHES {
        commits.commit(edits(number), 0).unwrap();
        if number == SYNCED {
            commits.sync().unwrap();
        }
    }
    drop((views, commits));
    let (_, path) = journals(directory.path()).unwrap().pop().unwrap();
    (directory, path)
}

fn edits(number: u8) -> Vec<Edit> {
    let value = vec![number + 1; 9_000];
    let edits = (0..EDITS).map(|edit| Edit::Put(vec![number, edit], value.clone()));
    edits.collect()
}

/// The batches that are there, each as a whole; none if the storage does not open.
fn opened(directory: &Path) -> Option<Vec<u8>> {
    if let Err(error) = mend(directory, None) {
        assert!(matches!(error, StorageError::Damaged(_)), "{error}");
        return None;
    }
    let (views, mut commits) = open(directory, None, Durability::Sync, StorageRoom::SMALL).unwrap();
    let view = views.view();
    let rows = view.range((Unbounded, Unbounded), Direction::Ascending);
    let keys = rows.map(|row| row.unwrap().0.to_vec());
    let keys: Vec<_> = keys.filter(|key| *key != crate::keys::MARK).collect();
    for batch in keys.chunk_by(|a, b| a[0] == b[0]) {
        assert_eq!(batch.len(), usize::from(EDITS), "no batch is there by half");
    }
    let mut numbers: Vec<u8> = keys.iter().map(|key| key[0]).collect();
    numbers.dedup();
    // What is written now stays.
    commits.commit(edits(100), 0).unwrap();
    drop((view, views, commits));
    mend(directory, None).unwrap();
    let (views, _commits) = open(directory, None, Durability::Sync, StorageRoom::SMALL).unwrap();
    assert!(views.view().get(&[100, EDITS - 1]).unwrap().is_some());
    Some(numbers)
}

/// The bytes of a batch in the journal.
fn place(bytes: &[u8], number: u8) -> Range<usize> {
    let mut end = 0;
    // fjall writes nothing else to the journal.
    for _ in 0..number {
        end += batch(&bytes[end..]).unwrap();
    }
    end..end + batch(&bytes[end..]).unwrap()
}

/// What opens after a change to the journal's content.
fn check(change: impl FnOnce(&mut Vec<u8>), wanted: Option<Range<u8>>) {
    check_in(Durability::Sync, change, wanted);
}

fn check_in(durability: Durability, change: impl FnOnce(&mut Vec<u8>), wanted: Option<Range<u8>>) {
    let (directory, path) = storage(durability);
    let mut bytes = content(&path).unwrap();
    change(&mut bytes);
    fs::write(&path, bytes).unwrap();
    assert_eq!(opened(directory.path()), wanted.map(Iterator::collect));
}

/// One of the pages that lie in a batch as a whole becomes zeros.
fn lose_page(bytes: &mut [u8], number: u8, page: usize) {
    let place = place(bytes, number);
    let start = place.start.next_multiple_of(PAGE_BYTES) + page * PAGE_BYTES;
    assert!(start + PAGE_BYTES < place.end);
    bytes[start..start + PAGE_BYTES].fill(0);
}

fn flip(bytes: &mut [u8], at: impl Fn(&[u8]) -> usize) {
    let at = at(bytes);
    bytes[at] ^= 1;
}

const LAST: u8 = BATCHES - 1;

#[test]
fn a_good_journal_stays_as_it_is() {
    let (directory, path) = storage(Durability::Sync);
    let before = fs::read(&path).unwrap();
    assert!(before.len() > 60_000_000, "with the room behind its end");
    mend(directory.path(), None).unwrap();
    assert!(fs::read(&path).unwrap() == before);
    assert_eq!(opened(directory.path()), Some((0..BATCHES).collect()));
}

#[test]
fn a_torn_end_is_cut() {
    for page in 0..PAGES {
        check(|bytes| lose_page(bytes, LAST, page), Some(0..LAST));
    }
    // The first page is missing, and the others are there.
    check(
        |bytes| {
            let start = place(bytes, LAST).start;
            bytes[start..start.next_multiple_of(PAGE_BYTES)].fill(0);
        },
        Some(0..LAST),
    );
    for missing in [1, 4, 13, 5_000, 20_000] {
        check(|bytes| bytes.truncate(bytes.len() - missing), Some(0..LAST));
        check(
            |bytes| {
                let start = bytes.len() - missing;
                bytes[start..].fill(0);
                bytes.resize(1_000_000, 0);
            },
            Some(0..LAST),
        );
    }
    check(|bytes| bytes.extend([1, 20, 0, 0, 0, 9]), Some(0..BATCHES));
}

#[test]
fn damage_before_the_end_is_told() {
    for number in 0..LAST {
        for page in [0, 2] {
            check(|bytes| lose_page(bytes, number, page), None);
        }
        let first = |bytes: &[u8]| place(bytes, number).start;
        let last = |bytes: &[u8]| place(bytes, number).end - 1;
        check(|bytes| flip(bytes, first), None);
        check(|bytes| flip(bytes, last), None);
    }
    // Whatever was cut out of the middle.
    check(
        |bytes| drop(bytes.drain(place(bytes, 2).start + 7..place(bytes, 3).start)),
        None,
    );
}

#[test]
fn a_flipped_bit_at_the_end_is_damage_too() {
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..20 {
        let flip = |bytes: &mut Vec<u8>| {
            let mut place = place(bytes, LAST);
            place.end -= TRAILER.len();
            bytes[random.usize(place)] ^= 1 << random.u32(..8);
        };
        check(flip, None);
    }
}

#[test]
fn a_journal_that_is_not_the_last_is_whole() {
    let (directory, path) = storage(Durability::Sync);
    let bytes = content(&path).unwrap();
    let next = path.with_file_name("9.jnl");
    fs::write(&next, &bytes[..place(&bytes, 0).end]).unwrap();
    mend(directory.path(), None).unwrap();
    let mut torn = bytes.clone();
    lose_page(&mut torn, LAST, 0);
    fs::write(&path, torn).unwrap();
    assert!(mend(directory.path(), None).is_err());
}

/// The first batch of a storage that is opened so says only that it is.
fn lose_buffered(bytes: &mut [u8], number: u8, page: usize) {
    lose_page(bytes, number + 1, page);
}

#[test]
fn what_was_not_synced_goes_from_the_first_that_is_missing() {
    for number in SYNCED + 1..BATCHES {
        for page in [0, 3] {
            check_in(
                Durability::Buffered,
                |bytes| lose_buffered(bytes, number, page),
                Some(0..number),
            );
        }
    }
    check_in(
        Durability::Buffered,
        |bytes| {
            lose_buffered(bytes, LAST, 1);
            lose_buffered(bytes, SYNCED + 1, 1);
        },
        Some(0..SYNCED + 1),
    );
}

#[test]
fn what_was_synced_is_damage_when_it_is_missing() {
    for number in 0..SYNCED + 1 {
        let lose = |bytes: &mut Vec<u8>| lose_buffered(bytes, number, 0);
        check_in(Durability::Buffered, lose, None);
    }
    // No power loss turns a bit, not even in what was not synced.
    for number in 0..BATCHES {
        let middle = |bytes: &[u8]| place(bytes, number + 1).start + 5_000;
        check_in(Durability::Buffered, |bytes| flip(bytes, middle), None);
    }
}

/// The checksum of a batch does not cover its number, and the storage leaves out what seems old.
#[test]
fn a_batch_with_a_lower_number_than_the_one_before_is_damage() {
    let lower = |bytes: &mut Vec<u8>| {
        let batch = place(bytes, 3);
        bytes[batch.start + 5..batch.start + START_BYTES].fill(0);
    };
    check(lower, None);
}
