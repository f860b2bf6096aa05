//! Files of buckets, as they were at each commit.

use std::fs;

use partita_backup::files::FileSource;
use partita_backup::restoring::{Moment, Plan};
use partita_backup::{BackupError, Shipper, Target, Wanted, retention};

use crate::stage::{STORE, Stage, rest};

fn source(stage: &Stage) -> FileSource {
    let root = stage.place("files");
    let left_out = vec![root.join("photos/temp")];
    // The items of the test say nothing of files, so every commit may.
    let key_part = Vec::new();
    FileSource {
        root,
        left_out,
        key_part,
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
    retention::remove_before(&*target, &[], STORE, now)
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
