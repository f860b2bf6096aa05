//! Every moment of a backup is the store as it was then.

use partita_backup::restoring::Moment;
use partita_backup::{BackupError, Catalog, Shipper, retention};

use crate::stage::{STORE, Stage, rest, restore};

#[tokio::test(flavor = "multi_thread")]
async fn every_commit_since_the_first_base_can_be_restored() {
    let mut stage = Stage::new(1).await;
    stage.write(5).await;
    let target = stage.target();
    let shipping = stage.shipping(target.clone(), None);
    let begun = Shipper::begin(shipping, "a test").await.unwrap();
    let mut shipper = begun.with_pieces_of(300);
    let first = stage.store.last_commit();
    for round in 0..14 {
        stage.write(1).await;
        // The commit, and a piece of a base if one is under way.
        shipper.step().await.unwrap();
        shipper.step().await.unwrap();
        if round == 9 {
            shipper.begin_base();
        }
    }
    rest(&mut shipper).await.unwrap();
    assert_eq!(shipper.shipped(), stage.store.last_commit());
    let catalog = Catalog::read(&*target).await.unwrap();
    let summaries = catalog.summaries(&*target, &[]).await.unwrap();
    let (begin, end) = summaries[0].moments.unwrap();
    assert!(begin.number > first.number && end == stage.store.last_commit());
    assert_eq!((summaries.len(), summaries[0].bases), (1, 2));
    for number in begin.number..=end.number {
        let place = stage.place(&format!("restored-{number}"));
        let restored = restore(&*target, Moment::Commit(number), &place, None).await;
        let commit = restored.unwrap().commit;
        assert_eq!(commit.number, number);
        stage.compare(&place, commit).await;
        // Commits are a second apart.
        for (name, millis, wanted) in [("at", 0, number), ("after", 999, number)] {
            let place = stage.place(&format!("{name}-{number}"));
            let moment = Moment::At(commit.time_millis + millis);
            let restored = restore(&*target, moment, &place, None).await.unwrap();
            assert_eq!(restored.commit.number, wanted);
        }
    }
    for moment in [
        Moment::Commit(begin.number - 1),
        Moment::Commit(end.number + 1),
    ] {
        let refused = restore(&*target, moment, &stage.place("no"), None).await;
        assert!(
            matches!(refused, Err(BackupError::NoMoment(_))),
            "{refused:?}"
        );
    }
    let early = Moment::At(begin.time_millis - 1);
    assert!(
        restore(&*target, early, &stage.place("no"), None)
            .await
            .is_err()
    );
    assert!(!stage.place("no").exists());
}

/// A server that stops and starts goes on with its chain; one that starts without a backup, or was
/// away for too long, says what is lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_chain_goes_on_after_a_restart() {
    let mut stage = Stage::new(2).await;
    let target = stage.target();
    for round in 0..3 {
        let mut shipper = Shipper::resume(stage.shipping(target.clone(), None))
            .await
            .unwrap();
        assert_eq!(shipper.chain(), 1, "round {round}");
        stage.write(3).await;
        rest(&mut shipper).await.unwrap();
        // What is written after the last segment is shipped by the next server.
        stage.write(2).await;
        drop(shipper);
        stage.reopen().await;
    }
    let mut shipper = Shipper::resume(stage.shipping(target.clone(), None))
        .await
        .unwrap();
    rest(&mut shipper).await.unwrap();
    let (last, _) = stage.states.last_key_value().unwrap();
    let place = stage.place("restored");
    let restored = restore(&*target, Moment::Commit(*last), &place, None)
        .await
        .unwrap();
    stage.compare(&place, restored.commit).await;
    let first = stage.states[&(last - 12)].0;
    let place = stage.place("earlier");
    let restored = restore(&*target, Moment::At(first.time_millis), &place, None)
        .await
        .unwrap();
    stage.compare(&place, restored.commit).await;
}

