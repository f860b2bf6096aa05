//! Targets that fail, and backups that are cut short.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use partita_backup::restoring::Moment;
use partita_backup::{BackupError, Catalog, Shipper, Shipping, retention};

use crate::stage::{Failing, STORE, Stage, rest, restore};

/// However often a target fails, and whether or not it has done what it refused, the backup is whole
/// in the end.
#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_fails_is_tried_again() {
    for lies in [false, true] {
        let mut stage = Stage::new(21).await;
        let target = Arc::new(Failing {
            inner: stage.target(),
            left: AtomicI64::new(1),
            lies,
        });
        let shipping = stage.shipping(target.clone(), None);
        let mut shipper = Shipper::begin(shipping, "a test").await.unwrap();
        for round in 0..4 {
            stage.write(2).await;
            target.left.store(round % 2, Ordering::Relaxed);
            let failed = rest(&mut shipper).await;
            assert!(
                matches!(failed, Err(BackupError::Target { .. })),
                "{failed:?}"
            );
            stage.write(1).await;
        }
        target.left.store(i64::MAX, Ordering::Relaxed);
        rest(&mut shipper).await.unwrap();
        assert_eq!(shipper.chain(), 1);
        assert_eq!(shipper.shipped(), stage.store.last_commit());
        let place = stage.place("restored");
        let restored = restore(&*target, Moment::Last, &place, None).await.unwrap();
        stage.compare(&place, restored.commit).await;
    }
}

/// A backup that ends after any of its objects restores what was whole before, or nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_is_cut_short_has_no_wrong_moment() {
    for puts in 1..9 {
        let mut stage = Stage::new(22).await;
        let target = Arc::new(Failing {
            inner: stage.target(),
            left: AtomicI64::new(puts),
            lies: false,
        });
        let begun = Shipper::begin(stage.shipping(target.clone(), None), "a test").await;
        let mut shipper = begun.unwrap();
        for _ in 0..3 {
            stage.write(2).await;
            if rest(&mut shipper).await.is_err() {
                break;
            }
        }
        let place = stage.place("restored");
        match restore(&*target, Moment::Last, &place, None).await {
            Ok(restored) => {
                assert_eq!(restored.commit, shipper.shipped());
                stage.compare(&place, restored.commit).await;
            }
            Err(error) => assert!(matches!(error, BackupError::NoMoment(_)), "{error}"),
        }
        drop(shipper);
        // The next server goes on with what is there.
        target.left.store(i64::MAX, Ordering::Relaxed);
        let resumed = Shipper::resume(stage.shipping(target.clone(), None)).await;
        let mut shipper = resumed.unwrap();
        rest(&mut shipper).await.unwrap();
        let place = stage.place("restored-2");
        let restored = restore(&*target, Moment::Last, &place, None).await.unwrap();
        assert_eq!(restored.commit, stage.store.last_commit());
        stage.compare(&place, restored.commit).await;
    }
}

/// The mistakes that would lose commits without a word, each made on purpose.
#[tokio::test(flavor = "multi_thread")]
async fn planted_mistakes_are_noticed() {
    let mut stage = Stage::new(23).await;
    let target = stage.target();
    let begun = Shipper::begin(stage.shipping(target.clone(), None), "a test").await;
    let mut shipper = begun.unwrap().with_pieces_of(300);
    rest(&mut shipper).await.unwrap();
    for _ in 0..4 {
        stage.write(2).await;
        rest(&mut shipper).await.unwrap();
    }
    shipper.begin_base();
    shipper.step().await.unwrap();
    stage.write(1).await;
    rest(&mut shipper).await.unwrap();
    let last = stage.store.last_commit();
    let names: Vec<String> = target
        .list("chains/")
        .await
        .unwrap()
        .into_iter()
        .map(|one| one.name)
        .collect();
    let segments: Vec<&String> = names
        .iter()
        .filter(|name| name.contains("/segments/"))
        .collect();
    let bases: Vec<&String> = names
        .iter()
        .filter(|name| name.ends_with("/base"))
        .collect();
    let without = async |name: &String, moment| {
        let bytes = target.get(name).await.unwrap();
        target.remove(name).await.unwrap();
        let place = stage.place("mistake");
        let restored = restore(&*target, moment, &place, None).await;
        let _ = std::fs::remove_dir_all(place);
        target.put(name, bytes).await.unwrap();
        restored
    };
    // A segment that was never written, between two that were.
    let skipped = without(segments[1], Moment::Commit(last.number - 4)).await;
    assert!(
        matches!(skipped, Err(BackupError::Gap { .. })),
        "{skipped:?}"
    );
    // The last segment, which the newest base says there must be.
    let tail = without(segments[segments.len() - 1], Moment::Last).await;
    assert!(matches!(tail, Err(BackupError::Gap { .. })), "{tail:?}");
    let tail = without(segments[segments.len() - 1], Moment::Commit(last.number)).await;
    assert!(tail.is_err(), "{tail:?}");
    // Without the first base, what is before the second cannot be restored.
    let first = stage.states.keys().next().unwrap() + 1;
    let early = without(bases[0], Moment::Commit(first)).await;
    assert!(matches!(early, Err(BackupError::NoMoment(_))), "{early:?}");
}

