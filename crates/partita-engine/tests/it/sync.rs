//! The disk refuses a sync, for real: `strace` makes the system call fail.
//!
//! This is also what notices a commit that forgets to sync. A killed process keeps what the
//! operating system holds for it, so no test that only kills can.

use std::path::Path;
use std::process::{Command, Stdio};

use partita_store::request::{PutItem, ReturnValues};
use partita_store::{Store, StoreError, StoreResult};

use crate::bench::{CHILD_DIRECTORY, child, create_table, key, number, open, put};

#[test]
fn a_failed_sync_is_never_acknowledged() {
    let works = Command::new("strace")
        .args(["-f", "true"])
        .stderr(Stdio::null())
        .status();
    if !works.is_ok_and(|status| status.success()) {
        assert!(
            std::env::var_os("CI").is_none(),
            "under CI nothing is skipped: install strace"
        );
        println!("skipped: it needs strace, and leave to trace");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-o", "/dev/null", "-e", "trace=fdatasync"])
        // Each thread counts for itself. The committer syncs a table, then three puts.
        .args(["-e", "inject=fdatasync:error=EIO:when=5+", "--"])
        .arg(std::env::current_exe().unwrap());
    let status = child(strace, "sync::writer", directory.path()).status();
    assert!(status.unwrap().success());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = open(directory.path());
        for number in 0..3 {
            assert!(is_there(&store, number).await);
        }
        let late = put(key("a", 9), "amount", 1);
        store.put_item(late, ReturnValues::None).await.unwrap();
    });
}

async fn is_there(store: &dyn Store, sort: i64) -> bool {
    number(store, key("a", sort), "amount").await == 1
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "runs as the child of `a_failed_sync_is_never_acknowledged`"]
async fn writer() {
    let Ok(directory) = std::env::var(CHILD_DIRECTORY) else {
        return;
    };
    let store = open(Path::new(&directory));
    create_table(&store).await;
    let mut answers: Vec<StoreResult<_>> = Vec::new();
    for number in 0..5 {
        let request: PutItem = put(key("a", number), "amount", 1);
        answers.push(store.put_item(request, ReturnValues::None).await);
    }
    assert!(answers[..3].iter().all(Result::is_ok), "{answers:?}");
    assert!(
        matches!(answers[3], Err(StoreError::OutcomeUnknown { .. })),
        "{answers:?}"
    );
    assert!(
        matches!(answers[4], Err(StoreError::Unavailable { .. })),
        "{answers:?}"
    );
    // Reads go on, and show nothing that may not be there tomorrow.
    for number in 0..5 {
        assert_eq!(is_there(&store, number).await, number < 3, "{number}");
    }
}
