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
        if value.chars().count() > VALUE_CHARS_MAX {
            return Err(refuse(format!(
                "The value of the tag {key} has more than {VALUE_CHARS_MAX} characters"
            )));
        }
    }
    match tags.len() > TAGS_MAX {
        true => Err(refuse(format!("Too many tags: at most {TAGS_MAX}"))),
        false => Ok(()),
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
    if !(1..=KEY_CHARS_MAX).contains(&key.chars().count()) {
        return Err(refuse(format!(
            "The key of a tag has 1 to {KEY_CHARS_MAX} characters"
        )));
    }
    match key.to_ascii_lowercase().starts_with(RESERVED_PREFIX) {
        true => Err(refuse(format!(
            "The prefix {RESERVED_PREFIX} of the tag {key} is reserved"
        ))),
        false => Ok(()),
    }
}

fn refuse(detail: String) -> StoreError {
    StoreError::validation(format!(
        "One or more parameter values were invalid: {detail}"
    ))
}

#[cfg(test)]
mod tests;
