//! A write that breaks a rule of its design is refused by an error that names entity, attribute and
//! rule, everything at once, and changes nothing.

use std::sync::Arc;

use partita_core::{Item, Map, Value, plain};
use partita_plan::{Caller, Operation, Partita, Patience, PlanError, Surroundings};
use partita_store::request::Scan;
use partita_store::{ModelStore, Store};
use serde_json::{Value as Json, json};

const DESIGN: &str = r#"
design = "depot"

[table]
name = "depot"
key  = ["PK", "SK"]

[entity.Shop]
PK = "SHOP#{shopId}"
SK = "METADATA"

[entity.Shop.attributes]
shopId = "string"
orders = "count of Order"

[entity.Shop.allow]
"*" = "signed-in"

[entity.Order]
PK      = "SHOP#{shopId}"
SK      = "ORDER#{orderId}"
require = "paid <= total"

[entity.Order.attributes]
shopId   = "string"
orderId  = "string"
total    = "number 0..1000"
paid     = "number 0.. default 0"
code     = "string? 3..8"
currency = "string, fixed"
status   = "state open -> sent -> closed"
lines    = "int? 1.."
shopName = "string? = shop.shopId"
version  = "version"

[entity.Order.refs]
shop = "Shop"

[entity.Order.unique]
code = "UNIQUE#CODE#{code}"

[entity.Order.allow]
"*"  = "signed-in"
pay  = "signed-in"
send = "signed-in"

[action.pay]
entity = "Order"
params = { amount = "number" }
add    = { paid = "{amount}" }

[action.send]
entity = "Order"
set    = { status = "sent" }
"#;

fn map(attributes: Json) -> Map {
    plain::map_from_json(attributes.as_object().unwrap().clone()).unwrap()
}

fn parts(path: &str) -> Vec<String> {
    path.split('/').map(str::to_owned).collect()
}

fn create(attributes: Json) -> Operation {
    Operation::Create {
        entity: "Order".to_owned(),
        attributes: map(attributes),
    }
}

fn update(path: &str, version: Option<i64>, changes: Json) -> Operation {
    Operation::Update {
        entity: "Order".to_owned(),
        identity: parts(path),
        changes: map(changes),
        with_deleted: false,
        version,
    }
}

fn upsert(path: &str, attributes: Json) -> Operation {
    Operation::Upsert {
        entity: "Order".to_owned(),
        identity: parts(path),
        attributes: map(attributes),
        version: None,
    }
}

fn act(action: &str, path: &str, given: Json) -> Operation {
    Operation::Act {
        action: action.to_owned(),
        entity: Some("Order".to_owned()),
        identity: parts(path),
        given: map(given),
        version: None,
    }
}

/// Two orders in one shop.
async fn open(store: Arc<dyn Store>) -> Partita {
    let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let surroundings = Surroundings {
        patience: Patience {
            attempts: 3,
            pause_millis: 0,
        },
        ..Surroundings::default()
    };
    let partita = Partita::open_with(design, store, surroundings)
        .await
        .unwrap();
    let shop = Operation::Create {
        entity: "Shop".to_owned(),
        attributes: map(json!({"shopId": "s"})),
    };
    let order = |id: &str, code: &str| {
        create(json!({"shopId": "s", "orderId": id, "total": 50, "currency": "EUR", "code": code}))
    };
    for operation in [shop, order("1", "ABC"), order("2", "DEF")] {
        partita.run(&Caller::user("ann"), operation).await.unwrap();
    }
    partita
}

async fn everything(store: &dyn Store) -> Vec<Item> {
    let mut items = Vec::new();
    for table in ["depot", "depot-partita"] {
        let page = store.scan(Scan::new(table.parse().unwrap())).await.unwrap();
        items.extend(page.answer.into_parts().unwrap().items);
    }
    items
}

