//! The design language: from a TOML file to plain data.
//!
//! A design writes down a single-table design: the table, its entities with their key templates,
//! the records that are kept for them, the access patterns and the rules. [`check()`] reads such a
//! file and gives a [`Design`], or everything that is wrong with it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`design`] | [`Design`]: the compiled design, which the planner uses without looking at text again |
//! | [`kernel`] | everything that writes cause, lowered to one form |
//! | [`expression`] | values and conditions, resolved, with what they read |
//! | [`template`] | key templates: rendered from values, and read back from keys |
//! | [`types`] | the types of attributes and what they accept |
//! | [`time`] | the one form of a timestamp |
//! | [`codes`] | [`Code`]: every mistake and risk that a design can have, in one table |
//! | [`diagnostic`] | [`Diagnostic`]: one of them, with its place and what to write instead |
//! | [`mod@render`] | diagnostics as people read them |
//! | [`nested`] | attributes inside maps |
//! | [`stored`] | a stored item by itself, with the defaults of what it lacks |
//! | [`mod@keys`] | the keys of an item, for `partita keys` |
//! | [`cost`](mod@cost) | what its operations take on DynamoDB, for `partita cost` |
//! | [`cloudformation`] | its tables as a template of CloudFormation, for `partita export` |
//! | [`describe`](mod@describe) | a compiled design as JSON, for `partita describe` |
//! | [`origin`] | [`Origin`]: the text and the variables that a design was compiled from |
//! | [`fingerprint`] | what stored data follow of a design, as prints that are stored with them |
//! | [`difference`] | the changes from one design to another, and what each does to stored data |
//! | [`union`](mod@union) | two designs as one, while data are taken from one to the other |
//! | [`page`] | a compiled design as a Markdown page, for `partita docs` |
//! | [`shipped`] | the designs that ship with Partita |
//! | [`spelling`] | which name was probably meant |
//! | `document` | TOML as a tree in which everything knows its place, also inside strings |
//! | `syntax` | the small languages inside the strings: attribute lines, templates, queries |
//! | `check` | one module for each section of a design |
//!
//! ```
//! use partita_core::{Map, Value};
//!
//! let source = r#"
//!     design = "notes"
//!     [table]
//!     name = "notes-{STAGE | dev}"
//!     key  = ["PK", "SK"]
//!     [entity.Note]
//!     PK = "USER#{userId}"
//!     SK = "NOTE#{noteId}"
//!     [entity.Note.attributes]
//!     userId = "string, key-only"
//!     noteId = "ulid, generated"
//!     text   = "string 1..1000"
//!     [entity.Note.allow]
//!     "*" = "userId = caller"
//!     [pattern.notes]
//!     query = "PK = 'USER#{userId}' AND begins_with(SK, 'NOTE#')"
//! "#;
//! let (design, diagnostics) = partita_design::check(source, &|_variable| None);
//! assert!(diagnostics.is_empty());
//! let design = design.expect("a design without errors is compiled");
//! assert_eq!(design.tables[0].name, "notes-dev");
//!
//! let note = Map::from([
//!     ("userId".to_owned(), Value::from("ann")),
//!     ("noteId".to_owned(), Value::from("01ARZ3NDEKTSV4RRFFQ69G5FAV")),
//! ]);
//! let records = partita_design::keys(&design, "Note", &note).expect("the parts are good");
//! assert_eq!(records[0].keys[1], ("SK".into(), "NOTE#01ARZ3NDEKTSV4RRFFQ69G5FAV".into()));
//!
//! let (design, diagnostics) = partita_design::check(&source.replace("{noteId}", "{nodeId}"), &|_| None);
//! assert!(design.is_none());
//! assert_eq!(diagnostics[0].code.as_str(), "unknown-attribute");
//! assert_eq!(diagnostics[0].help.as_deref(), Some("did you mean `noteId`?"));
//! ```
//!
//! This crate does no I/O, never waits and never asks for the time.

mod check;
pub mod cloudformation;
pub mod codes;
pub mod cost;
pub mod describe;
pub mod design;
pub mod diagnostic;
pub mod difference;
mod document;
pub mod expression;
pub mod files;
pub mod fingerprint;
pub mod kernel;
pub mod keys;
pub mod layout;
pub mod media_type;
pub mod nested;
pub mod occupant;
pub mod origin;
pub mod page;
pub mod render;
pub mod resolve;
pub mod shipped;
pub mod sidecar;
pub mod spelling;
pub mod stored;
mod syntax;
pub mod template;
pub mod time;
pub mod types;
pub mod union;

pub use check::check;
pub use codes::{Code, Severity};
pub use design::Design;
pub use diagnostic::{Diagnostic, Related};
pub use difference::{Change, ChangeKind, Class};
pub use keys::{KeyFault, RecordKeys, keys};
pub use occupant::{Occupant, is_key_of, occupant};
pub use origin::{Origin, Place};
pub use partita_core::expression::Span;
pub use render::{Colours, render};
