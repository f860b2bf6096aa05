//! Why something did not arrive.

use partita_engine::LogError;
use partita_store::StoreError;
use partita_store::table::TableName;

use crate::exports::ExportError;

/// Why a copy came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The source does not answer as it should.
    #[error("the source does not answer: {0}")]
    Source(#[source] StoreError),
    /// The target does not take what it should.
    #[error("the target does not answer: {0}")]
    Target(#[source] StoreError),
    /// What was written to the source meanwhile cannot be read.
    #[error("the writes to the source can no longer be followed: {0}; let the copy begin again")]
    Log(#[from] LogError),
    /// A table of the target is another one.
    #[error("the table `{table}` of the target has other keys or indexes: remove it first")]
    OtherTable {
        /// The table.
        table: TableName,
    },
    /// The two do not become equal.
    #[error(
        "{items} items differ after {rounds} comparisons: stop what writes to the {}",
        if *.is_followed { "target" } else { "source" }
    )]
    Restless {
        /// How many items differed the last time.
        items: u64,
        /// How often they were compared.
        rounds: u32,
        /// Whether the writes to the source are followed, so that it cannot be the reason.
        is_followed: bool,
    },
    /// An export cannot be written or read.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// Whoever asked for it is gone.
    #[error("nobody waits for it any more")]
    Left,
}
