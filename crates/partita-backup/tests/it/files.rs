//! Files of buckets, as they were at each commit.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use partita_backup::files::{FileSource, RemovedFiles};
use partita_backup::restoring::{Moment, Plan};
use partita_backup::shipping::{ends_chain, is_hole};
use partita_backup::{BackupError, Catalog, Shipper, Shipping, Target, Wanted, retention};

use crate::stage::{Failing, STORE, Stage, Watched, rest};

fn source(stage: &Stage) -> FileSource {
    let root = stage.place("files");
    let left_out = vec![root.join("photos/temp")];
    // The items of the test say nothing of files, so every commit may.
    let key_part = Vec::new();
    FileSource {
        root,
        left_out,
        key_part,
        ..FileSource::default()
    }
}

/// The contents of a file at a commit; none if the backup says that there is none.
async fn read(
    stage: &Stage,
    target: &dyn Target,
    commit: u64,
    path: &str,
) -> Result<Option<Vec<u8>>, BackupError> {
    let wanted = Wanted {
        chain: None,
        moment: Moment::Commit(commit),
        plain_too: false,
    };
    let files = Plan::make(target, &[], wanted).await?.files(target).await?;
    if !files.has(path) {
        return Ok(None);
    }
    let folder = tempfile::tempdir_in(stage.folder.path()).unwrap();
    files.restore(target, path, folder.path()).await?;
    Ok(Some(fs::read(folder.path().join(path)).unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn files_come_and_go_with_the_commits() {
    let mut stage = Stage::new(31).await;
    let target = stage.target();
    let mut shipping = stage.shipping(target.clone(), None);
    shipping.files = Some(source(&stage));
    let place = |name: &str| stage.place("files").join(name);
    fs::create_dir_all(place("photos/temp")).unwrap();
    let large: Vec<u8> = (0..9_000_000_u32).map(|at| at.to_le_bytes()[1]).collect();
    fs::write(place("photos/a"), &large).unwrap();
    fs::write(place("photos/temp/upload"), b"nobody's yet").unwrap();
    fs::write(place("photos/c#1"), b"half").unwrap();
    let mut shipper = Shipper::begin(shipping.clone(), "a test").await.unwrap();
    rest(&mut shipper).await.unwrap();
    let first = stage.store.last_commit().number;

    fs::write(stage.place("files").join("photos/b"), b"second").unwrap();
    stage.write(1).await;
    let second = stage.store.last_commit().number;
    rest(&mut shipper).await.unwrap();
    // The item goes, and then its file.
    stage.write(1).await;
    fs::remove_file(stage.place("files").join("photos/a")).unwrap();
    let third = stage.store.last_commit().number;
    rest(&mut shipper).await.unwrap();
    // Another server goes on.
    drop(shipper);
    let mut shipper = Shipper::resume(shipping).await.unwrap();
    stage.write(1).await;
    let fourth = stage.store.last_commit().number;
    rest(&mut shipper).await.unwrap();
    shipper.begin_base();
    rest(&mut shipper).await.unwrap();

    let a = async |commit| read(&stage, &*target, commit, "photos/a").await.unwrap();
    let b = async |commit| read(&stage, &*target, commit, "photos/b").await.unwrap();
    assert!(a(first).await == Some(large.clone()) && a(second).await == Some(large.clone()));
    // It may have been there at the commit that removed its item.
    assert!(a(third).await.is_some());
    assert_eq!(a(fourth).await, None);
    assert_eq!(b(first).await, None);
    assert_eq!(b(fourth).await.as_deref(), Some(&b"second"[..]));
    for path in ["photos/temp/upload", "photos/c#1"] {
        assert_eq!(read(&stage, &*target, first, path).await.unwrap(), None);
    }

    // Damage is told by the name of its object.
    let names: Vec<String> = target
        .list("chains/")
        .await
        .unwrap()
        .into_iter()
        .map(|one| one.name)
        .collect();
    let of_files = names
        .iter()
        .filter(|name| name.contains("/files/") || name.contains("/placings/"));
    for name in of_files {
        let path = stage.place("target").join(name);
        let good = fs::read(&path).unwrap();
        fs::write(&path, &good[..good.len() - 1]).unwrap();
        let mut refused = false;
        for (commit, file) in [(second, "photos/a"), (fourth, "photos/b")] {
            if let Err(error) = read(&stage, &*target, commit, file).await {
                assert!(error.to_string().contains(name.as_str()), "{error}");
                refused = true;
            }
        }
        assert!(refused, "{name}");
        fs::write(&path, good).unwrap();
    }

    // What no kept moment names goes.
    let now = stage.states[&fourth].0.time_millis;
    retention::remove_before(&*target, &[], STORE, now, None)
        .await
        .unwrap();
    let left = target.list("chains/").await.unwrap();
    let parts = left
        .iter()
        .filter(|one| one.name.contains("/files/"))
        .count();
    assert_eq!(parts, 1, "{left:?}");
    assert_eq!(b(fourth).await.as_deref(), Some(&b"second"[..]));
}

/// A stage with a folder for files, and what ships it.
async fn with_files(
    seed: u64,
    wrap: impl FnOnce(Arc<dyn Target>) -> Arc<dyn Target>,
) -> (Stage, Shipping) {
    let stage = Stage::new(seed).await;
    fs::create_dir_all(stage.place("files/photos")).unwrap();
    let shipping = Shipping {
        files: Some(source(&stage)),
        ..stage.shipping(wrap(stage.target()), None)
    };
    (stage, shipping)
}

/// Bytes that retention has removed are shipped again when they come back, by the same server and by
/// the next.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_comes_back_is_shipped_again() {
    for is_same_server in [true, false] {
        let (mut stage, shipping) = with_files(32, |target| target).await;
        let target = shipping.target.clone();
        let mut shipper = Shipper::begin(shipping.clone(), "a test").await.unwrap();
        rest(&mut shipper).await.unwrap();
        for round in 0..3 {
            fs::write(stage.place("files/photos/a"), b"Hello!").unwrap();
            stage.write(1).await;
            rest(&mut shipper).await.unwrap();
            let there = stage.store.last_commit().number;
            if !is_same_server {
                shipper = Shipper::resume(shipping.clone()).await.unwrap();
            }
            let found = read(&stage, &*target, there, "photos/a").await.unwrap();
            assert_eq!(found.as_deref(), Some(&b"Hello!"[..]), "round {round}");
            stage.write(1).await;
            fs::remove_file(stage.place("files/photos/a")).unwrap();
            rest(&mut shipper).await.unwrap();
            stage.write(1).await;
            rest(&mut shipper).await.unwrap();
            shipper.begin_base();
            rest(&mut shipper).await.unwrap();
            stage.write(1).await;
            rest(&mut shipper).await.unwrap();
            let now = stage.states[&stage.store.last_commit().number]
                .0
                .time_millis;
            let removed = retention::remove_before(&*target, &[], STORE, now, None).await;
            assert!(removed.unwrap() > 0);
            let left = target.list("chains/").await.unwrap();
            let is_part = |name: &str| name.contains("/files/");
            assert!(!left.iter().any(|one| is_part(&one.name)), "{left:?}");
        }
        assert_eq!(shipper.chain(), 1);
        let placings = target.list("chains/000001/placings/").await.unwrap();
        assert!(placings.len() < 8, "old placings go: {placings:?}");
    }
}

/// Whichever answer of the target is lost, the chain goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_does_not_end_the_chain() {
    let stage = Stage::new(33).await;
    let target = Arc::new(Failing {
        inner: stage.target(),
        left: AtomicI64::new(i64::MAX),
        lies: true,
    });
    let mut stage = stage;
    fs::create_dir_all(stage.place("files/photos")).unwrap();
    let shipping = Shipping {
        files: Some(source(&stage)),
        ..stage.shipping(target.clone(), None)
    };
    let mut shipper = Shipper::begin(shipping, "a test").await.unwrap();
    rest(&mut shipper).await.unwrap();
    // The part, the placing, and the segment.
    for puts in 0..3 {
        let path = format!("photos/{puts}");
        fs::write(stage.place("files").join(&path), path.as_bytes()).unwrap();
        stage.write(1).await;
        target.left.store(puts, Ordering::Relaxed);
        assert!(rest(&mut shipper).await.is_err());
        target.left.store(i64::MAX, Ordering::Relaxed);
        rest(&mut shipper).await.unwrap();
        let last = stage.store.last_commit().number;
        let found = read(&stage, &*target, last, &path).await.unwrap();
        assert_eq!(found.as_deref(), Some(path.as_bytes()));
    }
}

/// A damaged placing begins another chain, as all damage does, and is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_placing_begins_another_chain() {
    let (mut stage, shipping) = with_files(34, |target| target).await;
    let mut shipper = Shipper::begin(shipping.clone(), "a test").await.unwrap();
    rest(&mut shipper).await.unwrap();
    fs::write(stage.place("files/photos/a"), b"a").unwrap();
    stage.write(1).await;
    rest(&mut shipper).await.unwrap();
    drop(shipper);
    let name = "chains/000001/placings/00000000000000000000";
    fs::write(stage.place("target").join(name), b"what").unwrap();
    let mut shipper = Shipper::resume(shipping.clone()).await.unwrap();
    rest(&mut shipper).await.unwrap();
    assert_eq!(shipper.chain(), 2);
    let target = &*shipping.target;
    let catalog = Catalog::read(target).await.unwrap();
    let summaries = catalog.summaries(target, &[]).await.unwrap();
    let damage = summaries[0].damage.as_deref().unwrap_or_default();
    assert!(damage.contains(name), "{damage}");
    assert!(summaries[1].reason.contains(name), "{:?}", summaries[1]);
    let last = stage.store.last_commit().number;
    let found = read(&stage, target, last, "photos/a").await.unwrap();
    assert_eq!(found.as_deref(), Some(&b"a"[..]));
}

