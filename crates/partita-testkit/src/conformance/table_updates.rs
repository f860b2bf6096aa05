//! Tables that change: their indexes, how they are billed, whether they can be deleted.

use std::collections::BTreeMap;

use partita_core::Name;
use partita_core::key::KeyType;

use super::bench::{Bench, Table};
use super::values::{
    With as _, attribute, global, including, indexed, keys, keys_only, local, number, row, update,
};
use super::{expect, topic};
use partita_store::error::{StoreError, StoreResult};
use partita_store::index::{IndexProjection, IndexSchema};
use partita_store::request::{CreateTable, TableChange, Totals, UpdateTable};
use partita_store::settings::{Billing, TableSettings, Throughput};
use partita_store::stream::StreamView;
use partita_store::table::{KeySchema, TableName};

topic! {"table_updates":
    an_index_is_added_and_filled,
    an_index_over_a_part_is_filled,
    writes_go_on_while_an_index_is_built,
    what_does_not_fit_a_new_index_is_left_out,
    what_did_not_fit_can_be_changed_and_deleted,
    an_index_is_deleted,
    a_deleted_index_can_be_created_again,
    one_index_is_changed_at_once,
    an_index_that_is_there_is_not_added,
    an_index_must_fit_the_table,
    only_global_indexes_that_are_there_are_deleted,
    nothing_is_no_change,
    nothing_changes_without_the_table,
    settings_are_described,
    a_protected_table_is_not_deleted,
    billing_changes,
    an_index_is_billed_too,
    totals_are_counted,
}

fn create(index: IndexSchema) -> TableChange {
    TableChange::CreateIndex(index)
}

fn delete(index: &str) -> TableChange {
    TableChange::DeleteIndex(index.to_owned())
}

/// Thirty items; ten of them have `a`.
async fn thirty<'a>(bench: &Bench<'a>) -> StoreResult<Table<'a>> {
    let table = bench.table().await?;
    for number in 0..30 {
        let item = row(&format!("{number:02}")).with("n", number);
        let item = match number % 3 {
            0 => item.with("a", "x").with("b", format!("{:02}", 30 - number)),
            _ => item,
        };
        table.put(item).await?;
    }
    Ok(table)
}

async fn an_index_is_added_and_filled(bench: &Bench<'_>) -> StoreResult<()> {
    let table = thirty(bench).await?;
    let index = global("by_a", ["a"], ["b"]);
    let updated = table.change(create(index.clone())).await?;
    assert_eq!(updated.schema.indexes, std::slice::from_ref(&index));
    table.until_built().await?;
    assert_eq!(table.describe().await?.schema.indexes, [index]);

    let entries = table.entries("by_a", keys("a = 'x'")).await?;
    let sorts: Vec<_> = entries.iter().map(|item| item["SK"].as_str()).collect();
    let expected = ["27", "24", "21", "18", "15", "12", "09", "06", "03", "00"].map(Some);
    assert_eq!(sorts, expected);

    table.put(row("new").with("a", "x").with("b", "99")).await?;
    table.delete(row("00")).await?;
    let entries = table.entries("by_a", keys("a = 'x' AND b > '29'")).await?;
    assert_eq!(entries, [row("new").with("a", "x").with("b", "99")]);
    Ok(())
}

async fn an_index_over_a_part_is_filled(bench: &Bench<'_>) -> StoreResult<()> {
    let table = thirty(bench).await?;
    let index = including(global("by_a", ["a"], []), ["n"]);
    table.change(create(index)).await?;
    table.until_built().await?;
    for entry in table.entries("by_a", keys("a = 'x'")).await? {
        let names: Vec<_> = entry.keys().map(Name::as_str).collect();
        assert_eq!(names, ["PK", "SK", "a", "n"]);
    }
    Ok(())
}

