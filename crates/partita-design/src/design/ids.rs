//! Typed positions in the tables of a [`Design`](super::Design).

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// The id of a position in its table.
            pub(crate) fn new(position: usize) -> Self {
                // INVARIANT: a design is a file of at most a few megabytes.
                $name(u32::try_from(position).unwrap_or(u32::MAX))
            }

            /// The position in its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A table, in [`Design::tables`](super::Design::tables).
    TableId
    /// An index, in the [`Table::indexes`](super::Table::indexes) of its table.
    IndexId
    /// An entity or a view, in [`Design::records`](super::Design::records).
    RecordId
    /// An attribute, in the [`Record::attributes`](super::Record::attributes) of its record.
    AttributeId
    /// A reference, in the [`Record::refs`](super::Record::refs) of its record.
    RefId
    /// A unique value, in the [`Record::unique`](super::Record::unique) of its record.
    UniqueId
    /// A table of constants, in [`Design::constants`](super::Design::constants).
    ConstantsId
    /// A pattern, in [`Design::patterns`](super::Design::patterns).
    PatternId
    /// An action, in [`Design::actions`](super::Design::actions).
    ActionId
    /// A trigger, in [`Design::triggers`](super::Design::triggers).
    TriggerId
}

/// An effect of a trigger, or one of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EffectId {
    /// The effect of a trigger.
    Trigger(TriggerId),
    /// An effect of an action: its position in [`Action::then`](super::Action::then).
    Action(ActionId, usize),
}

/// One target of a reference: of which record, by which reference, as which of its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReferrerId {
    /// The record that refers.
    pub record: RecordId,
    /// Its reference.
    pub reference: RefId,
    /// The position in [`Ref::targets`](super::Ref::targets).
    pub target: usize,
}
