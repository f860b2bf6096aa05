//! Which records a pattern finds.
//!
//! A record *serves* a pattern when every parameter stands where the record's key has a value:
//! from there it takes its type. Once the types are known, every record that some values of the
//! parameters *may* find is one that the pattern returns.

use partita_core::expression::Span;

use super::super::key::Record;
use super::super::noun;
use super::super::shape::{Fit, Shape};
use super::asked::{Asked, SortShape};
use crate::codes::Code;
use crate::design::{Parameter, Read};
use crate::diagnostic::Report;
use crate::document::{Field, Text};
use crate::spelling;
use crate::types::AttributeType;

/// How many keys a message shows.
const KEYS_SHOWN: usize = 8;

/// What a pattern finds.
pub(super) struct Found<'r, 'd> {
    /// In the order of `returns`.
    pub(super) records: Vec<&'r Record<'d>>,
    pub(super) parameters: Vec<Parameter>,
}

/// Finds the records, and holds them against `returns`; `None` after a report.
pub(super) fn find<'r, 'd>(
    asked: &Asked,
    returns: &Field<Vec<&Text>>,
    records: &'r [Record<'d>],
    report: &mut Report,
) -> Option<Found<'r, 'd>> {
    let named = match returns {
        Field::Absent => None,
        Field::Broken => return None,
        Field::Given(names) => Some(named_records(names, records, report)?),
    };
    let kinds = kinds(asked, records, report)?;
    let kind_of = |name: &str| {
        let found = kinds.iter().find(|kind| kind.parameter == name);
        found.map(|kind| kind.kind.clone())
    };
    let matching = records
        .iter()
        .filter(|record| may_find(asked, record, &kind_of))
        .collect();
    let records = agree(asked, named, matching, report)?;
    let parameters = asked.parameters().into_iter().filter_map(|name| {
        let kind = kind_of(&name)?;
        Some(Parameter { name, kind })
    });
    Some(Found {
        records,
        parameters: parameters.collect(),
    })
}

/// What a parameter may be, and the record that says so.
struct Kind<'r> {
    parameter: String,
    kind: AttributeType,
    place: &'r str,
}

/// The types of the parameters; `None` after a report.
fn kinds<'r>(
    asked: &Asked,
    records: &'r [Record<'_>],
    report: &mut Report,
) -> Option<Vec<Kind<'r>>> {
    let mut kinds: Vec<Kind<'_>> = Vec::new();
    let mut is_served = false;
    let mut is_good = true;
    for record in records {
        let Some(parameters) = serve(asked, record) else {
            continue;
        };
        is_served = true;
        for (name, kind) in parameters {
            is_good &= note(&mut kinds, name, kind, record.place, asked.span, report);
        }
    }
    if !is_served {
        unserved(asked, records, report);
    }
    (is_served && is_good).then_some(kinds)
}

/// The parameters with the types of the values in whose places they stand; `None` when the
/// record does not serve the pattern.
fn serve<'s>(
    asked: &'s Asked,
    record: &'s Record<'_>,
) -> Option<Vec<(&'s str, &'s AttributeType)>> {
    let mut parameters = Vec::new();
    for fit in fits(asked, record)? {
        match fit {
            Fit::Text => {}
            Fit::Parameter(name, kind) => parameters.push((name, kind)),
            Fit::Misplaced(..) | Fit::No => return None,
        }
    }
    Some(parameters)
}

/// How each segment finds that of the record; `None` when there are too many or too few.
fn fits<'s>(asked: &'s Asked, record: &'s Record<'_>) -> Option<Vec<Fit<'s>>> {
    let (partition, sort) = record.keys.both()?;
    let (partition, sort) = (&partition.shape, &sort.shape);
    let lengths = |own: &Shape, record: &Shape| own.segments.len().cmp(&record.segments.len());
    let (own_sort, is_reached) = match &asked.sort {
        SortShape::All => (None, true),
        SortShape::Equals(own) => (Some(own), lengths(own, sort).is_eq()),
        SortShape::Begins(own) => (Some(own), lengths(own, sort).is_lt()),
    };
    if !is_reached || lengths(&asked.partition, partition).is_ne() {
        return None;
    }
    let mut fits: Vec<_> = asked.partition.fits(partition).collect();
    fits.extend(own_sort.into_iter().flat_map(|own| own.fits(sort)));
    Some(fits)
}

/// Notes that a parameter stands for values of a type; two types must agree.
fn note<'r>(
    kinds: &mut Vec<Kind<'r>>,
    parameter: &str,
    kind: &AttributeType,
    place: &'r str,
    span: Span,
    report: &mut Report,
) -> bool {
    let known = kinds.iter_mut().find(|known| known.parameter == parameter);
    let Some(known) = known else {
        kinds.push(Kind {
            parameter: parameter.to_owned(),
            kind: kind.clone(),
            place,
        });
        return true;
    };
    if known.kind == *kind {
        return true;
    }
    // Strings of different lengths: what either accepts may be asked for.
    if let AttributeType::String { min, max } = &mut known.kind
        && let AttributeType::String {
            min: other_min,
            max: other_max,
        } = kind
    {
        *min = (*min).min(*other_min);
        *max = max.zip(*other_max).map(|(one, two)| one.max(two));
        return true;
    }
    let message = format!(
        "`{{{parameter}}}` is {} in `{}`, but {} in `{place}`",
        noun(&known.kind),
        known.place,
        noun(kind)
    );
    report
        .add(Code::ParameterType, span, message)
        .help("give the two attributes one type");
    false
}

