//! Names of objects: where they stand in items, and what the layout of a bucket makes of them.

use partita_core::{Map, Value};
use partita_design::Design;
use partita_design::design::{Attribute, Bucket, Prefix, Record, Rule, Source};
use partita_design::expression::Expr;
use partita_design::files::prefixes;
use partita_design::media_type;
use partita_design::template::{Format, Hole, Part};
use partita_design::types::AttributeType;

use partita_design::nested;

pub(crate) use partita_design::files::names_files;

/// Bytes that the name of an object has at most. S3 allows 1024; the sidecar has names in its
/// keys, beside a time and a bucket.
pub(crate) const NAME_BYTES_MAX: usize = 900;

/// Bytes of a name between two slashes: what file systems take.
const STEP_BYTES_MAX: usize = 255;

/// Where uploads of a bucket without a temporary prefix are.
const STAGING: &str = "temp/";
/// How long they are kept.
const STAGING_SECONDS: u64 = 86_400;

/// What an attribute says of the file that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot<'d> {
    /// It is below the path of this prefix.
    In(&'d str),
    /// Its name is the value of this attribute.
    At(&'d str),
}

/// A name that an item has for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File<'d> {
    /// Where the name stands, such as `attachments[0].s3Key`.
    pub(crate) place: String,
    pub(crate) spot: Spot<'d>,
    pub(crate) name: String,
}

/// The prefix of that name, and its bucket.
pub(crate) fn prefix<'d>(design: &'d Design, name: &str) -> Option<(&'d Bucket, &'d Prefix)> {
    design.buckets.iter().find_map(|bucket| {
        let mut prefixes = bucket.prefixes.iter();
        Some((bucket, prefixes.find(|prefix| prefix.name == name)?))
    })
}

/// The prefix that the name of an object is in for an item, and its bucket.
pub(crate) fn prefix_of<'d>(
    design: &'d Design,
    item: &Map,
    name: &str,
) -> Option<(&'d Bucket, &'d Prefix)> {
    design.buckets.iter().find_map(|bucket| {
        let mut prefixes = bucket.prefixes.iter();
        let found = prefixes.find(|prefix| {
            let path = path(prefix, item).ok();
            let rest = path.and_then(|path| name.strip_prefix(path.as_str()));
            rest.is_some_and(is_plain)
        });
        Some((bucket, found?))
    })
}

/// Why an object cannot have a name, whatever the reason: that there is an object of that name, which
/// may be a stranger's, is not to be told from a name that no object can have.
pub(crate) fn no_place(name: &str) -> String {
    format!("cannot be at `{name}`")
}

/// Where the uploads of a bucket are: under the prefix whose objects do not stay.
pub fn staging(bucket: &Bucket) -> &str {
    temporary(bucket).map_or(STAGING, |(path, _)| path)
}

/// How long uploads are kept that nobody takes over.
pub(crate) fn staging_millis(bucket: &Bucket) -> i64 {
    let seconds = temporary(bucket).map_or(STAGING_SECONDS, |(_, seconds)| seconds);
    i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX)
}

fn temporary(bucket: &Bucket) -> Option<(&str, u64)> {
    bucket.prefixes.iter().find_map(|prefix| {
        let [Part::Text(path)] = prefix.path.parts.as_slice() else {
            return None;
        };
        Some((path.as_str(), prefix.lifetime_seconds?))
    })
}

/// Who may upload to a prefix. Where items name the files, their rules decide what becomes of an
/// upload, and whoever is signed in may make one; elsewhere the design has to say so.
pub fn write_rule(design: &Design, prefix: &Prefix) -> Rule {
    match &prefix.write {
        Some(rule) => rule.clone(),
        None if is_named(design, prefix) => Rule::SignedIn,
        None => Rule::Never,
    }
}

/// Whether some attribute names the files of a prefix.
pub(crate) fn is_named(design: &Design, prefix: &Prefix) -> bool {
    design.entities().any(|entity| {
        let mut attributes = entity.attributes.iter();
        attributes.any(|attribute| {
            let at = attribute.file_at.as_deref();
            prefixes(attribute).contains(&prefix.name.as_str())
                || at.is_some_and(|at| can_be_at(entity, at, prefix))
        })
    })
}

/// Whether a name that an attribute computes can be one of a prefix, by how it begins.
fn can_be_at(entity: &Record, at: &str, prefix: &Prefix) -> bool {
    let Some(Part::Text(beginning)) = prefix.path.parts.first() else {
        return true;
    };
    let Some(Source::Computed(computed)) = entity.attribute(at).map(|one| &one.source) else {
        return true;
    };
    computed.value.cases.iter().any(|case| match &case.is {
        Expr::Text(template) => match template.parts.first() {
            Some(Part::Text(text)) => text.starts_with(beginning.as_str()),
            _ => true,
        },
        _ => true,
    })
}

/// Whether an entity has attributes that name files.
pub(crate) fn has_files(entity: &Record) -> bool {
    entity.attributes.iter().any(names_files)
}

/// Whether a view keeps what stands at a place of its items, such as `attachments[0].s3Key`.
pub(crate) fn is_kept_by(view: &Record, place: &str) -> bool {
    view.kept().any(|kept| {
        let rest = place.strip_prefix(kept.name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    })
}

/// All names of objects in an item.
pub(crate) fn all<'d>(entity: &'d Record, item: &Map) -> Vec<File<'d>> {
    let mut files = Vec::new();
    for attribute in entity.attributes.iter().filter(|one| names_files(one)) {
        if let Some(value) = nested::get(item, &attribute.name) {
            files.extend(of_attribute(attribute, value));
        }
    }
    files
}

