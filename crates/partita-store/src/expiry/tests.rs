use super::*;

const NOW_SECONDS: i64 = 1_800_000_000;

fn expired(value: Value) -> bool {
    let item = Item::from([("expires".to_owned(), value)]);
    has_expired(&item, "expires", NOW_SECONDS * 1000 + 999)
}

#[test]
fn an_item_expires_after_its_time_and_within_five_years() {
    let five_years = 157_680_000;
    for (seconds, expected) in [
        ("1800000001", false),
        ("1800000000", false),
        ("1799999999", true),
        ("1799999999.5", false),
        ("1799999998.999", true),
        ("1.7E9", true),
        ("0", false),
        ("-1", false),
        ("0.5", false),
        ("9E125", false),
        ("-9E125", false),
        ("1E-130", false),
        // Milliseconds, by mistake.
        ("1700000000000", false),
    ] {
        let number = Value::N(seconds.parse().unwrap());
        assert_eq!(expired(number), expected, "{seconds}");
    }
    assert!(expired(Value::from(NOW_SECONDS - five_years)));
    assert!(!expired(Value::from(NOW_SECONDS - five_years - 1)));
}

#[test]
fn what_is_no_number_never_expires() {
    for value in [
        Value::from("1700000000"),
        Value::Null,
        Value::L(vec![Value::from(1_700_000_000_i64)]),
    ] {
        assert!(!expired(value.clone()), "{value:?}");
    }
    assert!(!has_expired(&Item::new(), "expires", NOW_SECONDS * 1000));
}

#[test]
fn clocks_may_be_anywhere() {
    let item = Item::from([("expires".to_owned(), Value::from(i64::MIN))]);
    for now in [i64::MIN, -1, 0, i64::MAX] {
        has_expired(&item, "expires", now);
    }
}

#[test]
fn time_to_live_is_changed_as_dynamodb_lets_it() {
    let apply = |current, attribute: &str, is_enabled| {
        let request = UpdateTimeToLive {
            table: "notes".parse().unwrap(),
            attribute: attribute.to_owned(),
            is_enabled,
        };
        request.apply(current).map_err(|error| error.to_string())
    };
    assert_eq!(apply(None, "a", true), Ok(Some("a".to_owned())));
    assert_eq!(apply(Some("a"), "a", false), Ok(None));
    let different = "TimeToLive is active on a different AttributeName: current AttributeName is a";
    for (current, attribute, is_enabled, expected) in [
        (None, "a", false, "TimeToLive is already disabled"),
        (Some("a"), "a", true, "TimeToLive is already enabled"),
        (Some("a"), "b", true, different),
        (Some("a"), "b", false, different),
    ] {
        let result = apply(current, attribute, is_enabled);
        assert_eq!(result, Err(expected.to_owned()));
    }
    assert!(apply(None, "", true).is_err());
    assert!(apply(None, &"a".repeat(255), true).is_ok());
    assert!(apply(None, &"a".repeat(256), true).is_err());
}