/// The files that there are at the beginning go in small steps, hold no commit up, and are not shipped
/// again after an interruption.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_files_hold_no_commit_up() {
    let mut stage = Stage::new(35).await;
    let target = Watched::new(stage.target());
    fs::create_dir_all(stage.place("files/photos")).unwrap();
    let shipping = Shipping {
        files: Some(source(&stage)),
        ..stage.shipping(target.clone(), None)
    };
    let names: Vec<String> = (0..12)
        .map(|number| format!("photos/{number:02}"))
        .collect();
    for name in &names {
        fs::write(stage.place("files").join(name), name.as_bytes()).unwrap();
    }
    let is_part = |name: &String| name.contains("/files/");
    let mut parts = Vec::new();
    let mut shipper = Shipper::begin(shipping.clone(), "a test").await.unwrap();
    // One step ships one part at most, and commits go between.
    while parts.len() < 6 {
        stage.write(1).await;
        let before = stage.store.last_commit();
        while shipper.shipped() != before {
            shipper.step().await.unwrap();
        }
        shipper.step().await.unwrap();
        let put: Vec<String> = target.put_since().into_iter().filter(is_part).collect();
        assert!(put.len() <= 1, "{put:?}");
        parts.extend(put);
    }
    drop(shipper);
    let mut shipper = Shipper::resume(shipping.clone()).await.unwrap();
    fs::write(stage.place("files/photos/late"), b"late").unwrap();
    stage.write(1).await;
    rest(&mut shipper).await.unwrap();
    assert_eq!(shipper.chain(), 1);
    parts.extend(target.put_since().into_iter().filter(is_part));
    let count = parts.len();
    parts.sort();
    parts.dedup();
    assert_eq!((parts.len(), count), (13, 13), "none is shipped twice");
    let last = stage.store.last_commit().number;
    for name in names.iter().map(String::as_str).chain(["photos/late"]) {
        let found = read(&stage, &*target, last, name).await.unwrap();
        assert!(found.is_some(), "{name}");
    }
}

