//! Cascades are for good, also onto what is only deleted softly.

use std::collections::BTreeMap;
use std::sync::Arc;

use partita_core::{Item, Value};
use partita_plan::{Answer, Caller, Operation, Partita, PlanError};
use partita_store::request::{PutItem, ReturnValues};
use partita_store::{ModelStore, Store};
use partita_verify::Collected;

use crate::stage::{items, open, texts};

const HELPDESK: &str = include_str!("../../../partita/tests/designs/helpdesk/helpdesk.toml");
const TICKETS: usize = 130;

const DESIGN: &str = r#"
design = "desk"

[table]
name = "desk"
key  = ["PK", "SK"]

[entity.Drawer]
PK = "DRAWER#{drawerId}"
SK = "METADATA"

[entity.Drawer.attributes]
drawerId = "string"

[entity.Drawer.allow]
"*" = "signed-in"

[entity.Paper]
PK          = "DRAWER#{drawerId}"
SK          = "PAPER#{paperId}"
soft-delete = "deletedAt"

[entity.Paper.attributes]
drawerId  = "string"
paperId   = "string"
deletedAt = "timestamp?"

[entity.Paper.refs]
drawer = "Drawer, on delete cascade"

[entity.Paper.allow]
"*" = "signed-in"

[pattern.papers]
query = "PK = 'DRAWER#{drawerId}' AND begins_with(SK, 'PAPER#')"
"#;

async fn run(partita: &Partita, operation: Operation) -> Result<Answer, PlanError> {
    partita.run(&Caller::user("ann"), operation).await
}

fn create(entity: &str, given: &[(&str, &str)]) -> Operation {
    Operation::Create {
        entity: entity.into(),
        attributes: texts(given),
    }
}

fn delete(entity: &str, identity: &[&str]) -> Operation {
    Operation::Delete {
        entity: entity.into(),
        identity: identity.iter().map(|&part| part.to_owned()).collect(),
        version: None,
    }
}

#[tokio::test]
async fn remove_what_is_deleted_softly_and_what_is_not() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(DESIGN, store.clone(), 1).await;
    for operation in [
        create("Drawer", &[("drawerId", "d")]),
        create("Paper", &[("drawerId", "d"), ("paperId", "deleted")]),
        create("Paper", &[("drawerId", "d"), ("paperId", "live")]),
        delete("Paper", &["d", "deleted"]),
        delete("Drawer", &["d"]),
    ] {
        run(&partita, operation).await.unwrap();
    }
    assert_eq!(items(&*store, "desk").await, []);
    let restore = Operation::Restore {
        entity: "Paper".into(),
        identity: vec!["d".into(), "deleted".into()],
        version: None,
    };
    let refused = run(&partita, restore).await;
    assert!(
        matches!(refused, Err(PlanError::NotFound { .. })),
        "{refused:?}"
    );
}

/// How many items there are, by what their sort keys begin with.
async fn census(store: &dyn Store) -> BTreeMap<String, usize> {
    let mut census = BTreeMap::new();
    for item in items(store, "helpdesk").await {
        let sort = item["SK"].as_str().unwrap();
        let kind = sort.split('#').next().unwrap();
        *census.entry(kind.to_owned()).or_default() += 1;
    }
    census
}

/// More children than a transaction holds, half of them deleted softly, each with a past, a
/// comment and a guard.
#[tokio::test]
async fn go_on_as_a_job_and_leave_nothing_but_what_is_kept() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(HELPDESK, store.clone(), 1).await;
    let org = [("orgId", "acme"), ("name", "Acme")];
    run(&partita, create("Org", &org)).await.unwrap();
    for count in 0..TICKETS {
        let id = ulid::Ulid::from_parts(count as u64, 1).to_string();
        let number = count.to_string();
        let ticket = [
            ("orgId", "acme"),
            ("ticketId", id.as_str()),
            ("number", number.as_str()),
            ("title", "Printer"),
        ];
        let comment = [
            ("orgId", "acme"),
            ("ticketId", id.as_str()),
            ("text", "Hello"),
        ];
        let change = Operation::Update {
            entity: "Ticket".into(),
            identity: vec!["acme".into(), id.clone()],
            changes: texts(&[("title", "Phone")]),
            with_deleted: false,
            version: None,
        };
        run(&partita, create("Ticket", &ticket)).await.unwrap();
        run(&partita, create("Comment", &comment)).await.unwrap();
        run(&partita, change).await.unwrap();
        if count % 2 == 0 {
            run(&partita, delete("Ticket", &["acme", &id]))
                .await
                .unwrap();
        }
    }
    run(&partita, delete("Org", &["acme"])).await.unwrap();
    partita.run_jobs().await.unwrap();

    let closings = BTreeMap::from([("CLOSING".to_owned(), TICKETS)]);
    assert_eq!(census(&*store).await, closings, "each was closed once");
    let mut found = Collected::default();
    partita.verify(&mut found).await.unwrap();
    assert_eq!(found.open, []);
    // The name is free for another one.
    run(&partita, create("Org", &org)).await.unwrap();
}

