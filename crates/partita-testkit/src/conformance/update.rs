//! Changing attributes: the four clauses, what they return, and what they refuse.

use partita_core::Item;
use partita_core::expression::{Path, Update};

use super::bench::{Bench, Table};
use super::values::{
    With as _, binaries, bytes, condition, list, number, numbers, row, setting, strings, update,
};
use super::{expect, topic};
use partita_store::error::StoreResult;
use partita_store::request::{ReturnValues, UpdateItem};

topic! {"update":
    set_writes_and_overwrites,
    set_computes,
    set_reads_the_item_as_it_was,
    set_needs_its_operands,
    if_not_exists_gives_a_default,
    list_append_joins_lists,
    remove_takes_attributes_away,
    add_adds_to_numbers_and_sets,
    delete_takes_members_out_of_sets,
    an_update_creates_the_item,
    an_update_without_clauses_creates_the_item,
    items_are_returned_on_request,
    a_condition_decides,
    a_failed_condition_brings_the_item_on_request,
    keys_cannot_be_updated,
    paths_must_not_overlap,
    a_refused_update_changes_nothing,
}

async fn set_writes_and_overwrites(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let before = row("1").with("a", 1).with("b", 1);
    let after = before.clone().with("a", 2).with("c", "new");
    becomes(&table, &before, update("SET a = 2, c = 'new'"), after).await?;
    let after = before.clone().with("a", "another type");
    becomes(&table, &before, update("SET a = 'another type'"), after).await
}

async fn set_computes(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let before = row("1").with("a", 10).with("b", number("0.5"));
    for (text, a) in [
        ("SET a = a + 1", "11"),
        ("SET a = a - 1", "9"),
        ("SET a = a + b", "10.5"),
        ("SET a = 3 - a", "-7"),
        ("SET a = b - b", "0"),
    ] {
        let after = before.clone().with("a", number(a));
        becomes(&table, &before, update(text), after).await?;
    }
    for text in [
        "SET a = a + 'text'",
        "SET a = PK + 1",
        "SET a = a + 100000000000000000000000000000000000000",
    ] {
        // The last would need a thirty-ninth digit.
        refuses(
            &table,
            &before.clone().with("a", number("0.5")),
            update(text),
        )
        .await?;
    }
    Ok(())
}

async fn set_reads_the_item_as_it_was(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let before = row("1").with("a", 1).with("b", 2);
    let after = before.clone().with("a", 2).with("b", 1);
    becomes(&table, &before, update("SET a = b, b = a"), after).await?;
    let after = row("1").with("b", 1);
    becomes(&table, &before, update("SET b = a REMOVE a"), after).await
}

async fn set_needs_its_operands(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let before = row("1").with("a", 1).with("text", "x");
    for text in [
        "SET a = missing",
        "SET a = missing + 1",
        "SET a = a - missing",
        "SET a = list_append(missing, missing)",
        "SET a = list_append(a, text)",
    ] {
        refuses(&table, &before, update(text)).await?;
    }
    // What is set in the same update is not there yet.
    refuses(&table, &before, update("SET b = 1, c = b")).await
}

async fn if_not_exists_gives_a_default(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let before = row("1").with("a", 5);
    for (text, after) in [
        ("SET a = if_not_exists(a, 0)", before.clone()),
        ("SET b = if_not_exists(b, 0)", before.clone().with("b", 0)),
        ("SET b = if_not_exists(b, a)", before.clone().with("b", 5)),
        (
            "SET b = if_not_exists(b, 0) + 1",
            before.clone().with("b", 1),
        ),
        (
            "SET a = if_not_exists(a, 0) + 1",
            before.clone().with("a", 6),
        ),
        (
            "SET b = if_not_exists(a, 0) - 1",
            before.clone().with("b", 4),
        ),
    ] {
        becomes(&table, &before, update(text), after).await?;
    }
    Ok(())
}

async fn list_append_joins_lists(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let elements = |members: &[i64]| list(members.iter().map(|&member| member.into()));
    let before = row("1")
        .with("a", elements(&[1, 2]))
        .with("b", elements(&[3]))
        .with("empty", elements(&[]));
    for (text, members) in [
        ("SET a = list_append(a, b)", &[1, 2, 3][..]),
        ("SET a = list_append(b, a)", &[3, 1, 2]),
        ("SET a = list_append(a, a)", &[1, 2, 1, 2]),
        ("SET a = list_append(a, empty)", &[1, 2]),
        ("SET a = list_append(if_not_exists(c, empty), b)", &[3]),
    ] {
        let after = before.clone().with("a", elements(members));
        becomes(&table, &before, update(text), after).await?;
    }
    Ok(())
}

