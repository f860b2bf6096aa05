use partita_core::Value;

use super::*;

const JSON: &str = r#"{"PK":{"S":"a"},"n":{"N":"12.50"}}"#;

fn item() -> Item {
    let number = "12.5".parse().unwrap();
    Item::from([
        ("PK".to_owned(), Value::from("a")),
        ("n".to_owned(), Value::N(number)),
    ])
}

#[test]
fn both_forms_are_the_same_item() {
    let (parts, json) = (
        FoundItem::from(item()),
        FoundItem::from_json(JSON.into(), 7),
    );
    assert_eq!(parts, json);
    assert_eq!(format!("{parts:?}"), format!("{json:?}"));
    assert_eq!(parts.size(), json.size());
    assert_eq!(json.into_item(), Ok(item()));
}

#[test]
fn text_is_copied_and_parts_are_written() {
    let text = |found: FoundItem| {
        let mut out = b"> ".to_vec();
        found.write_json(&mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(
        text(FoundItem::from_json(JSON.into(), 7)),
        format!("> {JSON}")
    );
    assert_eq!(
        text(item().into()),
        r#"> {"PK":{"S":"a"},"n":{"N":"12.5"}}"#
    );
}

#[test]
fn damage_is_told_by_who_looks_inside() {
    let damaged = || FoundItem::from_json("{\"PK\"".into(), 7);
    assert!(matches!(
        damaged().into_item(),
        Err(StoreError::Corrupt { .. })
    ));
    assert_ne!(damaged(), damaged());
    assert!(format!("{:?}", damaged()).contains("not DynamoDB JSON"));
}
