//! Schedules: what is done to items at certain times.

use std::fmt;

use jiff::civil::Date;

use super::{ActionId, PatternId, Record, RecordId};
use crate::expression::Predicate;
use crate::time;

/// Something that is done to items once in every period.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The word in `[schedule.X]`.
    pub name: String,
    /// What it is about.
    pub about: Option<String>,
    /// When.
    pub every: Every,
    /// To which items.
    pub over: ScheduleOver,
    /// Only to those for which this holds.
    pub when: Option<Predicate>,
    /// What is done to each.
    pub does: Chore,
}

/// What a schedule does to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chore {
    /// This action.
    Apply(ActionId),
    /// It is removed for good, if it has been deleted softly for so long.
    Purge {
        /// How long.
        after_days: u32,
    },
}

impl Schedule {
    /// What removes the items of an entity for good that were deleted softly so long ago.
    pub(crate) fn purge(entity: &Record, after_days: u32) -> Schedule {
        Schedule {
            name: format!("purge {}", entity.name),
            about: None,
            every: Every::Day { minute: 0 },
            over: ScheduleOver::Entity(entity.id),
            when: None,
            does: Chore::Purge { after_days },
        }
    }

    /// The action that it does, if it does one.
    pub fn action(&self) -> Option<ActionId> {
        match self.does {
            Chore::Apply(action) => Some(action),
            Chore::Purge { .. } => None,
        }
    }

    /// To which of its items something is done, in words.
    pub fn condition(&self) -> Option<String> {
        match (self.does, &self.when) {
            (Chore::Purge { after_days: 1 }, _) => Some("deleted 1 day ago".to_owned()),
            (Chore::Purge { after_days }, _) => Some(format!("deleted {after_days} days ago")),
            (Chore::Apply(_), when) => when.as_ref().map(|when| when.text.clone()),
        }
    }
}

/// The items that a schedule goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleOver {
    /// All items of an entity.
    Entity(RecordId),
    /// The items that a pattern finds.
    Pattern {
        /// The pattern, which takes no parameters.
        pattern: PatternId,
        /// What it finds.
        record: RecordId,
    },
}

impl ScheduleOver {
    /// What the items are.
    pub fn record(self) -> RecordId {
        match self {
            ScheduleOver::Entity(record) | ScheduleOver::Pattern { record, .. } => record,
        }
    }
}

/// When a period begins, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// At a minute of every hour.
    Hour {
        /// Minutes since the hour began.
        minute: i64,
    },
    /// At a time of every day.
    Day {
        /// Minutes since midnight.
        minute: i64,
    },
    /// At a time of a day of every week.
    Week {
        /// Days since Monday.
        day: i64,
        /// Minutes since midnight.
        minute: i64,
    },
    /// At a time of a day of every month.
    Month {
        /// 1 to 28, which every month has.
        day: i8,
        /// Minutes since midnight.
        minute: i64,
    },
}

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// The first Monday after the beginning of 1970, a Thursday.
const MONDAY: i64 = 4 * DAY;

const WEEKDAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

impl Every {
    /// Reads `hour at :15`, `day at 08:00`, `week on monday at 08:00`, `month on 1 at 08:00`.
    pub fn parse(text: &str) -> Option<Every> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let minute_of = |clock: &str| {
            let (hours, minutes) = clock.split_once(':')?;
            let hours = if hours.is_empty() { "0" } else { hours };
            let two = |text: &str, below: i64| {
                let is_short = text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
                let number: i64 = text.parse().ok().filter(|_| is_short)?;
                (number < below).then_some(number)
            };
            Some((two(hours, 24)?, two(minutes, 60)?))
        };
        let time = |clock: &str| minute_of(clock).map(|(hours, minutes)| hours * 60 + minutes);
        Some(match words.as_slice() {
            ["hour"] => Every::Hour { minute: 0 },
            ["hour", "at", clock] if clock.starts_with(':') => Every::Hour {
                minute: time(clock)?,
            },
            ["day", "at", clock] => Every::Day {
                minute: time(clock)?,
            },
            ["week", "on", day, "at", clock] => {
                let day = WEEKDAYS.iter().position(|known| known == day)?;
                Every::Week {
                    day: i64::try_from(day).ok()?,
                    minute: time(clock)?,
                }
            }
            ["month", "on", day, "at", clock] => Every::Month {
                day: day.parse().ok().filter(|day| (1..=28).contains(day))?,
                minute: time(clock)?,
            },
            _ => return None,
        })
    }

    /// When the period began that a time is in.
    pub fn began_millis(self, now_millis: i64) -> i64 {
        let since = |offset: i64, length: i64| {
            let periods = now_millis.saturating_sub(offset).div_euclid(length);
            periods * length + offset
        };
        match self {
            Every::Hour { minute } => since(minute * MINUTE, HOUR),
            Every::Day { minute } => since(minute * MINUTE, DAY),
            Every::Week { day, minute } => since(MONDAY + day * DAY + minute * MINUTE, 7 * DAY),
            Every::Month { day, minute } => {
                let this = month_start(now_millis, 0) + (i64::from(day) - 1) * DAY;
                let this = this + minute * MINUTE;
                if this <= now_millis {
                    return this;
                }
                month_start(now_millis, -1) + (i64::from(day) - 1) * DAY + minute * MINUTE
            }
        }
    }
}

