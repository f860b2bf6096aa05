//! Which parts of the language a design uses, and where.
//!
//! Every part of the language is checked. Whoever runs a design may know fewer of them; this list
//! lets it refuse the others by name and line, so that nothing in a design is silently ignored.

/// A part of the language that is not in every design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Construct {
    /// `[table.NAME]`.
    SeveralTables,
    /// `[index]`.
    Index,
    /// The `ttl` of a table.
    Expiry,
    /// An attribute inside a map.
    NestedAttribute,
    /// A type with steps between its values.
    State,
    /// `counter`.
    Counter,
    /// `version`.
    Version,
    /// A value other than `now on create` and `now on write`.
    ComputedValue,
    /// A default that is not a literal.
    ComputedDefault,
    /// An id that is not a ULID.
    GeneratedUuid,
    /// `count of`, `sum of`.
    Aggregate,
    /// `copy`.
    Copy,
    /// `fixed`, where it is not a part of the identity.
    Fixed,
    /// `movable`.
    Movable,
    /// `secret`.
    Secret,
    /// `virtual`.
    Virtual,
    /// `file in`.
    File,
    /// `per day of`, `per month of`.
    Period,
    /// A placeholder with a format, a function or a fallback.
    FormattedPlaceholder,
    /// A soft delete by a time or a value.
    SoftDeleteValue,
    /// `require` of an entity.
    Require,
    /// `repeat`.
    Repeat,
    /// A ref with several targets.
    PolymorphicRef,
    /// A ref to several items.
    ManyRef,
    /// A ref to a row of constants.
    ConstantRef,
    /// A ref to a view.
    ViewRef,
    /// `via`.
    RefByPattern,
    /// `on delete`, other than `keep`.
    OnDelete,
    /// `unchecked`.
    Unchecked,
    /// A path through a ref.
    RefPath,
    /// `caller.groups`, or a role that is an attribute.
    CallerAttribute,
    /// `[entity.X.unique]`.
    Unique,
    /// A rule for some attributes.
    AttributeRule,
    /// `each` of a view.
    ViewEach,
    /// `history-of`.
    History,
    /// Attributes of a view.
    ViewAttributes,
    /// Rules of a view.
    ViewRules,
    /// `[action.X]`.
    Action,
    /// `[trigger.X]`.
    Trigger,
    /// A read of an index.
    IndexRead,
    /// A range of sort keys.
    SortRange,
    /// `scan`.
    Scan,
    /// `filter`.
    Filter,
    /// `follow`.
    Follow,
    /// `one`.
    One,
    /// `params` of a pattern.
    PatternParameter,
    /// A sort from the largest to the smallest.
    DescendingSort,
    /// `deleted = "include"`, `expired = "include"`.
    IncludeHidden,
    /// `[limit.X]`.
    Limit,
    /// `[bucket.X]`.
    Bucket,
}

/// One use of a part of the language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// What is used.
    pub construct: Construct,
    /// The words in the file, such as `count of Vote`.
    pub words: String,
    /// The line of the file, from 1.
    pub line: usize,
}
