//! `[bucket.X]`: where files are kept.

use crate::check::declare::symbols::Symbols;
use crate::check::declare::variables::Variables;
use crate::check::resolve::names::Names;
use crate::check::resolve::value::Values;
use crate::codes::Code;
use crate::design::{Bucket, Prefix, Rule};
use crate::document::{Name, Section, Text};
use crate::syntax::template;
use crate::template::Template;

/// How long a signed URL is good for, unless a bucket says so.
const SIGNED_URL_SECONDS: u64 = 600;

/// Reads a bucket; `None` after a report.
pub(crate) fn check(
    name: &Name,
    mut section: Section<'_>,
    symbols: &Symbols,
    variables: &Variables<'_>,
) -> Option<Bucket> {
    let bucket = section.required_text("name", "\"images-{STAGE | dev}\"");
    let bucket = bucket.given().and_then(|text| {
        let name = variables.replace(text)?;
        is_bucket_name(&name, text).then_some(name)
    });
    let lifetime = section.text("signed-url-lifetime");
    let lifetime = lifetime.and_then(|text| duration_of(&variables.replace(text)?, text));
    let prefixes = section.section("prefix");
    let prefixes = prefixes.map_or_else(Vec::new, |mut section| {
        let entries = section.all().iter();
        let place = section.place.clone();
        entries
            .map(|(name, node)| {
                let place = format!("{place}.{}", name.text);
                let section = node.section(place, name.span)?;
                prefix(name, section, symbols)
            })
            .collect()
    });
    section.finish();
    Some(Bucket {
        name: name.text.clone(),
        bucket: bucket?,
        signed_url_seconds: lifetime.given().unwrap_or(SIGNED_URL_SECONDS),
        prefixes: prefixes.into_iter().collect::<Option<_>>()?,
    })
}

fn is_bucket_name(name: &str, text: &Text) -> bool {
    let is_letter = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-.".contains(letter)
    };
    if (3..=63).contains(&name.len()) && name.chars().all(is_letter) {
        return true;
    }
    let message = format!("`{name}` cannot be the name of a bucket");
    text.report_here(Code::TableName, message)
        .help("use 3 to 63 lower-case letters, digits, `-` and `.`");
    false
}

fn prefix(name: &Name, mut section: Section<'_>, symbols: &Symbols) -> Option<Prefix> {
    let path = section.required_text("path", "\"letters/\"").given();
    let path = path.and_then(|text| path_template(text, symbols));
    let accepts = section.texts("accepts", false).given().unwrap_or_default();
    let read = section.text("read").and_then(rule);
    let write = section.text("write").and_then(rule);
    let largest = section.text("largest").and_then(bytes);
    let lifetime = section.text("lifetime").and_then(duration);
    section.finish();
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

fn rule(text: &Text) -> Option<Rule> {
    let rule = Rule::find(text.as_str());
    if rule.is_none() {
        let message = format!("a prefix has no rule `{}`", text.as_str());
        text.report_here(Code::UnknownWord, message)
            .suggest(text.as_str(), ["public", "signed-in", "never"]);
    }
    rule
}

/// Reads `25 MB`; gives bytes; `None` after a report.
fn bytes(text: &Text) -> Option<u64> {
    let unit = |word: &str| match word {
        "KB" => Some(1_000),
        "MB" => Some(1_000_000),
        "GB" => Some(1_000_000_000),
        _ => None,
    };
    let help = "write `500 KB`, `25 MB`, `2 GB`, …";
    quantity(text.as_str(), text, unit, "size", help)
}

/// Reads `15 minutes`; gives seconds; `None` after a report.
pub(crate) fn duration(text: &Text) -> Option<u64> {
    duration_of(text.as_str(), text)
}

/// Reads what a text became when its variables were replaced.
fn duration_of(written: &str, text: &Text) -> Option<u64> {
    let help = "write `15 minutes`, `1 day`, …";
    quantity(written, text, unit_seconds, "span of time", help)
}

/// Reads a count and its unit; `None` after a report.
fn quantity(
    written: &str,
    text: &Text,
    unit: impl FnOnce(&str) -> Option<u64>,
    what: &str,
    help: &str,
) -> Option<u64> {
    let words: Vec<&str> = written.split_whitespace().collect();
    let found = match words.as_slice() {
        [count, word] => count.parse::<u64>().ok().zip(unit(word)),
        _ => None,
    };
    let found = found.filter(|(count, _)| (1..=1_000_000).contains(count));
    if found.is_none() {
        let message = format!("`{written}` is no {what}");
        text.report_here(Code::UnknownWord, message).help(help);
    }
    found.map(|(count, unit)| count * unit)
}

/// A path may have attributes in it; whose, is known when an attribute names the prefix.
fn path_template(text: &Text, symbols: &Symbols) -> Option<Template> {
    let pieces = template::parse(text)?;
    if !is_inside(text) {
        return None;
    }
    let resolved = symbols.entities().find_map(|record| {
        let names = Names::own(symbols, record);
        let template = || Values::new(&names).template(&pieces);
        Some(symbols.report.silently(template)?.0)
    });
    if resolved.is_none() && symbols.entities().all(|record| !record.is_broken) {
        let message = "no entity has all the attributes of this path";
        text.report_here(Code::UnknownAttribute, message);
    }
    resolved
}

/// Whether a path stays inside its bucket, where that is a directory too.
fn is_inside(text: &Text) -> bool {
    let path = text.as_str();
    let is_good = !path.starts_with('/') && path.split('/').all(|part| part != "." && part != "..");
    if !is_good {
        let message = "a path of a bucket has no `/` in front and no `.` or `..` in it";
        text.report_here(Code::InvalidName, message)
            .help("write `letters/` or `users/{userId}/`");
    }
    is_good
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
