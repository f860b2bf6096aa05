//! Time to live: when items expire, and what may be said of it.
//!
//! An item expires at the time in one of its attributes, a number of seconds since 1970.
//! It stays readable until it is swept, which the stores do now and then.

use partita_core::{Item, Value};

use crate::error::{StoreError, StoreResult};
use crate::request::UpdateTimeToLive;

/// A time longer ago than this has another meaning.
pub const PAST_SECONDS_MAX: i64 = 5 * 365 * 24 * 60 * 60;
/// Bytes of the attribute's name.
const NAME_BYTES_MAX: usize = 255;

/// When an item expires: the first whole second that is not before the time in its attribute.
/// An item expires never if its attribute is missing, no number, or in no time that we count.
pub fn expires_seconds(item: &Item, attribute: &str) -> Option<i64> {
    match item.get(attribute)? {
        Value::N(number) => number.ceil_i64(),
        _ => None,
    }
}

/// Whether what expires at such a second has expired, and is not too long gone for that.
pub fn is_past(expires_seconds: i64, now_millis: i64) -> bool {
    let ago = now_millis.div_euclid(1000).saturating_sub(expires_seconds);
    (1..=PAST_SECONDS_MAX).contains(&ago)
}

/// Whether an item has expired: DynamoDB ignores times that are no number, and those that are more
/// than five years old.
pub fn has_expired(item: &Item, attribute: &str, now_millis: i64) -> bool {
    expires_seconds(item, attribute).is_some_and(|expires| is_past(expires, now_millis))
}

impl UpdateTimeToLive {
    /// The attribute with the time of expiry from now on, where it was `current` so far.
    pub fn apply(&self, current: Option<&str>) -> StoreResult<Option<String>> {
        self.check_name()?;
        match (current, self.is_enabled) {
            (None, true) => Ok(Some(self.attribute.clone())),
            (None, false) => Err(StoreError::validation("TimeToLive is already disabled")),
            (Some(current), _) if current != self.attribute => {
                Err(StoreError::validation(format!(
                    "TimeToLive is active on a different AttributeName: current AttributeName is {current}"
                )))
            }
            (Some(_), true) => Err(StoreError::validation("TimeToLive is already enabled")),
            (Some(_), false) => Ok(None),
        }
    }

    fn check_name(&self) -> StoreResult<()> {
        let bound = match self.attribute.len() {
            0 => "greater than or equal to 1".to_owned(),
            1..=NAME_BYTES_MAX => return Ok(()),
            _ => format!("less than or equal to {NAME_BYTES_MAX}"),
        };
        Err(StoreError::validation(format!(
            "1 validation error detected: Value '{}' at 'timeToLiveSpecification.attributeName' failed to satisfy constraint: Member must have length {bound}",
            self.attribute
        )))
    }
}

#[cfg(test)]
mod tests;
