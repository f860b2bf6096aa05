use super::*;

fn position() -> Position {
    Position {
        stream: StreamName {
            table: "my-table_1.x".parse().unwrap(),
            label: "2026-01-31T10:15:00.000".to_owned(),
        },
        next: SequenceNumber(u128::MAX),
        made_millis: 1_000_000,
    }
}

#[test]
fn an_iterator_stands_for_its_position_for_fifteen_minutes() {
    let iterator = position().iterator();
    for now in [0, 1_000_000, 1_000_000 + ITERATOR_MILLIS] {
        assert_eq!(Position::of(&iterator, now), Ok(position()));
    }
    let late = Position::of(&iterator, 1_000_001 + ITERATOR_MILLIS);
    assert_eq!(late, Err(StoreError::IteratorExpired));
}

#[test]
fn the_longest_iterator_is_within_dynamodbs_bounds() {
    let mut longest = position();
    longest.stream.table = "t".repeat(255).parse().unwrap();
    longest.made_millis = i64::MIN;
    assert!(longest.iterator().0.len() <= 2_048);
}

#[test]
fn anything_else_is_no_iterator() {
    let whole = position().iterator().0;
    let mut others: Vec<String> = (0..whole.len())
        .map(|bytes| whole[..bytes].to_owned())
        // Only the last number can be cut, and stays one.
        .filter(|text| text.matches('|').count() < 4 || text.ends_with('|'))
        .collect();
    others.extend([
        format!("2{}", &whole[1..]),
        format!("{whole}|"),
        format!("{whole}|1"),
        format!("{whole}9999999999999999999"),
        whole.replace("my-table_1.x", "a b c"),
        whole.replace(&u128::MAX.to_string(), "-1"),
        "||||".to_owned(),
        "\u{1f600}".to_owned(),
    ]);
    for text in others {
        let result = Position::of(&ShardIterator(text.clone()), 1_000_000);
        let invalid = StoreError::validation("Invalid ShardIterator");
        assert_eq!(result, Err(invalid), "{text}");
    }
}
