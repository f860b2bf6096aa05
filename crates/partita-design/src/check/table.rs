//! `[table]`: its name with variables, its keys, its discriminator, its settings.

use partita_core::expression::Span;

use super::index;
use super::variables::{self, Variables};
use super::{check_name, spot};
use crate::codes::Code;
use crate::design::{self, Settings};
use crate::diagnostic::Report;
use crate::document::section::{self, Excuse};
use crate::document::{Content, Field, Name, Node, Section, Text};
use crate::spelling;

/// A table, as far as it could be read.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// Its name in the design; empty where there is only one.
    pub(crate) id: String,
    name: Option<String>,
    /// The partition key and the sort key; `None` after a mistake.
    pub(crate) keys: Option<[String; 2]>,
    pub(crate) discriminator: Discriminator,
    pub(crate) ttl: Option<(String, Span)>,
    pub(crate) indexes: Vec<index::Draft>,
    /// Whether an index has a mistake, so that any key may be one of its own.
    pub(crate) has_broken_index: bool,
    settings: Settings,
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
    pub(crate) fn compile(&self, indexes: Vec<design::Index>) -> Option<design::Table> {
        let [partition, sort] = self.keys.clone()?;
        Some(design::Table {
            id: self.id.clone(),
            name: self.name.clone()?,
            partition,
            sort,
            discriminator: match &self.discriminator {
                Discriminator::Named(name) => Some(name.clone()),
                _ => None,
            },
            ttl: self.ttl.as_ref().map(|(name, _)| name.clone()),
            indexes,
            settings: self.settings.clone(),
        })
    }

    /// Whether a key that a record's section does not know may be left alone: the table's own
    /// names could not be read, and it may be one of them.
    pub(crate) fn excuse(&self) -> Excuse {
        let is_unsure = self.keys.is_none()
            || self.has_broken_index
            || matches!(self.discriminator, Discriminator::Broken);
        match is_unsure {
            true => Excuse::UnlessMisspelt,
            false => Excuse::None,
        }
    }

    /// The names that belong to the table itself.
    pub(crate) fn reserved(&self) -> impl Iterator<Item = &str> {
        let keys = self.keys.iter().flatten().map(String::as_str);
        let discriminator = match &self.discriminator {
            Discriminator::Named(name) => Some(name.as_str()),
            _ => None,
        };
        keys.chain(discriminator)
    }

    /// The keys of the table's indexes.
    pub(crate) fn index_keys(&self) -> impl Iterator<Item = &str> {
        self.indexes.iter().flat_map(index::Draft::names)
    }
}

/// Reads `[table]` or every `[table.NAME]`; there is always at least one.
pub(crate) fn check(
    root: &mut Section<'_>,
    variables: Variables<'_>,
    report: &mut Report,
) -> Vec<Draft> {
    let Some((name, node)) = root.entry("table") else {
        let message = "a design needs a section `[table]`";
        report
            .add(Code::MissingKey, root.span, message)
            .help("write `[table]` with `name = \"…\"` and `key = [\"PK\", \"SK\"]`");
        return vec![unknown()];
    };
    let Some(section) = section::open("table".to_owned(), name, node, report) else {
        return vec![unknown()];
    };
    match several(node) {
        None => vec![one(String::new(), section, variables, report)],
        Some(tables) => {
            let drafts = tables.iter().filter_map(|(name, node)| {
                check_name(&name.text, name.span, report);
                let place = format!("table.{}", name.text);
                let section = section::open(place, name, node, report)?;
                Some(one(name.text.clone(), section, variables, report))
            });
            let drafts: Vec<_> = drafts.collect();
            match drafts.is_empty() {
                true => vec![unknown()],
                false => drafts,
            }
        }
    }
}

/// A table of which nothing is known.
fn unknown() -> Draft {
    Draft {
        discriminator: Discriminator::Broken,
        ..Draft::default()
    }
}

/// The tables of `[table.NAME]`: everything in `[table]` is a section.
fn several(node: &Node) -> Option<&[(Name, Node)]> {
    let Content::Table(entries) = &node.content else {
        return None;
    };
    let is_section = |(_, node): &(Name, Node)| matches!(node.content, Content::Table(_));
    (!entries.is_empty() && entries.iter().all(is_section)).then_some(entries)
}

