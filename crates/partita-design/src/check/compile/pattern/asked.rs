//! What a pattern asks of which keys.

mod hole;
mod sort_keys;

use partita_core::expression::{Comparator, Span};

use crate::check::declare::key_shape::KeyShape;
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::check::declare::{index, table};
use crate::codes::Code;
use crate::design::{IndexId, KeyBound, KeyTemplates, Parameter, Read};
use crate::document::{Field, Section, Text};
use crate::syntax::query::{self, Clause, Test};
use crate::template::Template;
use crate::types::AttributeType;
pub(super) use hole::{
    check as check_holes, check_unformatted, template as hole_template, value as hole_value,
};
use sort_keys::Query;

/// A read, and the shapes of the keys that it asks for.
pub(super) struct Asked<'d> {
    pub(super) read: Read,
    /// The table, as a position in the symbols's list.
    pub(super) table: usize,
    /// The partition; `None` for a scan.
    pub(super) partition: Option<KeyShape>,
    pub(super) sort: SortShape,
    /// The place of the key condition.
    pub(super) span: Span,
    /// The key condition as it is written.
    pub(super) text: String,
    /// The condition of a scan.
    pub(super) scan: Option<&'d Text>,
}

/// A placeholder that is a function of a parameter.
pub(super) struct Call {
    pub(super) parameter: String,
    /// Whether it is the time of a ULID; otherwise it is a text.
    pub(super) is_time: bool,
}

/// Which sort keys are asked for.
pub(super) enum SortShape {
    All,
    Equals(KeyShape),
    /// The whole segments before the prefix's last delimiter.
    Begins(KeyShape),
    /// As `Begins`, and the beginning of the segment behind them, of that type.
    BeginsInside(KeyShape, String),
    /// Those on one side of a bound.
    Compared(Comparator, KeyShape),
    Between(KeyShape, KeyShape),
}

impl Asked<'_> {
    fn templates(&self) -> Vec<&Template> {
        match &self.read {
            Read::Get(keys) => vec![&keys.partition, &keys.sort],
            Read::Query(query) => {
                let partition = std::iter::once(&query.partition.value);
                partition.chain(query.sort.templates()).collect()
            }
            Read::Scan { .. } => Vec::new(),
        }
    }

    /// The function of a parameter that is written so.
    pub(super) fn call(&self, written: &str) -> Option<Call> {
        let mut holes = self.templates().into_iter().flat_map(Template::holes);
        let hole = holes.find(|hole| hole.name().is_none() && hole.to_string() == written)?;
        hole::call(&hole.value)
    }

    /// The parameter in the place of a value of a type, and its own type; `None` if
    /// what is made of it can never be such a value.
    pub(super) fn typed<'k>(
        &self,
        written: &str,
        kind: &'k AttributeType,
    ) -> Option<(String, &'k AttributeType)> {
        match self.call(written) {
            None => Some((written.to_owned(), kind)),
            Some(call) if call.is_time => (*kind == AttributeType::timestamp())
                .then_some((call.parameter, &AttributeType::Ulid)),
            Some(call) => {
                let is_text = kind.stored_as() == Some(partita_core::Type::S);
                is_text.then_some((call.parameter, kind))
            }
        }
    }

    /// The parameters in the order of their first use.
    pub(super) fn parameters(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.templates().into_iter().flat_map(Template::names) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The index that is read.
    pub(super) fn index(&self) -> Option<IndexId> {
        self.read.index()
    }
}

