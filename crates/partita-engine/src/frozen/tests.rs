use super::*;

fn tables() -> [TableName; 2] {
    ["notes", "others"].map(|name| name.parse().unwrap())
}

#[test]
fn a_read_counts_only_if_its_table_was_open_all_the_while() {
    let frozen = Frozen::default();
    let [notes, others] = tables();
    let filled = [notes.clone()];
    let before = frozen.look();
    frozen.demand_open(before, &notes).unwrap();
    frozen.hold(&filled, "arrives").unwrap();
    // Held tables are read until they are closed.
    frozen.demand_open(before, &notes).unwrap();
    frozen.close(&filled);
    let amid = frozen.look();
    for look in [before, amid] {
        let refused = frozen.demand_open(look, &notes).unwrap_err();
        assert_eq!(refused.to_string(), "arrives");
        frozen.demand_open(look, &others).unwrap();
    }
    frozen.open(&filled);
    for look in [before, amid] {
        let refused = frozen.demand_open(look, &notes).unwrap_err();
        assert!(refused.to_string().contains("read it again"), "{refused}");
        assert_eq!(frozen.closed_since(look).len(), 1);
    }
    let after = frozen.look();
    frozen.demand_open(after, &notes).unwrap();
    assert!(frozen.closed_since(after).is_empty());
}

#[test]
fn one_fills_a_table_at_a_time() {
    let frozen = Frozen::default();
    let [notes, others] = tables();
    let both = [notes.clone(), others.clone()];
    // What is frozen by others is not filled, and nothing of it is held then.
    frozen.add(std::slice::from_ref(&others), "moved").unwrap();
    let refused = frozen.hold(&both, "arrives").unwrap_err();
    assert!(matches!(refused, StoreError::ReadOnly { .. }), "{refused}");
    frozen.remove(&both);
    frozen.hold(&both, "arrives").unwrap();
    frozen
        .hold(std::slice::from_ref(&notes), "too")
        .unwrap_err();
    frozen
        .add(std::slice::from_ref(&notes), "moved")
        .unwrap_err();
    // Neither is it thawed.
    frozen.remove(&both);
    frozen
        .hold(std::slice::from_ref(&notes), "too")
        .unwrap_err();
    // One that ends before anything was written leaves nothing.
    frozen.release(&both);
    assert!(frozen.now().is_empty());
    // One that ends later leaves the tables closed, for the next one.
    frozen.hold(&both, "arrives").unwrap();
    frozen.close(&both);
    frozen.release(&both);
    frozen.remove(&both);
    frozen.add(&both, "moved").unwrap_err();
    demand_readable(&frozen.now(), &notes).unwrap_err();
    frozen.hold(&both, "arrives again").unwrap();
    demand_readable(&frozen.now(), &notes).unwrap_err();
    frozen.open(&both);
    frozen.release(&both);
    assert!(frozen.now().is_empty());
}