/// A restored store has the numbers of the old one, and another history. It does not go on with the
/// old one's chain, and its own is the newest.
#[tokio::test(flavor = "multi_thread")]
async fn another_history_begins_another_chain() {
    let mut stage = Stage::new(3).await;
    let target = stage.target();
    let mut shipper = Shipper::resume(stage.shipping(target.clone(), None))
        .await
        .unwrap();
    rest(&mut shipper).await.unwrap();
    stage.write(6).await;
    rest(&mut shipper).await.unwrap();
    let last = stage.store.last_commit();
    let place = stage.place("store-2");
    let restored = restore(&*target, Moment::Commit(last.number - 3), &place, None)
        .await
        .unwrap();
    drop(shipper);
    let old = std::mem::replace(&mut stage.store, crate::stage::open(&place, &stage.clock));
    drop(old);
    stage.write(5).await;
    let mut shipper = Shipper::resume(stage.shipping(target.clone(), None))
        .await
        .unwrap();
    assert_eq!(shipper.chain(), 2);
    rest(&mut shipper).await.unwrap();
    let catalog = Catalog::read(&*target).await.unwrap();
    let summaries = catalog.summaries(&*target, &[]).await.unwrap();
    let expected = format!("chains/000001 ends with commit {}", last.number);
    assert!(
        summaries[1].reason.starts_with(&expected),
        "{}",
        summaries[1].reason
    );
    let newest = restore(&*target, Moment::Last, &stage.place("newest"), None)
        .await
        .unwrap();
    assert_eq!(
        (newest.chain, newest.commit),
        (2, stage.store.last_commit())
    );
    let before = Moment::Commit(restored.commit.number);
    let older = restore(&*target, before, &stage.place("older"), None)
        .await
        .unwrap();
    assert_eq!((older.chain, older.commit), (1, restored.commit));
}

