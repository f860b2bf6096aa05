use std::collections::BTreeMap;

use partita_core::{Item, Value};
use proptest::prelude::*;

use super::*;

type Content = BTreeMap<Vec<u8>, Item>;

/// Short keys over few bytes, so that bounds and rows meet.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(0..3_u8, 1..4)
}

fn content() -> impl Strategy<Value = Content> {
    let item = any::<u8>().prop_map(|number| item(&number.to_string()));
    prop::collection::btree_map(key(), item, 0..20)
}

fn item(text: &str) -> Item {
    Item::from([("a".to_owned(), Value::from(text))])
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        1 => Just(Unbounded),
        3 => key().prop_map(Included),
        3 => key().prop_map(Excluded),
    ]
}

fn bounds() -> impl Strategy<Value = Bounds> {
    (bound(), bound()).prop_filter("the right way round", |(low, high)| match (low, high) {
        (Included(low), Included(high)) => low <= high,
        (Included(low) | Excluded(low), Included(high) | Excluded(high)) => low < high,
        _ => true,
    })
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Ascending), Just(Direction::Descending)]
}

fn range(content: &Content, bounds: &Bounds, direction: Direction) -> Vec<(Vec<u8>, FoundItem)> {
    let rows = content.range(bounds.clone());
    let mut rows: Vec<_> = rows
        .map(|(key, value)| (key.clone(), value.clone().into()))
        .collect();
    if direction == Direction::Descending {
        rows.reverse();
    }
    rows
}

/// Reads at most so many rows, and makes a run of them.
fn run(content: &Content, bounds: &Bounds, direction: Direction, limit: usize) -> Option<Arc<Run>> {
    let rows = range(content, bounds, direction);
    let mut recorder = Recorder::default();
    for (key, value) in rows.iter().take(limit) {
        recorder.push(key, value);
    }
    recorder.finish(bounds.clone(), direction, rows.len() <= limit)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_096))]

    /// Whatever was read before, a run answers a range with the beginning of its rows, and with all
    /// of them if it says so.
    #[test]
    fn a_run_tells_what_is_stored(
        content in content(),
        (read, read_direction, limit) in (bounds(), direction(), 0..8_usize),
        (asked, asked_direction) in (bounds(), direction()),
    ) {
        let Some(run) = run(&content, &read, read_direction, limit) else { return Ok(()) };
        let Some(part) = run.part(&asked, asked_direction) else { return Ok(()) };
        let told: Vec<_> = part.rows().map(|(key, row)| (key.to_vec(), row)).collect();
        let stored = range(&content, &asked, asked_direction);
        prop_assert!(stored.starts_with(&told), "{told:?} of {stored:?}");
        prop_assert!(!part.is_all || told == stored, "{told:?} is not all of {stored:?}");
    }

    /// What was read is known.
    #[test]
    fn a_run_knows_what_was_read(
        content in content(),
        (read, direction, limit) in (bounds(), direction(), 1..8_usize),
    ) {
        let Some(run) = run(&content, &read, direction, limit) else { return Ok(()) };
        let part = run.part(&read, direction).expect("the same was asked for before");
        let stored = range(&content, &read, direction);
        prop_assert!(part.is_all || part.rows().count() >= limit);
        prop_assert_eq!(part.is_all, stored.len() <= limit);
    }
}

#[test]
fn a_large_read_makes_no_run() {
    let mut recorder = Recorder::default();
    recorder.push(b"a", &item(&"x".repeat(RUN_BYTES_MAX / 2)).into());
    recorder.push(b"b", &item(&"x".repeat(RUN_BYTES_MAX / 2)).into());
    assert!(
        recorder
            .finish((Unbounded, Unbounded), Direction::Ascending, true)
            .is_none()
    );
}
