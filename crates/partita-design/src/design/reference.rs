//! How one item is found from another.

use super::{AttributeId, ConstantsId, IndexId, KeyValue, PatternId, Record, RecordId, Source};
use crate::template::Template;

/// A reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Ref {
    /// The first step of paths through it: `story` in `story.status`.
    pub name: String,
    /// The attribute whose value says which of the targets is meant.
    pub by: Option<String>,
    /// Where it leads; more than one only where `by` says which.
    pub targets: Vec<RefTarget>,
    /// Whether a soft-deleted target counts as missing, and hides this item.
    pub live: bool,
    /// Whether a target that cannot act, as `[accounts]` says, counts as missing when the ref
    /// begins to lead there.
    pub active: bool,
    /// Whether the target need not exist.
    pub unchecked: bool,
    /// Whether it may lead nowhere, because one of its arguments may be missing.
    pub optional: bool,
}

/// One target of a reference.
#[derive(Clone, Debug, PartialEq)]
pub struct RefTarget {
    /// The value of `by` that chooses it.
    pub when: Option<String>,
    /// What it leads to.
    pub to: RefTo,
    /// For each part of the target's identity, in its order, where it comes from. With `via`, for
    /// each parameter of the pattern.
    pub arguments: Vec<Argument>,
    /// The pattern that finds the target.
    pub via: Option<PatternId>,
    /// What becomes of this item when the target is deleted.
    pub on_delete: OnDelete,
    /// How the items that refer to a target are found from it, where something needs that.
    pub finder: Option<Finder>,
}

impl RefTarget {
    /// Whether items that refer to one of an entity may stay when it is deleted.
    pub(crate) fn may_stay(&self, target: &Record) -> bool {
        match &self.on_delete {
            OnDelete::Keep => true,
            OnDelete::Cascade | OnDelete::Clear(_) => false,
            // Where not all are counted, the rest stays.
            OnDelete::Refuse { count } => {
                let counted = &target.attributes[count.index()].source;
                !matches!(counted, Source::Aggregate(aggregate) if aggregate.only.is_none())
            }
        }
    }
}

/// What a reference leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefTo {
    /// An item.
    Record(RecordId),
    /// A row of a constants table.
    Constants(ConstantsId),
}

/// Where a part of the target's identity comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The part.
    pub part: String,
    /// The own attribute that holds it, or a parameter or element, or a path through another ref.
    pub path: String,
    /// Whether that is a list, and each element leads to a target.
    pub many: bool,
}

/// What becomes of an item when the target of a reference is deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnDelete {
    /// Nothing.
    #[default]
    Keep,
    /// It is removed too, for good.
    Cascade,
    /// The target cannot be deleted while there are such items; the count that says so.
    Refuse {
        /// The attribute of the target that counts them.
        count: AttributeId,
    },
    /// These attributes are removed.
    Clear(Vec<AttributeId>),
}

/// How the items that refer to a target are found: a query over a key of theirs, or of a view.
#[derive(Clone, Debug, PartialEq)]
pub struct Finder {
    /// The record that has the key.
    pub record: RecordId,
    /// The index; `None` is the table.
    pub index: Option<IndexId>,
    /// The partition. Its placeholders are attributes of the item that refers; a list among them
    /// means one of its elements.
    pub partition: KeyValue,
    /// The beginning of the sort keys.
    pub prefix: Option<Template>,
    /// Whether that is the whole sort key.
    pub whole: bool,
    /// Attributes with few values in those keys, all of which are tried.
    pub enumerate: Vec<String>,
}

/// The name of a ref's argument that is the caller's id.
pub const CALLER: &str = "caller";

impl RefTarget {
    /// What it is, where it is an item.
    pub fn record(&self) -> Option<RecordId> {
        match self.to {
            RefTo::Record(record) => Some(record),
            RefTo::Constants(_) => None,
        }
    }

    /// Whether the target is found by who calls, so that it is a record of the caller's own.
    pub fn is_callers(&self) -> bool {
        let mut arguments = self.arguments.iter();
        arguments.any(|argument| argument.path == CALLER)
    }
}

impl Ref {
    /// The records whose items it can lead to; constants are none.
    pub fn records(&self) -> impl Iterator<Item = RecordId> {
        self.targets.iter().filter_map(RefTarget::record)
    }

    /// The only target, if there is one and it is an item.
    pub fn single(&self) -> Option<(RecordId, &RefTarget)> {
        match self.targets.as_slice() {
            [target] => Some((target.record()?, target)),
            _ => None,
        }
    }

    /// Whether an item of `referrer` may refer to a target that does not exist yet: its target need
    /// not exist, or was deleted and left it behind.
    pub fn may_precede(&self, target: &RefTarget, record: &Record, referrer: &Record) -> bool {
        // A soft-deleted item is not counted, so it does not keep its target.
        let is_uncounted =
            matches!(target.on_delete, OnDelete::Refuse { .. }) && referrer.soft_delete.is_some();
        self.unchecked || is_uncounted || target.may_stay(record)
    }

    /// Whether it leads to several items at once.
    pub fn is_many(&self) -> bool {
        let arguments = self.targets.iter().flat_map(|target| &target.arguments);
        arguments.into_iter().any(|argument| argument.many)
    }
}