/// Retention reads what stays only when something goes.
#[tokio::test(flavor = "multi_thread")]
async fn retention_reads_little() {
    let mut stage = Stage::new(36).await;
    let target = Watched::new(stage.target());
    fs::create_dir_all(stage.place("files/photos")).unwrap();
    fs::write(stage.place("files/photos/a"), b"a").unwrap();
    let shipping = Shipping {
        files: Some(source(&stage)),
        ..stage.shipping(target.clone(), None)
    };
    let mut shipper = Shipper::begin(shipping, "a test").await.unwrap();
    rest(&mut shipper).await.unwrap();
    stage.write(2).await;
    rest(&mut shipper).await.unwrap();
    for _ in 0..2 {
        target.read_since();
        let removed = retention::remove_before(&*target, &[], STORE, i64::MAX, None).await;
        assert_eq!(removed.unwrap(), 0);
        let read = target.read_since();
        let is_large = |name: &&String| {
            names_a_piece(name) || name.contains("/files/") || name.contains("/placings/")
        };
        assert_eq!(read.iter().find(is_large), None, "{read:?}");
    }
}

fn names_a_piece(name: &str) -> bool {
    name.contains("/bases/") && !name.ends_with("/base")
}

/// A file that lives shorter than it takes to ship its commit is there at its moments.
#[tokio::test(flavor = "multi_thread")]
async fn a_short_life_is_in_the_backup() {
    let (mut stage, mut shipping) = with_files(37, |target| target).await;
    let target = shipping.target.clone();
    let removed = RemovedFiles::new(stage.place("removed"), true).unwrap();
    let removed = Arc::new(removed);
    if let Some(files) = &mut shipping.files {
        files.removed = Some(removed.clone());
    }
    let mut shipper = Shipper::begin(shipping, "a test").await.unwrap();
    rest(&mut shipper).await.unwrap();
    // The item comes with its file, and goes; then its file does.
    fs::write(stage.place("files/photos/a"), b"brief").unwrap();
    stage.write(1).await;
    let there = stage.store.last_commit().number;
    stage.write(1).await;
    fs::create_dir_all(stage.place("removed/photos")).unwrap();
    let kept = stage.place("removed/photos/a");
    fs::rename(stage.place("files/photos/a"), &kept).unwrap();
    shipper.release_removed().unwrap();
    assert!(kept.exists());
    rest(&mut shipper).await.unwrap();
    let hold = removed.hold().unwrap();
    shipper.release_removed().unwrap();
    assert!(kept.exists(), "somebody else may not have it");
    drop(hold);
    shipper.release_removed().unwrap();
    assert!(!kept.exists());
    stage.write(2).await;
    rest(&mut shipper).await.unwrap();
    let found = read(&stage, &*target, there, "photos/a").await.unwrap();
    assert_eq!(found.as_deref(), Some(&b"brief"[..]));
    let last = stage.store.last_commit().number;
    stage.write(1).await;
    rest(&mut shipper).await.unwrap();
    let found = read(&stage, &*target, last + 1, "photos/a").await.unwrap();
    assert_eq!(found, None);
}