async fn writes_go_on_while_an_index_is_built(bench: &Bench<'_>) -> StoreResult<()> {
    let table = thirty(bench).await?;
    table.change(create(global("by_a", ["a"], []))).await?;
    // Whether the index is built by now or not, these find their way into it, or out of it.
    for number in [0, 3, 6] {
        table.delete(row(&format!("{number:02}"))).await?;
    }
    for number in [9, 12] {
        let key = row(&format!("{number:02}"));
        table.update(key, update("SET a = 'y'")).await?;
    }
    table.put(row("30").with("a", "y")).await?;
    table.until_built().await?;
    assert_eq!(table.entries("by_a", keys("a = 'x'")).await?.len(), 5);
    assert_eq!(table.entries("by_a", keys("a = 'y'")).await?.len(), 3);
    Ok(())
}

/// A table of items of which two fit the index `by_a` that is then built.
async fn misfits<'a>(bench: &Bench<'a>) -> StoreResult<Table<'a>> {
    let table = bench.table().await?;
    table.put(row("fits").with("a", "x")).await?;
    table.put(row("fits too").with("a", "x")).await?;
    table.put(row("number").with("a", 1)).await?;
    table.put(row("empty").with("a", "")).await?;
    let long = "x".repeat(2_049);
    table.put(row("long").with("a", long)).await?;
    table.put(row("missing")).await?;
    table.change(create(global("by_a", ["a"], []))).await?;
    table.until_built().await?;
    Ok(table)
}

async fn what_does_not_fit_a_new_index_is_left_out(bench: &Bench<'_>) -> StoreResult<()> {
    let table = misfits(bench).await?;
    assert_eq!(table.entries("by_a", keys("a = 'x'")).await?.len(), 2);
    let pages = table.scan_pages(table.through("by_a")).await?;
    assert_eq!(pages.iter().map(|page| page.count).sum::<usize>(), 2);
    let number = row("number").with("a", 1);
    assert_eq!(table.get(row("number")).await?, Some(number.clone()));
    // From now on, such items are refused.
    expect::invalid(table.put(number).await);
    expect::invalid(table.put(row("new").with("a", "")).await);
    Ok(())
}

async fn what_did_not_fit_can_be_changed_and_deleted(bench: &Bench<'_>) -> StoreResult<()> {
    let table = misfits(bench).await?;
    table.put(row("number").with("a", "x")).await?;
    table.update(row("empty"), update("SET a = 'x'")).await?;
    table.delete(row("long")).await?;
    assert_eq!(table.entries("by_a", keys("a = 'x'")).await?.len(), 4);
    assert_eq!(table.get(row("long")).await?, None);
    Ok(())
}

async fn an_index_is_deleted(bench: &Bench<'_>) -> StoreResult<()> {
    let indexes = [global("by_a", ["a"], []), global("by_b", ["b"], [])];
    let table = bench.table_with(indexed(indexes.clone())).await?;
    table.put(row("1").with("a", "x").with("b", "y")).await?;
    table.change(delete("by_a")).await?;
    assert_eq!(table.describe().await?.schema.indexes, indexes[1..]);
    expect::invalid(table.entries_when_free("by_a", keys("a = 'x'")).await);
    assert_eq!(table.entries("by_b", keys("b = 'y'")).await?.len(), 1);
    // What the index refused, the table takes.
    table.put(row("2").with("a", 1)).await?;
    Ok(())
}

async fn a_deleted_index_can_be_created_again(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench
        .table_with(indexed([global("index", ["a"], [])]))
        .await?;
    table.put(row("1").with("a", "x").with("b", "y")).await?;
    table.change(delete("index")).await?;
    // Amazon takes its time over the deletion, and one index is changed at once.
    let again = create(global("index", ["b"], []));
    table.change_when_free(again).await?;
    table.until_built().await?;
    assert_eq!(table.entries("index", keys("b = 'y'")).await?.len(), 1);
    expect::invalid(table.entries("index", keys("a = 'x'")).await);
    Ok(())
}

