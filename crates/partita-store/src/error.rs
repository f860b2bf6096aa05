//! What can go wrong in a store, in DynamoDB's vocabulary.

use partita_core::Item;
use partita_core::expression::{ExpressionError, UpdateError};

use crate::stream::StreamName;
use crate::table::TableName;

/// The result of a store operation.
pub type StoreResult<T> = Result<T, StoreError>;

/// An error of a store.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The request is wrong, whatever the table holds.
    #[error("{message}")]
    Validation {
        /// What is wrong with it.
        message: String,
    },
    /// The table does not exist.
    #[error("the table `{table}` does not exist")]
    TableNotFound {
        /// The table of the request.
        table: TableName,
    },
    /// The table exists already.
    #[error("the table `{table}` exists already")]
    TableExists {
        /// The table of the request.
        table: TableName,
    },
    /// The table has no such index that could be changed or deleted.
    #[error("the table `{table}` has no index `{index}`")]
    IndexNotFound {
        /// The table.
        table: TableName,
        /// The index.
        index: String,
    },
    /// The stream does not exist, or not any more.
    #[error("the stream `{stream}` does not exist")]
    StreamNotFound {
        /// The stream of the request.
        stream: StreamName,
    },
    /// The stream has no such shard.
    #[error("the stream `{stream}` has no shard `{shard}`")]
    ShardNotFound {
        /// The stream.
        stream: StreamName,
        /// The shard.
        shard: String,
    },
    /// The iterator was made more than 15 minutes ago.
    #[error("the shard iterator has expired")]
    IteratorExpired,
    /// The records that the iterator points to were too old and are gone.
    #[error("the records after the iterator are no longer kept")]
    RecordsTrimmed,
    /// The table is being changed, or does not let itself be changed so; nothing was changed.
    #[error("{message}")]
    ResourceInUse {
        /// What is under way, in DynamoDB's words.
        message: String,
    },
    /// There would be more of something than there may be; nothing was changed.
    #[error("{message}")]
    LimitExceeded {
        /// What of, in DynamoDB's words.
        message: String,
    },
    /// The condition of a write does not hold; nothing was written.
    #[error("the condition on an item of `{table}` was not met")]
    ConditionFailed {
        /// The table of the item.
        table: TableName,
        /// The item as it is, if the request asked for it.
        item: Option<Box<Item>>,
    },
    /// The transaction was refused as a whole; nothing was written.
    #[error("the transaction was cancelled: {}", codes(.reasons))]
    TransactionCanceled {
        /// One reason for each action, in the request's order.
        reasons: Vec<CancellationReason>,
    },
    /// Another write was under way on the same item; nothing was written.
    #[error("another transaction is under way on the same item")]
    TransactionConflict,
    /// The token was used within the last ten minutes, for another transaction.
    #[error("the client request token was used for a different transaction")]
    IdempotentParameterMismatch,
    /// Who asks may not do this; nothing was written.
    #[error("{message}")]
    AccessDenied {
        /// Why not, and what to do instead.
        message: String,
    },
    /// The store has no capacity right now; nothing was written.
    #[error("the store is throttling requests")]
    Throttled,
    /// A part of the store has no capacity left, and the store says which; nothing was written.
    #[error("the store is throttling requests: {0}")]
    Exhausted(Exhausted),
    /// The store cannot be reached or has stopped taking requests; nothing was written.
    #[error("the store is unavailable: {message}")]
    Unavailable {
        /// What happened.
        message: String,
    },
    /// The store has no disk space left for writes; nothing was written, and reads go on.
    #[error("the disk is full: {message}")]
    DiskFull {
        /// How much is left, and how much it takes.
        message: String,
    },
    /// The table takes no writes, because its items are moving or have moved elsewhere; nothing was
    /// written, and reads go on.
    #[error("{message}")]
    ReadOnly {
        /// Why, and where to write instead.
        message: String,
    },
    /// Several servers share the tables, and this one may not write to them now; nothing was written,
    /// and reads go on.
    #[error("{message}")]
    NoLease {
        /// Why, and what to do.
        message: String,
    },
    /// The table is neither read nor written for now, because items are arriving in it; nothing was
    /// written.
    #[error("{message}")]
    Closed {
        /// What is under way.
        message: String,
    },
    /// The request was sent and no answer came: it was carried out, or it was not.
    #[error("the outcome is unknown: {message}")]
    OutcomeUnknown {
        /// What happened.
        message: String,
    },
    /// What is stored cannot be read.
    #[error("stored data is damaged: {message}")]
    Corrupt {
        /// Where, and how it showed.
        message: String,
    },
}

/// What has no capacity left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// DynamoDB's word for it, such as `TableWriteKeyRangeThroughputExceeded`.
    pub reason: String,
    /// The index, where it is that of an index and its name is known.
    pub index: Option<String>,
}

