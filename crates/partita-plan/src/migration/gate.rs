//! The lock that stages move under.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use super::MigrationError;
use crate::error::PlanError;

/// Lets commits pass that are planned for the stage of now. All that write to the same data in a
/// process share one.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// How often the stage has moved in this process.
    moves: Arc<RwLock<u64>>,
    /// What this was when the one that commits was opened.
    planned_at: u64,
}

impl Gate {
    /// The same gate for what is planned from now on.
    pub async fn now(&self) -> Gate {
        let planned_at = *self.moves.read().await;
        Gate {
            moves: self.moves.clone(),
            planned_at,
        }
    }

    /// Waits until no stage is moving; refuses what was planned for another one. As long as the
    /// answer is kept, no stage moves.
    pub(crate) async fn pass(&self) -> Result<OwnedRwLockReadGuard<u64>, PlanError> {
        let moves = self.moves.clone().read_owned().await;
        if *moves == self.planned_at {
            Ok(moves)
        } else {
            Err(PlanError::Superseded)
        }
    }

    /// Waits until no commit is under way; refuses to move on from another stage than that of now.
    /// No commit begins as long as the answer is kept.
    pub(super) async fn close(&self) -> Result<OwnedRwLockWriteGuard<u64>, MigrationError> {
        let moves = self.moves.clone().write_owned().await;
        if *moves == self.planned_at {
            Ok(moves)
        } else {
            Err(MigrationError::Moved)
        }
    }

    /// The gate for what is planned from now on.
    pub(super) fn moved(&self, moves: &mut u64) -> Gate {
        *moves += 1;
        Gate {
            moves: self.moves.clone(),
            planned_at: *moves,
        }
    }
}
