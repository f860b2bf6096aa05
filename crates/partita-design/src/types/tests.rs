use partita_core::{Map, Number};

use super::*;

fn number(text: &str) -> Value {
    Value::N(text.parse::<Number>().expect("a number"))
}

fn check(kind: &AttributeType, good: &[Value], bad: &[Value]) {
    for value in good {
        assert_eq!(kind.check(value), Ok(()), "{kind:?} {value:?}");
    }
    for value in bad {
        assert!(kind.check(value).is_err(), "{kind:?} {value:?}");
    }
}

#[test]
fn strings() {
    let mut short = StringType::default();
    short.length.max = Some(3);
    check(
        &AttributeType::String(short),
        &["".into(), "äöü".into()],
        &["abcd".into(), number("1")],
    );
    let tag = StringType {
        pattern: Some(TextPattern::new("^[a-z_]+:[^#]+$").expect("a pattern")),
        ..StringType::default()
    };
    check(
        &AttributeType::String(tag),
        &["pose:standing".into()],
        &["pose".into(), "pose:a#b".into()],
    );
    for (format, good, bad) in [
        (TextFormat::Email, "ann@example.org", "ann example.org"),
        (
            TextFormat::Url,
            "https://example.org/a",
            "ftp://example.org",
        ),
    ] {
        assert!(format.accepts(good) && !format.accepts(bad) && !format.accepts(""));
    }
    // One mailbox has one spelling.
    for around in [
        "a<ann@example.org>",
        "<ann@example.org>",
        "\"ann\"@example.org",
        "\"a@b.org\"<ann@example.org>",
        "ann(a)@example.org",
        "a@ann@example.org",
        "ann@example.org,bob",
        ".ann@example.org",
        "a..b@example.org",
    ] {
        assert!(!TextFormat::Email.accepts(around), "{around}");
    }
}

#[test]
fn numbers() {
    let from_zero = AttributeType::Number(Bounds::from_zero());
    check(&from_zero, &[number("0"), number("0.5")], &[number("-1")]);
    let above = Bounds {
        above_min: true,
        ..Bounds::from_zero()
    };
    check(
        &AttributeType::Int(above),
        &[number("1")],
        &[number("0"), number("1.5")],
    );
    let chosen = Bounds {
        choices: vec![Number::from(5_i64), Number::from(8_i64)],
        ..Bounds::default()
    };
    check(&AttributeType::Int(chosen), &[number("8")], &[number("6")]);
    let most = "9".repeat(38);
    let whole = AttributeType::Int(Bounds::default());
    check(
        &whole,
        &[number(&most), number(&format!("-{most}"))],
        &[number("1E+38"), number("-1E+38"), number("9E+125")],
    );
    check(&AttributeType::Counter, &[number("7")], &[number("1E+38")]);
}

#[test]
fn times_are_converted_when_they_are_assigned() {
    let instant = Value::from("2026-01-02T03:04:05.678Z");
    let expected = [
        (
            AttributeType::Time(TimeForm::Date),
            Value::from("2026-01-02"),
        ),
        (AttributeType::Time(TimeForm::Epoch), number("1767323045")),
        (
            AttributeType::Time(TimeForm::EpochMillis),
            number("1767323045678"),
        ),
        (AttributeType::Expiry, number("1767323045")),
        (AttributeType::timestamp(), instant.clone()),
    ];
    for (kind, value) in expected {
        assert_eq!(kind.adopt(instant.clone()), value, "{kind:?}");
    }
}

#[test]
fn shapes() {
    let shape = AttributeType::Shape(Shape {
        name: "Lora".to_owned(),
        fields: vec![Field {
            name: "scale".to_owned(),
            kind: AttributeType::Number(Bounds::default()),
            optional: false,
            file_in: None,
        }],
        open: false,
    });
    let map = |name: &str| Value::M(Map::from([(name.to_owned(), number("1"))]));
    check(
        &shape,
        &[map("scale")],
        &[map("mode"), Value::M(Map::new())],
    );
}