/// Two ways lead from an org to its tasks: its own ref, and the list that they are in, which counts
/// them.
const TWO_WAYS: &str = r#"
design = "lists"

[table]
name          = "lists"
key           = ["PK", "SK"]
discriminator = "Kind"

[index]
GSI1 = ["GPK", "GSK"]

[entity.Org]
PK = "ORG#{org}"
SK = "ORG"

[entity.Org.attributes]
org = "string"

[entity.Org.allow]
"*" = "signed-in"

[entity.List]
PK = "ORG#{org}"
SK = "LIST#{list}"

[entity.List.attributes]
org   = "string"
list  = "string /^[^#]+$/"
tasks = "count of Task by in"

[entity.List.refs]
top = "Org, on delete cascade"

[entity.List.allow]
"*" = "signed-in"

[entity.Task]
PK  = "ORG#{org}"
SK  = "TASK#{id}"
GPK = "LIST#{org}#{list}"
GSK = "{id}"

[entity.Task.attributes]
org  = "string"
list = "string? /^[^#]+$/"
id   = "string"

[entity.Task.refs]
top = "Org, on delete cascade"
in  = "List, on delete ON_DELETE"

[entity.Task.allow]
"*" = "signed-in"

[pattern.tasks]
query = "PK = 'ORG#{org}' AND begins_with(SK, 'TASK#')"

[pattern.inList]
query = "GPK = 'LIST#{org}#{list}'"
"#;

#[tokio::test]
async fn reach_an_item_by_two_refs() {
    for on_delete in ["clear list", "cascade"] {
        let design = TWO_WAYS.replace("ON_DELETE", on_delete);
        for tasks in [1, 60, 95, 150, 300] {
            let store: Arc<dyn Store> = Arc::new(ModelStore::default());
            let partita = open(&design, store.clone(), 1).await;
            let org = ("org", "o");
            run(&partita, create("Org", &[org])).await.unwrap();
            for list in ["a", "b"] {
                run(&partita, create("List", &[org, ("list", list)]))
                    .await
                    .unwrap();
            }
            for task in 0..tasks {
                let id = format!("t{task:03}");
                let task = [org, ("list", "a"), ("id", &id)];
                run(&partita, create("Task", &task)).await.unwrap();
            }
            let case = format!("{tasks} tasks, {on_delete}");
            let deleted = run(&partita, delete("Org", &["o"])).await;
            assert!(deleted.is_ok(), "{case}: {deleted:?}");
            let worked = partita.run_jobs().await;
            assert!(worked.is_ok(), "{case}: {worked:?}");
            assert_eq!(items(&*store, "lists").await, [], "{case}");
            let open = partita.jobs().await.unwrap().into_iter();
            let open = open.filter(|job| job.state != partita_plan::JobState::Done);
            assert_eq!(open.count(), 0, "{case}");
            run(&partita, create("Org", &[org])).await.unwrap();
        }
    }
}

