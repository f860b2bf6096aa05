//! `[pattern.X]`: named reads, each served by the keys of some record.
//!
//! | module | question |
//! |---|---|
//! | [`asked`] | what does the pattern ask of the keys? |
//! | [`found`] | which records can that find, and do they agree with `returns`? |
//! | [`paging`] | how is the result ordered and cut into pages? |

mod asked;
mod found;
mod paging;

use super::key::Record;
use super::{about, table};
use crate::design::Pattern;
use crate::diagnostic::Report;
use crate::document::section::Excuse;
use crate::document::{Field, Name, Section};
use crate::syntax::later;

/// Reads a pattern; `None` after a report.
pub(crate) fn check(
    name: &Name,
    mut section: Section<'_>,
    table: &table::Draft,
    records: &[Record<'_>],
    report: &mut Report,
) -> Option<Pattern> {
    let about = about(&mut section, report);
    let asked = asked::read(&mut section, table, records, report);
    let returns = section.texts("returns", true, report);
    let paging = paging::read(&mut section, report);
    let found = asked
        .as_ref()
        .and_then(|asked| found::find(asked, &returns, records, report));
    let sort = match (section.texts("sort", false, report), &found) {
        (Field::Given(names), Some(found)) => paging::sort(&names, &found.records, report),
        (Field::Given(_) | Field::Broken, _) => None,
        (Field::Absent, _) => Some(Vec::new()),
    };
    section.finish(later::PATTERN, |_| Excuse::None, report);
    let (found, paging) = (found?, paging?);
    let returns = found.records.iter().map(|record| record.name.clone());
    Some(Pattern {
        name: name.text.clone(),
        about,
        returns: returns.collect(),
        parameters: found.parameters,
        read: asked?.read,
        sort: sort?,
        whole: paging.whole,
        descending: paging.descending,
        limit: paging.limit,
    })
}
