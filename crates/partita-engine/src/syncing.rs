//! The thread that has everything put on disk in a while, when not each commit is.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::queue::WeakQueue;

/// How long a commit waits for the disk at most, but for the commits before it in the queue.
const PAUSE: Duration = Duration::from_millis(100);

/// Starts the thread. It hears of commits, and asks for a sync some time after the first; it
/// ends when it can hear of no more.
pub(crate) fn start(commits: Receiver<()>, queue: WeakQueue) -> std::io::Result<JoinHandle<()>> {
    thread::Builder::new()
        .name("partita-syncing".to_owned())
        .spawn(move || {
            while commits.recv().is_ok() {
                if !pause(&commits) {
                    return;
                }
                // Without the queue the committer ends, and syncs by itself.
                let Some(queue) = queue.upgrade() else { return };
                queue.ask_for_sync();
            }
        })
}

/// Waits, and hears of further commits meanwhile. Whether there may be more.
fn pause(commits: &Receiver<()>) -> bool {
    // The committer says so once between two syncs, so nothing cuts the pause short.
    commits.recv_timeout(PAUSE) != Err(RecvTimeoutError::Disconnected)
}
