//! `[index]`: the key attributes of secondary indexes.

use partita_core::Type;
use partita_core::expression::Span;

use super::table::{self, word};
use super::world::World;
use super::{check_name, spot};
use crate::codes::Code;
use crate::design::{Index, IndexId, IndexKey, Projection};
use crate::diagnostic::Report;
use crate::document::section::{self, Excuse};
use crate::document::{Content, Field, Name, Node, Section, Text};
use crate::syntax::Word;

/// DynamoDB's bound on the indexes of a table.
const INDEXES_MAX: usize = 20;

/// An index, as far as it could be read.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) id: IndexId,
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) partition: Word,
    pub(crate) sort: Option<Word>,
    projection: Projection,
}

impl Draft {
    /// The names of its key attributes.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.partition)
            .chain(&self.sort)
            .map(|(name, _)| name.as_str())
    }

    pub(crate) fn place(&self) -> String {
        format!("index.{}", self.name)
    }
}

/// Reads the indexes into their tables.
pub(crate) fn check(root: &mut Section<'_>, tables: &mut [table::Draft], report: &mut Report) {
    let Some((name, node)) = root.entry("index") else {
        return;
    };
    let Some(mut section) = section::open("index".to_owned(), name, node, report) else {
        return tables
            .iter_mut()
            .for_each(|table| table.has_broken_index = true);
    };
    for (name, node) in section.all() {
        match one(name, node, tables, report) {
            Some((index, table)) => tables[table].indexes.push(index),
            None => tables
                .iter_mut()
                .for_each(|table| table.has_broken_index = true),
        }
    }
    for table in tables {
        if let Some(index) = table.indexes.get(INDEXES_MAX) {
            let message = format!("a table has at most {INDEXES_MAX} indexes");
            report.add(Code::OutOfRange, index.span, message);
        }
    }
}

fn one(
    name: &Name,
    node: &Node,
    tables: &[table::Draft],
    report: &mut Report,
) -> Option<(Draft, usize)> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    if !name.text.chars().all(is_letter) || !(3..=255).contains(&name.text.len()) {
        let message = format!("`{}` cannot be the name of an index", name.text);
        report
            .add(Code::TableName, name.span, message)
            .help("use 3 to 255 letters, digits, `_`, `.` and `-`");
    }
    let mut table = 0;
    let mut projection = Projection::All;
    let keys = match &node.content {
        Content::List(_) => {
            let entries = vec![(name.clone(), node.clone())];
            let mut alone = Section::new("index", name.span, &entries);
            keys(
                &name.text,
                alone.texts(&name.text, false, report),
                node.span,
                report,
            )?
        }
        Content::Table(_) => {
            let place = format!("index.{}", name.text);
            let mut section = section::open(place, name, node, report)?;
            let names = section.texts("key", false, report);
            if names.is_absent() {
                section.missing("key", "[\"GSI1PK\", \"GSI1SK\"]", report);
            }
            let keys = keys(&name.text, names, name.span, report);
            projection = read_projection(&mut section, report);
            if let Some(id) = section.text("table", report).given() {
                table = find_table(id, tables, report)?;
            }
            section.finish(|_| Excuse::None, report);
            keys?
        }
        other => {
            let expected = "a list such as `[\"GSI1PK\", \"GSI1SK\"]`";
            section::report_type(report, node.span, &name.text, expected, other);
            return None;
        }
    };
    let (partition, sort) = keys;
    let draft = Draft {
        id: IndexId::new(tables[table].indexes.len()),
        name: name.text.clone(),
        span: name.span,
        partition,
        sort,
        projection,
    };
    Some((draft, table))
}

/// The position of the table of that name.
pub(crate) fn find_table(
    text: &Text,
    tables: &[table::Draft],
    report: &mut Report,
) -> Option<usize> {
    let found = tables.iter().position(|table| table.id == text.as_str());
    if found.is_none() {
        let message = format!("there is no table `{}`", text.as_str());
        report
            .add(Code::UnknownRecord, text.span(), message)
            .suggest(
                text.as_str(),
                tables
                    .iter()
                    .map(|table| table.id.as_str())
                    .filter(|id| !id.is_empty()),
            );
    }
    found
}

fn keys(
    index: &str,
    names: Field<Vec<&Text>>,
    span: Span,
    report: &mut Report,
) -> Option<(Word, Option<Word>)> {
    let names = names.given()?;
    let is_good: Vec<_> = names
        .iter()
        .map(|name| check_name(name.as_str(), name.span(), report))
        .collect();
    if is_good.contains(&false) {
        return None;
    }
    match names.as_slice() {
        [partition] => Some((spot(partition), None)),
        [partition, sort] if partition.as_str() != sort.as_str() => {
            Some((spot(partition), Some(spot(sort))))
        }
        [_, sort] => {
            let message = format!("both keys are called `{}`", sort.as_str());
            report.add(Code::DuplicateName, sort.span(), message);
            None
        }
        [] => {
            let message = format!("the index `{index}` does not say which attributes are its keys");
            report.add(Code::MissingKey, span, message).help(format!(
                "write `{index} = [\"{index}_pk\", \"{index}_sk\"]`"
            ));
            None
        }
        [_, _, third, ..] => {
            let message = "an index has a partition key and perhaps a sort key";
            report.add(Code::OutOfRange, third.span(), message);
            None
        }
    }
}

fn read_projection(section: &mut Section<'_>, report: &mut Report) -> Projection {
    match section.texts("projection", true, report) {
        Field::Given(names) => match names.as_slice() {
            [one] if ["all", "keys-only"].contains(&one.as_str()) => match one.as_str() {
                "all" => Projection::All,
                _ => Projection::KeysOnly,
            },
            [one] if section.is_text("projection") => {
                word(one, &["all", "keys-only"], "projection", report);
                Projection::All
            }
            names => Projection::Include(names.iter().map(|name| spot(name).0).collect()),
        },
        _ => Projection::All,
    }
}

/// The indexes of a table with the types of their keys; types that differ are reported.
pub(crate) fn compile(table: usize, world: &World, report: &mut Report) -> Vec<Index> {
    let indexes = &world.tables[table].indexes;
    let compiled = indexes.iter().map(|index| Index {
        name: index.name.clone(),
        partition: key(&index.partition, table, world, report),
        sort: index
            .sort
            .as_ref()
            .map(|sort| key(sort, table, world, report)),
        projection: index.projection.clone(),
    });
    compiled.collect()
}

fn key((name, span): &Word, table: usize, world: &World, report: &mut Report) -> IndexKey {
    let mut found: Option<(Type, &str)> = None;
    let mut native = false;
    for record in world.records.iter().filter(|record| record.table == table) {
        let attribute = record.find(name).filter(|one| one.name == *name);
        let is_written = record.indexes.iter().any(|keys| keys.writes(name));
        let kind = match attribute {
            Some(declared) => {
                native = true;
                declared.kind.as_ref().and_then(|kind| kind.stored_as())
            }
            None if is_written => Some(Type::S),
            None => continue,
        };
        let Some(kind) = kind else { continue };
        match found {
            Some((first, place)) if first != kind => {
                let message = format!(
                    "`{name}` is of type {first} in `{place}` and of type {kind} in `{}`",
                    record.place
                );
                report
                    .add(Code::IndexKeyType, *span, message)
                    .help("DynamoDB refuses items whose index key has another type");
                break;
            }
            Some(_) => {}
            None => found = Some((kind, &record.place)),
        }
    }
    IndexKey {
        name: name.clone(),
        kind: found.map_or(Type::S, |(kind, _)| kind),
        native,
    }
}
