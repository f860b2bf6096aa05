use proptest::prelude::*;

use super::*;
use crate::{Item, Value, plain};

/// The cases of a corpus file: the text before and after ` => `.
fn cases(corpus: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    corpus
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#') || line.starts_with("#t"))
        .map(|line| {
            let (input, expected) = line.split_once("=> ").expect("a case has `=> `");
            (input.trim(), expected)
        })
}

fn item(json: &str) -> Item {
    plain::map_from_json(serde_json::from_str(json).unwrap()).unwrap()
}

fn check(input: &str, got: Result<String, String>, expected: &str) {
    match (got, expected.strip_prefix("error: ")) {
        (Ok(got), None) => assert_eq!(got, expected, "{input}"),
        (Err(message), Some(part)) => assert!(message.contains(part), "{input}: {message}"),
        (got, _) => panic!("{input}: got {got:?}, expected {expected}"),
    }
}

#[test]
fn conditions() {
    let item = item(
        r#"{"title": "Dune", "pages": 612, "price": 9.50, "deleted": false, "none": null,
            "tags": ["sand", "spice"], "stats": {"reads": 3}, "zero": ""}"#,
    );
    for (input, expected) in cases(include_str!("../../tests/corpus/conditions.txt")) {
        let got = Condition::parse(input, &Bindings::Literals);
        check(
            input,
            got.map(|condition| condition.holds(&item).to_string())
                .map_err(|error| error.to_string()),
            expected,
        );
    }
}

#[test]
fn updates() {
    let before = item(r#"{"a": 1, "l": [1, 2, 3], "m": {"x": 1}}"#);
    for (input, expected) in cases(include_str!("../../tests/corpus/updates.txt")) {
        let mut after = before.clone();
        let got = match Update::parse(input, &Bindings::Literals) {
            Err(error) => Err(error.to_string()),
            Ok(update) => match update.apply(&mut after) {
                Err(error) => {
                    assert_eq!(after, before, "{input}: a refused update changed the item");
                    Err(error.to_string())
                }
                Ok(()) => Ok(serde_json::to_string(&plain::map_to_json(&after)).unwrap()),
            },
        };
        check(input, got, expected);
    }
}

/// What a text of a few bytes says can be far larger than an item; it is not made.
#[test]
fn an_update_makes_no_more_than_an_item_holds() {
    let list = Value::L(vec![Value::from(""); 250_000]);
    let before = Item::from([("l", list)]);
    let copies: Vec<_> = (0..400).map(|at| format!("a{at} = l")).collect();
    for (text, expected) in [
        ("SET a = l", None),
        ("SET a = if_not_exists(l, 1)", None),
        ("SET a = l, b = l", Some(UpdateError::TooLarge)),
        ("SET a = list_append(l, l)", Some(UpdateError::TooLarge)),
        // Every other mistake is reported first.
        (
            "SET a = l, b = l, c = nothing",
            Some(UpdateError::MissingOperand),
        ),
        (
            "SET a = list_append(l, l), b = l + 1",
            Some(UpdateError::WrongType),
        ),
        (
            &format!("SET {}", copies.join(", ")),
            Some(UpdateError::TooLarge),
        ),
    ] {
        let update = Update::parse(text, &Bindings::Literals).unwrap();
        let mut after = before.clone();
        assert_eq!(update.apply(&mut after).err(), expected, "{text:.80}");
        assert_eq!(after == before, expected.is_some(), "{text:.80}");
    }
}

#[test]
fn hostile_text_does_not_exhaust_the_stack() {
    for text in ["(".repeat(4000), "NOT ".repeat(1000), "a[".repeat(2000)] {
        assert!(Condition::parse(&text, &Bindings::Literals).is_err());
    }
    let long = vec!["a = 1"; 400].join(" OR ");
    let error = Condition::parse(&long, &Bindings::Literals).unwrap_err();
    assert!(error.message.contains("300 operators"), "{error}");
    assert!(Condition::parse(&"a".repeat(5000), &Bindings::Literals).is_err());
    assert!(Condition::parse("名 = 'é'", &Bindings::Literals).is_err());
}

#[test]
fn what_is_not_known_stays_open() {
    struct Nobody;
    impl Scope for Nobody {
        fn find(&self, path: &Path) -> Found<'_> {
            match path.root.as_str() {
                "caller" => Found::Unknown,
                "public" => Found::Value(std::borrow::Cow::Owned(Value::Bool(true))),
                _ => Found::Missing,
            }
        }
    }
    for (text, expected) in [
        ("owner = caller", None),
        ("NOT owner = caller", None),
        ("owner <> caller", None),
        ("public = true OR owner = caller", Some(true)),
        ("public = false AND owner = caller", Some(false)),
        ("public = true AND owner = caller", None),
        ("owner IN (caller)", None),
    ] {
        let condition = Condition::parse(text, &Bindings::Literals).unwrap();
        assert_eq!(condition.decide(&Nobody), expected, "{text}");
    }
}