/// All names of objects in the value of an attribute.
pub(crate) fn of_attribute<'d>(attribute: &'d Attribute, value: &Value) -> Vec<File<'d>> {
    let mut files = Vec::new();
    if !names_files(attribute) {
        return files;
    }
    // A walk may change what it finds, so it goes over a copy; values that name files are small.
    let mut value = value.clone();
    each(attribute, &mut value, &mut |place, spot, name| {
        files.push(File {
            place,
            spot,
            name: name.clone(),
        });
    });
    files
}

/// Goes through all names of objects in the value of an attribute.
pub(crate) fn each<'d>(
    attribute: &'d Attribute,
    value: &mut Value,
    visit: &mut dyn FnMut(String, Spot<'d>, &mut String),
) {
    if !names_files(attribute) {
        return;
    }
    let place = attribute.name.clone();
    if !attribute.elsewhere {
        return walk(&attribute.kind, spot(attribute), value, place, visit);
    }
    let mut within = |place: String, spot: Spot<'d>, name: &mut String| {
        if !is_address(name) {
            visit(place, spot, name);
        }
    };
    walk(&attribute.kind, spot(attribute), value, place, &mut within);
}

/// Whether a text is an address of the web, and no name of an object.
fn is_address(text: &str) -> bool {
    let mut schemes = ["https://", "http://"].iter();
    schemes.any(|scheme| text.starts_with(scheme))
}

fn spot(attribute: &Attribute) -> Option<Spot<'_>> {
    let at = attribute.file_at.as_deref().map(Spot::At);
    at.or(attribute.file_in.as_deref().map(Spot::In))
}

fn walk<'d>(
    kind: &'d AttributeType,
    spot: Option<Spot<'d>>,
    value: &mut Value,
    place: String,
    visit: &mut dyn FnMut(String, Spot<'d>, &mut String),
) {
    match (kind, value) {
        (AttributeType::List { element, .. }, Value::L(list)) => {
            for (at, value) in list.iter_mut().enumerate() {
                walk(element, spot, value, format!("{place}[{at}]"), visit);
            }
        }
        (AttributeType::Shape(record), Value::M(map)) => {
            for field in &record.fields {
                if let Some(value) = map.get_mut(&field.name) {
                    let place = format!("{place}.{}", field.name);
                    let spot = field.file_in.as_deref().map(Spot::In);
                    walk(&field.kind, spot, value, place, visit);
                }
            }
        }
        (_, Value::Ss(set)) => {
            if let Some(spot) = spot {
                let names = std::mem::take(set).into_iter();
                *set = names
                    .map(|mut name| {
                        visit(place.clone(), spot, &mut name);
                        name
                    })
                    .collect();
            }
        }
        (_, Value::S(name)) => {
            if let Some(spot) = spot {
                visit(place, spot, name);
            }
        }
        _ => {}
    }
}

/// Whether a name is one of an object under a prefix.
pub(crate) fn check(prefix: &Prefix, item: &Map, name: &str) -> Result<(), String> {
    let path = path(prefix, item)?;
    let rest = name
        .strip_prefix(path.as_str())
        .ok_or_else(|| format!("must be a file in `{path}`"))?;
    if !is_plain(rest) {
        return Err(format!("must be the whole name of a file in `{path}`"));
    }
    if name.len() > NAME_BYTES_MAX {
        let message = format!("must be a name of at most {NAME_BYTES_MAX} bytes");
        return Err(message);
    }
    let is_accepted = match media_type::of_name(rest) {
        Some(kind) => media_type::is_accepted(&prefix.accepts, kind),
        None => prefix.accepts.is_empty() || prefix.accepts.iter().any(|one| one == "*/*"),
    };
    if is_accepted {
        return Ok(());
    }
    let accepted = prefix.accepts.join(" or ");
    Err(format!("must be of the type {accepted} by its ending"))
}

/// Whether a name stays what it is wherever it is used. Clients and file systems take some steps
/// out of a path, and end up elsewhere.
pub(crate) fn is_plain(name: &str) -> bool {
    let is_letter = |letter: char| !letter.is_control() && letter != '\\';
    let is_step = |step: &str| !matches!(step, "" | "." | "..") && step.len() <= STEP_BYTES_MAX;
    name.split('/').all(is_step) && name.chars().all(is_letter)
}

/// How the names of a prefix begin for this item.
pub(crate) fn path(prefix: &Prefix, item: &Map) -> Result<String, String> {
    let mut path = String::new();
    for part in &prefix.path.parts {
        match part {
            Part::Text(text) => path.push_str(text),
            Part::Value(hole) => path.push_str(&path_step(prefix, hole, item)?),
        }
    }
    Ok(path)
}

/// What a placeholder of a path stands for: one step, or somebody's files would be below
/// another's. A time is written with as many as its form has.
fn path_step(prefix: &Prefix, hole: &Hole, item: &Map) -> Result<String, String> {
    let value = hole.value.value(item);
    let text = value.and_then(|value| hole.format.text(&value).ok());
    let is_time = matches!(hole.format, Format::Time { .. });
    let is_step = |text: &String| !text.contains('/') && is_plain(text);
    text.filter(|text| is_time || is_step(text)).ok_or_else(|| {
        let names: Vec<String> = prefix.path.names().collect();
        let (prefix, names) = (&prefix.name, names.join("`, `"));
        format!("cannot be a file in `{prefix}` while `{names}` gives no path")
    })
}
