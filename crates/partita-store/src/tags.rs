//! What tags a table may have.

use crate::error::{StoreError, StoreResult};
use crate::request::Tags;

const TAGS_MAX: usize = 50;
const KEY_CHARS_MAX: usize = 128;
const VALUE_CHARS_MAX: usize = 256;
/// Only Amazon itself gives tags of this prefix.
const RESERVED_PREFIX: &str = "aws:";

/// Refuses tags that a new table may not have.
pub fn check(tags: &Tags) -> StoreResult<()> {
    for (key, value) in tags {
        check_key(key)?;
        if !is_fit(value, VALUE_CHARS_MAX) {
            return Err(StoreError::validation(format!(
                "The Tag Value provided is invalid, Value: {value}"
            )));
        }
    }
    if tags.len() > TAGS_MAX {
        Err(StoreError::validation(
            "Number of Tags exceed the current limit for the provided ResourceArn",
        ))
    } else {
        Ok(())
    }
}

/// The tags that a table has once others were added.
pub fn added(tags: &Tags, more: Tags) -> StoreResult<Tags> {
    check(&more)?;
    let mut tags = tags.clone();
    tags.extend(more);
    check(&tags)?;
    Ok(tags)
}

/// The tags that a table has once some were taken off.
pub fn removed(tags: &Tags, keys: &[String]) -> StoreResult<Tags> {
    keys.iter().try_for_each(|key| check_key(key))?;
    let mut tags = tags.clone();
    tags.retain(|key, _| !keys.contains(key));
    Ok(tags)
}

fn check_key(key: &str) -> StoreResult<()> {
    if key.is_empty() || !is_fit(key, KEY_CHARS_MAX) {
        return Err(StoreError::validation(format!(
            "The Tag Key provided is invalid, Key: {key}"
        )));
    }
    if key.to_ascii_lowercase().starts_with(RESERVED_PREFIX) {
        Err(StoreError::validation(format!(
            "Tag Key cannot be prefixed with {RESERVED_PREFIX}, Key: {key}"
        )))
    } else {
        Ok(())
    }
}

/// Letters, digits, white space, and what paths and addresses are written with.
fn is_fit(text: &str, chars_max: usize) -> bool {
    let is_allowed =
        |char: char| char.is_alphanumeric() || char.is_whitespace() || "_.:/=+-@".contains(char);
    text.chars().count() <= chars_max && text.chars().all(is_allowed)
}

#[cfg(test)]
mod tests;
