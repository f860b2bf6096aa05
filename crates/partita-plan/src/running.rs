//! What runs in the planner, as its callers see it.

use std::pin::Pin;

use crate::error::PlanError;

/// Something that the planner does, to be awaited.
///
/// It is boxed, because the code of an `async fn` is compiled where it is awaited: each program
/// would compile the whole planner once more.
pub type Running<'a, T> = Pin<Box<dyn Future<Output = Result<T, PlanError>> + Send + 'a>>;
