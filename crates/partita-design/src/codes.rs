//! Every code that a diagnostic can have, in one table.

use std::fmt;

/// Whether a design can be used in spite of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The design cannot be used.
    Error,
    /// The design can be used; `[[accept]]` says that the risk is known.
    Warning,
}

impl Severity {
    /// The word that users see.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// How far one mistake reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// It is visible in its own line, whatever the rest of the file says.
    Line,
    /// It is seen by comparing lines. If one of them could not be read, it may be an illusion.
    File,
}

macro_rules! codes {
    ($($variant:ident $text:literal $severity:ident $reach:ident $meaning:literal)*) => {
        /// What kind of mistake or risk a diagnostic reports.
        ///
        /// Its text is stable: `[[accept]]`, scripts and the documentation use it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $meaning] $variant,)*
        }

        impl Code {
            /// All codes, in the order of this table.
            pub const ALL: &'static [Code] = &[$(Code::$variant),*];

            /// The code as users see it, such as `unknown-attribute`.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $text,)* }
            }

            /// How bad it is.
            pub fn severity(self) -> Severity {
                match self { $(Code::$variant => Severity::$severity,)* }
            }

            /// What it means, in one line.
            pub fn meaning(self) -> &'static str {
                match self { $(Code::$variant => $meaning,)* }
            }

            fn reach(self) -> Reach {
                match self { $(Code::$variant => Reach::$reach,)* }
            }
        }
    };
}

