//! RFC 9457 problem documents.
//!
//! ```json
//! { "type": "urn:partita:problem:invalid", "title": "…", "status": 422, "detail": "…",
//!   "instance": "urn:partita:request:51f0c2a7e9b40d36", "entity": "Story",
//!   "faults": [{ "entity": "Story", "attribute": "title", "rule": "required", "detail": "is required" }] }
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`kind`] | every kind of problem, in one table |
//! | `refusal` | what the planner and the store refuse, as problems |

pub mod kind;
mod refusal;

use axum::http::{Method, StatusCode};
use partita_core::excerpt;
use partita_design::Design;
use partita_design::design::Rule;
use partita_plan::{Caller, FAULTS_MAX, PlanError};
use serde_json::{Map, Value as Json};

use crate::routes::Miss;
use crate::shares::Short;
use crate::token::TokenError;

pub use kind::ProblemKind;

/// Characters of a detail at most, whatever it repeats of a request.
const DETAIL_CHARS_MAX: usize = 5_000;

/// What is said to a user who is gone or not active.
pub(crate) const ACCOUNT_CLOSED: &str = "the account of this user is gone or not active";

/// A refusal as the API answers it.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// What kind of problem it is.
    pub kind: ProblemKind,
    /// What happened this time.
    pub detail: String,
    /// Further members.
    pub members: Map<String, Json>,
}

impl Problem {
    /// A problem without further members.
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Problem {
            kind,
            detail: excerpt::of_owned(detail.into(), DETAIL_CHARS_MAX),
            members: Map::new(),
        }
    }

    /// The request cannot be understood.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Problem::new(ProblemKind::BadRequest, detail)
    }

    /// There is nothing at this path.
    pub fn no_route(detail: impl Into<String>) -> Self {
        Problem::new(ProblemKind::NoRoute, detail)
    }

    /// The path is there, the method is not.
    pub fn method_not_allowed(allowed: &str) -> Self {
        let detail = format!("this path takes {allowed}");
        Problem::new(ProblemKind::MethodNotAllowed, detail).with("allow", allowed)
    }

    /// The body does not fit.
    pub fn too_large(bytes_max: usize) -> Self {
        let detail = format!("a body has at most {bytes_max} bytes");
        Problem::new(ProblemKind::BodyTooLarge, detail)
    }

    /// The body does not come.
    pub fn too_slow(seconds: u64) -> Self {
        let detail = format!("a body must be sent within {seconds} seconds");
        Problem::new(ProblemKind::BodyTooSlow, detail)
    }

    /// The answer does not come; a write may still be carried out.
    pub fn stuck(is_write: bool) -> Self {
        if is_write {
            PlanError::OutcomeUnknown.into()
        } else {
            Problem::new(ProblemKind::Timeout, "try again in a moment")
        }
    }

    /// Whether the design has come to another stage of its migration since the request came.
    pub(crate) fn is_superseded(&self) -> bool {
        self.kind == ProblemKind::Superseded
    }

    /// Others have taken all the room or all the places there are.
    pub fn busy() -> Self {
        Problem::new(
            ProblemKind::Throttled,
            "the server is busy; try again in a moment",
        )
    }

    /// There is no room for another answer before those that wait are read.
    pub(crate) fn unread(short: Short) -> Self {
        let detail = match short {
            Short::All => return Problem::busy(),
            Short::Own => "your earlier answers are not read yet; read them, then try again",
        };
        Problem::new(ProblemKind::Throttled, detail)
    }

    /// There is no memory to make another large answer in.
    pub(crate) fn no_memory(short: Short) -> Self {
        let detail = match short {
            Short::All => return Problem::busy(),
            Short::Own => {
                "you ask for more large answers at a time than one caller may; try again when those \
                 under way are answered"
            }
        };
        Problem::new(ProblemKind::Throttled, detail)
    }

    /// There is no place for another upload or download.
    pub(crate) fn no_place(short: Short) -> Self {
        let detail = match short {
            Short::All => return Problem::busy(),
            Short::Own => {
                "as many transfers are under way for you as there are for one caller; try again when one has ended"
            }
        };
        Problem::new(ProblemKind::Throttled, detail)
    }

    /// A user who is gone or not active, with a token that is good otherwise.
    pub(crate) fn account_closed() -> Self {
        Problem::new(ProblemKind::AccountClosed, ACCOUNT_CLOSED)
    }

    /// Only an administrator of the design may do this.
    pub fn for_administrators(caller: &Caller, design: &Design) -> Self {
        let kind = match caller.id {
            Some(_) => ProblemKind::Forbidden,
            None => ProblemKind::Unauthenticated,
        };
        let detail = match &design.callers.administrators {
            Rule::Never => "the design names no administrators".to_owned(),
            rule => format!("this is for administrators: `{}`", rule.text()),
        };
        Problem::new(kind, detail)
    }

    /// Only the operator of the installation may do this.
    pub fn for_operator(caller: &Caller) -> Self {
        let kind = match caller.id {
            Some(_) => ProblemKind::Forbidden,
            None => ProblemKind::Unauthenticated,
        };
        let detail = "this is for the operator: use the socket in the server's data directory, or a \
                      token made with its secret";
        Problem::new(kind, detail)
    }

    /// A mistake of ours.
    pub fn internal() -> Self {
        Problem::new(ProblemKind::Internal, "the server's log says what")
    }

    /// The status of the response.
    pub fn status(&self) -> StatusCode {
        self.kind.status()
    }

    /// Adds a member.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Json>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// The problem of a batch. Its kind and detail are those of the first refused operation, and
    /// `problems` lists those of all. Together they list at most `FAULTS_MAX` faults.
    pub(crate) fn of_batch(problems: Vec<(usize, Problem)>) -> Self {
        let Some((position, first)) = problems.first() else {
            return Problem::internal();
        };
        let detail = format!("operations[{position}]: {}", first.detail);
        let mut left = FAULTS_MAX;
        let members = problems.iter().map(|(position, problem)| {
            let mut members = problem.members();
            if let Some(Json::Array(faults)) = members.get_mut("faults") {
                faults.truncate(left);
                left -= faults.len();
            }
            members.insert("operation".into(), (*position).into());
            Json::Object(members)
        });
        Problem::new(first.kind, detail)
            .with("operation", *position)
            .with("problems", members.collect::<Vec<_>>())
    }

    /// The document; `request` is the id under which the log has the request.
    pub fn to_json(&self, request: &str) -> Json {
        let mut document = self.members();
        let instance = format!("urn:partita:request:{request}");
        document.insert("instance".into(), instance.into());
        Json::Object(document)
    }

    fn members(&self) -> Map<String, Json> {
        let mut members = self.members.clone();
        members.insert("type".into(), self.kind.uri().into());
        members.insert("title".into(), self.kind.title().into());
        members.insert("status".into(), self.status().as_u16().into());
        members.insert("detail".into(), self.detail.clone().into());
        members
    }
}

impl From<Miss> for Problem {
    fn from(miss: Miss) -> Self {
        match miss {
            Miss::NoPath { detail } => Problem::no_route(detail),
            Miss::NoMethod { allowed } => {
                let allowed: Vec<_> = allowed.iter().map(Method::as_str).collect();
                Problem::method_not_allowed(&allowed.join(", "))
            }
        }
    }
}

impl From<TokenError> for Problem {
    fn from(error: TokenError) -> Self {
        let kind = match error {
            TokenError::Expired => ProblemKind::TokenExpired,
            _ => ProblemKind::TokenInvalid,
        };
        Problem::new(kind, error.to_string())
    }
}

#[cfg(test)]
mod tests;
