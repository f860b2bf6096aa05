use proptest::prelude::*;

use super::*;
use crate::expression::{ExpressionCache, RequestExpressions};
use crate::plain;

fn item(json: &str) -> Item {
    plain::map_from_json(serde_json::from_str(json).unwrap()).unwrap()
}

fn project(text: &str, item: &Item) -> String {
    let cache = ExpressionCache::default();
    let mut expressions = RequestExpressions::new(&cache, None, None).unwrap();
    let projection = expressions.projection(text).unwrap();
    serde_json::to_string(&plain::map_to_json(&projection.apply(item))).unwrap()
}

/// The answers are those of DynamoDB Local to GetItem.
#[test]
fn parts_of_an_item() {
    let item = item(
        r#"{"m": {"x": 1, "y": {"z": "q"}}, "l": [0, 1, {"a": 2, "b": 3}, ["i", "j"]], "s": "x"}"#,
    );
    for (text, expected) in [
        ("m.x", r#"{"m":{"x":1}}"#),
        ("m.q", "{}"),
        ("m.y.q", "{}"),
        ("l[1]", r#"{"l":[1]}"#),
        ("l[9]", "{}"),
        ("l[2].a, l[0]", r#"{"l":[0,{"a":2}]}"#),
        ("l[2].q", "{}"),
        ("l[3][1], l[1], l[3][0]", r#"{"l":[1,["i","j"]]}"#),
        ("l[3][7], l[0]", r#"{"l":[0]}"#),
        ("s.a, m[0], l.a, q", "{}"),
        (
            "m.y.z, l[2].b, l[2].a, s",
            r#"{"l":[{"a":2,"b":3}],"m":{"y":{"z":"q"}},"s":"x"}"#,
        ),
    ] {
        assert_eq!(project(text, &item), expected, "{text}");
    }
}

#[test]
fn paths_that_touch_are_refused() {
    let path = |steps: Vec<Step>| Path {
        steps,
        ..Path::attribute("a")
    };
    let (b, first) = (Step::Field("b".into()), Step::Index(0));
    for (one, two) in [
        (vec![], vec![]),
        (vec![], vec![b.clone()]),
        (vec![b.clone()], vec![]),
        (vec![b.clone()], vec![first.clone()]),
        (vec![first.clone(), b.clone()], vec![first, Step::Index(0)]),
    ] {
        assert!(Projection::new(vec![path(one), path(two)]).is_err());
    }
    let fields = vec![path(vec![b]), path(vec![Step::Field("c".into())])];
    assert!(Projection::new(fields).is_ok());
}

fn any_path() -> impl Strategy<Value = Path> {
    let step = prop_oneof![
        "[a-c]".prop_map(|name| Step::Field(name.into())),
        (0..3_usize).prop_map(Step::Index)
    ];
    ("[a-c]", prop::collection::vec(step, 0..3)).prop_map(|(root, steps)| Path {
        steps,
        ..Path::attribute(root)
    })
}

fn any_value() -> impl Strategy<Value = Value> {
    any::<i64>()
        .prop_map(Value::from)
        .prop_recursive(3, 20, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::L),
                any_map(inner).prop_map(Value::M),
            ]
        })
}

fn any_map(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map> {
    let entries = prop::collection::vec(("[a-c]", inner), 0..3);
    entries.prop_map(Map::from_iter)
}

/// The values that are not lists or maps.
fn leaves(value: &Value, into: &mut Vec<Value>) {
    match value {
        Value::L(list) => list.iter().for_each(|value| leaves(value, into)),
        Value::M(map) => map.values().for_each(|value| leaves(value, into)),
        leaf => into.push(leaf.clone()),
    }
}

proptest! {
    /// A projection has exactly what its paths lead to.
    #[test]
    fn no_more_and_no_less(
        paths in prop::collection::vec(any_path(), 1..4),
        item in any_map(any_value()),
    ) {
        let overlap = |(n, one): (usize, &Path)| paths[n + 1..].iter().any(|two| one.overlaps(two));
        let has_overlap = paths.iter().enumerate().any(overlap);
        let Ok(projection) = Projection::new(paths.clone()) else {
            return Ok(());
        };
        prop_assert!(!has_overlap);
        let (mut expected, mut got) = (Vec::new(), Vec::new());
        paths.iter().filter_map(|path| path.find(&item)).for_each(|it| leaves(it, &mut expected));
        projection.apply(&item).values().for_each(|value| leaves(value, &mut got));
        let sort = |leaves: &mut Vec<Value>| leaves.sort_by_key(|value| format!("{value:?}"));
        sort(&mut expected);
        sort(&mut got);
        prop_assert_eq!(got, expected);
    }
}
