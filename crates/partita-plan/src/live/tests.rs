//! Servers that start at once, and tables that a new design no longer names.

use std::collections::BTreeSet;
use std::sync::Arc;

use partita_core::Map;
use partita_design::Design;
use partita_store::request::{DeleteItem, ListTables, ReturnValues};
use partita_store::surroundings::ManualClock;
use partita_store::{ModelStore, Store};
use partita_testkit::{Faults, FaultyStore};

use super::{DesignError, Settled, Start, Unrecorded, Written, history, record, settle};
use crate::commit::run::{Patience, Runner};
use crate::error::PlanError;
use crate::operation::{Caller, Operation};
use crate::partita::{Partita, Surroundings, runner};
use crate::{sidecar, table};

fn design(key: &str) -> Design {
    let text = format!(
        r#"
        design = "notes"
        [table]
        name = "notes"
        key  = ["PK", "SK"]
        [entity.Note]
        PK = "{key}#{{noteId}}"
        SK = "NOTE"
        [entity.Note.attributes]
        noteId = "ulid, generated"
        [entity.Note.allow]
        "*" = "public"
        [pattern.note]
        get = "PK = '{key}#{{noteId}}' AND SK = 'NOTE'"
        "#
    );
    partita_design::check(&text, &|_| None).0.unwrap()
}

async fn settled(design: Design, runner: &Runner, start: &mut Start) -> Result<Settled, PlanError> {
    let settled = settle(design, runner, start, Unrecorded::Refused).await?;
    table::prepare(&settled.design, &*runner.store).await?;
    Ok(settled)
}

/// Both find empty tables and no record; the one that records its design last must not serve it,
/// because the other may have begun to write.
#[tokio::test]
async fn the_second_of_two_servers_that_start_at_once_takes_the_design_of_the_first() {
    let store = Arc::new(ModelStore::default());
    let runner = runner(store, &Surroundings::default());
    let clock = ManualClock::at(0);
    let mut starts = [Start::default(); 3];
    let [one, two, three] = &mut starts;
    let first = settled(design("NOTE"), &runner, one).await.unwrap();
    let same = settled(design("NOTE"), &runner, two).await.unwrap();
    let other = settled(design("N"), &runner, three).await.unwrap();

    assert_eq!(record(&first, &runner, &clock).await, Ok(Written::Done));
    assert_eq!(record(&same, &runner, &clock).await, Ok(Written::Taken));
    assert_eq!(record(&other, &runner, &clock).await, Ok(Written::Taken));

    let same = settled(design("NOTE"), &runner, two).await.unwrap();
    assert!(same.adoption.is_none());
    let other = settled(design("N"), &runner, three).await.err();
    let Some(PlanError::Design(DesignError::Differs { differences, .. })) = other else {
        panic!("{other:?}");
    };
    let names: Vec<_> = differences.iter().map(|one| one.name()).collect();
    assert_eq!(names, ["entity.Note.PK"]);
}

fn two_tables(log: &str) -> Design {
    let text = format!(
        r#"
        design = "notes"
        [table.main]
        name = "notes"
        key  = ["PK", "SK"]
        [table.log]
        name = "{log}"
        key  = ["LogPK", "LogSK"]
        [entity.Note]
        PK = "NOTE#{{noteId}}"
        SK = "NOTE"
        [entity.Note.attributes]
        noteId = "ulid, generated"
        [entity.Note.allow]
        "*" = "public"
        [entity.Entry]
        table = "log"
        LogPK = "ENTRY#{{entryId}}"
        LogSK = "ENTRY"
        [entity.Entry.attributes]
        entryId = "ulid, generated"
        [entity.Entry.allow]
        "*" = "public"
        [pattern.note]
        get = "PK = 'NOTE#{{noteId}}' AND SK = 'NOTE'"
        "#
    );
    let (design, diagnostics) = partita_design::check(&text, &|_| None);
    design.unwrap_or_else(|| panic!("{diagnostics:#?}"))
}

#[tokio::test]
async fn items_in_a_table_that_is_no_longer_named_are_items() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let open = |log: &str| Partita::open(two_tables(log), store.clone());
    open("journal").await.unwrap();
    let partita = open("log").await.unwrap();
    let entry = Operation::Create {
        entity: "Entry".to_owned(),
        attributes: Map::new(),
    };
    partita.run(&Caller::user("ann"), entry).await.unwrap();
    // The first text itself was live before, and would be served as the newer one.
    let mut text = two_tables("journal").origin.text;
    text += "# again";
    let journal = partita_design::check(&text, &|_| None).0.unwrap();
    let refused = Partita::open(journal, store.clone()).await.err();
    let Some(PlanError::Design(DesignError::Differs { differences, .. })) = refused else {
        panic!("{refused:?}");
    };
    let names: Vec<_> = differences.iter().map(|one| one.name()).collect();
    assert_eq!(names, ["table.log"]);
}