/// Of two servers with the same store one goes on with the chain.
#[tokio::test(flavor = "multi_thread")]
async fn a_chain_has_one_writer() {
    let mut stage = Stage::new(4).await;
    let target = stage.target();
    let mut one = Shipper::resume(stage.shipping(target.clone(), None))
        .await
        .unwrap();
    rest(&mut one).await.unwrap();
    let mut other = Shipper::resume(stage.shipping(target.clone(), Some(1)))
        .await
        .unwrap();
    assert_eq!(other.chain(), 2, "another key");
    rest(&mut other).await.unwrap();
    let mut same = Shipper::resume(stage.shipping(target.clone(), None))
        .await
        .unwrap();
    stage.write(1).await;
    rest(&mut one).await.unwrap();
    stage.write(1).await;
    let refused = rest(&mut same).await.unwrap_err();
    assert!(matches!(refused, BackupError::Exists { .. }), "{refused}");
    assert!(partita_backup::shipping::ends_chain(&refused));
    let reason = same.reason(&refused);
    drop(same);
    let again = Shipper::begin(stage.shipping(target.clone(), None), &reason).await;
    let mut again = again.unwrap();
    rest(&mut again).await.unwrap();
    assert_eq!(again.chain(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_old_goes_and_every_moment_since_stays() {
    let mut stage = Stage::new(5).await;
    let target = stage.target();
    let mut shipper = Shipper::begin(stage.shipping(target.clone(), None), "a test")
        .await
        .unwrap();
    for _ in 0..4 {
        stage.write(3).await;
        rest(&mut shipper).await.unwrap();
        shipper.begin_base();
        rest(&mut shipper).await.unwrap();
    }
    let second = Shipper::begin(stage.shipping(target.clone(), None), "another").await;
    let mut second = second.unwrap();
    rest(&mut second).await.unwrap();
    stage.write(3).await;
    rest(&mut second).await.unwrap();
    let catalog = Catalog::read(&*target).await.unwrap();
    let summaries = catalog.summaries(&*target, &[]).await.unwrap();
    let (first, _) = summaries[0].moments.unwrap();
    let states = stage.states.range(first.number..);
    let states: Vec<_> = states.map(|(_, (id, _))| *id).collect();
    let mut objects = target.list("chains/").await.unwrap().len();
    for id in &states {
        let removed = retention::remove_before(&*target, &[], STORE, id.time_millis, None)
            .await
            .unwrap();
        let left = target.list("chains/").await.unwrap().len();
        assert_eq!(left + removed, objects);
        objects = left;
        for later in states.iter().filter(|later| later.number >= id.number) {
            let place = stage.place(&format!("{}-{}", id.number, later.number));
            let restored = restore(&*target, Moment::Commit(later.number), &place, None).await;
            let restored = restored
                .unwrap_or_else(|error| panic!("{} since {}: {error}", later.number, id.number));
            stage.compare(&place, restored.commit).await;
            std::fs::remove_dir_all(place).unwrap();
        }
    }
    let summaries = Catalog::read(&*target).await.unwrap();
    let summaries = summaries.summaries(&*target, &[]).await.unwrap();
    assert_eq!(summaries.len(), 1, "{summaries:?}");
    // However late it is, the last moment stays.
    retention::remove_before(&*target, &[], STORE, i64::MAX, None)
        .await
        .unwrap();
    let last = restore(&*target, Moment::Last, &stage.place("last"), None)
        .await
        .unwrap();
    assert_eq!(last.commit, stage.store.last_commit());
}

/// A backup by hand into the target of a server is of one moment, and the server's chain goes on. The
/// last moment is the server's, whichever chain is newer, and so is a time after the backup by hand.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_moment_is_that_of_the_chain_that_goes_furthest() {
    let mut stage = Stage::new(6).await;
    let target = stage.target();
    let mut server = Shipper::resume(stage.shipping(target.clone(), None))
        .await
        .unwrap();
    rest(&mut server).await.unwrap();
    stage.write(2).await;
    let by_hand = Shipper::begin(stage.shipping(target.clone(), None), "by hand").await;
    let mut by_hand = by_hand.unwrap();
    rest(&mut by_hand).await.unwrap();
    let early = by_hand.shipped();
    drop(by_hand);
    stage.write(3).await;
    rest(&mut server).await.unwrap();
    let last = stage.store.last_commit();
    let between = stage.states[&(last.number - 1)].0;
    for (name, moment, chain, commit) in [
        ("last", Moment::Last, 1, last),
        ("now", Moment::At(last.time_millis + 5_000), 1, last),
        ("between", Moment::At(between.time_millis), 1, between),
        ("early", Moment::At(early.time_millis), 2, early),
    ] {
        let place = stage.place(name);
        let restored = restore(&*target, moment, &place, None).await.unwrap();
        assert_eq!((restored.chain, restored.commit), (chain, commit), "{name}");
        stage.compare(&place, restored.commit).await;
    }
    // What is removed is never the last moment.
    retention::remove_before(&*target, &[], STORE, i64::MAX, None)
        .await
        .unwrap();
    let kept = restore(&*target, Moment::Last, &stage.place("kept"), None).await;
    assert_eq!(kept.unwrap().commit, last);
}

/// A time between two chains is refused if commits of then may be lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_time_in_a_hole_is_refused() {
    let mut stage = Stage::new(7).await;
    let target = stage.target();
    for _ in 0..2 {
        let begun = Shipper::begin(stage.shipping(target.clone(), None), "a test").await;
        rest(&mut begun.unwrap()).await.unwrap();
        stage.write(3).await;
    }
    let (first, _) = stage.states.first_key_value().unwrap();
    let lost = stage.states[&(first + 1)].0;
    let refused = restore(
        &*target,
        Moment::At(lost.time_millis),
        &stage.place("no"),
        None,
    )
    .await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("no chain covers that time"), "{refused}");
}

/// A chain that cannot be read and may go further is not passed over without a word.
#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_cannot_be_read_is_not_passed_over() {
    let mut stage = Stage::new(8).await;
    let target = stage.target();
    let mut server = Shipper::resume(stage.shipping(target.clone(), Some(1)))
        .await
        .unwrap();
    rest(&mut server).await.unwrap();
    let by_hand = Shipper::begin(stage.shipping(target.clone(), None), "by hand").await;
    let mut by_hand = by_hand.unwrap();
    rest(&mut by_hand).await.unwrap();
    stage.write(2).await;
    rest(&mut server).await.unwrap();
    let refused = restore(&*target, Moment::Last, &stage.place("no"), None).await;
    let refused = refused.unwrap_err();
    assert!(
        matches!(
            refused,
            BackupError::InTheWay {
                chain: 1,
                other: 2,
                ..
            }
        ),
        "{refused}"
    );
    // Once another goes further, it is not needed.
    stage.write(2).await;
    rest(&mut by_hand).await.unwrap();
    let restored = restore(&*target, Moment::Last, &stage.place("yes"), None).await;
    assert_eq!(restored.unwrap().commit, stage.store.last_commit());
}
