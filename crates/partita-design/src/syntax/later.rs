//! What the language has and this version does not know yet.
//!
//! These words get a diagnostic of their own, so that a reader of the language's manual is not
//! told that they are misspelt. A word leaves its list when it is implemented.

/// Sections of the file.
pub(crate) const SECTIONS: &[&str] = &[
    "index",
    "every",
    "caller",
    "shape",
    "constants",
    "trigger",
    "action",
    "limit",
    "limits",
    "bucket",
];

/// Keys of `[table]`.
pub(crate) const TABLE: &[&str] = &[
    "ttl",
    "billing",
    "encryption",
    "stream",
    "point-in-time-recovery",
];

/// Keys of an entity.
pub(crate) const ENTITY: &[&str] = &["table", "require", "repeat", "unique"];

/// Keys of a view.
pub(crate) const VIEW: &[&str] = &["table", "each", "distinct", "history-of", "attributes"];

/// Keys of a pattern.
pub(crate) const PATTERN: &[&str] = &[
    "scan", "index", "filter", "one", "follow", "deleted", "expired", "params",
];

/// The first words of attribute lines: types and derived attributes.
pub(crate) const TYPES: &[&str] = &[
    "int", "enum", "state", "counter", "version", "expiry", "uuid", "map", "binary", "set", "date",
    "epoch-ms", "copy", "count", "sum",
];

/// Formats of strings.
pub(crate) const FORMATS: &[&str] = &["email", "url"];

/// Clauses of attribute lines.
pub(crate) const CLAUSES: &[&str] = &[
    "fixed",
    "movable",
    "secret",
    "virtual",
    "rising",
    "deprecated",
    "each",
    "file",
    "per",
];

/// Warnings.
pub(crate) const WARNINGS: &[&str] = &["hot-partition", "low-cardinality", "secret-in-key"];

/// Clauses of reference lines.
pub(crate) const REF_CLAUSES: &[&str] = &["on", "unchecked"];
