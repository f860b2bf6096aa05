//! `[index]`: the key attributes of secondary indexes.

use partita_core::Type;
use partita_core::expression::Span;

use crate::check::declare::sections::{check_name, spot};
use crate::check::declare::symbols::Symbols;
use crate::check::declare::table::{self, word};
use crate::codes::Code;
use crate::design::{Index, IndexId, IndexKey, Projection};
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
pub(crate) fn check(root: &mut Section<'_>, tables: &mut [table::Draft]) {
    let section = root.section("index");
    let mut is_broken = section.is_none() && root.key_span("index").is_some();
    let entries = section.map_or(&[][..], |mut section| section.all());
    for (name, node) in entries {
        match one(name, node, tables) {
            Some((index, table)) => tables[table].indexes.push(index),
            None => is_broken = true,
        }
    }
    for table in tables {
        table.has_broken_index = is_broken;
        if let Some(index) = table.indexes.get(INDEXES_MAX) {
            let message = format!("a table has at most {INDEXES_MAX} indexes");
            root.report(Code::OutOfRange, index.span, message);
        }
    }
}

fn one(name: &Name, node: &Node, tables: &[table::Draft]) -> Option<(Draft, usize)> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    if !name.text.chars().all(is_letter) || !(3..=255).contains(&name.text.len()) {
        let message = format!("`{}` cannot be the name of an index", name.text);
        name.report(Code::TableName, message)
            .help("use 3 to 255 letters, digits, `_`, `.` and `-`");
    }
    let mut table = 0;
    let mut projection = Projection::All;
    let keys = match &node.content {
        Content::List(_) => {
            let entries = vec![(name.clone(), node.clone())];
            let mut alone = Section::new("index", name.span, &entries, &node.report);
            keys(name, alone.texts(&name.text, false), node.span)?
        }
        Content::Table(_) => {
            let place = format!("index.{}", name.text);
            let mut section = node.section(place, name.span)?;
            let names = section.texts("key", false);
            if names.is_absent() {
                section.missing("key", "[\"GSI1PK\", \"GSI1SK\"]");
            }
            let keys = keys(name, names, name.span);
            projection = read_projection(&mut section);
            if let Some(id) = section.text("table").given() {
                table = find_table(id, tables)?;
            }
            section.finish();
            keys?
        }
        _ => {
            let expected = "a list such as `[\"GSI1PK\", \"GSI1SK\"]`";
            node.refuse(&name.text, expected);
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
pub(crate) fn find_table(text: &Text, tables: &[table::Draft]) -> Option<usize> {
    let found = tables.iter().position(|table| table.id == text.as_str());
    if found.is_none() {
        let known = tables.iter().map(|table| table.id.as_str());
        let known = known.filter(|id| !id.is_empty());
        text.unknown(Code::UnknownRecord, "table", known);
    }
    found
}

fn keys(index: &Name, names: Field<Vec<&Text>>, span: Span) -> Option<(Word, Option<Word>)> {
    let names = names.given()?;
    let is_good: Vec<_> = names
        .iter()
        .map(|name| check_name(name.as_str(), name.span(), &name.report))
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
            sort.report_here(Code::DuplicateName, message);
            None
        }
        [] => {
            let title = &index.text;
            let message = format!("the index `{title}` does not say which attributes are its keys");
            let help = format!("write `{title} = [\"{title}_pk\", \"{title}_sk\"]`");
            let report = &index.report;
            report.add(Code::MissingKey, span, message).help(help);
            None
        }
        [_, _, third, ..] => {
            let message = "an index has a partition key and perhaps a sort key";
            third.report_here(Code::OutOfRange, message);
            None
        }
    }
}

fn read_projection(section: &mut Section<'_>) -> Projection {
    match section.texts("projection", true) {
        Field::Given(names) => match names.as_slice() {
            [one] if ["all", "keys-only"].contains(&one.as_str()) => match one.as_str() {
                "all" => Projection::All,
                _ => Projection::KeysOnly,
            },
            [one] if section.is_text("projection") => {
                word(one, &["all", "keys-only"], "projection");
                Projection::All
            }
            names => Projection::Include(names.iter().map(|name| spot(name).0).collect()),
        },
        _ => Projection::All,
    }
}

/// The indexes of a table with the types of their keys; types that differ are reported.
pub(crate) fn compile(table: usize, symbols: &Symbols) -> Vec<Index> {
    let indexes = &symbols.tables[table].indexes;
    let compiled = indexes.iter().map(|index| Index {
        name: index.name.clone(),
        partition: key(&index.partition, table, symbols),
        sort: index.sort.as_ref().map(|sort| key(sort, table, symbols)),
        projection: index.projection.clone(),
    });
    compiled.collect()
}

fn key((name, span): &Word, table: usize, symbols: &Symbols) -> IndexKey {
    let mut found: Option<(Type, &str)> = None;
    let mut native = false;
    for record in symbols
        .records
        .iter()
        .filter(|record| record.table == table)
    {
        let attribute = record.find(name).filter(|one| one.name == *name);
        let is_written = record.indexes.iter().any(|keys| keys.writes(name));
        let kind = match attribute {
            Some(declared) => {
                native = true;
                record.refuse_password(declared, *span);
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
                symbols
                    .report(Code::IndexKeyType, *span, message)
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