/// Reads the `get`, `query` or `scan` of a pattern; `None` after a report. Where tables have keys of
/// the same names, it is the one at `home` that is read.
pub(super) fn read<'d>(
    section: &mut Section<'d>,
    symbols: &Symbols,
    params: &[Parameter],
    home: Option<usize>,
) -> Option<Asked<'d>> {
    let (text, kind) = get_query_or_scan(section)?;
    let index = section.text("index");
    if kind == "scan" {
        return scan(text, index, symbols, home);
    }
    let clauses = query::parse(text)?;
    let (table, index) = keys_of(&clauses, index, text, symbols, home)?;
    let draft = &symbols.tables[table];
    let names = key_names(draft, index)?;
    let [partition, sort] = by_key(&clauses, &names, text)?;
    numbers(&clauses, table, symbols)?;
    functions(&clauses, text)?;
    let equals = |clause: &Clause| matches!(clause.test, Test::Compare(Comparator::Equal, _));
    let Some(partition) = partition.filter(|clause| equals(clause)) else {
        let message = format!(
            "a pattern needs the whole partition key, `{} = '…'`",
            names.0
        );
        section
            .report(Code::PatternSyntax, text.span(), message)
            .help("DynamoDB reads one partition at a time");
        return None;
    };
    let records: Vec<&DeclaredRecord> = symbols
        .records
        .iter()
        .filter(|one| one.table == table)
        .collect();
    let partition_key = bound(partition)?;
    let partition_shape = shape(&partition_key.value);
    let (read, sort) = match kind {
        "get" => get(partition_key, sort, text, &names, index),
        _ => {
            let asked = Query {
                index: index.map(|index| index.id),
                params,
                records: &records,
                text,
            };
            asked.read(partition_key, sort)
        }
    }?;
    Some(Asked {
        read,
        table,
        partition: Some(partition_shape),
        sort,
        span: text.span(),
        text: text.as_str().to_owned(),
        scan: None,
    })
}

fn scan<'d>(
    text: &'d Text,
    index: Field<&'d Text>,
    symbols: &Symbols,
    home: Option<usize>,
) -> Option<Asked<'d>> {
    let (table, index) = match index {
        Field::Absent => (home.unwrap_or(0), None),
        Field::Broken => return None,
        Field::Given(text) => {
            let (table, index) = find_index(text, symbols)?;
            (table, Some(index.id))
        }
    };
    Some(Asked {
        read: Read::Scan { index },
        table,
        partition: None,
        sort: SortShape::All,
        span: text.span(),
        text: text.as_str().to_owned(),
        scan: Some(text),
    })
}

fn find_index<'w>(text: &Text, symbols: &'w Symbols) -> Option<(usize, &'w index::Draft)> {
    let mut tables = symbols.tables.iter().enumerate();
    let found = tables.find_map(|(table, draft)| {
        let mut indexes = draft.indexes.iter();
        let index = indexes.find(|index| index.name == text.as_str())?;
        Some((table, index))
    });
    if found.is_none() && symbols.tables.iter().all(|table| !table.has_broken_index) {
        let indexes = symbols.tables.iter().flat_map(|table| &table.indexes);
        let known = indexes.map(|index| index.name.as_str());
        text.unknown(Code::UnknownIndex, "index", known);
    }
    found
}

/// The names of the partition key and the sort key.
type KeyNames = (String, Option<String>);

fn key_names(table: &table::Draft, index: Option<&index::Draft>) -> Option<KeyNames> {
    match index {
        None => {
            let [partition, sort] = table.keys.clone()?;
            Some((partition, Some(sort)))
        }
        Some(index) => {
            let sort = index.sort.as_ref().map(|(name, _)| name.clone());
            Some((index.partition.0.clone(), sort))
        }
    }
}

