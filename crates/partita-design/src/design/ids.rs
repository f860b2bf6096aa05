//! Typed positions in the tables of a [`Design`](super::Design).

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// The id of what stands at a position of its table.
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
    /// A reference, in the [`Record::refs`](super::Record::refs) of its record.
    RefId
    /// A table of constants, in [`Design::constants`](super::Design::constants).
    ConstantsId
    /// A pattern, in [`Design::patterns`](super::Design::patterns).
    PatternId
    /// An action, in [`Design::actions`](super::Design::actions).
    ActionId
    /// A trigger, in [`Design::triggers`](super::Design::triggers).
    TriggerId
}
