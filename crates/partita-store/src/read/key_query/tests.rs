use partita_core::expression::Bindings;
use partita_core::key::KeyType;

use super::*;
use crate::index::{IndexKind, IndexProjection, IndexSchema};
use crate::table::{KeySchema, TableSchema};

/// A table by `PK` and `SK`, and its index by `s` and `n`, sorted by `x`, `y` and `z`.
fn schema() -> TableSchema {
    let attribute = |name: &str| KeyAttribute {
        name: name.to_owned(),
        kind: match name {
            "n" => KeyType::N,
            _ => KeyType::S,
        },
    };
    TableSchema {
        key: KeySchema::strings("PK", "SK"),
        indexes: vec![IndexSchema {
            name: "index".to_owned(),
            kind: IndexKind::Global,
            partition: ["s", "n"].map(attribute).into(),
            sort: ["x", "y", "z"].map(attribute).into(),
            projection: IndexProjection::All,
        }],
    }
}

fn resolve(index: Option<&str>, text: &str) -> StoreResult<KeyQuery> {
    let schema = schema();
    let source = ReadSource::named(&schema, index)?;
    source.resolve(&KeyCondition::parse(text, &Bindings::Literals)?)
}

fn text(value: &str) -> KeyValue {
    KeyValue::S(value.to_owned())
}

#[test]
fn equalities_make_a_prefix_and_the_next_key_has_a_range() {
    let number = || KeyValue::N(1_i64.into());
    let of_index = |texts: &[&str]| -> Vec<KeyValue> {
        let sort = texts.iter().map(|value| text(value));
        [text("a"), number()].into_iter().chain(sort).collect()
    };
    for (index, condition, prefix, range) in [
        (None, "PK = 'a'", vec![text("a")], None),
        (
            None,
            "PK = 'a' AND SK = 'b'",
            vec![text("a"), text("b")],
            None,
        ),
        (
            None,
            "SK < 'b' AND PK = 'a'",
            vec![text("a")],
            Some(SortRange::Less(text("b"))),
        ),
        (Some("index"), "n = 1 AND s = 'a'", of_index(&[]), None),
        (
            Some("index"),
            "s = 'a' AND n = 1.0 AND x = 'b'",
            of_index(&["b"]),
            None,
        ),
        (
            Some("index"),
            "s = 'a' AND n = 1 AND begins_with(y, 'c') AND x = 'b'",
            of_index(&["b"]),
            Some(SortRange::BeginsWith(text("c"))),
        ),
        (
            Some("index"),
            "s = 'a' AND n = 1 AND x = 'b' AND y = 'c' AND z BETWEEN 'd' AND 'e'",
            of_index(&["b", "c"]),
            Some(SortRange::Between(text("d"), text("e"))),
        ),
    ] {
        let expected = KeyQuery { prefix, range };
        assert_eq!(resolve(index, condition), Ok(expected), "{condition}");
    }
}

#[test]
fn whatever_is_not_a_prefix_and_a_range_is_refused() {
    for (index, condition, message) in [
        (None, "SK = 'a'", "missed key schema element: PK"),
        (
            None,
            "PK = 'a' AND other = 'b'",
            "missed key schema element: SK",
        ),
        (
            None,
            "PK = 'a' AND other > 'b'",
            "missed key schema element: SK",
        ),
        (
            None,
            "PK = 'a' AND SK = 'a' AND SK > 'b'",
            "one condition per key",
        ),
        (None, "PK = 'a' AND PK = 'b'", "one condition per key"),
        (None, "PK = 1", "does not match schema type"),
        (None, "PK = ''", "empty string"),
        (None, "PK = 'a' AND SK BETWEEN 'c' AND 'b'", "upper bound"),
        (Some("index"), "PK = 'a'", "HASH key attributes s must"),
        (
            Some("index"),
            "s = 'a' AND n > 1",
            "HASH key attributes n must",
        ),
        (
            Some("index"),
            "s = 'a' AND n = 1 AND y = 'b'",
            "RANGE key attributes x must have equality conditions specified in the query because a condition is present on key attribute y",
        ),
        (
            Some("index"),
            "s = 'a' AND n = 1 AND z > 'b'",
            "RANGE key attributes x, y must",
        ),
        (
            Some("index"),
            "s = 'a' AND n = 1 AND x > 'a' AND y = 'b'",
            "RANGE key attributes x must",
        ),
        (
            Some("index"),
            "s = 'a' AND n = 1 AND SK = 'b'",
            "not supported",
        ),
        (
            Some("other"),
            "s = 'a'",
            "does not have the specified index",
        ),
    ] {
        let error = resolve(index, condition).unwrap_err().to_string();
        assert!(error.contains(message), "{condition}: {error}");
    }
}

#[test]
fn a_query_holds_what_has_its_prefix_and_lies_in_its_range() {
    let values =
        |parts: &[&str]| -> Vec<KeyValue> { parts.iter().map(|part| text(part)).collect() };
    let query = |prefix: &[&str], range| KeyQuery {
        prefix: values(prefix),
        range,
    };
    for (query, place, expected) in [
        (query(&[], None), &["a", "b"][..], true),
        (query(&["a"], None), &["a", "b"], true),
        // A partition is no prefix of another.
        (query(&["a"], None), &["ab", "b"], false),
        (
            query(&["a"], Some(SortRange::Greater(text("a")))),
            &["a", "b"],
            true,
        ),
        (
            query(&["a"], Some(SortRange::Greater(text("b")))),
            &["a", "b"],
            false,
        ),
        (
            query(&["a"], Some(SortRange::BeginsWith(text("b")))),
            &["a", "bc", "d"],
            true,
        ),
        (
            query(&["a", "b"], Some(SortRange::LessOrEqual(text("c")))),
            &["a", "b", "c"],
            true,
        ),
        (
            query(&["a", "b"], Some(SortRange::Less(text("c")))),
            &["a", "b"],
            false,
        ),
    ] {
        assert_eq!(
            query.contains(&values(place)),
            expected,
            "{query:?} {place:?}"
        );
    }
}
