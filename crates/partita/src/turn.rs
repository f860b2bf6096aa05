//! A store that another process has open: whoever needs it waits for its turn.

use std::time::Duration;

use anyhow::Result;

use crate::{output, store};

/// How often the store is tried, each time for half a second: five minutes, in which most commands are
/// done with it, and a server that starts takes commands.
const ATTEMPTS: u32 = 500;
/// The pause in between.
const PAUSE: Duration = Duration::from_millis(100);
/// After so many attempts, five seconds, it is said what is waited for.
const SAID_AFTER: u32 = 8;

const WAITING: &str = "another process has the store open, and this waits for it";
/// What is said of a process that has the store open and has no socket there.
const NO_SOCKET: &str = "another process has the store open and takes no commands there: wait until \
                         that command is done, or ask the server with --server URL";

/// How often a store was tried.
#[derive(Debug, Default)]
pub(crate) struct Turn(u32);

impl Turn {
    /// Waits before the store is tried again, if another process has it open. Any other error is given
    /// back, and so is this one after five minutes.
    pub(crate) async fn wait(&mut self, error: anyhow::Error) -> Result<()> {
        if !store::is_in_use(&error) {
            return Err(error);
        }
        self.0 += 1;
        match self.0 {
            ATTEMPTS => return Err(error.context(NO_SOCKET)),
            SAID_AFTER => output::note(WAITING.to_owned()),
            _ => {}
        }
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }
}
