//! Records derived from items.

use super::{Attribute, Each, IdentityPart, KeyTemplates, RecordIndex, Rules, SoftDelete};
use crate::expression::{Expr, Formula, Origin, Predicate};
use crate::types::AttributeType;

/// A record that is kept for every item of an entity, or for every element of a list of it.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub about: Option<String>,
    /// The entity that it is derived from.
    pub of: String,
    /// Whether it keeps the states that were replaced, instead of the current one.
    pub history: bool,
    /// It exists while this holds of the source. The soft delete of the source is in it.
    pub when: Option<Predicate>,
    /// There is one record for every element of this.
    pub each: Option<Each>,
    /// Of elements with the same value only the first has a record.
    pub distinct: Option<Formula>,
    /// Its primary key, over the source's attributes and its own.
    pub key: KeyTemplates,
    /// Its keys in the indexes.
    pub indexes: Vec<RecordIndex>,
    /// The value of the table's discriminator.
    pub discriminator: Option<String>,
    /// What tells one record from another: the placeholders of the primary key, in order.
    pub identity: Vec<IdentityPart>,
    /// The attributes that it copies.
    pub keep: Vec<String>,
    /// The attributes that it has beyond those.
    pub attributes: Vec<ViewAttribute>,
    /// Who may read its records and use its actions; `None` leaves that to its source's rules.
    pub rules: Option<Rules>,
    /// How a soft-deleted source is told from a live one, where that hides the record.
    pub hidden_by: Option<SoftDelete>,
}

/// An attribute of a view that its source does not have.
#[derive(Clone, Debug, PartialEq)]
pub enum ViewAttribute {
    /// Computed from the source.
    Derived {
        /// Its name.
        name: String,
        /// What it may hold.
        kind: AttributeType,
        /// Whether it may be missing.
        optional: bool,
        /// Whether it is never shown.
        secret: bool,
        /// Its value.
        value: Formula,
    },
    /// The record's own: kept while the record lives, and changed by actions and effects.
    Own(Box<Attribute>),
}

impl ViewAttribute {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            ViewAttribute::Derived { name, .. } => name,
            ViewAttribute::Own(attribute) => &attribute.name,
        }
    }

    /// The attribute of the source that it repeats under another name.
    pub fn copied(&self) -> Option<&str> {
        let ViewAttribute::Derived { value, .. } = self else {
            return None;
        };
        match (value.cases.as_slice(), value.reads.as_slice()) {
            ([case], [reading])
                if matches!(case.is, Expr::Path(_))
                    && reading.origin == Origin::Item
                    && reading.hops.is_empty() =>
            {
                Some(&reading.attribute)
            }
            _ => None,
        }
    }

    /// Whether it is never shown.
    pub fn is_secret(&self) -> bool {
        match self {
            ViewAttribute::Derived { secret, .. } => *secret,
            ViewAttribute::Own(attribute) => attribute.secret,
        }
    }

    /// What it may hold.
    pub fn kind(&self) -> &AttributeType {
        match self {
            ViewAttribute::Derived { kind, .. } => kind,
            ViewAttribute::Own(attribute) => &attribute.kind,
        }
    }
}

impl View {
    /// The attributes that are computed from the source.
    pub fn derived(&self) -> impl Iterator<Item = (&str, &Formula)> {
        self.attributes
            .iter()
            .filter_map(|attribute| match attribute {
                ViewAttribute::Derived { name, value, .. } => Some((name.as_str(), value)),
                ViewAttribute::Own(_) => None,
            })
    }
}