impl Exhausted {
    /// Whether it is an index that has no capacity left, and not the table.
    pub fn is_of_index(&self) -> bool {
        self.index.is_some() || self.reason.starts_with("Index")
    }
}

impl std::fmt::Display for Exhausted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.index {
            Some(index) => write!(f, "{} of `{index}`", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

/// What a caller does about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Nothing helps but another request.
    FixRequest,
    /// A condition did not hold: read again and decide again.
    ConditionFailed,
    /// Somebody else was faster: the same request may succeed now.
    Conflict,
    /// The same request may succeed later.
    Retry,
    /// It is unknown whether the request was carried out.
    OutcomeUnknown,
    /// The store needs an operator.
    Unavailable,
    /// The data needs an operator.
    Corrupt,
}

impl StoreError {
    /// A request that is wrong in itself.
    pub fn validation(message: impl Into<String>) -> Self {
        StoreError::Validation {
            message: message.into(),
        }
    }

    /// What to do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            StoreError::Validation { .. }
            | StoreError::TableNotFound { .. }
            | StoreError::TableExists { .. }
            | StoreError::IndexNotFound { .. }
            | StoreError::StreamNotFound { .. }
            | StoreError::ShardNotFound { .. }
            | StoreError::IteratorExpired
            | StoreError::RecordsTrimmed
            | StoreError::LimitExceeded { .. }
            | StoreError::AccessDenied { .. }
            | StoreError::IdempotentParameterMismatch => ErrorKind::FixRequest,
            StoreError::ConditionFailed { .. } => ErrorKind::ConditionFailed,
            StoreError::TransactionCanceled { reasons } => cancelled_kind(reasons),
            StoreError::TransactionConflict => ErrorKind::Conflict,
            StoreError::Throttled | StoreError::Exhausted(_) | StoreError::ResourceInUse { .. } => {
                ErrorKind::Retry
            }
            StoreError::OutcomeUnknown { .. } => ErrorKind::OutcomeUnknown,
            StoreError::Unavailable { .. }
            | StoreError::DiskFull { .. }
            | StoreError::ReadOnly { .. }
            | StoreError::NoLease { .. }
            | StoreError::Closed { .. } => ErrorKind::Unavailable,
            StoreError::Corrupt { .. } => ErrorKind::Corrupt,
        }
    }
}

impl From<ExpressionError> for StoreError {
    fn from(error: ExpressionError) -> Self {
        StoreError::validation(error.message)
    }
}

impl From<UpdateError> for StoreError {
    fn from(error: UpdateError) -> Self {
        StoreError::validation(error.to_string())
    }
}

/// Why a transaction was cancelled, as far as one action is concerned.
#[derive(Clone, Debug, PartialEq)]
pub enum CancellationReason {
    /// This action is innocent.
    None,
    /// Its condition does not hold.
    ConditionalCheckFailed {
        /// The item as it is, if the action asked for it.
        item: Option<Item>,
    },
    /// It inserts an item that is there already. Only statements insert; to a store this is a
    /// condition like any other.
    DuplicateItem,
    /// Another write was under way on its item.
    TransactionConflict,
    /// There was no capacity for it.
    Throttled,
    /// There was no capacity for it, and the store says where.
    Exhausted(Exhausted),
    /// The action does not fit its item.
    Validation {
        /// What is wrong with it.
        message: String,
    },
}

impl CancellationReason {
    /// DynamoDB's code for it.
    pub fn code(&self) -> &'static str {
        match self {
            CancellationReason::None => "None",
            CancellationReason::ConditionalCheckFailed { .. } => "ConditionalCheckFailed",
            CancellationReason::DuplicateItem => "DuplicateItem",
            CancellationReason::TransactionConflict => "TransactionConflict",
            CancellationReason::Throttled | CancellationReason::Exhausted(_) => "ThrottlingError",
            CancellationReason::Validation { .. } => "ValidationError",
        }
    }
}

fn codes(reasons: &[CancellationReason]) -> String {
    let texts: Vec<_> = reasons
        .iter()
        .map(|reason| match reason {
            CancellationReason::Validation { message } => format!("{}: {message}", reason.code()),
            _ => reason.code().to_owned(),
        })
        .collect();
    texts.join(", ")
}

/// The gravest reason decides: a faulty action stays faulty, and a failed condition must be
/// looked at before a conflict is tried again.
fn cancelled_kind(reasons: &[CancellationReason]) -> ErrorKind {
    let has = |code: &str| reasons.iter().any(|reason| reason.code() == code);
    if has("ValidationError") {
        ErrorKind::FixRequest
    } else if has("ConditionalCheckFailed") {
        ErrorKind::ConditionFailed
    } else if has("TransactionConflict") {
        ErrorKind::Conflict
    } else {
        ErrorKind::Retry
    }
}