codes! {
    // The file.
    Toml                 "toml"                  Error   Line "The file is not TOML."
    TomlVersion          "toml-version"          Error   Line "The syntax is newer than TOML 1.0."
    UnknownSection       "unknown-section"       Error   Line "There is no section of this name."
    UnknownKey           "unknown-key"           Error   File "The section has no key of this name."
    MissingKey           "missing-key"           Error   File "The section needs a key that is not there."
    NeedlessKey          "needless-key"          Error   File "The key has no effect beside the others of its section."
    WrongType            "wrong-type"            Error   Line "The value is of another type than the key takes."
    UnknownWord          "unknown-word"          Error   Line "The place takes one of a few words, and this is none of them."
    InvalidName          "invalid-name"          Error   Line "The name has characters that names do not have, or means something else."
    DuplicateName        "duplicate-name"        Error   File "Two things have one name."
    TooLarge             "too-large"             Error   Line "The design has more of something than Partita takes."
    OutOfRange           "out-of-range"          Error   Line "The number is too small or too large."

    // The table.
    MissingVariable      "missing-variable"      Error   Line "A variable has neither a value nor a default."
    TableName            "table-name"            Error   Line "DynamoDB does not take this name for a table."
    ReservedTable        "reserved-table"        Error   Line "Tables whose names end in `-partita` are Partita's own."

    IndexKeyType         "index-key-type"        Error   File "A key of an index has different types in different records."
    IncompleteIndexKey   "incomplete-index-key"  Error   File "A record has one key of an index but not the other."
    EmptyIndex           "empty-index"           Error   File "No record has the keys of an index."
    UnusedIndex          "unused-index"          Warning File "No pattern reads an index."
    UnusedKey            "unused-key"            Warning File "No pattern reads this record by its key in an index."
    PollutedIndex        "polluted-index"        Warning File "An index holds records that no pattern over it returns."
    UnknownIndex         "unknown-index"         Error   File "There is no index of this name, or several that could be meant."

    // Templates.
    TemplateSyntax       "template-syntax"       Error   Line "The template cannot be read."
    AdjacentPlaceholders "adjacent-placeholders" Error   Line "Nothing tells where one value in a key ends and the next begins."
    UnknownAttribute     "unknown-attribute"     Error   File "There is no attribute of this name."
    OptionalKeyPart      "optional-key-part"     Error   File "A part of a key may be missing."
    ChangingKeyPart      "changing-key-part"     Error   File "A part of an identity would change with every write."
    FormatType           "format-type"           Error   File "A placeholder's format does not suit its value."
    ComputedIdentity     "computed-identity"     Error   File "A part of an identity is computed, and is stored nowhere."
    KeyPartType          "key-part-type"         Error   File "A value of this type cannot stand in a key."
    UnpaddedNumber       "unpadded-number"       Warning File "A number in a sort key sorts as text: 10 before 9."
    AmbiguousKey         "ambiguous-key"         Warning File "A key has several free texts, in which `#` must be refused."
    HotPartition         "hot-partition"         Warning File "All items are in one partition."
    LowCardinality       "low-cardinality"       Warning File "All items are in a few partitions."
    SparseKey            "sparse-key"            Warning File "Items without an optional part are not in an index."
    ConstantSortKey      "constant-sort-key"     Warning File "All items of an index have the same sort key."
    NoTieBreak           "no-tie-break"          Warning File "Two items can have the same keys in an index, in no order."
    SecretInKey          "secret-in-key"         Warning File "A secret stands in a key."
    CollidingKeys        "colliding-keys"        Error   File "Two records can have the same key."
    IgnoredRecord        "ignored-record"        Error   File "A record can have keys that the table ignores."
    EarlierName          "earlier-name"          Error   File "An earlier name is still that of something else."
    CollidingGuards      "colliding-guards"      Error   File "A guard can have the key of a record, or of another guard."
    PrefixOverlap        "prefix-overlap"        Warning File "One partition key can be the beginning of another."
    SameDiscriminator    "same-discriminator"    Warning File "Two records have one discriminator."

    // Entities.
    AttributeSyntax      "attribute-syntax"      Error   Line "The line of an attribute cannot be read."
    ValueType            "value-type"            Error   Line "A default or computed value is not of the attribute's type."
    MissingValue         "missing-value"         Error   File "A required attribute may be left without a value."
    MissingTiming        "missing-timing"        Error   Line "Nothing says when a value is taken."
    PathNotHere          "path-not-here"         Error   File "A path leads where this expression cannot follow."
    CopyPath             "copy-path"             Error   File "A copy follows one ref to an attribute."
    ShapeCycle           "shape-cycle"           Error   File "A shape contains itself."
    GuardWithoutValue    "guard-without-value"   Error   Line "A guard has no value in it."
    CannotGenerate       "cannot-generate"       Error   Line "Values of this type cannot be generated."
    ConflictingClauses   "conflicting-clauses"   Error   Line "Two parts of an attribute's line exclude each other."
    LostAttribute        "lost-attribute"        Error   File "The value would be stored nowhere."
    SoftDeleteFlag       "soft-delete-flag"      Error   File "The flag of a soft delete must be `bool default false`."
    RefSyntax            "ref-syntax"            Error   Line "The line of a reference cannot be read."
    UnknownRecord        "unknown-record"        Error   File "There is no entity or view of this name."
    UnboundPart          "unbound-part"          Error   File "A reference does not say where a part of its target's identity comes from."
    UnknownPart          "unknown-part"          Error   File "The identity of a reference's target has no part of this name."
    UnknownRef           "unknown-ref"           Error   File "There is no ref of this name, or several that could be meant."
    RefType              "ref-type"              Error   File "A ref's argument is of another type than the part that it stands for."
    RefVariants          "ref-variants"          Error   File "The targets of a ref and the words that choose one differ."
    RefuseWithoutCount   "refuse-without-count"  Error   File "Nothing counts all the items that would forbid a delete."
    OnDeleteClear        "on-delete-clear"       Error   File "A required attribute cannot be cleared."
    NoWayBack            "no-way-back"           Error   File "No key finds the items that refer to a target."
    TtlType              "ttl-type"              Error   File "The table's `ttl` attribute is no `expiry`, or not the only one."
    ExpiringCount        "expiring-count"        Error   File "Items that expire unseen cannot be counted."
    KeptCount            "kept-count"            Error   File "A number would be lost with its item, and what it counts would stay."
    AggregateCycle       "aggregate-cycle"       Error   File "A value follows from itself."
    RepeatedPosition     "repeated-position"     Warning File "A position that is taken from a count repeats after a delete."
    UnboundedList        "unbounded-list"        Warning File "Nothing bounds a list."
    RevealedSecret       "revealed-secret"       Warning File "A secret could be learned from something else."
    FileValue            "file-value"            Error   File "The name of a file would follow another value."
    LastingFile          "lasting-file"          Warning File "An item that stays names files with a lifetime."
    LooseFile            "loose-file"            Warning File "The name of a file is taken over, and the file is not."
    ConditionSyntax      "condition-syntax"      Error   Line "The condition cannot be read."
    ComparisonType       "comparison-type"       Error   File "The comparison can never hold, because the types differ."
    LooseRequire         "loose-require"         Warning File "Writes to other items can break what an entity requires."
    OneOutcome           "one-outcome"           Warning File "A condition always holds, or never."
    MissingOperand       "missing-operand"       Warning File "`<>` with something that may be missing."
    NoSuchOperation      "no-such-operation"     Error   File "The rule is for an operation that the entity does not have."
    ClosedEntity         "closed-entity"         Warning File "An entity has no rules, so nobody may use it."

    OpenAdministrators   "open-administrators"   Warning File "Everybody is an administrator, or everybody with a token."
    SelfMadeRole         "self-made-role"        Warning File "Callers can give themselves a role or group that rules rely on."

    // Accounts.
    AccountAttribute     "account-attribute"     Error   File "An entity or attribute cannot be what `[accounts]` uses it for."
    AccountProvision     "account-provision"     Error   File "An account cannot be made of the claims that `[accounts.provision]` names."
    AccountRule          "account-rule"          Error   File "Others than administrators can write what belongs to accounts."
    PasswordUse          "password-use"          Error   File "Something besides `/auth/` reads or writes a password."

    // Views.
    KeyOnlyKept          "key-only-kept"         Error   File "A view cannot copy what is not stored."
    IncompleteViewKey    "incomplete-view-key"   Error   File "Two items would share one record of a view."
    UnreadableView       "unreadable-view"       Error   File "The rule for reading needs an attribute that the view does not have."

    UnboundedEach        "unbounded-each"        Error   File "Nothing bounds the records of a view."
    TransactionSize      "transaction-size"      Error   File "A write takes more actions than a transaction has."
    EachSyntax           "each-syntax"           Error   Line "An `each` or `distinct` cannot be read."

    // Effects.
    EventSyntax          "event-syntax"          Error   Line "The event of a trigger cannot be read."
    EffectTarget         "effect-target"         Error   File "An effect cannot be done to this."
    NotWritable          "not-writable"          Error   File "An attribute that effects and actions cannot write."
    MissingInput         "missing-input"         Error   File "A new item needs an attribute that nothing gives."
    TwoWrites            "two-writes"            Error   File "Two effects write one attribute of one item."
    CounterWithoutTime   "counter-without-time"  Warning File "What is added to a counter of a period is lost, because its time is not set."
    NoSuchStep           "no-such-step"          Error   File "No step leads to the state that is set."
    TriggerCycle         "trigger-cycle"         Error   File "Triggers cause each other without end."
    UnseenTarget         "unseen-target"         Warning File "An effect writes an item that the caller of its cause need not be allowed to read."
    ClosedAction         "closed-action"         Warning File "No rule allows an action, so nobody may use it."
    IdleAction           "idle-action"           Error   File "An action does nothing."
    UnknownPattern       "unknown-pattern"       Error   File "There is no pattern of this name that fits here."
    SecretSent           "secret-sent"           Error   File "A secret would leave the system where others read it."
    ReceiverName         "receiver-name"         Error   Line "The name of a receiver cannot be used."
    ScheduleSyntax       "schedule-syntax"       Error   Line "The period of a schedule cannot be read."
    LimitSyntax          "limit-syntax"          Error   Line "A limit cannot be read."

    // Patterns.
    PatternSyntax        "pattern-syntax"        Error   Line "The key condition of a pattern cannot be read."
    NotAKey              "not-a-key"             Error   File "The key condition names an attribute that is no key of the table."
    UnservedPattern      "unserved-pattern"      Error   File "No record has keys that the pattern could find."
    CutPrefix            "cut-prefix"            Error   Line "A prefix ends inside a part of the key."
    UnnamedRecord        "unnamed-record"        Error   File "The pattern finds records that `returns` does not name."
    ImpossibleReturn     "impossible-return"     Error   File "The pattern never finds what `returns` names."
    ParameterType        "parameter-type"        Error   File "A parameter stands for values of different types."
    SortType             "sort-type"             Error   File "Values of this type have no order."
    SortWithoutWhole     "sort-without-whole"    Error   File "The result can be ordered only when all of it is read."
    OneWithoutWhole      "one-without-whole"     Error   File "One item is looked for among others, and nothing says how many are read at most."

    NotUnique            "not-unique"            Warning File "A pattern of one can find several items."
    StaleRows            "stale-rows"            Warning File "A rule is decided on rows of an index, which may be behind what it depends on."
    UnseenRows           "unseen-rows"           Warning File "A pattern finds mostly rows that its readers may not see."

    // Paths of URLs.
    PathSyntax           "path-syntax"           Error   Line "The path cannot be read."
    UnknownPlaceholder   "unknown-placeholder"   Error   File "A path has a placeholder that stands for nothing."
    MissingPlaceholder   "missing-placeholder"   Error   File "The path of an entity leaves out a part of its identity."
    ReservedPath         "reserved-path"         Error   File "The first word of a path has another meaning."
    SamePath             "same-path"             Error   File "One request could mean two things."

    // Accepted warnings.
    UnknownWarning       "unknown-warning"       Error   Line "There is no warning of this name."
    UnusedAccept         "unused-accept"         Warning File "An accepted warning that does not occur."
}

impl Code {
    /// The code that is written so.
    pub fn find(text: &str) -> Option<Code> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }

    /// Whether the mistake is visible in its own line, so that it counts even when other lines
    /// could not be read.
    pub(crate) fn is_local(self) -> bool {
        self.reach() == Reach::Line
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
