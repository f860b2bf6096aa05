//! When a stream began, as text: its label.

const MILLIS_PER_DAY: i64 = 24 * 60 * 60 * 1000;
const DAYS_PER_400_YEARS: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;

/// A time as `2026-01-31T10:15:00.000`. Labels of the years 0 to 9999 sort as their times do.
pub(super) fn label(millis: i64) -> String {
    let (year, month, day) = date(millis.div_euclid(MILLIS_PER_DAY));
    let time = millis.rem_euclid(MILLIS_PER_DAY);
    let (seconds, millis) = (time / 1000, time % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}")
}

/// The year, month and day of a day counted from 1970-01-01, in the Gregorian calendar.
///
/// Years are taken to begin in March, so that a leap day is the last of its year and months of
/// 31, 30, 31, 30, 31 days come in a row, 153 days for each five.
fn date(day: i64) -> (i64, i64, i64) {
    let day = day + EPOCH;
    let (cycle, day) = (
        day.div_euclid(DAYS_PER_400_YEARS),
        day.rem_euclid(DAYS_PER_400_YEARS),
    );
    // Without its leap days, of which the last of the cycle is one, a year has 365 days.
    let leap_days = day / 1460 - day / 36_524 + day / 146_096;
    let year = (day - leap_days) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let year = 400 * cycle + year;
    if month < 10 {
        (year, month + 3, day_of_month)
    } else {
        (year + 1, month - 9, day_of_month)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_the_gregorian_calendar() {
        for (millis, expected) in [
            (0, "1970-01-01T00:00:00.000"),
            (-1, "1969-12-31T23:59:59.999"),
            (951_782_400_000, "2000-02-29T00:00:00.000"),
            (951_868_800_000, "2000-03-01T00:00:00.000"),
            (1_767_225_599_999, "2025-12-31T23:59:59.999"),
            (1_794_793_209_987, "2026-11-16T01:40:09.987"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999"),
        ] {
            assert_eq!(label(millis), expected);
        }
    }

    #[test]
    fn days_follow_one_another() {
        let mut before = date(-1_000_000);
        for day in -999_999..1_000_000 {
            let (year, month, day_of_month) = date(day);
            let follows = match day_of_month {
                1 if month == 1 => before == (year - 1, 12, 31),
                1 => (before.0, before.1) == (year, month - 1) && before.2 >= 28,
                _ => before == (year, month, day_of_month - 1),
            };
            assert!(follows, "{before:?} before {:?}", date(day));
            before = date(day);
        }
    }

    #[test]
    fn no_time_is_too_far() {
        for millis in [i64::MIN, i64::MAX] {
            assert!(!label(millis).is_empty());
        }
    }
}
