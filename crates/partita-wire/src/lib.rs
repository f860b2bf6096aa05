//! DynamoDB's protocol in front of a store.
//!
//! ```text
//! head, body -> authenticate -> X-Amz-Target -> decode -> dyn Store -> encode -> response
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`endpoint`] | [`Endpoint`]: one function shows the whole trip of a request |
//! | [`sigv4`] | AWS's signatures, as pure functions; [`Credentials`] |
//! | `body` | what clients send compressed, within bounds |
//! | `compression` | answers that are compressed for clients that take it |
//! | `ops` | one file for each operation, and the table that finds them by name |
//! | `json` | JSON to requests, and DynamoDB's words for JSON of the wrong type |
//! | `constraints` | required parameters, enumerations, lengths: DynamoDB's first check |
//! | `parameters` | what operations share: table names, choices, what is not supported |
//! | `partiql` | statements, lowered to the requests of the other operations |
//! | `expressions` | the texts of a request and their placeholders |
//! | `legacy` | the parameters that expressions have replaced, lowered to the same trees |
//! | `metrics` | what is counted of requests and commits |
//! | `neighbour` | requests without credentials |
//! | `refusal` | errors: their type, their status, their JSON |
//! | `messages` | DynamoDB's sentences, as data |
//! | `request_ids` | the ids that answers carry |
//!
//! ```
//! # futures::executor::block_on(async {
//! use std::sync::Arc;
//! use partita_store::{ModelStore, surroundings::{SeededEntropy, SystemClock}};
//! use partita_wire::Endpoint;
//!
//! let endpoint = Endpoint::new(
//!     Arc::new(ModelStore::default()),
//!     None,
//!     Arc::new(SystemClock),
//!     Arc::new(SeededEntropy::new(1)),
//! );
//! let (head, ()) = http::Request::post("/")
//!     .header("x-amz-target", "DynamoDB_20120810.DescribeLimits")
//!     .header("x-amz-date", "20260101T000000Z")
//!     .header("authorization", "AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=any")
//!     .body(()).unwrap().into_parts();
//! let response = endpoint.answer(&head, "{}".into()).await;
//! assert_eq!(response.status(), 200);
//! # });
//! ```
//!
//! It never opens a socket, never sees which store it has, and knows no web framework: an accept
//! loop brings the head and the whole body of a request, at most [`BODY_BYTES_MAX`].

mod body;
mod compression;
mod constraints;
pub mod endpoint;
mod expressions;
mod json;
mod legacy;
mod messages;
mod metrics;
mod neighbour;
mod ops;
mod parameters;
mod partiql;
pub mod recovery;
mod refusal;
mod request_ids;
pub mod sigv4;

pub use body::BODY_BYTES_MAX;
pub use endpoint::Endpoint;
pub use recovery::Recovery;
pub use sigv4::{Admission, Credentials};
