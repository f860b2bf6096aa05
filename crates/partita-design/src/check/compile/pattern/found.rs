//! Which records a pattern finds.
//!
//! A record *serves* a pattern when every parameter is in the place of a value of the record's key:
//! from there it takes its type. Once the types are known, every record that some values of the
//! parameters *may* find is one that the pattern returns, unless the filter excludes it.

use partita_core::expression::{Comparator, Span};

use super::asked::{Asked, SortShape, declared};
use super::filter::Parsed;
use crate::check::declare::key::Key;
use crate::check::declare::key_shape::{Fit, KeyShape};
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::codes::Code;
use crate::design::{IndexId, Parameter, ParameterKind, Read};
use crate::document::{Field, Text};
use crate::spelling;
use crate::types::{AttributeType, StringType};

/// How many keys a message shows.
const KEYS_SHOWN: usize = 8;

/// What a pattern finds.
pub(super) struct Found<'w> {
    /// In the order of `returns`.
    pub(super) records: Vec<&'w DeclaredRecord>,
    pub(super) parameters: Vec<Parameter>,
}

/// Finds the records, and holds them against `returns`; `None` after a report.
pub(super) fn find<'w>(
    asked: &Asked<'_>,
    filter: &Parsed<'_>,
    returns: &Field<Vec<&Text>>,
    params: &[Parameter],
    symbols: &'w Symbols,
) -> Option<Found<'w>> {
    let named = match returns {
        Field::Absent => None,
        Field::Broken => return None,
        Field::Given(names) => Some(named_records(names, symbols)?),
    };
    let candidates: Vec<Candidate<'w>> = symbols
        .records
        .iter()
        .filter(|record| record.table == asked.table)
        .filter_map(|record| Candidate::new(record, asked.index()))
        .collect();
    let kinds = kinds(asked, &candidates, params, symbols)?;
    let kind_of = |name: &str| {
        let call = asked.call(name);
        if call.as_ref().is_some_and(|call| call.is_time) {
            return Some(AttributeType::timestamp());
        }
        let name = call.as_ref().map_or(name, |call| &call.parameter);
        let found = kinds.iter().find(|kind| kind.parameter == name);
        let known = found.map(|kind| kind.kind.clone());
        known.or_else(|| declared(params, name).cloned())
    };
    let matching = candidates
        .iter()
        .filter(|candidate| candidate.may_be_found(asked, &kind_of))
        .map(|candidate| candidate.record)
        .filter(|record| !filter.excludes(record, symbols))
        .collect();
    let records = agree(asked, named, matching, symbols)?;
    let parameters = asked.parameters().into_iter().map(|name| {
        let declared = params.iter().find(|param| param.name == name);
        declared.cloned().unwrap_or_else(|| Parameter {
            kind: ParameterKind::Value(kind_of(&name).unwrap_or_else(AttributeType::string)),
            name,
            optional: false,
        })
    });
    Some(Found {
        records,
        parameters: parameters.collect(),
    })
}

/// A record, and its keys in what is read.
struct Candidate<'w> {
    record: &'w DeclaredRecord,
    partition: &'w Key,
    sort: Option<&'w Key>,
}

impl<'w> Candidate<'w> {
    fn new(record: &'w DeclaredRecord, index: Option<IndexId>) -> Option<Candidate<'w>> {
        match index {
            None => Some(Candidate {
                record,
                partition: record.keys.partition.as_ref()?,
                sort: Some(record.keys.sort.as_ref()?),
            }),
            Some(index) => {
                let keys = record.indexes.iter().find(|keys| keys.index == index)?;
                Some(Candidate {
                    record,
                    partition: &keys.partition,
                    sort: keys.sort.as_ref(),
                })
            }
        }
    }

    /// Every combination of the cases of its two keys.
    fn shapes(&self) -> impl Iterator<Item = (&KeyShape, Option<&KeyShape>)> {
        self.partition.shapes().flat_map(move |partition| {
            let sorts: Vec<Option<&KeyShape>> = match self.sort {
                Some(sort) => sort.shapes().map(Some).collect(),
                None => vec![None],
            };
            sorts.into_iter().map(move |sort| (partition, sort))
        })
    }

    /// The parameters with the types of the values in whose places they are; `None` when the
    /// record does not serve the pattern.
    fn serve<'s>(&'s self, asked: &'s Asked<'_>) -> Option<Vec<(String, &'s AttributeType)>> {
        self.shapes().find_map(|(partition, sort)| {
            let mut parameters = Vec::new();
            for fit in fits(asked, partition, sort)? {
                match fit {
                    Fit::Text => {}
                    Fit::Parameter(name, kind) => parameters.push(asked.typed(name, kind)?),
                    Fit::Misplaced(..) | Fit::No => return None,
                }
            }
            Some(parameters)
        })
    }

