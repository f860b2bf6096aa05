//! Rules through the caller's own record: what they refuse is refused alike whatever is there, and
//! what they allowed is not carried out once the record says otherwise.
//!
//! Each property is also held against a mistake that it must find: a rule that does not ask for the
//! record, and transactions that do not guard it.

use std::collections::BTreeMap;
use std::sync::Arc;

use partita_core::expression::{Path, Update};
use partita_core::{Item, Map, Value};
use partita_design::Design;
use partita_plan::{Answer, Caller, Operation, Partita, PlanError};
use partita_store::request::{DeleteItem, ReturnValues, TransactAction, UpdateItem};
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_store::{ModelStore, Store};

use crate::meddler::Meddler;
use crate::stage;

const TICKET: &str = "01JGFJJZ0000000000000000T1";
const NO_TICKET: &str = "01JGFJJZ0000000000000000T9";

/// An organisation with an administrator, an agent and a customer, and users who are in none.
struct Desk {
    store: Arc<dyn Store>,
    partita: Partita,
    table: String,
}

impl Desk {
    async fn open(store: Arc<dyn Store>, table: &str, source: &str) -> Desk {
        let partita = partita(store.clone(), source, table).await;
        let desk = Desk {
            store,
            partita,
            table: table.to_owned(),
        };
        for user in ["ann", "bob", "cy", "eve", "fay", "gil"] {
            let email = format!("{user}@example.org");
            let user_given = texts(&[("userId", user), ("email", &email)]);
            desk.run(user, create("User", user_given)).await.unwrap();
        }
        let org = texts(&[("orgId", "acme"), ("name", "Acme")]);
        desk.run("ann", create("Org", org)).await.unwrap();
        for (user, role) in [("bob", "agent"), ("cy", "customer"), ("fay", "agent")] {
            let member = texts(&[("orgId", "acme"), ("userId", user), ("role", role)]);
            desk.run("ann", create("Member", member)).await.unwrap();
        }
        let ticket = texts(&[("orgId", "acme"), ("ticketId", TICKET), ("title", "Broken")]);
        desk.run("cy", create("Ticket", ticket)).await.unwrap();
        // Fay was an agent, and has left.
        let left = delete("Member", &["acme", "fay"]);
        desk.run("ann", left).await.unwrap();
        desk
    }

    async fn run(&self, caller: &str, operation: Operation) -> Result<Answer, PlanError> {
        self.partita.run(&Caller::user(caller), operation).await
    }

    /// Everything in the table, by its key.
    async fn items(&self) -> BTreeMap<(String, String), Item> {
        let mut found = BTreeMap::new();
        let request = partita_store::request::Scan::new(self.table.parse().unwrap());
        let page = self.store.scan(request).await.unwrap().answer;
        for item in page.into_parts().unwrap().items {
            let text = |name: &str| item[name].as_str().unwrap().to_owned();
            found.insert((text("PK"), text("SK")), item.clone());
        }
        found
    }
}

async fn partita(store: Arc<dyn Store>, source: &str, table: &str) -> Partita {
    let mut design: Design = partita_design::check(source, &|_| None).0.unwrap();
    table.clone_into(&mut design.tables[0].name);
    let surroundings = partita_plan::Surroundings {
        clock: Arc::new(ManualClock::at(1_767_225_600_000)),
        entropy: Arc::new(SeededEntropy::new(table.len() as u64)),
        ..partita_plan::Surroundings::default()
    };
    let opened = Partita::open_with(design, store, surroundings).await;
    opened
        .unwrap()
        .with_tokens_from(Arc::new(partita_store::surroundings::SystemEntropy))
}

fn source() -> String {
    std::fs::read_to_string(stage::folder("tenants").join("tenants.toml")).unwrap()
}

fn texts(given: &[(&str, &str)]) -> Map {
    let given = given.iter();
    let given = given.map(|(name, text)| ((*name).to_owned(), Value::from(*text)));
    given.collect()
}

