//! Named reads.

use super::{
    IndexId, KeyTemplates, PathTemplate, PatternId, Record, RecordId, Ref, RefId, Rule, TableId,
};
use crate::expression::{Expr, Predicate};
use crate::template::Template;
use crate::types::AttributeType;

/// Items on a page when neither the pattern nor the caller names a number.
pub const LIMIT_DEFAULT: usize = 50;
/// Items on a page at most.
pub const LIMIT_MAX: usize = 100;
/// What `whole` is at most: items that are read to order a result after it was read, or to find one
/// of them.
pub const WHOLE_MAX: usize = 10_000;
/// Items that a pattern of one looks at where it has no `whole`.
pub const ONE_ROWS_MAX: usize = 1000;

/// The root of paths in filters that lead to [`Pattern::texts`]. No attribute has this name.
pub const TEXTS: &str = "{}";

/// An access pattern: a named read.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// The position in [`Design::patterns`](super::Design::patterns).
    pub id: PatternId,
    /// The word in `[pattern.X]` and in URLs.
    pub name: String,
    /// What it is about.
    pub about: Option<String>,
    /// Its path in URLs, beside the one that follows from its name.
    pub path: Option<PathTemplate>,
    /// What a caller gives, in the order of the first use.
    pub parameters: Vec<Parameter>,
    /// The table that is read: everything that it returns is in one.
    pub table: TableId,
    /// What is read.
    pub read: Read,
    /// The condition on the keys as the file has it.
    pub text: String,
    /// Which of the rows count. Of a scan it is all that is asked.
    pub filter: Option<Predicate>,
    /// The texts with parameters that the filter compares with: `{}[0]` in it is the first.
    pub texts: Vec<Expr>,
    /// The records that can come back.
    pub returns: Vec<RecordId>,
    /// The ref by which each row is replaced.
    pub follow: Option<Follow>,
    /// Whether there is at most one row.
    pub one: bool,
    /// The attributes that order the result after it was read.
    pub sort: Vec<SortOrder>,
    /// How many items are read at most, where all of them have to be: to order them, or to find the
    /// one that the filter means.
    pub whole: Option<usize>,
    /// From the largest sort key to the smallest.
    pub descending: bool,
    /// Items on a page when the caller names no number.
    pub limit: usize,
    /// Whether soft-deleted items are shown.
    pub with_deleted: bool,
    /// Whether expired items are shown.
    pub with_expired: bool,
    /// Who may find rows by it, beside who may read them.
    pub allow: Option<PatternRule>,
    /// Whether the rows of its index only say which items to read: each is read as it is now, and
    /// what decides on it is decided on that.
    pub fresh: bool,
}

/// Who may find rows by a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternRule {
    /// The rule, for each record that the pattern returns, in their order.
    pub rules: Vec<Rule>,
    /// The line of the file, from 1.
    pub line: usize,
}

/// What a full page takes of which nothing is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageReads {
    /// Rows of the table or the index.
    pub rows: usize,
    /// Items that are then read one by one: those of a fresh pattern, and those that its rows are
    /// replaced by.
    pub items: usize,
}

/// The ref by which the rows of a pattern are replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follow {
    /// Its name, the same in all records.
    pub name: String,
    /// The ref of each record that the pattern returns, in their order.
    pub refs: Vec<RefId>,
}

impl Pattern {
    /// The read of one item, as a pattern. It is none of a design's, and has no parameters: the
    /// names in its key are the attributes of the identity.
    pub fn of_item(entity: &Record, with_deleted: bool) -> Pattern {
        Pattern {
            id: PatternId::new(usize::MAX),
            name: entity.name.clone(),
            about: None,
            path: None,
            parameters: Vec::new(),
            table: entity.table,
            read: Read::Get(entity.key.clone()),
            text: String::new(),
            filter: None,
            texts: Vec::new(),
            returns: vec![entity.id],
            follow: None,
            one: true,
            sort: Vec::new(),
            whole: None,
            descending: false,
            limit: 1,
            with_deleted,
            with_expired: false,
            allow: None,
            fresh: false,
        }
    }