    /// Why the record is not found, if it is only for a parameter in the place of a text.
    fn misplaced(&self, asked: &Asked<'_>) -> Option<String> {
        self.shapes().find_map(|(partition, sort)| {
            let mut why = None;
            for fit in fits(asked, partition, sort)? {
                match fit {
                    Fit::Text | Fit::Parameter(..) => {}
                    Fit::Misplaced(name, text) => {
                        let title = self.record.title();
                        why = Some(format!("`{{{name}}}` stands where `{title}` has `{text}`"));
                    }
                    Fit::No => return None,
                }
            }
            why
        })
    }

    /// Whether some values of the parameters find the record.
    fn may_be_found(
        &self,
        asked: &Asked<'_>,
        kind_of: &impl Fn(&str) -> Option<AttributeType>,
    ) -> bool {
        let typed = |shape: &KeyShape| shape.with_kinds(kind_of);
        self.shapes().any(|(partition, sort)| {
            let is_there = asked
                .partition
                .as_ref()
                .is_none_or(|asked| typed(asked).may_equal(partition));
            is_there && sort.is_none_or(|sort| may_hold(asked, sort, kind_of))
        })
    }
}

/// Whether some sort key of the shape is one that is asked for.
fn may_hold(
    asked: &Asked<'_>,
    sort: &KeyShape,
    kind_of: &impl Fn(&str) -> Option<AttributeType>,
) -> bool {
    let typed = |shape: &KeyShape| shape.with_kinds(kind_of);
    match &asked.sort {
        SortShape::All => true,
        SortShape::Equals(own) => typed(own).may_equal(sort),
        SortShape::Begins(own) => typed(own).may_begin(sort),
        SortShape::BeginsInside(own, parameter) => {
            let own = typed(own);
            let is_before = own.segments.is_empty() || own.may_begin(sort);
            let inside = sort.segments.get(own.segments.len());
            let kind = inside.and_then(|segment| segment.hole()?.kind.clone());
            is_before && kind.is_some_and(|kind| Some(kind) == kind_of(parameter))
        }
        SortShape::Compared(comparator, bound) => {
            let (low, high) = sort.extent();
            let is_constant = bound.is_constant();
            let (least, most) = typed(bound).extent();
            match comparator {
                Comparator::Less if is_constant => low < most,
                Comparator::Less | Comparator::LessOrEqual => low <= most || low.starts_with(&most),
                _ => high >= least || least.starts_with(&high),
            }
        }
        SortShape::Between(from, to) => {
            let (low, high) = sort.extent();
            let (from, to) = (typed(from).extent().0, typed(to).extent().1);
            (high >= from || from.starts_with(&high)) && (low <= to || low.starts_with(&to))
        }
    }
}