/// What is kept of removed files is bounded. What is given up ends the chain, so no moment is left
/// that lacks a file.
#[tokio::test(flavor = "multi_thread")]
async fn removed_files_are_bounded() {
    let (stage, mut shipping) = with_files(38, |target| target).await;
    let removed = RemovedFiles::new(stage.place("removed"), true).unwrap();
    if let Some(files) = &mut shipping.files {
        files.removed = Some(Arc::new(removed));
    }
    let shipper = Shipper::begin(shipping, "a test").await.unwrap();
    let large = fs::File::create(stage.place("removed/a")).unwrap();
    large.set_len(1 << 30).unwrap();
    shipper.release_removed().unwrap();
    fs::write(stage.place("removed/b"), b"more").unwrap();
    let lost = shipper.release_removed().unwrap_err();
    assert!(matches!(lost, BackupError::FilesLost { .. }), "{lost}");
    assert!(ends_chain(&lost) && is_hole(&lost));
    assert!(!stage.place("removed/a").exists());
    shipper.release_removed().unwrap();
}

/// Without a backup nothing is kept, but for one that is taken by hand.
#[test]
fn removed_files_are_kept_while_somebody_holds_them() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("removed");
    fs::create_dir(&place).unwrap();
    let removed = Arc::new(RemovedFiles::new(place.clone(), false).unwrap());
    assert!(!place.exists());
    let (one, other) = (removed.hold().unwrap(), removed.hold().unwrap());
    drop(one);
    assert!(place.exists());
    drop(other);
    assert!(!place.exists());
}

/// Another server that writes to the chain ends it, and nothing is lost.
#[test]
fn another_writer_is_no_hole() {
    let name = "chains/000001/segments/1".to_owned();
    let exists = BackupError::Exists { name };
    assert!(ends_chain(&exists) && !is_hole(&exists));
}

/// A file that took another one's place is not taken for it.
#[tokio::test(flavor = "multi_thread")]
async fn files_of_the_same_path_are_told_apart() {
    let (mut stage, mut shipping) = with_files(39, |target| target).await;
    let target = shipping.target.clone();
    let removed = RemovedFiles::new(stage.place("removed"), true).unwrap();
    if let Some(files) = &mut shipping.files {
        files.removed = Some(Arc::new(removed));
    }
    let mut shipper = Shipper::begin(shipping, "a test").await.unwrap();
    rest(&mut shipper).await.unwrap();
    let file = stage.place("files/photos/a");
    fs::write(&file, b"one").unwrap();
    stage.write(1).await;
    let first = stage.store.last_commit().number;
    rest(&mut shipper).await.unwrap();
    // Two others are there before anything is shipped.
    fs::create_dir(stage.place("removed/photos")).unwrap();
    for (number, name) in [(0, "a"), (1, "a#1")] {
        stage.write(1).await;
        let kept = stage.place("removed/photos").join(name);
        fs::rename(&file, kept).unwrap();
        fs::write(&file, format!("one {number}")).unwrap();
        stage.write(1).await;
    }
    let unclear = stage.store.last_commit().number;
    rest(&mut shipper).await.unwrap();
    shipper.release_removed().unwrap();
    assert!(!stage.place("removed/photos/a").exists());
    assert!(!stage.place("removed/photos/a#1").exists());
    stage.write(1).await;
    rest(&mut shipper).await.unwrap();
    let read = async |commit| read(&stage, &*target, commit, "photos/a").await;
    assert_eq!(read(first).await.unwrap().as_deref(), Some(&b"one"[..]));
    for commit in first + 1..=unclear {
        let refused = read(commit).await.unwrap_err().to_string();
        assert!(refused.contains("the file photos/a of commit"), "{refused}");
    }
    let last = read(unclear + 1).await.unwrap();
    assert_eq!(last.as_deref(), Some(&b"one 1"[..]));
}