async fn one_index_is_changed_at_once(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench
        .table_with(indexed([global("by_a", ["a"], [])]))
        .await?;
    let (one, two) = (global("by_b", ["b"], []), global("by_c", ["c"], []));
    for changes in [
        vec![create(one.clone()), create(two.clone())],
        vec![create(one), delete("by_a")],
    ] {
        let request = UpdateTable {
            table: table.name.clone(),
            changes,
        };
        expect::limit_exceeded(bench.store.update_table(request).await);
    }
    assert_eq!(table.describe().await?.schema.indexes.len(), 1);
    Ok(())
}

async fn an_index_that_is_there_is_not_added(bench: &Bench<'_>) -> StoreResult<()> {
    let indexes = [global("by_a", ["a"], []), local("by_b", "b")];
    let table = bench.table_with(indexed(indexes)).await?;
    for name in ["by_a", "by_b"] {
        let again = create(global(name, ["c"], []));
        expect::invalid(table.change(again).await);
    }
    Ok(())
}

async fn an_index_must_fit_the_table(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench
        .table_with(indexed([global("by_a", ["a"], [])]))
        .await?;
    let of_number = |name: &str| IndexSchema {
        partition: vec![attribute(name, KeyType::N)],
        ..global("by_n", [], [])
    };
    for index in [
        of_number("a"),
        of_number("PK"),
        global("by", ["b"], []),
        global("with space", ["b"], []),
        global("no_partition", [], ["b"]),
        global("twice", ["b"], ["b"]),
        IndexSchema {
            projection: IndexProjection::Include(Vec::new()),
            ..global("nothing", ["b"], [])
        },
    ] {
        let text = format!("{index:?}");
        let result = table.change(create(index)).await;
        assert!(result.is_err(), "{text}");
        expect::invalid(result);
    }
    assert_eq!(table.describe().await?.schema.indexes.len(), 1);
    Ok(())
}

async fn only_global_indexes_that_are_there_are_deleted(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table_with(indexed([local("by_a", "a")])).await?;
    expect::invalid(table.change(delete("by_a")).await);
    let missing = table.change(delete("missing")).await;
    assert!(
        matches!(missing, Err(StoreError::IndexNotFound { .. })),
        "{missing:?}"
    );
    Ok(())
}

async fn nothing_is_no_change(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?.name;
    let changes = Vec::new();
    let request = UpdateTable { table, changes };
    expect::invalid(bench.store.update_table(request).await);
    Ok(())
}

async fn nothing_changes_without_the_table(bench: &Bench<'_>) -> StoreResult<()> {
    let table = Table {
        store: bench.store,
        name: bench.fresh_name(),
    };
    for change in [
        create(global("by_a", ["a"], [])),
        delete("by_a"),
        TableChange::Stream(Some(StreamView::KeysOnly)),
        TableChange::Billing(Billing::OnDemand),
        TableChange::Protection(true),
    ] {
        expect::table_not_found(table.change(change).await);
    }
    Ok(())
}

fn provisioned<const N: usize>(units: u64, indexes: [&str; N]) -> Billing {
    let throughput = Throughput {
        read: units,
        write: units + 1,
    };
    Billing::Provisioned {
        table: throughput,
        indexes: indexes
            .map(|name| (name.to_owned(), throughput))
            .into_iter()
            .collect(),
    }
}

async fn settings_are_described(bench: &Bench<'_>) -> StoreResult<()> {
    for settings in [
        TableSettings::default(),
        TableSettings {
            billing: provisioned(3, ["by_a"]),
            ..TableSettings::default()
        },
        TableSettings {
            stream: Some(StreamView::OldImage),
            ..TableSettings::default()
        },
    ] {
        let schema = indexed([global("by_a", ["a"], [])]);
        let request = CreateTable {
            settings: settings.clone(),
            ..CreateTable::new(bench.fresh_name(), schema)
        };
        let created = bench.store.create_table(request).await?;
        assert_eq!(created.settings, settings);
        let stream = created.latest_stream.as_ref();
        assert_eq!(stream.is_some(), settings.stream.is_some());
        assert!(stream.is_none_or(|stream| stream.table == created.table));
        let described = bench.store.describe_table(&created.table).await?;
        assert_eq!(described, created);
    }
    Ok(())
}

