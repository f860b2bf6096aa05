use proptest::prelude::*;

use super::*;

fn check(text: &str, expected: Result<&str, &str>) {
    match (serde_json::from_str::<Value>(text), expected) {
        (Ok(value), Ok(printed)) => {
            assert_eq!(serde_json::to_string(&value).unwrap(), printed, "{text}");
        }
        (Err(error), Err(part)) => {
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
        (got, expected) => panic!("{text}: got {got:?}, expected {expected:?}"),
    }
}

#[test]
fn values() {
    check(r#"{"S": ""}"#, Ok(r#"{"S":""}"#));
    check(r#"{"N": "1.50"}"#, Ok(r#"{"N":"1.5"}"#));
    check(r#"{"B": "AAE="}"#, Ok(r#"{"B":"AAE="}"#));
    check(
        r#"{"L": [{"NULL": true}, {"BOOL": false}]}"#,
        Ok(r#"{"L":[{"NULL":true},{"BOOL":false}]}"#),
    );
    check(
        r#"{"M": {"b": {"NS": ["2", "1"]}}}"#,
        Ok(r#"{"M":{"b":{"NS":["1","2"]}}}"#),
    );
}

#[test]
fn answers() {
    let lines = include_str!("../../tests/corpus/values.txt").lines();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with("//")) {
        let (json, expected) = line.split_once(" => ").expect("a case has ` => `");
        let received: Received<Value> = serde_json::from_str(json).unwrap();
        let got = match received.into_result() {
            Ok(value) => serde_json::to_string(&value).unwrap(),
            Err(error) => format!("error: {error}"),
        };
        assert_eq!(got, expected, "{json}");
    }
}

#[test]
fn an_item_is_read_to_its_end() {
    let text = r#"{"Item": {"a": {"SS": []}, "b": {"L": [{"N": "x"}]}}, "Table": "t"}"#;
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Request {
        item: Received<Map>,
        table: String,
    }
    let request: Request = serde_json::from_str(text).unwrap();
    assert_eq!(request.item.0, Err(ValueError::EmptyStringSet));
    assert_eq!(request.table, "t");
}

#[test]
fn refusals() {
    check("{}", Err("exactly one"));
    check(r#"{"S": "a", "N": "1"}"#, Err("more than one"));
    check(r#"{"X": "a"}"#, Err("is empty"));
    check(
        r#"{"N": 1}"#,
        Err("NUMBER_VALUE cannot be converted to String"),
    );
    check(r#"{"N": "1e999999999"}"#, Err("overflow"));
    check(r#"{"NULL": false}"#, Err("must have the value of true"));
    check(r#"{"SS": []}"#, Err("may not be empty"));
    check(r#"{"NS": ["1", "1.0"]}"#, Err("duplicates"));
    check(r#"{"B": "?"}"#, Err("multiple of 4 bytes but found: 1"));
    check("[]", Err("Unrecognized collection type"));
}

#[test]
fn nesting_ends_at_the_limit() {
    let nested = |levels: usize| {
        format!(
            "{}{{\"S\":\"x\"}}{}",
            "{\"L\":[".repeat(levels),
            "]}".repeat(levels)
        )
    };
    assert!(serde_json::from_str::<Value>(&nested(32)).is_ok());
    check(&nested(33), Err("beyond supported limit"));
    assert!(serde_json::from_str::<Value>(&nested(100_000)).is_err());
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<String>().prop_map(Value::S),
        any::<i64>().prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..8).prop_map(Value::B),
        any::<bool>().prop_map(Value::Bool),
        Just(Value::Null),
        prop::collection::btree_set(any::<String>(), 1..4).prop_map(Value::Ss),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::L),
            prop::collection::vec((".+", inner), 0..4)
                .prop_map(|entries| Value::M(Map::from_iter(entries))),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(value in any_value()) {
        let text = serde_json::to_string(&value).unwrap();
        prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
