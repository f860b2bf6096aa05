//! The sort keys that a query asks for.

use partita_core::expression::Comparator;

use super::{SortShape, bound, hole, shape};
use crate::check::declare::symbols::DeclaredRecord;
use crate::codes::Code;
use crate::design::{IndexId, KeyBound, Parameter, ParameterKind, QueryRead, Read, SortRange};
use crate::document::Text;
use crate::syntax::query::{Bound, Clause, Test};
use crate::template::{DELIMITER, Part, Template};

/// What a query needs to know.
pub(super) struct Query<'q> {
    pub(super) index: Option<IndexId>,
    pub(super) params: &'q [Parameter],
    pub(super) records: &'q [&'q DeclaredRecord],
    pub(super) text: &'q Text,
}

impl Query<'_> {
    pub(super) fn read(
        self,
        partition: KeyBound,
        sort: Option<&Clause>,
    ) -> Option<(Read, SortShape)> {
        let (sort, shape) = match sort {
            None => (SortRange::All, SortShape::All),
            Some(clause) => self.range(clause)?,
        };
        let read = Read::Query(QueryRead {
            index: self.index,
            partition,
            sort,
        });
        Some((read, shape))
    }

    fn range(&self, clause: &Clause) -> Option<(SortRange, SortShape)> {
        let key = bound(clause)?;
        match &clause.test {
            Test::Compare(Comparator::Equal, _) if self.index.is_none() => {
                let message = "a query with the whole key finds one item at most";
                self.text
                    .report(Code::PatternSyntax, clause.attribute.1, message)
                    .help("make it a `get`");
                None
            }
            Test::Compare(Comparator::Equal, _) => {
                let shape = shape(&key.value);
                Some((SortRange::Equals(key), SortShape::Equals(shape)))
            }
            Test::Compare(comparator, _) => {
                let shape = SortShape::Compared(*comparator, shape(&key.value));
                Some((SortRange::Compared(key, *comparator), shape))
            }
            Test::Between(_, high) => {
                let high = KeyBound {
                    attribute: key.attribute.clone(),
                    value: hole::template(high.pieces.as_ref()?)?,
                };
                let shapes = SortShape::Between(shape(&key.value), shape(&high.value));
                Some((SortRange::Between(key, high), shapes))
            }
            Test::BeginsWith(written) => {
                let shape = self.prefix(&key.value, written)?;
                Some((SortRange::BeginsWith(key), shape))
            }
        }
    }

    fn prefix(&self, value: &Template, written: &Bound) -> Option<SortShape> {
        if let Some(whole) = shape(value).prefix() {
            return Some(SortShape::Begins(whole));
        }
        // A parameter that is declared as a beginning may end inside a part.
        let last = value.parts.last().and_then(|part| match part {
            Part::Value(hole) => hole.name(),
            Part::Text(_) => None,
        });
        let is_prefix = |param: &&Parameter| {
            Some(&param.name) == last.as_ref() && matches!(param.kind, ParameterKind::PrefixOf(_))
        };
        if let Some(param) = self.params.iter().find(is_prefix) {
            let mut before = shape(value);
            before.segments.pop();
            return Some(SortShape::BeginsInside(before, param.name.clone()));
        }
        self.cut(written, last.as_deref());
        None
    }

    /// A prefix ends at a delimiter; `CHAPTER#1` would also find chapter 10.
    fn cut(&self, bound: &Bound, last: Option<&str>) {
        let written = &bound.written;
        // The prefix that was probably meant: some sort key up to its next delimiter.
        let sorts = self.records.iter().flat_map(|record| {
            let own = record.keys.sort.iter();
            own.chain(record.indexes.iter().filter_map(|keys| keys.sort.as_ref()))
        });
        let meant = sorts.into_iter().find_map(|sort| {
            let rest = sort.written.strip_prefix(written.as_str())?;
            let end = written.len() + rest.find(DELIMITER)? + 1;
            sort.written.get(..end)
        });
        let help = match (meant, last) {
            (Some(meant), _) => format!("write `'{meant}'`"),
            (None, Some(last)) => format!(
                "end a prefix with `{DELIMITER}`, or write `params = {{ {last} = \"prefix of …\" }}`"
            ),
            (None, None) => format!("end a prefix with `{DELIMITER}`"),
        };
        let message = format!("`{written}` ends inside a part of the key");
        self.text
            .report(Code::CutPrefix, bound.span, message)
            .help(help);
    }
}