async fn remove_takes_attributes_away(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let before = row("1").with("a", 1).with("b", 2);
    becomes(&table, &before, update("REMOVE a"), row("1").with("b", 2)).await?;
    becomes(&table, &before, update("REMOVE a, b"), row("1")).await?;
    becomes(&table, &before, update("REMOVE missing"), before.clone()).await
}

async fn add_adds_to_numbers_and_sets(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let before = row("1")
        .with("n", 10)
        .with("ss", strings(["a", "b"]))
        .with("ns", numbers([1, 2]))
        .with("bs", binaries([b"a"]))
        .with("s", "text");
    let adding = |name: &str, value| Update {
        add: vec![(Path::attribute(name), value)],
        ..Update::default()
    };
    for (name, more, after) in [
        ("n", 5.into(), 15.into()),
        ("n", (-11).into(), (-1).into()),
        ("new", 5.into(), 5.into()),
        ("ss", strings(["b", "c"]), strings(["a", "b", "c"])),
        ("ns", numbers([2, 3]), numbers([1, 2, 3])),
        ("bs", binaries([b"b"]), binaries([b"a", b"b"])),
        ("new", strings(["x"]), strings(["x"])),
    ] {
        let after = before.clone().with(name, after);
        becomes(&table, &before, adding(name, more), after).await?;
    }
    for (name, more) in [
        ("s", 1.into()),
        ("n", strings(["a"])),
        ("ss", numbers([1])),
        ("new", "text".into()),
        ("new", list([])),
    ] {
        refuses(&table, &before, adding(name, more)).await?;
    }
    Ok(())
}

async fn delete_takes_members_out_of_sets(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let before = row("1")
        .with("ss", strings(["a", "b"]))
        .with("ns", numbers([1, 2]))
        .with("bs", binaries([b"a", b"b"]))
        .with("n", 1);
    let deleting = |name: &str, value| Update {
        delete: vec![(Path::attribute(name), value)],
        ..Update::default()
    };
    for (name, less, after) in [
        ("ss", strings(["a", "z"]), strings(["b"])),
        ("ns", numbers([2]), numbers([1])),
        ("bs", binaries([b"a"]), binaries([b"b"])),
    ] {
        let after = before.clone().with(name, after);
        becomes(&table, &before, deleting(name, less), after).await?;
    }
    // An emptied set disappears, and a missing one loses nothing.
    let mut without = before.clone();
    without.remove("ss");
    let all = strings(["a", "b"]);
    becomes(&table, &before, deleting("ss", all.clone()), without).await?;
    becomes(&table, &before, deleting("missing", all), before.clone()).await?;
    for (name, less) in [
        ("n", numbers([1])),
        ("ss", numbers([1])),
        ("n", 1.into()),
        ("missing", 1.into()),
    ] {
        refuses(&table, &before, deleting(name, less)).await?;
    }
    Ok(())
}

async fn an_update_creates_the_item(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let change = Update {
        add: vec![(Path::attribute("n"), 1.into())],
        ..update("SET a = 1, b = if_not_exists(b, 7) + 1 REMOVE c")
    };
    let expected = row("1").with("a", 1).with("b", 8).with("n", 1);
    assert_eq!(table.update(row("1"), change).await?, expected);
    assert_eq!(table.get(row("1")).await?, Some(expected));
    Ok(())
}

async fn an_update_without_clauses_creates_the_item(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let nothing = Update::default;
    assert_eq!(table.update(row("1"), nothing()).await?, row("1"));
    let item = row("1").with("a", 1);
    becomes(&table, &item, nothing(), item.clone()).await
}

