//! Updates inside lists and maps.

use partita_core::Item;
use partita_core::expression::{Path, Step, Update};

use super::bench::Bench;
use super::topic;
use super::update::{becomes, refuses};
use super::values::{With as _, list, map, number, row, strings, update};
use partita_store::error::StoreResult;

topic! {"paths":
    set_reaches_into_maps_and_lists,
    remove_reaches_into_maps_and_lists,
    removed_elements_are_the_original_ones,
    beyond_the_end_of_a_list_is_its_end,
    elements_set_beyond_the_end_keep_their_order,
    clauses_on_one_list_see_it_as_it_was,
    the_parent_must_be_there,
    the_parent_must_be_of_the_right_type,
    add_and_delete_reach_inside,
}

/// `l` has the elements 0 to 4, `m` has the entries `x` and `inner.y`.
fn nested() -> Item {
    row("1")
        .with("l", list((0..5).map(|element: i64| element.into())))
        .with(
            "m",
            map([("x", 1.into()), ("inner", map([("y", 2.into())]))]),
        )
        .with("n", 7)
}

fn elements(members: &[i64]) -> Item {
    nested().with("l", list(members.iter().map(|&member| member.into())))
}

fn entries(x: i64, y: i64) -> Item {
    let inner = map([("y", y.into())]);
    nested().with("m", map([("x", x.into()), ("inner", inner)]))
}

async fn set_reaches_into_maps_and_lists(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for (text, after) in [
        ("SET l[0] = 9", elements(&[9, 1, 2, 3, 4])),
        ("SET l[4] = n, l[3] = l[0]", elements(&[0, 1, 2, 0, 7])),
        ("SET m.x = m.x + 1", entries(2, 2)),
        ("SET m.inner.y = m.x", entries(1, 1)),
        ("SET m.x = m.inner.y, m.inner.y = m.x", entries(2, 1)),
    ] {
        becomes(&table, &nested(), update(text), after).await?;
    }
    Ok(())
}

async fn remove_reaches_into_maps_and_lists(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let without_inner = nested().with("m", map([("x", 1.into())]));
    let empty_inner = nested().with("m", map([("x", 1.into()), ("inner", map([]))]));
    for (text, after) in [
        ("REMOVE l[2]", elements(&[0, 1, 3, 4])),
        ("REMOVE m.inner", without_inner),
        ("REMOVE m.inner.y", empty_inner),
        ("REMOVE m.missing", nested()),
        ("REMOVE l[99]", nested()),
    ] {
        becomes(&table, &nested(), update(text), after).await?;
    }
    Ok(())
}

async fn removed_elements_are_the_original_ones(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for (text, rest) in [
        ("REMOVE l[0], l[1]", &[2, 3, 4][..]),
        ("REMOVE l[1], l[0]", &[2, 3, 4]),
        ("REMOVE l[0], l[2], l[4]", &[1, 3]),
        ("REMOVE l[4], l[0], l[99]", &[1, 2, 3]),
    ] {
        becomes(&table, &nested(), update(text), elements(rest)).await?;
    }
    // Also where another path leads into a later element.
    let inner = |elements: &[i64]| list(elements.iter().map(|&element| element.into()));
    let before = row("1").with("l", list([inner(&[0]), inner(&[1, 2]), inner(&[3, 4])]));
    let after = row("1").with("l", list([inner(&[2]), inner(&[4])]));
    let text = "REMOVE l[0], l[1][0], l[2][0]";
    becomes(&table, &before, update(text), after).await?;
    Ok(())
}

async fn beyond_the_end_of_a_list_is_its_end(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for index in [5, 6, 99] {
        let text = format!("SET l[{index}] = 9");
        becomes(
            &table,
            &nested(),
            update(&text),
            elements(&[0, 1, 2, 3, 4, 9]),
        )
        .await?;
    }
    Ok(())
}

async fn elements_set_beyond_the_end_keep_their_order(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let after = elements(&[0, 1, 2, 3, 4, 7, 8, 9]);
    for text in [
        "SET l[5] = 7, l[6] = 8, l[7] = 9",
        "SET l[70] = 8, l[80] = 9, l[60] = 7",
    ] {
        becomes(&table, &nested(), update(text), after.clone()).await?;
    }
    Ok(())
}

async fn clauses_on_one_list_see_it_as_it_was(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for (text, rest) in [
        ("SET l[2] = 9 REMOVE l[0]", &[1, 9, 3, 4][..]),
        ("SET l[9] = 9 REMOVE l[0]", &[1, 2, 3, 4, 9]),
        ("SET l[0] = l[4] REMOVE l[4]", &[4, 1, 2, 3]),
    ] {
        becomes(&table, &nested(), update(text), elements(rest)).await?;
    }
    Ok(())
}

async fn the_parent_must_be_there(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for text in [
        "SET missing.a = 1",
        "SET m.missing.a = 1",
        "SET l[9].a = 1",
        "SET missing[0] = 1",
        "REMOVE missing.a",
        "REMOVE m.missing.a",
        "REMOVE missing[0]",
    ] {
        refuses(&table, &nested(), update(text)).await?;
    }
    Ok(())
}

async fn the_parent_must_be_of_the_right_type(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for text in [
        "SET n.a = 1",
        "SET n[0] = 1",
        "SET m[0] = 1",
        "SET l.a = 1",
        "REMOVE n.a",
        "REMOVE m[0]",
        "REMOVE l.a",
    ] {
        refuses(&table, &nested(), update(text)).await?;
    }
    Ok(())
}

async fn add_and_delete_reach_inside(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let path = |root: &str, step| Path {
        steps: vec![step],
        ..Path::attribute(root)
    };
    let before = nested().with("s", map([("set", strings(["a", "b"]))]));
    let change = Update {
        add: vec![
            (path("m", Step::Field("x".into())), 10.into()),
            (path("l", Step::Index(1)), number("0.5").into()),
        ],
        delete: vec![(path("s", Step::Field("set".into())), strings(["a"]))],
        ..Update::default()
    };
    let elements = [0.into(), number("1.5").into(), 2.into(), 3.into(), 4.into()];
    let after = entries(11, 2)
        .with("l", list(elements))
        .with("s", map([("set", strings(["b"]))]));
    becomes(&table, &before, change, after).await
}
