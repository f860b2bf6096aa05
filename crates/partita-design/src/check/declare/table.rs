//! `[table]`: its name with variables, its keys, its discriminator, its settings.

use std::collections::BTreeMap;

use partita_core::expression::Span;

use crate::check::declare::index;
use crate::check::declare::sections::{check_name, spot};
use crate::check::declare::variables::Variables;
use crate::codes::Code;
use crate::design::{self, Encryption, Settings};
use crate::document::section::Excuse;
use crate::document::{Content, Field, Name, Node, Section, Text};
use crate::sidecar;
use crate::syntax::Word;

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
    /// How the partition keys of other programs begin.
    pub(crate) ignore: Vec<Word>,
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
            ignore: self
                .ignore
                .iter()
                .map(|(prefix, _)| prefix.clone())
                .collect(),
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
        if is_unsure {
            Excuse::UnlessMisspelt
        } else {
            Excuse::None
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
pub(crate) fn check(root: &mut Section<'_>, variables: &Variables<'_>) -> Vec<Draft> {
    let Some((name, node)) = root.entry("table") else {
        let message = "a design needs a section `[table]`";
        root.report(Code::MissingKey, root.span, message)
            .help("write `[table]` with `name = \"…\"` and `key = [\"PK\", \"SK\"]`");
        return vec![unknown()];
    };
    let Some(section) = node.section("table".to_owned(), name.span) else {
        return vec![unknown()];
    };
    match several(node) {
        None => vec![one(String::new(), section, variables)],
        Some(tables) => {
            let drafts = tables.iter().filter_map(|(name, node)| {
                check_name(&name.text, name.span, &name.report);
                let place = format!("table.{}", name.text);
                let section = node.section(place, name.span)?;
                Some(one(name.text.clone(), section, variables))
            });
            let drafts: Vec<_> = drafts.collect();
            if drafts.is_empty() {
                vec![unknown()]
            } else {
                drafts
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

fn one(id: String, mut section: Section<'_>, variables: &Variables<'_>) -> Draft {
    let name = section.required_text("name", "\"stories\"");
    let name = name.given().and_then(|text| {
        let name = variables.replace(text)?;
        (is_table_name(&name, text) && is_no_sidecar(&name, text)).then_some(name)
    });
    let keys = keys(&mut section);
    let discriminator = match section.text("discriminator") {
        Field::Absent => Discriminator::None,
        Field::Broken => Discriminator::Broken,
        Field::Given(text) => discriminator(text, keys.as_ref()),
    };
    let ttl = section.text("ttl").given();
    let draft = Draft {
        id,
        name,
        discriminator,
        ttl: ttl
            .filter(|name| check_name(name.as_str(), name.span(), &name.report))
            .map(spot),
        ignore: ignore(&mut section),
        settings: settings(&mut section, variables),
        keys,
        ..Draft::default()
    };
    section.finish();
    draft
}

/// How the partition keys of other programs begin.
fn ignore(section: &mut Section<'_>) -> Vec<Word> {
    let texts = section.texts("ignore", true).given().unwrap_or_default();
    let texts = texts.into_iter().filter(|text| {
        let is_empty = text.as_str().is_empty();
        if is_empty {
            let message = "every key begins with nothing";
            text.report_here(Code::IgnoredRecord, message)
                .help("write how the keys of the other program begin, such as `APP#`");
        }
        !is_empty
    });
    texts.map(spot).collect()
}

/// DynamoDB's rule for names of tables.
pub(crate) fn is_table_name(name: &str, text: &Text) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    if (3..=255).contains(&name.len()) && name.chars().all(is_letter) {
        return true;
    }
    let message = format!("`{name}` cannot be the name of a table");
    text.report_here(Code::TableName, message)
        .help("use 3 to 255 letters, digits, `_`, `.` and `-`");
    false
}

/// Partita's own tables are beside those of designs, and hold the rules that these are served by.
fn is_no_sidecar(name: &str, text: &Text) -> bool {
    if !sidecar::is_name(name) {
        return true;
    }
    let message = format!("`{name}` is the name of a table of Partita's own");
    let own = name.trim_end_matches(sidecar::SUFFIX);
    text.report_here(Code::ReservedTable, message)
        .help(format!("choose another name, such as `{own}-items`"));
    false
}

fn settings(section: &mut Section<'_>, variables: &Variables<'_>) -> Settings {
    const BILLING: [&str; 2] = ["pay-per-request", "provisioned"];
    const STREAMS: [&str; 5] = [
        "new-and-old-images",
        "new-image",
        "old-image",
        "keys-only",
        "off",
    ];
    let billing = section.text("billing").given();
    let billing = billing.and_then(|text| word(text, &BILLING, "billing"));
    let stream = section.text("stream").given();
    let stream = stream.and_then(|text| word(text, &STREAMS, "stream"));
    let given = section.text("encryption").given();
    let recovery = section.bool("point-in-time-recovery").given();
    let protection = section.bool("deletion-protection").given();
    Settings {
        pay_per_request: billing != Some("provisioned"),
        encryption: given.map_or_else(Encryption::default, |text| encryption(text, variables)),
        stream: stream.map(str::to_owned),
        point_in_time_recovery: recovery.unwrap_or(false),
        deletion_protection: protection.unwrap_or(false),
        tags: tags(section, variables),
    }
}

/// `kms`, or `kms:` and a key.
fn encryption(text: &Text, variables: &Variables<'_>) -> Encryption {
    let Some(value) = variables.replace_if_set(text) else {
        return Encryption::Unset(text.as_str().to_owned());
    };
    match value.split_once(':') {
        Some(("kms", key)) if !key.is_empty() => Encryption::Key(key.to_owned()),
        None if value == "kms" => Encryption::Managed,
        _ => {
            text.unknown(Code::UnknownWord, "encryption", ["kms", "kms:KEY"]);
            Encryption::default()
        }
    }
}

/// Tags that a table of DynamoDB can have.
const TAGS_MAX: usize = 50;
/// Letters of a tag's key and value.
const TAG_KEY_MAX: usize = 128;
const TAG_VALUE_MAX: usize = 256;

fn tags(section: &mut Section<'_>, variables: &Variables<'_>) -> BTreeMap<String, String> {
    let mut tags = BTreeMap::new();
    let Some(mut inside) = section.section("tags") else {
        return tags;
    };
    for (name, node) in inside.all() {
        let key = name.text.as_str();
        let Some(text) = node.text(key) else {
            continue;
        };
        let Some(value) = variables.replace(text) else {
            continue;
        };
        let is_too_long =
            key.chars().count() > TAG_KEY_MAX || value.chars().count() > TAG_VALUE_MAX;
        if is_too_long || key.starts_with("aws:") || tags.len() == TAGS_MAX {
            let message = format!("`{key}` cannot be a tag of a table");
            inside.report(Code::OutOfRange, name.span, message).help(
                "a table has at most 50 tags, with keys of 128 letters that do not begin with `aws:` and values of 256",
            );
            continue;
        }
        tags.insert(key.to_owned(), value);
    }
    tags
}

/// One of a few words; `None` after a report.
pub(crate) fn word<'w>(text: &Text, words: &[&'w str], what: &str) -> Option<&'w str> {
    let found = words.iter().find(|word| **word == text.as_str());
    if found.is_none() {
        text.unknown(Code::UnknownWord, what, words.iter().copied());
    }
    found.copied()
}

fn keys(section: &mut Section<'_>) -> Option<[String; 2]> {
    let names = match section.texts("key", false) {
        Field::Absent => {
            section.missing("key", "[\"PK\", \"SK\"]");
            return None;
        }
        Field::Broken => return None,
        Field::Given(names) => names,
    };
    match names.as_slice() {
        [partition, sort] => {
            let is_good = [partition, sort].map(|name| is_attribute_name(name));
            if partition.as_str() == sort.as_str() {
                let message = format!("both keys are called `{}`", sort.as_str());
                sort.report_here(Code::DuplicateName, message);
                return None;
            }
            let keys = [spot(partition).0, spot(sort).0];
            is_good.iter().all(|is_good| *is_good).then_some(keys)
        }
        _ => {
            let span = names.get(2).or(names.first());
            let span = span.map_or(section.span, |name| name.span());
            let message = "a key has two names: the partition key and the sort key";
            section
                .report(Code::OutOfRange, span, message)
                .help("write `key = [\"PK\", \"SK\"]`");
            None
        }
    }
}

fn is_attribute_name(name: &Text) -> bool {
    check_name(name.as_str(), name.span(), &name.report)
}

fn discriminator(text: &Text, keys: Option<&[String; 2]>) -> Discriminator {
    if !is_attribute_name(text) {
        return Discriminator::Broken;
    }
    let name = text.as_str();
    if keys.is_some_and(|keys| keys.iter().any(|key| key == name)) {
        let message = format!("`{name}` is a key of the table already");
        text.report_here(Code::DuplicateName, message);
        return Discriminator::Broken;
    }
    Discriminator::Named(name.to_owned())
}
