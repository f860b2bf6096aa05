//! The time of a signature.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::{SKEW_SECONDS_MAX, incomplete, invalid};
use crate::messages;
use crate::refusal::Refusal;

/// Refuses what was signed too long ago, or too far in the future.
pub(super) fn check_skew(date: &str, now_seconds: i64) -> Result<(), Refusal> {
    let Some(signed) = seconds(date) else {
        return Err(incomplete(messages::malformed_date(date)));
    };
    let earliest = now_seconds.saturating_sub(SKEW_SECONDS_MAX);
    let latest = now_seconds.saturating_add(SKEW_SECONDS_MAX);
    if signed < earliest {
        let (limit, now) = (text(earliest), text(now_seconds));
        return Err(invalid(messages::signature_expired(date, &limit, &now)));
    }
    if signed > latest {
        let (limit, now) = (text(latest), text(now_seconds));
        return Err(invalid(messages::signature_early(date, &limit, &now)));
    }
    Ok(())
}

/// The seconds since 1970 of `20150830T123600Z`, and of nothing that is spelled otherwise.
fn seconds(date: &str) -> Option<i64> {
    let bytes = date.as_bytes();
    let is_shaped = bytes.len() == 16
        && bytes.iter().enumerate().all(|(index, byte)| match index {
            8 => *byte == b'T',
            15 => *byte == b'Z',
            _ => byte.is_ascii_digit(),
        });
    if !is_shaped {
        return None;
    }
    let number = |from: usize, to: usize| date.get(from..to)?.parse::<i16>().ok();
    let small = |from: usize| number(from, from + 2).and_then(|it| i8::try_from(it).ok());
    let civil = DateTime::new(
        number(0, 4)?,
        small(4)?,
        small(6)?,
        small(9)?,
        small(11)?,
        small(13)?,
        0,
    );
    let zoned = civil.ok()?.to_zoned(TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_second())
}

fn text(seconds: i64) -> String {
    match Timestamp::from_second(seconds) {
        Ok(time) => time.strftime("%Y%m%dT%H%M%SZ").to_string(),
        // Only a clock that is off by millennia comes here.
        Err(_) => seconds.to_string(),
    }
}
