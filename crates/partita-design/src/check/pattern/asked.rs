//! What a pattern asks of the keys.

use partita_core::expression::Span;

use super::super::key::Record;
use super::super::shape::Shape;
use super::super::table;
use crate::codes::Code;
use crate::design::{KeyTemplates, Read, SortTemplate};
use crate::diagnostic::Report;
use crate::document::{Field, Section, Text};
use crate::syntax::query::{self, Clause};
use crate::syntax::template::Piece;
use crate::template::{DELIMITER, Part, Template};

/// A read, and the shapes of the keys that it asks for.
pub(super) struct Asked {
    pub(super) read: Read,
    pub(super) partition: Shape,
    pub(super) sort: SortShape,
    /// The place of the key condition.
    pub(super) span: Span,
}

/// Which sort keys are asked for.
pub(super) enum SortShape {
    All,
    Equals(Shape),
    /// The whole segments before the prefix's last delimiter.
    Begins(Shape),
}

impl Asked {
    /// The parameters in the order of their first use.
    pub(super) fn parameters(&self) -> Vec<String> {
        let (partition, sort) = match &self.read {
            Read::Get(keys) => (&keys.partition, Some(&keys.sort)),
            Read::Query { partition, sort } => match sort {
                SortTemplate::All => (partition, None),
                SortTemplate::BeginsWith(sort) => (partition, Some(sort)),
            },
        };
        let templates = std::iter::once(partition).chain(sort);
        let mut names: Vec<String> = Vec::new();
        for name in templates.flat_map(Template::names) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }
}

/// Reads the `get` or `query` of a pattern; `None` after a report.
pub(super) fn read(
    section: &mut Section<'_>,
    table: &table::Draft,
    records: &[Record<'_>],
    report: &mut Report,
) -> Option<Asked> {
    let (text, is_get) = get_or_query(section, report)?;
    // Parameters with types of their own get their diagnostic; nothing is known of the others.
    if section.key_span("params").is_some() {
        return None;
    }
    let clauses = query::parse(text, report)?;
    let names = table.keys.as_ref()?;
    let index_keys = &table.elsewhere.index_keys;
    if clauses
        .iter()
        .any(|clause| index_keys.contains(&clause.attribute.0))
    {
        return None;
    }
    let [partition, sort] = by_key(&clauses, names, text, report)?;
    let Some(partition) = partition.filter(|clause| !clause.is_prefix) else {
        let message = format!(
            "a pattern needs the whole partition key, `{} = '…'`",
            names[0]
        );
        report
            .add(Code::PatternSyntax, text.span(), message)
            .help("DynamoDB reads one partition at a time");
        return None;
    };
    let (read, sort) = match is_get {
        true => get(partition, sort, text, names, report),
        false => query(partition, sort, records, report),
    }?;
    let asked = Asked {
        read,
        partition: shape(&template(partition)?),
        sort,
        span: text.span(),
    };
    check_parameters(&asked, report);
    Some(asked)
}

/// The API has two parameters of its own beside those of a pattern.
fn check_parameters(asked: &Asked, report: &mut Report) {
    let parameters = asked.parameters();
    let taken = |name: &&String| ["limit", "cursor"].contains(&name.as_str());
    for name in parameters.iter().filter(taken) {
        let message = format!("`{name}` is a parameter of every pattern, for its pages");
        report
            .add(Code::InvalidName, asked.span, message)
            .help("call the placeholder by another name");
    }
}

fn get_or_query<'d>(section: &mut Section<'d>, report: &mut Report) -> Option<(&'d Text, bool)> {
    match (section.text("get", report), section.text("query", report)) {
        (Field::Given(get), Field::Absent) => Some((get, true)),
        (Field::Absent, Field::Given(query)) => Some((query, false)),
        (Field::Absent, Field::Absent) => {
            // A scan gets its own diagnostic.
            if section.key_span("scan").is_none() {
                section.missing("query", "\"PK = 'USER#{userId}'\"", report);
            }
            None
        }
        (Field::Given(_), Field::Given(query)) => {
            let span = section.key_span("query").unwrap_or(query.span());
            let message = "a pattern is either a `get` or a `query`";
            report
                .add(Code::NeedlessKey, span, message)
                .help("leave one of the two out");
            None
        }
        _ => None,
    }
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
        match place.and_then(|place| found.get_mut(place)) {
            Some(slot @ None) => *slot = Some(clause),
            Some(Some(_)) => {
                let message = format!("`{name}` is asked for twice");
                report.add(Code::PatternSyntax, text.span(), message);
                is_good = false;
            }
            None => {
                let message = format!("`{name}` is no key of the table");
                report
                    .add(Code::NotAKey, *span, message)
                    .suggest(name, names.iter().map(String::as_str));
                is_good = false;
            }
        }
    }
    is_good.then_some(found)
}

fn get(
    partition: &Clause,
    sort: Option<&Clause>,
    text: &Text,
    names: &[String; 2],
    report: &mut Report,
) -> Option<(Read, SortShape)> {
    let Some(sort) = sort.filter(|sort| !sort.is_prefix) else {
        let [partition, sort] = names;
        report
            .add(
                Code::PatternSyntax,
                text.span(),
                "a `get` needs the whole key",
            )
            .help(format!(
                "write `{partition} = '…' AND {sort} = '…'`, or make it a `query`"
            ));
        return None;
    };
    let keys = KeyTemplates {
        partition: template(partition)?,
        sort: template(sort)?,
    };
    let shape = shape(&keys.sort);
    Some((Read::Get(keys), SortShape::Equals(shape)))
}

fn query(
    partition: &Clause,
    sort: Option<&Clause>,
    records: &[Record<'_>],
    report: &mut Report,
) -> Option<(Read, SortShape)> {
    let partition = template(partition)?;
    let (sort, shape) = match sort {
        None => (SortTemplate::All, SortShape::All),
        Some(clause) if clause.is_prefix => {
            let sort = template(clause)?;
            let Some(prefix) = shape(&sort).prefix() else {
                cut(clause, records, report);
                return None;
            };
            (SortTemplate::BeginsWith(sort), SortShape::Begins(prefix))
        }
        Some(clause) => {
            let message = "a query with the whole key finds one item at most";
            report
                .add(Code::PatternSyntax, clause.attribute.1, message)
                .help("make it a `get`");
            return None;
        }
    };
    Some((Read::Query { partition, sort }, shape))
}

/// A prefix ends at a delimiter; `CHAPTER#1` would also find chapter 10.
fn cut(clause: &Clause, records: &[Record<'_>], report: &mut Report) {
    let written = &clause.written;
    // The prefix that was probably meant: some sort key up to its next delimiter.
    let meant = records.iter().find_map(|record| {
        let sort = &record.keys.sort.as_ref()?.written;
        let rest = sort.strip_prefix(written.as_str())?;
        let end = written.len() + rest.find(DELIMITER)? + 1;
        sort.get(..end)
    });
    let help = match meant {
        Some(meant) => format!("write `'{meant}'`"),
        None => format!("end a prefix with `{DELIMITER}`"),
    };
    let message = format!("`{written}` ends inside a part of the key");
    report.add(Code::CutPrefix, clause.span, message).help(help);
}

/// The template over parameters; `None` if it was reported.
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
