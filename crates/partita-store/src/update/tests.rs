use std::collections::BTreeMap;

use partita_core::key::KeyType;

use super::*;
use crate::index::IndexProjection;
use crate::settings::Throughput;
use crate::table::{KeyAttribute, KeySchema};

fn index(name: &str, attribute: &str, kind: KeyType) -> IndexSchema {
    IndexSchema {
        name: name.to_owned(),
        kind: IndexKind::Global,
        partition: vec![KeyAttribute {
            name: attribute.to_owned(),
            kind,
        }],
        sort: Vec::new(),
        projection: IndexProjection::All,
    }
}

fn local(name: &str) -> IndexSchema {
    let sort = index(name, "l", KeyType::S).partition;
    IndexSchema {
        kind: IndexKind::Local,
        sort,
        ..index(name, "PK", KeyType::S)
    }
}

/// A table with the global index `by_a` and the local index `local`.
fn table() -> TableDescription {
    let schema = TableSchema {
        key: KeySchema::strings("PK", "SK"),
        indexes: vec![index("by_a", "a", KeyType::S), local("local")],
    };
    TableDescription::new("notes".parse().unwrap(), schema, 0)
}

fn building(name: &str) -> TableDescription {
    let mut table = table();
    table.schema.indexes.push(index(name, "z", KeyType::S));
    table.building.push(name.to_owned());
    table
}

fn apply(table: &TableDescription, changes: Vec<TableChange>) -> StoreResult<UpdatedTable> {
    let table_name = table.table.clone();
    let request = UpdateTable {
        table: table_name,
        changes,
    };
    request.apply(table)
}

fn create(name: &str, attribute: &str, kind: KeyType) -> TableChange {
    TableChange::CreateIndex(index(name, attribute, kind))
}

fn delete(name: &str) -> TableChange {
    TableChange::DeleteIndex(name.to_owned())
}

fn provisioned(units: u64, indexes: &[&str]) -> Billing {
    let throughput = Throughput {
        read: units,
        write: units,
    };
    let of_index = |name: &&str| ((*name).to_owned(), throughput);
    Billing::Provisioned {
        table: throughput,
        indexes: indexes.iter().map(of_index).collect::<BTreeMap<_, _>>(),
    }
}

#[test]
fn an_index_is_created_or_deleted() {
    let updated = apply(&table(), vec![create("by_b", "b", KeyType::N)]).unwrap();
    assert_eq!(updated.created, Some(index("by_b", "b", KeyType::N)));
    assert_eq!(updated.schema.indexes.len(), 3);

    let updated = apply(&table(), vec![delete("by_a")]).unwrap();
    assert_eq!(updated.deleted, Some(index("by_a", "a", KeyType::S)));
    assert_eq!(updated.schema.indexes, [local("local")]);
}

#[test]
fn what_cannot_be_created_is_refused() {
    for change in [
        create("by_a", "b", KeyType::S),
        create("local", "b", KeyType::S),
        create("by_b", "a", KeyType::N),
        create("by_b", "PK", KeyType::B),
        create("x", "b", KeyType::S),
        TableChange::CreateIndex(local("other")),
    ] {
        let error = apply(&table(), vec![change.clone()]).unwrap_err();
        let is_validation = matches!(error, StoreError::Validation { .. });
        assert!(is_validation, "{change:?}: {error:?}");
    }
    let mut full = table();
    let names = (1..20).map(|number| format!("index{number}"));
    let more = names.map(|name| index(&name, "a", KeyType::S));
    full.schema.indexes.extend(more);
    assert!(apply(&full, vec![create("one_more", "a", KeyType::S)]).is_err());
}

#[test]
fn what_cannot_be_deleted_is_refused() {
    let error = apply(&table(), vec![delete("missing")]).unwrap_err();
    assert!(matches!(error, StoreError::IndexNotFound { .. }));
    let error = apply(&table(), vec![delete("local")]).unwrap_err();
    assert!(matches!(error, StoreError::Validation { .. }));
}

#[test]
fn one_index_at_once() {
    let limited = |table: &TableDescription, changes: Vec<TableChange>| {
        let result = apply(table, changes);
        matches!(result, Err(StoreError::LimitExceeded { .. }))
    };
    let new = || create("by_b", "b", KeyType::S);
    assert!(limited(&table(), vec![new(), delete("by_a")]));
    let two = vec![new(), create("by_c", "c", KeyType::S)];
    assert!(limited(&table(), two));
    assert!(limited(&building("slow"), vec![new()]));
    assert!(limited(&building("slow"), vec![delete("by_a")]));
    assert!(apply(&building("slow"), vec![delete("slow")]).is_ok());
}

#[test]
fn a_stream_begins_and_ends() {
    let view = StreamView::KeysOnly;
    let updated = apply(&table(), vec![TableChange::Stream(Some(view))]).unwrap();
    assert_eq!(updated.stream, Some(Some(view)));
    assert_eq!(updated.settings.stream, Some(view));
    assert!(apply(&table(), vec![TableChange::Stream(None)]).is_err());

    let mut streamed = table();
    streamed.settings.stream = Some(view);
    let updated = apply(&streamed, vec![TableChange::Stream(None)]).unwrap();
    assert_eq!(
        (updated.stream, updated.settings.stream),
        (Some(None), None)
    );
    // Not even into itself.
    assert!(apply(&streamed, vec![TableChange::Stream(Some(view))]).is_err());
}

#[test]
fn what_is_provisioned_is_so_for_every_global_index_and_no_other() {
    let billed = |billing: Billing| vec![TableChange::Billing(billing)];
    let fitting = provisioned(5, &["by_a"]);
    let updated = apply(&table(), billed(fitting.clone())).unwrap();
    assert_eq!(updated.settings.billing, fitting);
    for indexes in [&[][..], &["by_a", "missing"][..]] {
        assert!(apply(&table(), billed(provisioned(5, indexes))).is_err());
    }

    let mut table = table();
    table.settings.billing = fitting.clone();
    assert!(apply(&table, billed(fitting)).is_err(), "nothing changes");
    assert!(apply(&table, billed(provisioned(6, &["by_a"]))).is_ok());
    assert!(apply(&table, billed(Billing::OnDemand)).is_ok());

    let new = create("by_b", "b", KeyType::S);
    assert!(apply(&table, vec![new.clone()]).is_err());
    let both = TableChange::Billing(provisioned(5, &["by_a", "by_b"]));
    assert!(apply(&table, vec![new, both]).is_ok());
    let updated = apply(&table, vec![delete("by_a")]).unwrap();
    assert_eq!(updated.settings.billing, provisioned(5, &[]));
}

#[test]
fn billing_waits_for_an_index() {
    let change = TableChange::Billing(provisioned(5, &["by_a", "slow"]));
    let error = apply(&building("slow"), vec![change]).unwrap_err();
    assert!(matches!(error, StoreError::ResourceInUse { .. }));
}

#[test]
fn a_protected_table_is_not_deleted() {
    let updated = apply(&table(), vec![TableChange::Protection(true)]).unwrap();
    assert!(updated.settings.check_deletion().is_err());
    assert!(table().settings.check_deletion().is_ok());
}

#[test]
fn nothing_is_no_update() {
    assert!(apply(&table(), Vec::new()).is_err());
}
