//! The one form of a timestamp: `2026-01-02T03:04:05.678Z`.
//!
//! Every timestamp has the same width and the same zone, so that timestamps inside keys sort as
//! the times that they stand for.

use jiff::Timestamp;

/// The text of a time given in milliseconds since 1970.
pub fn format_millis(millis: i64) -> String {
    let clamped = millis.clamp(
        Timestamp::MIN.as_millisecond(),
        Timestamp::MAX.as_millisecond(),
    );
    let time = Timestamp::from_millisecond(clamped).expect("the range was just enforced");
    time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// The milliseconds of a text in exactly this form.
pub fn parse_millis(text: &str) -> Option<i64> {
    let time: Timestamp = text.parse().ok()?;
    let millis = time.as_millisecond();
    (format_millis(millis) == text).then_some(millis)
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
            "",
        ] {
            assert_eq!(parse_millis(other), None, "{other}");
        }
    }
}
