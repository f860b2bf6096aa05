//! RFC 9457 problem documents.
//!
//! ```json
//! { "type": "urn:partita:problem:invalid", "title": "…", "status": 422, "detail": "…",
//!   "faults": [{ "attribute": "title", "message": "is required" }] }
//! ```

use axum::http::StatusCode;
use partita_plan::PlanError;
use partita_store::{ErrorKind, StoreError};
use serde_json::{Map, Value as Json, json};

use crate::token::TokenError;

/// A refusal as the API answers it.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The status of the response.
    pub status: StatusCode,
    /// The stable name, the last part of `type`.
    pub name: &'static str,
    /// What kind of problem it is.
    pub title: &'static str,
    /// What happened this time.
    pub detail: String,
    /// Further members.
    pub members: Map<String, Json>,
}

impl Problem {
    /// A problem without further members.
    pub fn new(
        status: StatusCode,
        name: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Problem {
            status,
            name,
            title,
            detail: detail.into(),
            members: Map::new(),
        }
    }

    /// The request cannot be understood.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        let title = "The request cannot be understood";
        Problem::new(StatusCode::BAD_REQUEST, "bad-request", title, detail)
    }

    /// There is nothing at this path.
    pub fn no_route(detail: impl Into<String>) -> Self {
        let title = "There is nothing at this path";
        Problem::new(StatusCode::NOT_FOUND, "no-route", title, detail)
    }

    /// The path is there, the method is not.
    pub fn method_not_allowed(allowed: &str) -> Self {
        let detail = format!("this path takes {allowed}");
        let title = "The method does not fit the path";
        let status = StatusCode::METHOD_NOT_ALLOWED;
        Problem::new(status, "method-not-allowed", title, detail).with("allow", allowed)
    }

    /// The body does not fit.
    pub fn too_large(bytes_max: usize) -> Self {
        let detail = format!("a body has at most {bytes_max} bytes");
        let title = "The body is too large";
        Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body-too-large",
            title,
            detail,
        )
    }

    /// The body does not come.
    pub fn too_slow(seconds: u64) -> Self {
        let detail = format!("a body must be sent within {seconds} seconds");
        let title = "The body takes too long";
        Problem::new(StatusCode::REQUEST_TIMEOUT, "body-too-slow", title, detail)
    }

    /// The answer does not come; a write may still be carried out.
    pub fn stuck(is_write: bool) -> Self {
        if is_write {
            return PlanError::OutcomeUnknown.into();
        }
        let title = "The store does not answer in time";
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Problem::new(status, "timeout", title, "try again in a moment")
    }

    /// Only a token with the role of administrators will do.
    pub fn for_admins_only() -> Self {
        let title = "Only administrators may see this";
        let detail = "bring a token with the role `admin`";
        Problem::new(StatusCode::FORBIDDEN, "forbidden", title, detail)
    }

    /// A mistake of ours.
    pub fn internal() -> Self {
        let title = "Something went wrong";
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Problem::new(status, "internal", title, "the server's log says what")
    }

    /// Whether the same request may succeed in a moment.
    pub fn is_passing(&self) -> bool {
        matches!(self.name, "throttled" | "timeout" | "outcome-unknown")
    }

    /// Adds a member.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Json>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// The document.
    pub fn to_json(&self) -> Json {
        let mut document = self.members.clone();
        document.insert(
            "type".into(),
            format!("urn:partita:problem:{}", self.name).into(),
        );
        document.insert("title".into(), self.title.into());
        document.insert("status".into(), self.status.as_u16().into());
        document.insert("detail".into(), self.detail.clone().into());
        Json::Object(document)
    }
}

impl From<TokenError> for Problem {
    fn from(error: TokenError) -> Self {
        let name = match error {
            TokenError::Expired => "token-expired",
            _ => "token-invalid",
        };
        let title = "The token is refused";
        Problem::new(StatusCode::UNAUTHORIZED, name, title, error.to_string())
    }
}

