//! `[pattern.X]`: named reads, each served by the keys of some record.

use partita_core::expression::Span;

use super::key::Record;
use super::shape::{Fit, Shape};
use super::{about, table};
use crate::codes::Code;
use crate::design::{
    KeyTemplates, LIMIT_DEFAULT, LIMIT_MAX, Parameter, Pattern, Read, SortTemplate, WHOLE_MAX,
};
use crate::diagnostic::Report;
use crate::document::{Field, Name, Section, Text};
use crate::spelling;
use crate::syntax::later;
use crate::syntax::query::{self, Clause};
use crate::syntax::template::Piece;
use crate::template::{DELIMITER, Part, Template};
use crate::types::AttributeType;

/// Reads a pattern; `None` after a report.
pub(crate) fn check(
    name: &Name,
    mut section: Section<'_>,
    table: &table::Draft,
    records: &[Record<'_>],
    report: &mut Report,
) -> Option<Pattern> {
    let about = about(&mut section, report);
    let asked = read(&mut section, table, report);
    let returns = section.texts("returns", true, report);
    let is_get = section.key_span("get").is_some();
    let options = options(&mut section, is_get, report);
    let found = asked.and_then(|asked| {
        let returns = returns_of(&asked, &returns, records, report)?;
        Some((asked, returns))
    });
    let sort = match (section.texts("sort", false, report), &found) {
        (Field::Given(names), Some((_, found))) => sort(&names, &found.records, report),
        (Field::Given(_) | Field::Broken, _) => None,
        (Field::Absent, _) => Some(Vec::new()),
    };
    section.finish(later::PATTERN, &[], report);
    let ((asked, found), options) = (found?, options?);
    Some(Pattern {
        name: name.text.clone(),
        about,
        parameters: found.parameters,
        read: asked.read,
        returns: found
            .records
            .iter()
            .map(|record| record.name.clone())
            .collect(),
        sort: sort?,
        whole: options.whole,
        descending: options.descending,
        limit: options.limit,
    })
}

/// What a pattern asks of the keys.
struct Asked {
    read: Read,
    partition: Shape,
    sort: SortShape,
    span: Span,
}

enum SortShape {
    All,
    Equals(Shape),
    /// The whole segments before the last delimiter.
    Begins(Shape),
}

/// What a pattern finds.
struct Found<'r, 'd> {
    records: Vec<&'r Record<'d>>,
    parameters: Vec<Parameter>,
}

fn read(section: &mut Section<'_>, table: &table::Draft, report: &mut Report) -> Option<Asked> {
    let (get, query) = (section.text("get", report), section.text("query", report));
    let (text, is_get) = match (get, query) {
        (Field::Given(text), Field::Absent) => (text, true),
        (Field::Absent, Field::Given(text)) => (text, false),
        (Field::Absent, Field::Absent) => {
            // A scan gets its own diagnostic.
            if section.key_span("scan").is_none() {
                section.missing("query", "\"PK = 'USER#{userId}'\"", report);
            }
            return None;
        }
        (Field::Given(_), Field::Given(query)) => {
            let span = section.key_span("query").unwrap_or(query.span());
            report
                .add(
                    Code::NeedlessKey,
                    span,
                    "a pattern is either a `get` or a `query`",
                )
                .help("leave one of the two out");
            return None;
        }
        _ => return None,
    };
    let clauses = query::parse(text, report)?;
    let names = table.keys.as_ref()?;
    let [partition, sort] = by_key(&clauses, names, text, report)?;
    let Some(partition) = partition.filter(|clause| !clause.is_prefix) else {
        let (span, name) = (text.span(), &names[0]);
        report
            .add(
                Code::PatternSyntax,
                span,
                format!("a pattern needs the whole partition key, `{name} = '…'`"),
            )
            .help("DynamoDB reads one partition at a time");
        return None;
    };
    asked(partition, sort, is_get, text, names, report)
}

/// The clauses of the partition key and of the sort key.
fn by_key<'c>(
    clauses: &'c [Clause],
    names: &[String; 2],
    text: &Text,
    report: &mut Report,
) -> Option<[Option<&'c Clause>; 2]> {
    let mut found: [Option<&Clause>; 2] = [None, None];
    let mut is_good = true;
    for clause in clauses {
        let (name, span) = &clause.attribute;
        let place = names.iter().position(|key| key == name);
        let slot = place.and_then(|place| found.get_mut(place));
        match slot {
            None => {
                report
                    .add(
                        Code::NotAKey,
                        *span,
                        format!("`{name}` is no key of the table"),
                    )
                    .suggest(name, names.iter().map(String::as_str));
                is_good = false;
            }
            Some(Some(_)) => {
                report.add(
                    Code::PatternSyntax,
                    text.span(),
                    format!("`{name}` is asked for twice"),
                );
                is_good = false;
            }
            Some(slot) => *slot = Some(clause),
        }
    }
    is_good.then_some(found)
}