/// Every rule that an error names, as `Entity.attribute rule`.
fn named(error: &PlanError) -> Vec<String> {
    let mut names = match error {
        PlanError::Invalid { faults } | PlanError::Taken { faults } => faults
            .iter()
            .map(|fault| {
                let entity = fault.entity.as_deref().unwrap_or("-");
                assert!(!fault.message.is_empty());
                format!("{entity}.{} {}", fault.attribute, fault.rule.word())
            })
            .collect(),
        PlanError::Exists { entity } => vec![format!("{entity} exists")],
        PlanError::StaleVersion { entity } => vec![format!("{entity} version")],
        PlanError::NotFound { entity, .. } => vec![format!("{entity} not-found")],
        other => panic!("{other:?}"),
    };
    names.sort();
    names
}

#[tokio::test]
async fn name_entity_attribute_and_rule_and_change_nothing() {
    let store = Arc::new(ModelStore::default());
    let partita = open(store.clone()).await;
    let before = everything(&*store).await;
    let mut wrong: Vec<String> = Vec::new();
    let new = |more: Json| {
        let mut order = map(json!({"shopId": "s", "orderId": "3", "total": 5, "currency": "EUR"}));
        order.extend(map(more));
        Operation::Create {
            entity: "Order".to_owned(),
            attributes: order,
        }
    };
    for (operation, expected) in [
        // A type, a range, a length.
        (new(json!({"total": "much"})), &["Order.total type"][..]),
        (new(json!({"total": 1001})), &["Order.total value"]),
        (new(json!({"code": "AB"})), &["Order.code value"]),
        (
            update("s/1", None, json!({"lines": 0.5})),
            &["Order.lines value"],
        ),
        (
            update("s/1", None, json!({"lines": []})),
            &["Order.lines type"],
        ),
        (
            act("pay", "s/1", json!({"amount": -1})),
            &["Order.paid value"],
        ),
        (
            act("pay", "s/1", json!({"amount": "1"})),
            &["-.amount type"],
        ),
        // Something is missing, unknown, or nobody's to give.
        (
            create(json!({"shopId": "s", "orderId": "3", "total": 5})),
            &["Order.currency required"],
        ),
        (
            update("s/1", None, json!({"total": null})),
            &["Order.total required"],
        ),
        (new(json!({"colour": "red"})), &["Order.colour unknown"]),
        (
            new(json!({"shopName": "x", "version": 4, "PK": "x"})),
            &[
                "Order.PK not-given",
                "Order.shopName not-given",
                "Order.version not-given",
            ],
        ),
        // States.
        (new(json!({"status": "closed"})), &["Order.status state"]),
        (
            update("s/1", None, json!({"status": "closed"})),
            &["Order.status state"],
        ),
        // What is there already, and what somebody else has.
        (new(json!({"orderId": "1"})), &["Order exists"]),
        (new(json!({"code": "ABC"})), &["Order.code unique"]),
        (
            update("s/1", None, json!({"code": "DEF"})),
            &["Order.code unique"],
        ),
        // References.
        (new(json!({"shopId": "t"})), &["Order.shop reference"]),
        (
            upsert("t/9", json!({"total": 5, "currency": "EUR"})),
            &["Order.shop reference"],
        ),
        // Forged ids.
        (new(json!({"orderId": "3#x"})), &["Order.orderId key-part"]),
        (new(json!({"orderId": ""})), &["Order.orderId key-part"]),
        (
            upsert("s/3%23x", json!({})),
            &["Order.currency required", "Order.total required"],
        ),
        (
            upsert("s/3#x", json!({"total": 1, "currency": "EUR"})),
            &["Order.orderId key-part"],
        ),
        (
            update("s/", None, json!({"total": "x"})),
            &["Order.orderId key-part", "Order.total type"],
        ),
        (
            update("s", None, json!({"total": 1})),
            &["Order.shopId/orderId identity"],
        ),
        // What never changes.
        (
            update("s/1", None, json!({"currency": "USD"})),
            &["Order.currency fixed"],
        ),
        (
            update("s/1", None, json!({"orderId": "7"})),
            &["Order.orderId identity"],
        ),
        (
            upsert("s/1", json!({"orderId": "7"})),
            &["Order.orderId identity"],
        ),
        // A version that is over, and no item at all.
        (
            update("s/1", Some(7), json!({"total": 60})),
            &["Order version"],
        ),
        (
            update("s/9", None, json!({"total": 60})),
            &["Order not-found"],
        ),
        // What always holds.
        (
            update("s/1", None, json!({"paid": 70})),
            &["Order.paid requirement"],
        ),
        // Several at once.
        (
            new(
                json!({"orderId": "1", "total": "x", "code": "DEF", "status": "sent", "shopId": "s"}),
            ),
            &[
                "Order.code unique",
                "Order.shopId/orderId exists",
                "Order.status state",
                "Order.total type",
            ],
        ),
        (
            new(json!({"orderId": "4", "shopId": "t", "total": -1, "code": "ABC", "lines": "x"})),
            &[
                "Order.code unique",
                "Order.lines type",
                "Order.shop reference",
                "Order.total value",
            ],
        ),
        (
            update(
                "s/1",
                Some(7),
                json!({
                    "status": "closed", "total": true, "code": "DEF", "currency": "USD",
                    "colour": "red", "lines": 0,
                }),
            ),
            &[
                "Order.code unique",
                "Order.colour unknown",
                "Order.currency fixed",
                "Order.lines value",
                "Order.status state",
                "Order.total type",
                "Order.version version",
            ],
        ),
    ] {
        let answer = partita.run(&Caller::user("ann"), operation.clone()).await;
        let Err(error) = answer else {
            panic!("{operation:?}: {answer:?}");
        };
        if named(&error) != expected {
            wrong.push(format!(
                "{operation:?}: {error}\n{:?}\n{expected:?}",
                named(&error)
            ));
            continue;
        }
        assert_eq!(before, everything(&*store).await, "{operation:?}");
        let batch = partita
            .run_all(&Caller::user("ann"), vec![operation.clone()])
            .await;
        let Err(PlanError::Batch { refusals }) = batch else {
            panic!("{operation:?}: {batch:?}");
        };
        assert_eq!(
            named(&refusals[0].error),
            expected,
            "{operation:?} in a batch"
        );
        assert_eq!(
            before,
            everything(&*store).await,
            "{operation:?} in a batch"
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    // A step that was taken is not taken again.
    partita
        .run(&Caller::user("ann"), act("send", "s/1", json!({})))
        .await
        .unwrap();
    let before = everything(&*store).await;
    let again = partita
        .run(&Caller::user("ann"), act("send", "s/1", json!({})))
        .await;
    assert_eq!(named(&again.unwrap_err()), ["Order.status state"]);
    assert_eq!(before, everything(&*store).await);
}

/// To somebody who may not read an item, a softly deleted one is as missing as one that never was.
#[tokio::test]
async fn what_is_deleted_is_told_only_to_who_may_read_it() {
    let design = r#"
design = "desk"

[table]
name = "desk"
key  = ["PK", "SK"]

[entity.Note]
PK = "NOTE#{noteId}"
SK = "NOTE"
soft-delete = "deleted"

[entity.Note.attributes]
noteId = "string"
owner   = "string"
deleted = "bool default false"
stars  = "counter"

[entity.Note.allow]
"*"  = "owner = caller"
star = "signed-in"

[action.star]
entity = "Note"
add    = { stars = 1 }
"#;
    let (design, diagnostics) = partita_design::check(design, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let store = Arc::new(ModelStore::default());
    let partita = Partita::open(design, store).await.unwrap();
    let ann = Caller::user("ann");
    let note = Operation::Create {
        entity: "Note".to_owned(),
        attributes: Map::from([("noteId", Value::from("n")), ("owner", Value::from("ann"))]),
    };
    partita.run(&ann, note).await.unwrap();
    let delete = Operation::Delete {
        entity: "Note".to_owned(),
        identity: vec!["n".to_owned()],
        version: None,
    };
    partita.run(&ann, delete).await.unwrap();
    let star = |id: &str| Operation::Act {
        action: "star".to_owned(),
        entity: Some("Note".to_owned()),
        identity: vec![id.to_owned()],
        given: Map::new(),
        version: None,
    };
    for (caller, id, is_told) in [
        ("ann", "n", true),
        ("eve", "n", false),
        ("eve", "none", false),
    ] {
        let refused = partita.run(&Caller::user(caller), star(id)).await;
        let expected = PlanError::NotFound {
            entity: "Note".to_owned(),
            deleted: is_told,
        };
        assert_eq!(refused, Err(expected), "{caller} {id}");
    }
}