/// The table or index that is asked: the names of the keys tell, unless `index` does.
fn keys_of<'w>(
    clauses: &[Clause],
    index: Field<&Text>,
    text: &Text,
    symbols: &'w Symbols,
    home: Option<usize>,
) -> Option<(usize, Option<&'w index::Draft>)> {
    match index {
        Field::Broken => return None,
        Field::Given(name) => {
            return find_index(name, symbols).map(|(table, index)| (table, Some(index)));
        }
        Field::Absent => {}
    }
    let asked: Vec<&str> = clauses
        .iter()
        .map(|clause| clause.attribute.0.as_str())
        .collect();
    let mut candidates = Vec::new();
    for (position, table) in symbols.tables.iter().enumerate() {
        let Some([partition, _]) = &table.keys else {
            return None;
        };
        if asked.contains(&partition.as_str()) {
            candidates.push((position, None));
        }
        let indexes = table.indexes.iter();
        let indexes = indexes.filter(|index| asked.contains(&index.partition.0.as_str()));
        candidates.extend(indexes.map(|index| (position, Some(index))));
    }
    let is_home = |(position, _): &(usize, Option<&index::Draft>)| home == Some(*position);
    if candidates.iter().any(is_home) {
        candidates.retain(is_home);
    }
    match candidates.as_slice() {
        [one] => Some(*one),
        [] => {
            not_a_key(clauses, text, symbols);
            None
        }
        [first, ..] => {
            let names: Vec<&str> = candidates
                .iter()
                .filter_map(|(_, index)| index.map(|index| index.name.as_str()))
                .collect();
            if names.is_empty() {
                return Some(*first);
            }
            let message = "several indexes have this partition key";
            text.report_here(Code::UnknownIndex, message).help(format!(
                "write `index = \"…\"` with one of {}",
                crate::spelling::list(&names)
            ));
            None
        }
    }
}

fn not_a_key(clauses: &[Clause], text: &Text, symbols: &Symbols) {
    if symbols.tables.iter().any(|table| table.has_broken_index) {
        return;
    }
    let mut known: Vec<&str> = Vec::new();
    for table in &symbols.tables {
        known.extend(table.keys.iter().flatten().map(String::as_str));
        known.extend(table.index_keys());
    }
    let unknown = clauses
        .iter()
        .find(|clause| !known.contains(&clause.attribute.0.as_str()));
    match unknown {
        Some(clause) => {
            let (name, span) = &clause.attribute;
            let message = format!("`{name}` is no key of the table");
            text.report(Code::NotAKey, *span, message)
                .suggest(name, known);
        }
        None => {
            let message = "a pattern needs the whole partition key";
            text.report_here(Code::PatternSyntax, message)
                .help("DynamoDB reads one partition at a time");
        }
    }
}

/// Only a native key can be a number.
fn numbers(clauses: &[Clause], table: usize, symbols: &Symbols) -> Option<()> {
    for clause in clauses {
        let (Test::Compare(_, bound) | Test::BeginsWith(bound) | Test::Between(bound, _)) =
            &clause.test;
        let name = &clause.attribute.0;
        let mut records = symbols
            .records
            .iter()
            .filter(|record| record.table == table);
        let is_native = records.any(|record| {
            let declared = record.attributes.iter().find(|one| one.name == *name);
            let kind = declared.and_then(|one| one.kind.as_ref());
            kind.is_some_and(|kind| kind.stored_as() == Some(partita_core::Type::N))
        });
        if bound.is_number && !is_native {
            let message = format!("`{name}` is a text");
            symbols
                .report(Code::PatternSyntax, bound.span, message)
                .help("write a text with placeholders, such as `'USER#{userId}'`");
            return None;
        }
    }
    Some(())
}

/// A placeholder is a parameter, or a function of one.
fn functions(clauses: &[Clause], text: &Text) -> Option<()> {
    let bounds = clauses.iter().flat_map(|clause| match &clause.test {
        Test::Compare(_, bound) | Test::BeginsWith(bound) => vec![bound],
        Test::Between(low, high) => vec![low, high],
    });
    let pieces = bounds.filter_map(|bound| bound.pieces.as_ref()).flatten();
    hole::check(pieces, text)
}

