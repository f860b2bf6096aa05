use super::*;

fn asked(range: &str) -> Wanted {
    let mut headers = HeaderMap::new();
    headers.insert(header::RANGE, HeaderValue::from_str(range).unwrap());
    wanted(&headers, "\"v1\"", 10)
}

#[test]
fn one_range_is_served() {
    for (range, wanted) in [
        ("bytes=0-3", Wanted::Part(0..4)),
        ("bytes=4-", Wanted::Part(4..10)),
        ("bytes=-3", Wanted::Part(7..10)),
        ("bytes=-30", Wanted::Part(0..10)),
        ("bytes=5-100", Wanted::Part(5..10)),
        ("bytes=10-", Wanted::Nothing),
        ("bytes=10-20", Wanted::Nothing),
        ("bytes=-0", Wanted::Nothing),
        ("bytes=3-1", Wanted::All),
        ("bytes=0-1,4-5", Wanted::All),
        ("bytes=a-b", Wanted::All),
        ("bytes=-", Wanted::All),
        ("lines=0-1", Wanted::All),
        ("bytes=0-18446744073709551615", Wanted::Part(0..10)),
    ] {
        assert_eq!(asked(range), wanted, "{range}");
    }
}

#[test]
fn a_range_of_another_version_is_everything() {
    let mut headers = HeaderMap::new();
    headers.insert(header::RANGE, HeaderValue::from_static("bytes=0-1"));
    headers.insert(header::IF_RANGE, HeaderValue::from_static("\"v1\""));
    assert_eq!(wanted(&headers, "\"v1\"", 10), Wanted::Part(0..2));
    assert_eq!(wanted(&headers, "\"v2\"", 10), Wanted::All);
}

#[test]
fn a_client_that_has_it_is_told_so() {
    let mut headers = HeaderMap::new();
    assert!(!is_known(&headers, "\"v1\""));
    for (given, known) in [
        ("\"v1\"", true),
        ("\"v0\", W/\"v1\"", true),
        ("*", true),
        ("\"v2\"", false),
    ] {
        headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static(given));
        assert_eq!(is_known(&headers, "\"v1\""), known, "{given}");
    }
}

#[test]
fn what_can_hold_scripts_is_saved_and_not_shown() {
    for kind in ["image/png", "video/mp4", "application/pdf", "text/plain"] {
        assert!(is_shown(kind), "{kind}");
    }
    for kind in [
        "image/svg+xml",
        "image/svg+xml; charset=utf-8",
        "image/x+xml",
        "image/xml",
        "text/html",
        "application/xhtml+xml",
        "text/xml",
        "application/octet-stream",
    ] {
        assert!(!is_shown(kind), "{kind}");
    }
}