fn asked(
    partition: &Clause,
    sort: Option<&Clause>,
    is_get: bool,
    text: &Text,
    names: &[String; 2],
    report: &mut Report,
) -> Option<Asked> {
    let pk = template(partition);
    let (read, sort) = match (sort, is_get) {
        (Some(sort), true) if !sort.is_prefix => {
            let (pk, sk) = (pk.clone()?, template(sort)?);
            let shape = SortShape::Equals(shape(&sk));
            let keys = KeyTemplates {
                partition: pk,
                sort: sk,
            };
            (Read::Get(keys), shape)
        }
        (_, true) => {
            report
                .add(
                    Code::PatternSyntax,
                    text.span(),
                    "a `get` needs the whole key",
                )
                .help(format!(
                    "write `{} = '…' AND {} = '…'`, or make it a `query`",
                    names[0], names[1]
                ));
            return None;
        }
        (None, false) => (query_of(pk.clone()?, SortTemplate::All), SortShape::All),
        (Some(sort), false) if sort.is_prefix => {
            let sk = template(sort)?;
            let prefix = prefix(sort, &sk, report)?;
            let read = query_of(pk.clone()?, SortTemplate::BeginsWith(sk));
            (read, SortShape::Begins(prefix))
        }
        (Some(sort), false) => {
            report
                .add(
                    Code::PatternSyntax,
                    sort.attribute.1,
                    "a query with the whole key finds one item at most",
                )
                .help("make it a `get`");
            return None;
        }
    };
    Some(Asked {
        read,
        partition: shape(&pk?),
        sort,
        span: text.span(),
    })
}

fn query_of(partition: Template, sort: SortTemplate) -> Read {
    Read::Query { partition, sort }
}

fn template(clause: &Clause) -> Option<Template> {
    let parts = clause.pieces.as_ref()?.iter().map(|piece| match piece {
        Piece::Text(text) => Part::Text(text.clone()),
        Piece::Hole(name, _) => Part::Value(name.clone()),
    });
    Some(Template {
        parts: parts.collect(),
    })
}

fn shape(template: &Template) -> Shape {
    Shape::new(template, |_| None)
}

/// A prefix ends at a delimiter; `CHAPTER#1` would also find chapter 10.
fn prefix(clause: &Clause, template: &Template, report: &mut Report) -> Option<Shape> {
    let prefix = shape(template).prefix();
    if prefix.is_none() {
        let written = &clause.written;
        report
            .add(
                Code::CutPrefix,
                clause.span,
                format!("`{written}` ends inside a part of the key"),
            )
            .help(format!(
                "end it with the delimiter: `'{written}{DELIMITER}'`"
            ));
    }
    prefix
}

