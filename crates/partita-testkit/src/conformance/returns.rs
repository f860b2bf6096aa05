//! What single writes answer with: the parts that an update wrote to, before and after.

use partita_core::expression::Update;
use partita_core::{Item, Value};

use super::bench::{Bench, Table};
use super::values::{With as _, list, map, row, strings, update};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::request::ReturnValues;

topic! {"returns":
    an_update_answers_what_it_wrote_to,
    what_is_gone_or_was_not_there_is_left_out,
    nothing_written_is_nothing_answered,
    only_the_nested_parts_are_answered,
    paths_into_lists_are_taken_at_their_word,
    only_updates_have_parts,
}

const OLD: ReturnValues = ReturnValues::UpdatedOld;
const NEW: ReturnValues = ReturnValues::UpdatedNew;

/// Puts `before`, or nothing, and asks an update for both answers.
async fn both(
    table: &Table<'_>,
    before: Option<&Item>,
    text: &str,
) -> StoreResult<(Option<Item>, Option<Item>)> {
    let mut answers = Vec::new();
    for returns in [OLD, NEW] {
        table.delete(row("1")).await?;
        if let Some(before) = before {
            table.put(before.clone()).await?;
        }
        let request = table.updating(row("1"), update(text));
        answers.push(table.store.update_item(request, returns).await?);
    }
    let new = answers.pop().flatten();
    Ok((answers.pop().flatten(), new))
}

fn only(name: &str, value: impl Into<Value>) -> Option<Item> {
    Some(Item::new().with(name, value))
}

async fn an_update_answers_what_it_wrote_to(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let before = row("1").with("a", 1).with("b", 1).with("s", strings(["x"]));
    for (text, name, old, new) in [
        ("SET a = 2", "a", 1.into(), 2.into()),
        ("SET a = a", "a", 1.into(), 1.into()),
        ("ADD a 5", "a", 1.into(), 6.into()),
        ("SET a = b + a", "a", 1.into(), 2.into()),
    ] {
        let found = both(&table, Some(&before), text).await?;
        let (old, new): (Value, Value) = (old, new);
        assert_eq!(found, (only(name, old), only(name, new)), "{text}");
    }
    let found = both(&table, Some(&before), "SET a = 2, b = 3").await?;
    let (old, new) = (
        Item::new().with("a", 1).with("b", 1),
        Item::new().with("a", 2).with("b", 3),
    );
    assert_eq!(found, (Some(old), Some(new)));
    Ok(())
}

async fn what_is_gone_or_was_not_there_is_left_out(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let before = row("1").with("a", 1).with("b", 1);
    let found = both(&table, Some(&before), "SET c = 1").await?;
    assert_eq!(found, (None, only("c", 1)));
    let found = both(&table, Some(&before), "REMOVE a").await?;
    assert_eq!(found, (only("a", 1), None));
    let found = both(&table, Some(&before), "SET b = 2 REMOVE a").await?;
    assert_eq!(
        found,
        (Some(Item::new().with("a", 1).with("b", 1)), only("b", 2))
    );
    // A new item's keys were not written by the update.
    let found = both(&table, None, "SET c = 1").await?;
    assert_eq!(found, (None, only("c", 1)));
    Ok(())
}

async fn nothing_written_is_nothing_answered(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let before = row("1").with("a", 1);
    let found = both(&table, Some(&before), "REMOVE nothing").await?;
    assert_eq!(found, (None, None));
    for returns in [OLD, NEW] {
        let request = table.updating(row("1"), Update::default());
        assert_eq!(table.store.update_item(request, returns).await?, None);
    }
    Ok(())
}

async fn only_the_nested_parts_are_answered(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let inner = map([("y", 1.into()), ("z", 1.into())]);
    let before = row("1").with("m", map([("x", 1.into()), ("inner", inner)]));
    let m = |name: &str, value: Value| only("m", map([(name, value)]));
    let found = both(&table, Some(&before), "SET m.x = 2").await?;
    assert_eq!(found, (m("x", 1.into()), m("x", 2.into())));
    let found = both(&table, Some(&before), "SET m.new = 2").await?;
    assert_eq!(found, (None, m("new", 2.into())));
    let found = both(&table, Some(&before), "REMOVE m.x").await?;
    assert_eq!(found, (m("x", 1.into()), None));
    let found = both(&table, Some(&before), "SET m.inner.y = 2 REMOVE m.x").await?;
    let y = |value: i64| map([("y", value.into())]);
    let old = only("m", map([("x", 1.into()), ("inner", y(1))]));
    assert_eq!(found, (old, m("inner", y(2))));
    Ok(())
}

/// After the removal of an element its index is that of the next one, which is returned; an
/// element that is written behind the end has another index, and is not.
async fn paths_into_lists_are_taken_at_their_word(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let before = row("1").with("l", list([1.into(), 2.into(), 3.into()]));
    let l = |element: i64| only("l", list([element.into()]));
    for (text, old, new) in [
        ("SET l[1] = 7", l(2), l(7)),
        ("SET l[9] = 7", None, None),
        ("REMOVE l[0]", l(1), l(2)),
        ("REMOVE l[2]", l(3), None),
    ] {
        assert_eq!(
            both(&table, Some(&before), text).await?,
            (old, new),
            "{text}"
        );
    }
    Ok(())
}

async fn only_updates_have_parts(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    table.put(row("1")).await?;
    for returns in [OLD, NEW] {
        let put = table.putting(row("1").with("a", 1));
        expect::invalid(table.store.put_item(put, returns).await);
        let delete = table.deleting(row("1"));
        expect::invalid(table.store.delete_item(delete, returns).await);
    }
    assert_eq!(table.get(row("1")).await?, Some(row("1")));
    Ok(())
}
