//! What a design says of data that an earlier one left: it does nothing to data that have followed
//! this design from the beginning.

use super::{Effect, KeyTemplates, TableId};
use crate::expression::{Formula, Predicate};
use crate::template::Template;
use crate::types::AttributeType;

/// What a record was in an earlier design: `was`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Earlier {
    /// Its name then, if it had another one.
    pub name: Option<String>,
    /// Its partition key then, if it was another one, in the names of today.
    pub partition: Option<Template>,
    /// Its sort key then, if it was another one, in the names of today.
    pub sort: Option<Template>,
}

/// The value that stored items get which lack an attribute, or have one that does not fit: `fill`.
///
/// `old.x` is the attribute `x` as it is stored, whatever it is called or is today. Any other name
/// is an attribute of the item in the names of today.
#[derive(Clone, Debug, PartialEq)]
pub struct Fill {
    /// The attribute, by the name that it is stored under.
    pub attribute: String,
    /// Its value.
    pub value: Formula,
}

/// Rows of an older layout, and what becomes of each: `[rows.X]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The name in the design.
    pub name: String,
    /// What they are.
    pub about: Option<String>,
    /// The table that they are in.
    pub table: TableId,
    /// The keys that they have.
    pub key: KeyTemplates,
    /// What they hold, as far as it is read: names, types, and whether they may be missing.
    pub attributes: Vec<(String, AttributeType, bool)>,
    /// Only rows are meant of which this holds.
    pub when: Option<Predicate>,
    /// What is created, changed or deleted for each.
    pub then: Vec<Effect>,
    /// Whether the row itself is deleted.
    pub delete: bool,
}