/// The records that the pattern finds, held against `returns`; `None` after a report.
fn returns_of<'r, 'd>(
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
    let mut kinds: Vec<(String, AttributeType, &Record<'_>)> = Vec::new();
    let mut is_served = false;
    let mut is_good = true;
    for record in records {
        let Some(parameters) = asked.parameters(record) else {
            continue;
        };
        is_served = true;
        for (name, kind) in parameters {
            is_good &= merge(&mut kinds, name, kind, record, asked.span, report);
        }
    }
    if !is_served {
        unserved(asked, records, report);
        return None;
    }
    let kind_of = |name: &str| {
        let found = kinds.iter().find(|(known, ..)| known == name);
        found.map(|(_, kind, _)| kind.clone())
    };
    let matching: Vec<&Record<'_>> = records
        .iter()
        .filter(|record| asked.may_find(record, &kind_of))
        .collect();
    let records = agree(asked.span, named, matching, records, report)?;
    let parameters = asked.names().into_iter().filter_map(|name| {
        let kind = kind_of(&name)?;
        Some(Parameter { name, kind })
    });
    is_good.then(|| Found {
        records,
        parameters: parameters.collect(),
    })
}

impl Asked {
    /// The parameters, with the types of the values in whose places they stand; `None` when the
    /// record's keys do not serve the pattern.
    fn parameters<'s>(
        &'s self,
        record: &'s Record<'_>,
    ) -> Option<Vec<(&'s str, &'s AttributeType)>> {
        let (partition, sort) = record.keys.both()?;
        let mut fits: Vec<Fit<'_>> = Vec::new();
        if self.partition.segments.len() != partition.shape.segments.len() {
            return None;
        }
        fits.extend(self.partition.fits(&partition.shape));
        match &self.sort {
            SortShape::All => {}
            SortShape::Equals(own) => {
                if own.segments.len() != sort.shape.segments.len() {
                    return None;
                }
                fits.extend(own.fits(&sort.shape));
            }
            SortShape::Begins(own) => {
                if own.segments.len() >= sort.shape.segments.len() {
                    return None;
                }
                fits.extend(own.fits(&sort.shape));
            }
        }
        let mut parameters = Vec::new();
        for fit in fits {
            match fit {
                Fit::Text => {}
                Fit::Parameter(name, kind) => parameters.push((name, kind)),
                Fit::No => return None,
            }
        }
        Some(parameters)
    }

    /// Whether some values of the parameters find the record, in whatever place they stand.
    fn may_find(
        &self,
        record: &Record<'_>,
        kind_of: &impl Fn(&str) -> Option<AttributeType>,
    ) -> bool {
        let Some((partition, sort)) = record.keys.both() else {
            return false;
        };
        let in_partition = self
            .partition
            .with_kinds(kind_of)
            .may_equal(&partition.shape);
        in_partition
            && match &self.sort {
                SortShape::All => true,
                SortShape::Equals(own) => own.with_kinds(kind_of).may_equal(&sort.shape),
                SortShape::Begins(own) => own.with_kinds(kind_of).may_begin(&sort.shape),
            }
    }

    /// The parameters in the order of their first use.
    fn names(&self) -> Vec<String> {
        let templates: Vec<&Template> = match &self.read {
            Read::Get(keys) => vec![&keys.partition, &keys.sort],
            Read::Query { partition, sort } => match sort {
                SortTemplate::All => vec![partition],
                SortTemplate::BeginsWith(sort) => vec![partition, sort],
            },
        };
        let mut names: Vec<String> = Vec::new();
        for name in templates.into_iter().flat_map(Template::names) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }
}

