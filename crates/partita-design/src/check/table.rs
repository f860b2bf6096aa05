//! `[table]`: its name with variables, its keys, its discriminator.

use partita_core::expression::Span;

use super::elsewhere::Elsewhere;
use super::spot;
use crate::codes::Code;
use crate::design;
use crate::diagnostic::Report;
use crate::document::section::{self, Excuse};
use crate::document::{Field, Section, Text};
use crate::syntax::later;
use crate::syntax::template::{self, Chunk, is_name};

/// The table, as far as it could be read.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    name: Option<String>,
    /// The partition key and the sort key; `None` after a mistake.
    pub(crate) keys: Option<[String; 2]>,
    pub(crate) discriminator: Discriminator,
    /// Names that other sections define.
    pub(crate) elsewhere: Elsewhere,
}

/// The attribute that says which record an item is.
#[derive(Debug, Default)]
pub(crate) enum Discriminator {
    /// There is none.
    #[default]
    None,
    /// There is one, with a mistake.
    Broken,
    Named(String),
}

impl Draft {
    pub(crate) fn compile(&self) -> Option<design::Table> {
        let [partition, sort] = self.keys.clone()?;
        Some(design::Table {
            name: self.name.clone()?,
            partition,
            sort,
            discriminator: match &self.discriminator {
                Discriminator::Named(name) => Some(name.clone()),
                _ => None,
            },
        })
    }

    /// Whether a key that a record's section does not know may be left alone: it belongs to an
    /// index, or the table's own names could not be read and it may be one of them.
    pub(crate) fn excuse(&self, key: &str) -> Excuse {
        let is_unsure = self.keys.is_none() || matches!(self.discriminator, Discriminator::Broken);
        match is_unsure {
            _ if self.elsewhere.index_keys.iter().any(|other| other == key) => Excuse::Full,
            true => Excuse::UnlessMisspelt,
            false => Excuse::None,
        }
    }

    /// The names that the table itself uses in every item.
    pub(crate) fn reserved(&self) -> impl Iterator<Item = &str> {
        let discriminator = match &self.discriminator {
            Discriminator::Named(name) => Some(name),
            _ => None,
        };
        let keys = self.keys.iter().flatten();
        keys.chain(discriminator).map(String::as_str)
    }
}

pub(crate) fn check(
    root: &mut Section<'_>,
    elsewhere: Elsewhere,
    variables: &dyn Fn(&str) -> Option<String>,
    report: &mut Report,
) -> Draft {
    let mut draft = Draft {
        elsewhere,
        ..Draft::default()
    };
    let Some((name, node)) = root.entry("table") else {
        let message = "a design needs a section `[table]`";
        report
            .add(Code::MissingKey, root.span, message)
            .help("write `[table]` with `name = \"…\"` and `key = [\"PK\", \"SK\"]`");
        draft.discriminator = Discriminator::Broken;
        return draft;
    };
    let opened = section::open("table".to_owned(), name, node, report);
    let Some(mut section) = opened else {
        draft.discriminator = Discriminator::Broken;
        return draft;
    };
    let name = section.required_text("name", "\"stories\"", report);
    draft.name = name
        .given()
        .and_then(|name| table_name(name, variables, report));
    draft.keys = keys(&mut section, report);
    draft.discriminator = match section.text("discriminator", report) {
        Field::Absent => Discriminator::None,
        Field::Broken => Discriminator::Broken,
        Field::Given(text) => discriminator(text, draft.keys.as_ref(), report),
    };
    section.finish(later::TABLE, |_| Excuse::None, report);
    draft
}

/// The name with its variables replaced.
fn table_name(
    text: &Text,
    variables: &dyn Fn(&str) -> Option<String>,
    report: &mut Report,
) -> Option<String> {
    let mut name = String::new();
    for chunk in template::chunks(text, report)? {
        match chunk {
            Chunk::Text(range) => name.push_str(&text.as_str()[range]),
            Chunk::Braced(range) => {
                let span = text.at(range.clone());
                name.push_str(&variable(&text.as_str()[range], span, variables, report)?);
            }
        }
    }
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    if (3..=255).contains(&name.len()) && name.chars().all(is_letter) {
        return Some(name);
    }
    report
        .add(
            Code::TableName,
            text.span(),
            format!("`{name}` cannot be the name of a table"),
        )
        .help("use 3 to 255 letters, digits, `_`, `.` and `-`");
    None
}

/// The value of `NAME` or `NAME | default`.
fn variable(
    written: &str,
    span: Span,
    variables: &dyn Fn(&str) -> Option<String>,
    report: &mut Report,
) -> Option<String> {
    let (name, default) = match written.split_once('|') {
        Some((name, default)) => (name.trim(), Some(default.trim())),
        None => (written.trim(), None),
    };
    if !is_name(name) {
        report
            .add(
                Code::TemplateSyntax,
                span,
                format!("`{name}` is not the name of a variable"),
            )
            .help("write `{NAME | default}`");
        return None;
    }
    let value = variables(name).or_else(|| default.map(str::to_owned));
    if value.is_none() {
        report
            .add(
                Code::MissingVariable,
                span,
                format!("the variable `{name}` has no value and no default"),
            )
            .help(format!("set `{name}`, or write `{{{name} | default}}`"));
    }
    value
}

fn keys(section: &mut Section<'_>, report: &mut Report) -> Option<[String; 2]> {
    let names = match section.texts("key", false, report) {
        Field::Absent => {
            section.missing("key", "[\"PK\", \"SK\"]", report);
            return None;
        }
        Field::Broken => return None,
        Field::Given(names) => names,
    };
    match names.as_slice() {
        [partition, sort] => {
            let is_good = [partition, sort].map(|name| is_attribute_name(name, report));
            if partition.as_str() == sort.as_str() {
                report.add(
                    Code::DuplicateName,
                    sort.span(),
                    format!("both keys are called `{}`", sort.as_str()),
                );
                return None;
            }
            let keys = [spot(partition).0, spot(sort).0];
            is_good.iter().all(|is_good| *is_good).then_some(keys)
        }
        [one] => {
            report.not_supported(one.span(), "a table without a sort key");
            None
        }
        _ => {
            let span = names.get(2).map_or(section.span, |third| third.span());
            let message = "a key has two names: the partition key and the sort key";
            report
                .add(Code::OutOfRange, span, message)
                .help("write `key = [\"PK\", \"SK\"]`");
            None
        }
    }
}

fn is_attribute_name(name: &Text, report: &mut Report) -> bool {
    super::check_name(name.as_str(), name.span(), report)
}

fn discriminator(text: &Text, keys: Option<&[String; 2]>, report: &mut Report) -> Discriminator {
    if !is_attribute_name(text, report) {
        return Discriminator::Broken;
    }
    let name = text.as_str();
    if keys.is_some_and(|keys| keys.iter().any(|key| key == name)) {
        report.add(
            Code::DuplicateName,
            text.span(),
            format!("`{name}` is a key of the table already"),
        );
        return Discriminator::Broken;
    }
    Discriminator::Named(name.to_owned())
}