fn get_query_or_scan<'d>(section: &mut Section<'d>) -> Option<(&'d Text, &'static str)> {
    let mut found: Option<(&Text, &str)> = None;
    let mut is_broken = false;
    for kind in ["get", "query", "scan"] {
        match section.text(kind) {
            Field::Absent => {}
            Field::Broken => is_broken = true,
            Field::Given(text) => match found {
                None => found = Some((text, kind)),
                Some((_, first)) => {
                    let span = section.key_span(kind).unwrap_or(text.span());
                    let message = format!("a pattern is either a `{first}` or a `{kind}`");
                    section
                        .report(Code::NeedlessKey, span, message)
                        .help("leave one of the two out");
                    is_broken = true;
                }
            },
        }
    }
    if found.is_none() && !is_broken {
        section.missing("query", "\"PK = 'USER#{userId}'\"");
    }
    let (text, kind) = found.filter(|_| !is_broken)?;
    let kind = ["get", "query", "scan"]
        .into_iter()
        .find(|known| *known == kind)?;
    Some((text, kind))
}

/// The clauses of the partition key and of the sort key.
fn by_key<'c>(
    clauses: &'c [Clause],
    names: &KeyNames,
    text: &Text,
) -> Option<[Option<&'c Clause>; 2]> {
    let mut found: [Option<&Clause>; 2] = [None, None];
    let mut is_good = true;
    let known: Vec<&str> = std::iter::once(names.0.as_str())
        .chain(names.1.as_deref())
        .collect();
    for clause in clauses {
        let (name, span) = &clause.attribute;
        let place = known.iter().position(|key| key == name);
        match place.and_then(|place| found.get_mut(place)) {
            Some(slot @ None) => *slot = Some(clause),
            Some(Some(_)) => {
                let message = format!("`{name}` is asked for twice");
                text.report_here(Code::PatternSyntax, message);
                is_good = false;
            }
            None => {
                let message = format!("`{name}` is no key of the table");
                let finding = text.report(Code::NotAKey, *span, message);
                match crate::spelling::nearest(name, known.iter().copied()) {
                    Some(nearest) => finding.help(format!("did you mean `{nearest}`?")),
                    None => finding.help(format!(
                        "the keys are {}; what else a row must be stands in `filter`",
                        crate::spelling::list(&known)
                    )),
                };
                is_good = false;
            }
        }
    }
    is_good.then_some(found)
}

fn get(
    partition: KeyBound,
    sort: Option<&Clause>,
    text: &Text,
    names: &KeyNames,
    index: Option<&index::Draft>,
) -> Option<(Read, SortShape)> {
    if index.is_some() {
        let message = "an index has no unique keys, so nothing can be got from it";
        text.report_here(Code::PatternSyntax, message)
            .help("make it a `query`, with `one = true`");
        return None;
    }
    let equals = |clause: &Clause| matches!(clause.test, Test::Compare(Comparator::Equal, _));
    let Some(sort) = sort.filter(|clause| equals(clause)) else {
        let (partition, sort) = (&names.0, names.1.as_deref().unwrap_or("SK"));
        text.report_here(Code::PatternSyntax, "a `get` needs the whole key")
            .help(format!(
                "write `{partition} = '…' AND {sort} = '…'`, or make it a `query`"
            ));
        return None;
    };
    let sort = bound(sort)?.value;
    let shape = shape(&sort);
    let keys = KeyTemplates {
        partition: partition.value,
        sort,
    };
    Some((Read::Get(keys), SortShape::Equals(shape)))
}

fn bound(clause: &Clause) -> Option<KeyBound> {
    let (Test::Compare(_, bound) | Test::BeginsWith(bound) | Test::Between(bound, _)) =
        &clause.test;
    Some(KeyBound {
        attribute: clause.attribute.0.clone(),
        value: hole::template(bound.pieces.as_ref()?)?,
    })
}

fn shape(template: &Template) -> KeyShape {
    KeyShape::new(template, |_| None)
}

/// The type of a declared parameter.
pub(super) fn declared<'p>(params: &'p [Parameter], name: &str) -> Option<&'p AttributeType> {
    let found = params.iter().find(|param| param.name == name)?;
    Some(found.kind.attribute_type())
}