#[test]
fn key_conditions() {
    let keys = |text| KeyCondition::parse(text, &Bindings::Literals);
    let both = keys("PK = 'a' AND begins_with(SK, 'b')").unwrap();
    assert_eq!(both.equals, [("PK".to_owned(), Value::from("a"))]);
    assert_eq!(
        both.range,
        Some(("SK".to_owned(), KeyRange::BeginsWith(Value::from("b"))))
    );
    for refused in [
        "PK <> 'a'",
        "PK = 'a' OR PK = 'b'",
        "NOT PK = 'a'",
        "SK > 'a'",
        "PK = 'a' AND SK > 'a' AND SK < 'b'",
        "PK.a = 'a'",
        "PK = SK",
    ] {
        assert!(keys(refused).is_err(), "{refused}");
    }
}

#[test]
fn lists_of_one_get_no_parentheses() {
    let exists = |name: &str| Condition::Exists(Path::attribute(name));
    let either = Condition::Any(vec![exists("a"), exists("b")]);
    let wrapped = Condition::Any(vec![Condition::All(vec![either])]);
    let render = |condition: &Condition| Renderer::default().condition(condition);
    let text = "attribute_exists(#n0) OR attribute_exists(#n1)";
    assert_eq!(render(&wrapped), text);
    let not = Condition::Not(Box::new(wrapped.clone()));
    assert_eq!(render(&not), format!("NOT ({text})"));
    let both = Condition::All(vec![wrapped, exists("a")]);
    assert_eq!(render(&both), format!("({text}) AND attribute_exists(#n0)"));
}

#[test]
fn conditions_that_make_no_sense() {
    let check = |text| Condition::parse(text, &Bindings::Literals).unwrap().check();
    for text in [
        "a = b AND a = 1",
        "5 = 5",
        "size(a) = size(a)",
        "size(a) < 'x'",
        "a = true",
        "a BETWEEN 1 AND 1",
        "a BETWEEN b AND b",
        "a IN (1, 1, null)",
        "begins_with(a, b)",
        "contains(a, null)",
    ] {
        assert_eq!(check(text), Ok(()), "{text}");
    }
    for text in [
        "a = a",
        "b = 1 OR NOT (a = a)",
        "a < true",
        "null >= a",
        "a BETWEEN 2 AND 1",
        "a BETWEEN 'b' AND 'a'",
        "a BETWEEN 1 AND 'a'",
        "a BETWEEN true AND b",
        "a BETWEEN b AND a",
        "a IN (1, a)",
        "begins_with(a, 1)",
        "begins_with(a, a)",
        "begins_with(size(a), 'x')",
        "contains(a, a)",
    ] {
        assert!(check(text).is_err(), "{text}");
    }
}

