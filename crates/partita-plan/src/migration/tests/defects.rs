//! Mistakes that the tests must notice.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;

use super::cases::{Case, cases};
use super::press::{End, Press};
use crate::migration::Mistake;

/// Plays a case with a mistake until something is wrong; says whether something was.
async fn is_noticed(mistake: Mistake, case: &str) -> bool {
    is_noticed_before(End::Switched, mistake, case).await
}

/// The same, up to an end.
async fn is_noticed_before(end: End, mistake: Mistake, case: &str) -> bool {
    let Case { old, new, .. } = cases().into_iter().find(|one| one.name == case).unwrap();
    for seed in 0..40 {
        let quiet = Press::open(&old, seed).await.with_mistake(mistake);
        let beside = Press::open(&old, seed).await.with_mistake(mistake);
        let playing = async {
            let (mut quiet, mut beside) = (quiet, beside);
            quiet.write_some(40).await;
            let before = quiet.items().await;
            quiet.migrate(&new, End::RolledBack).await.unwrap();
            quiet.expect_items(&before, "quiet").await;
            beside.write_some(40).await;
            beside.begin_faults();
            beside.migrate_beside_writers(&new, end).await;
            beside.expect_settled("beside writers").await;
        };
        if AssertUnwindSafe(playing).catch_unwind().await.is_err() {
            return true;
        }
    }
    false
}

#[tokio::test]
async fn an_item_that_is_counted_twice_is_noticed() {
    assert!(is_noticed(Mistake::CountedTwice, "a count").await);
}

#[tokio::test]
async fn an_item_that_is_missed_is_noticed() {
    for case in [
        "a count",
        "a view",
        "a computed value",
        "a new index",
        "a copy",
        "another sort key",
    ] {
        assert!(is_noticed(Mistake::Missed, case).await, "{case}");
    }
}

#[tokio::test]
async fn an_item_that_is_missed_when_interim_names_end_is_noticed() {
    for case in ["another count", "another key in an index", "another copy"] {
        let is_noticed = is_noticed_before(End::Completed, Mistake::MissedName, case).await;
        assert!(is_noticed, "{case}");
    }
}

#[tokio::test]
async fn a_guard_that_is_not_taken_is_noticed() {
    assert!(is_noticed(Mistake::GuardNotTaken, "a unique value").await);
}

#[tokio::test]
async fn a_record_of_what_is_gone_is_noticed() {
    assert!(is_noticed(Mistake::RecordNotRequired, "a view").await);
}

#[tokio::test]
async fn a_stage_that_moves_too_early_is_noticed() {
    assert!(is_noticed(Mistake::StageTooEarly, "all at once").await);
}

#[tokio::test]
async fn a_trigger_that_a_backfill_fires_is_noticed() {
    assert!(is_noticed(Mistake::TriggerFired, "a computed value").await);
}
