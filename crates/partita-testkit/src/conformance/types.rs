//! What values come back as they were.

use std::collections::BTreeSet;

use partita_core::limits::NESTING_MAX;
use partita_core::{Item, Number, Value};

use super::bench::Bench;
use super::values::{
    With as _, binaries, bytes, list, map, number, numbers, row, setting, strings, update,
};
use super::{expect, topic};
use partita_store::error::StoreResult;

topic! {"types":
    all_ten_types_come_back_as_they_were,
    empty_values_are_kept_outside_of_keys,
    empty_sets_are_refused,
    text_may_hold_any_character,
    values_nest_thirty_two_levels_deep,
    sets_have_no_order_and_no_duplicates,
}

async fn all_ten_types_come_back_as_they_were(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let item = row("1")
        .with("s", "text")
        .with("n", number("-1.5"))
        .with("b", bytes([0, 127, 128, 255]))
        .with("true", true)
        .with("false", false)
        .with("null", Value::Null)
        .with("l", list([1.into(), "two".into(), list([Value::Null])]))
        .with(
            "m",
            map([("a", 1.into()), ("b", map([("c", true.into())]))]),
        )
        .with("ss", strings(["b", "a"]))
        .with("ns", numbers([3, -1, 2]))
        .with("bs", binaries([&[255], &[0], b"ab"]));
    table.put(item.clone()).await?;
    assert_eq!(table.get(row("1")).await?, Some(item.clone()));
    let found = table.query(super::values::keys("PK = 'p'")).await?;
    assert_eq!(found, [item]);
    Ok(())
}

async fn empty_values_are_kept_outside_of_keys(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let item = row("1")
        .with("s", "")
        .with("b", bytes([]))
        .with("l", list([]))
        .with("m", map([]))
        .with("inside", list(["".into(), bytes([]), list([]), map([])]))
        .with("ss", strings(["", "a"]))
        .with("bs", binaries([b"", b"a"]));
    table.put(item.clone()).await?;
    assert_eq!(table.get(row("1")).await?, Some(item));
    Ok(())
}

async fn empty_sets_are_refused(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let empty = [strings([]), numbers([]), Value::Bs(BTreeSet::new())];
    for set in empty {
        for value in [set.clone(), list([set.clone()]), map([("a", set.clone())])] {
            expect::invalid(table.put(row("1").with("a", value.clone())).await);
            expect::invalid(table.update(row("1"), setting("a", value)).await);
        }
    }
    assert_eq!(table.get(row("1")).await?, None);
    Ok(())
}

async fn text_may_hold_any_character(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for text in [
        "\0",
        "\u{1}\u{7f}\u{80}",
        "line\nfeed\ttab\r",
        "\"quoted\" \\back",
        "né à ß 漢字",
        "\u{1f600}\u{ffff}\u{fffd}",
        "{\"S\": \"x\"}",
        "#n :v",
        "e\u{301}",
        "\u{e9}",
    ] {
        let item = row(text).with("a", text);
        table.put(item.clone()).await?;
        assert_eq!(table.get(row(text)).await?, Some(item), "{text:?}");
    }
    // Equal to the eye is not equal: nothing normalises the last two into one.
    let composed = table
        .get(row("\u{e9}"))
        .await?
        .map(|item| item["a"].clone());
    assert_eq!(composed, Some("\u{e9}".into()));
    Ok(())
}

async fn values_nest_thirty_two_levels_deep(bench: &Bench<'_>) -> StoreResult<()> {
    // The item is the first level.
    const DEEPEST: usize = NESTING_MAX - 1;
    let table = bench.table().await?;
    let lists = |depth| (0..depth).fold(Value::from("core"), |inner, _| list([inner]));
    let maps = |depth| (0..depth).fold(Value::from(1), |inner, _| map([("a", inner)]));
    for deep in [lists(DEEPEST), maps(DEEPEST)] {
        let item = row("1").with("deep", deep.clone());
        table.put(item.clone()).await?;
        assert_eq!(table.get(row("1")).await?, Some(item.clone()));
        assert_eq!(table.update(row("1"), setting("deep", deep)).await?, item);
    }
    for deep in [lists(DEEPEST + 1), maps(DEEPEST + 1)] {
        let deeper = row("1").with("deep", deep.clone());
        expect::invalid(table.put(deeper).await);
        expect::invalid(table.update(row("1"), setting("deep", deep)).await);
    }
    // Nor can an update put one value too deep into another.
    let nested = row("1")
        .with("outer", lists(DEEPEST / 2 + 1))
        .with("inner", lists(DEEPEST / 2 + 1));
    table.put(nested.clone()).await?;
    let steps = "[0]".repeat(DEEPEST / 2 + 1);
    let text = format!("SET outer{steps} = inner");
    expect::invalid(table.update(row("1"), update(&text)).await);
    assert_eq!(table.get(row("1")).await?, Some(nested));
    Ok(())
}

async fn sets_have_no_order_and_no_duplicates(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    // One number in several spellings is one member.
    let members: BTreeSet<Number> = ["1", "1.0", "2", "0.2e1"].map(number).into();
    let item = row("1").with("ns", Value::Ns(members));
    table.put(item).await?;
    let expected: Item = row("1").with("ns", numbers([1, 2]));
    assert_eq!(table.get(row("1")).await?, Some(expected));
    Ok(())
}
