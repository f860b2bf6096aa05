//! What a write was decided on is guarded by its transaction.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use partita_core::{Item, Map, Value};
use partita_plan::{Answer, Caller, Operation, Partita, PlanError};
use partita_store::capacity::Metered;
use partita_store::request::TransactWriteItems;
use partita_store::{Layer, ModelStore, Store, StoreResult};
use partita_testkit::{Faults, FaultyStore};

use crate::stage::{items, open, texts};

const DESIGN: &str = r#"
design = "shop"

[table]
name = "shop"
key  = ["PK", "SK"]

[entity.Product]
PK = "PRODUCT#{product}"
SK = "PRODUCT"

[entity.Product.attributes]
product = "string"
price   = "int"
tax     = "int"
gross   = "int = price + tax, virtual"

[entity.Product.allow]
"*" = "signed-in"

[entity.Order]
PK = "ORDER#{order}"
SK = "ORDER"

[entity.Order.attributes]
order   = "string"
product = "string"
paid    = "int = of.gross on create"

[entity.Order.refs]
of = "Product, on delete keep"

[entity.Order.allow]
"*" = "signed-in"
"#;

/// An attribute that is not stored cannot be guarded by itself: what it is computed from is.
#[tokio::test]
async fn a_virtual_attribute_behind_a_ref_is_guarded_by_what_it_is_computed_from() {
    let partita = open(DESIGN, Arc::new(ModelStore::default()), 1).await;
    let ann = Caller::user("ann");
    let attributes = Map::from([
        ("product", Value::from("tea")),
        ("price", Value::from(4_i64)),
        ("tax", Value::from(1_i64)),
    ]);
    let entity = "Product".to_owned();
    let product = Operation::Create { entity, attributes };
    partita.run(&ann, product).await.unwrap();
    let order = Operation::Create {
        entity: "Order".to_owned(),
        attributes: texts(&[("order", "1"), ("product", "tea")]),
    };
    let preview = partita.preview(&ann, order).await.unwrap().to_string();
    for guarded in ["price = ", "tax = "] {
        assert!(preview.contains(guarded), "{preview}");
    }
}

/// Tasks that actions find by filters and by keys that change, and by a ref.
const TASKS: &str = r#"
design = "desk"

[table]
name = "desk"
key  = ["PK", "SK"]

[index]
byState = ["statePK", "stateSK"]
byTitle = ["titlePK", "titleSK"]

[entity.Desk]
PK = "DESK#{desk}"
SK = "DESK"

[entity.Desk.attributes]
desk = "string"

[entity.Desk.allow]
"*"            = "signed-in"
postponeListed = "signed-in"
postponeKeyed  = "signed-in"

[entity.Task]
PK      = "DESK#{desk}"
SK      = "TASK#{task}"
statePK = "STATE#{desk}#{state}"
stateSK = "{task}"
titlePK = "TITLE#{lower(title)}"
titleSK = "{task}"

[entity.Task.attributes]
desk  = "string"
task  = "string"
state = "enum open | late | done default open"
title = "string default 'Tea'"
small = "string = lower(title)"
notes = "int default 0"

[entity.Task.allow]
"*"           = "signed-in"
postpone      = "signed-in"
postponeFirst = "signed-in"
postponeAll   = "signed-in"
finish        = "signed-in"

[entity.Note]
PK = "NOTE#{note}"
SK = "NOTE"

[entity.Note.attributes]
note = "string"
desk = "string"

[entity.Note.refs]
task = "Task via firstOpen"

[entity.Note.allow]
"*" = "signed-in"

[trigger.noted]
on     = "create Note"
update = "task"
add    = { notes = 1 }

[action.postponeListed]
entity = "Desk"

[[action.postponeListed.then]]
each   = "task in open"
update = "task"
set    = { state = "late" }

[action.postponeKeyed]
entity = "Desk"

[[action.postponeKeyed.then]]
each   = "task in openByKey"
update = "task"
set    = { state = "late" }

[action.postpone]
entity = "Task"
set    = { state = "late" }

[action.postponeFirst]
find = "firstOpen"
set  = { state = "late" }

[action.postponeAll]
each  = "task in open"
apply = "postpone"

[action.finish]
entity  = "Task"
require = "notes = 0"
set     = { state = "done" }

[pattern.open]
query  = "PK = 'DESK#{desk}' AND begins_with(SK, 'TASK#')"
filter = "state = 'open'"

[pattern.openByKey]
query = "statePK = 'STATE#{desk}#open'"

[pattern.firstOpen]
query  = "PK = 'DESK#{desk}' AND begins_with(SK, 'TASK#')"
filter = "state = 'open'"
one    = true
whole  = 100
"#;

/// How many interleavings are tried.
const SEEDS: u64 = 60;

async fn run(partita: &Partita, operation: Operation) -> Result<Answer, PlanError> {
    partita.run(&Caller::user("ann"), operation).await
}

fn create(entity: &str, attributes: &[(&str, &str)]) -> Operation {
    Operation::Create {
        entity: entity.to_owned(),
        attributes: texts(attributes),
    }
}