fn any_path() -> impl Strategy<Value = Path> {
    let step = prop_oneof![
        "[a-z-]{1,3}".prop_map(|name| Step::Field(name.into())),
        (0..9_usize).prop_map(Step::Index)
    ];
    ("[a-z#-]{1,3}", prop::collection::vec(step, 0..3)).prop_map(|(root, steps)| Path {
        root: root.into(),
        steps,
        span: Span::default(),
    })
}

fn any_operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        any_path().prop_map(Operand::Path),
        any::<i64>().prop_map(Operand::value),
        any::<String>().prop_map(Operand::value),
        any_path().prop_map(Operand::Size),
    ]
}

fn any_condition() -> impl Strategy<Value = Condition> {
    let comparator = prop_oneof![
        Just(Comparator::Equal),
        Just(Comparator::NotEqual),
        Just(Comparator::Less),
        Just(Comparator::GreaterOrEqual)
    ];
    let leaf = prop_oneof![
        (any_operand(), comparator, any_operand())
            .prop_map(|(a, c, b)| Condition::Compare(a, c, b)),
        (any_operand(), any_operand(), any_operand())
            .prop_map(|(a, b, c)| Condition::Between(a, b, c)),
        (any_operand(), prop::collection::vec(any_operand(), 1..4))
            .prop_map(|(a, list)| Condition::In(a, list)),
        any_path().prop_map(Condition::Exists),
        any_path().prop_map(Condition::NotExists),
        any_path().prop_map(|path| Condition::HasType(path, crate::Type::Ss)),
        (any_operand(), any_operand()).prop_map(|(a, b)| Condition::BeginsWith(a, b)),
        (any_operand(), any_operand()).prop_map(|(a, b)| Condition::Contains(a, b)),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::All),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::Any),
            inner.prop_map(|inner| Condition::Not(Box::new(inner))),
        ]
    })
}

fn any_update() -> impl Strategy<Value = Update> {
    let operand = prop_oneof![
        any_path().prop_map(SetOperand::Path),
        any::<i64>().prop_map(|n| SetOperand::Value(n.into())),
        (any_path(), any::<i64>())
            .prop_map(|(p, n)| SetOperand::IfNotExists(p, Box::new(SetOperand::Value(n.into())))),
    ];
    let value = prop_oneof![
        operand.clone().prop_map(SetValue::Is),
        (operand.clone(), operand.clone()).prop_map(|(a, b)| SetValue::Plus(a, b)),
        (operand.clone(), operand).prop_map(|(a, b)| SetValue::Minus(a, b)),
    ];
    (
        prop::collection::vec((any_path(), value), 1..3),
        prop::collection::vec(any_path(), 0..3),
        prop::collection::vec((any_path(), any::<i64>().prop_map(Value::from)), 0..3),
    )
        .prop_map(|(set, remove, add)| Update {
            set,
            remove,
            add,
            delete: Vec::new(),
        })
}

proptest! {
    #[test]
    fn a_rendered_condition_reads_back(condition in any_condition()) {
        let mut renderer = Renderer::default();
        let text = renderer.condition(&condition);
        let (names, values) = renderer.into_bindings();
        let bindings = Bindings::Placeholders { names: &names, values: &values };
        prop_assert_eq!(Condition::parse(&text, &bindings).unwrap(), condition);
    }

    #[test]
    fn a_rendered_update_reads_back(update in any_update()) {
        let mut renderer = Renderer::default();
        let text = renderer.update(&update);
        let (names, values) = renderer.into_bindings();
        let bindings = Bindings::Placeholders { names: &names, values: &values };
        match Update::parse(&text, &bindings) {
            Ok(parsed) => prop_assert_eq!(parsed, update),
            Err(error) => prop_assert!(update.check().is_err(), "{}: {}", text, error),
        }
    }

    #[test]
    fn any_text_is_answered(text in "[a-z0-9 ()='<>,.#:\\[\\]+-]{0,40}") {
        let _ = Condition::parse(&text, &Bindings::Literals);
        let _ = Update::parse(&text, &Bindings::Literals);
    }
}
