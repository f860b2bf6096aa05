use super::*;

/// The list that counts and the match that runs are two; this holds them together.
#[test]
fn every_operation_is_counted() {
    let source = include_str!("../ops.rs");
    let arms = source.lines().map(str::trim);
    let arms = arms.filter_map(|line| {
        let rest = ["(DYNAMODB, \"", "(STREAMS, \""]
            .iter()
            .find_map(|start| line.strip_prefix(start))?;
        rest.split_once('"').map(|(name, _)| name)
    });
    assert_eq!(arms.collect::<Vec<_>>(), NAMES);
}