fn unserved(asked: &Asked, records: &[Record<'_>], report: &mut Report) {
    // A record whose keys could not be read might have served it.
    if records.iter().any(|record| record.keys.both().is_none()) {
        return;
    }
    let mut message = "no record has keys that this could find".to_owned();
    let misplaced = records.iter().find_map(|record| misplaced(asked, record));
    if let Some(why) = misplaced {
        message = format!("{message}: {why}");
    }
    let finding = report.add(Code::UnservedPattern, asked.span, message);
    let keys = records.iter().filter_map(|record| {
        let (partition, sort) = record.keys.both()?;
        let (title, partition, sort) = (record.title(), &partition.written, &sort.written);
        Some(format!("\n  {title}: '{partition}' and '{sort}'"))
    });
    let mut keys: Vec<_> = keys.collect();
    let others = keys.len().saturating_sub(KEYS_SHOWN);
    keys.truncate(KEYS_SHOWN);
    if others > 0 {
        keys.push(format!("\n  and {others} more"));
    }
    if !keys.is_empty() {
        finding.help(format!("the keys are{}", keys.concat()));
    }
}

/// Whether it is only for a parameter in the place of a text that the record is not found.
fn misplaced(asked: &Asked, record: &Record<'_>) -> Option<String> {
    let mut why = None;
    for fit in fits(asked, record)? {
        match fit {
            Fit::Text | Fit::Parameter(..) => {}
            Fit::Misplaced(name, text) => {
                let title = record.title();
                why = Some(format!("`{{{name}}}` stands where `{title}` has `{text}`"));
            }
            Fit::No => return None,
        }
    }
    why
}

/// Whether some values of the parameters find the record.
fn may_find(
    asked: &Asked,
    record: &Record<'_>,
    kind_of: &impl Fn(&str) -> Option<AttributeType>,
) -> bool {
    let Some((partition, sort)) = record.keys.both() else {
        return false;
    };
    let typed = |shape: &Shape| shape.with_kinds(kind_of);
    typed(&asked.partition).may_equal(&partition.shape)
        && match &asked.sort {
            SortShape::All => true,
            SortShape::Equals(own) => typed(own).may_equal(&sort.shape),
            SortShape::Begins(own) => typed(own).may_begin(&sort.shape),
        }
}

/// A record that `returns` names, and where.
type Named<'r, 'd> = (&'r Record<'d>, Span);

fn named_records<'r, 'd>(
    names: &[&Text],
    records: &'r [Record<'d>],
    report: &mut Report,
) -> Option<Vec<Named<'r, 'd>>> {
    let mut named: Vec<Named<'_, '_>> = Vec::new();
    let mut is_good = true;
    for text in names {
        let (name, span) = (text.as_str(), text.span());
        let found = records.iter().find(|record| record.title() == name);
        match found {
            Some(record) if named.iter().any(|(other, _)| other.name == record.name) => {
                let message = format!("`{name}` is named twice");
                report.add(Code::DuplicateName, span, message);
                is_good = false;
            }
            Some(record) => named.push((record, span)),
            None => {
                let message = format!("there is no entity or view `{name}`");
                report
                    .add(Code::UnknownRecord, span, message)
                    .suggest(name, records.iter().map(Record::title));
                is_good = false;
            }
        }
    }
    is_good.then_some(named)
}

/// Holds what is found against what is named; gives the records in the order of `returns`.
fn agree<'r, 'd>(
    asked: &Asked,
    named: Option<Vec<Named<'r, 'd>>>,
    matching: Vec<&'r Record<'d>>,
    report: &mut Report,
) -> Option<Vec<&'r Record<'d>>> {
    // One whole key that finds two records: that they collide was reported.
    if matches!(asked.read, Read::Get(_)) && matching.len() > 1 {
        return None;
    }
    let titles: Vec<_> = matching.iter().map(|record| record.title()).collect();
    let found = spelling::list(&titles);
    let returns = format!("write `returns = {titles:?}`");
    let Some(named) = named else {
        if matching.len() == 1 {
            return Some(matching);
        }
        let message = format!("this finds {found}, so the pattern must say so");
        report
            .add(Code::UnnamedRecord, asked.span, message)
            .help(returns);
        return None;
    };
    let mut is_good = true;
    for (record, span) in &named {
        if !is_in(&matching, record) && record.keys.both().is_some() {
            let message = format!("this pattern never finds `{}`", record.title());
            report
                .add(Code::ImpossibleReturn, *span, message)
                .help(format!("it finds {found}"));
            is_good = false;
        }
    }
    let named: Vec<_> = named.into_iter().map(|(record, _)| record).collect();
    let unnamed: Vec<_> = matching
        .iter()
        .filter(|record| !is_in(&named, record))
        .map(|record| record.title())
        .collect();
    if !unnamed.is_empty() {
        let message = format!("this also finds {}", spelling::list(&unnamed));
        report
            .add(Code::UnnamedRecord, asked.span, message)
            .help(returns);
        is_good = false;
    }
    is_good.then_some(named)
}

fn is_in(records: &[&Record<'_>], record: &Record<'_>) -> bool {
    records.iter().any(|other| other.name == record.name)
}