fn change(attributes: &[(&str, &str)]) -> Operation {
    Operation::Update {
        entity: "Task".to_owned(),
        identity: vec!["d".to_owned(), "t".to_owned()],
        changes: texts(attributes),
        with_deleted: false,
        version: None,
    }
}

/// An action on the task, on the desk, or on what it finds of the desk.
fn act(action: &str) -> Operation {
    let (entity, identity, given) = match action {
        "finish" => (Some("Task"), vec!["d", "t"], Map::new()),
        "postponeListed" | "postponeKeyed" => (Some("Desk"), vec!["d"], Map::new()),
        _ => (None, vec![], texts(&[("desk", "d")])),
    };
    Operation::Act {
        action: action.to_owned(),
        entity: entity.map(str::to_owned),
        identity: identity.into_iter().map(str::to_owned).collect(),
        given,
        version: None,
    }
}

/// What two operations leave of an open task, in an order that the seed decides, and whether both
/// were carried out.
async fn after_both(one: Operation, two: Operation, seed: u64) -> (Item, bool) {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(TASKS, store.clone(), 0).await;
    for operation in [
        create("Desk", &[("desk", "d")]),
        create("Task", &[("desk", "d"), ("task", "t")]),
    ] {
        run(&partita, operation).await.unwrap();
    }
    let shuffled = FaultyStore::new(store.clone(), Faults::default(), seed);
    let partita = open(TASKS, Arc::new(shuffled), seed + 1).await;
    let (one, two) = tokio::join!(run(&partita, one), run(&partita, two));
    let items = items(&*store, "desk").await;
    let is_task = |item: &Item| item["SK"] == Value::from("TASK#t");
    let task = items.into_iter().find(is_task).unwrap();
    (task, one.is_ok() && two.is_ok())
}

/// Whichever comes first, a task that is done is not postponed any more.
#[tokio::test]
async fn an_item_is_changed_only_while_it_is_one_that_the_pattern_means() {
    for action in [
        "postponeListed",
        "postponeKeyed",
        "postponeFirst",
        "postponeAll",
    ] {
        for seed in 0..SEEDS {
            let done = change(&[("state", "done")]);
            let (task, _) = after_both(act(action), done, seed).await;
            assert_eq!(task["state"], Value::from("done"), "{action}, seed {seed}");
        }
    }
}

/// A note is about an open task, and a task with notes is not finished.
#[tokio::test]
async fn a_ref_leads_to_an_item_that_its_pattern_still_means() {
    for seed in 0..SEEDS {
        let note = create("Note", &[("note", "n"), ("desk", "d")]);
        let (task, are_both_done) = after_both(note, act("finish"), seed).await;
        assert!(!are_both_done, "seed {seed}: {task:?}");
    }
}

/// Two titles may have one key and one value in lower case. Who changes one into the other still
/// writes both, because another writer may have changed them meanwhile.
#[tokio::test]
async fn what_follows_from_a_value_is_that_of_the_one_that_is_stored() {
    for seed in 0..SEEDS {
        let (one, two) = (change(&[("title", "TEA")]), change(&[("title", "Milk")]));
        let (task, _) = after_both(one, two, seed).await;
        let title = task["title"].as_str().unwrap().to_lowercase();
        let key = Value::from(format!("TITLE#{title}"));
        assert_eq!(task["titlePK"], key, "seed {seed}: {task:?}");
        assert_eq!(task["small"], Value::from(title), "seed {seed}: {task:?}");
    }
}

/// A store on which another writer comes between the reads of a write and its commit.
struct Interrupted {
    inner: Arc<dyn Store>,
    other: Partita,
    operation: Mutex<Option<Operation>>,
}

#[async_trait]
impl Layer for Interrupted {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn transact_write_items(&self, request: TransactWriteItems) -> StoreResult<Metered<()>> {
        let operation = self.operation.lock().unwrap().take();
        if let Some(operation) = operation {
            run(&self.other, operation).await.unwrap();
        }
        self.inner.transact_write_items(request).await
    }
}

/// Who gives a value that is there already has it there with the rest of the change: another writer
/// who was faster does not decide on it.
#[tokio::test]
async fn what_a_caller_gives_is_there_with_the_rest() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let other = open(TASKS, store.clone(), 0).await;
    for operation in [
        create("Desk", &[("desk", "d")]),
        create("Task", &[("desk", "d"), ("task", "t")]),
    ] {
        run(&other, operation).await.unwrap();
    }
    let interrupted = Interrupted {
        inner: store.clone(),
        other,
        operation: Mutex::new(Some(change(&[("title", "Milk")]))),
    };
    let partita = open(TASKS, Arc::new(interrupted), 1).await;
    let given = change(&[("title", "Tea"), ("state", "late")]);
    let answer = run(&partita, given).await.unwrap();
    let items = items(&*store, "desk").await;
    let task = items
        .iter()
        .find(|item| item["SK"] == Value::from("TASK#t"));
    let Answer::Record(seen) = answer else {
        panic!("{answer:?}");
    };
    for (name, value) in [("title", "Tea"), ("state", "late"), ("small", "tea")] {
        assert_eq!(task.unwrap()[name], Value::from(value), "{task:?}");
        assert_eq!(seen.attributes[name], Value::from(value), "{seen:?}");
    }
}