/// Notes that a parameter stands for values of a type; two types must agree.
fn merge<'r, 'd>(
    kinds: &mut Vec<(String, AttributeType, &'r Record<'d>)>,
    name: &str,
    kind: &AttributeType,
    record: &'r Record<'d>,
    span: Span,
    report: &mut Report,
) -> bool {
    let known = kinds.iter_mut().find(|(known, ..)| known == name);
    let Some((_, known, first)) = known else {
        kinds.push((name.to_owned(), kind.clone(), record));
        return true;
    };
    match (&mut *known, kind) {
        (one, two) if *one == *two => true,
        // Strings of different lengths: what either accepts may be asked for.
        (
            AttributeType::String { min, max },
            AttributeType::String {
                min: other_min,
                max: other_max,
            },
        ) => {
            *min = (*min).min(*other_min);
            *max = max.zip(*other_max).map(|(one, two)| one.max(two));
            true
        }
        (one, two) => {
            let message = format!(
                "`{{{name}}}` is {} in `{}`, but {} in `{}`",
                one.describe(),
                first.place,
                two.describe(),
                record.place
            );
            report.add(Code::ParameterType, span, message);
            false
        }
    }
}

fn unserved(asked: &Asked, records: &[Record<'_>], report: &mut Report) {
    // A record whose keys could not be read might have served it.
    if records.iter().any(|record| record.keys.both().is_none()) {
        return;
    }
    let keys: Vec<_> = records
        .iter()
        .filter_map(|record| {
            let (partition, sort) = record.keys.both()?;
            Some(format!(
                "{} {} / {}",
                record.title(),
                partition.written,
                sort.written
            ))
        })
        .collect();
    let finding = report.add(
        Code::UnservedPattern,
        asked.span,
        "no record has keys that this could find",
    );
    if !keys.is_empty() {
        finding.help(format!("the keys are {}", spelling::list(&keys)));
    }
}

/// The records that `returns` names; `None` after a report.
fn named_records<'r, 'd>(
    names: &[&Text],
    records: &'r [Record<'d>],
    report: &mut Report,
) -> Option<Vec<(&'r Record<'d>, Span)>> {
    let found: Vec<_> = names
        .iter()
        .map(|text| {
            let found = records
                .iter()
                .find(|record| record.title() == text.as_str());
            if found.is_none() {
                let message = format!("there is no entity or view `{}`", text.as_str());
                report
                    .add(Code::UnknownRecord, text.span(), message)
                    .suggest(text.as_str(), records.iter().map(Record::title));
            }
            found.map(|record| (record, text.span()))
        })
        .collect();
    found.into_iter().collect()
}

