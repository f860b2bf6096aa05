//! `[bucket.X]`: where files are kept.

use super::names::Names;
use super::rules;
use super::value::Values;
use super::variables::{self, Variables};
use super::world::World;
use crate::codes::Code;
use crate::design::{Bucket, Prefix, Rule};
use crate::diagnostic::Report;
use crate::document::section::Excuse;
use crate::document::{Name, Section, Text, section};
use crate::syntax::template;
use crate::template::Template;

/// How long a signed URL is good for, unless a bucket says so.
const SIGNED_URL_SECONDS: u64 = 600;

/// Reads a bucket; `None` after a report.
pub(crate) fn check(
    name: &Name,
    mut section: Section<'_>,
    world: &World,
    variables: Variables<'_>,
    report: &mut Report,
) -> Option<Bucket> {
    let bucket = section.required_text("name", "\"images-{STAGE | dev}\"", report);
    let bucket = bucket.given().and_then(|text| {
        let name = variables::replace(text, variables, report)?;
        is_bucket_name(&name, text, report).then_some(name)
    });
    let lifetime = section.text("signed-url-lifetime", report);
    let lifetime = lifetime.and_then(|text| duration(text, report));
    let prefixes = section.section("prefix", report);
    let prefixes = prefixes.map_or_else(Vec::new, |mut section| {
        let entries = section.all().iter();
        let place = section.place.clone();
        entries
            .map(|(name, node)| {
                let place = format!("{place}.{}", name.text);
                let section = section::open(place, name, node, report)?;
                prefix(name, section, world, report)
            })
            .collect()
    });
    section.finish(|_| Excuse::None, report);
    Some(Bucket {
        name: name.text.clone(),
        bucket: bucket?,
        signed_url_seconds: lifetime.given().unwrap_or(SIGNED_URL_SECONDS),
        prefixes: prefixes.into_iter().collect::<Option<_>>()?,
    })
}

fn is_bucket_name(name: &str, text: &Text, report: &mut Report) -> bool {
    let is_letter = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-.".contains(letter)
    };
    if (3..=63).contains(&name.len()) && name.chars().all(is_letter) {
        return true;
    }
    let message = format!("`{name}` cannot be the name of a bucket");
    report
        .add(Code::TableName, text.span(), message)
        .help("use 3 to 63 lower-case letters, digits, `-` and `.`");
    false
}

fn prefix(
    name: &Name,
    mut section: Section<'_>,
    world: &World,
    report: &mut Report,
) -> Option<Prefix> {
    let path = section
        .required_text("path", "\"letters/\"", report)
        .given();
    let path = path.and_then(|text| path_template(text, world, report));
    let accepts = section
        .texts("accepts", false, report)
        .given()
        .unwrap_or_default();
    let read = section.text("read", report);
    let read = read.and_then(|text| rule(text, report));
    let write = section.text("write", report);
    let write = write.and_then(|text| rule(text, report));
    let largest = section.text("largest", report);
    let largest = largest.and_then(|text| bytes(text, report));
    let lifetime = section.text("lifetime", report);
    let lifetime = lifetime.and_then(|text| duration(text, report));
    section.finish(|_| Excuse::None, report);
    Some(Prefix {
        name: name.text.clone(),
        path: path?,
        accepts: accepts
            .iter()
            .map(|text| text.as_str().to_owned())
            .collect(),
        read: read.given(),
        write: write.given(),
        largest_bytes: largest.given(),
        lifetime_seconds: lifetime.given(),
    })
}

fn rule(text: &Text, report: &mut Report) -> Option<Rule> {
    let rule = rules::word(text.as_str());
    if rule.is_none() {
        let message = format!("a prefix has no rule `{}`", text.as_str());
        report
            .add(Code::UnknownWord, text.span(), message)
            .suggest(text.as_str(), ["public", "signed-in", "never"]);
    }
    rule
}

/// Reads `25 MB`; gives bytes; `None` after a report.
fn bytes(text: &Text, report: &mut Report) -> Option<u64> {
    let mut words = text.as_str().split_whitespace();
    let count = words.next().and_then(|count| count.parse::<u64>().ok());
    let unit = words.next().and_then(|word| match word {
        "KB" => Some(1_000),
        "MB" => Some(1_000_000),
        "GB" => Some(1_000_000_000),
        _ => None,
    });
    match (count, unit, words.next()) {
        (Some(count @ 1..=1_000_000), Some(unit), None) => Some(count * unit),
        _ => {
            let message = format!("`{}` is no size", text.as_str());
            report
                .add(Code::UnknownWord, text.span(), message)
                .help("write `500 KB`, `25 MB`, `2 GB`, …");
            None
        }
    }
}

/// A path may have attributes in it; whose, is known when an attribute names the prefix.
fn path_template(text: &Text, world: &World, report: &mut Report) -> Option<Template> {
    let pieces = template::parse(text, report)?;
    let mut silent = Report::default();
    let resolved = world.entities().find_map(|record| {
        let names = Names::own(world, record);
        let (template, _) = Values::new(&names).template(&pieces, &mut silent)?;
        Some(template)
    });
    if resolved.is_none() && world.entities().all(|record| !record.is_broken) {
        let message = "no entity has all the attributes of this path";
        report.add(Code::UnknownAttribute, text.span(), message);
    }
    resolved
}

/// Reads `15 minutes`; gives seconds; `None` after a report.
pub(crate) fn duration(text: &Text, report: &mut Report) -> Option<u64> {
    let mut words = text.as_str().split_whitespace();
    let count = words.next().and_then(|count| count.parse::<u64>().ok());
    let unit = words.next().and_then(unit_seconds);
    match (count, unit, words.next()) {
        (Some(count @ 1..=1_000_000), Some(unit), None) => Some(count * unit),
        _ => {
            let message = format!("`{}` is no span of time", text.as_str());
            report
                .add(Code::UnknownWord, text.span(), message)
                .help("write `15 minutes`, `1 day`, …");
            None
        }
    }
}

/// The seconds of a unit of time.
pub(crate) fn unit_seconds(word: &str) -> Option<u64> {
    Some(match word.trim_end_matches('s') {
        "second" => 1,
        "minute" => 60,
        "hour" => 3_600,
        "day" => 86_400,
        _ => return None,
    })
}

/// The names of the prefixes of all buckets.
pub(crate) fn prefix_names(sections: &[(&Name, Section<'_>)]) -> Vec<String> {
    let mut names = Vec::new();
    for (_, section) in sections {
        names.extend(
            section
                .peek_names("prefix")
                .iter()
                .map(|name| (*name).to_owned()),
        );
    }
    names
}