/// The prints of many short lines take more room than the lines.
#[tokio::test]
async fn a_design_that_does_not_fit_into_an_item_is_refused_before_anything_is_made() {
    let mut text = design("NOTE").origin.text;
    let many: String = (0..1990).map(|at| format!("a{at} = 'int?'\n")).collect();
    for name in ["A", "B", "C", "D"] {
        text += &format!(
            "\n[entity.{name}]\nPK = '{name}#{{id}}'\nSK = '{name}'\n[entity.{name}.allow]\n'*' = 'public'\n\
             [entity.{name}.attributes]\nid = 'string'\n{many}"
        );
    }
    assert!(text.len() < 250_000, "{}", text.len());
    let design = partita_design::check(&text, &|_| None).0.unwrap();
    let store = Arc::new(ModelStore::default());
    let refused = Partita::open(design, store.clone()).await.err();
    let is_too_large = matches!(
        refused,
        Some(PlanError::Design(DesignError::TooLarge { .. }))
    );
    assert!(is_too_large, "{refused:?}");
    let tables = store.list_tables(ListTables::default()).await.unwrap();
    assert!(tables.names.is_empty(), "{tables:?}");
}

/// Tables of version 0.1.0: an item, and nothing recorded.
async fn unrecorded() -> Arc<dyn Store> {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = Partita::open(design("NOTE"), store.clone()).await.unwrap();
    let note = Operation::Create {
        entity: "Note".to_owned(),
        attributes: Map::new(),
    };
    partita.run(&Caller::user("ann"), note).await.unwrap();
    let delete = DeleteItem {
        table: "notes-partita".parse().unwrap(),
        key: sidecar::key("DESIGN", "0000000001"),
        condition: None,
        return_item_on_failure: false,
    };
    store.delete_item(delete, ReturnValues::None).await.unwrap();
    store
}

/// Roles and rules would be read from items of which nobody knows who wrote them.
#[tokio::test]
async fn items_without_a_recorded_design_are_looked_at_and_not_served() {
    let store = unrecorded().await;
    let expected = PlanError::Design(DesignError::NotAdopted {
        table: "notes".to_owned(),
        design: "notes".to_owned(),
    });
    let refused = Partita::open(design("NOTE"), store.clone()).await.err();
    assert_eq!(refused, Some(expected));
    let look = Partita::inspect(design("NOTE"), store.clone(), Surroundings::default());
    look.await.unwrap();
    assert!(
        history(&design("NOTE"), store.clone())
            .await
            .unwrap()
            .is_empty()
    );
    let taken = Partita::take_over(design("NOTE"), store.clone(), Surroundings::default());
    taken.await.unwrap();
    Partita::open(design("NOTE"), store).await.unwrap();
}

#[tokio::test]
async fn of_those_who_take_items_over_at_once_all_serve_one_design() {
    let faults = Faults {
        conflict: 0.1,
        throttle: 0.2,
        unknown_outcome: 0.3,
    };
    let mut winners = BTreeSet::new();
    for seed in 0..60 {
        let store = unrecorded().await;
        let faulty: Arc<dyn Store> = Arc::new(FaultyStore::new(store.clone(), faults, seed));
        let starts = ["NOTE", "N", "NOTE", "N"].map(|key| {
            let surroundings = Surroundings {
                patience: Patience {
                    attempts: 50,
                    pause_millis: 0,
                },
                ..Surroundings::default()
            };
            tokio::spawn(Partita::take_over(
                design(key),
                faulty.clone(),
                surroundings,
            ))
        });
        let mut served = Vec::new();
        for start in starts {
            match start.await.unwrap() {
                Ok(partita) => served.push(partita.design().origin.text.clone()),
                Err(PlanError::Design(DesignError::Differs { .. })) => {}
                Err(error) => panic!("seed {seed}: {error}"),
            }
        }
        let recorded = history(&design("NOTE"), store).await.unwrap();
        let recorded: Vec<_> = recorded.into_iter().map(|one| one.text).collect();
        assert_eq!(recorded.len(), 1, "seed {seed}");
        assert_eq!(served.len(), 2, "seed {seed}");
        assert!(
            served.iter().all(|text| *text == recorded[0]),
            "seed {seed}"
        );
        winners.extend(recorded);
    }
    assert_eq!(winners.len(), 2, "each of them comes first now and then");
}
