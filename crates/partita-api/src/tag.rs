//! Entity tags: `ETag: "3"` is the version of an item.
//!
//! Counts, sums, copies and tallies change while the version of their item stays. Where an answer
//! can have such values, the tag also has a digest of what is shown, `"3-9f86d081"`, so that a
//! reader who has the tag has that state of the item. A change is conditional on the version alone.

use std::fmt;
use std::fmt::Write as _;

use partita_core::Value;
use partita_design::Design;
use partita_design::design::{Attribute, Record};
use partita_plan::Record as Answered;
use sha2::{Digest as _, Sha256};

/// Digits of a digest, two for each byte.
const DIGITS: usize = 16;

/// The entity tag of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The version of the item.
    pub version: i64,
    /// A digest of the state, where a version can have several.
    pub digest: Option<String>,
}

impl Tag {
    /// The tag of an item whose answer is this text, if its entity has a version and that is shown.
    pub(crate) fn of(design: &Design, answered: &Answered, shown: &[u8]) -> Option<Tag> {
        let entity = design.find_entity(&answered.name)?;
        let version = entity.version()?;
        let version = match version.path().find(&answered.attributes)? {
            Value::N(number) => number.to_string().parse().ok()?,
            _ => return None,
        };
        let digest = changes_in_between(entity).then(|| digest(shown));
        Some(Tag { version, digest })
    }

    /// Reads a tag. A proxy that compresses an answer makes its tag a weak one, `W/"3"`; it is the
    /// same.
    pub(crate) fn parse(text: &str) -> Option<Tag> {
        let text = text.trim();
        let text = text.strip_prefix("W/").unwrap_or(text);
        let text = text.strip_prefix('"')?.strip_suffix('"')?;
        let (version, digest) = match text.split_once('-') {
            Some((version, digest)) => (version, Some(digest.to_owned())),
            None => (text, None),
        };
        let is_digest = |digest: &String| digest.len() == DIGITS && is_hexadecimal(digest);
        if !digest.as_ref().is_none_or(is_digest) {
            return None;
        }
        let version = version.parse().ok()?;
        Some(Tag { version, digest })
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.digest {
            Some(digest) => write!(f, "\"{}-{digest}\"", self.version),
            None => write!(f, "\"{}\"", self.version),
        }
    }
}

/// Whether the answer for an item of an entity can change while its version stays.
fn changes_in_between(entity: &Record) -> bool {
    let mut attributes = entity.attributes.iter();
    let mut reading = entity.rules.by_attribute.iter();
    attributes.any(Attribute::changes_beside_version) || reading.any(|rule| !rule.writes)
}

fn digest(shown: &[u8]) -> String {
    let digest = Sha256::digest(shown);
    let mut text = String::with_capacity(DIGITS);
    for byte in &digest[..DIGITS / 2] {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