/// Holds what is found against what is named; gives the records in the order of `returns`.
fn agree<'r, 'd>(
    span: Span,
    named: Option<Vec<(&'r Record<'d>, Span)>>,
    matching: Vec<&'r Record<'d>>,
    all: &[Record<'_>],
    report: &mut Report,
) -> Option<Vec<&'r Record<'d>>> {
    let is_in = |list: &[&Record<'_>], record: &Record<'_>| {
        list.iter().any(|other| other.name == record.name)
    };
    let titles: Vec<_> = matching.iter().map(|record| record.title()).collect();
    let Some(named) = named else {
        if matching.len() == 1 {
            return Some(matching);
        }
        report
            .add(
                Code::UnnamedRecord,
                span,
                format!(
                    "this finds {}, so the pattern must say so",
                    spelling::list(&titles)
                ),
            )
            .help(format!("write `returns = {titles:?}`"));
        return None;
    };
    let mut is_good = true;
    for (record, span) in &named {
        if !is_in(&matching, record) && record.keys.both().is_some() {
            report
                .add(
                    Code::ImpossibleReturn,
                    *span,
                    format!("this pattern never finds `{}`", record.title()),
                )
                .help(format!("it finds {}", spelling::list(&titles)));
            is_good = false;
        }
    }
    let named: Vec<_> = named.into_iter().map(|(record, _)| record).collect();
    let unnamed: Vec<_> = matching
        .iter()
        .filter(|record| !is_in(&named, record))
        .map(|record| record.title())
        .collect();
    if !unnamed.is_empty() && is_good {
        report
            .add(
                Code::UnnamedRecord,
                span,
                format!("this also finds {}", spelling::list(&unnamed)),
            )
            .help(format!("write `returns = {titles:?}`"));
        is_good = false;
    }
    debug_assert!(all.len() >= named.len() || !is_good);
    is_good.then_some(named)
}

/// How a result is ordered and cut into pages.
struct Options {
    whole: Option<usize>,
    descending: bool,
    limit: usize,
}

fn options(section: &mut Section<'_>, is_get: bool, report: &mut Report) -> Option<Options> {
    let whole = section.integer("whole", 1..=WHOLE_MAX, report);
    let limit = section.integer("limit", 1..=LIMIT_MAX, report);
    let order = section
        .text("order", report)
        .and_then(|order| match order.as_str() {
            "ascending" => Some(false),
            "descending" => Some(true),
            word => {
                report
                    .add(
                        Code::UnknownWord,
                        order.span(),
                        format!("there is no order `{word}`"),
                    )
                    .suggest(word, ["ascending", "descending"]);
                None
            }
        });
    let has = |key: &str| section.key_span(key);
    let needless = match () {
        () if is_get => ["sort", "whole", "order", "limit"]
            .into_iter()
            .filter_map(|key| Some((key, has(key)?, "a `get` finds one item")))
            .collect(),
        () if has("sort").is_some() => {
            let order = has("order").map(|span| ("order", span, "`sort` gives the order"));
            Vec::from_iter(order)
        }
        () => {
            let whole = has("whole").map(|span| ("whole", span, "there is no `sort`"));
            Vec::from_iter(whole)
        }
    };
    for (key, span, why) in &needless {
        report
            .add(
                Code::NeedlessKey,
                *span,
                format!("`{key}` has no effect, because {why}"),
            )
            .help(format!("leave `{key}` out"));
    }
    if let (Some(span), false, true) = (has("sort"), is_get, whole.is_absent()) {
        report
            .add(
                Code::SortWithoutWhole,
                span,
                "a result can be ordered only when all of it is read",
            )
            .help("write `whole = 1000`: how many items are read at most");
    }
    let default = if is_get { 1 } else { LIMIT_DEFAULT };
    Some(Options {
        whole: optional(whole)?,
        descending: optional(order)?.unwrap_or(false),
        limit: optional(limit)?.unwrap_or(default),
    })
}

/// The value if it is there; `None` after a report.
fn optional<T>(field: Field<T>) -> Option<Option<T>> {
    match field {
        Field::Absent => Some(None),
        Field::Broken => None,
        Field::Given(value) => Some(Some(value)),
    }
}

/// The stored names of the attributes that order the result.
fn sort(names: &[&Text], records: &[&Record<'_>], report: &mut Report) -> Option<Vec<String>> {
    let stored: Vec<_> = names
        .iter()
        .map(|text| sort_attribute(text, records, report))
        .collect();
    stored.into_iter().collect()
}

fn sort_attribute(text: &Text, records: &[&Record<'_>], report: &mut Report) -> Option<String> {
    let name = text.as_str();
    let mut stored: Option<String> = None;
    for record in records {
        let attribute = record.scope?.resolve(name, text.span(), report)?;
        let in_key = || {
            record
                .keys
                .holes()
                .any(|(_, stored, _)| *stored == attribute.name)
        };
        let is_there = record
            .keep
            .is_none_or(|keep| keep.contains(&attribute.name))
            || in_key();
        let first = stored.get_or_insert_with(|| attribute.name.clone());
        if !is_there || *first != attribute.name {
            let message = match is_there {
                false => format!("`{}` does not keep `{name}`", record.place),
                true => format!(
                    "`{name}` is `{first}` in one record and `{}` in another",
                    attribute.name
                ),
            };
            report.add(Code::UnknownAttribute, text.span(), message);
            return None;
        }
        let kind = attribute.kind.as_ref()?;
        if matches!(
            kind,
            AttributeType::Bool | AttributeType::List(_) | AttributeType::Any
        ) {
            report
                .add(
                    Code::SortType,
                    text.span(),
                    format!("`{name}` is {}, which has no order", kind.describe()),
                )
                .related(attribute.span, "declared here");
            return None;
        }
    }
    stored
}
