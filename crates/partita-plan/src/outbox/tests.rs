//! Messages are recorded with their cause, and delivered at least once and in order.
//!
//! What all tests share is here: a shop whose orders cause messages, and the other side.

mod failing;
mod histories;
mod jobs;
mod servers;
mod stream;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use partita_core::{Map, Number, Value};
use partita_store::request::{GetItem, Scan, TransactAction};
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_store::table::string_key;
use partita_store::{Clock, ModelStore, Store};

use super::row::{Row, is_recording};
use super::{Content, Courier, Message, OutboxEntry, OutboxState, Round, Transport, Undelivered};
use crate::commit::WritePlan;
use crate::{Caller, Operation, Partita, Patience, PlanError, Surroundings};

/// Mistakes that the tests must notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Defect {
    /// A row is removed before its message is delivered.
    RemovedFirst,
    /// The messages of an item are delivered in another order.
    Unordered,
    /// A message is delivered before its cause is committed.
    Hasty,
}

const START: i64 = 1_767_225_600_000;

const HOUR: i64 = 3_600_000;

const DESIGN: &str = r#"
design = "shop"

[table]
name = "shop"
key  = ["PK", "SK"]

[entity.Order]
PK = "ORDER#{orderId}"
SK = "ORDER"

[entity.Order.attributes]
orderId = "string"
email   = "string"
step    = "int default 0"
token   = "string?, secret"

[entity.Order.allow]
"*" = "public"

[trigger.told]
on      = "write Order"
mail    = "{email}"
subject = "Order {orderId}"
text    = "{step} with {token | 'no token'}"

[trigger.billed]
on   = "write Order"
send = "billing"

[trigger.archived]
on   = "write Order"
send = "archive"
with = { step = "{step}" }
"#;

async fn open(store: &Arc<dyn Store>, clock: Arc<dyn Clock>, seed: u64) -> Partita {
    open_design(DESIGN, store, clock, seed).await
}

async fn open_design(
    design: &str,
    store: &Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    seed: u64,
) -> Partita {
    let (design, diagnostics) = partita_design::check(design, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let surroundings = Surroundings {
        clock,
        entropy: Arc::new(SeededEntropy::new(seed)),
        cursor_key: [7; 32],
        patience: Patience {
            attempts: 50,
            pause_millis: 0,
        },
    };
    let partita = Partita::open_with(design, store.clone(), surroundings);
    partita.await.unwrap()
}

fn model() -> Arc<dyn Store> {
    Arc::new(ModelStore::default())
}

fn manual() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(START))
}

fn create(order: &str) -> Operation {
    Operation::Create {
        entity: "Order".into(),
        attributes: Map::from([
            ("orderId", Value::from(order)),
            ("email", Value::from("ann@example.org")),
            ("token", Value::from("geheim")),
        ]),
    }
}

fn step(order: &str, step: i64) -> Operation {
    Operation::Update {
        entity: "Order".into(),
        identity: vec![order.into()],
        changes: Map::from([("step", Value::N(Number::from(step)))]),
        with_deleted: false,
        version: None,
    }
}

async fn run(partita: &Partita, operation: Operation) -> Result<(), PlanError> {
    partita.run(&Caller::default(), operation).await.map(drop)
}

/// A delivery: on which channel, of which order, which step of it.
type Delivery = (String, String, i64);

/// What is said of every delivery before it is taken.
type Say = Box<dyn Fn(&Message) -> Result<(), Undelivered> + Send + Sync>;

/// The other side. It remembers what arrives, and looks whether its cause is committed.
struct Recipient {
    store: Arc<dyn Store>,
    seen: Mutex<Vec<Delivery>>,
    early: Mutex<Vec<Delivery>>,
    /// Decides whether a message arrives.
    before: Say,
    /// Decides whether its arrival is learned of.
    after: Say,
}

impl Recipient {
    fn new(store: &Arc<dyn Store>, before: Say, after: Say) -> Arc<Recipient> {
        Arc::new(Recipient {
            store: store.clone(),
            seen: Mutex::default(),
            early: Mutex::default(),
            before,
            after,
        })
    }

    fn willing(store: &Arc<dyn Store>) -> Arc<Recipient> {
        Recipient::new(store, Box::new(|_| Ok(())), Box::new(|_| Ok(())))
    }

    /// One that loses some of what arrives, and some of its answers.
    fn unreliable(store: &Arc<dyn Store>, seed: u64) -> Arc<Recipient> {
        let random = Mutex::new(fastrand_like(seed));
        let random = Arc::new(random);
        let fails = move |rate: u64| {
            let random = random.clone();
            move |_: &Message| {
                if random.lock().unwrap()() % 100 < rate {
                    return Err(Undelivered::Later("it answers 500".to_owned()));
                }
                Ok(())
            }
        };
        Recipient::new(store, Box::new(fails(20)), Box::new(fails(20)))
    }

    fn seen(&self) -> Vec<Delivery> {
        self.seen.lock().unwrap().clone()
    }

    fn on(&self, channel: &str) -> Vec<i64> {
        let seen = self.seen();
        let seen = seen.into_iter().filter(|(known, ..)| known == channel);
        seen.map(|(_, _, step)| step).collect()
    }
}