async fn items_are_returned_on_request(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let change = async |text, returns| {
        let request = table.updating(row("1"), update(text));
        bench.store.update_item(request, returns).await
    };
    let item = |a: i64| Some(row("1").with("a", a).with("b", 0));
    assert_eq!(
        change("SET a = 1, b = 0", ReturnValues::AllOld).await?,
        None
    );
    assert_eq!(change("SET a = 2", ReturnValues::AllOld).await?, item(1));
    assert_eq!(change("SET a = 3", ReturnValues::AllNew).await?, item(3));
    assert_eq!(change("SET a = 4", ReturnValues::None).await?, None);
    Ok(())
}

async fn a_condition_decides(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let change = async |text| {
        let request = UpdateItem {
            condition: Some(condition(text)),
            ..table.updating(row("1"), update("SET version = version + 1"))
        };
        bench.store.update_item(request, ReturnValues::None).await
    };
    expect::condition_failed(change("attribute_exists(PK)").await);
    assert_eq!(table.get(row("1")).await?, None);
    table.put(row("1").with("version", 1)).await?;
    change("version = 1").await?;
    expect::condition_failed(change("version = 1").await);
    let expected = row("1").with("version", 2);
    assert_eq!(table.get(row("1")).await?, Some(expected));
    Ok(())
}

async fn a_failed_condition_brings_the_item_on_request(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let change = async |return_item_on_failure| {
        let request = UpdateItem {
            condition: Some(condition("version = 7")),
            return_item_on_failure,
            ..table.updating(row("1"), update("SET a = 1"))
        };
        bench.store.update_item(request, ReturnValues::AllNew).await
    };
    assert_eq!(expect::condition_failed(change(true).await), None);
    let item = row("1").with("version", 8);
    table.put(item.clone()).await?;
    assert_eq!(expect::condition_failed(change(true).await), Some(item));
    assert_eq!(expect::condition_failed(change(false).await), None);
    Ok(())
}

async fn keys_cannot_be_updated(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for text in [
        "SET PK = 'q'",
        "SET SK = SK",
        "REMOVE SK",
        "SET a = 1, SK = '2'",
    ] {
        refuses(&table, &row("1"), update(text)).await?;
    }
    for key in [
        Item::new().with("PK", "p"),
        row("1").with("extra", 1),
        row("1").with("SK", bytes([1])),
        row(""),
    ] {
        expect::invalid(table.update(key, update("SET a = 1")).await);
    }
    Ok(())
}

async fn paths_must_not_overlap(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    let before = row("1").with("a", list([1.into(), 2.into()])).with("b", 1);
    let both = |one: &str, two: &str| {
        let (mut one, two) = (update(one), update(two));
        one.set.extend(two.set);
        one.remove.extend(two.remove);
        one
    };
    for (one, two) in [
        ("SET b = 1", "SET b = 2"),
        ("SET b = 1", "REMOVE b"),
        ("SET a[0] = 1", "REMOVE a"),
        ("SET a = b", "SET a[1] = 1"),
        ("REMOVE a[0]", "REMOVE a[0]"),
    ] {
        refuses(&table, &before, both(one, two)).await?;
    }
    Ok(())
}

async fn a_refused_update_changes_nothing(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    expect::invalid(
        table
            .update(row("1"), update("SET a = 1, b = missing"))
            .await,
    );
    assert_eq!(table.get(row("1")).await?, None);
    let too_large = "x".repeat(409_600);
    refuses(&table, &row("1").with("a", 1), setting("b", too_large)).await
}

/// Puts an item, updates it, and looks at what became of it.
pub(super) async fn becomes(
    table: &Table<'_>,
    before: &Item,
    update: Update,
    after: Item,
) -> StoreResult<()> {
    table.put(before.clone()).await?;
    let key = row("1");
    let new = match table.update(key.clone(), update.clone()).await {
        Ok(new) => new,
        Err(error) => panic!("{error} ({update:?})"),
    };
    assert_eq!(new, after, "returned by {update:?}");
    assert_eq!(table.get(key).await?, Some(after), "stored by {update:?}");
    Ok(())
}

/// Puts an item and tries an update that must not touch it.
pub(super) async fn refuses(table: &Table<'_>, before: &Item, update: Update) -> StoreResult<()> {
    table.put(before.clone()).await?;
    let result = table.update(row("1"), update.clone()).await;
    assert!(result.is_err(), "accepted: {update:?} gave {result:?}");
    expect::invalid(result);
    assert_eq!(table.get(row("1")).await?.as_ref(), Some(before));
    Ok(())
}