/// As [`Every::parse`] reads it.
impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |minute: i64| format!("{:02}:{:02}", minute / 60, minute % 60);
        match *self {
            Every::Hour { minute } => write!(f, "hour at :{minute:02}"),
            Every::Day { minute } => write!(f, "day at {}", time(minute)),
            Every::Week { day, minute } => {
                let day = usize::try_from(day).ok().and_then(|day| WEEKDAYS.get(day));
                write!(f, "week on {} at {}", day.unwrap_or(&""), time(minute))
            }
            Every::Month { day, minute } => write!(f, "month on {day} at {}", time(minute)),
        }
    }
}

/// When a month began, counted from the one that a time is in.
fn month_start(millis: i64, months: i64) -> i64 {
    let text = time::format_as(millis, "%Y-%m");
    let mut parts = text
        .splitn(2, '-')
        .map(|part| part.parse::<i64>().unwrap_or(1));
    let (year, month) = (parts.next().unwrap_or(1970), parts.next().unwrap_or(1));
    let count = year * 12 + (month - 1) + months;
    let year = i16::try_from(count.div_euclid(12)).unwrap_or(1970);
    let month = i8::try_from(count.rem_euclid(12) + 1).unwrap_or(1);
    let epoch = Date::constant(1970, 1, 1);
    let days = Date::new(year, month, 1).map_or(0, |date| {
        let since = date - epoch;
        i64::from(since.get_days())
    });
    days * DAY
}

#[cfg(test)]
mod tests {
    use super::*;

    fn began(every: &str, now: &str) -> String {
        let now = time::parse_millis(now).unwrap();
        time::format_millis(Every::parse(every).unwrap().began_millis(now))
    }

    #[test]
    fn periods_begin_at_their_time() {
        for (every, now, expected) in [
            (
                "hour",
                "2026-11-17T08:59:59.999Z",
                "2026-11-17T08:00:00.000Z",
            ),
            (
                "hour at :15",
                "2026-11-17T08:14:59.999Z",
                "2026-11-17T07:15:00.000Z",
            ),
            (
                "hour at :15",
                "2026-11-17T08:15:00.000Z",
                "2026-11-17T08:15:00.000Z",
            ),
            (
                "day at 08:00",
                "2026-11-17T07:59:59.999Z",
                "2026-11-16T08:00:00.000Z",
            ),
            (
                "day at 08:00",
                "2026-11-17T08:00:00.000Z",
                "2026-11-17T08:00:00.000Z",
            ),
            (
                "week on monday at 08:00",
                "2026-11-17T07:00:00.000Z",
                "2026-11-16T08:00:00.000Z",
            ),
            (
                "week on tuesday at 08:00",
                "2026-11-17T07:00:00.000Z",
                "2026-11-10T08:00:00.000Z",
            ),
            (
                "week on sunday at 00:00",
                "2026-11-17T07:00:00.000Z",
                "2026-11-15T00:00:00.000Z",
            ),
            (
                "month on 1 at 08:30",
                "2026-11-17T07:00:00.000Z",
                "2026-11-01T08:30:00.000Z",
            ),
            (
                "month on 28 at 08:30",
                "2026-01-17T07:00:00.000Z",
                "2025-12-28T08:30:00.000Z",
            ),
            (
                "month on 28 at 08:30",
                "2026-03-01T07:00:00.000Z",
                "2026-02-28T08:30:00.000Z",
            ),
        ] {
            assert_eq!(began(every, now), expected, "{every} at {now}");
            let printed = Every::parse(every).unwrap().to_string();
            assert_eq!(Every::parse(&printed), Every::parse(every), "{printed}");
        }
    }

    #[test]
    fn other_texts_are_no_periods() {
        for text in [
            "",
            "day",
            "day at 8",
            "day at 24:00",
            "day at 08:60",
            "day at -1:00",
            "hour at 08:00",
            "week at 08:00",
            "week on someday at 08:00",
            "month on 29 at 08:00",
            "month on 0 at 08:00",
            "minute",
            "day at 008:00",
        ] {
            assert_eq!(Every::parse(text), None, "{text}");
        }
    }
}
