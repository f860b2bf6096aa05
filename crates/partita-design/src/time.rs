//! The forms of times.
//!
//! Every timestamp has the same width and the same zone, `2026-01-02T03:04:05.678Z`, so that
//! timestamps inside keys sort as the times that they mean. So do days, `2026-01-02`. Times
//! that are numbers count seconds or milliseconds since 1970.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time};
use partita_core::{Number, Type, Value};

/// How a time is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeForm {
    /// `2026-01-02T03:04:05.678Z`
    Timestamp,
    /// `2026-01-02`
    Date,
    /// Seconds since 1970.
    Epoch,
    /// Milliseconds since 1970.
    EpochMillis,
}

impl TimeForm {
    /// The milliseconds since 1970 of a value in this form.
    pub fn read(self, value: &Value) -> Option<i64> {
        match (self, value) {
            (TimeForm::Timestamp, Value::S(text)) => parse_millis(text),
            (TimeForm::Date, Value::S(text)) => parse_date(text),
            (TimeForm::Epoch, Value::N(number)) => number.to_i64()?.checked_mul(1000),
            (TimeForm::EpochMillis, Value::N(number)) => number.to_i64(),
            _ => None,
        }
    }

    /// The time in this form; what the form does not hold is rounded down.
    pub fn write(self, millis: i64) -> Value {
        match self {
            TimeForm::Timestamp => Value::S(format_millis(millis)),
            TimeForm::Date => Value::S(format_millis(millis)[..10].to_owned()),
            TimeForm::Epoch => Value::N(Number::from(millis.div_euclid(1000))),
            TimeForm::EpochMillis => Value::N(Number::from(millis)),
        }
    }

    /// The DynamoDB type of its values.
    pub fn stored_as(self) -> Type {
        match self {
            TimeForm::Timestamp | TimeForm::Date => Type::S,
            TimeForm::Epoch | TimeForm::EpochMillis => Type::N,
        }
    }

    /// What is expected.
    pub fn describe(self) -> &'static str {
        match self {
            TimeForm::Timestamp => "a time such as 2026-01-02T03:04:05.678Z",
            TimeForm::Date => "a day such as 2026-01-02",
            TimeForm::Epoch => "a time in seconds since 1970",
            TimeForm::EpochMillis => "a time in milliseconds since 1970",
        }
    }

    pub(crate) fn noun(self) -> &'static str {
        match self {
            TimeForm::Timestamp => "a timestamp",
            TimeForm::Date => "a date",
            TimeForm::Epoch => "an epoch",
            TimeForm::EpochMillis => "an epoch-ms",
        }
    }
}

/// The milliseconds of a timestamp or a day.
pub(crate) fn read_any(value: &Value) -> Option<i64> {
    let forms = [TimeForm::Timestamp, TimeForm::Date];
    forms.iter().find_map(|form| form.read(value))
}

/// The text of a time given in milliseconds since 1970.
pub fn format_millis(millis: i64) -> String {
    format_as(millis, "%Y-%m-%dT%H:%M:%S.%3fZ")
}

/// The text of a time in a form such as `%Y/%m/%d`, in UTC.
pub fn format_as(millis: i64, form: &str) -> String {
    // The four digits of a year keep the width, and so the order.
    let clamped = millis.clamp(YEAR_0_MILLIS, YEAR_9999_MILLIS);
    let since = SignedDuration::from_millis(clamped);
    let time = EPOCH.saturating_add(since);
    // A form that cannot be written gives nothing; designs are checked for such forms.
    jiff::fmt::strtime::format(form, time).unwrap_or_default()
}

/// The year 1970. `jiff::Timestamp` ends a day before the year 9999 does, to leave room for
/// offsets; times without a zone reach its end.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The start of the year 0.
const YEAR_0_MILLIS: i64 = -62_167_219_200_000;

/// The end of the year 9999.
const YEAR_9999_MILLIS: i64 = 253_402_300_799_999;

/// Whether times can be written in this form.
pub fn is_form(form: &str) -> bool {
    !form.is_empty() && form.contains('%') && !format_as(0, form).is_empty()
}

