use super::*;

#[test]
fn every_type_survives_the_way_there_and_back() {
    let number = |text: &str| text.parse::<Number>().unwrap();
    let values = [
        Value::from("text"),
        Value::from(""),
        Value::N(number("-12345678901234567890123456789012345678")),
        Value::N(number("1e-130")),
        Value::B(vec![0, 255]),
        Value::from(true),
        Value::Null,
        Value::L(vec![Value::Null, Value::L(vec![])]),
        Value::M(Item::from([("a.b".to_owned(), Value::from(1_i64))])),
        Value::Ss(BTreeSet::from(["a".to_owned(), "b".to_owned()])),
        Value::Ns(BTreeSet::from([number("1.5"), number("-2")])),
        Value::Bs(BTreeSet::from([vec![], vec![1]])),
    ];
    for value in values {
        assert_eq!(to_attribute(&value).value(), Ok(value));
    }
}

#[test]
fn an_unreadable_value_is_told_with_its_place() {
    let attributes = Attributes::from([(
        "m".to_owned(),
        AttributeValue::M(Attributes::from([(
            "n".to_owned(),
            AttributeValue::N("twelve".to_owned()),
        )])),
    )]);
    let Unreadable(message) = from_attributes(attributes).unwrap_err();
    assert!(message.starts_with("`m`: `n`: "), "{message}");
}

#[test]
fn unreadable_data_means_one_thing_to_a_read_and_another_to_a_write() {
    let attributes = || {
        let number = AttributeValue::N("twelve".to_owned());
        Some(Attributes::from([("n".to_owned(), number)]))
    };
    assert!(matches!(
        read(attributes()),
        Err(StoreError::Corrupt { .. })
    ));
    assert!(matches!(
        returned(attributes()),
        Err(StoreError::OutcomeUnknown { .. })
    ));
}
