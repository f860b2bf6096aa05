//! The REST API of designs.
//!
//! ```text
//! socket -> server -> App::answer: Routes::find -> decode -> Operation -> Partita::run -> encode -> socket
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`app`] | [`App`]: designs by name; one function shows the whole trip of a request |
//! | [`routes`] | every request that a design answers, in one table |
//! | [`intake`] | bodies and answers, counted while they are in memory, and work that takes long |
//! | `shares` | room that callers share, a part of it for each |
//! | [`request`] | a request as it comes |
//! | [`decode`] | what it asks for |
//! | [`cors`] | which pages may call from a browser |
//! | `compress` | smaller answers for callers that take them |
//! | `batch` | several writes in one request, all or none |
//! | [`encode`] | answers and refusals to responses |
//! | [`tag`] | entity tags: versions, and what tells states of one version apart |
//! | [`meters`] | requests, counted by design and operation |
//! | [`request_id`] | the ids of requests, in logs and answers |
//! | [`problem`] | RFC 9457 problem documents; the only place that knows status codes of refusals |
//! | [`openapi`] | the OpenAPI document of a design, made from its types and its routes |
//! | [`typescript`] | a client of a design in TypeScript, made from that document |
//! | [`admin`] | commands for administrators: plan, can, items, verify, repair, jobs, demo, token, grant |
//! | [`auth`] | people sign up and in, where the design has accounts |
//! | [`access`] | what six callers are told of every route, worked out from the rules |
//! | [`docs`] | pages for people |
//! | [`console`] | pages for administrators, and the operator's way into them |
//! | [`feed`] | feeds: patterns and items that are followed |
//! | [`files`] | uploads, signed URLs, and the objects behind them |
//! | [`outbox`] | mails and events on their way out: the log, SMTP, webhooks |
//! | `https` | a client for key sets, receivers and S3, where a feature asks for it |
//! | [`token`] | bearer tokens: made and verified |
//! | [`secret`] | the one secret, and the keys derived from it |
//! | [`server`] | the accept loop, with its limits and its graceful stop |
//!
//! Rules are not decided here: the API brings a verified caller, and the planner decides where
//! the rows are.

pub mod access;
pub mod admin;
mod admission;
pub mod app;
pub mod auth;
mod batch;
mod compress;
pub mod console;
pub mod cors;
pub mod decode;
pub mod docs;
pub mod encode;
pub mod feed;
pub mod files;
#[cfg(feature = "https")]
mod https;
pub mod intake;
pub mod meters;
pub mod openapi;
pub mod outbox;
pub mod problem;
pub mod request;
pub mod request_id;
pub mod routes;
pub mod secret;
pub mod server;
mod shares;
pub mod tag;
pub mod token;
pub mod typescript;

pub use app::{App, Serving};
pub use auth::PublicUrl;
pub use cors::Origins;
pub use files::{FileLimits, Files, Place};
pub use intake::Intake;
pub use meters::ApiMeters;
pub use problem::Problem;
pub use routes::{Route, Routes};
pub use secret::Secrets;
pub use server::{Limits, serve};
pub use token::Tokens;