/// Numbers that look random, from a seed.
fn fastrand_like(seed: u64) -> impl FnMut() -> u64 + Send {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 11
    }
}

fn delivery(message: &Message) -> Delivery {
    let channel = message.content.channel().word();
    match &message.content {
        Content::Mail(mail) => {
            let order = mail.subject.trim_start_matches("Order ").to_owned();
            let step = mail.text.split(' ').next().unwrap();
            (channel, order, step.parse().unwrap())
        }
        Content::Event { event, .. } => {
            let order = event.subject.trim_start_matches("Order/").to_owned();
            (channel, order, event.data["step"].as_i64().unwrap())
        }
    }
}

#[async_trait]
impl Transport for Recipient {
    async fn deliver(&self, message: &Message) -> Result<(), Undelivered> {
        (self.before)(message)?;
        let delivery = delivery(message);
        let key = string_key(("PK", &format!("ORDER#{}", delivery.1)), ("SK", "ORDER"));
        let found = self.store.get_item(GetItem {
            consistent: true,
            ..GetItem::new("shop".parse().unwrap(), key)
        });
        let found = found.await.unwrap().answer;
        let found = found.map(|found| found.into_item().unwrap());
        let stored = found.and_then(|item| item.get("step")?.as_number()?.to_i64());
        if stored.is_none_or(|stored| stored < delivery.2) {
            self.early.lock().unwrap().push(delivery.clone());
        }
        self.seen.lock().unwrap().push(delivery);
        (self.after)(message)
    }
}

impl Partita {
    /// The defect: what a plan records is delivered before it is committed.
    pub(crate) async fn deliver_hastily(&self, transport: &dyn Transport, plan: &WritePlan) {
        let actions = plan.steps.iter().map(|step| &step.action);
        for action in actions.filter(|one| is_recording(one, &self.blueprint.sidecar)) {
            let TransactAction::Put(put) = action else {
                continue;
            };
            let row = Row::read(&put.item);
            if let super::row::Stored::Event(event) = &row.stored {
                let message = Message {
                    id: row.id.clone(),
                    design: "shop".to_owned(),
                    created_millis: row.created_millis,
                    content: Content::Event {
                        receiver: "billing".to_owned(),
                        event: event.clone(),
                    },
                };
                let _ = transport.deliver(&message).await;
            }
        }
    }
}

/// Delivers until nothing waits, while the time passes.
async fn drain(partita: &Partita, courier: &Courier, clock: &ManualClock) -> Round {
    let mut all = Round::default();
    for _ in 0..2_000 {
        // The store fails at times; a server goes on after a while.
        let Ok(round) = courier.deliver().await else {
            continue;
        };
        all.delivered += round.delivered;
        all.parked += round.parked;
        match round.next_millis {
            None => {
                // Another may have had the channel, or a conflict kept us from it.
                let left = partita.outbox(1_000).await;
                let is_waiting = |one: &OutboxEntry| one.state == OutboxState::Waiting;
                if left.is_ok_and(|left| !left.iter().any(is_waiting)) {
                    return all;
                }
            }
            Some(next) => clock.set(clock.now_millis().max(next)),
        }
    }
    panic!("it does not come to an end");
}

#[tokio::test]
async fn a_mail_is_recorded_with_its_cause_and_sealed() {
    let (store, clock) = (model(), manual());
    let partita = Arc::new(open(&store, clock.clone(), 1).await);
    run(&partita, create("o")).await.unwrap();
    // The order, the row that keeps its messages in order, and three messages.
    let listed = partita.outbox(10).await.unwrap();
    assert_eq!(listed.len(), 3);
    assert!(listed.iter().all(|one| one.of == "Order o"));
    let sidecar = Scan::new("shop-partita".parse().unwrap());
    let rows = store.scan(sidecar).await.unwrap().answer;
    let rows = format!("{:?}", rows.into_parts().unwrap().items);
    assert!(rows.contains("Order o") && rows.contains("ann@example.org"));
    assert!(!rows.contains("geheim"), "{rows}");

    let recipient = Recipient::willing(&store);
    let courier = Courier::new(partita.clone(), recipient.clone());
    assert_eq!(courier.deliver().await.unwrap().delivered, 3);
    assert_eq!(courier.deliver().await.unwrap(), Round::default());
    assert_eq!(recipient.seen().len(), 3);
    assert!(partita.outbox(10).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_event_has_no_secrets() {
    let (store, clock) = (model(), manual());
    let partita = Arc::new(open(&store, clock, 1).await);
    run(&partita, create("o")).await.unwrap();
    let data = Arc::new(Mutex::new(Vec::new()));
    let told = data.clone();
    let before: Say = Box::new(move |message| {
        if let Content::Event { event, .. } = &message.content {
            told.lock().unwrap().push(event.data.to_string());
        }
        Ok(())
    });
    let recipient = Recipient::new(&store, before, Box::new(|_| Ok(())));
    Courier::new(partita, recipient).deliver().await.unwrap();
    let mut data = data.lock().unwrap().clone();
    data.sort();
    let whole = r#"{"email":"ann@example.org","orderId":"o","step":0}"#;
    assert_eq!(data, [whole, r#"{"step":0}"#]);
}

async fn turns_of(turns: u64) {
    for _ in 0..turns {
        tokio::task::yield_now().await;
    }
}
