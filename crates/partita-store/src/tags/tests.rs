use super::*;

fn tag(key: &str, value: &str) -> Tags {
    Tags::from([(key.to_owned(), value.to_owned())])
}

fn numbered(range: std::ops::Range<usize>) -> Tags {
    range
        .map(|number| (format!("k{number}"), String::new()))
        .collect()
}

#[test]
fn keys_and_values_have_bounds() {
    for (key, value, fits) in [
        ("k".to_owned(), String::new(), true),
        ("ü".repeat(128), "ü".repeat(256), true),
        (String::new(), "v".to_owned(), false),
        ("k".repeat(129), "v".to_owned(), false),
        ("k".to_owned(), "v".repeat(257), false),
        ("aws:k".to_owned(), "v".to_owned(), false),
        ("AWS:k".to_owned(), "v".to_owned(), false),
        ("awsk".to_owned(), "aws:v".to_owned(), true),
    ] {
        assert_eq!(check(&tag(&key, &value)).is_ok(), fits, "{key}: {value}");
    }
}

#[test]
fn a_table_has_fifty_tags_however_they_came() {
    assert!(check(&numbered(0..50)).is_ok());
    assert!(check(&numbered(0..51)).is_err());
    let thirty = numbered(0..30);
    assert_eq!(added(&thirty, numbered(20..50)), Ok(numbered(0..50)));
    assert!(added(&thirty, numbered(30..51)).is_err());
}

#[test]
fn a_tag_is_replaced_and_removed_by_its_key() {
    let tags = added(&tag("k", "1"), tag("k", "2")).unwrap();
    assert_eq!(tags, tag("k", "2"));
    let keys = ["other".to_owned()];
    assert_eq!(removed(&tags, &keys), Ok(tags.clone()));
    let keys = ["other".to_owned(), "k".to_owned()];
    assert_eq!(removed(&tags, &keys), Ok(Tags::new()));
    assert!(removed(&tags, &["aws:k".to_owned()]).is_err());
}
