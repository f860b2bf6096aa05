use super::*;

fn partition(number: i64) -> Vec<KeyValue> {
    vec![
        KeyValue::S(format!("p{number}")),
        KeyValue::N(number.into()),
    ]
}

#[test]
fn every_partition_is_in_one_segment() {
    for total in [1, 2, 3, 7, 64] {
        let mut sizes = vec![0; total as usize];
        for partition in (0..1_000).map(partition) {
            let segments =
                (0..total).filter(|&number| Segment { number, total }.contains(&partition));
            let segments: Vec<_> = segments.collect();
            let [number] = segments[..] else {
                panic!("{segments:?} of {total}");
            };
            sizes[number as usize] += 1;
        }
        // Roughly alike, or a parallel scan would not be one.
        let fair = 1_000 / total;
        assert!(
            sizes
                .iter()
                .all(|&size| size > fair / 4 && size < fair * 4 + 4),
            "{sizes:?}"
        );
    }
}

/// A changed hash would lose items to scans that go on after an upgrade.
#[test]
fn the_hash_stays_what_it_is() {
    assert_eq!(hash(&[]), 0xcbf2_9ce4_8422_2325);
    assert_eq!(hash(&partition(1)), 6_278_740_989_599_436_096);
}

#[test]
fn a_segment_is_one_of_its_total() {
    for (number, total, fits) in [
        (0, 1, true),
        (999_999, 1_000_000, true),
        (0, 0, false),
        (1, 1, false),
        (0, 1_000_001, false),
    ] {
        assert_eq!(
            Segment { number, total }.check().is_ok(),
            fits,
            "{number} of {total}"
        );
    }
}