/// How each segment finds that of the record; `None` when there are too many or too few.
fn fits<'s>(
    asked: &'s Asked<'_>,
    partition: &'s KeyShape,
    sort: Option<&'s KeyShape>,
) -> Option<Vec<Fit<'s>>> {
    let lengths =
        |own: &KeyShape, record: &KeyShape| own.segments.len().cmp(&record.segments.len());
    let mut fits = Vec::new();
    if let Some(own) = &asked.partition {
        if lengths(own, partition).is_ne() {
            return None;
        }
        fits.extend(own.fits(partition));
    }
    let (owns, is_exact): (Vec<&KeyShape>, bool) = match &asked.sort {
        SortShape::All => (Vec::new(), false),
        SortShape::Equals(own) => (vec![own], true),
        SortShape::Begins(own) | SortShape::BeginsInside(own, _) => (vec![own], false),
        // Only parameters are of interest: a bound need not be a key.
        SortShape::Compared(_, own) => (vec![own], false),
        SortShape::Between(from, to) => (vec![from, to], false),
    };
    let is_range = matches!(asked.sort, SortShape::Compared(..) | SortShape::Between(..));
    for own in owns {
        let sort = sort?;
        let order = lengths(own, sort);
        if is_range {
            let found = own.fits(sort);
            fits.extend(found.filter(|fit| matches!(fit, Fit::Parameter(..))));
            continue;
        }
        let is_reached = if is_exact {
            order.is_eq()
        } else {
            order.is_lt()
        };
        let is_reached = is_reached || own.segments.is_empty();
        if !is_reached {
            return None;
        }
        fits.extend(own.fits(sort));
    }
    Some(fits)
}

/// What a parameter may be, and the record that says so.
struct Kind<'w> {
    parameter: String,
    kind: AttributeType,
    place: &'w str,
}

/// The types of the parameters; `None` after a report.
fn kinds<'w>(
    asked: &Asked<'_>,
    candidates: &[Candidate<'w>],
    params: &[Parameter],
    symbols: &Symbols,
) -> Option<Vec<Kind<'w>>> {
    let mut kinds: Vec<Kind<'w>> = Vec::new();
    let mut is_served = asked.partition.is_none();
    let mut is_good = true;
    for candidate in candidates {
        let Some(parameters) = candidate.serve(asked) else {
            continue;
        };
        is_served = true;
        for (name, kind) in parameters {
            if declared(params, &name).is_none() {
                let place = &candidate.record.place;
                is_good &= note(&mut kinds, &name, kind, place, asked.span, symbols);
            }
        }
    }
    if !is_served {
        unserved(asked, candidates, symbols);
    }
    (is_served && is_good).then_some(kinds)
}

/// Notes that a parameter is of a type; two types must agree.
fn note<'w>(
    kinds: &mut Vec<Kind<'w>>,
    parameter: &str,
    kind: &AttributeType,
    place: &'w str,
    span: Span,
    symbols: &Symbols,
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
    if let Some(both) = either(&known.kind, kind) {
        known.kind = both;
        return true;
    }
    let message = format!(
        "`{{{parameter}}}` is {} in `{}`, but {} in `{place}`",
        known.kind.noun(),
        known.place,
        kind.noun()
    );
    symbols
        .report(Code::ParameterType, span, message)
        .help("give the two attributes one type");
    false
}

/// A type for what either of two accepts: strings of different lengths, different words.
fn either(one: &AttributeType, two: &AttributeType) -> Option<AttributeType> {
    match (one, two) {
        (AttributeType::String(one), AttributeType::String(two)) => {
            let mut length = one.length;
            length.min = length.min.min(two.length.min);
            length.max = length
                .max
                .zip(two.length.max)
                .map(|(one, two)| one.max(two));
            Some(AttributeType::String(StringType {
                length,
                pattern: None,
                format: None,
            }))
        }
        _ => match (one.words(), two.words()) {
            (Some(mut one), Some(two)) => {
                one.extend(
                    two.into_iter()
                        .filter(|word| !one.contains(word))
                        .collect::<Vec<_>>(),
                );
                Some(AttributeType::Enum(one))
            }
            _ => None,
        },
    }
}