/// A target belongs to one store: no other one writes to it, and none removes from it.
#[tokio::test(flavor = "multi_thread")]
async fn a_target_belongs_to_one_store() {
    let mut stage = Stage::new(24).await;
    let target = stage.target();
    let mut shipper = Shipper::resume(stage.shipping(target.clone(), None))
        .await
        .unwrap();
    rest(&mut shipper).await.unwrap();
    stage.write(2).await;
    rest(&mut shipper).await.unwrap();
    let mut again = Shipper::begin(stage.shipping(target.clone(), None), "again")
        .await
        .unwrap();
    rest(&mut again).await.unwrap();
    let objects = target.list("chains/").await.unwrap();
    let other = Stage::new(25).await;
    let shipping = || Shipping {
        store: "another".to_owned(),
        ..other.shipping(target.clone(), None)
    };
    for refused in [
        Shipper::resume(shipping()).await,
        Shipper::begin(shipping(), "by hand").await,
    ] {
        let refused = refused.err().map(|error| error.to_string());
        let refused = refused.unwrap_or_default();
        assert!(refused.contains("the backup of another store"), "{refused}");
    }
    let removed = retention::remove_before(&*target, &[], "another", i64::MAX, None).await;
    assert_eq!(removed.unwrap(), 0);
    assert_eq!(target.list("chains/").await.unwrap(), objects);
    let removed = retention::remove_before(&*target, &[], STORE, i64::MAX, None).await;
    assert!(removed.unwrap() > 0);
}

/// A chain says why the newest one before it did not go on, also if that is damaged.
#[tokio::test(flavor = "multi_thread")]
async fn a_chain_says_why_it_began() {
    let stage = Stage::new(26).await;
    let target = stage.target();
    for key in [Some(1), None] {
        let mut shipper = Shipper::resume(stage.shipping(target.clone(), key))
            .await
            .unwrap();
        rest(&mut shipper).await.unwrap();
    }
    std::fs::write(stage.place("target/chains/000002/chain.json"), "{").unwrap();
    let mut shipper = Shipper::resume(stage.shipping(target.clone(), None))
        .await
        .unwrap();
    rest(&mut shipper).await.unwrap();
    std::fs::remove_dir_all(stage.place("target/chains/000002")).unwrap();
    let catalog = Catalog::read(&*target).await.unwrap();
    let summaries = catalog.summaries(&*target, &[]).await.unwrap();
    assert_eq!(summaries[0].reason, "the first backup");
    let last = &summaries[1].reason;
    assert!(
        last.contains("chains/000002/chain.json` is damaged"),
        "{last}"
    );
}

/// The chain that is being written stays, also while nothing is written and a newer one, taken by hand,
/// has all that it has.
#[tokio::test(flavor = "multi_thread")]
async fn the_chain_that_is_written_stays() {
    let mut stage = Stage::new(27).await;
    let target = stage.target();
    let begun = Shipper::resume(stage.shipping(target.clone(), None)).await;
    let mut shipper = begun.unwrap();
    stage.write(2).await;
    rest(&mut shipper).await.unwrap();
    let begun = Shipper::begin(stage.shipping(target.clone(), None), "by hand").await;
    rest(&mut begun.unwrap()).await.unwrap();
    let written = Some(shipper.chain());
    let removed = retention::remove_before(&*target, &[], STORE, i64::MAX, written).await;
    removed.unwrap();
    stage.write(1).await;
    rest(&mut shipper).await.unwrap();
    let place = stage.place("restored");
    let restored = restore(&*target, Moment::Last, &place, None).await.unwrap();
    assert_eq!(restored.commit, stage.store.last_commit());
    stage.compare(&place, restored.commit).await;
}