async fn a_protected_table_is_not_deleted(bench: &Bench<'_>) -> StoreResult<()> {
    let protect = |request: &mut CreateTable| request.settings.is_protected = true;
    let keys = KeySchema::strings("PK", "SK");
    let table = bench.table_as(protect, keys).await?;
    assert!(table.describe().await?.settings.is_protected);
    expect::invalid(bench.store.delete_table(&table.name).await);
    table.put(row("1")).await?;
    assert_eq!(table.get(row("1")).await?, Some(row("1")));

    table.change(TableChange::Protection(false)).await?;
    assert!(!table.describe().await?.settings.is_protected);
    table.change(TableChange::Protection(true)).await?;
    expect::invalid(bench.store.delete_table(&table.name).await);
    table.change(TableChange::Protection(false)).await?;
    bench.store.delete_table(&table.name).await?;
    expect::table_not_found(table.describe().await);
    Ok(())
}

async fn billing_changes(bench: &Bench<'_>) -> StoreResult<()> {
    let table = bench.table().await?;
    for billing in [
        provisioned(2, []),
        provisioned(4, []),
        Billing::OnDemand,
        provisioned(1, []),
    ] {
        let change = TableChange::Billing(billing.clone());
        let updated = table.change(change).await?;
        assert_eq!(updated.settings.billing, billing);
        assert_eq!(table.describe().await?.settings.billing, billing);
    }
    Ok(())
}

async fn an_index_is_billed_too(bench: &Bench<'_>) -> StoreResult<()> {
    let name: TableName = bench.fresh_name();
    let with = |billing: Billing| CreateTable {
        settings: TableSettings {
            billing,
            ..TableSettings::default()
        },
        ..CreateTable::new(
            name.clone(),
            indexed([keys_only(global("by_a", ["a"], []))]),
        )
    };
    let incomplete = with(provisioned(1, []));
    expect::invalid(bench.store.create_table(incomplete).await);
    let complete = with(provisioned(1, ["by_a"]));
    bench.store.create_table(complete).await?;
    let table = Table {
        store: bench.store,
        name,
    };
    let dearer = TableChange::Billing(provisioned(2, ["by_a"]));
    let updated = table.change(dearer).await?;
    assert_eq!(updated.settings.billing, provisioned(2, ["by_a"]));
    Ok(())
}

async fn totals_are_counted(bench: &Bench<'_>) -> StoreResult<()> {
    let indexes = [
        global("by_a", ["a"], []),
        keys_only(global("by_b", ["b"], [])),
        local("by_c", "c"),
    ];
    let table = bench.table_with(indexed(indexes)).await?;
    let nothing = Totals::default();
    let described = table.describe().await?;
    assert_eq!(described.totals, nothing);
    let names = ["by_a", "by_b", "by_c"];
    let of_each = |totals: [Totals; 3]| -> BTreeMap<String, Totals> {
        let names = names.map(str::to_owned).into_iter();
        names.zip(totals).collect()
    };
    assert_eq!(described.index_totals, of_each([nothing; 3]));

    // A key has 6 bytes, an attribute of one byte 2 more, and the number 2 + 1.
    let n = number("7");
    table.put(row("1").with("a", "x").with("n", n)).await?;
    table.put(row("2").with("b", "x").with("n", n)).await?;
    table.put(row("3").with("c", "x")).await?;
    table.put(row("4")).await?;
    table.put(row("4").with("longer", "x")).await?;
    table.delete(row("3")).await?;
    let described = table.describe().await?;
    let of = |items, bytes| Totals { items, bytes };
    assert_eq!(described.totals, of(3, 11 + 11 + 13));
    let expected = of_each([of(1, 11), of(1, 8), nothing]);
    assert_eq!(described.index_totals, expected);
    Ok(())
}