    /// What a full page takes. One row more than is shown says whether there is another page.
    pub fn page_reads(&self) -> PageReads {
        let rows = match self.read {
            Read::Get(_) => 1,
            _ if self.one => 1,
            _ => self.limit + 1,
        };
        let reads_again = [self.fresh, self.follow.is_some()];
        let times = reads_again.into_iter().filter(|again| *again).count();
        PageReads {
            rows,
            items: rows * times,
        }
    }

    /// The rule by which rows of a record are found, beside the one for reading them.
    pub fn rule(&self, row: RecordId) -> Option<&Rule> {
        let at = self.returns.iter().position(|one| *one == row)?;
        self.allow.as_ref()?.rules.get(at)
    }

    /// The ref by which a row of this record is replaced; `None` where rows are not replaced.
    pub fn followed<'d>(&self, row: &'d Record) -> Option<&'d Ref> {
        let at = self.returns.iter().position(|one| *one == row.id)?;
        let id = self.follow.as_ref()?.refs.get(at)?;
        Some(&row.refs[id.index()])
    }
}

/// A parameter of a pattern or an action.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// What requests call it.
    pub name: String,
    /// What it may be.
    pub kind: ParameterKind,
    /// Whether it may be left out.
    pub optional: bool,
}

/// What a parameter may be.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterKind {
    /// A whole value.
    Value(AttributeType),
    /// The beginning of a text, such as the year of a timestamp.
    PrefixOf(AttributeType),
}

impl ParameterKind {
    /// The type of the value, or of that which it begins.
    pub fn attribute_type(&self) -> &AttributeType {
        match self {
            ParameterKind::Value(kind) | ParameterKind::PrefixOf(kind) => kind,
        }
    }
}

/// One attribute that orders a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortOrder {
    /// The attribute.
    pub attribute: String,
    /// Whether the largest comes first.
    pub descending: bool,
}

/// What a pattern reads. The templates' names are parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Read {
    /// One item.
    Get(KeyTemplates),
    /// Items of one partition.
    Query(QueryRead),
    /// Everything; the filter says what is meant.
    Scan {
        /// The index; `None` is the table.
        index: Option<IndexId>,
    },
}

impl Read {
    /// The index that is read; `None` is the table.
    pub fn index(&self) -> Option<IndexId> {
        match self {
            Read::Get(_) => None,
            Read::Query(query) => query.index,
            Read::Scan { index } => *index,
        }
    }
}

/// Items of one partition of a table or an index.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryRead {
    /// The index; `None` is the table.
    pub index: Option<IndexId>,
    /// The partition.
    pub partition: KeyBound,
    /// The sort keys in it.
    pub sort: SortRange,
}

/// A key that is asked for: the attribute and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyBound {
    /// The key attribute.
    pub attribute: String,
    /// Its value.
    pub value: Template,
}

/// Which sort keys a query takes.
#[derive(Clone, Debug, PartialEq)]
pub enum SortRange {
    /// All of them.
    All,
    /// The one that is so.
    Equals(KeyBound),
    /// Those that begin so.
    BeginsWith(KeyBound),
    /// Those before, behind, or up to and from it.
    Compared(KeyBound, partita_core::expression::Comparator),
    /// Those from the first to the second.
    Between(KeyBound, KeyBound),
}

impl SortRange {
    /// The texts that it is made of.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let (one, two) = match self {
            SortRange::All => (None, None),
            SortRange::Equals(one) | SortRange::BeginsWith(one) | SortRange::Compared(one, _) => {
                (Some(one), None)
            }
            SortRange::Between(one, two) => (Some(one), Some(two)),
        };
        one.into_iter().chain(two).map(|bound| &bound.value)
    }
}
