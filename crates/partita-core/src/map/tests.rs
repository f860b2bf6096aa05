use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Edit {
    Insert(String, i64),
    GetOrInsert(String, i64),
    Remove(String),
    Extend(Vec<(String, i64)>),
    RetainOdd,
}

/// Names that are equal often, and some that have memory of their own; more than [`FEW`] of them.
fn any_name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-h]{0,2}", "[ab]é{12,13}"]
}

fn any_entries() -> impl Strategy<Value = Vec<(String, i64)>> {
    prop::collection::vec((any_name(), any::<i64>()), 0..3 * FEW)
}

fn any_edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        (any_name(), any::<i64>()).prop_map(|(name, value)| Edit::Insert(name, value)),
        (any_name(), any::<i64>()).prop_map(|(name, value)| Edit::GetOrInsert(name, value)),
        any_name().prop_map(Edit::Remove),
        any_entries().prop_map(Edit::Extend),
        Just(Edit::RetainOdd),
    ]
}

fn values(entries: Vec<(String, i64)>) -> impl Iterator<Item = (String, Value)> {
    let entries = entries.into_iter();
    entries.map(|(name, value)| (name, Value::from(value)))
}

fn is_odd(value: &Value) -> bool {
    matches!(value, Value::N(number) if number.to_i64().is_some_and(|number| number % 2 != 0))
}

/// Makes an edit in both, which must answer alike.
fn edit(map: &mut Map, model: &mut BTreeMap<String, Value>, edit: Edit) {
    match edit {
        Edit::Insert(name, value) => {
            let before = map.insert(name.as_str(), Value::from(value));
            assert_eq!(before, model.insert(name, Value::from(value)));
        }
        Edit::GetOrInsert(name, value) => {
            let found = map.get_or_insert_with(&name, || Value::from(value));
            assert_eq!(found, model.entry(name).or_insert(Value::from(value)));
        }
        Edit::Remove(name) => assert_eq!(map.remove(&name), model.remove(&name)),
        Edit::Extend(entries) => {
            map.extend(values(entries.clone()));
            model.extend(values(entries));
        }
        Edit::RetainOdd => {
            map.retain(|_, value| is_odd(value));
            model.retain(|_, value| is_odd(value));
        }
    }
}

proptest! {
    /// Whatever is done to it, it holds what the standard library's map would.
    #[test]
    fn it_is_a_map(begin in any_entries(), edits in prop::collection::vec(any_edit(), 0..20)) {
        let mut map: Map = values(begin.clone()).collect();
        let mut model: BTreeMap<String, Value> = values(begin).collect();
        for one in edits {
            edit(&mut map, &mut model, one);
            prop_assert!(map.iter().map(|(name, value)| (name.as_str(), value)).eq(
                model.iter().map(|(name, value)| (name.as_str(), value))
            ));
        }
        prop_assert_eq!(map.len(), model.len());
        prop_assert_eq!(format!("{map:?}"), format!("{model:?}"));
        for name in model.keys() {
            prop_assert_eq!(map.get(name), model.get(name));
        }
        let again: Map = map.clone().into_iter().rev().collect();
        prop_assert_eq!(again, map);
    }
}

#[test]
fn of_several_values_under_one_name_the_last_counts() {
    let number = |number: i64| Value::from(number);
    let map = Map::from([
        ("b", number(1)),
        ("a", number(2)),
        ("b", number(3)),
        ("b", number(4)),
    ]);
    assert_eq!(map, Map::from([("a", number(2)), ("b", number(4))]));
}