/// A count that is wrong keeps its list from being removed. The job of its org rests with that, and
/// those of others go on.
#[tokio::test]
async fn that_cannot_go_on_keep_no_others_waiting() {
    let design = TWO_WAYS.replace("ON_DELETE", "cascade");
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(&design, store.clone(), 1).await;
    for org in ["wrong", "right"] {
        let org = ("org", org);
        run(&partita, create("Org", &[org])).await.unwrap();
        for list in 0..120 {
            let list = format!("l{list:03}");
            let list = [org, ("list", &list)];
            run(&partita, create("List", &list)).await.unwrap();
        }
    }
    let mut items_before = items(&*store, "lists").await.into_iter();
    let is_meant =
        |item: &Item| item["PK"] == Value::from("ORG#wrong") && item.get("list").is_some();
    let mut list = items_before.find(is_meant).unwrap();
    list.insert("tasks", Value::from(7_i64));
    let put = PutItem::new("lists".parse().unwrap(), list);
    store.put_item(put, ReturnValues::None).await.unwrap();
    for org in ["wrong", "right"] {
        run(&partita, delete("Org", &[org])).await.unwrap();
    }
    let worked = partita.run_jobs().await;
    let is_named = |error: &PlanError| matches!(error, PlanError::Drift { attribute, .. } if attribute == "tasks");
    assert!(worked.as_ref().is_err_and(is_named), "{worked:?}");
    let left = items(&*store, "lists").await;
    let is_right = |item: &&Item| item["PK"] == Value::from("ORG#right");
    assert_eq!(left.iter().filter(is_right).count(), 0);
    let jobs = partita.jobs().await.unwrap();
    let mut errors = jobs.iter().filter_map(|job| job.last_error.as_deref());
    let says_who_mends = |error: &str| error.contains("`partita repair`");
    assert!(errors.any(says_who_mends), "{jobs:?}");
}

/// What could refuse a part of a cascade does not count where there is none of it.
#[tokio::test]
async fn that_nothing_refuses_go_on_as_a_job() {
    let design = TWO_WAYS.replace("ON_DELETE", "refuse")
        + r#"
[entity.Plant]
PK = "ORG#{org}"
SK = "PLANT#{id}"

[entity.Plant.attributes]
org = "string"
id  = "string"

[entity.Plant.refs]
top = "Org, on delete cascade"

[entity.Plant.allow]
"*" = "signed-in"

[pattern.plants]
query = "PK = 'ORG#{org}' AND begins_with(SK, 'PLANT#')"
"#;
    for (lists, tasks, is_done) in [(0, 0, true), (3, 0, true), (3, 1, false)] {
        let store: Arc<dyn Store> = Arc::new(ModelStore::default());
        let partita = open(&design, store.clone(), 1).await;
        let org = ("org", "o");
        run(&partita, create("Org", &[org])).await.unwrap();
        for plant in 0..120 {
            let id = format!("p{plant:03}");
            run(&partita, create("Plant", &[org, ("id", &id)]))
                .await
                .unwrap();
        }
        for list in 0..lists {
            let list = list.to_string();
            run(&partita, create("List", &[org, ("list", &list)]))
                .await
                .unwrap();
        }
        for task in 0..tasks {
            let id = format!("t{task}");
            let task = [org, ("list", "0"), ("id", &id)];
            run(&partita, create("Task", &task)).await.unwrap();
        }
        let before = items(&*store, "lists").await.len();
        let deleted = run(&partita, delete("Org", &["o"])).await;
        partita.run_jobs().await.unwrap();
        let left = items(&*store, "lists").await.len();
        assert_eq!(deleted.is_ok(), is_done, "{deleted:?}");
        assert_eq!(left, if is_done { 0 } else { before });
    }
}

/// Whether a part of a cascade is refused must be known before the first item is gone.
#[tokio::test]
async fn that_others_may_refuse_are_done_whole_or_not_at_all() {
    let refuse = TWO_WAYS.replace("ON_DELETE", "refuse");
    for lists in [3, 150] {
        let store: Arc<dyn Store> = Arc::new(ModelStore::default());
        let partita = open(&refuse, store.clone(), 1).await;
        let org = ("org", "o");
        run(&partita, create("Org", &[org])).await.unwrap();
        for list in 0..lists {
            let list = format!("l{list:03}");
            let list = [org, ("list", &list)];
            run(&partita, create("List", &list)).await.unwrap();
        }
        let before = items(&*store, "lists").await.len();
        let deleted = run(&partita, delete("Org", &["o"])).await;
        partita.run_jobs().await.unwrap();
        let left = items(&*store, "lists").await.len();
        match deleted {
            Ok(_) => assert_eq!((lists, left), (3, 0)),
            Err(PlanError::TooMuch { what }) => {
                assert_eq!((lists, left), (150, before), "{what}");
                assert!(what.contains("delete the `List` items first"), "{what}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}
