//! Attributes, and where their values come from.

use partita_core::expression::{Path, Scope};
use partita_core::limits::ITEM_BYTES_MAX;
use partita_core::{Number, Value};

use super::{RecordId, RefId};
use crate::expression::{Expr, Formula, Origin, Predicate, Reading};
use crate::template::dotted;
use crate::types::AttributeType;

/// An attribute of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The name under which it is stored; with dots, inside a map.
    pub name: String,
    /// The name that templates and URLs call it by, where it is another one.
    pub alias: Option<String>,
    /// The names that it was stored under in earlier designs.
    pub was: Vec<String>,
    /// What it may hold.
    pub kind: AttributeType,
    /// Whether it may be missing. A number that is derived or a counter reads as 0 while it is.
    pub optional: bool,
    /// Where its value comes from.
    pub source: Source,
    /// Whether it is stored in the key only, not beside it.
    pub key_only: bool,
    /// Whether a view has it from its source: in its key, computed as there, or kept.
    pub inherited: bool,
    /// Whether a view's record has it though the view does not keep it: the time at which its item
    /// expires.
    pub implied: bool,
    /// Whether a view's record repeats it from its source.
    pub kept: bool,
    /// Whether it never changes after the item is created.
    pub fixed: bool,
    /// Whether nothing ever changes it once its item is there, so that it needs no guard: it is
    /// fixed, a part of the identity, or stamped at the creation.
    pub lasting: bool,
    /// Whether it may change though it is part of the identity: the item moves.
    pub movable: bool,
    /// Whether it is never shown.
    pub secret: bool,
    /// Whether it is computed when it is needed, and not stored.
    pub is_virtual: bool,
    /// Whether every new value is later than the one before.
    pub rising: bool,
    /// Whether new items should not have it.
    pub deprecated: bool,
    /// The prefix of a bucket that it names an object of, or each of its elements does.
    pub file_in: Option<String>,
    /// Whether a text that is an address of the web names no object of that prefix.
    pub elsewhere: bool,
    /// The attribute that is the name of the object, where this one takes uploads for it.
    pub file_at: Option<String>,
    /// The period after which a counter starts again, and the attribute that has its last time.
    pub per: Option<(Period, String)>,
}

/// When a counter starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Period {
    /// With every day, in UTC.
    Day,
    /// With every month, in UTC.
    Month,
}

/// Where an attribute's value comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// The caller gives it, or the default is taken.
    Given {
        /// What is stored when the caller gives nothing.
        default: Option<Formula>,
    },
    /// Made when the item is created, unless the caller gives one.
    Generated,
    /// Computed; the caller may not give it.
    Computed(Computed),
    /// Counted or summed over items that refer to this one.
    Aggregate(Aggregate),
    /// The value of another item's attribute, which it follows.
    Copy(Reading),
    /// Of a view: computed from the item that the view is of.
    Derived(Formula),
}

/// A value that is computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Computed {
    /// The value.
    pub value: Formula,
    /// When it is computed.
    pub timing: Timing,
}

/// When a value is computed.
#[derive(Clone, Debug, PartialEq)]
pub enum Timing {
    /// Whenever something that it reads of its own item changes.
    Always,
    /// When the item is created, and when a ref that it reads through leads elsewhere.
    Ref,
    /// When the item is created.
    Create,
    /// With every write of a caller.
    Write,
    /// The first time that this becomes true.
    Once(Box<Predicate>),
}

/// A number over the items that refer to this one.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// The attribute that is summed; `None` counts.
    pub sum: Option<String>,
    /// Whose items.
    pub of: RecordId,
    /// The ref by which they lead here.
    pub by: RefId,
    /// Only those for which this holds; it reads the counted item.
    pub only: Option<Predicate>,
}

impl Attribute {
    /// An attribute of a name and a source, and nothing else said of it.
    pub(crate) fn new(name: &str, source: Source) -> Attribute {
        Attribute {
            name: name.to_owned(),
            alias: None,
            was: Vec::new(),
            kind: AttributeType::Any,
            optional: false,
            source,
            key_only: false,
            inherited: false,
            implied: false,
            kept: false,
            fixed: false,
            lasting: false,
            movable: false,
            secret: false,
            is_virtual: false,
            rising: false,
            deprecated: false,
            file_in: None,
            elsewhere: false,
            file_at: None,
            per: None,
        }
    }

    /// The element that a view has a record for, which only its key holds.
    pub(crate) fn element(name: &str, kind: Option<AttributeType>) -> Attribute {
        Attribute {
            kind: kind.unwrap_or(AttributeType::Any),
            key_only: true,
            ..Attribute::new(name, Source::Generated)
        }
    }

    /// What its value is computed from.
    pub fn reads(&self) -> &[Reading] {
        match &self.source {
            Source::Given {
                default: Some(default),
            } => &default.reads,
            Source::Computed(computed) => &computed.value.reads,
            Source::Derived(value) => &value.reads,
            Source::Copy(reading) => std::slice::from_ref(reading),
            Source::Given { default: None } | Source::Generated | Source::Aggregate(_) => &[],
        }
    }

    /// Whether its record declares it. A view has others from its source.
    pub fn is_declared(&self) -> bool {
        !self.inherited
    }

    /// Whether it may change while the version of its item stays: what is counted, summed, copied
    /// or computed when it is read. Callers cannot overwrite it, so no version need protect it.
    pub fn changes_beside_version(&self) -> bool {
        matches!(self.source, Source::Aggregate(_) | Source::Copy(_))
            || self.kind == AttributeType::Counter
            || self.is_virtual
    }

    /// Whether it is a number that begins with 0.
    pub fn begins_with_zero(&self) -> bool {
        self.kind == AttributeType::Counter || matches!(self.source, Source::Aggregate(_))
    }

    /// Of a view: the formula that computes it from the item that the view is of.
    pub fn derived(&self) -> Option<&Formula> {
        match &self.source {
            Source::Derived(value) => Some(value),
            _ => None,
        }
    }

    /// Of a view: the attribute of its source that it repeats under another name.
    pub fn renames(&self) -> Option<&str> {
        let value = self.derived()?;
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

    /// Its path in an item.
    pub fn path(&self) -> Path {
        dotted(&self.name)
    }

    /// The value of a virtual attribute. A text that is larger than an item may be is missing: no
    /// stored value is larger, and values that are made of each other would multiply.
    pub fn virtual_value(&self, scope: &impl Scope) -> Option<Value> {
        let Source::Computed(computed) = &self.source else {
            return None;
        };
        let value = computed.value.value(scope)?;
        let is_too_large = value
            .as_str()
            .is_some_and(|text| text.len() > ITEM_BYTES_MAX);
        (self.is_virtual && !is_too_large).then_some(value)
    }

    /// What a stored item that lacks the attribute is read as having: 0 for a counter, a count or a
    /// sum, the default of any other. None where it has no default, and is missing.
    ///
    /// Planner, rules, filters, `verify`, `repair` and `keys` all ask here, so that they agree on
    /// items that are older than an attribute. A default that reads the time, the caller or another
    /// item was decided when its item came into being, and cannot be known afterwards.
    pub fn when_missing(&self, scope: &impl Scope) -> Option<Value> {
        if self.begins_with_zero() {
            return Some(Value::N(Number::from(0_i64)));
        }
        let Source::Given {
            default: Some(default),
        } = &self.source
        else {
            return None;
        };
        let mut reads = default.reads.iter();
        let is_own = reads.all(|one| one.origin == Origin::Item && one.hops.is_empty());
        let value = is_own.then(|| default.value(scope)).flatten()?;
        Some(self.kind.adopt(value))
    }
}