impl From<PlanError> for Problem {
    fn from(error: PlanError) -> Self {
        let detail = error.to_string();
        let problem = |status, name, title| Problem::new(status, name, title, detail.clone());
        match error {
            PlanError::UnknownEntity { .. }
            | PlanError::UnknownPattern { .. }
            | PlanError::UnknownAction { .. } => Problem::no_route(detail),
            PlanError::Invalid { faults } => {
                let faults: Vec<Json> = faults
                    .iter()
                    .map(|fault| json!({"attribute": fault.attribute, "message": fault.message}))
                    .collect();
                let title = "What was given does not fit the design";
                problem(StatusCode::UNPROCESSABLE_ENTITY, "invalid", title).with("faults", faults)
            }
            PlanError::Unauthenticated { entity, .. } => {
                let title = "This needs a token";
                problem(StatusCode::UNAUTHORIZED, "unauthenticated", title).with("entity", entity)
            }
            PlanError::Forbidden { entity, rule, .. } => {
                let title = "The rules do not allow this";
                let problem = problem(StatusCode::FORBIDDEN, "forbidden", title);
                problem.with("entity", entity).with("rule", rule)
            }
            PlanError::NotFound { entity, .. } => {
                let title = "There is no such item";
                problem(StatusCode::NOT_FOUND, "not-found", title).with("entity", entity)
            }
            PlanError::Exists { entity } => {
                let title = "There is such an item already";
                problem(StatusCode::CONFLICT, "exists", title).with("entity", entity)
            }
            PlanError::StaleVersion { entity } => {
                let title = "The item was changed since it was read";
                let status = StatusCode::PRECONDITION_FAILED;
                problem(status, "stale-version", title).with("entity", entity)
            }
            PlanError::Requires { name, rule } => {
                let title = "What this requires is not so";
                let problem = problem(StatusCode::CONFLICT, "requirement", title);
                problem.with("name", name).with("rule", rule)
            }
            PlanError::InUse { entity, by, .. } => {
                let title = "Others refer to this item";
                let problem = problem(StatusCode::CONFLICT, "in-use", title);
                problem.with("entity", entity).with("by", by)
            }
            PlanError::TooMuch { .. } => {
                let title = "This write is larger than a transaction";
                problem(StatusCode::UNPROCESSABLE_ENTITY, "too-much", title)
            }
            PlanError::StillRemoved { entity } => {
                let title = "What belonged to it is still being removed";
                problem(StatusCode::CONFLICT, "still-removed", title).with("entity", entity)
            }
            PlanError::KeyReused => {
                let title = "The idempotency key belongs to another request";
                problem(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "idempotency-key-reused",
                    title,
                )
            }
            PlanError::LimitReached {
                limit,
                wait_seconds,
                ..
            } => {
                let title = "This was done as often as it may be";
                let problem = problem(StatusCode::TOO_MANY_REQUESTS, "limit-reached", title);
                problem.with("limit", limit).with("wait", wait_seconds)
            }
            PlanError::TooDeep => {
                let title = "This write depends on too many items";
                problem(StatusCode::UNPROCESSABLE_ENTITY, "too-much", title)
            }
            PlanError::NotDeleted { entity } => {
                let title = "Only what is deleted can be restored";
                problem(StatusCode::CONFLICT, "not-deleted", title).with("entity", entity)
            }
            PlanError::NotRestorable { entity } => {
                let title = "This entity has no soft delete";
                problem(StatusCode::CONFLICT, "not-restorable", title).with("entity", entity)
            }
            PlanError::TooLarge { pattern, .. } => {
                let title = "The result is too large to be ordered";
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                problem(status, "too-large", title).with("pattern", pattern)
            }
            PlanError::BadCursor => {
                let title = "The cursor is refused";
                problem(StatusCode::BAD_REQUEST, "bad-cursor", title)
            }
            PlanError::Conflict => {
                let title = "Others are writing to the same items";
                problem(StatusCode::CONFLICT, "conflict", title)
            }
            PlanError::OutcomeUnknown => {
                let title = "Nobody can say whether this was carried out";
                let status = StatusCode::SERVICE_UNAVAILABLE;
                problem(status, "outcome-unknown", title).with("outcome", "unknown")
            }
            PlanError::Store(error) => store_problem(&error),
            _ => Problem::internal(),
        }
    }
}

/// What the store says is for the log, except where the request itself is at fault.
fn store_problem(error: &StoreError) -> Problem {
    match error.kind() {
        ErrorKind::FixRequest => Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "refused-by-store",
            "The store refuses this item",
            error.to_string(),
        ),
        ErrorKind::Retry => Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "throttled",
            "There is no capacity right now",
            "try again in a moment",
        ),
        ErrorKind::Corrupt => Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "corrupt",
            "Stored data is damaged",
            "the server's log says where",
        ),
        _ => Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "The store is unavailable",
            "the server's log says why; nothing was changed",
        ),
    }
}
