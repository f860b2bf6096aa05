//! What the endpoint tells of the backup behind its server.

use std::future::Future;
use std::pin::Pin;

/// The moments that can be restored, as the endpoint asks for them.
pub trait Recovery: Send + Sync {
    /// The first of them and the last, in milliseconds since 1970; none as long as there is none. An
    /// error says why the backup cannot be looked at.
    fn moments(&self) -> Looked<'_>;
}

/// What becomes of a look at a backup.
pub type Looked<'a> = Pin<Box<dyn Future<Output = Result<Option<(i64, i64)>, String>> + Send + 'a>>;
