//! Files that attributes name: each stands where the layout of its bucket says, and is of a kind
//! that is taken there.
//!
//! Only names are looked at. Whether there is an object of that name is for whoever keeps objects;
//! that nobody names an object of another place, or one outside of all, is decided here.

use partita_core::{Map, Value};
use partita_design::design::{Attribute, Entity, Prefix};
use partita_design::template::{Format, Hole, Part};
use partita_design::types::AttributeType;

use super::Planner;
use crate::error::{Fault, FaultRule};
use crate::nested;

/// Bytes that the name of an object has at most, in S3 and in what is like it.
const KEY_BYTES_MAX: usize = 1024;

/// The media types of names, by what they end with.
const ENDINGS: &[(&str, &str)] = &[
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("gif", "image/gif"),
    ("heic", "image/heic"),
    ("heif", "image/heif"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("webp", "image/webp"),
    ("avi", "video/x-msvideo"),
    ("m4v", "video/x-m4v"),
    ("mkv", "video/x-matroska"),
    ("mov", "video/quicktime"),
    ("mp4", "video/mp4"),
    ("mpeg", "video/mpeg"),
    ("mpg", "video/mpeg"),
    ("ogv", "video/ogg"),
    ("webm", "video/webm"),
    ("aac", "audio/aac"),
    ("flac", "audio/flac"),
    ("m4a", "audio/mp4"),
    ("mp3", "audio/mpeg"),
    ("ogg", "audio/ogg"),
    ("opus", "audio/opus"),
    ("wav", "audio/wav"),
    ("csv", "text/csv"),
    ("html", "text/html"),
    ("md", "text/markdown"),
    ("txt", "text/plain"),
    ("json", "application/json"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
];

/// A name that a value has for an object.
struct File<'v> {
    /// Where the name stands, such as `attachments[0].s3Key`.
    place: String,
    prefix: &'v str,
    key: &'v str,
}

impl Planner<'_> {
    /// Finds every file of an item that is not where it belongs. What was there before and has
    /// not changed is left alone.
    pub(super) fn check_files(&mut self, entity: &Entity, old: Option<&Map>, item: &Map) {
        let design = &self.context.blueprint.design;
        for attribute in entity.attributes.iter().filter(|one| !one.is_virtual) {
            let Some(value) = nested::get(item, &attribute.name) else {
                continue;
            };
            for file in files(attribute, value) {
                let mut prefixes = design.buckets.iter().flat_map(|bucket| &bucket.prefixes);
                let Some(prefix) = prefixes.find(|prefix| prefix.name == file.prefix) else {
                    continue;
                };
                let is_same = |name: &str| {
                    old.is_some_and(|old| nested::get(old, name) == nested::get(item, name))
                };
                if is_same(&attribute.name) && prefix.path.names().all(|name| is_same(&name)) {
                    continue;
                }
                if let Err(message) = check(prefix, item, file.key) {
                    let fault = Fault::of(&entity.name, file.place, FaultRule::File, message);
                    self.faults.push(fault);
                }
            }
        }
    }
}

/// All names of objects in the value of an attribute.
fn files<'v>(attribute: &'v Attribute, value: &'v Value) -> Vec<File<'v>> {
    let mut files = Vec::new();
    let prefix = attribute.file_in.as_deref();
    gather(
        &attribute.kind,
        prefix,
        value,
        attribute.name.clone(),
        &mut files,
    );
    files
}

fn gather<'v>(
    kind: &'v AttributeType,
    prefix: Option<&'v str>,
    value: &'v Value,
    place: String,
    files: &mut Vec<File<'v>>,
) {
    match (kind, value) {
        (AttributeType::List { element, .. }, Value::L(list)) => {
            for (at, value) in list.iter().enumerate() {
                gather(element, prefix, value, format!("{place}[{at}]"), files);
            }
        }
        (AttributeType::Shape(shape), Value::M(map)) => {
            for field in &shape.fields {
                if let Some(value) = map.get(&field.name) {
                    let place = format!("{place}.{}", field.name);
                    gather(&field.kind, field.file_in.as_deref(), value, place, files);
                }
            }
        }
        (_, Value::Ss(set)) => {
            if let Some(prefix) = prefix {
                files.extend(set.iter().map(|key| File {
                    place: place.clone(),
                    prefix,
                    key,
                }));
            }
        }
        (_, Value::S(key)) => files.extend(prefix.map(|prefix| File { place, prefix, key })),
        _ => {}
    }
}

/// Whether a name is one of an object under a prefix.
fn check(prefix: &Prefix, item: &Map, key: &str) -> Result<(), String> {
    let path = path(prefix, item)?;
    let name = key
        .strip_prefix(path.as_str())
        .ok_or_else(|| format!("must be a file in `{path}`"))?;
    // Clients and file systems take such steps out of a path, and end up elsewhere.
    if name.split('/').any(|step| matches!(step, "" | "." | "..")) {
        return Err(format!("must be the whole name of a file in `{path}`"));
    }
    let is_plain = |letter: char| !letter.is_control() && letter != '\\';
    if key.len() > KEY_BYTES_MAX || !key.chars().all(is_plain) {
        let message = format!("must be a name of at most {KEY_BYTES_MAX} plain characters");
        return Err(message);
    }
    match prefix.accepts.is_empty() || is_accepted(&prefix.accepts, name) {
        true => Ok(()),
        false => {
            let accepted = prefix.accepts.join(" or ");
            Err(format!("must be of the type {accepted} by its ending"))
        }
    }
}

/// How the names of a prefix begin for this item.
fn path(prefix: &Prefix, item: &Map) -> Result<String, String> {
    let mut path = String::new();
    for part in &prefix.path.parts {
        match part {
            Part::Text(text) => path.push_str(text),
            Part::Value(hole) => path.push_str(&step(prefix, hole, item)?),
        }
    }
    Ok(path)
}

/// What a placeholder of a path stands for: one step, or somebody's files would be below
/// another's. A time is written with as many as its form has.
fn step(prefix: &Prefix, hole: &Hole, item: &Map) -> Result<String, String> {
    let value = hole.value.value(item);
    let text = value.and_then(|value| hole.format.text(&value).ok());
    let is_time = matches!(hole.format, Format::Time { .. });
    let is_step = |text: &String| !text.contains('/') && !matches!(text.as_str(), "" | "." | "..");
    text.filter(|text| is_time || is_step(text)).ok_or_else(|| {
        let names: Vec<String> = prefix.path.names().collect();
        let (prefix, names) = (&prefix.name, names.join("`, `"));
        format!("cannot be a file in `{prefix}` while `{names}` gives no path")
    })
}

fn is_accepted(accepts: &[String], name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let ending = ending.map(str::to_ascii_lowercase).unwrap_or_default();
    let found = ENDINGS.iter().find(|(known, _)| *known == ending);
    let Some((_, kind)) = found else {
        return accepts.iter().any(|accepted| accepted == "*/*");
    };
    accepts
        .iter()
        .any(|accepted| match accepted.strip_suffix('*') {
            Some("*/") => true,
            Some(family) => kind.starts_with(family),
            None => accepted == kind,
        })
}