fn create(entity: &str, attributes: Map) -> Operation {
    Operation::Create {
        entity: entity.into(),
        attributes,
    }
}

fn identity(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

fn delete(entity: &str, parts: &[&str]) -> Operation {
    Operation::Delete {
        entity: entity.into(),
        identity: identity(parts),
        version: None,
    }
}

fn update(entity: &str, parts: &[&str], changes: Map) -> Operation {
    Operation::Update {
        entity: entity.into(),
        identity: identity(parts),
        changes,
        with_deleted: true,
        version: None,
    }
}

fn solve(parts: &[&str]) -> Operation {
    Operation::Act {
        action: "solve".into(),
        entity: Some("Ticket".into()),
        identity: identity(parts),
        given: Map::new(),
        version: None,
    }
}

/// Requests that only differ in what is there and in what is wrong with them, by what they ask.
fn questions() -> Vec<(&'static str, Vec<Operation>)> {
    let bodies = [
        texts(&[]),
        texts(&[("role", "agent")]),
        texts(&[("role", "king"), ("more", "x")]),
    ];
    let members = [
        ["acme", "bob"],
        ["acme", "gil"],
        ["acme", "nobody"],
        ["none", "bob"],
    ];
    let tickets = [["acme", TICKET], ["acme", NO_TICKET], ["none", TICKET]];
    let member = |make: &dyn Fn(&[&str; 2], &Map) -> Operation| -> Vec<Operation> {
        let each = members.iter();
        each.flat_map(|one| bodies.iter().map(|body| make(one, body)))
            .collect()
    };
    let joined = |one: &[&str; 2], body: &Map| {
        let mut given = texts(&[("orgId", one[0]), ("userId", one[1])]);
        given.extend(body.clone());
        given
    };
    vec![
        (
            "create Member",
            member(&|one, body| create("Member", joined(one, body))),
        ),
        (
            "update Member",
            member(&|one, body| update("Member", one, body.clone())),
        ),
        (
            "put Member",
            member(&|one, body| Operation::Upsert {
                entity: "Member".into(),
                identity: identity(one),
                attributes: body.clone(),
                version: None,
            }),
        ),
        ("delete Member", member(&|one, _| delete("Member", one))),
        (
            "restore Member",
            member(&|one, _| Operation::Restore {
                entity: "Member".into(),
                identity: identity(one),
                version: None,
            }),
        ),
        (
            "create Ticket",
            ["acme", "none"]
                .iter()
                .flat_map(|org| {
                    let good = texts(&[("orgId", org), ("title", "x")]);
                    let bad = texts(&[("orgId", org), ("title", ""), ("more", "x")]);
                    let taken = texts(&[("orgId", org), ("title", "x"), ("ticketId", TICKET)]);
                    [good, bad, taken].map(|given| create("Ticket", given))
                })
                .collect(),
        ),
        (
            "update Ticket",
            tickets
                .iter()
                .map(|one| update("Ticket", one, texts(&[("title", ""), ("status", "gone")])))
                .chain(
                    tickets
                        .iter()
                        .map(|one| update("Ticket", one, texts(&[("title", "x")]))),
                )
                .collect(),
        ),
        ("solve", tickets.iter().map(|one| solve(one)).collect()),
        (
            "delete Ticket",
            tickets.iter().map(|one| delete("Ticket", one)).collect(),
        ),
        (
            "members",
            ["acme", "none"]
                .iter()
                .map(|org| Operation::Query {
                    pattern: "members".into(),
                    parameters: BTreeMap::from([("orgId".to_owned(), (*org).to_owned())]),
                    limit: None,
                    cursor: None,
                })
                .collect(),
        ),
        (
            "audit",
            tickets
                .iter()
                .map(|[org, ticket]| Operation::Query {
                    pattern: "audit".into(),
                    parameters: BTreeMap::from([
                        ("orgId".to_owned(), (*org).to_owned()),
                        ("ticketId".to_owned(), (*ticket).to_owned()),
                    ]),
                    limit: None,
                    cursor: None,
                })
                .collect(),
        ),
    ]
}

/// The questions to which callers who are no members get more than one answer.
async fn differences(desk: &Desk) -> Vec<String> {
    let callers = [
        Caller::anonymous(),
        Caller::user("eve"),
        Caller::user("fay"),
    ];
    let mut found = Vec::new();
    for caller in &callers {
        for (what, operations) in questions() {
            let mut answers = Vec::new();
            for operation in operations {
                let alone = desk.partita.run(caller, operation.clone()).await;
                let alone = format!("{:?}", alone.map(|answer| kind(&answer)));
                if !matches!(operation, Operation::Query { .. }) {
                    let batch = desk.partita.run_all(caller, vec![operation]).await;
                    let batch = match batch {
                        Err(PlanError::Batch { refusals }) => format!("{:?}", refusals[0].error),
                        other => format!("{other:?}"),
                    };
                    answers.push(format!("batch: {batch}"));
                }
                answers.push(alone);
            }
            answers.sort();
            answers.dedup();
            // One alone, and the same in a batch.
            let alone = answers.iter().filter(|one| !one.starts_with("batch"));
            if alone.count() > 1 || answers.len() > 2 {
                found.push(format!("{:?} {what}: {answers:#?}", caller.id));
            }
        }
    }
    found
}

fn kind(answer: &Answer) -> String {
    match answer {
        Answer::Page { records, .. } => format!("{} rows", records.len()),
        Answer::Done => "done".to_owned(),
        _ => "a record".to_owned(),
    }
}

/// A caller who is no member is answered the same, whatever exists and whatever was sent.
pub(crate) async fn strangers_learn_nothing(store: Arc<dyn Store>, unique: &str) {
    let desk = Desk::open(store.clone(), &format!("tenants-{unique}"), &source()).await;
    let before = desk.items().await;
    let differences = differences(&desk).await;
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(desk.items().await == before, "somebody changed something");
}

/// A rule that does not ask for the caller's record is noticed.
async fn a_rule_that_is_not_asked_is_found(store: Arc<dyn Store>, unique: &str) {
    let rule = r#"create  = "me.role = 'admin'""#;
    let planted = source().replace(rule, r#"create  = "signed-in""#);
    assert_ne!(planted, source());
    let desk = Desk::open(store, &format!("tenants-{unique}-unasked"), &planted).await;
    let differences = differences(&desk).await;
    assert!(
        differences.iter().any(|one| one.contains("create Member")),
        "{differences:?}"
    );
}

/// What somebody does to a membership while a write that rests on it is on its way.
#[derive(Clone, Copy, Debug)]
enum Meddling {
    Demoted,
    Left,
    Gone,
}

impl Meddling {
    const ALL: [Meddling; 3] = [Meddling::Demoted, Meddling::Left, Meddling::Gone];

    async fn happen(self, store: &dyn Store, table: &str, user: &str) {
        let key = Item::from([
            ("PK", Value::from("ORG#acme")),
            ("SK", Value::from(format!("MEMBER#{user}"))),
        ]);
        let set = |name: &str, value: Value| UpdateItem {
            table: table.parse().unwrap(),
            key: key.clone(),
            update: Update::default().setting(Path::attribute(name), value),
            condition: None,
            return_item_on_failure: false,
        };
        let update = match self {
            Meddling::Demoted => set("role", "customer".into()),
            Meddling::Left => set("left", Value::Bool(true)),
            Meddling::Gone => {
                let delete = DeleteItem {
                    table: table.parse().unwrap(),
                    key,
                    condition: None,
                    return_item_on_failure: false,
                };
                store.delete_item(delete, ReturnValues::None).await.unwrap();
                return;
            }
        };
        store.update_item(update, ReturnValues::None).await.unwrap();
    }
}

/// What members may do only while they are that.
fn privileges() -> Vec<(&'static str, Operation)> {
    let ticket = ["acme", TICKET];
    let member = texts(&[("orgId", "acme"), ("userId", "eve")]);
    let new = texts(&[("orgId", "acme"), ("title", "New")]);
    vec![
        (
            "bob",
            update("Ticket", &ticket, texts(&[("title", "Mine")])),
        ),
        ("bob", solve(&ticket)),
        ("ann", delete("Ticket", &ticket)),
        ("ann", create("Member", member)),
        (
            "ann",
            update("Member", &["acme", "cy"], texts(&[("role", "admin")])),
        ),
        ("bob", create("Ticket", new)),
    ]
}

/// How many writes were carried out though the membership that allowed them was not so any more.
async fn stale(store: &Arc<dyn Store>, unique: &str, is_planted: bool) -> Vec<String> {
    let mut found = Vec::new();
    for (number, (user, operation)) in privileges().into_iter().enumerate() {
        for meddling in Meddling::ALL {
            // A customer opens tickets, too.
            let is_new =
                matches!(&operation, Operation::Create { entity, .. } if entity == "Ticket");
            if is_new && matches!(meddling, Meddling::Demoted) {
                continue;
            }
            for in_batch in [false, true] {
                let table = format!("tenants-{unique}-{number}-{meddling:?}-{in_batch}");
                let desk = Desk::open(store.clone(), &table, &source()).await;
                let (inner, at) = (store.clone(), table.clone());
                let meddler = Arc::new(Meddler::new(
                    store.clone(),
                    Box::new(move || {
                        let (inner, at) = (inner.clone(), at.clone());
                        Box::pin(async move { meddling.happen(&*inner, &at, user).await })
                    }),
                    is_planted.then_some(without_guard as fn(TransactAction) -> _),
                ));
                let partita = partita(meddler.clone(), &source(), &table).await;
                meddler.arm();
                let caller = Caller::user(user);
                let is_done = if in_batch {
                    partita
                        .run_all(&caller, vec![operation.clone()])
                        .await
                        .is_ok()
                } else {
                    partita.run(&caller, operation.clone()).await.is_ok()
                };
                assert!(meddler.has_meddled(), "{operation:?} wrote nothing");
                drop(desk);
                if is_done {
                    found.push(format!("{user} {meddling:?} {operation:?}"));
                }
            }
        }
    }
    found
}

/// The mistake: what a transaction says of members is left out.
fn without_guard(action: TransactAction) -> Option<TransactAction> {
    let is_member = |key: &Item| {
        let sort = key.get("SK").and_then(Value::as_str);
        sort.is_some_and(|sort| sort.starts_with("MEMBER#"))
    };
    match action {
        TransactAction::Check(check) if is_member(&check.key) => None,
        TransactAction::Update(mut update) if is_member(&update.key) => {
            update.condition = None;
            Some(TransactAction::Update(update))
        }
        action => Some(action),
    }
}

/// A write that a membership allowed is not carried out once the membership is another.
pub(crate) async fn memberships_are_guarded(store: Arc<dyn Store>, unique: &str) {
    let stale = stale(&store, unique, false).await;
    assert!(stale.is_empty(), "{}", stale.join("\n"));
}

/// Both properties find the mistakes that they are there for.
pub(crate) async fn planted_mistakes_are_found(store: Arc<dyn Store>, unique: &str) {
    a_rule_that_is_not_asked_is_found(store.clone(), unique).await;
    let stale = stale(&store, &format!("{unique}-planted"), true).await;
    for (user, operation) in privileges() {
        let operation = format!("{operation:?}");
        let is_found = stale.iter().any(|one| one.ends_with(&operation));
        assert!(is_found, "nothing shows that {user} did {operation}");
    }
}

#[tokio::test]
async fn on_the_model() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    strangers_learn_nothing(store.clone(), "model").await;
    memberships_are_guarded(store.clone(), "model").await;
    planted_mistakes_are_found(store, "model").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(stage::engine(folder.path()));
    strangers_learn_nothing(store.clone(), "engine").await;
    memberships_are_guarded(store.clone(), "engine").await;
    planted_mistakes_are_found(store, "engine").await;
}