fn one(
    id: String,
    mut section: Section<'_>,
    variables: Variables<'_>,
    report: &mut Report,
) -> Draft {
    let name = section.required_text("name", "\"stories\"", report);
    let name = name.given().and_then(|text| {
        let name = variables::replace(text, variables, report)?;
        is_table_name(&name, text, report).then_some(name)
    });
    let keys = keys(&mut section, report);
    let discriminator = match section.text("discriminator", report) {
        Field::Absent => Discriminator::None,
        Field::Broken => Discriminator::Broken,
        Field::Given(text) => discriminator(text, keys.as_ref(), report),
    };
    let ttl = section.text("ttl", report).given();
    let draft = Draft {
        id,
        name,
        discriminator,
        ttl: ttl
            .filter(|name| check_name(name.as_str(), name.span(), report))
            .map(spot),
        settings: settings(&mut section, variables, report),
        keys,
        ..Draft::default()
    };
    section.finish(|_| Excuse::None, report);
    draft
}

/// DynamoDB's rule for names of tables.
pub(crate) fn is_table_name(name: &str, text: &Text, report: &mut Report) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    if (3..=255).contains(&name.len()) && name.chars().all(is_letter) {
        return true;
    }
    let message = format!("`{name}` cannot be the name of a table");
    report
        .add(Code::TableName, text.span(), message)
        .help("use 3 to 255 letters, digits, `_`, `.` and `-`");
    false
}

fn settings(section: &mut Section<'_>, variables: Variables<'_>, report: &mut Report) -> Settings {
    const BILLING: [&str; 2] = ["pay-per-request", "provisioned"];
    const STREAMS: [&str; 4] = ["new-and-old-images", "new-image", "old-image", "keys-only"];
    let billing = section.text("billing", report).given();
    let billing = billing.and_then(|text| word(text, &BILLING, "billing", report));
    let stream = section.text("stream", report).given();
    let stream = stream.and_then(|text| word(text, &STREAMS, "stream", report));
    let encryption = section.text("encryption", report).given();
    let recovery = section.bool("point-in-time-recovery", report).given();
    Settings {
        pay_per_request: billing != Some("provisioned"),
        encryption: encryption.and_then(|text| variables::replace_if_set(text, variables, report)),
        stream: stream.map(str::to_owned),
        point_in_time_recovery: recovery.unwrap_or(false),
    }
}

/// One of a few words; `None` after a report.
pub(crate) fn word<'w>(
    text: &Text,
    words: &[&'w str],
    what: &str,
    report: &mut Report,
) -> Option<&'w str> {
    let found = words.iter().find(|word| **word == text.as_str());
    if found.is_none() {
        let message = format!("there is no {what} `{}`", text.as_str());
        let finding = report.add(Code::UnknownWord, text.span(), message);
        match spelling::nearest(text.as_str(), words.iter().copied()) {
            Some(nearest) => finding.help(format!("did you mean `{nearest}`?")),
            None => finding.help(format!("known here: {}", spelling::list(words))),
        };
    }
    found.copied()
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
                let message = format!("both keys are called `{}`", sort.as_str());
                report.add(Code::DuplicateName, sort.span(), message);
                return None;
            }
            let keys = [spot(partition).0, spot(sort).0];
            is_good.iter().all(|is_good| *is_good).then_some(keys)
        }
        _ => {
            let span = names.get(2).or(names.first());
            let span = span.map_or(section.span, |name| name.span());
            let message = "a key has two names: the partition key and the sort key";
            report
                .add(Code::OutOfRange, span, message)
                .help("write `key = [\"PK\", \"SK\"]`");
            None
        }
    }
}

fn is_attribute_name(name: &Text, report: &mut Report) -> bool {
    check_name(name.as_str(), name.span(), report)
}

fn discriminator(text: &Text, keys: Option<&[String; 2]>, report: &mut Report) -> Discriminator {
    if !is_attribute_name(text, report) {
        return Discriminator::Broken;
    }
    let name = text.as_str();
    if keys.is_some_and(|keys| keys.iter().any(|key| key == name)) {
        let message = format!("`{name}` is a key of the table already");
        report.add(Code::DuplicateName, text.span(), message);
        return Discriminator::Broken;
    }
    Discriminator::Named(name.to_owned())
}