fn unserved(asked: &Asked<'_>, candidates: &[Candidate<'_>], symbols: &Symbols) {
    // A record whose keys could not be read might have served it.
    if symbols
        .records
        .iter()
        .any(|record| is_unsure(record, asked))
    {
        return;
    }
    let mut message = "no record has keys that this could find".to_owned();
    let misplaced = candidates
        .iter()
        .find_map(|candidate| candidate.misplaced(asked));
    if let Some(why) = misplaced {
        message = format!("{message}: {why}");
    }
    let finding = symbols.report(Code::UnservedPattern, asked.span, message);
    let keys = candidates.iter().map(|candidate| {
        let title = candidate.record.title();
        let partition = &candidate.partition.written;
        match candidate.sort {
            Some(sort) => format!("\n  {title}: '{partition}' and '{}'", sort.written),
            None => format!("\n  {title}: '{partition}'"),
        }
    });
    let mut keys: Vec<_> = keys.collect();
    let others = keys.len().saturating_sub(KEYS_SHOWN);
    keys.truncate(KEYS_SHOWN);
    if others > 0 {
        keys.push(format!("\n  and {others} more"));
    }
    match (keys.is_empty(), asked.index()) {
        (false, _) => finding.help(format!("the keys are{}", keys.concat())),
        (true, Some(index)) => {
            let index = &symbols.tables[asked.table].indexes[index.index()].name;
            finding.help(format!("no record has keys in `{index}`"))
        }
        (true, None) => finding,
    };
}

/// A record that `returns` names, and where.
type Named<'w> = (&'w DeclaredRecord, Span);

fn named_records<'w>(names: &[&Text], symbols: &'w Symbols) -> Option<Vec<Named<'w>>> {
    let mut named: Vec<Named<'w>> = Vec::new();
    let mut is_good = true;
    for text in names {
        let (name, span) = (text.as_str(), text.span());
        match symbols.resolve(&(name.to_owned(), span)) {
            Some(record) if named.iter().any(|(other, _)| other.id == record.id) => {
                let message = format!("`{name}` is named twice");
                symbols.report(Code::DuplicateName, span, message);
                is_good = false;
            }
            Some(record) => named.push((record, span)),
            None => is_good = false,
        }
    }
    is_good.then_some(named)
}

/// Holds what is found against what is named; gives the records in the order of `returns`.
fn agree<'w>(
    asked: &Asked<'_>,
    named: Option<Vec<Named<'w>>>,
    matching: Vec<&'w DeclaredRecord>,
    symbols: &Symbols,
) -> Option<Vec<&'w DeclaredRecord>> {
    // One whole key that finds two records: that they collide was reported.
    if matches!(asked.read, Read::Get(_)) && matching.len() > 1 {
        return None;
    }
    if matching.is_empty() && named.is_none() {
        unserved(asked, &[], symbols);
        return None;
    }
    let titles: Vec<_> = matching.iter().map(|record| record.title()).collect();
    let found = spelling::list(&titles);
    let returns = format!("write `returns = {titles:?}`");
    let narrowed = match symbols.table_discriminator(asked.table) {
        Some(name) => format!(
            "{returns}, or a `filter` such as `{name} = '{}'`",
            titles.first().unwrap_or(&"")
        ),
        None => returns,
    };
    let Some(named) = named else {
        if matching.len() == 1 {
            return Some(matching);
        }
        let message = format!("this finds {found}, so the pattern must say so");
        symbols
            .report(Code::UnnamedRecord, asked.span, message)
            .help(narrowed);
        return None;
    };
    let mut is_good = true;
    for (record, span) in &named {
        if !is_in(&matching, record) && !is_unsure(record, asked) {
            let message = format!("this pattern never finds `{}`", record.title());
            let finding = symbols.report(Code::ImpossibleReturn, *span, message);
            if !found.is_empty() {
                finding.help(format!("it finds {found}"));
            }
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
        symbols
            .report(Code::UnnamedRecord, asked.span, message)
            .help(narrowed);
        is_good = false;
    }
    is_good.then_some(named)
}

/// Whether the keys of a record could not be read.
fn is_unsure(record: &DeclaredRecord, asked: &Asked<'_>) -> bool {
    let is_broken = |index: IndexId| record.broken_indexes.contains(&index);
    record.keys.both().is_none() || asked.index().is_some_and(is_broken)
}

fn is_in(records: &[&DeclaredRecord], record: &DeclaredRecord) -> bool {
    records.iter().any(|other| other.id == record.id)
}