#[test]
fn states() {
    let states = States {
        names: ["DRAFT", "PUBLISHED", "COMPLETED"]
            .map(str::to_owned)
            .to_vec(),
        steps: vec![(0, 1), (1, 2)],
    };
    for (from, to, expected) in [
        ("DRAFT", "PUBLISHED", true),
        ("DRAFT", "DRAFT", true),
        ("DRAFT", "COMPLETED", false),
        ("PUBLISHED", "DRAFT", false),
        ("DRAFT", "LOST", false),
    ] {
        assert_eq!(states.allows(from, to), expected, "{from} {to}");
    }
}

#[test]
fn ids_have_one_spelling() {
    let uuid = "4b8c1f2e-9a01-4c5d-8e3f-0123456789ab";
    check(
        &AttributeType::Uuid,
        &[uuid.into()],
        &[uuid.to_uppercase().as_str().into(), "4b8c1f2e".into()],
    );
    let ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let with = |from: &str, to: &str| Value::from(ulid.replacen(from, to, 1));
    check(
        &AttributeType::Ulid,
        &[ulid.into(), with("0", "7"), with("V", "Z")],
        &[
            ulid.to_lowercase().as_str().into(),
            // More than 128 bits.
            with("0", "8"),
            // Read as `1`, `0` and not at all.
            with("1", "I"),
            with("1", "L"),
            with("3", "O"),
            with("V", "U"),
            with("V", ""),
            with("V", "VV"),
            with("V", "ä"),
            "".into(),
        ],
    );
}

#[test]
fn plain_json_spells_sets_as_lists_and_bytes_as_base64() {
    let list = |values: &[&str]| Value::L(values.iter().map(|text| (*text).into()).collect());
    let strings = AttributeType::Set(SetOf::Strings);
    let set = Value::Ss(["a".to_owned(), "b".to_owned()].into());
    assert_eq!(strings.from_plain(list(&["b", "a"])), set);
    assert_eq!(strings.from_plain(set.clone()), set, "it is one already");
    for nonsense in [list(&[]), list(&["a", "a"]), Value::L(vec![number("1")])] {
        assert_eq!(strings.from_plain(nonsense.clone()), nonsense);
        assert!(strings.check(&nonsense).is_err(), "{nonsense:?}");
    }
    let numbers = AttributeType::Set(SetOf::Numbers);
    let twice = Value::L(vec![number("1"), number("1.0")]);
    assert!(numbers.check(&numbers.from_plain(twice)).is_err());
    let binaries = AttributeType::Set(SetOf::Binaries);
    let set = Value::Bs([vec![0, 1], b"x".to_vec()].into());
    assert_eq!(binaries.from_plain(list(&["eA==", "AAE="])), set);

    let bytes = AttributeType::Binary;
    assert_eq!(bytes.from_plain("AAE=".into()), Value::B(vec![0, 1]));
    for nonsense in ["AAE", "A AE=", "\u{e4}"] {
        assert!(bytes.check(&bytes.from_plain(nonsense.into())).is_err());
    }
    // Also where they are inside of something.
    let shape = Shape {
        name: "Box".to_owned(),
        fields: vec![Field {
            name: "seal".to_owned(),
            kind: AttributeType::Binary,
            optional: true,
            file_in: None,
        }],
        open: false,
    };
    let boxes = AttributeType::List {
        element: Box::new(AttributeType::Shape(shape)),
        count: Count::default(),
    };
    let one = |seal: Value| Value::L(vec![Value::M(Map::from([("seal".to_owned(), seal)]))]);
    let sealed = boxes.from_plain(one("eA==".into()));
    assert_eq!(sealed, one(Value::B(b"x".to_vec())));
    assert_eq!(boxes.check(&sealed), Ok(()));
}