/// The milliseconds of a text in exactly this form.
pub fn parse_millis(text: &str) -> Option<i64> {
    // Times are read all the time, and there is only one form of them, so that a parser of every
    // form would do several times as much.
    const SIGNS: [(usize, u8); 7] = [
        (4, b'-'),
        (7, b'-'),
        (10, b'T'),
        (13, b':'),
        (16, b':'),
        (19, b'.'),
        (23, b'Z'),
    ];
    let bytes: &[u8; 24] = text.as_bytes().try_into().ok()?;
    if !SIGNS.iter().all(|(at, sign)| bytes[*at] == *sign) {
        return None;
    }
    let number = |at: usize, digits: usize| {
        let mut digits = bytes[at..at + digits].iter();
        digits.try_fold(0_i16, |number, digit| match digit {
            b'0'..=b'9' => Some(number * 10 + i16::from(digit - b'0')),
            _ => None,
        })
    };
    let pair = |at: usize| i8::try_from(number(at, 2)?).ok();
    let date = Date::new(number(0, 4)?, pair(5)?, pair(8)?).ok()?;
    let nanoseconds = i32::from(number(20, 3)?) * 1_000_000;
    let time = Time::new(pair(11)?, pair(14)?, pair(17)?, nanoseconds).ok()?;
    let since = date.to_datetime(time).duration_since(EPOCH);
    i64::try_from(since.as_millis()).ok()
}

/// The milliseconds of a time as people write it: RFC 3339, with or without a fraction, in any zone.
pub fn parse_rfc3339(text: &str) -> Option<i64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(time.as_millisecond())
}

fn parse_date(text: &str) -> Option<i64> {
    (text.len() == 10)
        .then(|| parse_millis(&format!("{text}T00:00:00.000Z")))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_form_only() {
        assert_eq!(format_millis(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(format_millis(1_767_323_045_678), "2026-01-02T03:04:05.678Z");
        assert_eq!(
            parse_millis("2026-01-02T03:04:05.678Z"),
            Some(1_767_323_045_678)
        );
        for other in [
            "2026-01-02T03:04:05Z",
            "2026-01-02T03:04:05.678+00:00",
            "2026-01-02T03:04:05.6789Z",
            "2026-01-02 03:04:05.678Z",
            "2026-13-02T03:04:05.678Z",
            "2026-02-29T03:04:05.678Z",
            "2026-01-02T24:00:00.000Z",
            "2016-12-31T23:59:60.000Z",
            "",
        ] {
            assert_eq!(parse_millis(other), None, "{other}");
        }
    }

    #[test]
    fn people_write_times_in_other_forms_too() {
        for (text, millis) in [
            ("2026-03-01T12:00:00Z", 1_772_366_400_000),
            ("2026-03-01T12:00:00.000Z", 1_772_366_400_000),
            ("2026-03-01T12:00:00.25Z", 1_772_366_400_250),
            ("2026-03-01T12:00:00.678912Z", 1_772_366_400_678),
            ("2026-03-01T13:00:00+01:00", 1_772_366_400_000),
            ("2026-03-01T06:30:00.5-05:30", 1_772_366_400_500),
        ] {
            assert_eq!(parse_rfc3339(text), Some(millis), "{text}");
        }
        for other in ["2026-03-01", "2026-03-01T12:00:00", "12:00", "now", ""] {
            assert_eq!(parse_rfc3339(other), None, "{other}");
        }
    }

    #[test]
    fn every_form_reads_what_it_writes() {
        let day = 1_767_312_000_000;
        for form in [
            TimeForm::Timestamp,
            TimeForm::Date,
            TimeForm::Epoch,
            TimeForm::EpochMillis,
        ] {
            assert_eq!(form.read(&form.write(day)), Some(day), "{form:?}");
        }
        assert_eq!(TimeForm::Date.read(&Value::from("2026-1-2")), None);
    }

    #[test]
    fn from_the_year_0_to_the_year_9999() {
        let first = "0000-01-01T00:00:00.000Z";
        let last = "9999-12-31T23:59:59.999Z";
        for text in [first, last, "9999-12-30T22:00:00.001Z"] {
            assert_eq!(parse_millis(text).map(format_millis).as_deref(), Some(text));
        }
        assert_eq!(format_millis(i64::MIN), first);
        assert_eq!(format_millis(i64::MAX), last);
    }

    #[test]
    fn forms_of_the_author() {
        assert_eq!(format_as(1_767_323_045_678, "%Y/%m/%d"), "2026/01/02");
        assert!(is_form("%Y") && !is_form("") && !is_form("%") && !is_form("day"));
    }
}
